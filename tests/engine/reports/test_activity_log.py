"""The log of a session: every kind of line, in order, chosen by level, stage and kind; read no further than needed."""

import pytest

from quintet.domain.base.errors import UsageError
from quintet.domain.base.text_table import cells
from quintet.domain.journal import protocol as p
from quintet.domain.tasks.task import TaskStatus
from quintet.engine.reports import activity_log
from quintet.engine.reports.activity_log import FIRST_PIECE, LogKind, LogLine, log_lines_of, log_table, pieces, wanted
from tests.engine.reports.test_accounts import asked, failed, journal, replied
from tests.made_sessions import Made


def lines_of(*events: p.Event) -> list[LogLine]:
    return log_lines_of([("q5-1", recorded) for recorded in journal(*events)])


def test_only_what_is_asked_for_is_shown() -> None:
    lines = lines_of(
        asked("s-1"), replied("s-1"), asked("s-2", stage="warmup"), failed("s-2", 1.0), asked("s-3"), failed("s-3")
    )

    def steps(level: str, stage: str = "") -> list[str]:
        chosen = wanted(level, stage)
        return [line.request.step for line in lines if line.request and chosen(line)]

    assert steps("info") == steps("") == ["s-1", "s-2", "s-3"]
    assert steps("warning") == ["s-2", "s-3"]
    assert steps("error") == ["s-3"]
    assert steps("info", "warmup") == ["s-2"]
    assert steps("error", "warmup") == []
    with pytest.raises(UsageError, match="Did you mean error"):
        wanted("eror")
    with pytest.raises(UsageError, match="Did you mean question"):
        wanted(kinds="call,questio")


def test_s3_9_3_a_session_is_told_line_by_line() -> None:
    moved = p.TaskMoved(
        task="task-001",
        title="Do it",
        before=TaskStatus.RUNNING,
        after=TaskStatus.FAILED,
        reason="given up",
        transition=3,
    )
    lines = [
        (line.kind, line.text, line.level, line.outcome)
        for line in lines_of(
            p.CommandRan(submission="in-1", line="/mode nowhere", text="not one", ok=False, code="USAGE"),
            p.CheckpointTaken(point="turn-1"),
            moved,
            p.Noticed(level="error", code="STORE_DAMAGED", text="damaged\nand more"),
            p.QuestionAsked(question="q-1", kind="approve", text="Run: git push?", choices=()),
        )
    ]
    assert lines == [
        (LogKind.COMMAND, "/mode nowhere", "warning", "refused"),
        (LogKind.CHECKPOINT, "checkpoint before turn-1", "info", ""),
        (LogKind.TASK, "task-001  running → failed  Do it", "error", "failed"),
        (LogKind.NOTICE, "damaged", "error", ""),
        (LogKind.QUESTION, "Run: git push?", "warning", "open"),
    ]


def test_calls_carry_their_decision_and_the_stage_of_their_request() -> None:
    events = [("q5-made", recorded) for recorded in Made().events(12)]
    lines = log_lines_of(events)
    assert [line.seq for line in lines] == sorted(line.seq for line in lines)
    calls = [line for line in lines if line.kind is LogKind.CALL]
    decided = [r.event for _, r in events if isinstance(r.event, p.CallDecided)]
    assert [(c.text.split()[0], c.reason) for c in calls] == [(d.tool, f"{d.verdict}: {d.reason}") for d in decided]
    assert {call.stage for call in calls} <= {"warmup", "act", "tool_followup"} and calls[0].turn == "turn-1"
    assert len([line for line in lines if line.kind is LogKind.REQUEST]) == 12
    denied = [call for call in calls if call.outcome.startswith("denied")]
    assert denied and {call.level for call in denied} == {"warning"}


def test_every_event_of_interest_is_read() -> None:
    assert {"turn_started", "call_decided", "dials_turned", "task_moved", "checkpoint_taken"} <= set(activity_log.KINDS)
    assert len(set(activity_log.KINDS)) == len(activity_log.KINDS)


@pytest.mark.parametrize("last", [0, 1, FIRST_PIECE, FIRST_PIECE + 1, 10 * FIRST_PIECE + 7])
def test_a_journal_is_read_from_its_end_ever_further_back(last: int) -> None:
    begins = list(pieces(last))
    assert begins[-1] == 0 and begins == sorted(begins, reverse=True) and len(set(begins)) == len(begins)
    assert sum(last - begin for begin in begins) <= 4 * max(last, FIRST_PIECE)  # all of it together is linear


@pytest.mark.parametrize("room", [60, 80, 120, 0])
def test_the_table_fits_and_is_aligned(room: int) -> None:
    lines = log_lines_of([("q5-made", recorded) for recorded in Made().events(30)])
    heading, *shown = log_table(lines, wanted(), room=room)
    assert len(shown) == len(lines)
    if room:
        assert all(cells(line) <= room for line in (heading, *shown))
    place = heading.index("KIND")
    assert all(
        line[place:].startswith(row.kind) and line[place - 1] == " " for line, row in zip(shown, lines, strict=True)
    )
