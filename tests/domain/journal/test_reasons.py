"""What a recorded reason stands for: as it is written now, and as it stands in journals and rows from before."""

import pytest
from msgspec import UNSET, UnsetType

from quintet.domain.journal import protocol as p
from quintet.domain.journal import reasons
from quintet.domain.journal.reasons import EndCause, Refuser, TaskCause
from quintet.domain.journal.state import SessionState
from quintet.domain.turn.tool_spec import CallStatus, ShellSeen


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("interrupted", EndCause.INTERRUPTED),
        ("its process ended", EndCause.OTHER),
        ("loop_detected: read the same file 5 times", EndCause.LOOP),
        ("limits.max_turns = 3", EndCause.MAX_TURNS),
        ("limits.max_cost = 1, spent 1.2000", EndCause.OTHER),
        ("stopped by /stop", EndCause.OTHER),
        ("", EndCause.OTHER),
    ],
)
def test_why_a_turn_ended(reason: str, cause: EndCause) -> None:
    assert reasons.cause_of(reason) is cause


@pytest.mark.parametrize(
    ("content", "refuser", "why"),
    [
        ("not run: the user said no", Refuser.USER, "the user said no"),
        ("not run: the user said no: not yet", Refuser.USER, "the user said no: not yet"),
        ("not run: .env is protected", Refuser.POLICY, ".env is protected"),
        ("not run: your hook `x`: not on Fridays", Refuser.POLICY, "your hook `x`: not on Fridays"),
    ],
)
def test_who_refused_a_call(content: str, refuser: Refuser, why: str) -> None:
    assert (reasons.refuser_of(content), reasons.refusal_of(content)) == (refuser, why)


def test_refusals_are_read_as_they_are_written() -> None:
    assert reasons.not_run(".env is protected") == "not run: .env is protected"
    assert reasons.declined("") == "not run: the user said no"
    assert reasons.declined("not yet") == "not run: the user said no: not yet"


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("found as a file without a row", TaskCause.FOUND_AS_FILE),
        ("not verified: nothing changed", TaskCause.NOT_VERIFIED),
        (reasons.not_verified("nothing changed"), TaskCause.NOT_VERIFIED),
        ("verified; needs approval", TaskCause.OTHER),
        ("added", TaskCause.OTHER),
    ],
)
def test_why_a_task_was_moved(reason: str, cause: TaskCause) -> None:
    assert reasons.task_cause_of(reason) is cause


def _after(tool: str, arguments: str, content: str, shell: ShellSeen | UnsetType, state: SessionState) -> list[str]:
    """The background shells that the state knows of after a call."""
    state.apply(p.ToolStarted(call="c", turn="t", tool=tool, arguments=arguments))
    state.apply(p.ToolFinished(call="c", tool=tool, status=CallStatus.OK, content=content, shell=shell))
    return list(state.calls.shells)


@pytest.mark.parametrize("was", ["was", "is"])
def test_background_shells_of_earlier_journals_are_known_by_what_was_said(was: str) -> None:
    state = SessionState()
    assert _after("bash", "{}", f"shell dev {was} started.\n(still running)", UNSET, state) == ["dev"]
    assert _after("bash", "{}", f"shell one {was} started.\n(exit 0)", UNSET, state) == ["dev"]
    assert _after("bash_output", '{"bash_id": "dev"}', "more\n(still running)", UNSET, state) == ["dev"]
    assert _after("bash_output", '{"bash_id": "dev"}', "more\n(exit -9)", UNSET, state) == []
    assert _after("bash", "{}", f"shell dev {was} started.", UNSET, state) == ["dev"]
    state.apply(p.Noticed(level="info", code="SHELL_ENDED", text=f"background shell dev {was} ended by /tasks end"))
    assert list(state.calls.shells) == []


def test_background_shells_are_known_by_a_field_whatever_was_said() -> None:
    state = SessionState()
    assert _after("bash", "{}", "begun", ShellSeen("dev", running=True), state) == ["dev"]
    line = ShellSeen("", running=False, exit_code=0)
    assert _after("bash", "{}", "shell other was started.\nexit 0", line, state) == ["dev"]
    assert _after("kill_shell", "{}", "over", ShellSeen("dev", running=False), state) == []
    assert _after("bash", "{}", "begun", ShellSeen("dev", running=True), state) == ["dev"]
    state.apply(p.Noticed(level="info", code="SHELL_ENDED", text="over", shell="dev"))
    assert list(state.calls.shells) == []
