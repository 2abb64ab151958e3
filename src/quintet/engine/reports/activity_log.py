"""What a session did, line by line: turns, requests, calls with their decisions, questions, dials, tasks, checkpoints.

A view over the session's activities. A line stands where what it tells of began. The newest lines are found from the
end of the journal, in pieces that grow, so that a long journal is read no further than they reach.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct, to_builtins

from quintet.domain.base.safe_text import brief, on_one_line
from quintet.domain.base.text_table import GAP, cells, table
from quintet.domain.base.wire_json import Tagged
from quintet.domain.dials.transitions import REMOTE
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import describe, turned
from quintet.domain.permission.answers import WORDS
from quintet.domain.tasks.turn_titles import TurnTitles
from quintet.domain.turn.tool_spec import CallStatus
from quintet.engine.reports import accounts
from quintet.engine.reports.activities import Activities, ActivityKind, TimedActivity

FIRST_PIECE = 1000  # event numbers that are read first, from the end
TEXT = 300  # characters of one line's text
WITH_SESSIONS = 140  # cells of a line that leave room for the session
SESSION_CELLS, OUTCOME_CELLS, LEAST_TEXT = 19, 30, 24


class LogKind(StrEnum):
    SESSION = "session"
    TURN = "turn"
    REQUEST = "request"
    CALL = "call"
    QUESTION = "question"
    DIAL = "dial"
    COMMAND = "command"
    TASK = "task"
    CYCLE = "cycle"
    CHECKPOINT = "checkpoint"
    NOTICE = "notice"


K = LogKind
# The types of events that are lines of their own; the others are told by the activity they begin or end.
_OWN: dict[type[Tagged], LogKind] = {
    p.SessionOpened: K.SESSION,
    p.SessionTaken: K.SESSION,
    p.TurnStarted: K.TURN,
    p.TurnFinished: K.TURN,
    p.DeliveryChecked: K.TURN,
    p.ReportMade: K.TURN,
    p.TurnRated: K.TURN,
    p.DialsTurned: K.DIAL,
    p.TransitionPending: K.DIAL,
    p.TransitionDropped: K.DIAL,
    p.ModelChosen: K.DIAL,
    p.ReasoningSwitched: K.DIAL,
    p.CommandRan: K.COMMAND,
    p.RunPaused: K.COMMAND,
    p.RunResumed: K.COMMAND,
    p.TaskMoved: K.TASK,
    p.TaskVerified: K.TASK,
    p.PlanMade: K.CYCLE,
    p.PlanAccepted: K.CYCLE,
    p.CycleBegan: K.CYCLE,
    p.CycleResumed: K.CYCLE,
    p.CycleMoved: K.CYCLE,
    p.CycleStopped: K.CYCLE,
    p.RunStarted: K.CYCLE,
    p.RunMoved: K.CYCLE,
    p.CheckpointTaken: K.CHECKPOINT,
    p.Rewound: K.CHECKPOINT,
    p.RuleMade: K.NOTICE,
    p.HookRan: K.NOTICE,
    p.Noticed: K.NOTICE,
}
_PAIRED: tuple[type[Tagged], ...] = (
    *(p.ModelRequested, p.ModelReplied, p.ModelFailed, p.ModelConsulted, p.HistoryCompacted, p.ExecutorEnded),
    *(p.CallDecided, p.ToolStarted, p.ToolFinished, p.QuestionAsked, p.QuestionAnswered),
)
KINDS: tuple[str, ...] = tuple(str(kind.__struct_config__.tag) for kind in (*_OWN, *_PAIRED))
_LEVELS = {
    **dict.fromkeys(("failed", "error"), "error"),
    **dict.fromkeys(("blocked", "limit", "interrupted", "cancelled", "denied", "retry", "refused"), "warning"),
}


class LogLine(Struct, frozen=True, gc=False):
    seq: int
    at: str
    kind: LogKind
    text: str
    level: str = "info"  # info | warning | error
    session: str = ""
    turn: str = ""
    stage: str = ""  # of a request, and of the calls it made
    outcome: str = ""
    reason: str = ""  # of a decision, an end, a move
    seconds: float | None = None
    cost: float = 0.0
    request: accounts.RequestLine | None = None


class ActivityLog:
    """Follows the journal of a session, in one go or bit by bit; `apply` gives the lines that an event completes."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._activities = Activities()
        self._titles = TurnTitles()
        self._stage = ""  # of the newest request
        self._turn = ""  # that is under way

    def apply(self, recorded: p.Recorded) -> list[LogLine]:
        event = recorded.event
        title = self._titles.of(event)
        match event:
            case p.TurnStarted(turn=turn):
                self._turn = turn
            case p.ModelRequested(stage=stage):
                self._stage = stage
        ended = self._activities.apply(recorded)
        lines = [self._line(activity) for activity in ended if activity.kind is not ActivityKind.TURN]
        if kind := _OWN.get(type(event)):
            text, outcome, reason, cost = _told(recorded)
            lines.append(
                LogLine(
                    seq=recorded.seq,
                    at=recorded.at,
                    kind=kind,
                    text=_short(title or text),
                    level=_level(event, outcome),
                    session=self._session,
                    turn=self._turn,
                    outcome=outcome,
                    reason=_short(reason),
                    cost=cost,
                )
            )
        if isinstance(event, p.TurnFinished):
            self._turn = self._stage = ""
        return lines

    def still_open(self) -> list[LogLine]:
        kinds = (ActivityKind.REQUEST, ActivityKind.CALL, ActivityKind.QUESTION)
        return [self._line(activity) for kind in kinds for activity in self._activities.still_open(kind)]

    def _line(self, activity: TimedActivity) -> LogLine:
        if activity.kind is ActivityKind.REQUEST:
            return _request(activity, self._session)
        tell = _call if activity.kind is ActivityKind.CALL else _question
        return tell(activity, self._session, self._turn, self._stage)


