"""/mcp: the servers of this session, whether each runs, and what one has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quintet.domain.base.errors import UsageError
from quintet.domain.base.json_schema import wanted
from quintet.domain.base.safe_text import brief, visible
from quintet.domain.base.text_table import table
from quintet.features.mcp.pool import McpPool
from quintet.features.mcp.values import OWN_SETTINGS

if TYPE_CHECKING:
    from quintet.app.services import Opening

NONE_YET = 'no MCP servers yet: add one to your settings, [mcp.servers.NAME] with command = "…" or url = "…"'


async def mcp(opening: Opening, words: tuple[str, ...]) -> str:
    pool: McpPool = opening.services["mcp"]
    servers, notes = pool.listed()
    if len(words) > 1:
        raise UsageError("[SERVER]: one server, to see its tools")
    if not words:
        rows = [(one.name, one.transport, one.problem or pool.state(one.name), one.origin) for one in servers]
        shown = table(rows, heading=("SERVER", "BY", "STATE", "FROM")) if rows else [NONE_YET]
        return visible("\n".join([*shown, *notes, *(["/mcp SERVER shows its tools"] if rows else [])]))
    found = next((one for one in servers if one.name == words[0]), None)
    if found and found.origin != OWN_SETTINGS and not pool.runs(found.name):
        # A server that a project brought is started by a call that was approved, or by the user's own hand outside.
        raise UsageError(f"{found.name} does not run yet, and {found.origin} names it: quintet mcp tools {found.name}")
    offer = await pool.offer(words[0])
    tools = [(one.name, brief(wanted(one.schema)), brief(one.description)) for one in offer.tools]
    resources = [f"{len(offer.resources)} resources"] if offer.resources else []
    head = f"{words[0]}: {offer.about}"
    return visible("\n".join([head, *table(tools, heading=("TOOL", "TAKES", "WHAT IT DOES")), *resources]))
