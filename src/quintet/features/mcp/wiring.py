"""Puts the MCP servers of a project together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from quintet.adapters.files.paths import Places, cache_folder, own_paths, state_folder
from quintet.adapters.processes.python_environment import package_part
from quintet.adapters.sandbox.containment import Containment
from quintet.adapters.secrets.vault import Vault
from quintet.adapters.settings.gate_terms import make_terms
from quintet.adapters.settings.layers import LoadedSettings
from quintet.adapters.settings.trust import trust_of
from quintet.adapters.shell_grammar.programs import is_here
from quintet.domain.permission.exposure import given_to, may_be_secret
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity
from quintet.domain.turn.tool_spec import MachinePart
from quintet.features.mcp.logins import Logins
from quintet.features.mcp.pool import PART, McpPool
from quintet.features.mcp.server_files import OFF, servers, servers_of_skill
from quintet.features.mcp.settings import McpSettings
from quintet.features.mcp.values import McpServer

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup
    from quintet.app.machine_parts import PartSources
    from quintet.app.services import Opening


def make_mcp(
    places: Places,
    loaded: LoadedSettings,
    containment: Containment,
    learn: Callable[[Mapping[str, str]], None] = lambda named: None,
    redacted: Callable[[str], str] = str,
) -> McpPool:
    return McpPool(
        lambda: _listed(places, loaded, redacted),
        containment,
        places.root,
        os.path.join(cache_folder(), "mcp"),
        learn,
        kept=os.path.join(state_folder(), "mcp"),
        private=own_paths(places),
        patterns=loaded.settings.secrets.patterns,
        logins=Logins(places),
        places=make_terms(places, loaded.settings).places,
        of_skill=lambda origin, folder, given: servers_of_skill(
            origin,
            folder,
            given,
            os.environ,
            lambda server, variable: _refuses(loaded, redacted, server, variable),
            places.root,
            own_paths(places),
        ),
    )


def _listed(
    places: Places, loaded: LoadedSettings, redacted: Callable[[str], str]
) -> tuple[list[McpServer], list[str]]:
    return servers(
        places.root,
        loaded.settings.table("mcp", McpSettings).servers,
        trust_of(places.trust_file, places.root),  # as it is now: a yes may come, or be taken back, meanwhile
        os.environ,
        theirs=_brought(loaded, places),
        refuses=lambda server, variable: _refuses(loaded, redacted, server, variable),
        private=own_paths(places),
    )


def open_servers(opening: Opening) -> McpPool:
    vault = opening.vault
    return make_mcp(opening.places, opening.loaded, opening.containment, vault.learn_from, vault.text)


def _brought(loaded: LoadedSettings, places: Places) -> frozenset[str]:
    """The servers that the project's settings name, in whole or in part."""
    named = [key.split(".")[2] for key, (_, source) in loaded.values.items() if _is_of(key, source, places)]
    return frozenset(named)


def _is_of(key: str, source: str, places: Places) -> bool:
    return key.startswith("mcp.servers.") and places.project_settings in source


def _refuses(loaded: LoadedSettings, redacted: Callable[[str], str], server: str, variable: str) -> str:
    """Why a server of the project does not get a variable of the user's; empty if it does."""
    if given_to(server, variable, loaded.settings.table("mcp", McpSettings).variables):
        return ""
    value = os.environ.get(variable, "")
    if may_be_secret(variable, loaded.settings.secrets.patterns) or _hides(value, redacted):
        return (
            f"it asks for {variable}, which may be a secret; a server of a project gets it only if your "
            f'settings have [mcp] variables = ["{server}: {variable}"]'
        )
    return ""


def _hides(value: str, redacted: Callable[[str], str]) -> bool:
    """Whether a value is or holds a known secret, or an address with a password."""
    return bool(value) and (redacted(value) != value or "@" in value.partition("://")[2])


MCP_SERVER_UNUSABLE = FindingKind(
    "MCP_SERVER_UNUSABLE",
    Severity.WARNING,
    HealthScope.PROJECT,
    "An MCP server is configured and cannot start.",
    "`quintet mcp doctor` starts each and shows the result; `quintet mcp list` shows where each is configured.",
)
KINDS = (MCP_SERVER_UNUSABLE,)


def servers_can_start(checkup: Checkup) -> Iterator[Finding]:
    """For the doctor: what is wrong with servers as far as it shows without starting one."""
    places, loaded = checkup.places, checkup.loaded
    found, _ = _listed(places, loaded, lambda text: Vault(places, loaded.settings).text(text))
    wanted = [server for server in found if server.problem != OFF]
    for server in wanted:
        program = server.command[0] if server.command else ""
        missing = f"program {program} not found" if program and not is_here(program, places.root) else ""
        if problem := server.problem or missing:
            yield _unusable(server.name, f"MCP server {server.name} ({server.origin}): {problem}")
    if wanted and not (part := mcp_package()).ready:
        yield _unusable("mcp", part.missing)


def _unusable(subject: str, problem: str) -> Finding:
    return MCP_SERVER_UNUSABLE.of(subject, problem)


def mcp_package(around: PartSources | None = None) -> MachinePart:
    """What MCP needs of the machine."""
    return package_part("mcp", "mcp", PART)
