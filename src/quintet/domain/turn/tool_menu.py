"""The two-level tool menu: six meta-tools, nine toolsets and a tenth, and the model's place among them.

At ROOT a model sees the meta-tools; entering a toolset adds that toolset's tools. Nothing is ever unregistered: what is
visible is a mask, the same one when tools are shown and when one is called. Toolsets stand in the order of use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct, structs

from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import SMALL_WORDS, did_you_mean

FINISH_STEP = "finish_step"  # says that a step is done; there only while a turn follows a workflow
COMPLETE_TOOL, MESSAGE_TOOL = "complete", "message_user"  # end a turn: with its answer, and with a word to the user
META_TOOLS = ["menu_list", "menu_enter", "menu_exit", COMPLETE_TOOL, "think", MESSAGE_TOOL]


class MenuState(StrEnum):
    ROOT = "ROOT"
    IN_MODE = "IN_MODE"


class Presentation(StrEnum):
    """How tools are put before a model."""

    MENU = "menu"  # the meta-tools, and the tools of the toolset in use
    FLAT = "flat"  # everything at once
    SEARCH = "search"  # as menu, with request_tools in reach from everywhere


class ToolMode(Struct, frozen=True):
    """A toolset: a named group of tools."""

    name: str
    display_name: str
    tool_list: tuple[str, ...]
    description: str


_WEB = "web_search web_get_contents"
_LIBRARY = "librarian librarian_search"
_TODOS = "TodoCreate TodoRead TodoStart TodoClaim TodoVerify"


def _mode(name: str, display_name: str, description: str, *groups: str) -> ToolMode:
    return ToolMode(name, display_name, tuple(" ".join(groups).split()), description)


TOOL_MODES: dict[str, ToolMode] = {
    toolset.name: toolset
    for toolset in (
        _mode(
            "swe",
            "Software engineering",
            "read, edit, search, run and test code",
            "Read Edit Write bash grep glob lsp_tool",
            "git_status git_diff_unstaged git_diff_staged git_commit git_add",
            "bash_output write_to_shell kill_shell wait",
            _WEB,
            "ask_smart_friend",
            _LIBRARY,
            _TODOS,
            "advance_phase return_to_fix_phase analyze_test_failure get_phase_status",
        ),
        _mode("library", "Library", "search the documents the user added", _LIBRARY, _WEB),
        _mode(
            "browser",
            "Browser",
            "control a browser and record it",
            "browser_navigate browser_view browser_click browser_type browser_scroll browser_screenshot",
            "browser_console browser_press_key browser_move_mouse browser_select_option browser_select_file",
            "browser_set_mobile browser_restart recording_start recording_stop visual_checker",
        ),
        _mode(
            "search",
            "Search",
            "research on the web and in documents",
            _WEB,
            "browser_navigate browser_view",
            _LIBRARY,
            "ask_smart_friend",
        ),
        _mode(
            "git",
            "Git",
            "version control, locally and on the forge",
            "git_status git_diff_unstaged git_diff_staged git_diff git_commit git_add git_reset git_log",
            "git_create_branch git_checkout git_show git_branch_list",
            "git_view_pr git_create_pr git_update_pr_description git_pr_checks git_ci_job_logs git_comment_on_pr",
            "list_repos",
        ),
        _mode(
            "data",
            "Data",
            "manage files that are not code",
            "fs_read_file fs_write_file fs_list_directory fs_create_directory fs_delete fs_move fs_file_info",
            "grep glob bash",
        ),
        _mode("deploy", "Deploy", "deploy and follow CI", "deploy git_ci_job_logs git_pr_checks bash bash_output"),
        _mode("ai", "AI", "ask other models, keep a checklist", "ask_smart_friend visual_checker", _TODOS, _WEB),
        _mode(
            "integrations", "Integrations", "MCP servers, secrets, finding tools", "mcp_tool list_secrets request_tools"
        ),
    )
}


ASSIST = _mode("assist", "Assistance", "helpers, skills, what is known of the repository, memory")
TOOLSETS: dict[str, ToolMode] = {**TOOL_MODES, ASSIST.name: ASSIST}  # the tenth has only tools that name it


def tools_in_use(toolset: str) -> str:
    """A toolset for people: `software engineering tools`."""
    known = TOOLSETS.get(toolset)
    name = known.display_name if known else toolset
    return f"{name if name.isupper() else name.lower()} tools"


DEFAULT_TOOLSET = "swe"  # of a user's own tool that names none


def with_own(own: Mapping[str, str]) -> dict[str, ToolMode]:
    """The toolsets with the user's own tools, name → toolset, at the end of theirs."""
    return {
        name: structs.replace(
            toolset,
            tool_list=tuple(dict.fromkeys((*toolset.tool_list, *(t for t, home in own.items() if home == name)))),
        )
        for name, toolset in TOOLSETS.items()
    }


