"""Every tool there is, listed by hand."""

from __future__ import annotations

from quintet.domain.toolspec import ToolSpec
from quintet.tools.file_tools import Edit, Read, Write
from quintet.tools.git_tools import git_diff, git_diff_staged, git_diff_unstaged, git_status
from quintet.tools.meta_tools import complete, menu_enter, menu_exit, menu_list, message_user, request_tools, think
from quintet.tools.search_tools import glob, grep
from quintet.tools.shell_tools import bash

ALL: tuple[ToolSpec, ...] = (
    menu_list,
    menu_enter,
    menu_exit,
    complete,
    think,
    message_user,
    Read,
    Edit,
    Write,
    bash,
    grep,
    glob,
    git_status,
    git_diff_unstaged,
    git_diff_staged,
    git_diff,
    request_tools,
)
BY_NAME: dict[str, ToolSpec] = {spec.name: spec for spec in ALL}
