"""Pages for agents: AGENTS.md or another agent's page, of a folder and of all below it, and what a page imports.

A page is a person's words to an agent and goes to a model unasked, so whose words they are is settled by where a page
lies: not in a dependency, and not in a repository within the project.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from msgspec import Struct

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.safe_text import exactly, on_one_line

NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")  # of one folder the first that is there
MOST_BYTES = 64_000  # of a page with all that it imports
MOST_IMPORTS = 50  # of one page
MOST_DEPTH = 5  # of imports of imports
MOST_AT_ONCE = 5  # nested pages after one step
# What lies below these was written elsewhere, and came with a command.
_FOREIGN = frozenset(
    {
        *("node_modules", "bower_components", "site-packages", "dist-packages", ".venv", "venv", ".tox", ".nox"),
        *("vendor", "third_party", "Pods", ".git"),
    }
)
_FENCE = regex(r"^ {0,3}(`{3,}|~{3,})")
_IMPORT = regex(r"^\s*@(\S+)\s*$")
_FRAME = regex(r"^[^\w\n]*From\b.*:[^\w\n]*$", re.I | re.M)  # what a page of somebody else's begins with
_EMOJI = "\ufe0f"  # after a sign: shown in colour. Pages are full of it, and it hides nothing.


class AgentsPage(Struct, frozen=True, omit_defaults=True, gc=False):
    """A page as it was found: its place, relative to the project, and its text with what it imports."""

    place: str
    text: str

    @property
    def told(self) -> str:
        return framed(self.place, self.text)


def framed(place: str, text: str, whose: str = "") -> str:
    """A page under the line that says where it is from. A line of its own that reads like that one is quoted."""
    note = f" ({whose})" if whose else ""
    quoted = _FRAME.sub(lambda line: f"> {line[0]}", text)
    return f"From {on_one_line(place)}{note}:\n\n{quoted}"


def foreign(folder: str) -> bool:
    """Whether what lies in a folder of the project is not the project's own."""
    return not _FOREIGN.isdisjoint(folder.split("/"))


def chain(folder: str) -> list[str]:
    """The folders from the root, which is left out, down to this one; nothing if it lies outside."""
    parts = [part for part in posixpath.normpath(folder).split("/") if part not in ("", ".")]
    if folder.startswith("/") or ".." in parts:
        return []
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def below_root(paths: Iterable[str]) -> tuple[str, ...]:
    """Of what a step touched, what may lie in a folder with a page of its own."""
    return tuple(dict.fromkeys(path for path in paths if "/" in path.strip("/") and not foreign(path)))


def import_of(line: str) -> str:
    """The file that a line imports; empty if it is none."""
    found = _IMPORT.match(line)
    return found[1] if found else ""


def is_mention(target: str) -> bool:
    """Whether `@target` may as well name somebody."""
    return "/" not in target and "." not in target


def unfenced(lines: Iterable[str]) -> Iterable[tuple[str, bool]]:
    """Each line, and whether it stands outside blocks of code."""
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
            yield line, False
            continue
        yield line, not fence


def readable(data: bytes) -> str:
    """A page's words; what the eye would not see in them is spelled out, for whoever reads the page sees the same."""
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n").strip()
    return _EMOJI.join(exactly(part) for part in text.split(_EMOJI))
