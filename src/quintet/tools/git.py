"""The twelve local git tools: what git does and prints, with none of the user's pagers or helpers."""

from __future__ import annotations

import os
import posixpath
from typing import Any

from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import counted
from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.tool_spec import ToolResult, Touch
from quintet.tools.declare import tool

GIT_SECONDS = 60.0
_PLAIN = ("git", "--no-pager", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "color.ui=never")


def _reads(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.READ}), reads=(arguments["repo_path"],))


@tool(effects={Effect.READ}, touch=_reads, needs=("git",), confined=True)
async def git_status(bench: Workbench, repo_path: str = ".") -> ToolResult:
    """Show the branch and what is staged, changed and untracked.

    :repo_path: the project if left out
    """
    return await _git(bench, repo_path, "status", "--short", "--branch")


@tool(effects={Effect.READ}, touch=_reads, needs=("git",), confined=True)
async def git_diff_unstaged(bench: Workbench, repo_path: str = ".", context_lines: int = 3) -> ToolResult:
    """Show changes that are not staged yet.

    :repo_path: the project if left out
    """
    return await _diff(bench, repo_path, f"-U{max(context_lines, 0)}")


@tool(effects={Effect.READ}, touch=_reads, needs=("git",), confined=True)
async def git_diff_staged(bench: Workbench, repo_path: str = ".", context_lines: int = 3) -> ToolResult:
    """Show changes that are staged for the next commit.

    :repo_path: the project if left out
    """
    return await _diff(bench, repo_path, "--cached", f"-U{max(context_lines, 0)}")


@tool(effects={Effect.READ}, touch=_reads, needs=("git",), confined=True)
async def git_diff(bench: Workbench, target: str, repo_path: str = ".", context_lines: int = 3) -> ToolResult:
    """Show the difference between the working tree and a branch, commit or range.

    :target: branch, commit or range
    :repo_path: the project if left out
    """
    return await _diff(bench, repo_path, f"-U{max(context_lines, 0)}", "--end-of-options", _name(target), "--")


def _commits(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.COMMIT}), reads=(arguments["repo_path"],))


def _checks_out(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.COMMIT, Effect.EDIT}), reads=(arguments["repo_path"],))


@tool(effects={Effect.COMMIT}, profile=PermissionProfile.NORMAL, touch=_commits, needs=("git",), confined=True)
async def git_commit(bench: Workbench, message: str, repo_path: str = ".") -> ToolResult:
    """Commit what is staged.

    :message: the commit message
    :repo_path: the project if left out
    """
    return await _git(bench, repo_path, "commit", "-q", "-m", message, then=("log", "-1", "--stat", "--format=%h %s"))


def _adds(arguments: dict[str, Any]) -> Touch:
    """What is staged can be shown afterwards: staging a file counts as reading it."""
    folder = arguments["repo_path"]
    paths = tuple(posixpath.join(folder, path) for path in arguments["files"])
    return Touch(frozenset({Effect.COMMIT}), reads=(folder, *paths))


@tool(effects={Effect.COMMIT}, profile=PermissionProfile.NORMAL, touch=_adds, needs=("git",), confined=True)
async def git_add(bench: Workbench, files: tuple[str, ...], repo_path: str = ".") -> ToolResult:
    """Stage files for the next commit.

    :files: paths to stage, . for all
    :repo_path: the project if left out
    """
    if not files:
        raise ToolFailed("name at least one file, or . for all")
    return await _git(bench, repo_path, "add", "--", *files, then=("status", "--short"))


@tool(effects={Effect.COMMIT}, profile=PermissionProfile.NORMAL, touch=_commits, needs=("git",), confined=True)
async def git_reset(bench: Workbench, repo_path: str = ".") -> ToolResult:
    """Unstage everything; the files stay as they are.

    :repo_path: the project if left out
    """
    await _refuse_under_way(bench, repo_path)
    return await _git(bench, repo_path, "reset", "-q", then=("status", "--short"))


@tool(effects={Effect.READ}, touch=_reads, needs=("git",), confined=True)
async def git_log(bench: Workbench, repo_path: str = ".", max_count: int = 10) -> ToolResult:
    """Show the newest commits.

    :repo_path: the project if left out
    :max_count: how many
    """
    return await _git(bench, repo_path, "log", f"-{max(max_count, 1)}", "--date=iso", "--format=%h  %ad  %an  %s")