class ProjectLog:
    """Follows the journal of a project, whose sessions write between each other."""

    def __init__(self) -> None:
        self._logs: dict[str, ActivityLog] = {}

    def apply(self, session: str, recorded: p.Recorded) -> list[LogLine]:
        return self._logs.setdefault(session, ActivityLog(session)).apply(recorded)

    def still_open(self) -> list[LogLine]:
        return [line for log in self._logs.values() for line in log.still_open()]


def _request(activity: TimedActivity, session: str) -> LogLine:
    (line,) = accounts.request_lines([activity])
    usage = line.usage
    text = f"{line.model} {line.stage}"
    text += (
        f" · {usage.input_tokens} in, {usage.output_tokens} out" if usage.input_tokens or usage.output_tokens else ""
    )
    at = (line.seq, line.at, K.REQUEST, text, line.level, session or line.conversation, line.turn, line.stage)
    return LogLine(*at, line.outcome, line.code, line.seconds, line.cost, line)


def _call(activity: TimedActivity, session: str, turn: str, stage: str) -> LogLine:
    decided = activity.decided.event if activity.decided else None
    ended = activity.ended.event if activity.ended else None
    first = activity.begun.event
    tool = getattr(first, "tool", "")
    started = activity.started.event if activity.started else None
    arguments = getattr(decided or started, "arguments", "")
    text = f"{tool} {brief(arguments)}".rstrip() if arguments else tool
    outcome = activity.outcome
    level = "warning" if outcome == CallStatus.ERROR else _LEVELS.get(outcome, "info")
    reason = f"{decided.verdict}: {decided.reason}" if isinstance(decided, p.CallDecided) else ""
    if isinstance(ended, p.ToolFinished) and ended.summary:
        outcome = f"{outcome}, {ended.summary}"
    begun = activity.begun
    at = (begun.seq, begun.at, K.CALL, _short(text), level, session, turn, stage)
    return LogLine(*at, _short(outcome), _short(reason), activity.seconds)


