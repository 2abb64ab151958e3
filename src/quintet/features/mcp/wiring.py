"""Puts the MCP servers of a project together."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from quintet.adapters.files.paths import Places, cache_folder
from quintet.adapters.sandbox.containment import Containment
from quintet.adapters.settings.layers import LoadedSettings
from quintet.adapters.settings.trust import trust_of
from quintet.domain.permission.exposure import given_to, may_be_secret
from quintet.features.mcp.pool import McpPool
from quintet.features.mcp.server_files import servers
from quintet.features.mcp.settings import McpSettings
from quintet.features.mcp.values import McpServer

if TYPE_CHECKING:
    from quintet.app.services import Opening


def make_mcp(
    places: Places,
    loaded: LoadedSettings,
    containment: Containment,
    learn: Callable[[Mapping[str, str]], None] = lambda named: None,
    redacted: Callable[[str], str] = str,
) -> McpPool:
    def listing() -> tuple[list[McpServer], list[str]]:
        return servers(
            places.root,
            loaded.settings.table("mcp", McpSettings).servers,
            trust_of(places.trust_file, places.root),  # as it is now: a yes may come, or be taken back, meanwhile
            os.environ,
            theirs=_brought(loaded, places),
            refuses=lambda server, variable: _refuses(loaded, redacted, server, variable),
        )

    return McpPool(
        listing,
        containment,
        places.root,
        os.path.join(cache_folder(), "mcp"),
        learn,
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
            f"it wants {variable}, which may be a secret; a server of a project gets it only if your own settings say "
            f'[mcp] variables = ["{server}: {variable}"]'
        )
    return ""


def _hides(value: str, redacted: Callable[[str], str]) -> bool:
    """Whether a value is or holds a known secret, or an address with a password."""
    return bool(value) and (redacted(value) != value or "@" in value.partition("://")[2])
