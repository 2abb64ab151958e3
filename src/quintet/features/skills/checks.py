"""For the doctor: skills that cannot be used, and names that a command hides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from quintet.domain.base.safe_text import on_one_line
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity
from quintet.engine.commands.table import known
from quintet.features.skills.shelf import BUILT_IN
from quintet.features.skills.wiring import make_shelf

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup

_ON_PURPOSE = ("turned off", "another one has its name", "this folder is not trusted", "new or changed")


SKILL_UNUSABLE = FindingKind(
    "SKILL_UNUSABLE",
    Severity.WARNING,
    HealthScope.PROJECT,
    "A skill has a page that cannot be read, or something it needs is missing.",
    "quintet skills check",
)
SKILL_NAME_TAKEN = FindingKind(
    "SKILL_NAME_TAKEN",
    Severity.WARNING,
    HealthScope.PROJECT,
    "A skill has the name of a command.",
    "Use /skill:NAME, or rename it.",
)
KINDS = (SKILL_UNUSABLE, SKILL_NAME_TAKEN)


def skills_can_be_used(checkup: Checkup) -> Iterator[Finding]:
    for skill in make_shelf(checkup.places, checkup.loaded).listed():
        if skill.origin == BUILT_IN:
            continue
        subject = on_one_line(skill.file)
        if skill.problem and not skill.problem.startswith(_ON_PURPOSE):
            yield SKILL_UNUSABLE.of(subject, f"skill {skill.name}: {skill.problem}")
        elif skill.by_user and known(skill.name.lower()):
            problem = f"/{skill.name} is a command of Quintet's own, so the skill is not used by that name"
            yield SKILL_NAME_TAKEN.of(subject, problem, f"Use /skill:{skill.name}, or rename it.")
