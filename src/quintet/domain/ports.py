"""Every port of the program: what the engine and the tools need from the outside, satisfied by duck typing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from quintet.domain.grants import Grant
from quintet.domain.tool_menu import MenuManager

if TYPE_CHECKING:
    from quintet.domain.messages import Part, Request
    from quintet.domain.protocol import Recorded, Submitted
    from quintet.domain.shell_syntax import Script


class Clock(Protocol):
    def now(self) -> str:
        """The instant, ISO 8601 in UTC."""

    def epoch(self) -> float:
        """Seconds since 1970, for leases."""

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""

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


class SessionRow(Struct, frozen=True):
    """A session as listings show it, kept beside its journal by the same transactions."""

    id: str
    created: str
    updated: str
    parent: str
    forked_after: int
    title: str
    summary: bytes  # JSON of SessionSummary
    owner: str
    owner_pid: int
    owner_started: str
    lease_until: float


class Lease(Struct, frozen=True):
    session: str
    owner: str
    pid: int
    started: str  # start time of the process, so that a reused pid is not taken for it
    until: float


class Batch(Struct, frozen=True):
    """What one transaction writes for one session."""

    lease: Lease | None
    events: Sequence[tuple[str, bytes]]  # type, JSON
    at: str
    summary: bytes
    title: str = ""
    consumed: str = ""  # the submission this batch answers
    opens: Sequence[tuple[str, str]] = ()  # (question, body)
    closes: Sequence[tuple[str, str]] = ()  # (question, answer)


class Store(Protocol):
    """The state on disk. Writes are acknowledged when they are durable."""

    async def create(self, row: SessionRow, batch: Batch) -> list[int]: ...

    async def append(self, session: str, batch: Batch) -> list[int]: ...

    async def submit(self, session: str, submitted: Submitted, at: str) -> None: ...

    async def take_lease(self, lease: Lease, now: float, steal: bool) -> bool: ...

    async def release(self, lease: Lease) -> None: ...

    def inbox(self, session: str) -> list[Submitted]: ...

    def read(self, session: str, after: int = 0, before: int | None = None) -> list[Recorded]: ...

    def session(self, session: str) -> SessionRow | None: ...

    def last_seq(self, session: str) -> int:
        """The number of the session's newest event; 0 if it has none."""

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


class Processes(Protocol):
    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        grant: Grant,
        timeout: float,
        keep: int = 30_000,
        on_output: Callable[[str], None] | None = None,
    ) -> Finished:
        """Run to the end, or kill the whole process group at the timeout or on cancellation.

        Of the output at most `keep` bytes are kept; the middle goes first.
        """


class ShellGrammar(Protocol):
    def parse(self, line: str) -> Script:
        """The commands of a shell line. Never raises: what is not understood is the script's `problem`."""


class Entry(Struct, frozen=True):
    """A file or folder as listings show it."""

    name: str
    kind: str  # file, folder, link or other
    size: int
    access: int  # permission bits
    changed: str  # ISO 8601, UTC


class Files(Protocol):
    """The project's files. Paths are relative to the root or absolute.

    Nothing outside the root is opened, but for a read whose path says so: the gate has asked about that one.
    """

    root: str

    def read(self, path: str) -> bytes: ...

    def replace(self, path: str, data: bytes) -> None:
        """Write atomically: the old file or the new one, never a mixture. Makes parent folders."""

    def entries(self, path: str) -> list[Entry]: ...

    def info(self, path: str) -> Entry: ...

    def make_folder(self, path: str) -> bool:
        """Make a folder and those above it; returns whether it was missing."""

    def delete(self, path: str) -> None:
        """Delete a file or an empty folder."""

    def move(self, source: str, destination: str) -> None:
        """Move without overwriting anything."""

    def relative(self, path: str) -> str:
        """The path relative to the root, by its words alone."""

    def real(self, path: str) -> str:
        """The absolute path of an existing file or folder of the project, links followed."""


class Workbench(Struct):
    """What a running tool has at hand. `seen` holds the content hash of each file read in this run."""

    root: str
    files: Files
    processes: Processes
    ripgrep: str
    grant: Grant = Grant()
    menu: MenuManager = field(default_factory=lambda: MenuManager({}))
    may_wait: bool = False  # whether the model may wait for the user's answer
    progress: Callable[[str], None] = lambda text: None
    seen: dict[str, str] = field(default_factory=dict)
