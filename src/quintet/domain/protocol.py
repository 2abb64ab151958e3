"""What goes into a Session and what comes out of it: three closed unions.

Submission in. Event out: durable, numbered, replayed, and complete by itself. Signal out: a token, a progress line, a
countdown; never stored, coalesced or dropped for a slow reader. Each has a JSON form with a `type` field; events also
carry the version of their shape, and every older version keeps an upcaster (`UPCASTERS`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct, field

from quintet.domain.axes import Axes, AxesChange, Surface
from quintet.domain.gate import Sandbox, Verdict
from quintet.domain.grants import Effect, Grant
from quintet.domain.messages import Finish, ToolCall, Usage
from quintet.domain.steering import Actor, Scope
from quintet.domain.toolspec import CallStatus

VERSION = 1


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


class _Tagged(Struct, frozen=True, tag_field="type", tag=_snake, kw_only=True, gc=False):
    """Base of everything that crosses a Session. Values that hold no cycle need no garbage collector (`gc=False`)."""


# ── Submissions


class Say(_Tagged, frozen=True, kw_only=True, gc=False):
    """A line or a page from a person: a slash command if its first line is one, else the input of a turn."""

    text: str


class Answer(_Tagged, frozen=True, kw_only=True, gc=False):
    """An answer to an open question; the first one wins."""

    question: str
    choice: str
    note: str = ""


class Interrupt(_Tagged, frozen=True, kw_only=True, gc=False):
    """Stop what the current turn is doing, keep everything so far."""


Submission = Say | Answer | Interrupt


class Submitted(Struct, frozen=True):
    """A submission as it lies in the inbox."""

    id: str
    body: Submission
    surface: Surface
    actor: Actor = Actor.USER


# ── Events


class SessionOpened(_Tagged, frozen=True, kw_only=True, gc=False):
    """A session began, new or as a fork of `parent` after its event `forked_after`."""

    session: str
    project: str
    axes: Axes
    program: str
    parent: str = ""
    forked_after: int = 0


class SessionTaken(_Tagged, frozen=True, kw_only=True, gc=False):
    """A process became the session's owner."""

    owner: str
    pid: int
    reason: str


class InputReceived(_Tagged, frozen=True, kw_only=True, gc=False):
    """An input was taken from the inbox; its turn begins when the one before it has ended."""

    submission: str
    text: str
    surface: Surface


class CommandRan(_Tagged, frozen=True, kw_only=True, gc=False):
    """A slash command was carried out, or refused with `ok` false and an error code."""

    submission: str
    line: str
    text: str
    ok: bool = True
    code: str = ""
    data: dict[str, Any] = field(default_factory=dict)


class DialsTurned(_Tagged, frozen=True, kw_only=True, gc=False):
    """A transition landed."""

    transition: str
    before: Axes
    after: Axes
    actor: Actor
    reason: str
    scope: Scope
    change: AxesChange = AxesChange()


class TransitionPending(_Tagged, frozen=True, kw_only=True, gc=False):
    """A dial was turned that waits for its scope."""

    transition: str
    change: AxesChange
    scope: Scope
    actor: Actor
    reason: str
    axes: Axes


class TransitionDropped(_Tagged, frozen=True, kw_only=True, gc=False):
    """A waiting transition will not land."""

    transition: str
    reason: str


class ModelChosen(_Tagged, frozen=True, kw_only=True, gc=False):
    """The user named a model for this session, or with an empty name went back to the routing table."""

    name: str


class RunPaused(_Tagged, frozen=True, kw_only=True, gc=False):
    """The run holds at its next step."""

    reason: str


class RunResumed(_Tagged, frozen=True, kw_only=True, gc=False):
    """A paused run goes on."""

    reason: str


class TurnStarted(_Tagged, frozen=True, kw_only=True, gc=False):
    """A turn began, at these axes."""

    turn: str
    run: str
    submission: str
    text: str
    axes: Axes


class ErrorInfo(Struct, frozen=True, gc=False):
    code: str
    message: str
    hint: str = ""


class TurnFinished(_Tagged, frozen=True, kw_only=True, gc=False):
    """A turn ended: done, failed, blocked, limit, interrupted or cancelled."""

    turn: str
    status: str  # done | failed | blocked | limit | interrupted | cancelled
    answer: str = ""
    reason: str = ""
    error: ErrorInfo | None = None
    steps: int = 0
    usage: Usage = Usage()
    cost: float = 0.0


class ModelRequested(_Tagged, frozen=True, kw_only=True, gc=False):
    """One request to a model, with everything needed to tell later what was sent and why."""

    step: str
    turn: str
    run: str
    conversation: str
    user_mode: str  # Chat or Agent, derived from the work mode
    stage: str
    model: str
    tool_count: int
    reasoning: bool  # whether visible reasoning was asked for
    axes: Axes
    attempt: int = 1


