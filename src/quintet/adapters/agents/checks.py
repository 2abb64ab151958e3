"""For the doctor: agents that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from quintet.adapters.agents.catalogue import all_agents
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup

AGENT_MALFORMED = FindingKind(
    "AGENT_MALFORMED",
    Severity.WARNING,
    HealthScope.PROJECT,
    "A file of an agent has a mistake, or two agents have one name.",
    "Correct the file: quintet agents check",
)
KINDS = (AGENT_MALFORMED,)


def agents_can_be_used(checkup: Checkup) -> Iterator[Finding]:
    """Only a thorough look reads every file of every agent."""
    for problem in all_agents(checkup.places).problems if checkup.thorough else ():
        if not problem.noted:
            yield AGENT_MALFORMED.of(on_one_line(problem.file), on_one_line(str(problem)))
