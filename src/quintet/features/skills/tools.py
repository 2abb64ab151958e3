"""use_skill, find_skills, check_skill_result: a model's way to what is known about a kind of work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quintet.domain.base.errors import QuintetError, ToolFailed
from quintet.domain.permission.effects import Effect
from quintet.domain.ports.offers import SKILLS
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.tool_menu import ASSIST
from quintet.domain.turn.tool_spec import ToolResult, Touch
from quintet.features.skills.contents import OUTPUT, look
from quintet.tools.declare import tool

if TYPE_CHECKING:
    from quintet.features.skills.service import Skills

MOST_FOUND = 12


def _use(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.READ}), server=str(arguments["name"]).removeprefix("/"))


def _nothing(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset())


@tool(effects={Effect.READ}, touch=_use, toolset=ASSIST.name, service=SKILLS)
async def use_skill(bench: Workbench, name: str, arguments: str = "") -> ToolResult:
    """Read a skill and work by it from here on: its instructions, where its files are, and what it has to show.

    :name: name of the skill, as the list of skills has it
    :arguments: what is said to the skill; JSON if it has an input schema
    """
    skills: Skills = bench.service(SKILLS)
    loaded = skills.for_model(name, arguments)
    return ToolResult(loaded.text, summary=loaded.use.name, skill=loaded.use)


@tool(effects=set(), touch=_nothing, toolset=ASSIST.name, service=SKILLS)
async def find_skills(bench: Workbench, words: str) -> ToolResult:
    """Find skills by words, with what each is for.

    :words: what the work is about
    """
    skills: Skills = bench.service(SKILLS)
    found = skills.matching([words])
    if not found:
        return ToolResult(f"no skill matches {words}", summary="none")
    more = f"\n{len(found) - MOST_FOUND} more match: use other words" if len(found) > MOST_FOUND else ""
    listed = "\n".join(f"- {line}" for line in found[:MOST_FOUND])
    return ToolResult(f"{listed}{more}", summary=f"{len(found)} found")


@tool(effects=set(), touch=_nothing, toolset=ASSIST.name, service=SKILLS)
async def check_skill_result(bench: Workbench, name: str, result: dict[str, Any]) -> ToolResult:
    """Test a result by the output schema of a skill, before you hand it over.

    :name: name of the skill
    :result: the result, an object
    """
    skills: Skills = bench.service(SKILLS)
    try:
        skill = skills.shelf.find(name)
    except QuintetError as error:
        raise ToolFailed(error.message) from None
    contents = look(skill.folder) if skill.folder else None
    if contents is None or OUTPUT not in contents.schemas:
        raise ToolFailed(f"{name} has no schemas/{OUTPUT}.json")
    if flaw := contents.output_flaw(result):
        raise ToolFailed(f"the result does not fit schemas/{OUTPUT}.json: {flaw}")
    return ToolResult("the result fits", summary="fits")
