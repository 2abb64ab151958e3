"""Whether the work is delivered: what the model says, and what shows it.

DONE is not taken on a model's word: in build and repair something must have been changed or run in the turn, or the
answer must say that nothing had to be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from quintet.domain.base.lazy_regex import regex
from quintet.domain.dials.axes import Axes, WorkMode
from quintet.domain.permission.effects import Effect
from quintet.domain.turn.reasoning import without
from quintet.domain.turn.tool_spec import CallStatus


class DeliveryState(StrEnum):
    DONE = "DONE"
    NEEDS_WORK = "NEEDS_WORK"


class RanCall(Struct, frozen=True, gc=False):
    """A call of the turn that has run: what it was, what it could do, how it ended."""

    tool: str
    about: str
    effects: tuple[Effect, ...]
    status: CallStatus


EVIDENT = frozenset({Effect.EDIT, Effect.EXECUTE, Effect.BUILD, Effect.INSTALL, Effect.COMMIT})
_NOTHING_TO_DO = regex(
    r"\b(no|not any|without) (code )?(changes?|edits?|modifications?)( (was|were|is|are))? (needed|necessary|required)"
    r"|\bnothing (had |has |needs |needed )?to (be )?(changed?|do(ne)?|fix(ed)?)"
    r"|\b(is|was|are|were) already (so|done|there|correct|in place)",
    re.I,
)


def claimed(reply: str) -> DeliveryState | None:
    """What the first line of a delivery check says; None if it says neither."""
    lines = [line for line in without(reply).splitlines() if line.strip()]
    first = lines[0].strip(" *_#`.:").upper().replace(" ", "_") if lines else ""
    return next((state for state in DeliveryState if first.startswith(state)), None)


def check_line(state: DeliveryState, reason: str) -> str:
    """How a check ended, in a line."""
    first = reason.strip().partition("\n")[0]
    if state is DeliveryState.DONE:
        return f"delivered  {first}".rstrip()
    return f"not delivered yet: {first or 'the check asks for more, and does not say what'}"


def unverified(reason: str) -> str:
    """What to say of a turn that is over, though its last check asks for more."""
    first = reason.strip().partition("\n")[0]
    return f"delivered, not verified: the check still asks for {first or 'more, and does not say what'}"


def evidence(calls: Iterable[RanCall]) -> tuple[str, ...]:
    """What the turn changed or ran, as lines a person can check."""
    return tuple(
        f"{call.tool} {call.about}".strip()
        for call in calls
        if call.status is CallStatus.OK and set(call.effects) & EVIDENT
    )


def lacking(axes: Axes, calls: Iterable[RanCall], answer: str) -> str:
    """Why DONE cannot be believed; empty if it can."""
    if axes.work_mode not in (WorkMode.BUILD, WorkMode.REPAIR):
        return ""
    if evidence(calls) or _NOTHING_TO_DO.search(answer):
        return ""
    return "nothing was changed or run in this turn, and the answer does not say that no change was needed"
