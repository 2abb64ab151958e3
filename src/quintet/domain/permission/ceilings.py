"""What nobody raises the session of a worker above: where its dials stood when it was opened. Pure.

Whoever can write to the store can put something into its inbox. What comes from there can slow the session down, stop
it, and say what is to be done; it cannot give it a right, a model, a rule or a program that the worker did not come
with. So a worker takes only the commands that are listed here, and turns no dial up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import structs

from quintet.domain.dials.axes import MODEL_ORDER, Axes, AxesChange, PermissionProfile
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.journal.protocol import Submitted

TAKEN = frozenset(
    (
        *("context", "cost", "diff", "help", "implement", "logs", "pause", "permission-profile", "queue", "resume"),
        *("status", "stop", "why"),
    )
)


def held(submitted: Submitted, ceiling: Axes) -> Submitted:
    """A submission with no more rights than the worker has."""
    highest = submitted.highest
    if isinstance(highest, PermissionProfile) and highest.rank <= ceiling.permission_profile.rank:
        return submitted
    return structs.replace(submitted, highest=ceiling.permission_profile)


def not_taken(line: CommandLine) -> str:
    """Why a worker's session does not carry out a command; empty if it does."""
    if line.name in TAKEN:
        return ""
    return f"/{line.name} is not taken by the session of a worker; what is: /{', /'.join(sorted(TAKEN))}"


def raising(events: Iterable[Any], ceiling: Axes) -> str:
    """Why what a command would turn goes above the ceiling; empty if it does not."""
    for change in (getattr(event, "change", None) for event in events):
        if not isinstance(change, AxesChange):
            continue
        profile, models = change.permission_profile, change.model_mode
        if profile is not None and profile.rank > ceiling.permission_profile.rank:
            return f"profile {profile} is above {ceiling.permission_profile}, which this worker was started with"
        if models is not None and MODEL_ORDER.index(models) > MODEL_ORDER.index(ceiling.model_mode):
            return f"model mode {models} is above {ceiling.model_mode}, which this worker was started with"
    return ""
