"""What a yes to a folder covers: each piece it brings, by its content. What is new or changed since needs another yes.

A piece is a file that Quintet would load or run for the project, or one server of its `.mcp.json`, under a name that is
shown to the person. A digest is of the very bytes that are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from quintet.domain.base.wording import few

SETTINGS = ".quintet/settings.toml"
TOOLS = ".quintet/tools"
PROMPTS = ".quintet/prompts"
AGENTS = (".quintet/agents", ".agents/agents", ".claude/agents")
SKILLS = (".quintet/skills", ".agents/skills", ".claude/skills", ".claude/commands")
SERVERS = ".mcp.json"
MOST_DIFF = 2_000  # lines of a question that are changes; `quintet trust --check` shows all
MOST_NAMES = 8  # in a sentence
FEW_CHANGES = 4  # lines of them that are shown however long the list is

Pieces = Mapping[str, bytes]


class Trust(Struct, frozen=True):
    """What the user has said about a folder."""

    decided: bool = False
    trusted: bool = False
    content: dict[str, str] | None = field(default_factory=dict)  # name → digest; None: the yes is older than contents
    declined: dict[str, str] = field(default_factory=dict)  # what was shown and left out

    def covers(self, name: str, data: bytes) -> bool:
        return self.trusted and bool(self.content) and self.content.get(name) == digest(data)  # type: ignore[union-attr]

    def covers_below(self, folder: str, pieces: Pieces) -> bool:
        """Whether everything there is in a folder is covered: its files may load each other."""
        return self.trusted and all(
            self.covers(name, data) for name, data in pieces.items() if name.startswith(f"{folder}/")
        )


class ProjectSetting(Struct, frozen=True):
    """A setting that a project sets and may not set untrusted."""

    key: str
    value: Any
    about: str = ""


class ChangeKind(StrEnum):
    NEW = "new"
    CHANGED = "changed"
    NOT_RECORDED = "not recorded"  # trusted before contents were


class ContentChange(Struct, frozen=True):
    name: str
    kind: ChangeKind


def changes(trust: Trust, pieces: Pieces) -> list[ContentChange]:
    """The pieces of a trusted folder that its yes does not cover."""
    if not trust.trusted:
        return []
    known = trust.content
    return [
        ContentChange(name, _kind(name, known)) for name, data in sorted(pieces.items()) if not trust.covers(name, data)
    ]


def _kind(name: str, known: Mapping[str, str] | None) -> ChangeKind:
    if known is None:
        return ChangeKind.NOT_RECORDED
    return ChangeKind.CHANGED if name in known else ChangeKind.NEW


def to_ask(trust: Trust, pieces: Pieces) -> list[ContentChange]:
    """Those of them that the person has not been shown as they are now."""
    return [one for one in changes(trust, pieces) if trust.declined.get(one.name) != digest(pieces[one.name])]


def shares(rows: int, listed: int, changed: int) -> tuple[int, int]:
    """How many lines of a list and of what changed are shown in so many rows.

    Of either that is cut, one row is for the count of the rest. The list comes first; a few rows are kept for changes.
    """
    kept = min(changed, FEW_CHANGES)
    room = max(rows - kept, 1)
    of_list = listed if listed <= room else room - 1
    counted = 1 if of_list < listed else 0
    room = max(rows - of_list - counted, 0)
    return of_list, changed if changed <= room else max(room - 1, 0)


def not_loaded(found: list[ContentChange]) -> str:
    """What is left out, for a run that cannot ask."""
    names = few([f"{one.name} ({one.kind})" for one in found], MOST_NAMES)
    return (
        f"Not loaded: {names}. These files are new or changed since you trusted this folder: `quintet "
        "trust --check` shows the changes, `quintet trust` accepts them."
    )


def ignored(keys: list[str]) -> str:
    """That settings of a project do not count, as the beginning of a sentence that says why."""
    return f"{few(keys, MOST_NAMES)} {'is' if len(keys) == 1 else 'are'} ignored"


def difference(name: str, before: bytes | None, now: bytes) -> list[str]:
    """A piece as lines of a unified diff; whole if there is nothing to compare it with."""
    from difflib import unified_diff  # only where a project's content is asked about

    if b"\0" in now:
        return [f"+++ {name}", f"  ({len(now)} bytes that are not text)"]
    lines = now.decode("utf-8", "replace").splitlines()
    if before is None:
        return [f"+++ {name}", *(f"+{line}" for line in lines)]
    old = before.decode("utf-8", "replace").splitlines()
    return list(unified_diff(old, lines, f"{name} (when you trusted it)", name, lineterm=""))


def digest(data: bytes) -> str:
    from hashlib import sha256  # only where a folder brings something

    return sha256(data).hexdigest()
