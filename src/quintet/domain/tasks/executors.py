"""Executors: the programs that plan, carry out and verify in Quintet's place, what they say, and when one is retried.

`native` is Quintet's own engine and no executor in this sense; the others are AI CLIs behind the port `Executors`. One
assignment is one start of one of them. What it says comes as parts, the last of which is always an `Ended`: an exit
code alone is never taken for success.

A failure's kind decides whether it is tried again: with linear backoff, or at the end of the limit that it ran into
(`domain/base/retry.py`). Attempts are starts of one executor for one assignment.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from quintet.domain.base.retry import RetryPolicy
from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.effects import Grant
from quintet.domain.settings.settings import RetrySettings
from quintet.domain.tasks.roles import ExecutorRole
from quintet.domain.turn.messages import Usage

STARTING = "executor"  # the call that starts one, as the gate and the journal name it
AI_CLIS = ("codex", "claude", "gemini")
ACP = "acp:"  # before the command line of any agent that speaks the Agent Client Protocol
KEPT_LINES = 5_000  # of what an executor prints, the most that is held in memory at once


class ExecutorFailure(StrEnum):
    MISSING = "missing"  # there is no such program
    LOGIN = "login"
    RATE_LIMIT = "rate-limit"
    UNREACHABLE = "unreachable"  # its server is down, or answers with errors
    CRASHED = "crashed"
    GARBAGE = "garbage"  # what it prints is not what it should be
    SILENT = "silent"
    CONTAINMENT = "containment"  # the sandbox could not be put up around it
    REFUSED = "refused"  # its server will not have the request itself: a model it does not know, no credit left
    OVERTIME = "overtime"  # the assignment's time is up


class Retry(StrEnum):
    NEVER = "never"  # a person has to do something first
    BACKOFF = "backoff"
    AT_RESET = "at-reset"  # when the limit is said to end; without a time, as backoff


# Ends that may be the task's own doing; for any other the task has done nothing wrong.
MAY_BE_THE_TASKS = frozenset(
    {ExecutorFailure.CRASHED, ExecutorFailure.GARBAGE, ExecutorFailure.SILENT, ExecutorFailure.OVERTIME}
)
RETRY: dict[ExecutorFailure, Retry] = {
    ExecutorFailure.MISSING: Retry.NEVER,
    ExecutorFailure.LOGIN: Retry.NEVER,
    ExecutorFailure.RATE_LIMIT: Retry.AT_RESET,
    ExecutorFailure.UNREACHABLE: Retry.BACKOFF,
    ExecutorFailure.CRASHED: Retry.BACKOFF,
    ExecutorFailure.GARBAGE: Retry.BACKOFF,
    ExecutorFailure.SILENT: Retry.BACKOFF,
    ExecutorFailure.CONTAINMENT: Retry.NEVER,
    ExecutorFailure.REFUSED: Retry.NEVER,
    ExecutorFailure.OVERTIME: Retry.NEVER,
}


class Assignment(Struct, frozen=True):
    executor: str  # codex, claude, gemini, acp:COMMAND, or the name of an ACP agent in the settings
    role: ExecutorRole
    prompt: str
    grant: Grant  # what the gate allowed: all that the sandbox around it is built from
    profile: PermissionProfile
    folder: str = ""  # where a planner or verifier leaves its files; the project is read-only to it
    whole: str = ""  # the file that all it prints goes to
    model: str = ""  # empty: the one it is set to
    silence: float = 300.0  # seconds without a line before it is given up
    timeout: float = 0.0  # seconds in all; 0 for no limit


class ExecutorMessage(Struct, frozen=True, tag="said"):
    """A whole message of the executor's."""

    text: str
    reasoning: bool = False


class CallBegan(Struct, frozen=True, tag="call-began"):
    id: str
    tool: str  # by its name there
    summary: str = ""  # a line that a person reads: the command, the file


class CallEnded(Struct, frozen=True, tag="call-ended"):
    id: str
    ok: bool
    output: str = ""  # its beginning


class Changed(Struct, frozen=True, tag="changed"):
    path: str
    kind: str  # added, modified or deleted


class Spent(Struct, frozen=True, tag="spent"):
    usage: Usage
    cost: float = 0.0  # 0 where it does not say


class Printed(Struct, frozen=True, tag="printed"):
    """A line that is no event: what a program says beside its stream."""

    line: str


class Ended(Struct, frozen=True, tag="ended"):
    ok: bool
    answer: str = ""  # its last message
    failure: ExecutorFailure | None = None
    reason: str = ""  # what went wrong, for a person
    hint: str = ""  # what to do about it
    resets_in: float = 0.0  # seconds until a rate limit ends, if it says so
    exit_code: int | None = None
    notes: tuple[str, ...] = ()  # what the sandbox stopped or had to put right


ExecutorPart = ExecutorMessage | CallBegan | CallEnded | Changed | Spent | Printed | Ended


class Availability(Struct, frozen=True):
    """Whether an executor can be started here."""

    name: str
    path: str = ""  # of its program; empty if there is none
    version: str = ""
    problem: str = ""  # why it cannot be used, and what to do


class Executors(Protocol):
    def names(self) -> tuple[str, ...]:
        """The AI CLIs that are known, and the agents of the settings."""

    async def look(self, name: str) -> Availability: ...

    def run(self, assignment: Assignment) -> AsyncIterator[ExecutorPart]:
        """Start it and give what it says; closing or cancelling the iterator ends its whole process group."""

    async def close(self) -> None: ...


LEAST_SECONDS = 1.0  # a limit that ends at once is still not asked again at once


class Again(Struct, frozen=True, tag="again"):
    seconds: float
    reason: str


class GiveUp(Struct, frozen=True, tag="give-up"):
    reason: str = ""  # empty: it would fail the same way again


def retry_policy(settings: RetrySettings) -> RetryPolicy:
    """The wait grows in equal steps."""
    return RetryPolicy(
        attempts=settings.max_attempts,
        first=settings.base_seconds,
        step=settings.step_seconds,
        least_told=LEAST_SECONDS,
        most_told=settings.max_reset_seconds,
    )


def retry_after(attempts: int, failure: ExecutorFailure, resets_in: float, settings: RetrySettings) -> Again | GiveUp:
    """What follows when attempt number `attempts` failed; `resets_in` is 0 where no end of a limit was said."""
    how = RETRY[failure]
    if how is Retry.NEVER:
        return GiveUp()
    told = resets_in if how is Retry.AT_RESET and resets_in > 0 else None
    seconds = retry_policy(settings).wait(attempts, told)
    if seconds is None:
        return GiveUp(f"{attempts} of {settings.max_attempts} attempts failed (retry.max_attempts)")
    if told is not None:
        return Again(seconds, "until its limit ends" if seconds >= told else "its limit ends too late to wait for")
    return Again(seconds, f"attempt {attempts} of {settings.max_attempts} failed")


def with_name(executor: str, reason: str) -> str:
    """What an executor says went wrong, with its name once."""
    return reason if reason.startswith(executor) else f"{executor}: {reason}"
