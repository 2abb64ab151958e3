"""What began and what ended it: turns, model requests, tool calls and questions, paired in one pass over a journal.

The log, the session report, the forensics and the spans of a collector are views over this. A request is joined by its
step with what ended it: the reply, the failure, or the compaction that it was made for. A reply that was cut off ends
it only with its turn, since what cut it may still be told. Consulting another model, and a start of an AI CLI, are
requests that one event tells of.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from quintet.domain.journal import protocol as p
from quintet.domain.journal.protocol import Recorded


class ActivityKind(StrEnum):
    TURN = "turn"
    REQUEST = "request"
    CALL = "call"
    QUESTION = "question"


class TimedActivity(Struct):
    """Something that takes time, from the first event that tells of it to the last."""

    kind: ActivityKind
    key: str  # the id of the turn, step, call or question
    begun: Recorded
    ended: Recorded | None = None  # none as long as it is open, and where its end is not on record
    outcome: str = "open"  # then a turn's or call's status; of a request ok, retry, error or interrupted
    code: str = ""  # of the error that ended a request
    seconds: float | None = None
    replied: Recorded | None = None  # a request's reply, whole or cut off
    decided: Recorded | None = None  # the gate's last decision on a call
    started: Recorded | None = None  # when a call was run; none if it was not

    @property
    def reply(self) -> p.ModelReplied | None:
        event = self.replied.event if self.replied else None
        return event if isinstance(event, p.ModelReplied) else None

    @property
    def spent(self) -> p.ModelReplied | p.HistoryCompacted | None:
        """What tells what a request used: its reply, or the compaction that it was made for."""
        event = self.replied.event if self.replied else None
        return event if isinstance(event, p.ModelReplied | p.HistoryCompacted) else None


class Activities:
    """Follows a journal, in one go or bit by bit."""

    def __init__(self) -> None:
        self._open: dict[tuple[ActivityKind, str], TimedActivity] = {}

    def apply(self, recorded: Recorded) -> list[TimedActivity]:
        """The activities that an event ends."""
        match recorded.event:
            case p.TurnStarted(turn=turn):
                self._begun(ActivityKind.TURN, turn, recorded)
            case p.TurnFinished(turn=turn, status=status):
                return [*self._ended(ActivityKind.TURN, turn, recorded, status), *self._cut_off(turn)]
            case p.ModelRequested(step=step):
                self._begun(ActivityKind.REQUEST, step, recorded)
            case p.ModelReplied(step=step, partial=partial):
                if request := self._open.get((ActivityKind.REQUEST, step)):
                    request.replied = recorded
                return [] if partial else self._ended(ActivityKind.REQUEST, step, recorded, "ok")
            case p.ModelFailed(step=step, error=error, retry_in=again):
                outcome = "error" if again is None else "retry"
                return self._ended(ActivityKind.REQUEST, step, recorded, outcome, error.code)
            case p.HistoryCompacted(step=step) if step:
                if request := self._open.get((ActivityKind.REQUEST, step)):
                    request.replied = recorded
                return self._ended(ActivityKind.REQUEST, step, recorded, "ok")
            case p.ModelConsulted() as e:
                return [_whole(recorded, e.call, "ok", e.seconds)]
            case p.ExecutorEnded(failure=failure) as e:
                failed = "retry" if e.retry_in is not None else "error" if failure else "interrupted"
                return [_whole(recorded, e.call, "ok" if e.ok else failed, e.seconds, str(failure or ""))]
            case p.CallDecided(call=call):
                self._begun(ActivityKind.CALL, call, recorded).decided = recorded
            case p.ToolStarted(call=call):
                self._begun(ActivityKind.CALL, call, recorded).started = recorded
            case p.ToolFinished(call=call, status=status, seconds=seconds):
                self._begun(ActivityKind.CALL, call, recorded)
                return self._ended(ActivityKind.CALL, call, recorded, status, seconds=seconds)
            case p.QuestionAsked(question=question):
                self._begun(ActivityKind.QUESTION, question, recorded)
            case p.QuestionAnswered(question=question, choice=choice):
                return self._ended(ActivityKind.QUESTION, question, recorded, choice)
        return []

    def still_open(self, kind: ActivityKind) -> list[TimedActivity]:
        return [activity for activity in self._open.values() if activity.kind is kind]

    def _begun(self, kind: ActivityKind, key: str, recorded: Recorded) -> TimedActivity:
        """The activity, which another event may have told of before."""
        return self._open.setdefault((kind, key), TimedActivity(kind, key, recorded))

    def _ended(
        self,
        kind: ActivityKind,
        key: str,
        end: Recorded | None,
        outcome: str,
        code: str = "",
        seconds: float | None = None,
    ) -> list[TimedActivity]:
        activity = self._open.pop((kind, key), None)
        if activity is None:
            return []
        activity.ended, activity.outcome, activity.code = end, outcome, code
        if end:
            activity.seconds = span(activity.begun.at, end.at) if seconds is None else seconds
        return [activity]

    def _cut_off(self, turn: str) -> list[TimedActivity]:
        """The requests that a turn leaves open end with it, at what of a reply there was."""
        left = [a for a in self.still_open(ActivityKind.REQUEST) if getattr(a.begun.event, "turn", "") == turn]
        return [ended for a in left for ended in self._ended(a.kind, a.key, a.replied, "interrupted")]


def _whole(recorded: Recorded, key: str, outcome: str, seconds: float, code: str = "") -> TimedActivity:
    """A request that is told by one event, when it is over."""
    return TimedActivity(ActivityKind.REQUEST, key, recorded, recorded, outcome, code, seconds)


def span(begin: str, end: str) -> float:
    """Seconds between two instants of the journal; a clock that was set back gives none."""
    return round(max(0.0, epoch(end) - epoch(begin)), 3)


def epoch(at: str) -> float:
    """An instant of the journal in seconds since 1970."""
    return datetime.fromisoformat(at).timestamp()
