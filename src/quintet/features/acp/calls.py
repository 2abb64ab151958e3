"""A tool call as the protocol shows it: its kind, its title, the places it is about, and what it changed. Pure."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    TerminalToolCallContent,
    TextContentBlock,
    ToolCallLocation,
    ToolKind,
)

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.safe_text import brief
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.rules import subject_of

MOST_TITLE = 200  # characters
KINDS: dict[str, ToolKind] = {
    "Read": "read",
    "grep": "search",
    "glob": "search",
    "library_search": "search",
    "Edit": "edit",
    "Write": "edit",
    "fs_write_file": "edit",
    "apply_patch": "edit",
    "lsp_edit": "edit",
    "fs_delete": "delete",
    "fs_move": "move",
    "bash": "execute",
    "think": "think",
}
_BY_EFFECT: tuple[tuple[Effect, ToolKind], ...] = (
    (Effect.EXECUTE, "execute"),
    (Effect.BUILD, "execute"),
    (Effect.INSTALL, "execute"),
    (Effect.COMMIT, "execute"),
    (Effect.PUBLISH, "execute"),
    (Effect.DESTROY, "delete"),
    (Effect.EDIT, "edit"),
    (Effect.FETCH, "fetch"),
    (Effect.NETWORK, "fetch"),
    (Effect.READ, "read"),
)
_PLACES = ("file_path", "path", "paths", "source", "destination")
_HUNK = regex(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_FENCE = regex(r"`{3,}")

Content = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent  # as the protocol has them


def kind(tool: str, effects: Sequence[Effect] = ()) -> ToolKind:
    if tool in KINDS:
        return KINDS[tool]
    if tool.startswith(("web_", "browser_")):
        return "fetch"
    return next((kind for effect, kind in _BY_EFFECT if effect in effects), "other")


def arguments(text: str) -> dict[str, Any]:
    """The arguments of a call; none where they are no object."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def title(tool: str, given: Mapping[str, Any]) -> str:
    """What is done, on one line: a command as it is, else the tool and what it is about."""
    command = given.get("command")
    if tool == "bash" and isinstance(command, str):
        return brief(command, MOST_TITLE)
    return f"{tool} {brief(subject_of(given), MOST_TITLE)}".rstrip()


def locations(given: Mapping[str, Any], root: str) -> list[ToolCallLocation]:
    found: dict[str, None] = {}
    for name in _PLACES:
        value = given.get(name)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str) and one:
                found[os.path.normpath(os.path.join(root, one))] = None
    line = given.get("offset")
    at = line if isinstance(line, int) and line > 0 and len(found) == 1 else None
    return [ToolCallLocation(path=path, line=at) for path in found]


def proposed(tool: str, given: Mapping[str, Any], root: str) -> list[Content]:
    """What an edit would change, as far as its arguments say."""
    path = given.get("file_path")
    if not isinstance(path, str) or kind(tool) != "edit":
        return []
    whole = os.path.normpath(os.path.join(root, path))
    edits = given.get("edits") or [given]
    return [
        diff(whole, str(one.get("old_string") or "") or None, str(one.get("new_string") or ""))
        for one in edits
        if isinstance(one, dict) and ("new_string" in one or "old_string" in one)
    ] or ([diff(whole, None, str(given["content"]))] if isinstance(given.get("content"), str) else [])


def diff(path: str, before: str | None, after: str) -> FileEditToolCallContent:
    return FileEditToolCallContent(type="diff", path=path, old_text=before, new_text=after)


def changed(result: str, root: str) -> list[Content]:
    """The diffs of a result, each hunk with the text before and after it."""
    found: list[Content] = []
    path, new = "", False
    before: list[str] = []
    after: list[str] = []
    old_left = new_left = 0

    def end() -> None:
        if path and (before or after):
            whole = os.path.normpath(os.path.join(root, path))
            found.append(diff(whole, None if new else _text(before), _text(after)))
        before.clear()
        after.clear()

    for line in result.split("\n"):
        if old_left > 0 or new_left > 0:
            sign = line[:1] or " "
            if sign in "+- ":
                if sign != "+":
                    before.append(line[1:])
                    old_left -= 1
                if sign != "-":
                    after.append(line[1:])
                    new_left -= 1
                continue
            if sign == "\\":
                continue
            old_left = new_left = 0  # it was cut short
        if hunk := _HUNK.match(line):
            end()
            new = new or hunk[1] == hunk[2] == "0"  # nothing was there
            old_left, new_left = int(hunk[2] or 1), int(hunk[4] or 1)
        elif line.startswith("--- "):
            end()
            new = line[4:].split("\t")[0] == "/dev/null"
        elif line.startswith("+++ "):
            path = line[4:].split("\t")[0].removeprefix("b/")
    end()
    return found


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def text_content(text: str) -> ContentToolCallContent:
    return ContentToolCallContent(type="content", content=TextContentBlock(type="text", text=text))


def fenced(text: str, language: str = "text") -> str:
    """Text as it is, for who reads Markdown."""
    longest = max((len(found) for found in _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
