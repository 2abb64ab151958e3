"""One small program per intent, over the same tools as any model."""

from __future__ import annotations

import re

from quintet.adapters.offline_rules import files_steps as file_steps
from quintet.adapters.offline_rules import git_steps
from quintet.adapters.offline_rules import lint_format as tidying
from quintet.adapters.offline_rules import rename as renaming
from quintet.adapters.offline_rules import replace as replacing
from quintet.adapters.offline_rules import run_tests as own_tests
from quintet.adapters.offline_rules import summarise as project_facts
from quintet.adapters.offline_rules.intents import (
    AddFile,
    DeleteFile,
    Find,
    GitCommit,
    GitDiff,
    GitLog,
    GitStatus,
    Intent,
    MoveFile,
    Rename,
    Replace,
    RunTests,
    Summarise,
    Tidy,
)
from quintet.adapters.offline_rules.program_steps import Program, SayStep, ask, counted, refused, shown_lines


def program(intent: Intent, *, tests_follow: bool = False) -> Program:
    """The program of an intent; with `tests_follow` the request runs the tests itself right after."""
    match intent:
        case Rename():
            return renaming.rename(intent, tests_follow)
        case Replace():
            return replacing.replace(intent, tests_follow)
        case Find():
            return _find(intent)
        case Summarise():
            return project_facts.summarise()
        case RunTests():
            return own_tests.run_tests(intent.runner)
        case Tidy():
            return tidying.tidy(intent)
        case AddFile():
            return file_steps.add_file(intent)
        case MoveFile():
            return file_steps.move_file(intent, tests_follow)
        case DeleteFile():
            return file_steps.delete_file(intent)
        case GitStatus():
            return git_steps.show("git_status", {}, "Status:")
        case GitDiff():
            return git_steps.diff(intent)
        case GitLog():
            return git_steps.show("git_log", {"max_count": intent.count})
        case GitCommit():
            return git_steps.commit(intent)


def needs(intent: Intent) -> frozenset[str]:
    """The tools an intent cannot do without."""
    match intent:
        case Rename() | Replace():
            return frozenset({"grep", "Read", "Edit"})
        case RunTests() | Tidy():
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
    for where in intent.where or ("",):
        glob = {"glob": replacing.as_glob(where)} if where else {}
        found = yield from ask("grep", {"pattern": patterns[intent.kind], "output_mode": "content"} | glob)
        if refused(found):
            return SayStep(found, done=False)
        lines += found.splitlines() if found != "no matches" else []
    about = intent.what if intent.kind == "text" else f"{intent.kind} of {intent.what}"
    if not lines:
        return SayStep(f"{about}: nothing found in {', '.join(intent.where) or 'the project'}.")
    return SayStep(f"{about}: {counted(len(lines), 'place')}\n{shown_lines(lines)}")
