"""What can be asked of the offline rules: eight intents, each a value with its arguments."""

from __future__ import annotations

from msgspec import Struct


class Rename(Struct, frozen=True):
    old: str
    new: str
    kind: str = ""  # function | class | method | variable, if the request says so
    owner: str = ""  # the class of a method
    where: str = ""  # the file of the definition


class Replace(Struct, frozen=True):
    old: str
    new: str
    where: tuple[str, ...] = ()


class Find(Struct, frozen=True):
    what: str
    kind: str  # text | definition | usages
    where: tuple[str, ...] = ()


class Summarise(Struct, frozen=True):
    pass


class RunTests(Struct, frozen=True):
    runner: str = ""  # the one the request names


class LintOrFormat(Struct, frozen=True):
    """Lint, format, or both."""

    lint: bool = True
    format: bool = False


class AddFile(Struct, frozen=True):
    path: str
    content: str = ""


class MoveFile(Struct, frozen=True):
    path: str
    to: str


class DeleteFile(Struct, frozen=True):
    path: str


class GitStatus(Struct, frozen=True):
    pass


class GitDiff(Struct, frozen=True):
    staged: bool = False
    target: str = ""


class GitLog(Struct, frozen=True):
    count: int = 10


class GitCommit(Struct, frozen=True):
    message: str
    everything: bool = False  # stage all changes first


Intent = (
    Rename
    | Replace
    | Find
    | Summarise
    | RunTests
    | LintOrFormat
    | AddFile
    | MoveFile
    | DeleteFile
    | GitStatus
    | GitDiff
    | GitLog
    | GitCommit
)

CAN_DO: tuple[tuple[str, str], ...] = (
    ("rename load_config to read_config", "rename a Python function, class, method or module variable"),
    ('replace "old text" with "new text" in src/*.py', "replace text in chosen files"),
    (
        "find load_config, find the definition of load_config",
        'find text (a plain word as "errors"), definitions, usages',
    ),
    ("summarise the project", "describe the project: languages, size, tests, commits"),
    ("run the tests", "run the project's tests"),
    ("lint the code, format the code", "lint and format with the project's own tools"),
    ("create the file notes.txt, move a.py to src/, delete a.txt", "add, move or delete a file"),
    ("git status, show the diff, show the last 5 commits", "show what changed"),
    ('commit all changes with message "Fix the parser"', "commit"),
)