class ModelReplied(_Tagged, frozen=True, kw_only=True, gc=False):
    """A model's reply, whole or as far as it came."""

    step: str
    text: str
    calls: tuple[ToolCall, ...] = ()
    finish: Finish = Finish.STOP
    thinking: str = ""
    usage: Usage = Usage()
    cost: float = 0.0
    partial: bool = False  # cut off by an interrupt or a broken stream


class ModelFailed(_Tagged, frozen=True, kw_only=True, gc=False):
    """A model request failed; with `retry_in` it is tried again."""

    step: str
    error: ErrorInfo
    retry_in: float | None = None


class CallDecided(_Tagged, frozen=True, kw_only=True, gc=False):
    """The gate's decision on one call, with everything it was decided on."""

    call: str
    tool: str
    arguments: str
    verdict: Verdict
    reason: str
    effects: tuple[Effect, ...]
    grant: Grant
    axes: Axes
    person: bool
    sandbox: Sandbox


class Choice(Struct, frozen=True, gc=False):
    key: str
    label: str


class QuestionAsked(_Tagged, frozen=True, kw_only=True, gc=False):
    """The session waits for a person."""

    question: str
    kind: str  # approve | choose
    text: str
    choices: tuple[Choice, ...]
    digest: str = ""  # of the exact call an approval is for
    detail: tuple[str, ...] = ()


class QuestionAnswered(_Tagged, frozen=True, kw_only=True, gc=False):
    """A question was answered, or closed without an answer."""

    question: str
    choice: str
    note: str = ""
    surface: Surface = Surface.TUI
    by: str = "user"  # user, or why it was closed without an answer


class ToolStarted(_Tagged, frozen=True, kw_only=True, gc=False):
    """A call is about to have its effect; durable before it has any."""

    call: str
    turn: str
    tool: str
    arguments: str


class ToolFinished(_Tagged, frozen=True, kw_only=True, gc=False):
    """A call's result, as the model is told it."""

    call: str
    tool: str
    status: CallStatus
    content: str
    seconds: float = 0.0
    changed: tuple[str, ...] = ()
    summary: str = ""


class Noticed(_Tagged, frozen=True, kw_only=True, gc=False):
    """Something the person should know that belongs to no call."""

    level: str  # info | warning | error
    code: str
    text: str


Event = (
    SessionOpened
    | SessionTaken
    | InputReceived
    | CommandRan
    | DialsTurned
    | TransitionPending
    | TransitionDropped
    | ModelChosen
    | RunPaused
    | RunResumed
    | TurnStarted
    | TurnFinished
    | ModelRequested
    | ModelReplied
    | ModelFailed
    | CallDecided
    | QuestionAsked
    | QuestionAnswered
    | ToolStarted
    | ToolFinished
    | Noticed
)


class Recorded(Struct, frozen=True, gc=False):
    """An event with its place in the journal."""

    seq: int
    at: str
    event: Event


# ── Signals


class TextDelta(_Tagged, frozen=True, kw_only=True, gc=False):
    """A piece of the reply that a step is streaming."""

    step: str
    text: str


class ThinkingDelta(_Tagged, frozen=True, kw_only=True, gc=False):
    """A piece of the thinking that a step is streaming."""

    step: str
    text: str


class Progress(_Tagged, frozen=True, kw_only=True, gc=False):
    """Output of a call that is still running."""

    call: str
    text: str


class Countdown(_Tagged, frozen=True, kw_only=True, gc=False):
    """Seconds until something is tried again."""

    why: str
    seconds: float


Signal = TextDelta | ThinkingDelta | Progress | Countdown


# ── JSON forms

_encode = msgspec.json.Encoder().encode
_decode_event = msgspec.json.Decoder(Event).decode
_decode_submitted = msgspec.json.Decoder(Submitted).decode

# (type, version) → function from that version's plain dict to the next version's
UPCASTERS: dict[tuple[str, int], Callable[[dict[str, Any]], dict[str, Any]]] = {}


def encode(value: Struct) -> bytes:
    return _encode(value)


def decode_event(data: bytes | str, version: int = VERSION) -> Event:
    if version == VERSION:
        event: Event = _decode_event(data)
        return event
    plain = msgspec.json.decode(data)
    for step in range(version, VERSION):
        upcast = UPCASTERS.get((plain["type"], step))
        plain = upcast(plain) if upcast else plain
    upcasted: Event = msgspec.convert(plain, Event)
    return upcasted


def decode_submitted(data: bytes | str) -> Submitted:
    return _decode_submitted(data)


def as_json(recorded: Recorded) -> dict[str, Any]:
    """One event as a flat JSON object: seq, at, type, then its own fields."""
    body = msgspec.to_builtins(recorded.event)
    return {"seq": recorded.seq, "at": recorded.at, **body}
