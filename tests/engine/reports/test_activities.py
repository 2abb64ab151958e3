"""What began is paired with what ended it, whichever of its events there are."""

from quintet.domain.journal import protocol as p
from quintet.domain.turn.tool_spec import CallStatus
from quintet.engine.reports.activities import Activities, ActivityKind, TimedActivity
from tests.engine.reports.test_accounts import asked, failed, journal, replied
from tests.made_sessions import Made


def ended(events: list[p.Recorded]) -> list[TimedActivity]:
    activities = Activities()
    return [activity for recorded in events for activity in activities.apply(recorded)]


def test_a_whole_session_leaves_nothing_open_and_times_add_up() -> None:
    activities = Activities()
    found = [activity for recorded in Made().events(40) for activity in activities.apply(recorded)]
    assert [activities.still_open(kind) for kind in ActivityKind] == [[], [], [], []]
    for turn in (activity for activity in found if activity.kind is ActivityKind.TURN):
        inside = [a for a in found if a.kind is not ActivityKind.TURN and turn.begun.seq < a.begun.seq]
        inside = [a for a in inside if turn.ended and a.ended and a.ended.seq < turn.ended.seq]
        assert turn.seconds and 0 < sum(a.seconds or 0.0 for a in inside) <= turn.seconds


def test_a_call_that_was_not_run_ends_without_having_started() -> None:
    denied = p.ToolFinished(call="c-1", tool="bash", status=CallStatus.DENIED, content="not run")
    (call,) = ended(journal(denied))
    assert (call.kind, call.key, call.outcome, call.started, call.decided) == (
        ActivityKind.CALL,
        "c-1",
        "denied",
        None,
        None,
    )


def test_a_turn_ends_the_requests_it_leaves_open_and_no_others() -> None:
    cut = p.TurnFinished(turn="turn-1", status="interrupted")
    activities = Activities()
    half = replied("s-2", partial=True)
    events = journal(asked("s-1"), asked("s-2"), half, asked("s-3", turn="turn-2"), cut, failed("s-3"))
    *before, end, last = events
    assert [activities.apply(recorded) for recorded in before] == [[], [], [], []]
    requests = activities.apply(end)
    assert [(r.key, r.outcome, r.seconds) for r in requests] == [
        ("s-1", "interrupted", None),
        ("s-2", "interrupted", 1.0),
    ]
    (other,) = activities.apply(last)
    assert (other.key, other.outcome, other.code) == ("s-3", "error", "LLM_TIMEOUT")
