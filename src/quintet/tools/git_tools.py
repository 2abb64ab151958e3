"""Local git: status and diffs, as git prints them, with none of the user's pagers or helpers."""

from __future__ import annotations

from typing import Any

from quintet.domain.errors import ToolFailed
from quintet.domain.grants import Effect
from quintet.domain.ports import Workbench
from quintet.domain.toolspec import ToolResult, Touch
from quintet.tools.declare import counted, tool

GIT_SECONDS = 60.0
_PLAIN = ("git", "--no-pager", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "color.ui=never")


def _reads(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.READ}), reads=(arguments["repo_path"],))


@tool(effects={Effect.READ}, touch=_reads)
async def git_status(bench: Workbench, repo_path: str = ".") -> ToolResult:
    """Show the branch and what is staged, changed and untracked.

    :repo_path: the repository, the project if left out
    """
    return await _git(bench, repo_path, "status", "--short", "--branch")


@tool(effects={Effect.READ}, touch=_reads)
async def git_diff_unstaged(bench: Workbench, repo_path: str = ".", context_lines: int = 3) -> ToolResult:
    """Show changes that are not staged yet.

    :repo_path: the repository, the project if left out
    """
    return await _diff(bench, repo_path, f"-U{max(context_lines, 0)}")


@tool(effects={Effect.READ}, touch=_reads)
async def git_diff_staged(bench: Workbench, repo_path: str = ".", context_lines: int = 3) -> ToolResult:
    """Show changes that are staged for the next commit.

    :repo_path: the repository, the project if left out
    """
    return await _diff(bench, repo_path, "--cached", f"-U{max(context_lines, 0)}")


@tool(effects={Effect.READ}, touch=_reads)
async def git_diff(bench: Workbench, target: str, repo_path: str = ".", context_lines: int = 3) -> ToolResult:
    """Show the difference between the working tree and a branch, commit or range.

    :target: branch, commit or range
    :repo_path: the repository, the project if left out
    """
    if target.startswith("-"):
        raise ToolFailed(f"{target}: a branch, commit or range is wanted")
    return await _diff(bench, repo_path, f"-U{max(context_lines, 0)}", "--end-of-options", target, "--")


async def _diff(bench: Workbench, repo_path: str, *arguments: str) -> ToolResult:
    return await _git(bench, repo_path, "diff", "--no-ext-diff", "--no-textconv", *arguments)


async def _git(bench: Workbench, repo_path: str, *arguments: str) -> ToolResult:
    done = await bench.processes.run(
        (*_PLAIN, *arguments), cwd=bench.files.real(repo_path), grant=bench.grant, timeout=GIT_SECONDS
    )
    if done.exit_code:
        raise ToolFailed(done.output.strip() or f"git ended with {done.exit_code}")
    return ToolResult(
        done.output.rstrip("\n") or "nothing to show", summary=counted(len(done.output.splitlines()), "line")
    )
