"""Changes to files, each with the edits that make it and those that take it back exactly, and their proof by tests."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from msgspec import Struct

from quintet.adapters.offline_rules.intents import RunTests
from quintet.adapters.offline_rules.program_steps import PlannedCall, SayStep, Step, Steps
from quintet.adapters.offline_rules.project_checks import (
    TestRun,
    command_if_unasked,
    command_of,
    no_worse,
    run_command,
    tests_said,
)

NEAR = 3  # changed lines with at most so many between them are one edit
PROSE = (".md", ".rst", ".txt", ".adoc")


class FileEdits(Struct, frozen=True):
    path: str
    edits: tuple[PlannedCall, ...]
    undo: tuple[PlannedCall, ...]  # in the order they have to be made


class EditProof(Struct, frozen=True):
    """What the tests said of a change; `refuted` if it was taken back because of them."""

    checked: str = ""
    not_verified: str = ""
    refuted: str = ""
    tests: SayStep | None = None  # their report, where the request wants them run after the change


def evidence(checked: Sequence[str], proof: EditProof) -> str:
    """The last lines of a report: what was checked, and what was not."""
    rows = [f"checked  {'; '.join(found)}"] if (found := [*filter(None, (*checked, proof.checked))]) else []
    rows += [f"not verified  {proof.not_verified}"] if proof.not_verified else []
    return "".join(f"\n{row}" for row in rows)


def whole_text_change(path: str, before: str, after: str, old: str, new: str, *, exact: bool) -> FileEdits:
    """Every `old` becomes `new`: one edit where that can be taken back by one, or `before` is not exactly the file's
    text; else line by line."""
    if not exact or (new and after.replace(new, old) == before):
        return FileEdits(path, (_edit(path, old, new, every=True),), (_edit(path, new, old, every=True),))
    return line_change(path, before, after)


def line_change(path: str, before: str, after: str) -> FileEdits:
    """The edits that turn `before` into `after`, each with lines around it until it can only mean one place."""
    old_lines, new_lines = before.split("\n"), after.split("\n")
    blocks = [
        list(op[1:]) for op in SequenceMatcher(None, old_lines, new_lines, False).get_opcodes() if op[0] != "equal"
    ]
    merged: list[list[int]] = []
    for block in blocks:
        if merged and block[0] - merged[-1][1] <= NEAR:
            merged[-1][1], merged[-1][3] = block[1], block[3]
        else:
            merged.append(block)
    edits: list[PlannedCall] = []
    undo: list[PlannedCall] = []
    # From the last to the first, so that what stands before an edit is still as it was.
    for low, high, new_low, new_high in reversed(merged):
        before_it, after_it, fresh = old_lines[:low], new_lines[new_high:], new_lines[new_low:new_high]
        now, then = "\n".join([*old_lines[:high], *after_it]), "\n".join([*before_it, *fresh, *after_it])
        for around in range(max(len(before_it), len(after_it)) + 1):
            first, tail = max(low - around, 0), after_it[:around]
            old = "\n".join([*old_lines[first:high], *tail])
            new = "\n".join([*old_lines[first:low], *fresh, *tail])
            offset = sum(len(line) + 1 for line in old_lines[:first])
            if _only_at(old, now, offset) and _only_at(new, then, offset):
                break
        edits.append(_edit(path, old, new))
        undo.insert(0, _edit(path, new, old))
    return FileEdits(path, tuple(edits), tuple(undo))


def _only_at(part: str, text: str, offset: int) -> bool:
    return bool(part) and text.find(part) == offset and text.count(part) == 1


def _edit(path: str, old: str, new: str, *, every: bool = False) -> PlannedCall:
    return PlannedCall("Edit", {"file_path": path, "old_string": old, "new_string": new, "replace_all": every})


def make(changes: Sequence[FileEdits]) -> Steps[tuple[list[FileEdits], str]]:
    """Make the changes, up to the first that fails; returns what was made, and what went wrong."""
    results = iter((yield from _carry_out([call for change in changes for call in change.edits])))
    made: list[FileEdits] = []
    problem = ""
    for change in changes:
        outcomes = [next(results, "not run") for _ in change.edits]
        good = [_went_well(call, outcome) for call, outcome in zip(change.edits, outcomes, strict=True)]
        if not all(good):
            problem = problem or f"{change.path}: {outcomes[good.index(False)]}"
        undo = [call for call, done in zip(reversed(change.undo), good, strict=True) if done]
        if undo:
            made.append(FileEdits(change.path, change.edits, tuple(reversed(undo))))
    return made, problem


def take_back(made: Sequence[FileEdits]) -> Steps[str]:
    """Undo the changes; says how that went, in a sentence."""
    calls = [call for change in reversed(made) for call in change.undo]
    results = yield from _carry_out(calls)
    if len(results) == len(calls) and all(map(_went_well, calls, results)):
        return "Rolled back: nothing is changed."
    return f"The rollback was not complete. Check {', '.join(change.path for change in made)}."


def _carry_out(calls: Sequence[PlannedCall]) -> Steps[list[str]]:
    """All in one step, so that whoever is asked about them is asked once, about the whole change."""
    return (yield Step(tuple(calls))) if calls else []


def _went_well(call: PlannedCall, result: str) -> bool:
    if call.tool == "fs_move":
        return result == f"{call.arguments['source']} → {call.arguments['destination']}"
    return result.startswith("--- ")


def prove(made: Sequence[FileEdits], old: str, new: str, wanted: RunTests | None = None) -> Steps[EditProof]:
    """Run the project's tests, if they run without approval or the request wants them. Where they fail they are run
    again without the change: a change that breaks nothing stays."""
    if all(change.path.endswith(PROSE) for change in made):
        return EditProof()
    command = yield from (command_of(wanted) if wanted else command_if_unasked())
    if command is None:
        return EditProof(not_verified="by tests: running them needs approval here")
    if not command:
        return EditProof() if wanted else EditProof(not_verified="by tests: found none")
    after = yield from run_command(command)
    if wanted and (after.passed or not after.ran or not after.began):
        return EditProof(tests=tests_said(after))
    if not after.ran:
        return EditProof(not_verified=f"by tests: {after.output}")
    if not after.began:
        return EditProof(not_verified=f"by tests: {command} cannot run here ({after.last_word})")
    if after.passed:
        return EditProof(f"tests pass: {command} ({after.last_word})")
    back = yield from take_back(made)
    before = yield from run_command(command)
    if before.passed or not before.ran or not no_worse(after, _renamed(before, old, new)):
        told = "\n".join(f"  {line}" for line in after.gist)
        return EditProof(refuted=f"The tests fail with it: {command}\n{told}\n{back}")
    _, problem = yield from make(made)
    if problem:
        return EditProof(refuted=f"It could not be repeated: {problem}")
    same = f"tests fail as they did before: {command} ({after.last_word})"
    return EditProof(same, tests=tests_said(after) if wanted else None)


def _renamed(run: TestRun, old: str, new: str) -> TestRun:
    """The run with the names the change gave: a failing test may itself have been renamed."""
    return TestRun(run.command, run.output.replace(old, new))
