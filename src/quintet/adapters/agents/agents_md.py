"""Reads what agents are told: the user's page for every project, and the pages of the project's folders.

A page goes to a model without approval, so it and what it imports are read as a tool would read them: a link may lead
to another file of the project, never out of it or to a secret.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from quintet.adapters.files.paths import config_home, home_folder
from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.files.real_path import real_path
from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.permission.protected_paths import inside
from quintet.domain.turn import agent_pages as pages
from quintet.domain.turn.agent_pages import AgentsPage, PageRule, page_rule

MOST_READ = 1_000_000  # bytes of a file; a larger one is not opened
OWN = "the user's own, for every project"


def head_page(start: str, files: ProjectFiles, config: str) -> str:
    """What stands in the head of a conversation: the user's page, then those from the root down to `start`."""
    own = own_page(files, config)
    told = [pages.framed(own.place, own.text, OWN)] if own else []
    pages_found = [page for folder in ["", *_at_start(start, files)] for page in _pages_of(folder, files)]
    rules = list(_rules("", files))
    always = [AgentsPage(place, rule.text) for place, rule in rules if rule.always]
    once = {page.text: page for page in reversed([*pages_found, *always])}
    if listed := [f"- {place}: {rule.about}" for place, rule in rules if rule.to_be_read]:
        once = {"": AgentsPage(pages.CURSOR_RULES, "\n".join((pages.RULES_TO_READ, *listed))), **once}
    return "\n\n".join([*told, *(page.told for page in reversed(once.values()))])


def own_page(files: ProjectFiles, config: str) -> AgentsPage | None:
    """The user's page, of the first place that has one; what it imports lies in the folder where it really is."""
    for folder in (os.path.join(home_folder(), ".agents"), os.path.join(config_home(), "agents"), config):
        place = os.path.join(folder, pages.NAMES[0])
        real = real_path(place)
        beside = os.path.dirname(real)
        reading = _Reading(
            ProjectFiles(beside, files.protection), "the folder of this page", imports=not _holds_home(beside)
        )
        if page := reading.page(os.path.basename(real)):
            return AgentsPage(_at_home(place), page.text)
    return None


def nested_pages(touched: Iterable[str], start: str, files: ProjectFiles) -> tuple[AgentsPage, ...]:
    """The pages of the folders that files were touched in, from the root down, but for those in the head."""
    told = set(_at_start(start, files))
    folders = dict.fromkeys(folder for path in touched for folder in _own_chain(path, files))
    below = [page for folder in folders if folder not in told for page in _pages_of(folder, files)]
    paths = [relative for path in touched if (relative := inside(path, files.root))]
    named = [AgentsPage(place, rule.text) for folder in ("", *folders) for place, rule in _named(folder, paths, files)]
    return (*below, *named)


def _named(folder: str, paths: Sequence[str], files: ProjectFiles) -> Iterator[tuple[str, PageRule]]:
    """The rules of a folder that hold for one of these files; patterns count from the folder, or from the root."""
    here = [path for path in paths if not folder or path.startswith(f"{folder}/")]
    from_here = [path[len(folder) + 1 :] for path in here] if folder else []
    for place, rule in _rules(folder, files) if here else ():
        if rule.always:
            holds = bool(folder)  # the root's are in the head
        else:
            holds = any(rule.holds_for(path) for path in (*here, *from_here))
        if holds:
            yield place, rule


def _at_start(start: str, files: ProjectFiles) -> list[str]:
    relative = inside(real_path(start), files.root) if start else None
    return pages.chain(relative) if relative else []


def _own_chain(path: str, files: ProjectFiles) -> Iterator[str]:
    """The folders down to a file by where it really is, as far as they are the project's own."""
    relative = inside(path, files.root)
    folder = real_path(os.path.join(files.root, relative or "."))
    if not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    real = inside(folder, files.root)
    for one in pages.chain(real) if relative and real else ():
        if pages.foreign(one) or files.is_there(f"{one}/.git"):
            return
        yield one


def _pages_of(folder: str, files: ProjectFiles) -> Iterator[AgentsPage]:
    """The page of a folder, and what its user keeps beside it for themselves."""
    for name in pages.NAMES if folder else (*pages.NAMES, *pages.ROOT_NAMES):
        if page := _Reading(files).page(os.path.join(folder, name)):
            yield page
            break
    if page := _Reading(files).page(os.path.join(folder, pages.LOCAL_NAME)):
        yield page


