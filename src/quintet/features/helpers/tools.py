"""The tool that starts helpers."""

from __future__ import annotations

from typing import Any

from quintet.domain.permission.effects import Effect
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.tool_spec import ToolResult, Touch
from quintet.features.helpers.values import HelperTask
from quintet.tools.declare import tool

CUT_SHORT = (
    "interrupted. The helpers' work is kept: call run_helpers again with the same helpers to continue. One that has "
    "finished is not run again."
)
WRITES = frozenset({Effect.READ, Effect.EDIT})


def _begins(arguments: dict[str, Any]) -> Touch:
    """Each call of a helper's is judged by itself; here it is whether one may write at all, on a branch of ours."""
    if any(one.writes for one in arguments["helpers"]):
        return Touch(WRITES, why="a helper that writes, on a branch of its own")
    return Touch(frozenset({Effect.READ}))


@tool(
    effects=WRITES,
    touch=_begins,
    toolset="assist",
    asks=True,
    pauses=True,
    steps=True,
    cut_short=CUT_SHORT,
)
async def run_helpers(bench: Workbench, helpers: tuple[HelperTask, ...]) -> ToolResult:
    """Start helpers, several at once, and wait for their reports. Each is an agent with its own conversation. Use them
    for work that can be divided: to explore parts of a repository, to have a change reviewed, to run tests meanwhile.

    :helpers: the helpers to start: the role and the task of each
    """
    result: ToolResult = await bench.service("helpers").run(bench, helpers)
    return result