def _question(activity: TimedActivity, session: str, turn: str, stage: str) -> LogLine:
    asked, answered = activity.begun.event, activity.ended.event if activity.ended else None
    text = asked.text if isinstance(asked, p.QuestionAsked) else ""
    outcome, reason = activity.outcome, ""
    if isinstance(answered, p.QuestionAnswered):
        outcome = f"closed: {answered.by}" if answered.closed else WORDS.get(answered.choice, answered.choice)
        if answered.by.startswith(REMOTE):
            outcome += f", by {answered.by}"
        reason = answered.note
    level = "warning" if answered is None else "info"
    at = (activity.begun.seq, activity.begun.at, K.QUESTION, _short(text), level, session, turn, stage)
    return LogLine(*at, _short(outcome), _short(reason), activity.seconds)


def _told(recorded: p.Recorded) -> tuple[str, str, str, float]:
    """What an event that is a line of its own says: text, outcome, reason and cost."""
    match recorded.event:
        case p.SessionOpened() as e:
            return f"opened by {e.program}" + (f", a fork of {e.parent}" if e.parent else ""), "", "", 0.0
        case p.SessionTaken() as e:
            return f"continued in process {e.pid}", "", e.reason, 0.0
        case p.TurnStarted() as e:
            return e.text or "continued", "begun", "", 0.0
        case p.TurnFinished() as e:
            return e.answer or "no answer", str(e.status), e.reason, e.cost
        case p.TurnRated() as e:
            return f"rated {e.rating} of 5", "", e.note, 0.0
        case p.DialsTurned() as e:
            return turned(e), "", "", 0.0
        case p.ModelChosen() as e:
            return f"model {e.name or 'chosen by routing'}", "", "", 0.0
        case p.ReasoningSwitched() as e:
            return f"reasoning {'on' if e.enabled else 'off'}", "", "", 0.0
        case p.CommandRan() as e:
            return e.line, "" if e.ok else "refused", "" if e.ok else e.text, 0.0
        case p.RunPaused() | p.RunResumed() as e:
            return "paused" if isinstance(e, p.RunPaused) else "resumed", "", e.reason, 0.0
        case p.TaskMoved() as e:
            return f"{e.task}  {e.before} → {e.after}  {e.title}", str(e.after), e.reason, 0.0
        case p.CycleBegan() as e:
            return f"cycle started: {e.text}", "", "", 0.0
        case p.CycleResumed() as e:
            return "cycle resumed", "", e.reason, 0.0
        case p.CycleMoved() as e:
            of = f"  {e.task} {e.title}" if e.task else ""
            return f"{e.phase}{of}", "", e.by, 0.0
        case p.CycleStopped() as e:
            return "cycle stopped", str(e.status), e.reason, e.cost
        case p.CheckpointTaken() as e:
            return f"checkpoint before {e.point}", "", "", 0.0
        case p.Rewound() as e:
            parts = " and ".join(
                word for word, taken in (("files", e.files), ("conversation", e.conversation)) if taken
            )
            return f"{parts} rewound to before {e.to}", "", "", 0.0
        case p.HookRan() as e:
            return f"hook {e.place}: {e.command}", "blocked" if e.blocked else f"exit {e.exit_code}", e.reason, 0.0
        case p.Noticed() as e:
            return e.text, "", e.code, 0.0
        case e:
            words = describe(recorded)
            return words[0].text if words else str(type(e).__struct_config__.tag).replace("_", " "), "", "", 0.0


def _level(event: p.Event, outcome: str) -> str:
    if isinstance(event, p.Noticed):
        return event.level if event.level in accounts.LEVELS else "info"
    if isinstance(event, p.TaskVerified):
        return "info" if event.passed else "warning"
    return _LEVELS.get(outcome, "info")


def _short(text: str) -> str:
    line = on_one_line(text.strip().partition("\n")[0])
    return line if len(line) <= TEXT else f"{line[: TEXT - 1]}…"


