"""What lies beside a skill's page: scripts, schemas of what goes in and comes out, checklists, and servers.

Read when the skill is used, bounded, and never followed out of its folder. What is not supported is named.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from quintet.adapters.files.real_path import real_path
from quintet.adapters.settings.trust import leads_out, read_bytes
from quintet.domain.base.json_schema import misfit
from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.skills.use import MOST_ITEMS

MOST_FILES = 200
MOST_BYTES = 200_000  # of a checklist or a schema
INPUT, OUTPUT = "input", "output"  # the schemas that are followed, as schemas/input.json
MOST_NESTED = 60  # levels of a schema
_ITEM = regex(r"[-*+]\s+(?:\[[ xX]?\]\s+)?(\S.*)")  # a line without the space around it
_BOXED = regex(r"[-*+]\s+\[[ xX]?\]\s+(\S.*)")
_NOT_LISTED = frozenset({"evals", "__pycache__", "node_modules", ".git"})


class SkillContents(Struct, frozen=True):
    files: tuple[str, ...] = ()  # relative to the folder, the page itself and the evals left out
    scripts: tuple[str, ...] = ()
    items: tuple[str, ...] = ()  # of the checklists
    schemas: dict[str, Any] = {}  # by their names without .json
    servers: dict[str, Any] = {}  # of mcp.json, by name
    evals: int = 0  # how many cases there are
    problems: tuple[str, ...] = ()

    def input_flaw(self, arguments: str) -> str:
        """What is wrong with the arguments by schemas/input.json; empty if nothing is, or there is none."""
        schema = self.schemas.get(INPUT)
        if schema is None:
            return ""
        try:
            value = msgspec.json.decode(arguments) if arguments.strip() else {}
        except (msgspec.DecodeError, RecursionError) as error:
            return f"the arguments must be JSON, for schemas/input.json: {error}"
        return misfit(value, schema, "arguments")

    def output_flaw(self, result: Any) -> str:
        schema = self.schemas.get(OUTPUT)
        return misfit(result, schema, "result") if schema is not None else ""


def look(folder: str) -> SkillContents:
    """All that is beside the page of a skill."""
    files = tuple(_files(folder))
    problems: list[str] = []
    items: list[str] = []
    schemas: dict[str, Any] = {}
    for name in files:
        place, _, rest = name.partition("/")
        if place == "checklists" and name.endswith(".md"):
            text = _text(folder, name)
            items += _items(text)[: MOST_ITEMS - len(items)]
        elif place == "schemas" and name.endswith(".json"):
            value, problem = _json(folder, name)
            if isinstance(value, dict):
                schemas[rest.removesuffix(".json")] = value
            else:
                problems.append(f"{name}: {problem or 'a schema is an object'}")
    value, problem = _json(folder, "mcp.json") if "mcp.json" in files else ({}, "")
    if problem:
        problems.append(f"mcp.json: {problem}")
    servers = value.get("mcpServers", value) if isinstance(value, dict) else {}
    return SkillContents(
        files=files,
        scripts=tuple(name for name in files if name.startswith("scripts/")),
        items=tuple(on_one_line(item)[:300] for item in items),
        schemas=schemas,
        servers=servers if isinstance(servers, dict) else {},
        evals=sum(1 for _ in cases(folder)),
        problems=tuple(problems),
    )


def cases(folder: str) -> Iterator[str]:
    """The folders of the skill's eval cases, in their order; none outside the skill."""
    top = real_path(folder)
    try:
        with os.scandir(os.path.join(folder, "evals")) as entries:
            found = [one for one in entries if one.is_dir() and one.name.startswith("case-")]
    except OSError:
        return
    names = [one.name for one in found if not leads_out(top, one.path)]
    yield from (os.path.join(folder, "evals", name) for name in sorted(names, key=_by_number))


def _by_number(name: str) -> tuple[int, str]:
    number = name.removeprefix("case-")
    return (int(number), "") if number.isascii() and number.isdigit() else (1 << 30, name)


def _files(folder: str) -> Iterator[str]:
    count = 0
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _NOT_LISTED)
        for name in sorted(names):
            whole = os.path.join(path, name)
            below = os.path.relpath(whole, folder)
            if below in ("SKILL.md", "skill.md") or leads_out(real_path(folder), whole):
                continue
            count += 1
            if count > MOST_FILES:
                return
            yield below


def _text(folder: str, name: str) -> str:
    data = read_bytes(os.path.join(folder, name)) or b""
    return data[:MOST_BYTES].decode("utf-8", "replace")


def _items(text: str) -> list[str]:
    """The items of a checklist: those with a box, or else all of its lists."""
    lines = [line.strip() for line in text.splitlines()]
    boxed = [found[1] for line in lines if (found := _BOXED.fullmatch(line))]
    return boxed or [found[1] for line in lines if (found := _ITEM.fullmatch(line))]


def _json(folder: str, name: str) -> tuple[Any, str]:
    deep = f"it is nested more than {MOST_NESTED} levels deep"
    try:
        value = msgspec.json.decode(_text(folder, name))
    except msgspec.DecodeError as error:
        return None, f"not valid JSON: {error}"
    except RecursionError:
        return None, deep
    return (None, deep) if _levels(value) > MOST_NESTED else (value, "")


def _levels(value: Any) -> int:
    """How deep a value is nested."""
    level, inner = 0, [value]
    while inner:
        level += 1
        inner = [
            one
            for outer in inner
            if isinstance(outer, dict | list)
            for one in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return level
