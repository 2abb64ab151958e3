"""Add, move or delete one file. Nothing is ever overwritten, and a delete asks through the gate like any other."""

from __future__ import annotations

import re

from quintet.adapters.offline_rules.edits import FileEdits, evidence, make, prove
from quintet.adapters.offline_rules.intents import AddFile, DeleteFile, MoveFile
from quintet.adapters.offline_rules.program_steps import (
    PlannedCall,
    Program,
    SayStep,
    Steps,
    ask,
    listed,
    parsed,
    read_all,
    shown_lines,
)

FOLDER = "a folder, not a file"


def add_file(intent: AddFile) -> Program:
    (there,) = yield from read_all([intent.path])
    if not there.missing:
        same = not there.problem and there.text == intent.content
        problem = there.problem or f"{intent.path} is there already{', as given' if same else ''}"
        return SayStep(f"Nothing added: {problem}", done=False, already=same)
    content = f"{intent.content}\n" if intent.content else ""
    if intent.path.endswith(".py") and not parsed(content):
        return SayStep(f"Nothing added: the content of {intent.path} would not compile as Python.", done=False)
    result = yield from ask("Write", {"file_path": intent.path, "content": content})
    (again,) = yield from read_all([intent.path])
    if again.problem or again.text != intent.content:
        return SayStep(
            f"Nothing added: {result if again.missing else again.problem or 'it reads back otherwise'}", done=False
        )
    return SayStep(f"Added {intent.path}\nchecked  read back: {'as given' if content else 'empty'}")


def move_file(intent: MoveFile, tests_follow: bool) -> Program:
    here, there = yield from read_all([intent.path, intent.to])
    if here.missing:
        return SayStep(f"Nothing moved: there is no {intent.path}", done=False, already=not there.problem)
    if here.problem.endswith(FOLDER):
        return SayStep(f"Nothing moved: {here.problem}", done=False)
    if not there.missing:
        return SayStep(f"Nothing moved: {there.problem or f'{intent.to} is there already'}", done=False)
    importers = yield from _importers(intent.path)
    forth = PlannedCall("fs_move", {"source": intent.path, "destination": intent.to})
    back = PlannedCall("fs_move", {"source": intent.to, "destination": intent.path})
    made, problem = yield from make([FileEdits(intent.path, (forth,), (back,))])
    if problem:
        return SayStep(f"Nothing moved. {problem}", done=False)
    gone, again = yield from read_all([intent.path, intent.to])
    if not gone.missing or again.text != here.text:
        return SayStep(f"{intent.to} does not read as {intent.path} did. Look at both.", done=False)
    proof = yield from prove(made, intent.path, intent.to, tests_follow=tests_follow)
    if proof.refuted:
        return SayStep(f"Not moved: {intent.path} to {intent.to}. {proof.refuted}", done=False)
    return SayStep(f"Moved {intent.path} to {intent.to}{importers}{evidence(['it reads as before'], proof)}")


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
    return SayStep(f"Deleted {intent.path}{importers}\nchecked  it is gone")


def _importers(path: str) -> Steps[str]:
    """Lines that import a Python module by its last name, to be looked at: they are not changed."""
    name = re.sub(r"(?:/__init__)?\.py$", "", path).rpartition("/")[2]
    if not path.endswith(".py") or not name.isidentifier():
        return ""
    pattern = rf"^\s*(?:import|from)\s.*\b{name}\b"
    found = yield from ask("grep", {"pattern": pattern, "glob": "*.py", "output_mode": "content"})
    rows = [f"  {line}" for line in listed(found)[0] if not line.startswith(f"{path}:")]
    return f"\nimports that may mean it, not changed: {len(rows)}\n{shown_lines(rows, 20)}" if rows else ""
