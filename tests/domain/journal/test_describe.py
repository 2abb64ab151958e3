"""Why a call was not run is read once: the end of its turn does not repeat it, and nothing else is left out."""

import pytest

from quintet.domain.agents.run import RunPhase
from quintet.domain.dials.axes import Axes
from quintet.domain.journal.describe import RepeatFilter, describe
from quintet.domain.journal.protocol import (
    Event,
    Recorded,
    RunMoved,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from quintet.domain.turn.tool_spec import CallStatus

ASKS = "publishing always needs approval; nobody can approve it in this run"
BEGUN = TurnStarted(turn="turn-1", run="run-1", submission="s-1", text="push", axes=Axes())


def refused(why: str) -> ToolFinished:
    return ToolFinished(call="c-1", tool="bash", status=CallStatus.DENIED, content=f"not run: {why}")


def ended(reason: str) -> TurnFinished:
    return TurnFinished(turn="turn-1", status="blocked", reason=reason)


@pytest.mark.parametrize(
    ("before", "reason", "said"),
    [
        ([refused(ASKS)], f"bash: {ASKS}", ""),
        ([refused(ASKS)], "limits.max_turns = 3", "limits.max_turns = 3"),
        ([refused(ASKS), refused("no")], f"bash: {ASKS}", f"bash: {ASKS}"),
        ([refused(ASKS), BEGUN], f"bash: {ASKS}", f"bash: {ASKS}"),
        ([], f"bash: {ASKS}", f"bash: {ASKS}"),
    ],
)
def test_a_turns_end_says_what_was_not_said_just_now(before: list[Event], reason: str, said: str) -> None:
    told = RepeatFilter()
    *others, last = [Recorded(n, "", e) for n, e in enumerate([BEGUN, *before, ended(reason)], 1)]
    assert [told(one) for one in others] == others
    assert told(last).event == ended(said)


@pytest.mark.parametrize(
    ("tool", "begun", "head"),
    [("Read", False, "  Read: error"), ("Read", True, "  error"), ("TodoRead", True, "  TodoRead: error")],
)
def test_a_call_that_failed_and_has_no_line_of_its_own_says_its_tool(tool: str, begun: bool, head: str) -> None:
    told = RepeatFilter()
    start = ToolStarted(call="c-1", turn="turn-1", tool=tool, arguments="{}")
    failed = ToolFinished(call="c-1", tool=tool, status=CallStatus.ERROR, content="line: wanted a whole number")
    seen = [told(Recorded(n, "", e)) for n, e in enumerate([BEGUN, *([start] if begun else []), failed], 1)]
    assert [line.text for line in describe(seen[-1])] == [head, "line: wanted a whole number"]


def test_the_end_of_a_run_is_one_line() -> None:
    """What to do about it stands at the end of the cycle, just above."""
    reason = "codex: no key\nrun `codex login`"
    event = RunMoved(run="run-1", before=RunPhase.RUNNING, after=RunPhase.FAILED, at="", reason=reason)
    assert [line.text for line in describe(Recorded(1, "", event))] == ["run      run-1 failed  codex: no key"]
