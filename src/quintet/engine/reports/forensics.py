"""One session step by step: what was asked of which model, what was called, by which decision, at which axes and cost.

A view over the session's activities, in one pass. What models and tools said is clipped on the way in, and of a very
long session the newest entries are kept, so that neither memory nor a page made of it grows with the journal; totals,
bands and spans always cover all of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeVar

from msgspec import Struct

from quintet.domain.base.errors import UsageError
from quintet.domain.base.safe_text import brief
from quintet.domain.dials import badge
from quintet.domain.dials.axes import Axes
from quintet.domain.dials.transitions import REMOTE
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import describe
from quintet.domain.permission.answers import WORDS
from quintet.engine.reports import accounts
from quintet.engine.reports.activities import ActivityKind, TimedActivity, epoch
from quintet.engine.reports.session_report import Report, Reporter

MOST_ENTRIES = 12_000  # kept, the newest ones
ALL_TEXT = 6_000_000  # characters of models and tools, of all entries together, more or less
LEAST_TEXT, MOST_TEXT = 200, 4000  # characters kept of one text
SUBJECT = 200


class RequestEntry(Struct, tag_field="kind", tag="request"):
    """A model request, with what the model said."""

    seq: int
    at: str
    turn: int
    request: accounts.RequestLine | None = None
    said: str = ""
    calls: tuple[str, ...] = ()  # the tools it called


class CallEntry(Struct, tag_field="kind", tag="call"):
    """A tool call, as `quintet forensics --json` writes it: the decision with all behind it, and what came of it."""

    seq: int
    at: str
    turn: int
    call: str
    tool: str
    subject: str = ""
    arguments: str = ""
    verdict: str = ""  # allow, ask or deny; empty where the gate was not asked anew
    reason: str = ""
    rule: str = ""
    effects: tuple[str, ...] = ()
    badge: str = ""
    sandbox: str = ""
    status: str = "open"  # then ok, error, denied or interrupted
    seconds: float | None = None
    summary: str = ""
    output: str = ""
    changed: tuple[str, ...] = ()


class NoteEntry(Struct, tag_field="kind", tag="note"):
    """Something else of interest: a dial turned, a question, a check, a command."""

    seq: int
    at: str
    turn: int
    what: str  # the event's type
    text: str
    detail: str = ""
    role: str = ""


Entry = RequestEntry | CallEntry | NoteEntry
E = TypeVar("E", bound=Entry)


class Band(Struct):
    """Where the axes stood from then on."""

    at: float  # epoch
    axes: Axes


class TimedSpan(Struct, gc=False):
    """Something that took time."""

    lane: str  # turn, a stage, or tools
    begin: float  # epoch
    end: float
    outcome: str
    cost: float = 0.0


class Forensics(Struct):
    report: Report
    entries: list[Entry]
    bands: list[Band]
    spans: list[TimedSpan]
    stage_seconds: dict[str, float]
    first_turn: int = 1  # the number of the first turn in it
    left_out: int = 0  # entries older than those kept
    clip: int = MOST_TEXT


def allowance(events: int) -> int:
    """How much to keep of each text in a session of so many events."""
    return max(LEAST_TEXT, min(MOST_TEXT, ALL_TEXT // max(events, 1)))


def clipped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\n… {len(text) - most:,} more characters"


class Examiner:
    """Takes a session's events in order; `findings` is what they come to so far."""

    def __init__(
        self, clip: int = MOST_TEXT, turn: int | None = None, is_free: Callable[[str], bool] = lambda model: False
    ) -> None:
        self._clip = clip
        self._only = None if turn is None else OneTurn(turn)
        self._reporter = Reporter(is_free)
        self._entries: deque[Entry] = deque(maxlen=MOST_ENTRIES)
        self._count = 0
        self._of: dict[tuple[ActivityKind, str], Entry] = {}  # the entries of what is open
        self._bands: list[Band] = []
        self._spans: list[TimedSpan] = []
        self._stage_seconds: dict[str, float] = {}
        self._first_turn = 1 if turn is None else turn
        self._turn = self._first_turn - 1

    def apply(self, recorded: p.Recorded) -> None:
        if self._only and not self._only.wants(recorded):
            return
        match recorded.event:
            case p.SessionOpened() as e:
                self._band(recorded.at, e.axes)
            case p.TurnStarted() as e:
                self._turn += 1
                self._band(recorded.at, e.axes)
            case p.ModelRequested(step=step):
                self._of[ActivityKind.REQUEST, step] = self._kept(RequestEntry(recorded.seq, recorded.at, self._turn))
            case p.CallDecided() as e:
                entry = self._call(recorded, e.call, e.tool, e.arguments)
                entry.seq = recorded.seq  # the number that `quintet why` takes
                entry.verdict, entry.reason, entry.rule = e.verdict, e.reason, e.rule
                entry.effects, entry.badge, entry.sandbox = e.effects, badge.full(e.axes), e.sandbox
            case p.ToolStarted() as e:
                self._call(recorded, e.call, e.tool, e.arguments)
            case p.ToolFinished() as e:
                self._call(recorded, e.call, e.tool, "")
            case p.QuestionAsked() as e:
                note = self._note(recorded, e.text, "\n".join(e.detail), "warning")
                self._of[ActivityKind.QUESTION, e.question] = note
            case p.TurnFinished() | p.ModelReplied() | p.QuestionAnswered():
                """Told by the activity that it ends."""
            case _:
                self._other(recorded)
        for activity in self._reporter.apply(recorded):
            self._ended(activity)

    def findings(self) -> Forensics:
        if self._only:
            self._only.check()
        for request in self._reporter.activities.still_open(ActivityKind.REQUEST):
            self._requested(request)
        return Forensics(
            report=self._reporter.report(),
            entries=list(self._entries),
            bands=self._bands,
            spans=self._spans,
            stage_seconds={stage: round(seconds, 3) for stage, seconds in self._stage_seconds.items()},
            first_turn=self._first_turn,
            left_out=self._count - len(self._entries),
            clip=self._clip,
        )

    def _kept(self, entry: E) -> E:
        self._count += 1
        self._entries.append(entry)
        return entry

    def _band(self, at: str, axes: Axes) -> None:
        if not self._bands or badge.labels(self._bands[-1].axes) != badge.labels(axes):
            self._bands.append(Band(epoch(at), axes))

    def _span(self, lane: str, begin: float, seconds: float, outcome: str, cost: float = 0.0) -> None:
        self._spans.append(TimedSpan(lane, begin, begin + max(0.0, seconds), outcome, cost))

    def _ended(self, activity: TimedActivity) -> None:
        match activity.kind:
            case ActivityKind.TURN if activity.ended:
                begin = epoch(activity.begun.at)
                self._span("turn", begin, epoch(activity.ended.at) - begin, activity.outcome)
            case ActivityKind.REQUEST:
                line = self._requested(activity)
                took = line.seconds or 0.0
                self._span(line.stage, epoch(line.at), took, line.outcome, line.cost)
                self._stage_seconds[line.stage] = self._stage_seconds.get(line.stage, 0.0) + took
            case ActivityKind.CALL:
                self._called(activity)
            case ActivityKind.QUESTION:
                self._answered(activity)
        self._of.pop((activity.kind, activity.key), None)

    def _requested(self, request: TimedActivity) -> accounts.RequestLine:
        (line,) = accounts.request_lines([request])
        entry = self._of.get((request.kind, request.key))
        if isinstance(entry, RequestEntry):
            entry.request = line
            if reply := request.reply:
                entry.said = clipped(reply.text, self._clip)
                entry.calls = tuple(call.name for call in reply.calls)
        return line

    def _call(self, recorded: p.Recorded, call: str, tool: str, arguments: str) -> CallEntry:
        entry = self._of.get((ActivityKind.CALL, call))
        if not isinstance(entry, CallEntry):
            entry = self._kept(CallEntry(recorded.seq, recorded.at, self._turn, call, tool))
            self._of[ActivityKind.CALL, call] = entry
        if arguments:
            entry.subject = brief(arguments, SUBJECT)
            entry.arguments = clipped(arguments, self._clip)
        return entry

    def _called(self, call: TimedActivity) -> None:
        entry = self._of[call.kind, call.key]
        assert isinstance(entry, CallEntry) and call.ended and isinstance(call.ended.event, p.ToolFinished)
        event = call.ended.event
        entry.status, entry.seconds, entry.changed = event.status, event.seconds, event.changed
        entry.summary, entry.output = event.summary, clipped(event.content, self._clip)
        self._span("tools", epoch(call.ended.at) - event.seconds, event.seconds, event.status)

    def _answered(self, question: TimedActivity) -> None:
        entry = self._of.get((question.kind, question.key))
        assert isinstance(entry, NoteEntry) and question.ended
        event = question.ended.event
        assert isinstance(event, p.QuestionAnswered)
        answer = WORDS.get(event.choice, event.choice)
        told = f"closed: {event.by}" if event.closed else answer
        if event.by.startswith(REMOTE):
            told += f", by {event.by}"
        entry.text += f" → {told}{f', {event.note}' if event.note else ''} after {question.seconds:.1f} s"

    def _note(self, recorded: p.Recorded, text: str, detail: str = "", role: str = "") -> NoteEntry:
        kind = str(type(recorded.event).__struct_config__.tag)
        head = " ".join(text.split())
        entry = NoteEntry(recorded.seq, recorded.at, self._turn, kind, clipped(head, self._clip), "", role)
        entry.detail = clipped(detail, self._clip)
        return self._kept(entry)

    def _other(self, recorded: p.Recorded) -> None:
        match recorded.event:
            case p.DialsTurned() as e:
                self._band(recorded.at, e.after)
            case p.CommandRan() as e:
                self._note(recorded, e.line, e.text, "" if e.ok else "error")
                return
            case p.HookRan() as e if not e.blocked:
                self._note(recorded, f"{e.place}: {e.command}, exit code {e.exit_code}", e.context, "dim")
                return
            case p.RunPaused() | p.RunResumed() | p.SessionTaken() as e:
                self._note(recorded, e.reason, "", "dim")
                return
        if lines := describe(recorded):
            first, *rest = lines
            self._note(recorded, first.text, "\n".join(line.text for line in rest), first.role)


class OneTurn:
    """Chooses the events of one turn, counted from 1, with the session's beginning and the turn's ratings."""

    def __init__(self, turn: int) -> None:
        self._wanted = turn
        self._session = ""
        self._name = ""
        self._count = 0

    def wants(self, recorded: p.Recorded) -> bool:
        match recorded.event:
            case p.SessionOpened(session=session):
                self._session = session
                return True
            case p.TurnStarted(turn=turn):
                self._count += 1
                if self._count == self._wanted:
                    self._name = turn
            case p.TurnRated(turn=turn):
                return turn == self._name
        return self._count == self._wanted

    def check(self) -> None:
        if not self._name:
            has = f"it has {self._count}" if self._count else "it has none yet"
            raise UsageError(f"there is no turn {self._wanted} in session {self._session}; {has}")


def examine(
    events: Iterable[p.Recorded],
    clip: int,
    turn: int | None = None,
    is_free: Callable[[str], bool] = lambda model: False,
) -> Forensics:
    """A whole session, or one turn of it, counted from 1."""
    examiner = Examiner(clip, turn, is_free)
    for recorded in events:
        examiner.apply(recorded)
    return examiner.findings()
