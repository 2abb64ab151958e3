"""AI CLIs as executors, with fakes that speak and fail as the real ones do: parts, kinds of failure, bounds, ends."""

import asyncio
import json
import os
import time
from contextlib import aclosing, suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.base.redaction import Redaction
from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.effects import Grant
from quintet.domain.permission.gate import Sandbox
from quintet.domain.tasks.executors import (
    KEPT_LINES,
    Assignment,
    CallBegan,
    CallEnded,
    Changed,
    Ended,
    ExecutorFailure,
    ExecutorMessage,
    ExecutorPart,
    Printed,
    Spent,
)
from quintet.domain.tasks.roles import ExecutorRole
from quintet.domain.turn.messages import Usage
from quintet.features.ai_clis.acp import AcpAgent
from quintet.features.ai_clis.claude import Claude
from quintet.features.ai_clis.codex import Codex
from quintet.features.ai_clis.dialect import Dialect, Start
from quintet.features.ai_clis.gemini import Gemini
from quintet.features.ai_clis.lines import LineSplitter, Whole
from quintet.features.ai_clis.run import UNREADABLE
from quintet.features.ai_clis.settings import ExecutorSettings
from tests.fake_clis.on_path import put_on_path
from tests.features.ai_clis.executing import AGENT, EACH, Executing
from tests.looking import alive

CLIS = ("codex", "claude", "gemini")


