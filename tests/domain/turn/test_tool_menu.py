"""The two-level menu: its names, order and counts, and one mask for showing and for calling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.app.tool_registry import BY_NAME
from quintet.domain.base.errors import ToolFailed
from quintet.domain.turn.tool_menu import (
    META_TOOLS,
    TOOL_MODES,
    MenuManager,
    MenuState,
    Presentation,
    toolsets_of,
    validate_tool_coverage,
    visible_tools,
    with_own,
)

ABOUT = {name: spec.description for name, spec in BY_NAME.items()}

EVERY = {tool for toolset in TOOL_MODES.values() for tool in toolset.tool_list}
COUNTS = {
    "swe": 30,
    "library": 4,
    "browser": 16,
    "search": 7,
    "git": 19,
    "data": 10,
    "deploy": 5,
    "ai": 9,
    "integrations": 3,
}


def test_s0_nine_toolsets_in_the_order_of_use_with_their_counts() -> None:
    assert [(name, len(toolset.tool_list)) for name, toolset in TOOL_MODES.items()] == list(COUNTS.items())
    assert len(EVERY) == 71
    assert len(META_TOOLS) == 6


@pytest.mark.parametrize(
    ("tools", "toolsets"),
    [
        ("web_search web_get_contents", "swe library search ai"),
        ("librarian librarian_search", "swe library search"),
        ("ask_smart_friend", "swe search ai"),
        ("bash", "swe data deploy"),
        ("grep glob", "swe data"),
        ("visual_checker", "browser ai"),
        ("git_ci_job_logs git_pr_checks", "git deploy"),
        ("TodoCreate TodoRead TodoStart TodoClaim TodoVerify", "swe ai"),
    ],
)
def test_s0_cross_cutting_tools_stand_where_they_are_expected(tools: str, toolsets: str) -> None:
    for tool in tools.split():
        assert toolsets_of(tool) == toolsets.split()


def test_s0_every_registered_tool_is_in_a_toolset() -> None:
    toolsets = with_own({name: spec.toolset for name, spec in BY_NAME.items() if spec.toolset})
    assert validate_tool_coverage(set(BY_NAME), toolsets) == (True, [])
    assert validate_tool_coverage({"Read", "stray", "think"}) == (False, ["stray"])


@pytest.mark.parametrize("toolset", ["", *TOOL_MODES])
def test_s0_meta_tools_are_visible_everywhere_and_a_toolset_adds_its_own(toolset: str) -> None:
    shown = visible_tools(EVERY | set(META_TOOLS), toolset, Presentation.MENU)
    assert shown == set(META_TOOLS) | set(TOOL_MODES[toolset].tool_list if toolset else ())
    assert len(shown) == 6 + (COUNTS[toolset] if toolset else 0)


def test_presentations_differ_only_in_what_they_show() -> None:
    everything = EVERY | set(META_TOOLS)
    assert visible_tools(everything, "", Presentation.FLAT) == everything
    assert visible_tools(everything, "", Presentation.SEARCH) == {*META_TOOLS, "request_tools"}


def test_navigation_tells_the_choices_when_it_fails() -> None:
    menu = MenuManager({name: f"What {name} does." for name in EVERY})
    assert menu.state is MenuState.ROOT
    with pytest.raises(
        ToolFailed,
        match=r"already at ROOT\. Toolsets to enter: swe, library, browser, search, git, data, deploy, ai",
    ):
        menu.exit()
    with pytest.raises(ToolFailed, match=r'toolset "sew": not one of .*Did you mean swe\?'):
        menu.enter("sew")
    assert menu.enter("swe").startswith("In swe. Tools: Read, Edit, Write, bash")
    assert menu.state is MenuState.IN_MODE
    assert menu.enter("git").startswith("In git. Tools: git_status")
    assert menu.exit() == "Left git; at ROOT."


def test_a_toolset_without_a_tool_is_hidden() -> None:
    menu = MenuManager({"Read": ABOUT["Read"]})
    assert "browser" not in menu.list()
    with pytest.raises(ToolFailed):
        menu.enter("browser")


@given(st.sets(st.sampled_from(sorted(EVERY | set(META_TOOLS)))), st.sampled_from(["", *TOOL_MODES]))
def test_the_mask_never_shows_what_is_not_registered(registered: set[str], toolset: str) -> None:
    for presentation in Presentation:
        assert visible_tools(registered, toolset, presentation) <= registered


@pytest.mark.parametrize(
    ("words", "best"),
    [
        (["Read"], "Read"),
        (["git diff"], "git_diff"),
        (["git_status"], "git_status"),
        (["search with a regular expression"], "grep"),
        (["run a shell line"], "bash"),
        (["files whose path matches a glob"], "glob"),
        (["move or rename"], "fs_move"),
    ],
)
def test_a_tool_is_found_by_its_name_or_by_what_it_does(words: list[str], best: str) -> None:
    assert MenuManager(ABOUT).find(words)[0] == best
