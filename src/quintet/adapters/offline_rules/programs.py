"""One small program per intent, over the same tools as any model: find, replace, summarise; and a request as a plan.

Renames, files, git and the project's own checks have modules of their own. A replacement is searched, read, checked,
edited, read back and tested, or refused, or rolled back. A summary is made of facts that can be looked up.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter

from quintet.adapters.offline_rules.edits import EditProof, FileEdits, evidence, make, prove, whole_text_change
from quintet.adapters.offline_rules.files_and_git import add_file, commit, delete_file, diff, move_file, show
from quintet.adapters.offline_rules.intents import (
    AddFile,
    DeleteFile,
    Find,
    GitCommit,
    GitDiff,
    GitLog,
    GitStatus,
    Intent,
    LintOrFormat,
    MoveFile,
    Rename,
    Replace,
    RunTests,
    Summarise,
)
from quintet.adapters.offline_rules.phrasing import parse
from quintet.adapters.offline_rules.program_steps import (
    Program,
    SayStep,
    Steps,
    ask,
    listed,
    parsed,
    read_all,
    refused,
    shown_lines,
    unsearched,
)
from quintet.adapters.offline_rules.project_checks import run_tests, tidy
from quintet.adapters.offline_rules.rename import rename
from quintet.domain.base import wire_json
from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import counted
from quintet.domain.tasks.page import plan_text
from quintet.domain.tasks.request_split import Piece, pieces
from quintet.domain.tasks.task import Mutation, TaskText

MOST_TITLE = 80
_CHANGING = (AddFile, DeleteFile, GitCommit, MoveFile, Rename, Replace)
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


def program(intent: Intent, *, tests_follow: RunTests | None = None) -> Program:
    """The program of an intent; with `tests_follow` the request runs the tests itself right after."""
    match intent:
        case Rename():
            return rename(intent, tests_follow)
        case Replace():
            return replace(intent, tests_follow)
        case Find():
            return _find(intent)
        case Summarise():
            return summarise()
        case RunTests():
            return run_tests(intent.runner)
        case LintOrFormat():
            return tidy(intent)
        case AddFile():
            return add_file(intent)
        case MoveFile():
            return move_file(intent, tests_follow)
        case DeleteFile():
            return delete_file(intent)
        case GitStatus():
            return show("git_status", {}, "Status:")
        case GitDiff():
            return diff(intent)
        case GitLog():
            return show("git_log", {"max_count": intent.count})
        case GitCommit():
            return commit(intent)


def needs(intent: Intent) -> frozenset[str]:
    """The tools an intent cannot do without."""
    match intent:
        case Rename() | Replace():
            return frozenset({"grep", "Read", "Edit"})
        case RunTests() | LintOrFormat():
            return frozenset({"glob", "bash"})
        case AddFile():
            return frozenset({"Read", "Write"})
        case MoveFile():
            return frozenset({"Read", "fs_move"})
        case DeleteFile():
            return frozenset({"Read", "fs_delete"})
        case GitCommit():
            return frozenset({"git_add", "git_commit"})
        case _:
            return frozenset()


def _find(intent: Find) -> Program:
    word = re.escape(intent.what)
    patterns = {
        "text": word,
        "usages": rf"\b{word}\b",
        "definition": rf"^\s*(?:async\s+def|def|class|func|fn|function|const|let|var|type|struct|enum|trait)\s+{word}\b"
        rf"|^{word}\s*[:=]",
    }
    lines: list[str] = []
    note = ""
    for where in intent.where or ("",):
        glob = {"glob": as_glob(where)} if where else {}
        found = yield from ask("grep", {"pattern": patterns[intent.kind], "output_mode": "content"} | glob)
        if refused(found):
            return SayStep(found, done=False)
        places, all_there = listed(found)
        lines += places
        note = unsearched(found) or ("" if all_there else found.splitlines()[-1])
    about = intent.what if intent.kind == "text" else f"{intent.kind} of {intent.what}"
    if not lines:
        return SayStep(f"{about}: nothing found in {', '.join(intent.where) or 'the project'}.{_aside(note)}")
    return SayStep(f"{about}: {counted(len(lines), 'place')}\n{shown_lines(lines)}{_aside(note)}")


def _aside(note: str) -> str:
    return f"\n{note}" if note else ""


def plan(request: str) -> str | None:
    """The plan as text: each piece that the rules understand is a task, in the order and by the check it names.

    None if any piece is none of ours: half a request is not planned.
    """
    texts: list[TaskText] = []
    for number, piece in enumerate(pieces(request), 1):
        intents = parse(piece.text)
        if intents is None:
            return None
        before = texts[-1].id if piece.then and texts else ""
        texts.append(_task(f"task-{number:03}", piece, intents, before))
    return plan_text(texts) if texts else None


def _task(id: str, piece: Piece, intents: list[Intent], before: str) -> TaskText:
    title = " ".join(piece.text.split())
    changes = any(isinstance(intent, _CHANGING) for intent in intents)
    return TaskText(
        id,
        title if len(title) <= MOST_TITLE else f"{title[: MOST_TITLE - 1]}…",
        depends_on=(before,) if before else (),
        mutation=Mutation.PROJECT if changes else Mutation.NONE,
        verification=piece.verification,
        body=f"{piece.text}\n",
    )


def _occurs(text: str, where: tuple[str, ...]) -> Steps[bool]:
    """Whether a text stands in each of these places."""
    if not text:
        return False
    for one in where or ("",):
        found = yield from ask("grep", {"pattern": re.escape(text)} | ({"glob": as_glob(one)} if one else {}))
        if refused(found) or not listed(found)[0]:
            return False
    return True


def replace(intent: Replace, tests_follow: RunTests | None) -> Program:
    pattern = re.escape(intent.old)
    files: list[str] = []
    note = ""
    for where in intent.where or ("",):
        found = yield from ask("grep", {"pattern": pattern} | ({"glob": as_glob(where)} if where else {}))
        paths, all_there = listed(found)
        if refused(found) or not all_there:
            return SayStep(
                found if refused(found) else f"Nothing replaced: “{intent.old}” is in too many files.", done=False
            )
        files += [path for path in paths if path not in files]
        note = unsearched(found)
    if not files:
        place = f" in {', '.join(intent.where)}" if intent.where else ""
        already = yield from _occurs(intent.new, intent.where)
        return SayStep(f"Nothing replaced: “{intent.old}” does not occur{place}.{_aside(note)}", False, already)
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
    proof = EditProof(not_verified="by tests: a line is too long to read completely")
    if whole:
        proof = yield from prove(made, intent.old, intent.new, tests_follow)
    if proof.refuted:
        return SayStep(f"Not replaced: “{intent.old}” with “{intent.new}”. {proof.refuted}", done=False, failed=True)
    places = sum(counts.values())
    rows = "\n".join(f"  {path}  {counts[path]}" for path in done)
    return SayStep(
        f"Replaced “{intent.old}” with “{intent.new}”: {counted(places, 'place')} in "
        f"{counted(len(done), 'file')}\n{rows}{_aside(note)}{evidence(checked, proof)}",
        tests=proof.tests,
    )


def _read_back(intent: Replace, done: list[str]) -> Steps[list[str]]:
    if intent.old in intent.new or not all(re.fullmatch(r"[\w./ @+-]+", path) for path in done):  # no glob could say it
        return []
    left = yield from ask("grep", {"pattern": re.escape(intent.old), "glob": "{" + ",".join(done) + "}"})
    return [f"read back: “{intent.old}” was removed from them"] if not listed(left)[0] else []


def as_glob(where: str) -> str:
    """A file, a folder or a glob as ripgrep wants it."""
    where = where.removeprefix("./")
    return f"{where}**" if where.endswith("/") else where


def summarise() -> Program:
    counts = yield from ask("grep", {"pattern": "", "output_mode": "count"})
    if refused(counts):
        return SayStep(counts, done=False)
    rows, all_there = listed(counts)
    lines = {path: int(count) for path, _, count in (row.rpartition(":") for row in rows) if count.isdigit()}
    if not lines:
        return SayStep("The project has no text files.")
    facts = [("name", (yield from _first_line(list(lines))))]
    more = "" if all_there else " and more; only the first are counted"
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