@pytest.fixture(autouse=True)
def fakes(private: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", put_on_path(tmp_path / "bin"))


@pytest.fixture
def executing(repo: Path) -> Executing:
    """Without walls of ours, which are another test's subject."""
    return Executing(repo, Sandbox.NONE)


@pytest.mark.parametrize("name", EACH)
def test_s4_an_executor_streams_what_it_says_does_changes_and_spends(executing: Executing, name: str) -> None:
    parts, ended = executing(name, "ok")
    told = [part for part in parts if not isinstance(part, Printed)]
    made = str(executing.root / "made.txt")
    thought = [] if name == "gemini" else [ExecutorMessage("I shall echo.", reasoning=True)]
    assert told[: len(thought)] == thought
    assert [part.text for part in told if isinstance(part, ExecutorMessage) and not part.reasoning] == ["DONE"]
    begun = next(part for part in told if isinstance(part, CallBegan))
    assert "echo step-1" in begun.summary
    assert CallEnded(begun.id, True, told[told.index(begun) + 1].output) == told[told.index(begun) + 1]  # type: ignore[union-attr]
    assert Changed(made, "added") in told
    assert [part for part in told if isinstance(part, Spent)] == [
        Spent(Usage(20, 10, 5), 0.25 if name == "claude" else 0)
    ]
    assert ended == Ended(True, "DONE", exit_code=0)
    assert Path(made).read_text() == "made\n"


KINDS = {
    "401": ExecutorFailure.LOGIN,
    "nokey": ExecutorFailure.LOGIN,
    "429": ExecutorFailure.RATE_LIMIT,
    "reset": ExecutorFailure.RATE_LIMIT,
    "500": ExecutorFailure.UNREACHABLE,
    "down": ExecutorFailure.UNREACHABLE,
    "400": ExecutorFailure.REFUSED,
}


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize("fault", KINDS)
def test_each_failure_has_its_kind_a_reason_and_a_hint(executing: Executing, name: str, fault: str) -> None:
    _, ended = executing(name, fault)
    assert (ended.ok, ended.failure) == (False, KINDS[fault]), ended
    assert ended.reason
    assert ended.hint
    if KINDS[fault] is ExecutorFailure.LOGIN:
        assert {"codex": "codex login", "claude": "/login", "gemini": "sign in"}.get(name, "log in") in ended.hint


@pytest.mark.parametrize(("name", "seconds"), [("codex", 7980), ("claude", 600), ("gemini", 37.5), (AGENT, 90)])
def test_a_rate_limit_says_when_it_ends(executing: Executing, name: str, seconds: float) -> None:
    _, ended = executing(name, "reset")
    assert ended.resets_in == pytest.approx(seconds, abs=30)


@pytest.mark.parametrize("name", CLIS)
def test_exit_code_0_without_the_last_event_is_no_success(executing: Executing, name: str) -> None:
    _, ended = executing(name, "unfinished")
    assert (ended.ok, ended.failure, ended.exit_code) == (False, ExecutorFailure.GARBAGE, 0)


@pytest.mark.parametrize("name", EACH)
def test_a_crash_says_how_it_ended_and_what_it_said_last(executing: Executing, name: str) -> None:
    _, ended = executing(name, "crash")
    assert (ended.failure, ended.exit_code) == (ExecutorFailure.CRASHED, 3)
    assert "exit code 3" in ended.reason
    assert "something broke" in ended.reason


def test_a_signal_is_named(executing: Executing) -> None:
    _, ended = executing("codex", "killed")
    assert ended.failure is ExecutorFailure.CRASHED
    assert "SIGSEGV" in ended.reason


def test_an_exit_code_after_success_is_a_crash(executing: Executing) -> None:
    _, ended = executing("claude", "regret")
    assert (ended.ok, ended.failure, ended.exit_code) == (False, ExecutorFailure.CRASHED, 7)


def test_what_is_no_stream_of_events_is_ended_as_garbage(executing: Executing) -> None:
    _, ended = executing("gemini", "garbage")
    assert ended.failure is ExecutorFailure.GARBAGE
    assert "not events" in ended.reason


def test_one_that_stays_after_its_last_event_is_ended_and_done(executing: Executing) -> None:
    _, ended = executing("claude", "linger")
    assert (ended.ok, ended.answer) == (True, "DONE")


@pytest.mark.parametrize("name", EACH)
def test_silence_is_ours_to_end(executing: Executing, name: str) -> None:
    _, ended = executing(name, "silence", silence=1.5)
    kind = (
        ExecutorFailure.UNREACHABLE if name == AGENT else ExecutorFailure.SILENT
    )  # of an agent we know what it awaits
    assert (ended.failure, "1.5 seconds" in ended.reason) == (kind, True)


def test_an_agent_that_only_tries_again_for_ever_is_as_good_as_silent(executing: Executing) -> None:
    _, ended = executing(AGENT, "retries", silence=1.0, timeout=60.0)
    assert ended.failure is ExecutorFailure.UNREACHABLE
    assert "it only tried again for 1 seconds while it waited for its model" in ended.reason
    assert "last: Reconnecting... waiting for network: Connection failed" in ended.reason


def test_an_agent_that_does_not_even_begin_is_not_the_tasks_fault(executing: Executing) -> None:
    _, ended = executing("acp:sleep 60", "work", silence=0.5)
    assert (ended.failure, "before it could be given its work" in ended.reason) == (ExecutorFailure.UNREACHABLE, True)


def test_the_time_in_all_is_ours_too(executing: Executing) -> None:
    for seconds in (1.5, 6, 30):  # the first is enough, unless the machine is very busy
        _, ended = executing("codex", "chatter", timeout=seconds)
        if ended.answer:
            break
    assert (ended.failure, ended.answer) == (ExecutorFailure.OVERTIME, "tick tack")


@pytest.mark.parametrize(
    ("fault", "seconds", "kind"),
    [("torrent", 1.0, ExecutorFailure.OVERTIME), ("garbage", 50.0, ExecutorFailure.GARBAGE)],
    ids=["torrent", "garbage"],
)
def test_one_that_speaks_faster_than_it_is_read_is_ended_all_the_same(
    executing: Executing, fault: str, seconds: float, kind: ExecutorFailure
) -> None:
    async def slowly() -> ExecutorPart:
        last: ExecutorPart | None = None
        async with aclosing(executing.executors.run(executing.assignment("codex", fault, timeout=seconds))) as parts:
            async for part in parts:
                (running,) = executing.executors._running or (None,)
                if running and not running.ended_by_us:
                    await asyncio.sleep(0.001)
                last = part
        await executing.executors.close()
        assert last
        return last

    ended = asyncio.run(asyncio.wait_for(slowly(), 60))
    assert isinstance(ended, Ended) and ended.failure is kind


@pytest.mark.parametrize("name", EACH)
def test_an_assignment_is_never_cut(executing: Executing, name: str) -> None:
    prompt = "length " + "ä" * 500_000  # far above what a command line may hold
    assert executing(name, prompt)[1].answer == str(len(prompt))


def test_a_program_that_is_not_there_is_missing_and_says_how_to_get_it(
    executing: Executing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    parts, ended = executing("codex", "ok")
    assert (parts, ended.failure) == ([], ExecutorFailure.MISSING)
    assert "npm install -g @openai/codex" in ended.hint
    assert 'codx: "codx" is not an executor. Did you mean codex?' in executing("codx", "ok")[1].reason


def test_lines_of_two_streams_stand_whole_in_one_file(tmp_path: Path) -> None:
    whole = Whole(str(tmp_path / "whole"))
    one, other = (LineSplitter(whole, Redaction().chunks(), lambda *_: None) for _ in range(2))
    one.add(b"first\nsec")
    other.add(b"aside\nbes")
    one.add(b"ond\nthi")
    other.add(b"ide\n")
    one.finish()
    whole.close()
    assert (tmp_path / "whole").read_bytes() == b"first\naside\nsecond\nbeside\nthi"


def test_no_secret_is_in_the_file_and_every_one_is_in_the_line_that_is_read(tmp_path: Path) -> None:
    """In the file for good, while the events that a line is read as are cleaned where they are written down."""
    whole, read = Whole(str(tmp_path / "whole")), list[bytes]()
    lines = LineSplitter(whole, Redaction(["hunter22-hunter"]).chunks(), lambda line, _: read.append(line))
    for piece in (b'{"said":"hunter', b'22-hunter"}\nand hunter22-', b"hunter"):
        lines.add(piece)
    lines.finish()
    whole.close()
    kept = (tmp_path / "whole").read_bytes()
    assert b"hunter" not in kept and kept.startswith(b'{"said":"') and kept.count(b"\n") == 1
    assert read == [b'{"said":"hunter22-hunter"}', b"and hunter22-hunter"]


def test_a_flood_is_held_in_bounds_and_kept_whole_on_disk(executing: Executing, tmp_path: Path) -> None:
    whole = tmp_path / "outputs" / "whole.jsonl"

    async def slowly() -> tuple[int, list[object]]:
        most, seen = 0, []
        async with aclosing(
            executing.executors.run(executing.assignment("codex", "flood 20000", whole=str(whole)))
        ) as parts:
            async for part in parts:
                (running,) = executing.executors._running or (None,)
                most = max(most, len(running._pending) if running else 0)
                seen.append(part)
        await executing.executors.close()
        return most, seen

    most, seen = asyncio.run(slowly())
    assert most <= KEPT_LINES + 4_000  # one more read of a pipe's worth of events
    ended = seen[-1]
    assert isinstance(ended, Ended) and (ended.ok, ended.answer) == (True, "flooded")
    assert sum(isinstance(part, CallEnded) for part in seen) == 20_000  # events are never left out
    lines = whole.read_bytes().splitlines()
    assert len(lines) >= 60_000
    assert sum(line.startswith(b"line ") for line in lines) == 20_000
    assert whole.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", CLIS)
def test_bytes_that_are_no_text_and_lines_without_end_do_no_harm(executing: Executing, name: str) -> None:
    parts, ended = executing(name, "bytes")
    assert ended.ok
    assert any("�� not text" in part.line for part in parts if isinstance(part, Printed))
    parts, ended = executing(name, "long")
    assert ended.ok
    (cut,) = [part.line for part in parts if isinstance(part, Printed) and part.line.startswith("yyy")]
    assert len(cut) < 3_000
    assert "bytes omitted" in cut


@pytest.mark.parametrize(
    "walls", [Sandbox.NONE, Sandbox.PARTIAL, pytest.param(Sandbox.BWRAP, marks=pytest.mark.system("bwrap"))]
)
@pytest.mark.parametrize("name", EACH)
def test_s4_cancel_ends_the_whole_tree(repo: Path, name: str, walls: Sandbox) -> None:
    executing = Executing(repo, walls)
    marker = f"9{os.getpid()}.{time.monotonic_ns() % 10**9}"

    async def cancelled() -> None:
        began = asyncio.Event()

        async def drive() -> None:
            async with aclosing(executing.executors.run(executing.assignment(name, f"leave {marker}"))) as parts:
                async for part in parts:
                    if isinstance(part, CallEnded):
                        began.set()

        driving = asyncio.create_task(drive())
        await began.wait()
        while not alive("sleep", marker, seconds=0):  # noqa: ASYNC110  its command line is there a moment later
            await asyncio.sleep(0.005)
        driving.cancel()
        await asyncio.gather(driving, return_exceptions=True)
        assert driving.cancelled()
        await executing.executors.close()

    asyncio.run(cancelled())
    assert not alive("sleep", marker)


def test_an_agent_asks_and_the_grant_answers(executing: Executing) -> None:
    kinds = "read edit execute delete fetch unheard-of"
    assert executing(AGENT, f"permission {kinds}")[1].answer == "yes yes yes no no no"
    assert executing(AGENT, f"permission {kinds}", writes=False)[1].answer == "yes no yes no no no"


@pytest.mark.parametrize("name", CLIS)
def test_only_the_variables_it_needs_reach_it(repo: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "SECRET_TOKEN", "MINE", "HTTPS_PROXY"):
        monkeypatch.setenv(variable, variable.lower())
    executing = Executing(repo, Sandbox.NONE, {name: ExecutorSettings(pass_env=("MINE",))})
    seen = json.loads(executing(name, "start")[1].answer)["environment"]
    keys = {"codex": "OPENAI_API_KEY", "claude": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}
    passed = {variable for variable, value in seen.items() if value == variable.lower()}
    assert passed == {keys[name], "MINE", "HTTPS_PROXY"}


def test_their_own_retries_are_turned_off(executing: Executing, tmp_path: Path) -> None:
    own = tmp_path / "home" / ".codex"
    own.mkdir()
    (own / "config.toml").write_text('model_provider = "mine"\n[model_providers.mine]\nname = "mine"\nenv_key = "K"\n')
    codex = json.loads(executing("codex", "start")[1].answer)["argv"]
    assert "model_providers.mine.request_max_retries=0" in codex
    assert "model_providers.mine.stream_max_retries=0" in codex
    claude = json.loads(executing("claude", "start")[1].answer)["environment"]
    assert claude["CLAUDE_CODE_MAX_RETRIES"] == "0"


def test_gemini_is_told_to_try_once_above_the_machines_own_settings(
    executing: Executing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "system.json"
    theirs.write_text('{"general": {"vimMode": true, "maxAttempts": 9}, "admin": {"x": 1}}')
    monkeypatch.setenv("GEMINI_CLI_SYSTEM_SETTINGS_PATH", str(theirs))

    async def settings() -> dict[str, object]:
        async with aclosing(executing.executors.run(executing.assignment("gemini", "leave"))) as parts:
            async for part in parts:
                if isinstance(part, CallEnded):
                    (running,) = executing.executors._running
                    path = running.dialect.variables()["GEMINI_CLI_SYSTEM_SETTINGS_PATH"]
                    found: dict[str, object] = json.loads(Path(path).read_text())
                    return found
        raise AssertionError

    found = asyncio.run(settings())
    assert found["admin"] == {"x": 1}
    assert found["general"]["vimMode"] and found["general"]["maxAttempts"] == 1  # type: ignore[index]
    theirs.write_text("not JSON")  # not ours to replace
    assert json.loads(executing("gemini", "start")[1].answer)["environment"].get(
        "GEMINI_CLI_SYSTEM_SETTINGS_PATH", ""
    ) in ("", str(theirs))


def test_what_is_here_is_looked_up(executing: Executing, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def look(name: str) -> tuple[str, str, str]:
        found = await executing.executors.look(name)
        return found.path, found.version, found.problem

    assert asyncio.run(look("codex")) == (str(tmp_path / "bin" / "codex"), "9.8.7", "")
    monkeypatch.setenv("PATH", "/nowhere")
    path, version, problem = asyncio.run(look("gemini"))
    assert (path, version) == ("", "")
    assert "npm install -g @google/gemini-cli" in problem


def test_a_version_is_read_from_the_package_without_a_start(executing: Executing, tmp_path: Path) -> None:
    package = tmp_path / "lib" / "node_modules" / "@openai" / "codex"
    (package / "bin").mkdir(parents=True)
    (package / "package.json").write_text('{"name": "@openai/codex", "version": "1.2.3"}')
    (package / "bin" / "codex.js").write_text("#!/bin/false\n")
    (package / "bin" / "codex.js").chmod(0o755)
    (tmp_path / "bin" / "codex").unlink()
    (tmp_path / "bin" / "codex").symlink_to(package / "bin" / "codex.js")
    assert asyncio.run(executing.executors.look("codex")).version == "1.2.3"


TYPES = (
    "item.completed",
    "turn.completed",
    "assistant",
    "user",
    "result",
    "message",
    "tool_use",
    "tool_result",
    "error",
)
METHODS = ("session/update", "session/request_permission", "other")
NAMES = (
    "item",
    "message",
    "content",
    "error",
    "usage",
    "result",
    "params",
    "update",
    "options",
    "changes",
    "stats",
    "id",
)
odd = st.sampled_from((None, 3, "x", [], [1], ["x", None], {}, {"type": 1}, {"content": [2]}, {"id": {}, "changes": 4}))
fields = st.dictionaries(st.sampled_from(NAMES), odd, max_size=4)
events = st.builds(lambda kind, method, rest: {"type": kind, **method, **rest}, st.sampled_from(TYPES),
                   st.sampled_from(({}, *({"method": name} for name in METHODS))), fields)  # fmt: skip


@given(st.sampled_from((Codex, Claude, Gemini, AcpAgent)), st.lists(events, max_size=4))
def test_no_event_whatever_its_shape_breaks_the_reading(kind: type[Dialect], said: list[dict[str, object]]) -> None:
    grant = Grant()
    assignment = Assignment("codex", ExecutorRole.EXECUTE, "p", grant, PermissionProfile.NORMAL)
    start = Start(assignment, ExecutorSettings(), "/r", Sandbox.NONE, True, "/p", {}, "/h")
    dialect = kind(start)
    for event in said:
        with suppress(*UNREADABLE):  # the line is then shown as it is
            for part in dialect.take(event):
                assert msgspec.json.decode(msgspec.json.encode(part), type=ExecutorPart)
        dialect.reply()
