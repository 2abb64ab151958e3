"""Rename a Python symbol: search, read, plan, edit, read back, run the tests; or refuse, or roll back."""

from __future__ import annotations

import re

from quintet.adapters.offline_rules.edits import evidence, line_change, make, prove, take_back
from quintet.adapters.offline_rules.intents import Rename
from quintet.adapters.offline_rules.program_steps import (
    Program,
    SayStep,
    Steps,
    ask,
    counted,
    listed,
    parsed,
    read_all,
    refused,
    shown_lines,
)
from quintet.adapters.offline_rules.python_source import ParsedSource
from quintet.adapters.offline_rules.rename_plan import RenamePlan, plan_rename

MOST_ROUNDS = 8  # of following imports into files that do not have the name themselves
MOST_MENTIONS = 20


def rename(intent: Rename, tests_follow: bool) -> Program:
    word = rf"\b{intent.old}\b"
    found = yield from ask("grep", {"pattern": word, "glob": "*.py"})
    if refused(found):
        return SayStep(found, done=False)
    paths, all_there = listed(found)
    if not paths:
        return SayStep(
            f"Nothing renamed: {intent.old} does not occur in a Python file of the project.", done=False, already=True
        )
    if not all_there:
        return SayStep(f"Nothing renamed: {intent.old} occurs in too many files to be followed.", done=False)
    plan, before = yield from _plan(intent, paths)
    if plan.refusal:
        return SayStep(plan.refusal, done=False)
    broken = [path for path, text in plan.texts.items() if not parsed(text)]
    if broken:
        return SayStep(f"Nothing renamed: {', '.join(broken)} would no longer compile as Python.", done=False)
    elsewhere = yield from ask("grep", {"pattern": word, "glob": "!*.py", "output_mode": "content"})
    changes = [line_change(path, before[path], text) for path, text in plan.texts.items()]
    made, problem = yield from make(changes)
    if not problem:
        again = yield from read_all(list(plan.texts))
        odd = [shown.path for shown in again if shown.text != plan.texts[shown.path]]
        problem = f"{', '.join(odd)} did not come out as planned" if odd else ""
    if problem:
        back = (yield from take_back(made)) if made else "No file was changed."
        return SayStep(f"Nothing renamed. {problem}\n{back}", done=False)
    proof = yield from prove(made, intent.old, intent.new, tests_follow=tests_follow)
    if proof.refuted:
        return SayStep(f"Not renamed: {plan.what} to {intent.new}. {proof.refuted}", done=False)
    places = sum(plan.counts.values())
    head = f"Renamed {plan.what} to {intent.new}: {counted(places, 'place')} in {counted(len(made), 'file')}"
    rows = [f"  {path}  {count}" for path, count in plan.counts.items()]
    mentions = [f"  {line}" for line in (*plan.mentions, *listed(elsewhere)[0])]
    left = [f"left as they are, in strings, comments and other files: {len(mentions)}"] if mentions else []
    report = "\n".join([head, *rows, *left, *([shown_lines(mentions, MOST_MENTIONS)] if left else [])])
    return SayStep(report + evidence(["read back, only these places changed", "Python files compile"], proof))


def _plan(intent: Rename, paths: list[str]) -> Steps[tuple[RenamePlan, dict[str, str]]]:
    """Read what has the name, and what has to be known to follow it."""
    sources: dict[str, ParsedSource] = {}
    located: dict[str, list[str]] = {}
    wanted = paths
    for _ in range(MOST_ROUNDS):
        for shown in (yield from read_all(wanted)):
            if shown.problem or not shown.whole:
                why = shown.problem or f"{shown.path} has a line too long to be read whole"
                return RenamePlan(f"Nothing renamed: {why}"), {}
            sources[shown.path] = ParsedSource(shown.path, shown.text, intent.old)
        plan = plan_rename(intent, sources, located)
        if stems := sorted(plan.wanted_stems):
            files = yield from ask(
                "glob", {"pattern": "{" + ",".join(f"{s}.py,{s}/__init__.py" for s in map(_unrooted, stems)) + "}"}
            )
            found, all_there = listed(files, "no files match")
            if refused(files) or not all_there:
                return RenamePlan(f"Nothing renamed: the imports could not be followed. {files.splitlines()[-1]}"), {}
            for stem in stems:
                above = "" if stem.startswith("/") else "(?:.*/)?"
                file = re.compile(rf"{above}{re.escape(_unrooted(stem).removeprefix('**/'))}(?:/__init__)?\.py")
                located[stem] = [path for path in found if file.fullmatch(path)]
        wanted = sorted(plan.wanted_files - set(sources))
        if not stems and not wanted:
            return plan, {path: source.text for path, source in sources.items()}
    return RenamePlan(f"Nothing renamed: the imports of {intent.old} lead too far to be followed."), {}


def _unrooted(stem: str) -> str:
    """A stem as a glob has it: a pattern with a slash in it counts from the project anyway."""
    return stem.removeprefix("/")
