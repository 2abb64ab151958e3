"""Every tool there is, listed by hand."""

from __future__ import annotations

from quintet.domain.toolspec import ToolSpec
from quintet.tools import file_tools, fs_tools, git_tools, lsp_tools, meta_tools, search_tools, shell_tools

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
    git_tools.git_diff,
    git_tools.git_reset,
    git_tools.git_log,
    git_tools.git_create_branch,
    git_tools.git_checkout,
    git_tools.git_show,
    git_tools.git_branch_list,
    fs_tools.fs_read_file,
    fs_tools.fs_write_file,
    fs_tools.fs_list_directory,
    fs_tools.fs_create_directory,
    fs_tools.fs_delete,
    fs_tools.fs_move,
    fs_tools.fs_file_info,
    meta_tools.request_tools,
)
BY_NAME: dict[str, ToolSpec] = {spec.name: spec for spec in ALL}
