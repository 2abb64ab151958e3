"""Every event a session can journal: one closed union.

An event is durable, numbered, replayed, and complete by itself. A change of an event's shape raises
`protocol.VERSION` and needs an upcaster there.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from quintet.domain.axes import Axes, AxesChange, Surface
from quintet.domain.corrections import Correction
from quintet.domain.delivery import DeliveryState
from quintet.domain.gate import Sandbox, Verdict
from quintet.domain.grants import Effect, Grant
from quintet.domain.hook_places import HookPlace
from quintet.domain.messages import Finish, Original, ToolCall, Usage
from quintet.domain.qa import QaReport
from quintet.domain.rules import Rule
from quintet.domain.steering import Actor, Scope
from quintet.domain.todos import Todo
from quintet.domain.toolspec import CallStatus


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


class Tagged(Struct, frozen=True, tag_field="type", tag=_snake, kw_only=True, gc=False):
    """Base of everything that crosses a Session. Values that hold no cycle need no garbage collector (`gc=False`)."""


class SessionOpened(Tagged, frozen=True, kw_only=True, gc=False):
    """A session began, new or as a fork of `parent` after its event `forked_after`."""

    session: str
    project: str
    axes: Axes
    program: str
    parent: str = ""
    forked_after: int = 0


class SessionTaken(Tagged, frozen=True, kw_only=True, gc=False):
    """A process became the session's owner."""

    owner: str
    pid: int
    reason: str


class InputReceived(Tagged, frozen=True, kw_only=True, gc=False):
    """An input was taken from the inbox; its turn begins when the one before it has ended."""

    submission: str
    text: str
    surface: Surface


class CommandRan(Tagged, frozen=True, kw_only=True, gc=False):
    """A slash command was carried out, or refused with `ok` false and an error code."""

    submission: str
    line: str
    text: str
    ok: bool = True
    code: str = ""
    data: dict[str, Any] = field(default_factory=dict)


class DialsTurned(Tagged, frozen=True, kw_only=True, gc=False):
    """A transition landed."""

    transition: str
    before: Axes
    after: Axes
    actor: Actor
    reason: str
    scope: Scope
    change: AxesChange = AxesChange()


class TransitionPending(Tagged, frozen=True, kw_only=True, gc=False):
    """A dial was turned that waits for its scope."""

    transition: str
    change: AxesChange
    scope: Scope
    actor: Actor
    reason: str
    axes: Axes


class TransitionDropped(Tagged, frozen=True, kw_only=True, gc=False):
    """A waiting transition will not land."""

    transition: str
    reason: str


class ModelChosen(Tagged, frozen=True, kw_only=True, gc=False):
    """The user named a model for this session, or with an empty name went back to the routing table."""

    name: str


class RunPaused(Tagged, frozen=True, kw_only=True, gc=False):
    """The run holds at its next step."""

    reason: str


class RunResumed(Tagged, frozen=True, kw_only=True, gc=False):
    """A paused run goes on."""

    reason: str


class TurnStarted(Tagged, frozen=True, kw_only=True, gc=False):
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


class TurnFinished(Tagged, frozen=True, kw_only=True, gc=False):
    """A turn ended: done, failed, blocked, limit, interrupted or cancelled."""

    turn: str
    status: str  # done | failed | blocked | limit | interrupted | cancelled
    answer: str = ""
    reason: str = ""
    error: ErrorInfo | None = None
    delivery: str = ""  # DONE or NEEDS_WORK; empty where it was not checked
    steps: int = 0
    usage: Usage = Usage()
    cost: float = 0.0


class ModelRequested(Tagged, frozen=True, kw_only=True, gc=False):
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


class ModelReplied(Tagged, frozen=True, kw_only=True, gc=False):
    """A model's reply, whole or as far as it came."""

    step: str
    text: str
    calls: tuple[ToolCall, ...] = ()
    finish: Finish = Finish.STOP
    thinking: str = ""
    usage: Usage = Usage()
    cost: float = 0.0
    partial: bool = False  # cut off by an interrupt or a broken stream
    original: Original | None = None  # the reply as its wire spells it, to be sent back to the same model


