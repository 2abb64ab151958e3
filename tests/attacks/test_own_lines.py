"""The user's own `!` line has the user's rights only if it was typed here: a canary outside stays unwritten otherwise.

Each test is one way in which a line can come to a session without being typed at its process's terminal.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.events import Key, Paste

from quintet.app.open import open_session
from quintet.app.terminal_ui import at_hand
from quintet.domain.dials.axes import AxesChange, PermissionProfile, Surface, WorkMode
from quintet.domain.input.provenance import TextSource
from quintet.domain.journal import protocol as p
from quintet.domain.permission.rules import Rule
from quintet.domain.turn.tool_spec import CallStatus
from quintet.engine.session.session import Session
from quintet.surfaces.tui.dialogs.ask import SETTLE_SECONDS, AskScreen
from quintet.surfaces.tui.key_codes import Burst
from quintet.surfaces.tui.prompt.prompt_area import PromptArea
from quintet.testing import ScriptedModel
from tests.surfaces.program import Program
from tests.surfaces.tui.watching import Person, watch
from tests.trusted import trust_now

SECONDS = 60


@pytest.fixture
def canary(repo: Path) -> Path:
    """A file outside the project; a line that writes it ran with the user's rights."""
    folder = repo.parent / "outside"
    folder.mkdir()
    return folder / "canary"


@asynccontextmanager
async def opened(repo: Path, **options: Any) -> AsyncIterator[Session]:
    options.setdefault("surface", Surface.TUI)
    async with open_session(str(repo), person=True, model=ScriptedModel(["done"]), **options) as session:
        yield session


async def follow(session: Session, submission: str) -> list[p.Event]:
    """The events of an input until its end, or until somebody is asked."""
    seen: list[p.Event] = []
    async with asyncio.timeout(SECONDS):
        async for item in session.follow(submission):
            if isinstance(item, p.Recorded):
                seen.append(item.event)
                if isinstance(item.event, p.QuestionAsked):
                    break
    return seen


def of(kind: type[Any], seen: list[p.Event]) -> list[Any]:
    return [event for event in seen if isinstance(event, kind)]


def held(seen: list[p.Event], canary: Path) -> None:
    """The gate had it: it was asked about or refused, and did not run with anybody's rights."""
    assert of(p.CallDecided, seen)[0].verdict in ("ask", "deny")
    assert not any(started.rights for started in of(p.ToolStarted, seen))
    assert not canary.exists()


# ── typed


def test_a_typed_line_runs_outside_with_the_whole_environment_and_is_on_record(
    repo: Path, canary: Path, monkeypatch: pytest.MonkeyPatch, replays: None
) -> None:
    monkeypatch.setenv("OF_MY_SHELL", "here")

    async def scenario() -> None:
        async with opened(repo) as session:
            line = f"! printenv OF_MY_SHELL HOME > {canary}; echo new > made.txt; echo said; exit 3"
            seen = await follow(session, await session.submit(p.Say(text=line), typed=True))
            assert canary.read_text() == f"here\n{os.environ['HOME']}\n"
            (decided,) = of(p.CallDecided, seen)
            assert decided.verdict == "allow" and decided.access.startswith("outside the sandbox, with your rights")
            (started,) = of(p.ToolStarted, seen)
            assert started.rights is Surface.TUI
            (finished,) = of(p.ToolFinished, seen)
            assert finished.status is CallStatus.ERROR and finished.content == "said\nexit 3"
            order = [type(event) for event in seen]
            assert order.index(p.CallDecided) < order.index(p.ToolStarted) < order.index(p.ToolFinished)
            changed = of(p.FilesChanged, [one.event for one in session._core.store.read(session.id)])
            assert [event.paths for event in changed] == [("made.txt",)]  # so /rewind names it

    asyncio.run(scenario())


@pytest.mark.parametrize("work_mode", [WorkMode.PLAN, WorkMode.REVIEW])
def test_dials_do_not_hold_it_back(repo: Path, canary: Path, work_mode: WorkMode) -> None:
    async def scenario() -> None:
        axes = AxesChange(work_mode=work_mode, permission_profile=PermissionProfile.RESTRICTED)
        async with opened(repo, axes=axes) as session:
            await follow(session, await session.submit(p.Say(text=f"!touch {canary}"), typed=True))
            assert canary.exists()

    asyncio.run(scenario())


