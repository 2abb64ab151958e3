"""The tool of a run that follows a workflow: the model's word that a step is done, and the way on."""

from __future__ import annotations

from quintet.domain.agents import workflow_progress as progress
from quintet.domain.base.errors import ToolFailed
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.tool_spec import ToolResult
from quintet.tools.declare import tool


@tool(effects=set())
async def finish_step(bench: Workbench, way: str = "", result: str = "") -> ToolResult:
    """Finish the step of the workflow you are at and go on to the next; its instructions come with the answer.

    :way: the name of the way on, where there are several
    :result: what the step came to, for the steps after it
    """
    place = bench.step
    if place is None or place.done:
        raise ToolFailed("no step is open: the workflow is complete")
    if not place.begun:
        raise ToolFailed("this step has not begun: you have finished one already, wait for the next instructions")
    move = progress.chosen(place, way, result)
    if move is None:
        raise ToolFailed(f'way "{way}": from {place.node.id} there are: {progress.named_ways(place)}')
    said = f"on to {move.target}" if move.target else "the last step is done"
    return ToolResult(f"{place.node.id} is finished, {said}.", summary=said, step=move)
