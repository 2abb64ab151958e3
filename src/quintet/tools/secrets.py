"""list_secrets: the names of what is kept back, never a value."""

from __future__ import annotations

from quintet.domain.base.errors import ToolFailed
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.tool_spec import ToolResult
from quintet.tools.declare import counted, tool


@tool(effects=set())
async def list_secrets(bench: Workbench) -> ToolResult:
    """List the secrets there are by name, with where each is from and which commands get it in their environment."""
    if bench.secrets is None:
        raise ToolFailed("no secrets are kept here")
    found = bench.secrets.names()
    if not found:
        return ToolResult("there are no secrets here", summary="none")
    lines = [f"{one.name}  from {one.source}{_given(one.exposed)}" for one in found]
    lines.append("Values are never shown. A command that gets one finds it in its environment under this name.")
    return ToolResult("\n".join(lines), summary=counted(len(found), "name"))


def _given(commands: tuple[str, ...]) -> str:
    return f"  given to: {', '.join(commands)}" if commands else "  given to no command"