def toolsets_of(tool: str, toolsets: Mapping[str, ToolMode] = TOOL_MODES) -> list[str]:
    return [toolset.name for toolset in toolsets.values() if tool in toolset.tool_list]


def validate_tool_coverage(
    registered_tools: set[str], toolsets: Mapping[str, ToolMode] = TOOL_MODES
) -> tuple[bool, list[str]]:
    """Whether every registered tool is in at least one toolset, and which are not; meta-tools need none."""
    mapped = {tool for toolset in toolsets.values() for tool in toolset.tool_list}
    unmapped = sorted(registered_tools - mapped - set(META_TOOLS))
    return not unmapped, unmapped


def visible_tools(
    registered: Iterable[str],
    toolset: str,
    presentation: Presentation,
    toolsets: Mapping[str, ToolMode] = TOOL_MODES,
) -> frozenset[str]:
    """The mask: which registered tools a model at `toolset` ("" for ROOT) may see, and call."""
    names = frozenset(registered)
    if presentation is Presentation.FLAT:
        return names
    shown = set(META_TOOLS) | set(toolsets[toolset].tool_list if toolset else ())
    if presentation is Presentation.SEARCH:
        shown.add(REQUEST_TOOLS)
    return names & shown


REQUEST_TOOLS = "request_tools"  # may be called from any place, shown there or not


class MenuManager:
    """A model's place in the menu, over the tools that are registered and of use now."""

    def __init__(
        self, tools: Mapping[str, str], toolset: str = "", toolsets: Mapping[str, ToolMode] = TOOL_MODES
    ) -> None:
        self._about = tools  # name → description
        self._toolsets = toolsets
        self._tools = frozenset(tools)
        self.toolset = toolset

    @property
    def state(self) -> MenuState:
        return MenuState.IN_MODE if self.toolset else MenuState.ROOT

    def choices(self) -> list[ToolMode]:
        """The toolsets with at least one tool that is there."""
        return [toolset for toolset in self._toolsets.values() if self._tools & set(toolset.tool_list)]

    def list(self) -> str:
        place = f"You are in {self.toolset}." if self.toolset else "You are at ROOT."
        return f"{place}\n{self.toolset_list()}\n{REQUEST_TOOLS}, from any place, finds a tool by words and goes there."

    def toolset_list(self) -> str:
        """The toolsets there are, wherever the model stands."""
        lines = []
        for toolset in self.choices():
            count = len(self._tools & set(toolset.tool_list))
            lines.append(f"  {toolset.name:<12}  {count:>2} tools  {toolset.description}")
        return "\n".join(["Toolsets, for menu_enter:", *lines])

    def enter(self, toolset: str) -> str:
        choices = [choice.name for choice in self.choices()]
        if toolset not in choices:
            raise ToolFailed(f'toolset "{toolset}": not one of {", ".join(choices)}.{did_you_mean(toolset, choices)}')
        self.toolset = toolset
        tools = [tool for tool in self._toolsets[toolset].tool_list if tool in self._tools]
        return f"In {toolset}. Tools: {', '.join(tools)}"

    def exit(self) -> str:
        if not self.toolset:
            choices = ", ".join(choice.name for choice in self.choices())
            raise ToolFailed(f"already at ROOT. Toolsets to enter: {choices}")
        left, self.toolset = self.toolset, ""
        return f"Left {left}; at ROOT."

    def home(self, tool: str) -> str:
        """The first toolset that has the tool."""
        return toolsets_of(tool, self._toolsets)[0]

    def unknown(self, names: Iterable[str]) -> tuple[str, ...]:
        """What is written as the name of a tool, and is none."""
        known = {name.lower() for name in self._about}
        written = (name for name in names if "_" in name and " " not in name.strip())
        return tuple(name for name in written if name.strip().lower() not in known)

    def find(self, words: Iterable[str]) -> tuple[str, ...]:
        """Tools that fit the words, best first: by name before by description."""
        wanted = [word.lower() for phrase in words for word in phrase.replace("_", " ").split()]
        scores = {name: _fit(name, about, wanted) for name, about in self._about.items() if name not in META_TOOLS}
        return tuple(sorted((name for name, fit in scores.items() if fit), key=lambda name: (-scores[name], name)))


def _fit(name: str, about: str, words: Iterable[str]) -> float:
    """How well a tool fits: each word by name, part of a name or description, and by how many of the words fit at all;
    a name used up whole counts more."""
    wanted = tuple(word for word in words if word not in SMALL_WORDS)
    parts = name.lower().split("_")
    described = set(about.lower().replace(",", " ").replace(".", " ").split())
    hits = [4 * (word in parts) + 2 * (word in name.lower()) + (word in described) for word in wanted]
    if 2 * sum(map(bool, hits)) < len(hits) or not hits:
        return 0
    whole_name = 3 * sum(part in wanted for part in parts) / len(parts)
    return (sum(hits) + whole_name) * sum(map(bool, hits)) / len(hits)
