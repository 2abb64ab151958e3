"""Files and git: add, move or delete one file; show status, diff and log; commit.

Nothing is ever overwritten, and a delete asks through the gate like any other.
"""

from __future__ import annotations

import re

from quintet.adapters.offline_rules.edits import FileEdits, evidence, make, prove
from quintet.adapters.offline_rules.intents import AddFile, DeleteFile, GitCommit, GitDiff, MoveFile, RunTests
from quintet.adapters.offline_rules.program_steps import (
    PlannedCall,
    Program,
    SayStep,
    Steps,
    ask,
    listed,
    parsed,
    read_all,
    refused,
    shown_lines,
)
from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import counted

FOLDER = "a folder, not a file"
_CHANGED = regex(r"(?P<staged>.)(?P<unstaged>.) (?P<path>.+)")
_COMMITTED = regex(r"[0-9a-f]{7,40} ")


def add_file(intent: AddFile) -> Program:
    (there,) = yield from read_all([intent.path])
    if not there.missing:
        same = not there.problem and there.text == intent.content
        problem = there.problem or f"{intent.path} already exists{', as given' if same else ''}"
        return SayStep(f"Nothing added: {problem}", done=False, already=same)
    content = f"{intent.content}\n" if intent.content else ""
    if intent.path.endswith(".py") and not parsed(content):
        return SayStep(f"Nothing added: the content of {intent.path} would not compile as Python.", done=False)
    result = yield from ask("Write", {"file_path": intent.path, "content": content})
    (again,) = yield from read_all([intent.path])
    if again.problem or again.text != intent.content:
        return SayStep(
            f"Nothing added: {result if again.missing else again.problem or 'the content is different when read back'}",
            done=False,
        )
    return SayStep(f"Added {intent.path}\nchecked  read back: {'as requested' if content else 'empty'}")


def move_file(intent: MoveFile, tests_follow: RunTests | None) -> Program:
    here, there = yield from read_all([intent.path, intent.to])
    if here.missing:
        return SayStep(f"Nothing moved: there is no {intent.path}", done=False, already=not there.problem)
    if here.problem.endswith(FOLDER):
        return SayStep(f"Nothing moved: {here.problem}", done=False)
    if not there.missing:
        return SayStep(f"Nothing moved: {there.problem or f'{intent.to} already exists'}", done=False)
    importers = yield from _importers(intent.path)
    forth = PlannedCall("fs_move", {"source": intent.path, "destination": intent.to})
    back = PlannedCall("fs_move", {"source": intent.to, "destination": intent.path})
    made, problem = yield from make([FileEdits(intent.path, (forth,), (back,))])
    if problem:
        return SayStep(f"Nothing moved. {problem}", done=False)
    gone, again = yield from read_all([intent.path, intent.to])
    if not gone.missing or again.text != here.text:
        return SayStep(f"{intent.to} is not the same as {intent.path} was. Check both.", done=False)
    proof = yield from prove(made, intent.path, intent.to, tests_follow)
    if proof.refuted:
        return SayStep(f"Not moved: {intent.path} to {intent.to}. {proof.refuted}", done=False, failed=True)
    checked = evidence(["the content is the same"], proof)
    return SayStep(f"Moved {intent.path} to {intent.to}{importers}{checked}", tests=proof.tests)


def delete_file(intent: DeleteFile) -> Program:
    (there,) = yield from read_all([intent.path])
    if there.missing:
        return SayStep(f"Nothing deleted: there is no {intent.path}", done=False, already=True)
    if there.problem.endswith(FOLDER):
        return SayStep(f"Nothing deleted: {there.problem}", done=False)
    importers = yield from _importers(intent.path)
    result = yield from ask("fs_delete", {"path": intent.path})
    (again,) = yield from read_all([intent.path])
    if not again.missing:
        return SayStep(f"Nothing deleted. {result}", done=False)
    return SayStep(f"Deleted {intent.path}{importers}\nchecked  it no longer exists")


def _importers(path: str) -> Steps[str]:
    """Lines that import a Python module by its last name, to be looked at: they are not changed."""
    name = re.sub(r"(?:/__init__)?\.py$", "", path).rpartition("/")[2]
    if not path.endswith(".py") or not name.isidentifier():
        return ""
    pattern = rf"^\s*(?:import|from)\s.*\b{name}\b"
    found = yield from ask("grep", {"pattern": pattern, "glob": "*.py", "output_mode": "content"})
    rows = [f"  {line}" for line in listed(found)[0] if not line.startswith(f"{path}:")]
    return f"\nimports that may refer to it, not changed: {len(rows)}\n{shown_lines(rows, 20)}" if rows else ""


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
    """Commit what is staged, or everything that changed."""
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
        newest = yield from ask("git_log", {"max_count": 1})
        subject = intent.message.partition("\n")[0]
        already = newest.rstrip().endswith(f"  {subject}")
        return SayStep(f"Nothing committed: nothing is {'staged' if rows else 'changed'}.{hint}", False, already)
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
                return f"{path}: too many new files, or they cannot be listed; stage them yourself"
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
