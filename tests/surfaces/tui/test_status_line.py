"""The status line of a cycle: what it is doing, which task, who works, and when something is tried again."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from quintet.domain.dials.axes import AxesChange, Surface, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.journal.state import SessionState, fold
from quintet.domain.settings.settings import ModelSettings, RoutingSettings, Settings
from quintet.domain.tasks.cycle_phases import WORDS, CyclePhase
from quintet.domain.turn.messages import EndPart, Finish, Part, Request, TextPart, Usage
from quintet.surfaces.tui.chrome.status_line import StatusLine
from quintet.testing import ScriptedModel, call
from tests.surfaces.tui.watching import Person, watch

BEGAN = p.CycleBegan(
    run="run-1", submission="in-1", text="do it", planner="claude", executor="codex", verifier="native"
)
HINT = "? keys"


def at(phase: CyclePhase, **more: object) -> SessionState:
    moved = p.CycleMoved(run="run-1", phase=phase, iteration=1, **more)  # type: ignore[arg-type]
    received = p.InputReceived(submission="in-1", text="do it", surface=Surface.TUI)
    return fold([received, BEGAN, moved])


EXECUTING = {"task": "task-002", "title": "Second", "current": 2, "total": 3}


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (100, "ready · offline rules · sandbox bwrap · software engineering tools"),
        (60, "ready · offline rules · sandbox bwrap"),
    ],
)
def test_the_tools_in_use_have_their_full_name_and_give_way_first(repo: Path, width: int, shown: str) -> None:
    async def script(person: Person) -> None:
        person.ui.query_one(StatusLine).show(fold([p.MenuMoved(toolset="swe")]))
        assert person.status.removesuffix(HINT).rstrip() == shown

    watch(repo, script, size=(width, 12))


@pytest.mark.parametrize(
    ("state", "again", "width", "shown"),
    [
        (at(CyclePhase.PLANNING), 0, 80, "planning n s · claude · sandbox bwrap"),
        (at(CyclePhase.EXECUTING, **EXECUTING), 0, 120, "executing n s · task 2/3 · codex · sandbox bwrap"),
        (at(CyclePhase.EXECUTING, **EXECUTING), 8, 80, "executing, retrying in n s · task 2/3 · codex · sandbox bwrap"),
        (at(CyclePhase.EXECUTING, **EXECUTING), 8, 40, "executing, retrying in n s · task 2/3"),
        (at(CyclePhase.EXECUTING, **EXECUTING), 0, 40, "executing n s · task 2/3"),
        (
            at(CyclePhase.VERIFYING, **EXECUTING),
            0,
            64,
            "verifying n s · task 2/3 · native · offline rules",
        ),
    ],
)
def test_s4_the_status_line_says_phase_unit_worker_and_countdown(
    repo: Path, state: SessionState, again: float, width: int, shown: str
) -> None:
    async def script(person: Person) -> None:
        status = person.ui.query_one(StatusLine)
        status.show(state)
        status.wait(again)
        line = person.status
        assert re.sub(r"\d+ s\b", "n s", line.removesuffix(HINT).rstrip()) == shown
        assert len(line) <= width - 2
        status.wait(0)
        assert "retrying in" not in person.status
        status.show(SessionState())
        assert person.status.startswith("ready")

    watch(repo, script, size=(width, 12))


def test_a_countdown_counts_until_something_else_happens(repo: Path) -> None:
    failed = p.ModelFailed(step="s-1", error=p.ErrorInfo("LLM_BUSY", "busy"), retry_in=30.0)

    async def script(person: Person) -> None:
        ui = person.ui
        for event in (p.InputReceived(submission="in-1", text="do it", surface=Surface.TUI), BEGAN, failed):
            ui.receive(p.Recorded(ui.last_seq + 1, "2026-01-01T00:00:00.000Z", event))
        assert "retrying in 30 s" in person.status
        ui.receive(p.Countdown(why="busy", seconds=7.0))
        assert "retrying in 7 s" in person.status
        ran = p.CommandRan(submission="in-2", line="/cost", text="0")
        ui.receive(p.Recorded(ui.last_seq + 1, "2026-01-01T00:00:00.000Z", ran))
        assert "retrying in 7 s" in person.status
        ended = p.CycleMoved(run="run-1", phase=CyclePhase.PLANNING, iteration=1)
        ui.receive(p.Recorded(ui.last_seq + 1, "2026-01-01T00:00:00.000Z", ended))
        assert "retrying in" not in person.status

    watch(repo, script)


def test_every_phase_has_words_that_fit_a_narrow_line() -> None:
    assert set(WORDS) == set(CyclePhase)
    assert all(0 < len(words) <= 22 and words == words.lower() for words in WORDS.values())


def test_the_status_line_forgets_that_it_was_scrolled_up_at_the_end(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("/help")
        await person.rests()
        await person.press("ctrl+home")
        await person.sees("scrolled up")
        await person.press("ctrl+end")
        await person.wait(lambda: "scrolled up" not in person.status, "the end")
        await person.settles()
        assert person.scrollback.following and "scrolled up" not in person.status

    watch(repo, script, size=(100, 14))


def test_the_share_of_the_context_is_the_one_that_context_says(repo: Path) -> None:
    counted = [TextPart("Read."), EndPart(Finish.STOP, Usage(input_tokens=25_600, output_tokens=10))]

    async def script(person: Person) -> None:
        await person.type("look")
        await person.rests()
        await person.type("/context")
        await person.sees("are used, ")
        await person.rests()
        said = re.search(r"are used, (\d+ %)", person.text)
        assert said and said[1] not in ("0 %", "1 %") and f"{said[1]} context" in person.status

    models = {"m": ModelSettings("http://127.0.0.1:9/v1", "m")}
    own = Settings(routing=RoutingSettings(smart="m"), models=models)
    watch(repo, script, counted, own=own, size=(120, 30))


def test_without_a_model_no_share_of_a_context_is_shown(repo: Path) -> None:
    async def offline(person: Person) -> None:
        await person.type("look")
        await person.rests()
        assert "offline rules" in person.status and "context" not in person.status

    watch(repo, offline, "Read.")


class WaitsAtLast(ScriptedModel):
    """Gives its last reply once the test lets it."""

    def __init__(self, replies: list[Any]) -> None:
        super().__init__(replies)
        self.go = asyncio.Event()

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        if len(self._replies) == 1:
            await self.go.wait()
        async for part in super().stream(request):
            yield part


def test_the_mark_of_unsaved_work_comes_with_the_change_and_not_with_the_end_of_the_turn(repo: Path) -> None:
    async def branch() -> str:
        return "main*" if "tokens" in (repo / "tally/count.py").read_text() else "main"

    async def script(person: Person) -> None:
        await person.type("rename it")
        await person.sees("main*")
        assert person.ui.state.busy
        model.go.set()
        await person.rests()

    read = call("Read", file_path="tally/count.py")
    edit = call("Edit", file_path="tally/count.py", old_string="def words", new_string="def tokens")
    model = WaitsAtLast([[read], [edit], "Renamed."])
    watch(repo, script, model=model, axes=AxesChange(WorkMode.BUILD), branch=branch)