@tool(effects={Effect.COMMIT}, profile=PermissionProfile.NORMAL, touch=_commits, needs=("git",), confined=True)
async def git_create_branch(
    bench: Workbench, branch_name: str, base_branch: str = "", repo_path: str = "."
) -> ToolResult:
    """Make a branch, without going to it.

    :branch_name: its name
    :base_branch: where it begins, the current commit if left out
    :repo_path: the project if left out
    """
    names = [_name(branch_name), *([_name(base_branch)] if base_branch else [])]
    return await _git(bench, repo_path, "branch", *names, then=("branch", "--list", "-v", branch_name))


@tool(
    effects={Effect.COMMIT, Effect.EDIT},
    profile=PermissionProfile.NORMAL,
    touch=_checks_out,
    needs=("git",),
    confined=True,
)
async def git_checkout(bench: Workbench, branch_name: str, repo_path: str = ".") -> ToolResult:
    """Go to a branch, and take its files.

    :branch_name: its name
    :repo_path: the project if left out
    """
    return await _git(
        bench, repo_path, "checkout", "-q", _name(branch_name), "--", then=("status", "--short", "--branch")
    )


@tool(effects={Effect.READ}, touch=_reads, needs=("git",), confined=True)
async def git_show(bench: Workbench, revision: str, repo_path: str = ".") -> ToolResult:
    """Show a commit: its message and its diff.

    :revision: a commit, branch or tag
    :repo_path: the project if left out
    """
    if ":" in revision:
        raise ToolFailed(f"{revision}: expected a commit; use Read for files")
    return await _git(bench, repo_path, "show", "--no-ext-diff", "--no-textconv", "--stat", "-p", _name(revision), "--")


@tool(effects={Effect.READ}, touch=_reads, needs=("git",), confined=True)
async def git_branch_list(bench: Workbench, repo_path: str = ".", show_remote: bool = False) -> ToolResult:
    """List branches, the current one marked.

    :repo_path: the project if left out
    :show_remote: remote branches too
    """
    return await _git(bench, repo_path, "branch", "--list", "-v", *(["--all"] if show_remote else []))


_UNDER_WAY = {  # what stands in git's folder meanwhile, what it is called, and the command that ends it
    "rebase-merge": ("rebase", "rebase"),
    "rebase-apply": ("rebase", "rebase"),
    "MERGE_HEAD": ("merge", "merge"),
    "CHERRY_PICK_HEAD": ("cherry-pick", "cherry-pick"),
    "REVERT_HEAD": ("revert", "revert"),
}


async def _refuse_under_way(bench: Workbench, repo_path: str) -> None:
    """A reset in the middle of a merge would leave its files and lose that it is one."""
    folder = bench.files.real(repo_path)
    words = ("rev-parse", *(word for name in _UNDER_WAY for word in ("--git-path", name)))
    done = await bench.processes.git(words, cwd=folder, grant=Grant((Effect.READ,)), timeout=GIT_SECONDS)
    paths = done.output.splitlines() if not done.exit_code else []
    for path, (what, command) in zip(paths, _UNDER_WAY.values(), strict=False):
        if os.path.lexists(os.path.join(folder, path)):
            raise ToolFailed(
                f"a {what} is in progress, and git reset would discard it; nothing was changed",
                hint=(
                    "To unstage one file: git restore --staged FILE. To finish: resolve the conflicts, git_add, "
                    f"then {'git_commit' if command == 'merge' else f'git {command} --continue'}. To cancel it, "
                    f"the user can run: git {command} --abort"
                ),
            )


def _name(text: str) -> str:
    """A branch or revision; a word that git would take for an option is not one."""
    if text.startswith("-") or not text.strip():
        raise ToolFailed(f'"{text}": expected the name of a branch or commit')
    return text


async def _diff(bench: Workbench, repo_path: str, *arguments: str) -> ToolResult:
    return await _git(bench, repo_path, "diff", "--no-ext-diff", "--no-textconv", *arguments)


async def _git(bench: Workbench, repo_path: str, *arguments: str, then: tuple[str, ...] = ()) -> ToolResult:
    """Run git, and after it a second command whose output shows what the first one did."""
    folder = bench.files.real(repo_path)
    output = ""
    for command in filter(None, (arguments, then)):
        if set(bench.grant.effects) <= {Effect.READ}:
            done = await bench.processes.git(command, cwd=folder, grant=bench.grant, timeout=GIT_SECONDS)
        else:
            done = await bench.processes.run((*_PLAIN, *command), cwd=folder, grant=bench.grant, timeout=GIT_SECONDS)
        if done.exit_code:
            said = done.output.strip() or f"git ended with {done.exit_code}"
            raise ToolFailed("\n".join((said, *done.notes)))
        output += done.output
    return ToolResult(output.rstrip("\n") or "nothing to show", summary=counted(len(output.splitlines()), "line"))
