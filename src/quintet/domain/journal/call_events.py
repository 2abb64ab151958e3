"""The events of a call: what the gate decided, what was asked, what ran, what it changed, what was taken back."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType, field

from quintet.domain.base.wire_json import Tagged
from quintet.domain.dials.axes import Axes, Surface
from quintet.domain.dials.transitions import REMOTE
from quintet.domain.journal.file_changes import FileChange
from quintet.domain.permission.answers import Choice as Choice
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.gate import Sandbox, Verdict
from quintet.domain.permission.rules import Rule
from quintet.domain.skills.use import SkillUse
from quintet.domain.turn.messages import KeptImage, Usage
from quintet.domain.turn.todos import Todo
from quintet.domain.turn.tool_spec import CallStatus, ShellSeen


class CallDecided(Tagged, frozen=True, kw_only=True, gc=False):
    """The gate's decision on one call, with everything that it is based on."""

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
    access: str = ""  # what it may touch, and its sandbox, as text


class RuleMade(Tagged, frozen=True, kw_only=True, gc=False):
    """An answer of the user became a rule, for the project or for this session."""

    rule: Rule


class RuleRevoked(Tagged, frozen=True, kw_only=True, gc=False):
    """The user revoked a rule of this session."""

    rule: str  # its id


class QuestionAsked(Tagged, frozen=True, kw_only=True, gc=False):
    """The session needs an answer from a person."""

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
    by: str = "user"  # user, remote:CHANNEL/ACCOUNT, or why it was closed without an answer

    @property
    def closed(self) -> bool:
        """Whether nobody answered it."""
        return self.by != "user" and not self.by.startswith(REMOTE)


class ToolStarted(Tagged, frozen=True, kw_only=True, gc=False):
    """A call is about to start; stored before it has any effect."""

    call: str
    turn: str
    tool: str
    arguments: str
    rights: Surface | UnsetType = UNSET  # the surface of a line that runs with the user's rights; absent for others


class ToolFinished(Tagged, frozen=True, kw_only=True, gc=False):
    """A call's result, as the model gets it."""

    call: str
    tool: str
    status: CallStatus
    content: str
    seconds: float = 0.0
    changed: tuple[str, ...] = ()
    summary: str = ""
    images: tuple[KeptImage, ...] | UnsetType = UNSET  # for the model; absent if there are none
    shell: ShellSeen | UnsetType = UNSET  # the shell that ran its line, or that it started, looked at or ended
    page: str | UnsetType = UNSET  # the address of the web page that a browser tool shows
    skill: SkillUse | UnsetType = UNSET  # that the turn works by from here on


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
    helper: str | UnsetType = UNSET  # the session of the helper that asked, whose journal has the request too


class MenuMoved(Tagged, frozen=True, kw_only=True, gc=False):
    """The model moved in the tool menu; an empty toolset is ROOT."""

    toolset: str


class TodoMoved(Tagged, frozen=True, kw_only=True, gc=False):
    """A todo was made, changed its status, or stayed claimed with the findings of its verification."""

    before: str  # its status until now; empty for a new one
    todo: Todo


class PhaseMoved(Tagged, frozen=True, kw_only=True, gc=False):
    """A run entered another SWE phase; an empty `before` starts again, an empty `after` ends the phases."""

    before: str
    after: str
    reason: str
    values: dict[str, Any] = field(default_factory=dict)  # the results of the phase before


class UserMessaged(Tagged, frozen=True, kw_only=True, gc=False):
    """The model sent the user a message while it works."""

    call: str
    text: str


class KeptForCall(Struct, frozen=True, gc=False):
    """What was saved just before a call that deletes; recorded in case the process ends during the call."""

    call: str
    paths: tuple[str, ...]  # what it deletes: files, folders, patterns
    states: dict[str, str]  # of what the tree does not contain, or not unchanged


class CheckpointTaken(Tagged, frozen=True, kw_only=True, gc=False):
    """The project's files were saved before a turn or a rewind changes any of them; or before a call that
    deletes some of them."""

    point: str  # the turn or the rewind
    tree: str = ""  # of all files; empty if only the files that tools write are saved
    lacking: tuple[str, ...] = ()  # what is not saved: repositories inside the project, secrets, large files
    kept: KeptForCall | UnsetType = UNSET  # absent if no call deletes


class FilesChanged(Tagged, frozen=True, kw_only=True, gc=False):
    """A call changed files: those that differ between two trees, and those listed one by one."""

    point: str
    call: str
    before: str = ""  # tree
    after: str = ""  # tree
    files: tuple[FileChange, ...] = ()
    paths: tuple[str, ...] = ()  # the first of them, to be shown
    count: int = 0
    added: int = 0  # lines
    removed: int = 0
    unsure: bool = False  # ignored files became visible, so it is not known which files are new


class ConversationCleared(Tagged, frozen=True, kw_only=True, gc=False):
    """The user started a new conversation in the session: the model no longer sees the one before."""

    point: str  # of this event, so that the conversation before can be restored


class Rewound(Tagged, frozen=True, kw_only=True, gc=False):
    """The user restored the state before a turn: its files, its conversation, or both."""

    point: str  # of this rewind, so that it can be undone
    to: str  # the turn or rewind whose earlier state was restored
    files: bool
    conversation: bool
    restored: int = 0
    left: tuple[str, ...] = ()  # the first of the files that were not touched
