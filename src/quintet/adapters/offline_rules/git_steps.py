"""git: show status, diff and log; commit what is staged, or everything that changed."""

from __future__ import annotations

from quintet.adapters.offline_rules.intents import GitCommit, GitDiff
from quintet.adapters.offline_rules.program_steps import Program, SayStep, Steps, ask, counted, listed, refused
from quintet.domain.base.lazy_regex import regex

_CHANGED = regex(r"(?P<staged>.)(?P<unstaged>.) (?P<path>.+)")
_COMMITTED = regex(r"[0-9a-f]{7,40} ")


def show(tool: str, arguments: dict[str, object], heading: str = "") -> Program:
    output = yield from ask(tool, arguments)
    if output.startswith("warning: Not a git repository"):  # what git diff makes of it is not an error to git
        return SayStep(output.splitlines()[0].removeprefix("warning: "), done=False)
    return SayStep(f"{heading}\n{output}".strip(), not refused(output))


def diff(intent: GitDiff) -> Program:
    if intent.target:
        return (yield from show("git_diff", {"target": intent.target}))
    return (yield from show("git_diff_staged" if intent.staged else "git_diff_unstaged", {}))


def commit(intent: GitCommit) -> Program:
    status = yield from ask("git_status")
    if not status.startswith("## "):
        return SayStep(f"Nothing committed. {status}", done=False)
    rows = [row for line in status.splitlines()[1:] if (row := _CHANGED.fullmatch(line))]
    staged = [row for row in rows if row["staged"] not in " ?!"]
    if intent.everything:
        paths = [_unquoted(row["path"].rpartition(" -> ")[2]) for row in rows if row["unstaged"] != " "]
        problem = yield from _stage(paths)
        if problem:
            return SayStep(f"Nothing committed. {problem}", done=False)
    if not (rows if intent.everything else staged):
        hint = ' Say: commit all changes with message "…"' if rows else ""
        return SayStep(
            f"Nothing committed: nothing is {'staged' if rows else 'changed'}.{hint}", done=False, already=True
        )
    result = yield from ask("git_commit", {"message": intent.message})
    if not _COMMITTED.match(result):
        if intent.everything and not staged:
            yield from ask("git_reset")
        return SayStep(f"Nothing committed. {result}", done=False)
    after = yield from ask("git_status")
    left = len(after.splitlines()) - 1
    return SayStep(f"Committed\n{result}\nchecked  {counted(left, 'change') if left else 'nothing'} left to commit")


def _stage(paths: list[str]) -> Steps[str]:
    """Stage each file by its name, so that the gate sees what goes in; returns what went wrong."""
    files: list[str] = []
    for path in paths:
        if path.endswith("/"):  # git names a folder it does not know yet, not its files
            found = yield from ask("glob", {"pattern": "**", "path": path.rstrip("/")})
            names, all_there = listed(found, "no files match")
            if refused(found) or not all_there:
                return f"{path}: too many new files, or not to be listed; stage them by hand"
            files += names
        else:
            files.append(path)
    if not files:
        return ""
    result = yield from ask("git_add", {"files": files})
    return result if refused(result) or not all(map(_CHANGED.fullmatch, result.splitlines())) else ""


def _unquoted(path: str) -> str:
    if not path.startswith('"'):
        return path
    return path[1:-1].encode("latin-1", "replace").decode("unicode_escape").encode("latin-1").decode("utf-8", "replace")
