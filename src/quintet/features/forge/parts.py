"""What the forge's tools need of the machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from quintet.app.machine_parts import PartSources
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity
from quintet.domain.turn.tool_spec import MachinePart
from quintet.features.forge.settings import ForgeSettings
from quintet.features.forge.token import MISSING, find_token

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup


def token(around: PartSources) -> MachinePart:
    _, where = find_token(around.settings.table("forge", ForgeSettings), os.environ)
    return MachinePart("forge token", bool(where), where, "" if where else MISSING)


FORGE_TOKEN_MISSING = FindingKind(
    "FORGE_TOKEN_MISSING",
    Severity.WARNING,
    HealthScope.MACHINE,
    "`forge.token_env` names a variable that is not set.",
    "Export it, or store it: quintet secrets set NAME",
)
KINDS = (FORGE_TOKEN_MISSING,)


def named_token_is_set(checkup: Checkup) -> Iterator[Finding]:
    """For the doctor: the variable that the settings name for the token has one."""
    name = checkup.settings.table("forge", ForgeSettings).token_env
    if name and not os.environ.get(name, "").strip():
        problem = f"forge.token_env names {name}, which is not set: pull requests cannot be read or made"
        advice = f"export {name}=… with the token, or remove forge.token_env from the settings."
        yield FORGE_TOKEN_MISSING.of(name, problem, advice)