class LogFilter(Struct, frozen=True):
    """Which lines are asked for."""

    level: str = "info"  # at least
    stage: str = ""
    kinds: tuple[str, ...] = ()  # all if empty

    def __call__(self, line: LogLine) -> bool:
        level = accounts.LEVELS[line.level] >= accounts.LEVELS[self.level]
        return level and self.stage in ("", line.stage) and (not self.kinds or line.kind in self.kinds)

    @property
    def requests_only(self) -> bool:
        return self.kinds == (K.REQUEST,)


def wanted(level: str = "", stage: str = "", kinds: str = "") -> LogFilter:
    """The filter of these words; several kinds with commas."""
    chosen = [accounts.one_of("kind", word.strip(), list(LogKind)) for word in kinds.split(",") if word.strip()]
    return LogFilter(accounts.one_of("level", level or "info", list(accounts.LEVELS)), stage, tuple(chosen))


def log_lines_of(events: Iterable[tuple[str, p.Recorded]]) -> list[LogLine]:
    """The lines of some events, each with its session, in the order in which what they tell of began."""
    log = ProjectLog()
    lines = [line for session, recorded in events for line in log.apply(session, recorded)]
    return sorted([*lines, *log.still_open()], key=lambda line: line.seq)


def pieces(last: int) -> Iterator[int]:
    """Where to begin to read up to event `last`: ever further back, twice as far each time, to the beginning."""
    size = FIRST_PIECE
    while last > size:
        yield last - size
        size *= 2
    yield 0


# ── as text and JSON


def log_table(lines: Sequence[LogLine], chosen: LogFilter, *, heading: bool = True, room: int = 0) -> list[str]:
    """The log as a table; where only requests are asked for, with all that is known of each."""
    if chosen.requests_only:
        return accounts.log_lines([line.request for line in lines if line.request], heading=heading, room=room)
    several = len({line.session for line in lines}) > 1 and (not room or room >= WITH_SESSIONS)
    of = ("SESSION",) if several else ()
    before = 19 + 10 + 6 + 7 + 5 * len(GAP) + (SESSION_CELLS + len(GAP)) * several
    wide = max(room - before - OUTCOME_CELLS, LEAST_TEXT) if room else 60
    rows = [
        (
            accounts.when(line.at),
            *((line.session,) if several else ()),
            line.kind,
            _cut(line.text, wide),
            f"{line.cost:.4f}" if line.cost else "-",
            accounts.seconds(line.seconds),
            " · ".join(part for part in (line.outcome, line.reason) if part) or "-",
        )
        for line in lines
    ]
    head = ("TIME", *of, "KIND", "WHAT", "COST", "SECONDS", "OUTCOME")
    least = (19, *(SESSION_CELLS for _ in of), 10, 0 if heading else wide, 6, 7, 0)
    numbers = (head.index("COST"), head.index("SECONDS"))
    made = table(rows, heading=head if heading else (), right=numbers, least=least)
    return [_cut(line, room) for line in made] if room else made


def _cut(text: str, most: int) -> str:
    if cells(text) <= most:
        return text
    while cells(text) > most - 1:
        text = text[:-1]
    return f"{text.rstrip()}…"


def as_json(line: LogLine) -> dict[str, Any]:
    """A line; that of a request has all that is known of the request, too."""
    plain: dict[str, Any] = to_builtins(line)
    request = plain.pop("request")
    return {**plain, **(request or {}), "kind": plain["kind"]}


def nothing_logged(every: Sequence[LogLine], chosen: LogFilter) -> str:
    """Why the log shows nothing, of a journal with these lines."""
    if chosen.requests_only:
        requests = [line.request for line in every if line.request]
        return accounts.nothing_logged(requests, chosen.stage)
    stages = list(dict.fromkeys(line.stage for line in every if line.stage))
    if chosen.stage and stages and chosen.stage not in stages:
        return f"nothing in stage {chosen.stage}; there are entries in {', '.join(stages)}"
    return f"none of {len(every)} lines match" if every else "nothing has happened yet"
