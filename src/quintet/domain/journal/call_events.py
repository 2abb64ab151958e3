"""The events of a call: what the gate decided, what was asked, what ran, what it changed, what was taken back."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType, field

from quintet.domain.base.wire_json import Tagged
from quintet.domain.dials.axes import Axes, Surface
from quintet.domain.journal.file_changes import FileChange
from quintet.domain.permission.answers import Choice as Choice
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.gate import Sandbox, Verdict
from quintet.domain.permission.rules import Rule
from quintet.domain.turn.messages import KeptImage, Usage
from quintet.domain.turn.todos import Todo
from quintet.domain.turn.tool_spec import CallStatus


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
    access: str = ""  # what it may touch, and what holds it to that, in words


class RuleMade(Tagged, frozen=True, kw_only=True, gc=False):
    """An answer of the user's became a rule: one that lasts, or one of this session."""

    rule: Rule


class RuleRevoked(Tagged, frozen=True, kw_only=True, gc=False):
    """The user took a rule of this session back."""

    rule: str  # its id


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
    rights: Surface | UnsetType = UNSET  # the surface of a line that runs with the user's rights; left out for others


class ToolFinished(Tagged, frozen=True, kw_only=True, gc=False):
    """A call's result, as the model is told it."""

    call: str
    tool: str
    status: CallStatus
    content: str
    seconds: float = 0.0
    changed: tuple[str, ...] = ()
    summary: str = ""
    images: tuple[KeptImage, ...] | UnsetType = UNSET  # that the model is shown; left out where there are none


class ModelConsulted(Tagged, frozen=True, kw_only=True, gc=False):
    """A call asked another model, and what that used and cost; the answer is the call's result."""

    call: str
    tool: str
    turn: str
    run: str
    conversation: str
    route: str  # smart | deep | vision
    model: str
    axes: Axes
    usage: Usage = Usage()
    cost: float = 0.0
    seconds: float = 0.0  # of the call


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


class UserMessaged(Tagged, frozen=True, kw_only=True, gc=False):
    """The model told the user something while it works."""

    call: str
    text: str


class KeptForCall(Struct, frozen=True, gc=False):
    """What was kept right before a call that deletes: on record, so that it is known if the process ends in it."""

    call: str
    paths: tuple[str, ...]  # what it deletes: files, folders, patterns
    states: dict[str, str]  # of what the tree does not hold, or not as it is


class CheckpointTaken(Tagged, frozen=True, kw_only=True, gc=False):
    """The project's files were kept as they are, before a turn or a rewind changes any of them; or before a call that
    deletes some of them."""

    point: str  # the turn or the rewind
    tree: str = ""  # of all files; empty where only the files that tools write are kept
    lacking: tuple[str, ...] = ()  # what it does not cover: repositories inside the project, secrets, files too large
    kept: KeptForCall | UnsetType = UNSET  # left out where no call deletes


class FilesChanged(Tagged, frozen=True, kw_only=True, gc=False):
    """A call changed files: those that differ between two trees, and those told one by one."""

    point: str
    call: str
    before: str = ""  # tree
    after: str = ""  # tree
    files: tuple[FileChange, ...] = ()
    paths: tuple[str, ...] = ()  # the first of them, to be shown
    count: int = 0
    added: int = 0  # lines
    removed: int = 0
    unsure: bool = False  # what was ignored came into view, so nobody knows whether a new file is new


class ConversationCleared(Tagged, frozen=True, kw_only=True, gc=False):
    """The user began a new conversation in the session: the model hears nothing more of the one before."""

    point: str  # of this, so that the conversation before can be gone back to


class Rewound(Tagged, frozen=True, kw_only=True, gc=False):
    """The user went back to before a turn: its files, its conversation, or both."""

    point: str  # of this rewind, so that it can be taken back
    to: str  # the turn or the rewind before which everything is again
    files: bool
    conversation: bool
    restored: int = 0
    left: tuple[str, ...] = ()  # the first of the files that were left alone
