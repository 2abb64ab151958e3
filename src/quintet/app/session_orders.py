"""What sessions are opened with: first dials, and orders: a worker's task in a worktree, a helper's inside a call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from quintet.adapters.files.paths import Places
from quintet.domain.dials.axes import AXIS_FIELDS, INTERACTIVE, UNATTENDED, Axes, AxesChange, Surface
from quintet.domain.helpers.bounds import Bounds
from quintet.domain.input.slash_line import CommandLine, format_command
from quintet.domain.journal.protocol import Event, Noticed
from quintet.domain.ports.tasks import Claim
from quintet.domain.ports.workers import Integration, Widened
from quintet.domain.settings.settings import Settings


class TaskOrder(Struct, frozen=True):
    """A worker opens it in a worktree, where nothing else is done."""

    project: Places  # whose settings and trust hold
    places: Places  # of the worktree
    session: str  # the id that the session gets
    claim: Claim
    integration: Integration
    notes: tuple[Noticed, ...] = ()  # what the journal says first


class NestedOrder(Struct, frozen=True):
    """It has its parent's models, tools and settings, and may do no more than its parent."""

    session: str  # the id that it gets, or has
    begun: bool  # whether it was begun before: then it is taken up
    places: Places  # the project's, or those of a worktree
    settings: Settings  # its parent's, with limits of its own
    axes: Axes
    bounds: Callable[[], Bounds]  # what it may do at most, by what its parent may do now
    opening: tuple[Event, ...] = ()  # what its journal says first
    widen: Callable[[Sequence[str]], Awaitable[Widened]] | None = None  # claims what it writes, where it writes


def first_axes(settings: Settings, surface: Surface, person: bool, axes: AxesChange | None) -> Axes:
    """Where the dials stand at the start: the surface's defaults, then settings, then flags."""
    base = (INTERACTIVE if person else UNATTENDED).on(surface)
    dials = settings.dials
    chosen = AxesChange(dials.work_mode, dials.run_control, dials.permission_profile, dials.model_mode)
    return (axes or AxesChange()).applied_to(chosen.applied_to(base))


def as_command(change: AxesChange) -> str:
    """Flags on a resumed session are dials turned by the user, as everybody else's."""
    values = change.values()
    turned = {word: str(values[name]) for word, name in AXIS_FIELDS.items() if name in values}
    first = next(iter(turned))
    return format_command(CommandLine(first, (turned.pop(first),), dict(turned)))
