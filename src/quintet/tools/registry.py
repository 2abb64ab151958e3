"""Every tool there is, listed by hand."""

from __future__ import annotations

from quintet.domain.toolspec import ToolSpec
from quintet.tools.file_tools import Edit, Read, Write
from quintet.tools.git_tools import git_diff, git_diff_staged, git_diff_unstaged, git_status
from quintet.tools.search_tools import glob, grep
from quintet.tools.shell_tools import bash

ALL: tuple[ToolSpec, ...] = (
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
)
BY_NAME: dict[str, ToolSpec] = {spec.name: spec for spec in ALL}