def test_a_deny_rule_stops_it(repo: Path, canary: Path) -> None:
    async def scenario() -> None:
        async with opened(repo) as session:
            session._core.turn.rule_book.add(Rule(id="r-1", verdict="deny", tool="bash", pattern="touch *"))
            line = f"!cd .. && touch {canary}"
            seen = await follow(session, await session.submit(p.Say(text=line), typed=True))
            (decided,) = of(p.CallDecided, seen)
            assert decided.verdict == "deny" and decided.rule == "r-1"
            held(seen, canary)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("hook", "verdict"), [("echo not now >&2; exit 2", "deny"), ('echo \'{"decision": "ask"}\'', "ask")]
)
def test_a_hook_stops_it_or_sends_it_through_the_gate(repo: Path, canary: Path, hook: str, verdict: str) -> None:
    async def scenario() -> None:
        async with opened(repo, settings={"hooks.pre_tool_use": (hook,)}) as session:
            seen = await follow(session, await session.submit(p.Say(text=f"!touch {canary}"), typed=True))
            assert of(p.CallDecided, seen)[0].verdict == verdict
            held(seen, canary)

    asyncio.run(scenario())


def test_a_secret_in_its_output_is_kept_from_the_journal(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_API_TOKEN", "sk-canary-1234567890")

    async def scenario() -> None:
        async with opened(repo) as session:
            seen = await follow(session, await session.submit(p.Say(text="!printenv FAKE_API_TOKEN"), typed=True))
            (finished,) = of(p.ToolFinished, seen)
            assert finished.content.endswith("exit 0") and "canary" not in finished.content

    asyncio.run(scenario())


def _runs(status: Path) -> bool:
    """Whether a process is at work; one that nobody has looked at since its end is not."""
    try:
        return "State:\tZ" not in status.read_text()
    except OSError:
        return False


def test_an_interrupt_ends_it_with_its_children(repo: Path, canary: Path) -> None:
    async def scenario() -> None:
        async with opened(repo) as session:
            line = f"!(trap '' INT; sleep 8642 & echo $! > {canary}; wait)"
            submission = await session.submit(p.Say(text=line), typed=True)
            async with asyncio.timeout(SECONDS):
                while not (canary.exists() and canary.read_text().strip()):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            await session.submit(p.Interrupt())
            seen = await follow(session, submission)
            assert of(p.TurnFinished, seen)[0].status == "interrupted"
            status = Path("/proc", canary.read_text().strip(), "status")
            async with asyncio.timeout(SECONDS):  # it is killed: a busy machine needs a moment to end it
                while _runs(status):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)

    asyncio.run(scenario())


# ── not typed


def test_what_is_only_said_is_behind_the_gate(repo: Path, canary: Path) -> None:
    """As web, RPC, headless and library do."""

    async def scenario() -> None:
        for surface in (Surface.TUI, Surface.RPC, Surface.WEB):
            async with opened(repo, surface=surface) as session:
                held(await follow(session, await session.say(f"!touch {canary}")), canary)

    asyncio.run(scenario())


def test_a_tool_call_of_the_persons_own_is_behind_the_gate(repo: Path, canary: Path) -> None:
    async def scenario() -> None:
        async with opened(repo) as session:
            line = f'!!bash {{"command": "touch {canary}"}}'
            held(await follow(session, await session.submit(p.Say(text=line), typed=True)), canary)

    asyncio.run(scenario())


def test_a_process_that_does_not_own_the_session_cannot_say_that_it_was_typed(repo: Path, canary: Path) -> None:
    async def scenario() -> None:
        async with opened(repo) as owner, opened(repo, resume=owner.id) as other:
            assert owner.owned_here and not other.owned_here
            submission = await other.submit(p.Say(text=f"!touch {canary}"), typed=True)
            held(await follow(owner, submission), canary)

    asyncio.run(scenario())


