"""Every port of the program: what the engine and the tools need from the outside, satisfied by duck typing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field

from quintet.domain.base.errors import ToolFailed
from quintet.domain.journal.file_changes import FileChange, LeftAlone, Restoration
from quintet.domain.journal.store_rows import Batch as Batch
from quintet.domain.journal.store_rows import Lease as Lease
from quintet.domain.journal.store_rows import SessionRow as SessionRow
from quintet.domain.journal.store_rows import Unreadable as Unreadable
from quintet.domain.permission.effects import Grant
from quintet.domain.permission.rules import Rule
from quintet.domain.ports.files import Files as Files
from quintet.domain.settings.hooks import HookEnd
from quintet.domain.turn.messages import ToolCall
from quintet.domain.turn.swe_phases import PhaseState
from quintet.domain.turn.todos import Todo
from quintet.domain.turn.tool_menu import MenuManager
from quintet.domain.turn.tool_spec import CallQuestion, CallReply

if TYPE_CHECKING:
    from quintet.domain.agents.agent import Agent
    from quintet.domain.agents.workflow import Workflow
    from quintet.domain.agents.workflow_progress import WorkflowProgress
    from quintet.domain.journal.protocol import Event, Recorded, Submitted
    from quintet.domain.shell.syntax import Script
    from quintet.domain.turn.messages import Part, Request
    from quintet.domain.turn.review_subject import Subject
    from quintet.domain.turn.tool_spec import Advisers


class Clock(Protocol):
    def now(self) -> str:
        """The instant, ISO 8601 in UTC."""

    def epoch(self) -> float:
        """Seconds since 1970."""

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""

    def uptime(self) -> float:
        """Seconds that the machine was awake since its start, for leases: the same in every process, never set."""

    async def sleep(self, seconds: float) -> None: ...


class Ids(Protocol):
    def new(self, kind: str) -> str:
        """A new identifier; sorts by time within its kind."""


class Model(Protocol):
    name: str

    def stream(self, request: Request) -> AsyncIterator[Part]:
        """Stream one reply. Raises ModelError; ends with exactly one EndPart otherwise."""

    async def close(self) -> None:
        """Let go of connections."""


def is_staged(model: Model) -> bool:
    """Whether a model can be asked about its own work, stage by stage; the offline rules say that they cannot."""
    return bool(getattr(model, "staged", True))


class Store(Protocol):
    """The state on disk. Writes are acknowledged when they are durable."""

    async def create(self, row: SessionRow, batch: Batch) -> list[int]: ...

    async def append(self, session: str, batch: Batch) -> list[int]: ...

    async def submit(self, session: str, submitted: Submitted, at: str) -> int:
        """Put a submission into the inbox, unless it was accepted before; returns the last event before it."""

    async def take_lease(self, lease: Lease, former: SessionRow) -> bool:
        """Take a session that still stands as `former` was read; False if it does not."""

    async def renew_lease(self, lease: Lease) -> bool:
        """Keep the lease; False if it is another's."""

    def holds(self, lease: Lease) -> bool:
        """Whether the lease is still the session's."""

    async def release(self, lease: Lease) -> None: ...

    def inbox(self, session: str) -> list[Submitted | Unreadable]: ...

    def waiting(self, session: str) -> Sequence[Submitted | Unreadable]:
        """The same, for a look from which nothing is recorded."""

    def read(
        self, session: str, after: int = 0, before: int | None = None, kinds: Sequence[str] = ()
    ) -> list[Recorded]:
        """A session's events numbered above `after` and up to `before`, of some types or of all."""

    def read_everywhere(self, kinds: Sequence[str]) -> list[tuple[str, Event]]:
        """The events of some types in the whole project, each with its session."""

    def session(self, session: str) -> SessionRow | None: ...

    def last_seq(self, session: str) -> int:
        """The number of the session's newest event; 0 if it has none."""

    def count(self, session: str) -> int:
        """How many events the session has of its own."""

    def last_of_type(self, session: str, kind: str) -> int:
        """The number of the session's newest event of a type; 0 if there is none."""

    def data_version(self) -> int:
        """Changes whenever anybody has written."""

    async def close(self) -> None: ...


class Finished(Struct, frozen=True):
    """How a process ended."""

    exit_code: int
    output: str
    timed_out: bool = False
    dropped: int = 0  # bytes left out of the middle of the output
    notes: tuple[str, ...] = ()  # what the sandbox had to put right
    errors: str = ""  # what it printed on stderr, if that was to come apart


