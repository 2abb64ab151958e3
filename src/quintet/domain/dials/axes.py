"""The five axes: what kind of work, who advances the loop, what may proceed unasked, how hard to think, where you sit.

`Axes` is a frozen value. A `AxesChange` names new values for some of the axes; applying it touches those and no
others, so no axis can imply another. `surface` follows the submission that began the turn; no command turns it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct, structs

from quintet.domain.base.errors import UsageError
from quintet.domain.base.wording import did_you_mean


class WorkMode(StrEnum):
    CHAT = "chat"
    PLAN = "plan"
    BUILD = "build"
    REVIEW = "review"
    REPAIR = "repair"
    RESEARCH = "research"


class RunControl(StrEnum):
    MANUAL = "manual"
    ASSISTED = "assisted"
    AUTONOMOUS = "autonomous"


class PermissionProfile(StrEnum):
    RESTRICTED = "restricted"
    NORMAL = "normal"
    TRUSTED = "trusted"
    UNRESTRICTED = "unrestricted"

    @property
    def rank(self) -> int:
        return PROFILE_ORDER.index(self)


class ModelMode(StrEnum):
    FAST = "fast"
    SMART = "smart"
    DEEP = "deep"


class Surface(StrEnum):
    TUI = "tui"
    WEB = "web"
    HEADLESS = "headless"
    RPC = "rpc"


PROFILE_ORDER = tuple(PermissionProfile)
CONTROL_ORDER = tuple(RunControl)  # tightest first, as PROFILE_ORDER
MODEL_ORDER = tuple(ModelMode)  # the cheapest first


class Axes(Struct, frozen=True, gc=False):
    work_mode: WorkMode = WorkMode.CHAT
    run_control: RunControl = RunControl.ASSISTED
    permission_profile: PermissionProfile = PermissionProfile.NORMAL
    model_mode: ModelMode = ModelMode.SMART
    surface: Surface = Surface.TUI

    def on(self, surface: Surface) -> Axes:
        return self if surface is self.surface else structs.replace(self, surface=surface)

    @property
    def user_mode(self) -> str:
        """What a model request is recorded as: part of a conversation, or of work."""
        return "Chat" if self.work_mode is WorkMode.CHAT else "Agent"


INTERACTIVE = Axes()
UNATTENDED = Axes(WorkMode.CHAT, RunControl.AUTONOMOUS, PermissionProfile.RESTRICTED, ModelMode.SMART, Surface.HEADLESS)


class AxesChange(Struct, frozen=True, omit_defaults=True, gc=False):
    """New values for some of the four axes a person can turn."""

    work_mode: WorkMode | None = None
    run_control: RunControl | None = None
    permission_profile: PermissionProfile | None = None
    model_mode: ModelMode | None = None

    def applied_to(self, axes: Axes) -> Axes:
        return structs.replace(axes, **self.values())

    def values(self) -> dict[str, Any]:
        return {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not None}

    def undone(self, before: Axes, now: Axes) -> AxesChange:
        """The change that takes back this one, leaving alone what has been turned again since."""
        back = {name: getattr(before, name) for name, v in self.values().items() if getattr(now, name) == v}
        return AxesChange(**back)

    def __bool__(self) -> bool:
        return bool(self.values())


# The words a person uses for each axis, in commands and flags.
AXIS_WORDS: dict[str, type[StrEnum]] = {
    "mode": WorkMode,
    "control": RunControl,
    "permission-profile": PermissionProfile,
    "model-mode": ModelMode,
}
AXIS_FIELDS = {
    "mode": "work_mode",
    "control": "run_control",
    "permission-profile": "permission_profile",
    "model-mode": "model_mode",
}


def parse_axis(word: str, value: str) -> AxesChange:
    """`parse_axis("mode", "build")`; an unknown value is an error that names the choices."""
    kind = AXIS_WORDS[word]
    try:
        chosen: dict[str, Any] = {AXIS_FIELDS[word]: kind(value.strip().lower())}
        return AxesChange(**chosen)
    except ValueError:
        choices = [str(v) for v in kind]
        raise UsageError(f'{word} "{value}": not one of {", ".join(choices)}.{did_you_mean(value, choices)}') from None


def merge(changes: list[AxesChange]) -> AxesChange:
    """The changes as one; two that want the same axis elsewhere are an error."""
    merged: dict[str, Any] = {}
    for change in changes:
        for name, value in change.values().items():
            if merged.setdefault(name, value) != value:
                both = f"{merged[name]} and {value}"
                raise UsageError(f"{name.replace('_', ' ')}: {both} contradict each other; use one of them")
    return AxesChange(**merged)


def of_flags(values: Mapping[str, str], *, autonomous: bool) -> AxesChange:
    """What flags turn; one that is not given is empty."""
    changes = [parse_axis(word, value) for word, value in values.items() if value]
    if autonomous:
        changes.append(AxesChange(run_control=RunControl.AUTONOMOUS))
    return merge(changes)


def tightens(before: Axes, after: Axes) -> bool:
    """Whether less runs without approval after it than before: a lower profile, or a run control that asks more."""
    if after.permission_profile.rank < before.permission_profile.rank:
        return True
    return CONTROL_ORDER.index(after.run_control) < CONTROL_ORDER.index(before.run_control)
