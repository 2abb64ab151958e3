"""The policy over its whole space, against tables written by hand."""

import itertools

import pytest

from quintet.app.tool_registry import BY_NAME
from quintet.domain.dials.axes import Axes, ModelMode, PermissionProfile, RunControl, Surface, WorkMode
from quintet.domain.turn import stage_policy as policy
from quintet.domain.turn.stage_policy import CallContext, Menu, Reasoning, Stage, broken_invariant, plan_stage
from quintet.domain.turn.swe_phases import PHASES, PhaseState
from quintet.domain.turn.tool_menu import META_TOOLS, TOOL_MODES, Presentation

EVERY_AXES = [
    Axes(*values) for values in itertools.product(WorkMode, RunControl, PermissionProfile, ModelMode, Surface)
]
# What each tool of ours takes, by hand: the tools that no reading work mode has, and those that restricted lacks.
PUBLISHES = ["git_create_pr", "git_update_pr_description", "git_comment_on_pr"]
CHANGES_HISTORY = [*PUBLISHES, "git_commit", "git_add", "git_reset", "git_create_branch", "git_checkout", "fs_delete"]
NEEDS_NORMAL = [
    *("Edit", "Write", "fs_write_file", "fs_create_directory", "fs_move", "write_to_shell", "analyze_test_failure"),
    "deploy",
    *CHANGES_HISTORY,
]
# What a stage that only reads has: reading, searching, listing.
LOOKING = [
    "Read",
    "grep",
    "glob",
    "lsp_tool",
    "git_status",
    "git_diff_unstaged",
    "git_diff_staged",
    "git_diff",
    "git_log",
    "git_show",
    "git_branch_list",
    "fs_read_file",
    "fs_list_directory",
    "fs_file_info",
]
READ_ONLY = (WorkMode.PLAN, WorkMode.REVIEW, WorkMode.RESEARCH)

# stage → its own pages, and the form of reasoning where the user wants any
STAGES = {
    "warmup": (["stages/warmup.md"], "macro"),
    "act": ([], "micro"),
    "tool_followup": ([], "micro"),
    "micro_step": ([], "micro"),
    "delivery_check": (["agent/delivery_gate.md"], "micro"),
    "qa_review": (["qa/system.md", "qa/report_schema.md"], "micro"),
    "verification": (["stages/verification.md"], "micro"),
}


def expected_tools(axes: Axes, stage: str, toolset: str) -> set[str]:
    if stage in ("warmup", "delivery_check"):
        return set()
    hidden = set(NEEDS_NORMAL) if axes.permission_profile is PermissionProfile.RESTRICTED else set()
    hidden |= set(CHANGES_HISTORY) if axes.work_mode in READ_ONLY else set()
    shown = set(META_TOOLS) | set(TOOL_MODES[toolset].tool_list if toolset else ())
    if stage in ("qa_review", "verification"):  # in swe of what is in view: so its tools stay as they are
        looking = set(LOOKING) & set(BY_NAME)
        return looking & shown if toolset == "swe" else looking
    return (shown & set(BY_NAME)) - hidden


@pytest.mark.parametrize("stage", list(Stage))
def test_s1_6_every_combination_gets_the_tools_of_the_table(stage: Stage) -> None:
    for axes, toolset in itertools.product(EVERY_AXES, ("", *TOOL_MODES)):
        plan = plan_stage(CallContext(axes, toolset, stage=stage), BY_NAME)
        assert set(plan.tools) == expected_tools(axes, stage, toolset), (axes, toolset)


@pytest.mark.parametrize("stage", list(Stage))
def test_s1_4_reasoning_is_asked_for_in_every_stage_of_an_agent_and_only_if_the_user_wants_it(stage: Stage) -> None:
    for axes, wanted in itertools.product(EVERY_AXES, (True, False)):
        plan = plan_stage(CallContext(axes, stage=stage), BY_NAME, reasoning=wanted)
        asked = wanted and axes.work_mode is not WorkMode.CHAT
        assert plan.reasoning == (STAGES[stage][1] if asked else "none")
        pages = [page for page in plan.prompts if "reasoning" in page]
        name = "qa/review_micro_reasoning.md" if stage is Stage.QA_REVIEW else f"agent/reasoning_{plan.reasoning}.md"
        assert pages == ([name] if asked else [])


