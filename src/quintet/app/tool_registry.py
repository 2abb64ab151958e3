"""Every tool there is, listed by hand."""

from __future__ import annotations

from quintet.domain.turn.tool_spec import ToolSpec
from quintet.features.browser import tools as browser_tools
from quintet.features.deploy import tools as deploy_tools
from quintet.features.forge import tools as forge_tools
from quintet.features.language_servers import tools as lsp_tools
from quintet.features.library import tools as library_tools
from quintet.features.mcp import tools as mcp_tools
from quintet.features.web_search import tools as web_tools
from quintet.tools import files as file_tools
from quintet.tools import folders as fs_tools
from quintet.tools import git as git_tools
from quintet.tools import meta as meta_tools
from quintet.tools import other_models as ai_tools
from quintet.tools import search as search_tools
from quintet.tools import secrets as secret_tools
from quintet.tools import shell as shell_tools
from quintet.tools import swe_phases as phase_tools
from quintet.tools import todos as todo_tools

ALL: tuple[ToolSpec, ...] = (
    meta_tools.menu_list,
    meta_tools.menu_enter,
    meta_tools.menu_exit,
    meta_tools.complete,
    meta_tools.think,
    meta_tools.message_user,
    file_tools.Read,
    file_tools.Edit,
    file_tools.Write,
    shell_tools.bash,
    search_tools.grep,
    search_tools.glob,
    lsp_tools.lsp_tool,
    git_tools.git_status,
    git_tools.git_diff_unstaged,
    git_tools.git_diff_staged,
    git_tools.git_commit,
    git_tools.git_add,
    shell_tools.bash_output,
    shell_tools.write_to_shell,
    shell_tools.kill_shell,
    shell_tools.wait,
    web_tools.web_search,
    web_tools.web_get_contents,
    ai_tools.ask_smart_friend,
    library_tools.librarian,
    library_tools.librarian_search,
    todo_tools.TodoCreate,
    todo_tools.TodoRead,
    todo_tools.TodoStart,
    todo_tools.TodoClaim,
    todo_tools.TodoVerify,
    phase_tools.advance_phase,
    phase_tools.return_to_fix_phase,
    phase_tools.analyze_test_failure,
    phase_tools.get_phase_status,
    browser_tools.browser_navigate,
    browser_tools.browser_view,
    browser_tools.browser_click,
    browser_tools.browser_type,
    browser_tools.browser_scroll,
    browser_tools.browser_screenshot,
    browser_tools.browser_console,
    browser_tools.browser_press_key,
    browser_tools.browser_move_mouse,
    browser_tools.browser_select_option,
    browser_tools.browser_select_file,
    browser_tools.browser_set_mobile,
    browser_tools.browser_restart,
    browser_tools.recording_start,
    browser_tools.recording_stop,
    git_tools.git_diff,
    git_tools.git_reset,
    git_tools.git_log,
    git_tools.git_create_branch,
    git_tools.git_checkout,
    git_tools.git_show,
    git_tools.git_branch_list,
    forge_tools.git_view_pr,
    forge_tools.git_create_pr,
    forge_tools.git_update_pr_description,
    forge_tools.git_pr_checks,
    forge_tools.git_ci_job_logs,
    forge_tools.git_comment_on_pr,
    forge_tools.list_repos,
    fs_tools.fs_read_file,
    fs_tools.fs_write_file,
    fs_tools.fs_list_directory,
    fs_tools.fs_create_directory,
    fs_tools.fs_delete,
    fs_tools.fs_move,
    fs_tools.fs_file_info,
    mcp_tools.mcp_tool,
    deploy_tools.deploy,
    ai_tools.visual_checker,
    secret_tools.list_secrets,
    meta_tools.request_tools,
)
BY_NAME: dict[str, ToolSpec] = {spec.name: spec for spec in ALL}
