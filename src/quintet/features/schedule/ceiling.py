"""What a machine runs of a shared database's schedules at most: rows are anybody's who can write there. Pure.

No dial goes above where the machine's own stand, its own models answer, and a text that is a command is one that a
worker's session takes.
"""

from __future__ import annotations

import msgspec

from quintet.domain.dials.axes import CONTROL_ORDER, MODEL_ORDER, Axes
from quintet.domain.input.slash_line import command_name
from quintet.domain.permission.ceilings import TAKEN
from quintet.features.schedule.values import ScheduledWork


def capped(work: ScheduledWork, ceiling: Axes, model: str = "") -> ScheduledWork:
    """The same work with no more rights than the ceiling, and with the models of this machine."""
    control = min(work.run_control, ceiling.run_control, key=CONTROL_ORDER.index)
    return msgspec.structs.replace(
        work,
        run_control=control,
        permission_profile=min(work.permission_profile, ceiling.permission_profile, key=lambda one: one.rank),
        model_mode=min(work.model_mode, ceiling.model_mode, key=MODEL_ORDER.index),
        model=model,
    )


def refused(text: str) -> str:
    """Why a text is not run; empty if it is."""
    name = command_name(text)
    if name is None or name in TAKEN:
        return ""
    return f"/{name} is not run from a database that several machines share; say in words what is to be done"
