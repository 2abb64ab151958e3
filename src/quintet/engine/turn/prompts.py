"""What the model is told, put together from Markdown files in the policy's order, with four variables and no others.

Every file is checked at once: a missing one, an unknown variable, or a text that suggests turning a dial fails before
anything is sent. A trusted project may override a file by one of the same name in `.quintet/prompts`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from quintet.domain.base.errors import QuintetError
from quintet.domain.base.lazy_regex import regex
from quintet.domain.turn.corrections import PAGES, Correction
from quintet.domain.turn.prompt_lint import suggested
from quintet.domain.turn.stage_policy import (
    AGENTS_PAGE,
    MEMORY,
    PERSONA,
    SKILLS,
    SURROUNDINGS,
    TOOLSET_STATE,
    WORKFLOW_STATE,
)

VARIABLES = ("project_root", "user_input", "tool_summary", "last_step_outcome")
NO_CALLS = "- no calls"  # the tool summary of a turn that has made none
NO_FILES = frozenset({SURROUNDINGS, AGENTS_PAGE, PERSONA, MEMORY, SKILLS, TOOLSET_STATE, WORKFLOW_STATE})
_VARIABLE = regex(r"\{\{\s*(\w+)\s*\}\}")


class PromptPart(Struct, frozen=True):
    """One part of what is sent: its name, where it came from, its text."""

    name: str
    source: str
    text: str


class Prompts:
    """Loads at once, so that a missing file or an unknown variable fails before anything is sent."""

    def __init__(
        self,
        folder: str,
        overrides: str = "",
        own: Mapping[str, str] | None = None,
        covers: Callable[[str, bytes], bool] = lambda name, data: True,
        is_page: Callable[[str], bool] = os.path.isfile,
    ) -> None:
        """`overrides` is the folder of a project's own pages, or `own` has their texts.

        `covers` says whether a page of the project's is to be used, by its name and what stands in it; `is_page`
        whether there is one to read.
        """
        self._folder = folder
        self._pages: dict[str, tuple[str, str]] = {}
        for name in sorted(page_names(folder)):
            theirs = os.path.join(overrides, name) if overrides else ""
            if theirs and is_page(theirs) and covers(name, data := _read(theirs)):
                self._pages[name] = (theirs, checked_page(theirs, data))
            else:
                path = os.path.join(folder, name)
                self._pages[name] = (path, checked_page(path, _read(path)))
        self._pages.update({name: (name, text) for name, text in (own or {}).items()})

    def parts(self, names: Iterable[str], values: Mapping[str, str], written: Mapping[str, str]) -> list[PromptPart]:
        """The parts of a request in order, empty ones left out; `written` holds those that are no files."""
        parts = []
        for name in names:
            if name in NO_FILES:
                source, text = name, written.get(name, "")
            else:
                source, page = self._page(name)
                text = _VARIABLE.sub(lambda m: values.get(m[1], ""), page)
            if text:
                parts.append(PromptPart(name, source, text))
        return parts

    def page(self, name: str) -> str:
        """A page that is all a request is told."""
        return self._page(name)[1]

    def filled(self, name: str, values: Mapping[str, str]) -> str:
        """A page that is all somebody is told, with its variables."""
        return _VARIABLE.sub(lambda m: values.get(m[1], ""), self._page(name)[1])

    def correction(self, kind: Correction, values: Mapping[str, str]) -> str:
        return self.filled(PAGES[kind], values)

    def in_use(self) -> tuple[dict[str, str], dict[str, str]]:
        """The texts of the pages that are the project's own, and of those that are the shipped ones."""
        own = set(self.overridden(self._folder))
        texts = {name: text for name, (_, text) in self._pages.items()}
        return {n: t for n, t in texts.items() if n in own}, {n: t for n, t in texts.items() if n not in own}

    def overridden(self, folder: str) -> list[str]:
        """The pages that are not the shipped ones."""
        return [name for name, (path, _) in self._pages.items() if not path.startswith(folder + os.sep)]

    def _page(self, name: str) -> tuple[str, str]:
        if name not in self._pages:
            raise QuintetError(f"there is no prompt named {name}")
        return self._pages[name]


def joined(parts: Iterable[PromptPart]) -> str:
    return "\n\n".join(part.text for part in parts)


def page_names(folder: str) -> Iterable[str]:
    for path, _, files in os.walk(folder):
        below = path[len(folder) :].lstrip(os.sep)
        yield from (os.path.join(below, name) for name in files if name.endswith(".md"))


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise QuintetError(f"{path}: the prompt cannot be read ({error})") from error


def checked_page(path: str, data: bytes) -> str:
    try:
        text = data.decode().replace("\r\n", "\n").strip()
    except UnicodeError as error:
        raise QuintetError(f"{path}: the prompt cannot be read ({error})") from error
    unknown = sorted(set(_VARIABLE.findall(text)) - set(VARIABLES))
    if unknown:
        raise QuintetError(f"{path}: unknown variable {unknown[0]}; known variables: {', '.join(VARIABLES)}")
    if suggestion := suggested(text):
        raise QuintetError(
            f'{path}: "{suggestion}": a prompt may not suggest changing a dial; only the user changes dials'
        )
    return text
