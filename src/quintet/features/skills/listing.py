"""Skills as tables and as values, for every surface."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from quintet.domain.base.safe_text import on_one_line, visible
from quintet.domain.base.text_table import table
from quintet.features.skills.contents import SkillContents, look
from quintet.features.skills.skill import MUTATES, Skill

HEADING = ("SKILL", "USED BY", "FROM", "DESCRIPTION")
MOST_DESCRIPTION = 72
NONE = "no skills: `quintet skills new NAME` writes one"


def used_by(skill: Skill) -> str:
    if skill.problem:
        return "nobody"
    return " and ".join([*(["you"] if skill.by_user else []), *(["model"] if skill.by_model else [])]) or "nobody"


def rows(skills: Iterable[Skill]) -> list[tuple[str, str, str, str]]:
    return [(one.name, used_by(one), one.origin, _short(one.problem or one.description)) for one in skills]


def listed(skills: Iterable[Skill], room: int = 0) -> list[str]:
    found = rows(skills)
    return table(found, heading=HEADING) if found else [NONE]


def _short(text: str) -> str:
    line = on_one_line(text)
    return line if len(line) <= MOST_DESCRIPTION else f"{line[: MOST_DESCRIPTION - 1]}…"


def as_value(skill: Skill) -> dict[str, Any]:
    return {
        "name": skill.name,
        "description": skill.description,
        "from": skill.origin,
        "kind": skill.kind,
        "file": skill.file,
        "by_user": skill.by_user,
        "by_model": skill.by_model,
        "problem": skill.problem,
        "notes": skill.notes,
    }


def whole_value(skill: Skill, body: str) -> dict[str, Any]:
    contents = look(skill.folder) if skill.folder else SkillContents()
    narrowing = skill.narrowing
    return as_value(skill) | {
        "license": skill.facts.license,
        "compatibility": skill.facts.compatibility,
        "metadata": skill.facts.metadata,
        "side_effects": skill.side_effects,
        "permission_profile": skill.profile,
        "allowed_tools": skill.allowed_tools,
        "tools_here": narrowing.tools,
        "unknown_keys": skill.unknown,
        "files": contents.files,
        "checklist": contents.items,
        "schemas": sorted(contents.schemas),
        "servers": sorted(contents.servers),
        "evals": contents.evals,
        "body": body,
    }


def page(skill: Skill, body: str) -> list[str]:
    """A skill for a person to read."""
    contents = look(skill.folder) if skill.folder else SkillContents()
    facts = [
        ("description", skill.description),
        ("use", f"{skill.usage}  (by {used_by(skill)})"),
        ("problem", skill.problem),
        ("side effects", skill.side_effects + (": only you can start it" if skill.side_effects == MUTATES else "")),
        ("profile", f"{skill.profile} or above" if skill.profile else ""),
        ("tools", ", ".join(skill.allowed_tools) if skill.allowed_tools is not None else ""),
        ("license", skill.facts.license),
        ("needs", skill.facts.compatibility),
        ("files", ", ".join(contents.files)),
        ("must show", "; ".join(contents.items)),
        ("schemas", ", ".join(sorted(contents.schemas))),
        ("MCP servers", ", ".join(sorted(contents.servers))),
        ("evals", f"{contents.evals} cases: quintet skills eval {skill.name}" if contents.evals else ""),
        ("notes", "; ".join(skill.notes)),
        ("from", os.path.dirname(skill.file) if skill.folder else skill.file),
    ]
    lines = [visible(skill.name), ""]
    lines += [visible(f"{name:<13} {value}") for name, value in facts if value]
    return [*lines, "", *(visible(line) for line in body.splitlines())]
