"""Puts the MCP servers of a project together."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from quintet.adapters.config import Loaded
from quintet.adapters.mcp_client.server_pool import McpPool
from quintet.adapters.places import Places, cache_folder
from quintet.adapters.sandbox.ground import Containment
from quintet.domain.mcp_port import McpServer


def make_mcp(
    places: Places,
    loaded: Loaded,
    containment: Containment,
    learn: Callable[[Mapping[str, str]], None] = lambda named: None,
) -> McpPool:
    def listing() -> tuple[list[McpServer], list[str]]:
        from quintet.adapters.mcp_client.server_files import servers

        return servers(places.root, loaded.settings.mcp.servers, loaded.trusted, os.environ)

    return McpPool(
        listing,
        containment,
        places.root,
        os.path.join(cache_folder(), "mcp"),
        learn,
    )
