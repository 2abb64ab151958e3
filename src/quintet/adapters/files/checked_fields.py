"""A document of fields, read with care: what is wrong is noted with its line and field, and reading goes on.

Whoever reads looks at `problems` at the end. A value that is wrong reads as an empty one.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from quintet.adapters.files.located_yaml import Located, Place
from quintet.domain.agents.agent import AgentProblem
from quintet.domain.base.did_you_mean import did_you_mean

MOST_TEXT = 100_000
_KINDS = {dict: "fields", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}


def field_name(place: Place) -> str:
    """As a person writes it: `agent.menu[2].trigger`."""
    name = ""
    for part in place:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
    return name


class Checked:
    def __init__(self, file: str, document: Located) -> None:
        self.file = file
        self.document = document
        self.problems: list[AgentProblem] = []

    def note(self, place: Place, problem: str) -> None:
        self.problems.append(AgentProblem(self.file, self.document.line(place), field_name(place), problem))

    def get(self, place: Place) -> Any:
        value = self.document.value
        for part in place:
            if isinstance(part, int):
                value = value[part] if isinstance(value, list) and part < len(value) else None
            else:
                value = value.get(part) if isinstance(value, dict) else None
        return value

    def fields(self, place: Place, known: Collection[str] = (), *, required: bool = True) -> dict[str, Any]:
        """A set of fields; those that are not among `known` are noted, if any are."""
        value = self.get(place)
        if value is None and not required:
            return {}
        if not isinstance(value, dict):
            self._wanted(place, "fields", value)
            return {}
        for name in value if known else ():
            if name not in known:
                self.note((*place, name), f"is not a field here.{did_you_mean(str(name), known)}")
        return value

    def items(self, place: Place, *, required: bool = True, least: int = 0) -> range:
        """The positions of a list."""
        value = self.get(place)
        if value is None and not required:
            return range(0)
        if not isinstance(value, list):
            self._wanted(place, "a list", value)
            return range(0)
        if len(value) < least:
            self.note(place, "needs at least one entry")
        return range(len(value))

    def text(self, place: Place, *, required: bool = True) -> str:
        value = self.get(place)
        if value is None and not required:
            return ""
        if not isinstance(value, str):
            self._wanted(place, "text", value)
            return ""
        if not value.strip():
            self.note(place, "is empty")
        elif len(value) > MOST_TEXT:
            self.note(place, f"is longer than {MOST_TEXT} characters")
        return value.strip()

    def texts(self, place: Place, *, required: bool = True, least: int = 0) -> tuple[str, ...]:
        return tuple(self.text((*place, number)) for number in self.items(place, required=required, least=least))

    def flag(self, place: Place) -> bool:
        value = self.get(place)
        if value is not None and not isinstance(value, bool):
            self._wanted(place, "true or false", value)
        return value is True

    def _wanted(self, place: Place, kind: str, value: Any) -> None:
        if value is None:
            self.note(place, "is missing")
        else:
            self.note(place, f"has to be {kind}, and is {_KINDS.get(type(value), 'a number')}")
