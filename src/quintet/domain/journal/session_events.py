"""The events of a session and its turns: inputs, dials, requests to models, and how it all ended."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType, field

from quintet.domain.agents.run import ErrorInfo
from quintet.domain.base.wire_json import Tagged
from quintet.domain.dials.axes import Axes, AxesChange, Surface
from quintet.domain.dials.transitions import Scope
from quintet.domain.settings.hooks import HookPlace
from quintet.domain.skills.use import SkillUse
from quintet.domain.turn.compaction import Summary
from quintet.domain.turn.corrections import Correction
from quintet.domain.turn.delivery import DeliveryState
from quintet.domain.turn.messages import EndStatus, Finish, KeptImage, Original, ToolCall, Usage
from quintet.domain.turn.reports import Order, QaReport
from quintet.domain.turn.surroundings import Surroundings


class SessionOpened(Tagged, frozen=True, kw_only=True, gc=False):
    """A session started, new or as a fork of `parent` after its event `forked_after`."""

    session: str
    project: str
    axes: Axes
    program: str
    parent: str = ""
    forked_after: int = 0
    by: str | UnsetType = UNSET  # worker, schedule or what a script says; absent where a person began it


class SessionTaken(Tagged, frozen=True, kw_only=True, gc=False):
    """A process became the session's owner."""

    owner: str
    pid: int
    reason: str


class InputReceived(Tagged, frozen=True, kw_only=True, gc=False):
    """An input was read from the inbox; its turn starts when the one before it has ended."""

    submission: str
    text: str
    surface: Surface
    order: Order | None = None  # the report that /review or /research asks for
    quoted: str | UnsetType = UNSET  # text by others that belongs to it: a prompt of a server
    skill: SkillUse | UnsetType = UNSET  # that the user began it by
    actor: str | UnsetType = UNSET  # remote:CHANNEL/ACCOUNT; absent for the user at a surface


class InputRevised(Tagged, frozen=True, kw_only=True, gc=False):
    """The user changed the text of a queued input; its position stays."""

    submission: str
    text: str


class InputWithdrawn(Tagged, frozen=True, kw_only=True, gc=False):
    """The user removed a queued input; it never starts."""

    submission: str
    reason: str


class InputsHeld(Tagged, frozen=True, kw_only=True, gc=False):
    """The user stopped the turn: queued inputs are held until they are released."""

    submissions: tuple[str, ...]
    reason: str


class InputsReleased(Tagged, frozen=True, kw_only=True, gc=False):
    """The held inputs start again, in order."""

    reason: str


class CommandRan(Tagged, frozen=True, kw_only=True, gc=False):
    """A slash command ran, or was refused with `ok` false and an error code."""

    submission: str
    line: str
    text: str
    ok: bool = True
    code: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    actor: str | UnsetType = UNSET  # remote:CHANNEL/ACCOUNT; absent for the user at a surface


class DialsTurned(Tagged, frozen=True, kw_only=True, gc=False):
    """A transition took effect."""

    transition: str
    before: Axes
    after: Axes
    actor: str  # user, rule, or remote:CHANNEL/ACCOUNT
    reason: str
    scope: Scope
    change: AxesChange = AxesChange()


class TransitionPending(Tagged, frozen=True, kw_only=True, gc=False):
    """A dial change is pending until its scope."""

    transition: str
    change: AxesChange
    scope: Scope
    actor: str
    reason: str
    axes: Axes


class TransitionDropped(Tagged, frozen=True, kw_only=True, gc=False):
    """A pending transition was dropped."""

    transition: str
    reason: str


class ModelChosen(Tagged, frozen=True, kw_only=True, gc=False):
    """The user chose a model for this session; an empty name means the routing table."""

    name: str


class RunPaused(Tagged, frozen=True, kw_only=True, gc=False):
    """The run pauses at its next step."""

    reason: str


class RunResumed(Tagged, frozen=True, kw_only=True, gc=False):
    """A paused run continues."""

    reason: str


class TurnStarted(Tagged, frozen=True, kw_only=True, gc=False):
    """A turn started, with these axes."""

    turn: str
    run: str
    submission: str
    text: str
    axes: Axes
    order: Order | None = None
    surroundings: Surroundings | UnsetType = UNSET  # if they differ from what the model knows
    images: tuple[KeptImage, ...] | UnsetType = UNSET  # that the text names; absent if there are none
    quoted: str | UnsetType = UNSET  # text by others that belongs to it
    skill: SkillUse | UnsetType = UNSET  # that the user began it by


