"""Which tools are ready on a machine: a tool is, when every outside part that it needs is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from quintet.domain.turn.tool_spec import ToolSpec


class MachinePart(Struct, frozen=True):
    """Something outside Quintet that tools need."""

    name: str
    ready: bool
    found: str = ""  # what there is: a version, or which kind
    missing: str = ""  # what there is not, and how to get it; a ready part may lack something too


class ToolReadiness(Struct, frozen=True):
    name: str
    state: Literal["ready", "missing"]
    needs: tuple[str, ...]  # what is missing, in words


def parts_of(specs: Iterable[ToolSpec]) -> list[str]:
    """Every part that one of the tools needs, in the order of the tools."""
    return list(dict.fromkeys(part for spec in specs for part in spec.needs))


def readiness(specs: Iterable[ToolSpec], parts: Mapping[str, MachinePart]) -> list[ToolReadiness]:
    found = []
    for spec in specs:
        missing = tuple(parts[name].missing for name in spec.needs if not parts[name].ready)
        found.append(ToolReadiness(spec.name, "missing" if missing else "ready", missing))
    return found