class ModelFailed(Tagged, frozen=True, kw_only=True, gc=False):
    """A model request failed; with `retry_in` it is tried again."""

    step: str
    error: ErrorInfo
    retry_in: float | None = None


class CallDecided(Tagged, frozen=True, kw_only=True, gc=False):
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
    rule: str = ""  # the user's rule that decided, if one did


class RuleMade(Tagged, frozen=True, kw_only=True, gc=False):
    """The user said always, and it became a standing rule."""

    rule: Rule


class ReasoningSwitched(Tagged, frozen=True, kw_only=True, gc=False):
    """The user wants visible reasoning, or no longer."""

    enabled: bool


class Corrected(Tagged, frozen=True, kw_only=True, gc=False):
    """A reply would not do, and the model was told so; each kind once a turn."""

    turn: str
    kind: Correction
    text: str


class DeliveryChecked(Tagged, frozen=True, kw_only=True, gc=False):
    """Whether the turn delivered what was asked for. Nothing that comes after changes it."""

    turn: str
    state: DeliveryState
    reason: str = ""
    evidence: tuple[str, ...] = ()


class QaReported(Tagged, frozen=True, kw_only=True, gc=False):
    """The advisory review of a turn; it changes neither answer nor delivery."""

    turn: str
    report: QaReport
    path: str = ""  # where the report is kept


class Choice(Struct, frozen=True, gc=False):
    key: str
    label: str


class QuestionAsked(Tagged, frozen=True, kw_only=True, gc=False):
    """The session waits for a person."""

    question: str
    kind: str  # approve | choose
    text: str
    choices: tuple[Choice, ...]
    digest: str = ""  # of the exact call an approval is for
    detail: tuple[str, ...] = ()


class QuestionAnswered(Tagged, frozen=True, kw_only=True, gc=False):
    """A question was answered, or closed without an answer."""

    question: str
    choice: str
    note: str = ""
    surface: Surface = Surface.TUI
    by: str = "user"  # user, or why it was closed without an answer


class ToolStarted(Tagged, frozen=True, kw_only=True, gc=False):
    """A call is about to have its effect; durable before it has any."""

    call: str
    turn: str
    tool: str
    arguments: str


class ToolFinished(Tagged, frozen=True, kw_only=True, gc=False):
    """A call's result, as the model is told it."""

    call: str
    tool: str
    status: CallStatus
    content: str
    seconds: float = 0.0
    changed: tuple[str, ...] = ()
    summary: str = ""


class MenuMoved(Tagged, frozen=True, kw_only=True, gc=False):
    """The model went to another place in the tool menu; an empty toolset is ROOT."""

    toolset: str


class TodoMoved(Tagged, frozen=True, kw_only=True, gc=False):
    """A todo was made, moved on, or stayed claimed with what its verification found."""

    before: str  # its status until now; empty for a new one
    todo: Todo


class PhaseMoved(Tagged, frozen=True, kw_only=True, gc=False):
    """A run came to another SWE phase; empty `before` begins anew, empty `after` leaves the phases."""

    before: str
    after: str
    reason: str
    values: dict[str, Any] = field(default_factory=dict)  # what the phase that was left found out


class HookRan(Tagged, frozen=True, kw_only=True, gc=False):
    """A hook of the user's was run, and what came of it."""

    place: HookPlace
    command: str
    exit_code: int
    blocked: bool = False
    reason: str = ""  # of a no, or of the question it wants
    seconds: float = 0.0
    context: str = ""  # what it tells the model


class UserMessaged(Tagged, frozen=True, kw_only=True, gc=False):
    """The model told the user something while it works."""

    call: str
    text: str


class Noticed(Tagged, frozen=True, kw_only=True, gc=False):
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
    | RuleMade
    | ReasoningSwitched
    | Corrected
    | DeliveryChecked
    | QaReported
    | QuestionAsked
    | QuestionAnswered
    | ToolStarted
    | ToolFinished
    | MenuMoved
    | TodoMoved
    | PhaseMoved
    | HookRan
    | UserMessaged
    | Noticed
)


class Recorded(Struct, frozen=True, gc=False):
    """An event with its place in the journal."""

    seq: int
    at: str
    event: Event
