"""git_commit_signed: there only where the user's settings have `git.sign = "ask"`."""

from __future__ import annotations

from typing import Any

from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import counted
from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.effects import Effect
from quintet.domain.ports.ports import Workbench
from quintet.domain.settings.settings import Settings
from quintet.domain.turn.tool_spec import ToolResult, ToolSpec, Touch
from quintet.features.git_signing.settings import GitSettings
from quintet.features.git_signing.signer import CommitSigner
from quintet.features.git_signing.signing import as_bytes, as_text, checked, signed
from quintet.tools.declare import tool

GIT_SECONDS = 60.0
MOST_OUTPUT = 1_000_000
_GIT = ("git", "--no-pager", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "color.ui=never")
_SHOW = 'git rev-parse HEAD && git cat-file commit "$(git rev-parse HEAD)" | base64 -w0'
_KEEP = 'printf %s "$1" | base64 -d | git hash-object -t commit -w --stdin'


def _signs(arguments: dict[str, Any]) -> Touch:
    effects = frozenset({Effect.COMMIT, Effect.OUTSIDE})
    return Touch(effects, reads=(arguments["repo_path"],), server="")


@tool(
    effects={Effect.COMMIT, Effect.OUTSIDE},
    profile=PermissionProfile.NORMAL,
    touch=_signs,
    needs=("git",),
    toolset="git",
    confined=True,
    service="git_signing",
)
async def git_commit_signed(bench: Workbench, message: str, repo_path: str = ".") -> ToolResult:
    """Commit what is staged, signed with the user's key; the user is asked each time. For where git is set to sign.

    :message: the commit message
    :repo_path: the project if left out
    """
    signer: CommitSigner = bench.service("git_signing")
    folder, grant = bench.files.real(repo_path), signer.contained(bench.grant)

    async def run(*argv: str, fails: bool = True) -> str:
        done = await bench.processes.run(argv, cwd=folder, grant=grant, timeout=GIT_SECONDS, keep=MOST_OUTPUT)
        if done.exit_code and fails:
            raise ToolFailed("\n".join((done.output.strip() or f"git ended with {done.exit_code}", *done.notes)))
        return done.output.strip() if not done.exit_code else ""

    before = await run(*_GIT, "rev-parse", "-q", "--verify", "HEAD", fails=False)
    await run(*_GIT, "commit", "-q", "--no-gpg-sign", "-m", message)
    commit, _, text = (await run("bash", "-c", f"set -o pipefail; {_SHOW}")).partition("\n")
    try:
        raw = as_bytes(text)
        checked(raw, commit, before)
        whole = signed(raw, await signer.sign(raw), commit)
    except (ToolFailed, ValueError) as error:
        raise ToolFailed(
            f"the commit {commit[:12]} was made and is not signed: {error}",
            hint="The user can sign it in their own terminal: git commit --amend -S --no-edit",
        ) from None
    made = await run("bash", "-c", f"set -o pipefail; {_KEEP}", "bash", as_text(whole))
    await run(*_GIT, "update-ref", "-m", "commit: signed", "HEAD", made, commit)
    shown = await run(*_GIT, "log", "-1", "--stat", "--format=%h %s")
    return ToolResult(f"{shown}\n(signed)", summary=counted(len(shown.splitlines()), "line"))


def signed_commit_tool(settings: Settings) -> ToolSpec | None:
    """The tool, where the user has allowed to be asked."""
    return git_commit_signed if settings.table("git", GitSettings).sign == "ask" else None
