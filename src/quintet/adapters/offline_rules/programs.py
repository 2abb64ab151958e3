"""One small program per intent, over the same tools as any model.

A program is a generator: it yields tool calls, is sent each call's result as text, and returns what it has to say,
with the evidence. It holds no state: the same results give the same next call, so a run can be resumed at any step.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Generator
from typing import Any

from msgspec import Struct

from quintet.adapters.offline_rules.intents import Find, GitDiff, GitStatus, Intent, Replace, RunTests


class Call(Struct, frozen=True):
    tool: str
    arguments: dict[str, Any]


class Said(Struct, frozen=True):
    text: str
    done: bool = True


Program = Generator[Call, str, Said]
MOST_SHOWN = 40
_WHOLE = 1_000_000
_CUT = re.compile(r"… \(\d+ characters\)$", re.M)


def program(intent: Intent) -> Program:
    match intent:
        case Replace():
            return _replace(intent)
        case Find():
            return _find(intent)
        case RunTests():
            return _tests()
        case GitStatus():
            return _show("git_status", {}, "Status:")
        case GitDiff():
            return _show("git_diff_staged" if intent.staged else "git_diff_unstaged", {}, "")


def needs(intent: Intent) -> frozenset[str]:
    """The tools an intent cannot do without."""
    match intent:
        case Replace():
            return frozenset({"grep", "Read", "Edit"})
        case RunTests():
            return frozenset({"glob", "bash"})
        case _:
            return frozenset()


def _show(tool: str, arguments: dict[str, Any], heading: str) -> Program:
    output = yield Call(tool, arguments)
    return Said(f"{heading}\n{output}".strip(), not _refused(output))


def _find(intent: Find) -> Program:
    word = re.escape(intent.what)
    patterns = {
        "text": word,
        "usages": rf"\b{word}\b",
        "definition": rf"^\s*(?:async\s+def|def|class|func|fn|function|const|let|var|type|struct|enum|trait)\s+{word}\b"
        rf"|^{word}\s*[:=]",
    }
    found = yield Call("grep", {"pattern": patterns[intent.kind], "output_mode": "content"})
    if _refused(found):
        return Said(found, done=False)
    about = intent.what if intent.kind == "text" else f"{intent.kind} of {intent.what}"
    if found == "no matches":
        return Said(f"{about}: nothing found in the project.")
    lines = found.splitlines()
    more = f"\n… and {len(lines) - MOST_SHOWN} more" if len(lines) > MOST_SHOWN else ""
    places = "place" if len(lines) == 1 else "places"
    return Said(f"{about}: {len(lines)} {places}\n" + "\n".join(lines[:MOST_SHOWN]) + more)


def _replace(intent: Replace) -> Program:
    files: list[str] = []
    for where in intent.where or ("",):
        arguments = {"pattern": re.escape(intent.old)} | ({"glob": _glob(where)} if where else {})
        found = yield Call("grep", arguments)
        if _refused(found):
            return Said(found, done=False)
        files += [f for f in found.splitlines() if f not in files] if found != "no matches" else []
    if not files:
        place = f" in {', '.join(intent.where)}" if intent.where else ""
        return Said(f"Nothing replaced: “{intent.old}” does not occur{place}.", done=False)
    counts: dict[str, int] = {}
    whole = True  # every line was shown to its end
    for path in files:
        shown = yield Call("Read", {"file_path": path, "limit": _WHOLE})
        if _refused(shown):
            return Said(shown, done=False)
        text = _unnumbered(shown)
        whole = whole and not _CUT.search(shown)
        counts[path] = text.count(intent.old)
        after = text.replace(intent.old, intent.new)
        if path.endswith(".py") and _parses(text) and not _parses(after):
            return Said(f"Nothing replaced: {path} would no longer parse as Python.", done=False)
    done: list[str] = []
    for path in files:
        edit = {"file_path": path, "old_string": intent.old, "new_string": intent.new, "replace_all": True}
        result = yield Call("Edit", edit)
        if not result.startswith("--- "):
            changed = f" Changed before that: {', '.join(done)}." if done else ""
            return Said(f"{path}: {result}{changed}", done=False)
        done.append(path)
    left = ""
    if intent.old not in intent.new:
        left = yield Call("grep", {"pattern": re.escape(intent.old), "glob": "{" + ",".join(done) + "}"})
    places = sum(counts.values())
    listed = "\n".join(f"  {path}  {counts[path]}" for path in done)
    checked = [f"read back: “{intent.old}” is gone from them"] if left == "no matches" else []
    checked += ["Python files still parse"] if whole and any(p.endswith(".py") for p in done) else []
    evidence = f"\nchecked  {'; '.join(checked)}" if checked else ""
    return Said(
        f"Replaced “{intent.old}” with “{intent.new}”: {places} place{'s'[: places != 1]} in "
        f"{len(done)} file{'s'[: len(done) != 1]}\n{listed}{evidence}"
    )


def _tests() -> Program:
    marks = yield Call(
        "glob",
        {"pattern": "{pyproject.toml,pytest.ini,conftest.py,package.json,Cargo.toml,go.mod,Makefile,test*/**/*.py}"},
    )
    names = marks.splitlines()
    command = _test_command(names)
    if command is None and any(n.endswith(".py") for n in names):
        uses = yield Call("grep", {"pattern": r"^\s*(?:import|from) pytest\b|^def test_", "glob": "*.py"})
        command = "python3 -m unittest discover -s tests" if uses == "no matches" else "python3 -m pytest -q"
    if command is None:
        return Said(
            "No tests run: found no pyproject.toml, tests/, package.json, Cargo.toml, go.mod or Makefile.", False
        )
    output = yield Call("bash", {"command": command, "timeout": 600, "description": "run the tests"})
    if _refused(output):
        return Said(f"Tests not run. {output}", done=False)
    passed = output.rstrip().endswith("exit 0")
    return Said(f"Tests {'passed' if passed else 'FAILED'}: {command}\n{_gist(output)}", passed)


def _test_command(names: list[str]) -> str | None:
    if "Cargo.toml" in names:
        return "cargo test"
    if "go.mod" in names:
        return "go test ./..."
    if "package.json" in names:
        return "npm test"
    if "pytest.ini" in names or any(name.endswith("conftest.py") for name in names):
        return "python3 -m pytest -q"
    if not any(name.endswith(".py") for name in names) and "Makefile" in names:
        return "make test"
    return None


def _gist(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip() and set(line) - set("-=. ")]
    return "\n".join(f"  {line}" for line in lines[-6:])


def _glob(where: str) -> str:
    """A file, a folder or a glob as ripgrep wants it."""
    where = where.removeprefix("./")
    return f"{where}**" if where.endswith("/") else where


def _refused(output: str) -> bool:
    return output.startswith(("not run", "interrupted", "fatal: "))


def _unnumbered(shown: str) -> str:
    """A file's text from Read's numbered lines."""
    return "\n".join(line.partition("\t")[2] for line in shown.split("\n"))


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return True