class Processes(Protocol):
    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        grant: Grant,
        timeout: float,
        keep: int = 30_000,
        whole: str = "",
        as_user: bool = False,
        errors_apart: bool = False,
        on_output: Callable[[str], None] | None = None,
    ) -> Finished:
        """Run to the end, or kill the whole process tree at the timeout or on cancellation. Of the output at most
        `keep` bytes are kept; the middle goes first, and then all of it to the file `whole`.
        Only `as_user` goes without containment: a line that the user typed, which has their whole environment.
        """

    async def git(self, words: Sequence[str], *, cwd: str, grant: Grant, timeout: float, keep: int = ...) -> Finished:
        """Look at the repository of a folder with git; no program that the repository names runs on the host."""


class HookRunner(Protocol):
    async def run(self, command: str, told: bytes, cwd: str, timeout: float) -> HookEnd:
        """Run a hook with `told` on its stdin; at the timeout or on cancellation its whole group is killed."""


class ShellState(Struct, frozen=True):
    """A background shell: the call that started it, what it may do, and who reads what is typed into it."""

    name: str
    call: ToolCall
    grant: Grant
    whole: str = ""  # the file that holds all it printed, once that is long
    folder: str = ""  # the folder of the shell that waits for a line; empty if another program reads
    begun: str = ""  # what was typed of that line so far


class Shells(Protocol):
    """Commands at terminals of their own."""

    async def start(self, name: str, argv: Sequence[str], *, call: ToolCall, cwd: str, grant: Grant) -> str:
        """Start a shell under a name, or under the next number; returns the name."""

    def running(self) -> list[ShellState]: ...

    def state(self, name: str) -> ShellState: ...

    def read(self, name: str) -> tuple[str, int | None]:
        """What was printed since the last read, and the exit code if it is over."""

    def log(self, name: str) -> str:
        """All it printed; of what is long, the beginning and the end."""

    async def write(self, name: str, text: str) -> None: ...

    async def kill(self, name: str, why: str = "") -> int | None:
        """End a shell and all it started; `why` is told whoever reads it next."""

    async def close(self) -> None: ...


class ShellGrammar(Protocol):
    def parse(self, line: str) -> Script:
        """The commands of a shell line. Never raises: what is not understood is the script's `problem`."""


class RuleBook(Protocol):
    """The user's standing rules, as they are now."""

    def rules(self) -> tuple[Rule, ...]: ...

    def add(self, rule: Rule) -> None: ...

    def revoke(self, rule: str) -> Rule: ...


class Repository(Protocol):
    """The project under version control, to look at."""

    async def subject(self, wanted: str) -> Subject:
        """What a review of `wanted` looks at; a UsageError if that names nothing that could be reviewed."""

    async def line_counts(self, paths: Iterable[str], revision: str) -> dict[str, int | None]:
        """The lines of each of these files that there is, as they are or as they were at `revision`; None: a secret."""


class Snapshot(Struct, frozen=True):
    """The project's files as they were at a moment."""

    tree: str
    lacking: tuple[str, ...] = ()  # what it does not cover
    states: dict[str, str] = field(default_factory=dict)  # of what was named, ignored or not, as far as it is kept
    lost: str = ""  # of what was named, a file that is not kept


class Compared(Struct, frozen=True):
    changes: list[FileChange]
    added: int  # lines
    removed: int


class Covered(Struct, frozen=True):
    """What was kept right before a call of all that it could delete."""

    reason: str = ""  # why not all of it could be put back; nothing else counts then
    tree: str = ""  # empty where single files are enough, or there is no git
    lacking: tuple[str, ...] = ()  # what the tree does not cover
    states: dict[str, str] = field(default_factory=dict)  # of what the tree does not hold, or not as it is


class Checkpoints(Protocol):
    """The project's files as they were. Raises ToolFailed where they cannot be kept or looked at."""

    @property
    def whole(self) -> bool:
        """Whether snapshots can be taken; single files are kept in any case."""

    @property
    def progress(self) -> tuple[int, int]:
        """How many files the snapshot that is being taken has kept, and of how many; zeros while that is not known."""

    async def snapshot(self, point: str, named: Sequence[str] = ()) -> Snapshot:
        """Keep every file that is not ignored, for a turn or a rewind; and what stands at the paths that are named."""

    async def compare(self, before: str, after: str, *, folders: bool = False) -> Compared:
        """What differs between two snapshots; with `folders`, also which folders were made."""

    async def ignored(self, tree: str, paths: Iterable[str]) -> set[str]:
        """Those of these paths that the ignore rules of a snapshot ignore."""

    async def hidden(self, tree: str, since: float) -> list[str]:
        """What is ignored now and in no snapshot, but not by the rules of this one; folders that ignore themselves only
        if they do since that time."""

    def is_folder(self, path: str) -> bool: ...

    def touched(self, paths: Iterable[str]) -> list[str]:
        """The paths that a tool which writes to these may change."""

    async def keep(self, point: str, paths: Iterable[str]) -> dict[str, str]:
        """The states of these files, ignored or not, their contents kept."""

    async def cover(
        self, point: str, paths: Sequence[str], *, alone: bool = False, named: Sequence[str] = ()
    ) -> Covered:
        """Keep all that is at and below these paths, files, folders or shell patterns, so that it can be put back.

        With `alone` nothing else is changed, so that no snapshot is needed where single files are enough. What is
        `named` beside them is kept as far as it can be.
        """

    async def below(self, point: str, folders: Sequence[str]) -> dict[str, str]:
        """The states of all that is in these folders, contents kept; nothing where that is too much."""

    async def now(self, paths: Iterable[str]) -> dict[str, str]: ...

    async def lines(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[int, int]]:
        """Lines added and removed between the states of each pair."""

    async def diffs(self, files: Sequence[tuple[str, str, str]]) -> list[str]:
        """Of each path, from one state to another, a unified diff; what is no text is only named."""

    async def restore(self, wanted: Sequence[Restoration]) -> list[LeftAlone]:
        """Put files back, each as a whole; returns those that could not be, with the reason."""

    async def kept(self) -> set[str]:
        """The turns and rewinds whose files are still kept."""

    async def tidy(self, keep: int) -> None:
        """Copy what is borrowed, pack what is loose, and drop all but the newest."""

    async def close(self) -> None:
        """End what goes on in the background."""


