"""A summary of the project from facts that can be looked up: nothing in it is judged or guessed."""

from __future__ import annotations

import re
import tomllib
from collections import Counter

from quintet.adapters.offline_rules.program_steps import Program, SayStep, Steps, ask, listed, read_all, refused
from quintet.domain.base import wire_json
from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import counted

LANGUAGES = {
    suffix: name
    for name, suffixes in (
        ("Python", ".py .pyi"),
        ("JavaScript", ".js .jsx .mjs"),
        ("TypeScript", ".ts .tsx"),
        ("Rust", ".rs"),
        ("Go", ".go"),
        ("C", ".c .h"),
        ("C++", ".cc .cpp .hpp"),
        ("Java", ".java"),
        ("Kotlin", ".kt"),
        ("Ruby", ".rb"),
        ("PHP", ".php"),
        ("Swift", ".swift"),
        ("shell", ".sh .bash"),
        ("SQL", ".sql"),
        ("HTML", ".html"),
        ("CSS", ".css"),
        ("Markdown", ".md"),
        ("reStructuredText", ".rst"),
    )
    for suffix in suffixes.split()
}
ENTRIES = regex(r"(?:.*/)?(?:__main__\.py|manage\.py|main\.(?:py|go|rs|c|cpp|ts|js))")
TESTS = regex(r"(?:.*/)?(?:test_[^/]*\.py|[^/]*_test\.(?:py|go)|[^/]*\.(?:test|spec)\.[jt]sx?)")
COMMITS = 3
MOST_LANGUAGES = 6
MOST_ENTRIES = 8


def summarise() -> Program:
    counts = yield from ask("grep", {"pattern": "", "output_mode": "count"})
    if refused(counts):
        return SayStep(counts, done=False)
    rows, all_there = listed(counts)
    lines = {path: int(count) for path, _, count in (row.rpartition(":") for row in rows) if count.isdigit()}
    if not lines:
        return SayStep("The project has no text files.")
    facts = [("name", (yield from _first_line(list(lines))))]
    more = "" if all_there else " and more; counted are the first"
    facts.append(("size", f"{counted(len(lines), 'text file')}, {counted(sum(lines.values()), 'line')}{more}"))
    facts.append(("languages", _languages(lines)))
    facts.append(("entries", (yield from _entries(list(lines)))))
    tests = [path for path in lines if TESTS.fullmatch(path)]
    facts.append(
        ("tests", f"{counted(len(tests), 'file')}, {counted(sum(lines[t] for t in tests), 'line')}" if tests else "")
    )
    log = yield from ask("git_log", {"max_count": COMMITS})
    commits = [row for row in log.splitlines() if re.match(r"[0-9a-f]{7,40}  \d{4}-", row)]
    facts.append(("commits", "\n           ".join(commits)))
    return SayStep("\n".join(f"{name:<9}  {value or 'none found'}" for name, value in facts))


def _languages(lines: dict[str, int]) -> str:
    files: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for path, count in lines.items():
        name = LANGUAGES.get("." + path.rpartition("/")[2].rpartition(".")[2].lower())
        if name:
            files[name] += 1
            sizes[name] += count
    order = sorted(sizes, key=lambda name: (-sizes[name], name))[:MOST_LANGUAGES]
    return ", ".join(f"{name} ({counted(files[name], 'file')}, {counted(sizes[name], 'line')})" for name in order)


def _first_line(paths: list[str]) -> Steps[str]:
    readmes = sorted(path for path in paths if re.fullmatch(r"readme(?:\.\w+)?", path, re.I))
    if not readmes:
        return ""
    (shown,) = yield from read_all(readmes[:1])
    line = next((line for line in shown.text.splitlines() if line.strip()), "")
    return f"{line.strip('#= ').strip()}  ({readmes[0]})" if line else ""


def _entries(paths: list[str]) -> Steps[str]:
    found = [path for path in paths if ENTRIES.fullmatch(path)]
    if "pyproject.toml" in paths:
        (shown,) = yield from read_all(["pyproject.toml"])
        try:
            scripts = tomllib.loads(shown.text).get("project", {}).get("scripts", {})
            found += [f"{name} = {target}" for name, target in scripts.items()]
        except (tomllib.TOMLDecodeError, AttributeError, RecursionError):
            pass
    if "package.json" in paths:
        (shown,) = yield from read_all(["package.json"])
        try:
            package = wire_json.decode(shown.text)
            found += [f"{key}: {package[key]}" for key in ("main", "bin") if package.get(key)]
        except (ValueError, AttributeError, TypeError):
            pass
    return ", ".join(found[:MOST_ENTRIES])
