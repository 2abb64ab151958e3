"""What goes into a Session and what comes out of it: three closed unions.

Submission in. Event out: durable, numbered, replayed, and complete by itself. Signal out: a token, a progress line, a
countdown; never stored, coalesced or dropped for a slow reader. Each has a JSON form with a `type` field; events also
carry the version of their shape, and every older version keeps an upcaster (`UPCASTERS`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from quintet.domain.agents.run import ErrorInfo
from quintet.domain.base.wire_json import Tagged
from quintet.domain.dials.axes import PermissionProfile, Surface
from quintet.domain.dials.transitions import Actor
from quintet.domain.journal.call_events import (
    CallDecided,
    CheckpointTaken,
    Choice,
    ConversationCleared,
    FilesChanged,
    MenuMoved,
    ModelConsulted,
    PhaseMoved,
    QuestionAnswered,
    QuestionAsked,
    Rewound,
    RuleMade,
    RuleRevoked,
    TodoMoved,
    ToolFinished,
    ToolStarted,
    UserMessaged,
)
from quintet.domain.journal.cycle_events import (
    CycleBegan,
    CycleMoved,
    CycleResumed,
    CycleStopped,
    ExecutorActed,
    ExecutorChosen,
    ExecutorEnded,
    ExecutorSaid,
    PlanAccepted,
    PlanMade,
    TaskMoved,
    TaskVerified,
)
from quintet.domain.journal.run_events import (
    AgentDismissed,
    AgentEntered,
    DataLoaded,
    HelperAssigned,
    RunMoved,
    RunStarted,
    RunTaken,
    StepBegun,
    StepFinished,
    WorkflowBegun,
)
from quintet.domain.journal.session_events import (
    AgentsPageTold,
    CommandRan,
    Corrected,
    DeliveryChecked,
    DialsTurned,
    HistoryCompacted,
    HookRan,
    InputReceived,
    InputRevised,
    InputsHeld,
    InputsReleased,
    InputWithdrawn,
    ModelChosen,
    ModelFailed,
    ModelReplied,
    ModelRequested,
    Noticed,
    QaReported,
    ReasoningSwitched,
    Recalled,
    ReportMade,
    RunPaused,
    RunResumed,
    SessionOpened,
    SessionTaken,
    TransitionDropped,
    TransitionPending,
    TurnFinished,
    TurnRated,
    TurnStarted,
)

VERSION = 1  # of the shape of events: a change of it needs an upcaster, below


# ── Events

Event = (
    SessionOpened
    | SessionTaken
    | InputReceived
    | InputRevised
    | InputWithdrawn
    | InputsHeld
    | InputsReleased
    | CommandRan
    | DialsTurned
    | TransitionPending
    | TransitionDropped
    | ModelChosen
    | RunPaused
    | RunResumed
    | TurnStarted
    | TurnFinished
    | TurnRated
    | ModelRequested
    | ModelReplied
    | ModelFailed
    | CallDecided
    | RuleMade
    | RuleRevoked
    | ReasoningSwitched
    | Corrected
    | AgentsPageTold
    | Recalled
    | DeliveryChecked
    | QaReported
    | ReportMade
    | QuestionAsked
    | QuestionAnswered
    | ToolStarted
    | ToolFinished
    | MenuMoved
    | ModelConsulted
    | TodoMoved
    | TaskMoved
    | PhaseMoved
    | HookRan
    | UserMessaged
    | HistoryCompacted
    | CheckpointTaken
    | FilesChanged
    | Rewound
    | ConversationCleared
    | AgentEntered
    | AgentDismissed
    | HelperAssigned
    | DataLoaded
    | RunStarted
    | RunTaken
    | RunMoved
    | WorkflowBegun
    | StepBegun
    | StepFinished
    | CycleBegan
    | CycleResumed
    | CycleMoved
    | PlanMade
    | PlanAccepted
    | TaskVerified
    | CycleStopped
    | ExecutorSaid
    | ExecutorActed
    | ExecutorChosen
    | ExecutorEnded
    | Noticed
)


class Recorded(Struct, frozen=True, gc=False):
    """An event with its place in the journal."""

    seq: int
    at: str
    event: Event


# ── Submissions


class Say(Tagged, frozen=True, kw_only=True, gc=False):
    """A line or a page from a person: a slash command if its first line is one, else the input of a turn."""

    text: str
    quoted: str | UnsetType = UNSET  # somebody else's words that come with it: a file that an editor sends along


class Answer(Tagged, frozen=True, kw_only=True, gc=False):
    """An answer to an open question; the first one wins."""

    question: str
    choice: str
    note: str = ""


class Interrupt(Tagged, frozen=True, kw_only=True, gc=False):
    """Stop what the current turn is doing, keep everything so far."""


Submission = Say | Answer | Interrupt


class Submitted(Struct, frozen=True):
    """A submission as it lies in the inbox."""

    id: str
    body: Submission
    surface: Surface
    actor: str = Actor.USER  # or remote:CHANNEL/ACCOUNT
    highest: PermissionProfile | UnsetType = (
        UNSET  # of what comes from elsewhere: it turns no higher, and makes no rule
    )


# ── Signals


class TextDelta(Tagged, frozen=True, kw_only=True, gc=False):
    """A piece of the reply that a step is streaming."""

    step: str
    text: str


class ThinkingDelta(Tagged, frozen=True, kw_only=True, gc=False):
    """A piece of the thinking that a step is streaming."""

    step: str
    text: str


class CallStreams(Tagged, frozen=True, kw_only=True, gc=False):
    """A tool call that a step is streaming."""

    step: str
    place: int  # among the calls of the reply
    tool: str
    about: str  # the file, the command; empty while it is not known


class Progress(Tagged, frozen=True, kw_only=True, gc=False):
    """Output of a call that is still running."""

    call: str
    text: str
    steps: bool = False  # whole lines that say how far it is, for surfaces that show no output as it comes


class Countdown(Tagged, frozen=True, kw_only=True, gc=False):
    """Seconds until something is tried again."""

    why: str
    seconds: float


class Working(Tagged, frozen=True, kw_only=True, gc=False):
    """How far long work is that comes before a call."""

    what: str
    done: int
    total: int  # 0 while it is not known


Signal = TextDelta | ThinkingDelta | CallStreams | Progress | Countdown | Working


# ── JSON forms

_encode = msgspec.json.Encoder().encode

# (type, version) → function from that version's plain dict to the next version's
UPCASTERS: dict[tuple[str, int], Callable[[dict[str, Any]], dict[str, Any]]] = {}


def encode(value: Struct) -> bytes:
    return _encode(value)


@cache
def _events() -> msgspec.json.Decoder[Event]:
    """Made when first used: a new session writes events and reads none."""
    return msgspec.json.Decoder(Event)


@cache
def _submissions() -> msgspec.json.Decoder[Submitted]:
    return msgspec.json.Decoder(Submitted)


def decode_event(data: bytes | str, version: int = VERSION) -> Event:
    if version == VERSION:
        return _events().decode(data)
    plain = msgspec.json.decode(data)
    for step in range(version, VERSION):
        upcast = UPCASTERS.get((plain["type"], step))
        plain = upcast(plain) if upcast else plain
    upcasted: Event = msgspec.convert(plain, Event)
    return upcasted


def decode_submitted(data: bytes | str) -> Submitted:
    return _submissions().decode(data)


def as_json(recorded: Recorded) -> dict[str, Any]:
    """One event as a flat JSON object: seq, at, type, then its own fields."""
    body = msgspec.to_builtins(recorded.event)
    return {"seq": recorded.seq, "at": recorded.at, **body}


__all__ = [
    "UPCASTERS",
    "VERSION",
    "AgentDismissed",
    "AgentEntered",
    "AgentsPageTold",
    "Answer",
    "CallDecided",
    "CallStreams",
    "CheckpointTaken",
    "Choice",
    "CommandRan",
    "ConversationCleared",
    "Corrected",
    "Countdown",
    "CycleBegan",
    "CycleMoved",
    "CycleResumed",
    "CycleStopped",
    "DataLoaded",
    "DeliveryChecked",
    "DialsTurned",
    "ErrorInfo",
    "Event",
    "ExecutorActed",
    "ExecutorChosen",
    "ExecutorEnded",
    "ExecutorSaid",
    "FilesChanged",
    "HelperAssigned",
    "HistoryCompacted",
    "HookRan",
    "InputReceived",
    "InputRevised",
    "InputWithdrawn",
    "InputsHeld",
    "InputsReleased",
    "Interrupt",
    "MenuMoved",
    "ModelChosen",
    "ModelConsulted",
    "ModelFailed",
    "ModelReplied",
    "ModelRequested",
    "Noticed",
    "PhaseMoved",
    "PlanAccepted",
    "PlanMade",
    "Progress",
    "QaReported",
    "QuestionAnswered",
    "QuestionAsked",
    "ReasoningSwitched",
    "Recalled",
    "Recorded",
    "ReportMade",
    "Rewound",
    "RuleMade",
    "RuleRevoked",
    "RunMoved",
    "RunPaused",
    "RunResumed",
    "RunStarted",
    "RunTaken",
    "Say",
    "SessionOpened",
    "SessionTaken",
    "Signal",
    "StepBegun",
    "StepFinished",
    "Submission",
    "Submitted",
    "TaskMoved",
    "TaskVerified",
    "TextDelta",
    "ThinkingDelta",
    "TodoMoved",
    "ToolFinished",
    "ToolStarted",
    "TransitionDropped",
    "TransitionPending",
    "TurnFinished",
    "TurnRated",
    "TurnStarted",
    "UserMessaged",
    "WorkflowBegun",
    "as_json",
    "decode_event",
    "decode_submitted",
    "encode",
]