def test_the_inbox_from_a_second_process(quintet: Program, canary: Path) -> None:
    async def scenario() -> None:
        async with opened(quintet.root) as owner:
            said = asyncio.create_task(asyncio.to_thread(quintet.run, "-p", f"! touch {canary}", "--resume", owner.id))
            async with asyncio.timeout(SECONDS):
                async for item in owner.events(owner.since):
                    if isinstance(item, p.Recorded) and isinstance(item.event, p.QuestionAsked):
                        assert not canary.exists()
                        await owner.submit(p.Answer(question=item.event.question, choice="n"))
                        break
            await said
            assert not canary.exists()

    asyncio.run(scenario())


def test_a_row_under_the_id_of_a_typed_line_is_another_line(repo: Path, canary: Path) -> None:
    async def scenario() -> None:
        async with opened(repo) as session:
            assert session._owner
            typed = session._owner.core.ownership.typed_lines
            typed.add("in-forged", "!true")
            row = p.Submitted("in-forged", p.Say(text=f"!touch {canary}"), Surface.TUI)
            await session._core.store.submit(session.id, row, session._core.clock.now())
            session._owner.wake()
            held(await follow(session, "in-forged"), canary)

    asyncio.run(scenario())


def test_what_waited_in_the_queue_of_a_session_that_is_resumed(repo: Path, canary: Path) -> None:
    async def scenario() -> None:
        async with opened(repo) as session:
            await session.submit(p.Say(text="!sleep 60"), typed=True)
            queued = await session.submit(p.Say(text=f"!touch {canary}"), typed=True)
            async with asyncio.timeout(SECONDS):
                while [one.submission for one in session.state.turns.waiting] != [queued]:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
        async with opened(repo, resume=session.id) as again:
            held(await follow(again, queued), canary)

    asyncio.run(scenario())


def test_headless_and_plain_from_a_file(quintet: Program, canary: Path) -> None:
    quintet.run("-p", f"! touch {canary}", "--mode", "build", "--permission-profile", "unrestricted")
    assert not canary.exists()
    quintet.run("--plain", "--mode", "build", stdin=f"! touch {canary}\ny\n! touch {canary}\n")
    assert not canary.exists()
    (quintet.root / "lines").write_text(f"! touch {canary}\ny\n")
    quintet.shell("$Q --plain < lines")
    assert not canary.exists()


# ── settings


def test_the_setting_gives_the_sandbox_back(repo: Path, canary: Path) -> None:
    async def scenario() -> None:
        async with opened(repo, settings={"prompt.own_lines": "sandboxed"}) as session:
            held(await follow(session, await session.submit(p.Say(text=f"!touch {canary}"), typed=True)), canary)

    asyncio.run(scenario())


@pytest.mark.parametrize("trusted", [False, True])
def test_a_project_cannot_set_it(quintet: Program, canary: Path, trusted: bool) -> None:
    quintet.settings('[prompt]\nown_lines = "sandboxed"\n')
    quintet.settings('[prompt]\nown_lines = "direct"\n', project=True)
    if trusted:
        trust_now(quintet.root)

    async def scenario() -> None:
        async with opened(quintet.root) as session:
            assert session.settings.prompt.own_lines == "sandboxed"
            held(await follow(session, await session.submit(p.Say(text=f"!touch {canary}"), typed=True)), canary)

    asyncio.run(scenario())


# ── plain at a terminal


def test_plain_at_a_terminal_asks_and_runs_what_is_confirmed(quintet: Program, canary: Path) -> None:
    terminal = quintet.plain()
    terminal.sees("› ")
    terminal.types(f"! touch {canary}")
    terminal.confirms("n")
    terminal.sees("not run", "› ")
    assert not canary.exists()
    terminal.types(f"! touch {canary}")
    terminal.confirms("s")
    terminal.sees("[n] no")  # the gate's own question
    assert not canary.exists()
    terminal.types("n")
    terminal.sees("blocked", "› ")
    terminal.types(f"! touch {canary}")
    terminal.confirms("y")
    terminal.sees("with your rights", "exit 0", "› ")
    assert canary.exists()
    assert [event.get("rights") for event in quintet.events("tool_started")] == ["tui"]


