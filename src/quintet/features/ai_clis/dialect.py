"""What one AI CLI speaks: how it is started and told its assignment and what it may do, and what its events mean.

A dialect is made for one start and holds its state. `take` is given each event in order, and sets `outcome` once the
stream has said how it ended; nothing else counts as success.

Sandboxes do not nest: behind bubblewrap a CLI's own sandbox is off and nothing is left to approve, at every profile,
for ours is built from the grant. Without bubblewrap its own protection stays on and follows the profile; only
unrestricted lets go of it. A planner or verifier that must leave the project alone is never let go of there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from msgspec import Struct

from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.gate import Sandbox
from quintet.domain.tasks.executors import Assignment, ExecutorFailure, ExecutorPart
from quintet.features.ai_clis.settings import ExecutorSettings

MOST_TEXT = 200_000  # characters of one message; the file of all that was printed has the rest
MOST_OUTPUT = 2_000  # characters of a call's output, or of a line that is no event
MOST_SUMMARY = 200
NETWORK_VARIABLES = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
)


class Start(Struct, frozen=True):
    """One start of a program."""

    assignment: Assignment
    settings: ExecutorSettings
    root: str  # the project
    walls: Sandbox  # what of ours is around it
    writes: bool  # whether it may change the project
    private: str  # a folder of ours for files that it has to read
    environment: Mapping[str, str]
    user_home: str

    @property
    def contained(self) -> bool:
        """Whether our walls are the only ones it needs."""
        return self.walls is Sandbox.BWRAP


class RunOutcome(Struct, frozen=True):
    ok: bool
    answer: str = ""
    problem: str = ""  # what it says went wrong
    status: int = 0  # of its server, where it says so
    failure: ExecutorFailure | None = None  # where it is plain
    hopeless: bool = False  # it would go on trying by itself: it is ended at once


class Dialect(ABC):
    """The common ground; a CLI overrides what differs."""

    cli = ""  # by which the tables of flags know it
    passed: tuple[str, ...] = ()  # environment variables it needs
    hints: ClassVar[dict[ExecutorFailure, str]] = {}
    held: ClassVar[dict[str, str]] = {}  # in its home, and why: what decides what runs when you start it yourself
    makes: tuple[str, ...] = ()  # of these, the folders that it makes at its start: there, empty, before it can
    talks = False  # whether it is spoken to beyond its assignment; then it ends when its stdin does

    def __init__(self, start: Start) -> None:
        self.start = start
        self.title = start.assignment.executor
        self.outcome: RunOutcome | None = None
        self.answer = ""
        self.last_problem = ""  # said on the way
        self.trying = False  # all it has said since is that it tries a request again
        self.resets_at = 0.0  # seconds since 1970, where it says when a limit ends

    @property
    def waits_for_model(self) -> bool:
        """Whether it is known to wait for its model, and for no call of its own."""
        return False

    @property
    def has_its_work(self) -> bool:
        """Whether it has been given its assignment: before that nothing can be the task's doing."""
        return True

    @abstractmethod
    def flags(self) -> tuple[str, ...] | None:
        """What follows the program; None if it cannot be held where its walls would be its own."""

    def allowed(self) -> tuple[str, ...] | None:
        """The flags that say what it may do; None where its own protection cannot hold it to that."""
        start, asked = self.start, self.start.assignment
        if start.contained or start.writes:
            return permission_flags(self.cli, asked.profile, contained=start.contained)
        return reading_flags(self.cli, asked.folder)

    def model(self) -> tuple[str, ...]:
        name = self.start.assignment.model or self.start.settings.model
        return ("--model", name) if name else ()

    def variables(self) -> dict[str, str]:
        """On top of those passed on."""
        return {}

    def homes(self) -> tuple[str, ...]:
        """The folders and files it keeps its login and settings in."""
        return ()

    def reads(self) -> tuple[str, ...]:
        """Files beside its home that it reads."""
        return ()

    def opening(self) -> bytes:
        """What it is told first, on stdin."""
        return self.start.assignment.prompt.encode()

    @abstractmethod
    def take(self, event: dict[str, Any]) -> Iterator[ExecutorPart]:
        """What an event comes to, in our words."""

    def reply(self) -> bytes:
        """What it is to be told after the last event."""
        return b""

    def farewell(self) -> bytes:
        """What it is told before it is interrupted."""
        return b""

    def by_exit(self, code: int) -> ExecutorFailure | None:
        """What an exit code alone says."""
        return None


