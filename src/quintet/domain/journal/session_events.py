"""The events of a session and its turns: inputs, dials, requests to models, and how it all ended."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType, field

from quintet.domain.agents.run import ErrorInfo
from quintet.domain.base.wire_json import Tagged
from quintet.domain.dials.axes import Axes, AxesChange, Surface
from quintet.domain.dials.transitions import Actor, Scope
from quintet.domain.settings.hooks import HookPlace
from quintet.domain.turn.compression import Summary
from quintet.domain.turn.corrections import Correction
from quintet.domain.turn.delivery import DeliveryState
from quintet.domain.turn.messages import EndStatus, Finish, KeptImage, Original, ToolCall, Usage
from quintet.domain.turn.reports import Order, QaReport
from quintet.domain.turn.surroundings import Surroundings


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
    order: Order | None = None  # the report that /review or /research wants of it
    quoted: str | UnsetType = UNSET  # somebody else's words that come with it: a prompt of a server's


class InputRevised(Tagged, frozen=True, kw_only=True, gc=False):
    """The user changed the text of an input that waits; its place stays."""

    submission: str
    text: str


class InputWithdrawn(Tagged, frozen=True, kw_only=True, gc=False):
    """The user took back an input that waited; it is never begun."""

    submission: str
    reason: str


class InputsHeld(Tagged, frozen=True, kw_only=True, gc=False):
    """The user stopped what ran: the inputs that waited behind it are not begun until they are let go."""

    submissions: tuple[str, ...]
    reason: str


class InputsReleased(Tagged, frozen=True, kw_only=True, gc=False):
    """The inputs that were held are begun again, in their order."""

    reason: str


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
    """A paused run continues."""

    reason: str


class TurnStarted(Tagged, frozen=True, kw_only=True, gc=False):
    """A turn began, at these axes."""

    turn: str
    run: str
    submission: str
    text: str
    axes: Axes
    order: Order | None = None
    surroundings: Surroundings | UnsetType = UNSET  # where they are other than the model was told
    images: tuple[KeptImage, ...] | UnsetType = UNSET  # that the text names; left out where there are none
    quoted: str | UnsetType = UNSET  # somebody else's words that come with the text


class TurnFinished(Tagged, frozen=True, kw_only=True, gc=False):
    """A turn ended: done, failed, blocked, limit, interrupted or cancelled."""

    turn: str
    status: EndStatus
    answer: str = ""
    reason: str = ""
    error: ErrorInfo | None = None
    delivery: str = ""  # DONE or NEEDS_WORK; empty where it was not checked
    steps: int = 0
    usage: Usage = Usage()
    cost: float = 0.0
    cycle: str = ""  # the run of the cycle that it was a step of, whose own events say what came of it


class TurnRated(Tagged, frozen=True, kw_only=True, gc=False):
    """The user rated a turn; of several ratings of one turn the last counts."""

    turn: str
    rating: int  # 1 to 5
    note: str = ""


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
    aside: bool = False  # of a stage that is no part of the conversation: a delivery check, a review
    original: Original | None = None  # the reply as its wire spells it, to be sent back to the same model


class ModelFailed(Tagged, frozen=True, kw_only=True, gc=False):
    """A model request failed; with `retry_in` it is tried again."""

    step: str
    error: ErrorInfo
    retry_in: float | None = None


class ReasoningSwitched(Tagged, frozen=True, kw_only=True, gc=False):
    """The user wants visible reasoning, or no longer."""

    enabled: bool


class Corrected(Tagged, frozen=True, kw_only=True, gc=False):
    """A reply would not do, and the model was told so; each kind once a turn."""

    turn: str
    kind: Correction
    text: str


class AgentsPageTold(Tagged, frozen=True, kw_only=True, gc=False):
    """A call touched files in a folder that has a page for agents, and the model was told it; again if it changed."""

    turn: str
    path: str
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


class ReportMade(Tagged, frozen=True, kw_only=True, gc=False):
    """A turn of /review or /research left its report, in Markdown at `path` and in JSON beside it."""

    turn: str
    kind: str  # review | research
    subject: str
    path: str
    findings: dict[str, int] = field(default_factory=dict)  # of a review, by severity
    unresolved: int = 0  # places it names that could not be found in the project


class HistoryCompacted(Tagged, frozen=True, kw_only=True, gc=False):
    """The conversation's older messages gave way to a summary; the newest `kept` stand as they were.

    Where outputs were shortened, that is all that happened: every message stands.
    """

    reason: str
    before_messages: int
    before_tokens: int  # estimated, as is the next
    after_tokens: int
    summary: Summary
    kept: int
    by: str = "rules"  # or the model that wrote the summary
    step: str = ""  # the request for it, if there was one, with what it used
    usage: Usage = Usage()
    cost: float = 0.0
    shortened: dict[int, int] | UnsetType = UNSET  # places of the outputs that were, and characters left of each


class HookRan(Tagged, frozen=True, kw_only=True, gc=False):
    """A hook of the user's was run, and what came of it."""

    place: HookPlace
    command: str
    exit_code: int
    blocked: bool = False
    reason: str = ""  # of a no, or of the question it wants
    seconds: float = 0.0
    context: str = ""  # what it tells the model


class Noticed(Tagged, frozen=True, kw_only=True, gc=False):
    """Something the person should know that belongs to no call."""

    level: str  # info | warning | error
    code: str
    text: str
