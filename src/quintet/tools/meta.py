"""The six meta-tools, and request_tools: the model's navigation, its notes, its word to the user, and its end.

finish_step is the tool of a run that follows a workflow.
"""

from __future__ import annotations

from typing import Literal

from quintet.domain.agents import workflow_progress as progress
from quintet.domain.base.errors import ToolFailed
from quintet.domain.ports.offers import SKILLS, SkillFinder
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn import swe_phases
from quintet.domain.turn.tool_spec import ToolResult
from quintet.tools.declare import tool

MOST_SKILLS = 5  # that one search names


@tool(effects=set())
async def menu_list(bench: Workbench) -> ToolResult:
    """Show where you are in the tool menu and which toolsets there are."""
    return ToolResult(bench.turn.menu.list(), summary=bench.turn.menu.toolset or "ROOT")


@tool(effects=set(), wire={"toolset": "mode"})
async def menu_enter(bench: Workbench, toolset: str) -> ToolResult:
    """Enter a toolset; its tools are there from your next step on. You may go straight from one to another.

    :mode: name of the toolset, for example swe
    """
    text = bench.turn.menu.enter(toolset)
    return ToolResult(text, summary=toolset, toolset=toolset)


@tool(effects=set())
async def menu_exit(bench: Workbench) -> ToolResult:
    """Leave the toolset you are in and go back to ROOT."""
    text = bench.turn.menu.exit()
    return ToolResult(text, summary="ROOT", toolset="")


@tool(effects=set())
async def complete(bench: Workbench, final_answer: str, status: Literal["done", "blocked"] = "done") -> ToolResult:
    """End the task with your final answer for the user.

    :final_answer: what you did and what shows it, or what you could not do
    :status: done, or blocked if you could not continue
    """
    phase = swe_phases.finish(bench.turn.swe) if status == "done" else None
    return ToolResult("the task ends here", summary=status, ends=status, answer=final_answer, phase=phase)


@tool(effects=set())
async def think(bench: Workbench, content: str) -> ToolResult:
    """Write down a thought. It has no effect.

    :content: the thought
    """
    return ToolResult("noted", summary=f"{len(content)} characters")


@tool(effects=set())
async def message_user(
    bench: Workbench, message: str, block_on_user: bool = False, attachments: tuple[str, ...] = ()
) -> ToolResult:
    """Tell the user something while you work, or ask and wait for the answer.

    :message: what to say
    :block_on_user: wait for the user's answer; only in an interactive run that is not autonomous
    :attachments: paths of files the message is about
    """
    named = f"\n{', '.join(attachments)}" if attachments else ""
    if not block_on_user:
        return ToolResult("said", summary="said", message=message + named)
    if bench.turn.may_wait:
        return ToolResult("the user will answer", summary="asked", ends="done", answer=message + named)
    return ToolResult(
        ("nobody will answer: continue with what you can find out yourself, or call complete with status blocked"),
        summary="nobody to ask",
        message=message + named,
    )


@tool(effects=set())
async def request_tools(
    bench: Workbench, category: str = "", tool_names: tuple[str, ...] = (), list_categories: bool = False
) -> ToolResult:
    """Find a tool by words and go straight to its toolset.

    :category: a toolset to enter, if you know it
    :tool_names: names of tools, or words for what you want to do
    :list_categories: only list the toolsets
    """
    if list_categories or not (category or tool_names):
        return ToolResult(bench.turn.menu.list(), summary=bench.turn.menu.toolset or "ROOT")
    if category:
        return ToolResult(bench.turn.menu.enter(category), summary=category, toolset=category)
    found = bench.turn.menu.find(tool_names)
    skills = _skills(bench, tool_names)
    unknown = () if found[:1] and found[0] in tool_names else bench.turn.menu.unknown(tool_names)
    if unknown:
        near = f" Nearest: {', '.join(found[:5])}." if found else f"\n{bench.turn.menu.list()}"
        raise ToolFailed(f"there is no tool {', '.join(unknown)}.{near}")
    if not found and skills:
        return ToolResult(f"no tool matches {' '.join(tool_names)}.{skills}", summary="skills")
    if not found:
        raise ToolFailed(f"no tool matches {' '.join(tool_names)}.\n{bench.turn.menu.list()}")
    toolset = bench.turn.menu.home(found[0])
    others = f" Also: {', '.join(found[1:5])}." if found[1:] else ""
    return ToolResult(
        f"{found[0]} matches.{others}{skills}\n{bench.turn.menu.enter(toolset)}", summary=toolset, toolset=toolset
    )


def _skills(bench: Workbench, words: tuple[str, ...]) -> str:
    """The skills that match, where there are any."""
    finder: SkillFinder | None = bench.services.get(SKILLS)
    names = finder.matching(words)[:MOST_SKILLS] if finder else ()
    return f"\nSkills that match, for use_skill in toolset assist: {', '.join(names)}." if names else ""


@tool(effects=set())
async def finish_step(bench: Workbench, way: str = "", result: str = "") -> ToolResult:
    """Finish the step of the workflow you are at and go on to the next; its instructions come with the answer.

    :way: the name of the way on, where there are several
    :result: what the step came to, for the steps after it
    """
    place = bench.turn.step
    if place is None or place.done:
        raise ToolFailed("no step is open: the workflow is complete")
    if not place.begun:
        raise ToolFailed("this step has not started: you have already finished one, wait for the next instructions")
    move = progress.chosen(place, way, result)
    if move is None:
        raise ToolFailed(f'way "{way}": the ways from {place.node.id} are: {progress.named_ways(place)}')
    said = f"next: {move.target}" if move.target else "the last step is done"
    return ToolResult(f"{place.node.id} is finished, {said}.", summary=said, step=move)
