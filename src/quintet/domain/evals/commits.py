"""What a task is made of that stands for a commit: its request, its tests and the line that runs them. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath

_TEST_NAME = re.compile(r"(?:test_.*|.*_tests?|tests?|.*[.-](?:test|spec)|conftest)\.\w+$|^test\w*\.py$")
_TEST_FOLDERS = {"test", "tests", "__tests__", "spec", "testing"}
_TRAILER = re.compile(r"^[A-Z][\w-]+(?:-[Bb]y|-[Tt]o|-[Ii]d): |^(?:Closes|Fixes|Refs|See|Resolves)[ :]+#?\d+\.?$")
_NUMBER = re.compile(r"\s*\(#\d+\)$")
_RUNNERS = {".py": "python", ".js": "node", ".mjs": "node", ".cjs": "node", ".go": "go"}


def request_of(message: str) -> str:
    """A commit's message as a request: without its trailers and the number of a pull request."""
    lines = [line.rstrip() for line in message.strip().splitlines()]
    while lines and (not lines[-1] or _TRAILER.match(lines[-1])):
        lines.pop()
    return "\n".join([_NUMBER.sub("", lines[0]), *lines[1:]]).strip() if lines else ""


def is_test(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(_TEST_FOLDERS & set(parts[:-1])) or bool(_TEST_NAME.match(parts[-1]))


def runs_alone(path: str) -> bool:
    """Whether a test's file can be named to a runner; the others only help."""
    name = PurePosixPath(path).name
    return bool(_TEST_NAME.match(name)) and not name.startswith("conftest") and PurePosixPath(path).suffix in _RUNNERS


def lines_of(tests: Iterable[str], there: Collection[str]) -> list[str]:
    """The lines that may run these tests, likeliest first; `there` are all files of the repository."""
    files = sorted(path for path in tests if runs_alone(path))
    kinds = {_RUNNERS[PurePosixPath(path).suffix] for path in files}
    if len(kinds) != 1:
        return []
    named = shlex.join(files)
    match kinds.pop():
        case "python":
            source = "PYTHONPATH=src:. " if any(path.startswith("src/") for path in there) else ""
            modules = shlex.join(str(PurePosixPath(path).with_suffix("")).replace("/", ".") for path in files)
            return [f"{source}python3 -m pytest -q {named}", f"{source}python3 -m unittest -q {modules}"]
        case "node":
            return [f"node --test {named}"]
    folders = sorted({f"./{PurePosixPath(path).parent}" for path in files})
    return [f"go test {shlex.join(folders)}"]


def name_of(subject: str, commit: str) -> str:
    """A name for the task: the first words of what was asked for, and of which commit."""
    words: Sequence[str] = re.findall(r"[a-z0-9]+", subject.lower())[:5]
    return "-".join((*words, commit[:7]))
