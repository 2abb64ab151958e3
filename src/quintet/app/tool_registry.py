"""Every tool there is: the core's, listed by hand, and those of features."""

from __future__ import annotations

from quintet.adapters.settings.user_tools import guarded
from quintet.domain.settings.settings import Settings
from quintet.domain.turn.tool_menu import META_TOOLS, TOOL_MODES
from quintet.domain.turn.tool_spec import ToolSpec
from quintet.features import registry
from quintet.tools import files, git, meta, other_models, search, shell, swe_phases, todos

CORE: tuple[ToolSpec, ...] = (
    meta.menu_list,
    meta.menu_enter,
    meta.menu_exit,
    meta.complete,
    meta.think,
    meta.message_user,
    meta.request_tools,
    files.Read,
    files.Edit,
    files.Write,
    shell.bash,
    shell.bash_output,
    shell.write_to_shell,
    shell.kill_shell,
    shell.wait,
    search.grep,
    search.glob,
    git.git_status,
    git.git_diff_unstaged,
    git.git_diff_staged,
    git.git_diff,
    git.git_commit,
    git.git_add,
    git.git_reset,
    git.git_log,
    git.git_create_branch,
    git.git_checkout,
    git.git_show,
    git.git_branch_list,
    files.fs_read_file,
    files.fs_write_file,
    files.fs_list_directory,
    files.fs_create_directory,
    files.fs_delete,
    files.fs_move,
    files.fs_file_info,
    todos.TodoCreate,
    todos.TodoRead,
    todos.TodoStart,
    todos.TodoClaim,
    todos.TodoVerify,
    swe_phases.advance_phase,
    swe_phases.return_to_fix_phase,
    swe_phases.analyze_test_failure,
    swe_phases.get_phase_status,
    other_models.ask_smart_friend,
    other_models.visual_checker,
    shell.list_secrets,
)
_MENU = (*META_TOOLS, *(tool for toolset in TOOL_MODES.values() for tool in toolset.tool_list))
_PLACES = {name: place for place, name in reversed(list(enumerate(_MENU)))}


def tools_for(settings: Settings) -> dict[str, ToolSpec]:
    """Every tool by its name, in the order of the menu; those that are in no toolset of ours come last."""
    specs = {spec.name: spec for spec in (*CORE, *(spec for spec, _ in registry.tools(settings)))}
    for plugin in registry.plugins():
        for spec in registry.plugin_tools(plugin, settings)[0]:
            specs.setdefault(spec.name, guarded(spec, spec.run.__code__.co_filename))
    return dict(sorted(specs.items(), key=lambda item: _PLACES.get(item[0], len(_MENU))))


BY_NAME = tools_for(Settings())
ALL = tuple(BY_NAME.values())