def _rules(folder: str, files: ProjectFiles) -> Iterator[tuple[str, PageRule]]:
    """The rules that Cursor and Copilot keep in folders of the root, and Cursor also in others."""
    for rules, endings in (
        pages.RULES.items() if not folder else ((pages.CURSOR_RULES, pages.RULES[pages.CURSOR_RULES]),)
    ):
        for place in sorted(_below(os.path.join(folder, rules), endings, files))[: pages.MOST_RULES]:
            if page := _Reading(files).page(place):
                yield page.place, page_rule(page.text)


def _below(folder: str, endings: tuple[str, ...], files: ProjectFiles, depth: int = 3) -> Iterator[str]:
    try:
        entries = files.entries(folder)
    except (OSError, ToolFailed):
        return
    for entry in entries:
        place = f"{folder}/{entry.name}"
        if entry.kind == "folder" and depth > 1:
            yield from _below(place, endings, files, depth - 1)
        elif place.endswith(endings):
            yield place


class _Reading:
    """One page, and all that it imports."""

    def __init__(self, files: ProjectFiles, within: str = "the project", *, imports: bool = True) -> None:
        self._files = files
        self._within = within
        self._imports = imports
        self._left = pages.MOST_BYTES
        self._seen: set[str] = set()

    def page(self, place: str) -> AgentsPage | None:
        try:
            text = self._text(place)
        except _NotRead as why:
            text = f"(not read: {why})"
        except (OSError, ToolFailed):
            return None
        self._seen.add(place)
        return AgentsPage(on_one_line(place), "\n".join(self._lines(text, place, 0)).strip())

    def _text(self, place: str) -> str:
        size = self._files.info(place).size
        if size > MOST_READ:
            raise _NotRead(f"it has {size} bytes, and the limit is {MOST_READ}")
        data = self._files.read(place)
        if b"\0" in data:
            raise _NotRead("it is not text")
        return pages.readable(data)

    def _lines(self, text: str, place: str, depth: int) -> Iterator[str]:
        for line, open_text in pages.unfenced(text.split("\n")):
            target = pages.import_of(line) if open_text and self._imports else ""
            imported = self._imported(target, place, depth) if target else line
            if isinstance(imported, AgentsPage):
                yield from self._lines(imported.text, imported.place, depth + 1)
            else:
                yield from self._kept(imported)
            if self._left < 0:
                return

    def _imported(self, target: str, place: str, depth: int) -> AgentsPage | str:
        """The file that a line names, or the line with why there is none."""
        beside = target if target[0] in "~/" else os.path.join(os.path.dirname(place), target)
        wanted = inside(beside, self._files.root)
        try:
            if wanted is None:
                raise _NotRead(f"it is not in {self._within}")
            if wanted in self._seen:
                raise _NotRead("it is already above")
            if depth >= pages.MOST_DEPTH:
                raise _NotRead(f"imports can be at most {pages.MOST_DEPTH} deep")
            if len(self._seen) > pages.MOST_IMPORTS:
                raise _NotRead(f"the limit is {pages.MOST_IMPORTS} files")
            text = self._text(wanted)
        except _NotRead as why:
            return f"@{target} (not imported: {why})"
        except (OSError, ToolFailed):
            return f"@{target}" if pages.is_mention(target) else f"@{target} (not imported: no such file)"
        self._seen.add(wanted)
        return AgentsPage(wanted, text)

    def _kept(self, line: str) -> Iterator[str]:
        """A line, as far as there is room."""
        data = line.encode()
        if len(data) < self._left:
            self._left -= len(data) + 1
            yield line
        else:
            kept, self._left = data[: self._left], -1
            yield f"{kept.decode('utf-8', 'ignore')}\n(truncated after {pages.MOST_BYTES} bytes)"


class _NotRead(Exception):
    """Why a file is not."""


def _holds_home(folder: str) -> bool:
    return f"{real_path(home_folder())}/".startswith(f"{folder.rstrip('/')}/")


def _at_home(path: str) -> str:
    home = home_folder()
    return on_one_line(f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path)
