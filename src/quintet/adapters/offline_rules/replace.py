"""Replace text in chosen files: search, read, check, edit, read back, run the tests; or refuse, or roll back."""

from __future__ import annotations

import re

from quintet.adapters.offline_rules.edits import EditProof, FileEdits, evidence, make, prove, whole_text_change
from quintet.adapters.offline_rules.intents import Replace
from quintet.adapters.offline_rules.program_steps import Program, SayStep, Steps, ask, listed, parsed, read_all, refused
from quintet.domain.base.wording import counted


def replace(intent: Replace, tests_follow: bool) -> Program:
    pattern = re.escape(intent.old)
    files: list[str] = []
    for where in intent.where or ("",):
        found = yield from ask("grep", {"pattern": pattern} | ({"glob": as_glob(where)} if where else {}))
        paths, all_there = listed(found)
        if refused(found) or not all_there:
            return SayStep(
                found if refused(found) else f"Nothing replaced: “{intent.old}” is in too many files.", done=False
            )
        files += [path for path in paths if path not in files]
    if not files:
        place = f" in {', '.join(intent.where)}" if intent.where else ""
        return SayStep(f"Nothing replaced: “{intent.old}” does not occur{place}.", done=False, already=True)
    counts: dict[str, int] = {}
    changes: list[FileEdits] = []
    whole = True
    for shown in (yield from read_all(files)):
        if shown.problem:
            return SayStep(shown.problem, done=False)
        whole = whole and shown.whole
        counts[shown.path] = shown.text.count(intent.old)
        after = shown.text.replace(intent.old, intent.new)
        if shown.path.endswith(".py") and parsed(shown.text) and not parsed(after):
            return SayStep(f"Nothing replaced: {shown.path} would no longer parse as Python.", done=False)
        changes.append(whole_text_change(shown.path, shown.text, after, intent.old, intent.new, exact=shown.whole))
    made, problem = yield from make(changes)
    done = [change.path for change in made]
    if problem:
        changed = f" Changed before that: {', '.join(done)}." if done else ""
        return SayStep(f"{problem}{changed}", done=False)
    checked = yield from _read_back(intent, done)
    checked += ["Python files still parse"] if whole and any(path.endswith(".py") for path in done) else []
    proof = EditProof(not_verified="by tests: a line is too long to be read whole")
    if whole:
        proof = yield from prove(made, intent.old, intent.new, tests_follow=tests_follow)
    if proof.refuted:
        return SayStep(f"Not replaced: “{intent.old}” with “{intent.new}”. {proof.refuted}", done=False)
    places = sum(counts.values())
    rows = "\n".join(f"  {path}  {counts[path]}" for path in done)
    return SayStep(
        f"Replaced “{intent.old}” with “{intent.new}”: {counted(places, 'place')} in "
        f"{counted(len(done), 'file')}\n{rows}{evidence(checked, proof)}"
    )


def _read_back(intent: Replace, done: list[str]) -> Steps[list[str]]:
    if intent.old in intent.new or not all(re.fullmatch(r"[\w./ @+-]+", path) for path in done):  # no glob could say it
        return []
    left = yield from ask("grep", {"pattern": re.escape(intent.old), "glob": "{" + ",".join(done) + "}"})
    return [f"read back: “{intent.old}” is gone from them"] if left == "no matches" else []


def as_glob(where: str) -> str:
    """A file, a folder or a glob as ripgrep wants it."""
    where = where.removeprefix("./")
    return f"{where}**" if where.endswith("/") else where
