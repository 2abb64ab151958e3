"""One small program per intent, over the same tools as any model; and a request as a plan of them."""

from __future__ import annotations

import re

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
    MoveFile,
    Rename,
    Replace,
    RunTests,
    Summarise,
    Tidy,
)
from quintet.adapters.offline_rules.lint_format import tidy
from quintet.adapters.offline_rules.phrasing import parse
from quintet.adapters.offline_rules.program_steps import Program, SayStep, ask, refused, shown_lines
from quintet.adapters.offline_rules.rename import rename
from quintet.adapters.offline_rules.replace import as_glob, replace
from quintet.adapters.offline_rules.run_tests import run_tests
from quintet.adapters.offline_rules.summarise import summarise
from quintet.domain.base.wording import counted
from quintet.domain.tasks.page import plan_text
from quintet.domain.tasks.request_split import Piece, pieces
from quintet.domain.tasks.task import Mutation, TaskText

MOST_TITLE = 80
_CHANGING = (AddFile, DeleteFile, GitCommit, MoveFile, Rename, Replace)


def program(intent: Intent, *, tests_follow: bool = False) -> Program:
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
        case Tidy():
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
        glob = {"glob": as_glob(where)} if where else {}
        found = yield from ask("grep", {"pattern": patterns[intent.kind], "output_mode": "content"} | glob)
        if refused(found):
            return SayStep(found, done=False)
        lines += found.splitlines() if found != "no matches" else []
    about = intent.what if intent.kind == "text" else f"{intent.kind} of {intent.what}"
    if not lines:
        return SayStep(f"{about}: nothing found in {', '.join(intent.where) or 'the project'}.")
    return SayStep(f"{about}: {counted(len(lines), 'place')}\n{shown_lines(lines)}")


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