class ItemData(Struct, frozen=True):
    """A menu item's data: what kind it is, and itself, in a form that a model reads."""

    path: str
    format: str
    text: str


class Agents(Protocol):
    """The agents there are here, and the files of their packages.

    Nothing outside the agent's package and the project is read. What fails is a RunFailed with the code of its cause.
    """

    trusted: bool  # whether the project's own programs may be run

    def listed(self) -> list[tuple[Agent, str]]:
        """Every agent, with where it comes from."""

    def find(self, name: str) -> Agent:
        """An agent by its id or name, or by the path of its file."""

    def other(self, agent: Agent, id: str) -> Agent:
        """An agent of the same package."""

    def workflow(self, ref: str, agent: Agent) -> tuple[Workflow, str]:
        """A workflow by its id, or by the path of its workflow.md; and the folder its files are in."""

    def text(self, path: str, agent: Agent) -> tuple[str, dict[str, Any], str]:
        """A file's whole path, the fields it opens with, and the text below them."""

    def step(self, path: str, root: str) -> str:
        """The instructions of a step."""

    def data(self, path: str, agent: Agent) -> ItemData: ...

    def rendered(self, text: str, agent: Agent, run: str = "") -> str:
        """The text with its templates filled in."""

    def make_folder(self, run: str) -> None:
        """The folder that what the run leaves behind goes to."""


class TurnPlace(Struct, frozen=True):
    """Where the turn stands that a call is part of."""

    menu: MenuManager = field(default_factory=lambda: MenuManager({}))
    todos: Mapping[str, Todo] = field(default_factory=dict)
    swe: PhaseState = PhaseState()
    step: WorkflowProgress | None = None  # how far the run has come in its workflow
    may_wait: bool = False  # whether the model may wait for the user's answer


class SecretName(Struct, frozen=True):
    """A secret there is, but for its value."""

    name: str
    source: str  # environment, the file it is in, or keyring
    exposed: tuple[str, ...] = ()  # the commands that get it
    redacted: bool = True  # too short a value is not


class Secrets(Protocol):
    def names(self) -> list[SecretName]: ...

    def text(self, text: str) -> str:
        """The text without them."""


async def _nobody(question: CallQuestion) -> CallReply:
    return CallReply(refused="nobody can be asked here")


class PullRequests(Protocol):
    """The pull requests of a forge; the session's service `forge`, where there is one."""

    async def pull_request(self, repo: str, number: int, tell: Callable[[str], None]) -> str:
        """One that is there, in one line. ToolFailed says why none is shown."""


class Workbench(Struct):
    """What a running tool has at hand. `seen` holds the content hash of each file read in this run."""

    root: str
    files: Files
    processes: Processes
    shells: Shells
    ripgrep: str
    outputs: str  # folder for outputs too long to show
    call: ToolCall = ToolCall("", "")  # the call that is carried out
    grant: Grant = Grant()
    own_line: bool = False  # the call is a line that the user typed, and runs with their rights
    turn: TurnPlace = field(default_factory=lambda: TurnPlace())
    progress: Callable[[str], None] = lambda text: None
    ask: Callable[[CallQuestion], Awaitable[CallReply]] = _nobody  # the person, in the middle of the call
    seen: dict[str, str] = field(default_factory=dict)
    services: Mapping[str, Any] = field(default_factory=dict)  # what the session holds of each feature, by its name
    secrets: Secrets | None = None
    advisers: Advisers | None = None

    def service(self, feature: str) -> Any:
        if feature not in self.services:
            raise ToolFailed(f"there is no {feature.replace('_', ' ')} here")
        return self.services[feature]