class TurnFinished(Tagged, frozen=True, kw_only=True, gc=False):
    """A turn ended: done, failed, blocked, limit, interrupted or cancelled."""

    turn: str
    status: EndStatus
    answer: str = ""
    reason: str = ""
    error: ErrorInfo | None = None
    delivery: str = ""  # DONE or NEEDS_WORK; empty if it was not checked
    steps: int = 0
    usage: Usage = Usage()
    cost: float = 0.0
    cycle: str = ""  # the run of its cycle, if it was a step of one; the events of that run have the result


class TurnRated(Tagged, frozen=True, kw_only=True, gc=False):
    """The user rated a turn; if it is rated several times, the last one counts."""

    turn: str
    rating: int  # 1 to 5
    note: str = ""


class ModelRequested(Tagged, frozen=True, kw_only=True, gc=False):
    """One request to a model, with everything needed to see later what was sent and why."""

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
    """A model's reply, complete or partial."""

    step: str
    text: str
    calls: tuple[ToolCall, ...] = ()
    finish: Finish = Finish.STOP
    thinking: str = ""
    usage: Usage = Usage()
    cost: float = 0.0
    partial: bool = False  # stopped by an interrupt or a broken stream
    aside: bool = False  # of a stage outside the conversation: a delivery check, a review
    original: Original | None = None  # the reply in the format of its API, to be sent back to the same model
    response_model: str = ""  # the model that answered, as its server names it
    response_id: str = ""  # the reply's id at its server


class ModelFailed(Tagged, frozen=True, kw_only=True, gc=False):
    """A model request failed; with `retry_in` it is retried."""

    step: str
    error: ErrorInfo
    retry_in: float | None = None


class ReasoningSwitched(Tagged, frozen=True, kw_only=True, gc=False):
    """The user turned visible reasoning on or off."""

    enabled: bool


class Corrected(Tagged, frozen=True, kw_only=True, gc=False):
    """A reply was not usable, and the model was told so; each kind once per turn."""

    turn: str
    kind: Correction
    text: str


class AgentsPageTold(Tagged, frozen=True, kw_only=True, gc=False):
    """A call touched files in a folder that has a page for agents, and the model got the page; again if it changed."""

    turn: str
    path: str
    text: str


class Recalled(Tagged, frozen=True, kw_only=True, gc=False):
    """At the beginning of a turn the model got what is known that fits the input, as data with its sources."""

    turn: str
    sources: tuple[str, ...]
    text: str  # as the model got it


class DeliveryChecked(Tagged, frozen=True, kw_only=True, gc=False):
    """Whether the turn delivered the request. Nothing changes it later."""

    turn: str
    state: DeliveryState
    reason: str = ""
    evidence: tuple[str, ...] = ()


class QaReported(Tagged, frozen=True, kw_only=True, gc=False):
    """The advisory review of a turn; it changes neither answer nor delivery."""

    turn: str
    report: QaReport
    path: str = ""  # where the report is stored


class ReportMade(Tagged, frozen=True, kw_only=True, gc=False):
    """A turn of /review or /research wrote its report, in Markdown at `path` and in JSON next to it."""

    turn: str
    kind: str  # review | research
    subject: str
    path: str
    findings: dict[str, int] = field(default_factory=dict)  # of a review, by severity
    unresolved: int = 0  # locations that were not found in the project


class HistoryCompacted(Tagged, frozen=True, kw_only=True, gc=False):
    """A summary replaced the conversation's older messages; the newest `kept` are unchanged.

    If outputs were shortened, nothing else happened: every message is still there.
    """

    reason: str
    before_messages: int
    before_tokens: int  # estimated, as is the next
    after_tokens: int
    summary: Summary
    kept: int
    by: str = "rules"  # or the model that wrote the summary
    step: str = ""  # the request for it, if there was one
    usage: Usage = Usage()
    cost: float = 0.0
    shortened: dict[int, int] | UnsetType = UNSET  # places of the outputs that were, and characters left of each


class HookRan(Tagged, frozen=True, kw_only=True, gc=False):
    """A hook of the user ran, with this result."""

    place: HookPlace
    command: str
    exit_code: int
    blocked: bool = False
    reason: str = ""  # why it blocks, or requires approval
    seconds: float = 0.0
    context: str = ""  # its message for the model


class Noticed(Tagged, frozen=True, kw_only=True, gc=False):
    """Something that the user should know and that belongs to no call."""

    level: str  # info | warning | error
    code: str
    text: str
    shell: str | UnsetType = UNSET  # the background shell that was ended
    takes_back: str | UnsetType = UNSET  # the command that deletes what a run has learnt
