"""/mcp: the servers of this session, whether each runs, and what one has; and /SERVER:PROMPT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quintet.domain.base.errors import UsageError
from quintet.domain.base.json_schema import wanted
from quintet.domain.base.safe_text import brief, visible
from quintet.domain.base.text_table import table
from quintet.domain.base.wording import did_you_mean
from quintet.features.mcp.pool import McpPool
from quintet.features.mcp.values import OWN_SETTINGS, McpPrompt, prompt_usage

if TYPE_CHECKING:
    from quintet.app.services import Opening

MOST_PROMPT = 100_000  # characters
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
        raise UsageError(
            f"{found.name} is not running yet, and is configured in {found.origin}: quintet mcp tools {found.name}"
        )
    offer = await pool.offer(words[0])
    tools = [(one.name, brief(wanted(one.schema)), brief(one.description)) for one in offer.tools]
    resources = [f"{len(offer.resources)} resources"] if offer.resources else []
    head = f"{words[0]}: {offer.about}"
    prompts = [f"{prompt_usage(words[0], one)}  {brief(one.description)}".rstrip() for one in offer.prompts]
    listed = table(tools, heading=("TOOL", "TAKES", "WHAT IT DOES"))
    return visible("\n".join([head, *listed, *resources, *prompts]))


async def prompt(opening: Opening, name: str, words: tuple[str, ...]) -> str:
    """What a turn begins with: a prompt of a server's, filled in, and whose words they are."""
    pool: McpPool = opening.services["mcp"]
    server, _, wanted = name.partition(":")
    servers = [one for one in pool.listed()[0] if not one.problem]
    found = next((one for one in servers if one.name.lower() == server), None)
    if found is None:
        raise UsageError(f"there is no MCP server {server}.{did_you_mean(server, [one.name for one in servers])}")
    if found.origin != OWN_SETTINGS and not pool.runs(found.name):
        raise UsageError(
            f"{found.name} is not running yet, and is configured in {found.origin}: quintet mcp tools {found.name}"
        )
    prompts = await pool.prompts(found.name)
    chosen = next((one for one in prompts if one.name.lower() == wanted), None)
    if chosen is None:
        names = [one.name for one in prompts]
        there = f" It has: {', '.join(names)}." if names else " It has none."
        raise UsageError(f"{found.name} has no prompt {wanted}.{did_you_mean(wanted, names) or there}")
    answer = await pool.prompt(found.name, chosen.name, _filled(found.name, chosen, words))
    pieces = [part.text or f"({part.mime or 'data'}, {len(part.data)} bytes, left out)" for part in answer.parts]
    said = "\n\n".join(pieces)[:MOST_PROMPT]
    return f"The prompt {chosen.name} of MCP server {found.name}, in its words:\n\n{said}"


def _filled(server: str, prompt: McpPrompt, words: tuple[str, ...]) -> dict[str, str]:
    """The arguments by name, as in `city=Oslo`, or in their order."""
    given: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in prompt.arguments:
            given[name] = value
        elif left := [one for one in prompt.arguments if one not in given]:
            given[left[0]] = word
        else:
            raise UsageError(f"too many words: {prompt_usage(server, prompt)}")
    if missing := [one for one in prompt.required if one not in given]:
        raise UsageError(f"{', '.join(missing)} missing: {prompt_usage(server, prompt)}")
    return given
