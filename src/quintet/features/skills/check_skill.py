"""Checks a skill as its author would want it checked: problems keep it from being used, notes name what is ignored.

Strict, for authors: what the Agent Skills standard does not take is a problem too, our own fields aside.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from quintet.adapters.settings.mcp_servers import NAMES, McpEntry
from quintet.adapters.settings.trust import read_bytes
from quintet.domain.base.errors import NotFound
from quintet.domain.base.json_schema import unusable
from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.plain_kinds import plainly
from quintet.domain.base.safe_text import on_one_line
from quintet.features.skills.contents import SkillContents, cases, look
from quintet.features.skills.page import parted, read_page
from quintet.features.skills.shelf import PAGES
from quintet.features.skills.skill import Skill, SkillKind
from quintet.features.skills.yaml_page import strict_errors

MOST_BODY = 40_000  # characters of a page that is read whole when it is used
_LINK = regex(r"\]\(((?:scripts|references|assets|checklists|schemas|templates|resources)/[^)\s#]+)\)")


class CheckedSkill(Struct, frozen=True):
    name: str
    path: str
    problems: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def fine(self) -> bool:
        return not self.problems


def pages_below(path: str) -> Iterator[str]:
    """The pages of skills at or below a path: a page, the folder of one, or a folder of those."""
    if os.path.isfile(path):
        yield path
        return
    if not os.path.isdir(path):
        raise NotFound(f"{path}: no such file or folder")
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if name not in (".git", "node_modules", "evals"))
        if page := next((name for name in PAGES if name in names), ""):
            yield os.path.join(folder, page)
            folders[:] = []


def at_path(path: str) -> Skill:
    """The skill of a page, wherever it lies."""
    path = os.path.abspath(path)
    folder = os.path.dirname(path)
    is_skill = os.path.basename(path) in PAGES
    kind = SkillKind.SKILL if is_skill else SkillKind.COMMAND
    beside = os.path.basename(folder) if is_skill else os.path.basename(path).removesuffix(".md")
    data = read_bytes(path)
    if data is None:
        raise NotFound(f"{path}: there is no such file")
    return read_page(data, file=path, folder=folder if is_skill else "", beside=beside, kind=kind)


def checked(skill: Skill, *, strict: bool = False) -> CheckedSkill:
    problems = [skill.problem] if skill.problem else []
    notes = list(skill.notes)
    data = read_bytes(skill.file) or b""
    if skill.kind is SkillKind.SKILL and strict:
        text = data.decode("utf-8", "replace").replace("\r\n", "\n")
        problems += [one for one in strict_errors(text, os.path.basename(skill.folder)) if one not in problems]
    if skill.folder:
        contents = look(skill.folder)
        problems += contents.problems
        problems += _schema_problems(contents)
        problems += _server_problems(contents)
        notes += _content_notes(skill, contents, data)
        problems += [
            f"{os.path.relpath(one, skill.folder)}: {why}" for one in cases(skill.folder) if (why := _case(one))
        ]
    return CheckedSkill(skill.name, skill.file, tuple(problems), tuple(dict.fromkeys(notes)))


def _server_problems(contents: SkillContents) -> Iterator[str]:
    for name, given in contents.servers.items():
        try:
            entry = msgspec.convert(given, McpEntry)
        except msgspec.ValidationError as error:
            yield f"mcp.json: {on_one_line(name)[:40]}: {plainly(error)}"
            continue
        if not NAMES.fullmatch(name):
            yield f"mcp.json: {on_one_line(name)[:40]}: its name may have letters, digits, _ . and -, at most 64"
        elif bool(entry.command) == bool(entry.url):
            yield f"mcp.json: {name}: expected a command or a url: one of the two"


def _schema_problems(contents: SkillContents) -> Iterator[str]:
    for name, schema in contents.schemas.items():
        if why := unusable(schema):
            yield f"schemas/{name}.json: {why}"


def _content_notes(skill: Skill, contents: SkillContents, data: bytes) -> Iterator[str]:
    if skill.problem:
        return
    try:
        body = parted(data)[1]
    except ValueError:
        return
    if not body.strip():
        yield "the page says nothing below its fields"
    if len(body) > MOST_BODY:
        yield f"the page has {len(body)} characters: put what is seldom needed into files beside it"
    missing = [
        link for link in dict.fromkeys(_LINK.findall(body)) if not os.path.exists(os.path.join(skill.folder, link))
    ]
    for link in missing[:5]:
        yield f"{link}: the page links to it, and it is not there"


def _case(folder: str) -> str:
    """What is wrong with an eval case; empty if nothing is."""
    try:
        names = os.listdir(folder)
    except OSError as error:
        return str(error)
    if "task.md" not in names:
        return "it has no task.md"
    graders = [name for name in names if name.partition(".")[0] == "grader"]
    if not graders:
        return "it has no grader"
    if len(graders) > 1:
        return f"it has several graders: {', '.join(sorted(graders))}"
    return ""
