"""What MCP needs of the machine."""

from __future__ import annotations

from quintet.adapters.processes.python_environment import package_part
from quintet.app.machine_parts import PartSources
from quintet.domain.turn.tool_spec import MachinePart


def mcp(around: PartSources) -> MachinePart:
    return package_part("mcp", "mcp", "mcp>=2")
