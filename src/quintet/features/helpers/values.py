"""What is asked for, what becomes of it, and both in words. Pure.

A helper's session is named after its parent's, with a number: q5-1.2 is the second helper of q5-1. A call that was cut
short leaves its helpers where they are; the next call that asks for the same takes them up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta, Struct

from quintet.domain.base.safe_text import on_one_line
from quintet.domain.base.wording import counted
from quintet.domain.journal.protocol import HelperAssigned
from quintet.domain.turn.messages import EndStatus, Usage

MOST_HELPERS = 16  # of one call
MOST_REPORT = 24_000  # characters of one helper's report that its parent's model is told
TASK_SHOWN = 60


class HelperTask(Struct, frozen=True, forbid_unknown_fields=True):
    role: Annotated[str, Meta(description="explorer, reviewer, tester, researcher, or the name of an agent")]
    task: Annotated[
        str, Meta(description="what to find out or do, and what to report; it sees nothing of this conversation")
    ]
    writes: Annotated[
        bool, Meta(description="it may change files: in a git worktree and on a branch of its own, named in its report")
    ] = False
    model_mode: Annotated[
        Literal["", "fast", "smart", "deep"], Meta(description="at most that of this session; empty: the same")
    ] = ""


class HelperState(StrEnum):
    WAITING = "waiting"  # for its turn
    WORKING = "working"
    ASKING = "asking"  # a person
    ENDED = "ended"


class HelperSeat(Struct, frozen=True):
    """A helper of a call: the one that is begun, or one that was and goes on."""

    session: str
    name: str
    task: HelperTask
    begun: bool = False


class HelperEnd(Struct, frozen=True):
    status: EndStatus
    answer: str = ""
    reason: str = ""
    branch: str = ""


class HelperAccount(Struct):
    """How far a helper has come, as it is shown while it works."""

    name: str
    state: HelperState = HelperState.WAITING
    doing: str = ""
    requests: int = 0
    calls: int = 0
    usage: Usage = Usage()
    cost: float = 0.0

    def line(self) -> str:
        spent = f"{counted(self.requests, 'request')}, {counted(self.calls, 'call')}, {tokens(self.usage)}, "
        doing = f" · {on_one_line(self.doing)[:TASK_SHOWN]}" if self.doing else ""
        return f"{self.name}: {self.state}{doing} · {spent}{self.cost:.4f}"


def tokens(usage: Usage) -> str:
    return counted(usage.input_tokens + usage.output_tokens, "token")


def session_of(parent: str, number: int) -> str:
    return f"{parent}.{number}"


def number_of(session: str) -> int:
    return int(session.rpartition(".")[2])


def seats(
    parent: str,
    wanted: Sequence[HelperTask],
    known: Iterable[HelperAssigned | None],
    cut_short: Mapping[str, bool],
    busy: frozenset[str],
    first: int,
) -> list[HelperSeat]:
    """A seat for each task. `known` are this session's helpers so far, by number; those of calls that were `cut_short`,
    and that are not `busy` in another call, go on where the same is asked for."""
    free: dict[tuple[str, str, bool], list[HelperSeat]] = {}
    for number, one in enumerate(known, 1):
        session = session_of(parent, number)
        if one and cut_short.get(one.call) and session not in busy:
            task = HelperTask(one.role, one.task, bool(one.branch))
            free.setdefault((task.role, task.task, task.writes), []).append(HelperSeat(session, one.helper, task, True))
    found = []
    for task in wanted:
        if before := free.get((task.role, task.task, task.writes)):
            found.append(before.pop(0))
        else:
            found.append(HelperSeat(session_of(parent, first), f"{task.role}-{first}", task))
            first += 1
    return found


def report(ended: Sequence[tuple[HelperSeat, HelperEnd]]) -> str:
    """What the parent's model is told."""
    return "\n\n".join(_part(seat, end) for seat, end in ended)


def _part(seat: HelperSeat, end: HelperEnd) -> str:
    why = f" ({end.reason})" if end.reason and end.status is not EndStatus.DONE else ""
    lines = [f"## {seat.name}: {end.status}{why}"]
    if end.branch:
        lines.append(f"Its changes are on the branch {end.branch}; nothing of them is in this work tree.")
    answer = end.answer.strip() or "(no report)"
    if (over := len(answer) - MOST_REPORT) > 0:
        answer = f"{answer[:MOST_REPORT]}\n… {over} characters omitted; `quintet sessions show {seat.session}` has all"
    return "\n".join((*lines, answer))


def outcome(ended: Sequence[tuple[HelperSeat, HelperEnd]]) -> str:
    """A few words for the person."""
    done = sum(end.status is EndStatus.DONE for _, end in ended)
    return f"{done} of {counted(len(ended), 'helper')} done"


def less(usage: Usage, reported: Usage) -> Usage:
    return Usage(
        usage.input_tokens - reported.input_tokens,
        usage.output_tokens - reported.output_tokens,
        usage.cached_tokens - reported.cached_tokens,
    )
