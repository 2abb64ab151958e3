"""The seven remote git tools, on GitHub's REST API: pull requests, their checks and logs, comments, repositories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import counted
from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.effects import Effect
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.tool_spec import CallStatus, ToolResult, Touch
from quintet.features.forge import pull_request as pulls
from quintet.tools.declare import tool
from quintet.tools.files import kept

if TYPE_CHECKING:
    from quintet.features.forge.github import GitHub

MOST_LOG = 30_000
PER_PAGE = 30
MOST_REPOS = 1000
TOKEN = ("forge token",)


def _fetches(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.FETCH}))


def _publishes(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.PUBLISH}))


@tool(effects={Effect.FETCH}, touch=_fetches)
async def git_view_pr(bench: Workbench, repo: str, pull_number: int) -> ToolResult:
    """Show a pull request: its description, files, reviews, comments and diff.

    :repo: the repository, owner/name
    :pull_number: its number
    """
    forge, place = _at(bench, repo)
    base, issue = f"{place}/pulls/{pull_number}", f"{place}/issues/{pull_number}"
    pull = await forge.read(base, bench.progress)
    files = await forge.pages(f"{base}/files", bench.progress)
    lists = [
        await forge.pages(path, bench.progress) for path in (f"{base}/reviews", f"{issue}/comments", f"{base}/comments")
    ]
    text = pulls.shown(pull, files, *lists)
    if "\n(not shown here: " in text:
        where = kept(bench, f"pull-{pull_number}.diff", pulls.diff(files))
        text += f"\n(the full diff is in {where})"
    return ToolResult(text, summary=f"#{pull_number}, {counted(len(files), 'file')}")


@tool(effects={Effect.PUBLISH}, profile=PermissionProfile.NORMAL, touch=_publishes, needs=TOKEN)
async def git_create_pr(
    bench: Workbench, repo: str, title: str, head_branch: str, base_branch: str, body: str = "", draft: bool = False
) -> ToolResult:
    """Open a pull request for a branch that is on the forge already.

    :repo: the repository, owner/name
    :title: one line that says what it changes
    :head_branch: the branch with the changes; of a fork, owner:branch
    :base_branch: the branch they are for
    :body: its description, in Markdown
    :draft: whether it is not to be reviewed yet
    """
    wanted = {"title": title, "head": head_branch, "base": base_branch, "body": body, "draft": draft}
    forge, place = _at(bench, repo)
    made = await forge.write("POST", f"{place}/pulls", wanted, bench.progress)
    return ToolResult(f"pull request #{made['number']} is open: {made['html_url']}", summary=f"#{made['number']}")


@tool(effects={Effect.PUBLISH}, profile=PermissionProfile.NORMAL, touch=_publishes, needs=TOKEN)
async def git_update_pr_description(
    bench: Workbench, repo: str, pull_number: int, body: str = "", force: bool = False
) -> ToolResult:
    """Write a pull request's description. One that is there already is replaced only with force.

    :repo: the repository, owner/name
    :pull_number: its number
    :body: the description, in Markdown
    :force: replace what is there
    """
    forge, place = _at(bench, repo)
    path = f"{place}/pulls/{pull_number}"
    if not body.strip() and not force:
        raise ToolFailed("body is empty: give the description, or force to remove the old one")
    there = (await forge.read(path, bench.progress)).get("body") or ""
    if there.strip() and there.strip() != body.strip() and not force:
        raise ToolFailed(
            f"#{pull_number} already has a description; force replaces it. The current one:\n\n{there[:4000]}"
        )
    await forge.write("PATCH", path, {"body": body}, bench.progress)
    return ToolResult(f"the description of #{pull_number} was written", summary=f"#{pull_number}")


@tool(effects={Effect.FETCH}, touch=_fetches)
async def git_pr_checks(bench: Workbench, repo: str, pull_number: int, wait_until_complete: bool = False) -> ToolResult:
    """Show the checks of a pull request's newest commit, what failed first.

    :repo: the repository, owner/name
    :pull_number: its number
    :wait_until_complete: come back when none of them is open any more
    """
    forge, place = _at(bench, repo)
    waited = 0.0
    while True:
        pull = await forge.read(f"{place}/pulls/{pull_number}", bench.progress)
        commit = f"{place}/commits/{pull['head']['sha']}"
        runs = await forge.pages(f"{commit}/check-runs", bench.progress, key="check_runs")
        statuses = await forge.pages(f"{commit}/status", bench.progress, key="statuses")
        found = pulls.checks(runs, statuses)
        still = len(pulls.open_checks(found))
        if not (wait_until_complete and still):
            break
        waited = await forge.next_look(waited, bench.progress, f"{still} of {counted(len(found), 'check')} open")
        if waited < 0:
            break
    note = "\n(stopped waiting: forge.checks_seconds)" if waited < 0 else ""
    says = pulls.verdict(found)
    head = f"{says} at {pull['head']['sha'][:12]}"
    return ToolResult(f"{head}\n{pulls.table(found)}{note}" if found else head, summary=says)


@tool(effects={Effect.FETCH}, touch=_fetches, needs=TOKEN)
async def git_ci_job_logs(bench: Workbench, repo: str, job_id: int) -> ToolResult:
    """Show the log of a CI job, its end if it is long.

    :repo: the repository, owner/name
    :job_id: the job, as git_pr_checks gives it
    """
    forge, place = _at(bench, repo)
    text = await forge.text(f"{place}/actions/jobs/{job_id}/logs", bench.progress)
    lines = len(text.splitlines())
    if (over := len(text) - MOST_LOG) > 0:
        where = kept(bench, f"job-{job_id}.log", text)
        text = f"… {over} characters omitted; the full log is in {where} …\n{text[over:]}"
    return ToolResult(text.rstrip("\n") or "the log is empty", summary=counted(lines, "line"))


@tool(effects={Effect.PUBLISH}, profile=PermissionProfile.NORMAL, touch=_publishes, needs=TOKEN)
async def git_comment_on_pr(
    bench: Workbench,
    repo: str,
    pull_number: int,
    body: str,
    commit_id: str = "",
    path: str = "",
    line: int = 0,
    side: Literal["LEFT", "RIGHT"] = "RIGHT",
    in_reply_to: int = 0,
) -> ToolResult:
    """Comment on a pull request: as a whole, on a line of a file in it, or in reply.

    :repo: the repository, owner/name
    :pull_number: its number
    :body: the comment, in Markdown
    :commit_id: the commit the line is in, the newest if left out
    :path: the file to comment on
    :line: the line there; the file as a whole if left out
    :side: RIGHT for the file as it is after, LEFT as before
    :in_reply_to: id of the comment that this replies to
    """
    forge, place = _at(bench, repo)
    base = f"{place}/pulls/{pull_number}"
    if not body.strip():
        raise ToolFailed("body is empty: give the comment")
    if in_reply_to:
        where, wanted = f"{base}/comments/{in_reply_to}/replies", {"body": body}
    elif path:
        commit = commit_id or (await forge.read(base, bench.progress))["head"]["sha"]
        spot: dict[str, Any] = {"line": line, "side": side} if line else {"subject_type": "file"}
        where, wanted = f"{base}/comments", {"body": body, "commit_id": commit, "path": path, **spot}
    else:
        where, wanted = f"{place}/issues/{pull_number}/comments", {"body": body}
    made = await forge.write("POST", where, wanted, bench.progress)
    return ToolResult(f"commented: {made.get('html_url', '')} (id {made['id']})", summary=f"#{pull_number}")


@tool(effects={Effect.FETCH}, touch=_fetches, needs=TOKEN)
async def list_repos(bench: Workbench, keyword: str = "", page: int = 1) -> ToolResult:
    """List the repositories you have access to on the forge, the ones pushed to last first.

    :keyword: only those with this in their name or description
    :page: 30 to a page
    """
    found = await _forge(bench).pages("user/repos?sort=pushed", bench.progress, most=MOST_REPOS)
    word = keyword.lower().strip()
    fits = [r for r in found if word in f"{r['full_name']} {r.get('description') or ''}".lower()]
    first = (max(page, 1) - 1) * PER_PAGE
    rows = fits[first : first + PER_PAGE]
    if not rows:
        return ToolResult(f"no repository{' there' if fits else ''}", CallStatus.OK, summary="none")
    lines = [_listed(repo) for repo in rows]
    more = len(fits) - first - len(rows)
    lines += [f"({more} more: page {max(page, 1) + 1})"] if more > 0 else []
    return ToolResult("\n".join(lines), summary=f"{len(rows)} of {len(fits)}")


def _listed(repo: dict[str, Any]) -> str:
    marks = [word for word in ("private", "fork", "archived") if repo.get(word)]
    about = repo.get("description") or ""
    said = "  ".join(filter(None, (f"({', '.join(marks)})" if marks else "", about)))
    return f"{repo['full_name']}  {said}".rstrip()


def _at(bench: Workbench, repo: str) -> tuple[GitHub, str]:
    """The forge, and where on it a repository is."""
    forge, found = _forge(bench), pulls.repo_of(repo)
    if other := pulls.elsewhere(repo, forge.host):
        raise ToolFailed(f"{repo} is on {other}, but the forge in use is {forge.host} (setting forge.url)")
    if not found:
        raise ToolFailed(f'repo = "{repo}": expected owner/name')
    return forge, f"repos/{quote(found)}"


def _forge(bench: Workbench) -> GitHub:
    forge: GitHub = bench.service("forge")
    return forge
