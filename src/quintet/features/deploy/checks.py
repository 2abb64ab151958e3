"""For the doctor: targets whose programs are not here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import structs

from quintet.adapters.shell_grammar.programs import missing_programs
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity
from quintet.features.deploy.settings import DeploySettings

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup

DEPLOY_UNUSABLE = FindingKind(
    "DEPLOY_UNUSABLE",
    Severity.WARNING,
    HealthScope.USER,
    "A line of `[deploy.NAME]` names a program that is not on PATH.",
    "Install the program, or correct the line in the settings.",
)
KINDS = (DEPLOY_UNUSABLE,)


def targets_can_be_reached(checkup: Checkup) -> Iterator[Finding]:
    for name, target in checkup.settings.named("deploy", DeploySettings).items():
        for key, line in structs.asdict(target).items():
            if isinstance(line, str) and line and (missing := missing_programs(line, checkup.places.root)):
                problem = f"deploy.{name}.{key}: {', '.join(missing)} is not installed"
                yield DEPLOY_UNUSABLE.of(name, problem)