def test_plain_takes_no_answer_that_was_pasted_with_the_line(quintet: Program, canary: Path) -> None:
    terminal = quintet.plain()
    terminal.sees("› ")
    terminal.child.send(f"! touch {canary}\ny\n")
    terminal.sees("Run this line with your rights")
    terminal.types("n")
    terminal.sees("not run")
    assert not canary.exists()


# ── the screen


class Hands:
    """Somebody at the prompt of the whole screen, whose keys come as slowly as a person's."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.area = person.ui.query_one(PromptArea)
        self._time = 1e6

    async def types(self, text: str, apart: float = 1.0) -> None:
        for char in text:
            key = Key(char, char)
            self._time += apart
            key.time = self._time
            self.area.post_message(key)
        await self.person.settles()

    async def pastes(self, text: str) -> None:
        self.area.post_message(Paste(text))
        await self.person.settles()

    async def answers(self, key: str) -> None:
        """The question about the line, which has to be there."""
        await self.person.sees("Run this line with your rights, outside the sandbox?")
        asking = self.person.ui.screen
        assert isinstance(asking, AskScreen)
        asking._last_key = time.monotonic()
        await self.person.press("y" if key != "y" else "n")  # at once: no answer
        assert self.person.ui.screen is asking
        await asyncio.sleep(SETTLE_SECONDS + 0.1)
        await self.person.press(key)
        await self.person.wait(lambda: not isinstance(self.person.ui.screen, AskScreen), "the answer")


def screen(repo: Path, script: Any, **options: Any) -> None:
    async def at(person: Person) -> None:
        await script(person, Hands(person))

    watch(repo, at, at_terminal=True, at_hand=at_hand(str(repo)), deterministic=False, **options)


def test_keys_typed_at_the_screen_run_without_a_question(repo: Path, canary: Path) -> None:
    async def script(person: Person, hands: Hands) -> None:
        await hands.types(f"!touch {canary}")
        await person.press("enter")
        await person.wait(canary.exists, "the file")
        await person.rests()
        await person.sees("your rights")

    screen(repo, script)


async def pasted(person: Person, hands: Hands, line: str) -> None:
    await hands.pastes(line)


async def pasted_in_part(person: Person, hands: Hands, line: str) -> None:
    await hands.types("!")
    await hands.pastes(line.removeprefix("!"))


async def rapid(person: Person, hands: Hands, line: str) -> None:
    await hands.types(line, apart=0.001)


async def rapid_after_a_paste_that_was_marked(person: Person, hands: Hands, line: str) -> None:
    await hands.pastes("x")
    await person.press("backspace")
    await hands.types(line, apart=0.001)


async def prefilled(person: Person, hands: Hands, line: str) -> None:
    person.ui.prompt.text = line


async def begun(person: Person, hands: Hands, line: str) -> None:
    person.ui.prompt.begin(line[:-1])
    await hands.types(line[-1])


async def recalled(person: Person, hands: Hands, line: str) -> None:
    person.ui.prompt._recall.add(line)
    await person.press("up")


async def recalled_and_edited(person: Person, hands: Hands, line: str) -> None:
    person.ui.prompt._recall.add(line[:-1])
    await person.press("up")
    await hands.types(line[-1])


async def deleted_and_undone(person: Person, hands: Hands, line: str) -> None:
    await hands.pastes(line)
    hands.area.clear()
    hands.area.undo()


async def words_of_a_folded_paste(person: Person, hands: Hands, line: str) -> None:
    await hands.pastes(line + "\n" * 12 + "true")
    folded = hands.area.text
    hands.area.clear()
    await hands.types(folded)


async def pasted_killed_and_yanked(person: Person, hands: Hands, line: str) -> None:
    await hands.pastes(line)
    await person.press("ctrl+u", "ctrl+y")


async def in_one_piece(person: Person, hands: Hands, line: str) -> None:
    hands.area.post_message(Burst(line))
    await person.settles()


async def edited_in_another_program(person: Person, hands: Hands, line: str) -> None:
    await hands.types(line[:-1])
    person.ui.prompt.give_back(line, TextSource.EDITED)


async def continued(person: Person, hands: Hands, line: str) -> None:
    await hands.pastes(f"{line} \\")
    await person.press("enter")
    await hands.types("x")


WAYS = [
    pasted,
    pasted_killed_and_yanked,
    in_one_piece,
    edited_in_another_program,
    continued,
    pasted_in_part,
    rapid,
    rapid_after_a_paste_that_was_marked,
    prefilled,
    begun,
    recalled,
    recalled_and_edited,
    deleted_and_undone,
    words_of_a_folded_paste,
]


def test_what_vi_keys_put_is_confirmed_first(repo: Path, canary: Path) -> None:
    async def script(person: Person, hands: Hands) -> None:
        await hands.pastes(f"!touch {canary}")
        await person.press("escape", "d", "d", "p", "k", "d", "d", "enter")
        await hands.answers("n")
        assert not canary.exists()

    screen(repo, script, settings={"prompt.keys": "vi"})


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_was_not_typed_is_confirmed_first(repo: Path, canary: Path, way: Any) -> None:
    async def script(person: Person, hands: Hands) -> None:
        await way(person, hands, f"!touch {canary}")
        assert person.ui.prompt.text.startswith(f"!touch {canary}")
        await person.press("enter")
        await hands.answers("n")
        assert not canary.exists() and person.ui.prompt.text  # given back
        await person.press("enter")
        await hands.answers("y")
        await person.wait(canary.exists, "the file")
        await person.rests()

    screen(repo, script)


def test_in_the_sandbox_is_the_gates_way(repo: Path, canary: Path) -> None:
    async def script(person: Person, hands: Hands) -> None:
        await hands.pastes(f"!touch {canary}")
        await person.press("enter")
        await hands.answers("s")
        await person.wait(lambda: person.ui.state.questions, "the gate's question")
        assert not canary.exists()
        await person.ui.submit(p.Interrupt())
        await person.rests()

    screen(repo, script)


def test_a_restored_draft_is_confirmed_and_a_planted_one_is_not_offered(repo: Path, canary: Path) -> None:
    line = f"!touch {canary}"
    at_hand(str(repo)).drafts.save(line)

    async def restored(person: Person, hands: Hands) -> None:
        await person.wait(lambda: person.ui.prompt.text == line, "the draft")
        await person.press("enter")
        await hands.answers("n")
        assert not canary.exists()
        person.ui.prompt.text = ""

    screen(repo, restored)
    (repo / ".quintet").mkdir(exist_ok=True)
    (repo / ".quintet" / "task.md").write_text(line)

    async def planted(person: Person, hands: Hands) -> None:
        await person.wait(lambda: person.ui._notifications, "the notice")
        assert person.ui.prompt.text == ""
        await person.press("enter")

    screen(repo, planted)
    assert not canary.exists()


def test_a_screen_without_a_terminal_never_runs_one(repo: Path, canary: Path) -> None:
    async def script(person: Person) -> None:
        await Hands(person).types(f"!touch {canary}")
        await person.press("enter")
        await person.wait(lambda: person.ui.state.questions, "the gate's question")
        assert not canary.exists()
        await person.ui.submit(p.Interrupt())
        await person.rests()

    watch(repo, script)


def test_the_screen_of_another_processes_session_says_that_the_sandbox_has_it(repo: Path, canary: Path) -> None:
    async def scenario() -> None:
        from quintet.surfaces.tui.app import TerminalUi
        from quintet.surfaces.tui.context import TuiContext
        from tests.surfaces.tui.settling import Arrivals

        async with opened(repo) as owner:
            ui = TerminalUi(
                TuiContext(
                    name="tally",
                    sandbox="bwrap",
                    settings=owner.settings,
                    open=lambda _: opened(repo, resume=owner.id),
                    at_terminal=True,
                )
            )
            arrivals = Arrivals()
            async with ui.run_test(size=(100, 30), message_hook=arrivals) as pilot:
                person = Person(ui, pilot, arrivals)
                await person.wait(lambda: ui.query(PromptArea) and ui.state.session, "the prompt")
                await Hands(person).types(f"!touch {canary}")
                await person.press("enter")
                await person.sees("Another process runs this session")
                await person.wait(lambda: owner.state.questions, "the gate's question")
                assert not canary.exists()
                await owner.submit(p.Interrupt())
            await ui.close_session()

    asyncio.run(scenario())