def clipped(text: str, most: int = MOST_TEXT) -> str:
    return text if len(text) <= most else f"{text[:most]}… {len(text) - most} more characters"


def one_line(text: str) -> str:
    return " ".join(text.split())[:MOST_SUMMARY]


def words_of(value: Any) -> str:
    """What a result says: a text, or the texts in a list of blocks."""
    if isinstance(value, list):
        return "\n".join(words_of(block) for block in value)
    if isinstance(value, dict):
        return str(value.get("text") or value.get("content") or "")
    return "" if value is None else str(value)


SUMMARIES = ("command", "cmd", "file_path", "path", "absolute_path", "pattern", "query", "url", "description", "prompt")


def summary_of(arguments: Any) -> str:
    """The line that a person knows a call by."""
    if not isinstance(arguments, dict):
        return one_line(str(arguments or ""))
    for name in SUMMARIES:
        said = arguments.get(name)
        if isinstance(said, list) and all(isinstance(word, str) for word in said):
            said = said[-1] if said[1:2] in (["-c"], ["-lc"]) else " ".join(said)  # what the shell is given
        if isinstance(said, str) and said:
            return one_line(said)
    return one_line(", ".join(f"{key}={value}" for key, value in arguments.items()))


def number(value: Any) -> int:
    return value if isinstance(value, int) else 0


CODEX_BYPASS = ("--dangerously-bypass-approvals-and-sandbox",)
CLAUDE_BYPASS = ("--dangerously-skip-permissions",)
GEMINI_BYPASS = ("--approval-mode", "yolo", "--skip-trust")

BYPASS: dict[str, tuple[str, ...]] = {"codex": CODEX_BYPASS, "claude": CLAUDE_BYPASS, "gemini": GEMINI_BYPASS}

OWN_WALLS: dict[str, dict[PermissionProfile, tuple[str, ...]]] = {
    "codex": {
        PermissionProfile.RESTRICTED: ("--sandbox", "read-only"),
        PermissionProfile.NORMAL: ("--sandbox", "workspace-write"),
        PermissionProfile.TRUSTED: (
            *("--sandbox", "workspace-write"),
            *("-c", "sandbox_workspace_write.network_access=true"),
        ),
        PermissionProfile.UNRESTRICTED: CODEX_BYPASS,
    },
    "claude": {
        PermissionProfile.RESTRICTED: (
            *("--permission-mode", "default"),
            *("--disallowedTools", "Bash,Edit,Write,NotebookEdit"),
        ),
        PermissionProfile.NORMAL: ("--permission-mode", "acceptEdits"),
        PermissionProfile.TRUSTED: ("--permission-mode", "acceptEdits", "--allowedTools", "Bash"),
        PermissionProfile.UNRESTRICTED: CLAUDE_BYPASS,
    },
    "gemini": {
        PermissionProfile.RESTRICTED: ("--approval-mode", "default"),
        PermissionProfile.NORMAL: ("--approval-mode", "auto_edit"),
        PermissionProfile.TRUSTED: ("--approval-mode", "auto_edit", "--allowed-tools", "run_shell_command"),
        PermissionProfile.UNRESTRICTED: GEMINI_BYPASS,
    },
}


def permission_flags(cli: str, profile: PermissionProfile, *, contained: bool) -> tuple[str, ...]:
    """What an executor that may change the project is started with; `contained` is to be behind bubblewrap."""
    return BYPASS[cli] if contained else OWN_WALLS[cli][profile]


def reading_flags(cli: str, folder: str) -> tuple[str, ...] | None:
    """The same for one that may write to `folder` alone, outside bubblewrap; None where its own protection cannot."""
    if cli == "codex":
        return ("--sandbox", "workspace-write", "--cd", folder) if folder else ("--sandbox", "read-only")
    if cli == "claude":
        rules = f"Edit(/{folder}/**),Write(/{folder}/**)"  # //path is what it calls an absolute path
        written = ("--allowedTools", rules, "--add-dir", folder) if folder else ()
        return ("--permission-mode", "default", *written, "--disallowedTools", "Bash,NotebookEdit")
    return None if folder else ("--approval-mode", "plan")
