"""What one AI CLI speaks: how it is started and told its assignment, and what its events mean.

A dialect is made for one start and holds its state. `take` is given each event in order, and sets `outcome` once the
stream has said how it ended; nothing else counts as success.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from msgspec import Struct

from quintet.domain.permission.gate import Sandbox
from quintet.domain.tasks.executor_flags import permission_flags, reading_flags
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

    cli = ""  # by which `executor_flags` knows it
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
        self.resets_at = 0.0  # seconds since 1970, where it says when a limit ends

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
    return text if len(text) <= most else f"{text[:most]}… {len(text) - most} characters more"


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
        if isinstance(said := arguments.get(name), str) and said:
            return one_line(said)
    return one_line(", ".join(f"{key}={value}" for key, value in arguments.items()))


def number(value: Any) -> int:
    return value if isinstance(value, int) else 0