@pytest.mark.parametrize("stage", list(Stage))
def test_s1_5_2_prompts_are_composed_in_one_order(stage: Stage) -> None:
    for axes in EVERY_AXES:
        plan = plan_stage(CallContext(axes, stage=stage), BY_NAME)
        chat = axes.work_mode is WorkMode.CHAT
        addition = ["chat/mode_addition.md"] if chat else ["agent/mode_addition.md", "agent/tool_loop_context.md"]
        assert list(plan.prompts) == [
            "base/system.md",
            "base/project_root_context.md",
            "@surroundings",
            "@agents",
            "@persona",
            "@memory",
            "@skills",
            *addition,
            f"modes/{axes.work_mode}.md",
            "@toolset",
            *STAGES[stage][0],
        ]


def test_the_head_is_the_same_in_every_stage_and_what_a_stage_says_comes_last() -> None:
    for axes, toolset, reasoning in itertools.product(EVERY_AXES, ("", "swe"), (True, False)):
        plans = [plan_stage(CallContext(axes, toolset, stage=stage), BY_NAME, reasoning=reasoning) for stage in Stage]
        assert len({plan.head for plan in plans}) == 1
        for plan in plans:
            assert plan.prompts == (*plan.head, *plan.last)
            assert set(STAGES[plan.stage][0]) <= set(plan.last)
            assert [page for page in plan.last if "reasoning" in page] == [p for p in plan.prompts if "reasoning" in p]


def test_s1_2_1_nothing_of_a_plan_depends_on_dials_that_are_not_its_business() -> None:
    for work_mode, profile, stage in itertools.product(WorkMode, PermissionProfile, Stage):
        plans = {
            plan_stage(CallContext(Axes(work_mode, control, profile, model, surface), "swe", stage=stage), BY_NAME)
            for control, model, surface in itertools.product(RunControl, ModelMode, Surface)
        }
        assert len(plans) == 1


@pytest.mark.parametrize("phase", PHASES)
def test_s0_a_swe_phase_masks_toolset_tools_and_leaves_the_neutral_ones(phase: str) -> None:
    axes = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)
    shown = set(plan_stage(CallContext(axes, "swe", swe=PhaseState(phase)), BY_NAME).tools)
    free = set(plan_stage(CallContext(axes, "swe"), BY_NAME).tools)
    assert shown <= free
    assert {"menu_list", "think", "get_phase_status", "advance_phase"} <= shown
    assert ("complete" in shown) == (phase == "target_fix_verification")


def test_an_agent_keeps_to_its_own_tools_and_the_meta_tools() -> None:
    axes = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)
    plan = plan_stage(CallContext(axes, "swe", allowed=frozenset({"Read", "grep"})), BY_NAME)
    assert set(plan.tools) == {*META_TOOLS, "Read", "grep"}


@pytest.mark.parametrize("presentation", Presentation)
def test_a_stage_without_tools_has_none_however_they_are_presented(presentation: Presentation) -> None:
    for stage in policy.TOOLLESS:
        assert plan_stage(CallContext(Axes(), "swe", stage=stage), BY_NAME, menu=Menu(presentation)).tools == ()


def test_s1_9_2_a_request_that_breaks_an_invariant_is_found() -> None:
    axes = Axes(WorkMode.BUILD)
    plan = plan_stage(CallContext(axes, "swe"), BY_NAME, reasoning=True)
    count = len(plan.tools)
    assert broken_invariant(plan, axes, True, count, plan.prompts) == ""
    assert "mode" in broken_invariant(plan, Axes(WorkMode.CHAT), True, count, plan.prompts)
    assert "reasoning" in broken_invariant(plan, axes, False, count, plan.prompts)
    without = [page for page in plan.prompts if "reasoning" not in page]
    assert "reasoning" in broken_invariant(plan, axes, True, count, without)
    assert "tools" in broken_invariant(plan, axes, True, count + 1, plan.prompts)
    assert plan.reasoning is Reasoning.MICRO
