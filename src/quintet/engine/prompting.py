"""What the model is told, put together from Markdown files in a fixed order, with four variables and no others."""

from __future__ import annotations

import os
import re

from quintet.domain.errors import QuintetError

VARIABLES = ("project_root", "user_input", "tool_summary", "last_step_outcome")
ORDER = ("base/system.md", "base/project_root_context.md")
ALONE = ("stages/compact.md",)  # for requests of their own
_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


class Prompts:
    """Loads at once, so that a missing file or an unknown variable fails before anything is sent."""

    def __init__(self, folder: str) -> None:
        self._parts = {name: _load(folder, name) for name in ORDER}
        self._alone = {name: _load(folder, name) for name in ALONE}

    def system(self, values: dict[str, str]) -> str:
        return "\n\n".join(_VARIABLE.sub(lambda m: values.get(m[1], ""), part) for part in self._parts.values())

    def page(self, name: str) -> str:
        """A prompt that stands alone."""
        return self._alone[name]


def _load(folder: str, name: str) -> str:
    path = os.path.join(folder, name)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read().strip()
    except OSError as error:
        raise QuintetError(f"{path}: prompt cannot be read ({error.strerror})") from error
    unknown = sorted(set(_VARIABLE.findall(text)) - set(VARIABLES))
    if unknown:
        raise QuintetError(f"{path}: unknown variable {unknown[0]}; there are {', '.join(VARIABLES)}")
    return text
