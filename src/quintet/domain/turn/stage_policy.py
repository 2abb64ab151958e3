"""The policy owner: for one stage of a turn, which tools, which prompts, which reasoning. Pure; decided only here.

A stage may narrow the tools; nothing here, and nothing that works by it, can turn a dial or switch reasoning. The tools
of a plan are what a model is shown and what it may call. `CallContext` is all that this policy, the gate and a tool
know of the conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from enum import StrEnum

from msgspec import Struct, field

from quintet.domain.agents.workflow_progress import WorkflowProgress
from quintet.domain.dials.axes import Axes, WorkMode
from quintet.domain.permission import gate
from quintet.domain.permission.effects import READING
from quintet.domain.permission.rules import Rule
from quintet.domain.skills.use import SkillUse
from quintet.domain.turn import swe_phases
from quintet.domain.turn.swe_phases import PhaseState
from quintet.domain.turn.todos import Todo
from quintet.domain.turn.tool_menu import FINISH_STEP, META_TOOLS, TOOL_MODES, Presentation, ToolMode, visible_tools
from quintet.domain.turn.tool_spec import ToolSpec


class Stage(StrEnum):
    """A place in a turn."""

    WARMUP = "warmup"
    ACT = "act"
    TOOL_FOLLOWUP = "tool_followup"
    MICRO_STEP = "micro_step"  # a section of the follow-up's request, not a request of its own
    DELIVERY_CHECK = "delivery_check"
    QA_REVIEW = "qa_review"
    VERIFICATION = "verification"  # of a task of a cycle


class CallContext(Struct, frozen=True):
    axes: Axes
    toolset: str = ""  # the place in the tool menu; empty at ROOT
    todos: Mapping[str, Todo] = field(default_factory=dict)
    swe: PhaseState | None = None  # None while the SWE phases are off
    stage: Stage = Stage.ACT
    report: str = ""  # the kind of report this turn ends with; empty: none
    allowed: frozenset[str] | None = None  # the tools an agent keeps to; None: all
    known: Set[str] | None = frozenset()  # addresses that the model was given; None: all, for the user says them
    step: WorkflowProgress | None = None  # how far the turn's run has come in its workflow; None: it follows none
    rules: tuple[Rule, ...] = ()  # those of the session
    read_only: str = ""  # why nothing may be changed now; empty: it may
    skills: tuple[SkillUse, ...] = ()  # that the turn works by


class Reasoning(StrEnum):
    """The form visible reasoning has to take."""

    NONE = "none"
    MACRO = "macro"  # the whole plan, once a turn
    MICRO = "micro"  # a few lines between steps


class Menu(Struct, frozen=True):
    """How tools are put before a model."""

    presentation: Presentation = Presentation.MENU
    toolsets: Mapping[str, ToolMode] = field(default_factory=lambda: TOOL_MODES)


class StagePlan(Struct, frozen=True):
    stage: Stage
    tools: tuple[str, ...]  # what may be called
    prompts: tuple[str, ...]  # parts of what the model is told, in their order
    reasoning: Reasoning

    @property
    def head(self) -> tuple[str, ...]:
        """The parts of the system message: the same in every stage, so that a provider's cache holds."""
        return tuple(part for part in self.prompts if part not in SAID_LAST)

    @property
    def last(self) -> tuple[str, ...]:
        """The parts that are said in the last message of the request, and in no other request."""
        return tuple(part for part in self.prompts if part in SAID_LAST)


# Parts that are no files.
SURROUNDINGS, AGENTS_PAGE, PERSONA, MEMORY = "@surroundings", "@agents", "@persona", "@memory"
SKILLS = "@skills"
TOOLSET_STATE = "@toolset"
WORKFLOW_STATE = "@workflow"
TOOLLESS = frozenset({Stage.WARMUP, Stage.DELIVERY_CHECK})
READING_STAGES = frozenset({Stage.QA_REVIEW, Stage.VERIFICATION})
NEEDED_TO_LOOK = frozenset({"Read", "grep", "glob"})
# What a stage that only reads has: reading, searching and listing what is there.
LOOKING = frozenset(
    {
        *("Read", "grep", "glob", "lsp_tool", "fs_read_file", "fs_list_directory", "fs_file_info"),
        *("git_status", "git_diff", "git_diff_staged", "git_diff_unstaged", "git_log", "git_show", "git_branch_list"),
    }
)
STAGE_PAGES: dict[Stage, tuple[str, ...]] = {
    Stage.WARMUP: ("stages/warmup.md",),
    Stage.ACT: (),
    Stage.TOOL_FOLLOWUP: (),
    Stage.MICRO_STEP: (),
    Stage.DELIVERY_CHECK: ("agent/delivery_gate.md",),
    Stage.QA_REVIEW: ("qa/system.md", "qa/report_schema.md"),
    Stage.VERIFICATION: ("stages/verification.md",),
}
REASONING_PAGES = {Reasoning.MACRO: "agent/reasoning_macro.md", Reasoning.MICRO: "agent/reasoning_micro.md"}


