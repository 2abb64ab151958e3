"""The commands that show a stage as the policy plans it: its tools, its prompts, its reasoning."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from msgspec import structs

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.processes.system import SystemClock
from quintet.adapters.settings import layers as config
from quintet.adapters.settings import user_tools
from quintet.adapters.settings.gate_terms import make_terms
from quintet.app.open import looked_around
from quintet.app.prompts import PROMPTS, own_prompts
from quintet.app.tool_registry import BY_NAME
from quintet.cli.parsing import actions, dial_flags, make_parser, turned
from quintet.domain.base.errors import UsageError
from quintet.domain.base.wording import did_you_mean
from quintet.domain.dials import badge
from quintet.domain.dials.axes import INTERACTIVE, AxesChange
from quintet.domain.turn import stage_policy as policy
from quintet.domain.turn import surroundings
from quintet.domain.turn.stage_policy import (
    AGENTS_PAGE,
    SKILLS,
    SURROUNDINGS,
    TOOLSET_STATE,
    CallContext,
    Menu,
    Stage,
    StagePlan,
)
from quintet.domain.turn.tool_menu import MenuManager, Presentation, with_own
from quintet.domain.turn.tool_spec import ToolSpec
from quintet.engine.turn.prompts import NO_CALLS, PromptPart, Prompts
from quintet.surfaces.tables import say, say_json, say_table


def show_policy(arguments: Namespace, dials: AxesChange) -> int:
    places = locate(arguments.directory)
    plan, _ = _planned(arguments, dials, places, Prompts(PROMPTS))
    axes = dials.applied_to(INTERACTIVE)
    if arguments.json:
        say_json(
            {
                "stage": plan.stage,
                "axes": {name: getattr(axes, name) for name in axes.__struct_fields__},
                "tools": list(plan.tools),
                "prompts": list(plan.prompts),
                "reasoning": plan.reasoning,
            }
        )
        return 0
    rows = [
        ("stage", str(plan.stage)),
        ("axes", badge.full(axes)),
        ("reasoning", str(plan.reasoning)),
        ("prompts", " ".join(plan.prompts)),
        ("tools", f"{len(plan.tools)}: {' '.join(plan.tools)}" if plan.tools else "none"),
    ]
    say_table(rows)
    return 0


def show_prompts(arguments: Namespace, dials: AxesChange) -> int:
    """Exactly what would be sent, part by part."""
    places = locate(arguments.directory)
    prompts = own_prompts(places.root, config.load(places).trust)
    plan, written = _planned(arguments, dials, places, prompts)
    values = {"project_root": places.root, "user_input": arguments.input, "tool_summary": NO_CALLS}
    parts = prompts.parts(plan.prompts, values, written)
    if arguments.json:
        say_json([{"name": part.name, "source": part.source, "text": part.text} for part in parts])
        return 0
    for part in parts:
        say([f"── {part.name}  ({_source(part)}, {len(part.text)} characters)", part.text, ""])
    return 0


def _source(part: PromptPart) -> str:
    shipped = part.source.startswith(PROMPTS)
    return "shipped" if shipped else "written by Quintet" if part.source.startswith("@") else part.source


def _planned(
    arguments: Namespace, dials: AxesChange, places: Places, prompts: Prompts
) -> tuple[StagePlan, dict[str, str]]:
    loaded = config.load(places)
    tools: dict[str, ToolSpec] = {**BY_NAME, **user_tools.load(places, loaded.trust).specs}
    menu = Menu(
        Presentation(loaded.settings.tools.presentation),
        with_own({name: spec.toolset for name, spec in tools.items() if spec.toolset}),
    )
    if arguments.toolset and arguments.toolset not in menu.toolsets:
        raise UsageError(
            f'toolset "{arguments.toolset}": not one of {", ".join(menu.toolsets)}.'
            f"{did_you_mean(arguments.toolset, menu.toolsets)}"
        )
    context = CallContext(dials.applied_to(INTERACTIVE), arguments.toolset, stage=_stage(arguments.stage))
    plan = policy.plan_stage(context, tools, reasoning=arguments.reasoning, menu=menu)
    reach = policy.within_reach(context, tools)
    about = {name: spec.description for name, spec in tools.items() if name in reach}
    place = (
        "" if menu.presentation is Presentation.FLAT else MenuManager(about, arguments.toolset, menu.toolsets).list()
    )
    found = structs.replace(
        looked_around(places, loaded, arguments.directory, ProjectFiles(places.root)), date=SystemClock().now()[:10]
    )
    terms = make_terms(places, loaded.settings)
    contained = prompts.page(surroundings.CONTAINED[terms.sandbox]) + surroundings.also_opened(terms.places)
    return plan, {
        SURROUNDINGS: surroundings.told(found, context.axes, contained),
        AGENTS_PAGE: found.page,
        SKILLS: found.skills,
        TOOLSET_STATE: place,
    }


def _stage(word: str) -> Stage:
    try:
        return Stage(word)
    except ValueError:
        stages = [str(stage) for stage in Stage]
        raise UsageError(f'stage "{word}": not one of {", ".join(stages)}.{did_you_mean(word, stages)}') from None


def _flags(parser: ArgumentParser) -> None:
    dial_flags(parser)
    parser.add_argument("--toolset", default="", metavar="NAME", help="the active toolset (default: ROOT)")
    parser.add_argument("--reasoning", action="store_true", help="with visible reasoning")
    parser.add_argument("--json", action="store_true", help="as JSON")


def policy_command(arguments: list[str]) -> int:
    parser = make_parser("policy", "Show the plan for a stage: its tools, prompts and reasoning.")
    parser.add_argument("--stage", default="act", metavar="STAGE", help="warmup, act, tool_followup, delivery_check …")
    _flags(parser)
    parsed = parser.parse_args(arguments)
    return show_policy(parsed, turned(parsed))


def _prompts(arguments: list[str]) -> int:
    parser = make_parser("prompts show", "Show exactly what a model would get in a stage, part by part.")
    parser.add_argument("stage", help="warmup, act, tool_followup, micro_step, delivery_check or qa_review")
    parser.add_argument("--input", default="", metavar="TEXT", help="the user's input, for the parts that use it")
    _flags(parser)
    parsed = parser.parse_args(arguments)
    return show_prompts(parsed, turned(parsed))


PROMPTS_COMMAND = actions("prompts", {"show": _prompts})
