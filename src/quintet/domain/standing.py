"""Where a conversation stands when tools are shown and called: all that the mask, the gate and a tool know of it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from quintet.domain.axes import Axes
from quintet.domain.swe_phases import PhaseState
from quintet.domain.todos import Todo


class Standing(Struct, frozen=True):
    axes: Axes
    toolset: str = ""  # the place in the tool menu; empty at ROOT
    todos: Mapping[str, Todo] = field(default_factory=dict)
    swe: PhaseState | None = None  # None while the SWE phases are off