_REASONS = frozenset({*REASONING_PAGES.values(), "qa/review_micro_reasoning.md"})
SAID_LAST = _REASONS | {WORKFLOW_STATE} | {page for pages in STAGE_PAGES.values() for page in pages}


def is_agent(axes: Axes) -> bool:
    """The user mode is derived: chat is Chat, all else is Agent."""
    return axes.work_mode is not WorkMode.CHAT


def reasoning_of(axes: Axes, stage: Stage, enabled: bool) -> Reasoning:
    if not enabled or not is_agent(axes):
        return Reasoning.NONE
    return Reasoning.MACRO if stage is Stage.WARMUP else Reasoning.MICRO


def plan_stage(
    context: CallContext, tools: Mapping[str, ToolSpec], *, reasoning: bool = False, menu: Menu | None = None
) -> StagePlan:
    """What holds in a stage, for a conversation that stands here."""
    kind = reasoning_of(context.axes, context.stage, reasoning)
    return StagePlan(context.stage, visible(context, tools, menu or Menu()), _prompts(context, kind), kind)


def broken_invariant(plan: StagePlan, axes: Axes, reasoning: bool, callable_tools: int, prompts: Iterable[str]) -> str:
    """What a request would violate: the user's mode, the user's reasoning, the policy's tools. Empty if nothing.

    `callable_tools` is how many of the request's tools may be called.
    """
    told = frozenset(prompts)
    addition = "agent/mode_addition.md" if is_agent(axes) else "chat/mode_addition.md"
    if addition not in told or f"modes/{axes.work_mode}.md" not in told:
        return "the request does not use the user's mode"
    wanted = plan.reasoning is not Reasoning.NONE
    if wanted != (reasoning and is_agent(axes)) or wanted != bool(told & _REASONS):
        return "the request does not use the user's reasoning setting"
    return "" if callable_tools == len(plan.tools) else "the tools of the request do not match the policy"


def visible(context: CallContext, tools: Mapping[str, ToolSpec], menu: Menu) -> tuple[str, ...]:
    """The mask, for showing and calling: base ∩ SWE phase ∩ agent ∩ profile ∩ work mode, in the registry's order."""
    useful = within_reach(context, tools)
    if context.stage in TOOLLESS:
        base: frozenset[str] = frozenset()
    else:
        base = visible_tools(useful, context.toolset, menu.presentation, menu.toolsets)
        base |= useful & {FINISH_STEP}  # in reach from every place in the menu
        if context.stage in READING_STAGES:  # of the tools in view, where they will do: so the head stays as it is
            looking = frozenset(name for name in useful & LOOKING if reads_only(tools[name]))
            base = looking & base if base >= NEEDED_TO_LOOK else looking
    return tuple(name for name in tools if name in base)


def within_reach(context: CallContext, tools: Mapping[str, ToolSpec]) -> frozenset[str]:
    """The tools of use at these dials, to this agent and in this SWE phase, in whatever toolset."""
    shown = (name for name, spec in tools.items() if gate.visible(spec, context.axes))
    allowed = swe_phases.within(context.swe, shown)
    if context.allowed is not None:
        allowed &= context.allowed | {*META_TOOLS, FINISH_STEP}
    return allowed if context.step and not context.step.done else allowed - {FINISH_STEP}


def reads_only(spec: ToolSpec) -> bool:
    return bool(spec.effects) and spec.effects <= READING


def _prompts(context: CallContext, kind: Reasoning) -> tuple[str, ...]:
    """The head first, which no stage changes; then what is said last."""
    axes, stage = context.axes, context.stage
    parts = ["base/system.md", "base/project_root_context.md", SURROUNDINGS, AGENTS_PAGE, PERSONA, MEMORY, SKILLS]
    parts += ["agent/mode_addition.md", "agent/tool_loop_context.md"] if is_agent(axes) else ["chat/mode_addition.md"]
    parts.append(f"modes/{axes.work_mode}.md")
    if context.step:
        parts.append("agent/workflow.md")
    if context.report:
        parts.append(f"modes/{context.report}_report.md")
    parts.append(TOOLSET_STATE)
    if context.step and stage not in TOOLLESS | READING_STAGES:
        parts.append(WORKFLOW_STATE)
    parts += STAGE_PAGES[stage]
    if kind is not Reasoning.NONE:
        parts.append("qa/review_micro_reasoning.md" if stage is Stage.QA_REVIEW else REASONING_PAGES[kind])
    return tuple(parts)
