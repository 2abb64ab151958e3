"""The paths that a program could not open, read from what it printed. Pure.

A line that says that something is not there, or not allowed, names what the program tried to open. Whether that stands
on this machine, hidden by the sandbox, is for a look to say; nothing is concluded from the words alone.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from quintet.domain.base.lazy_regex import regex

MOST_LINES = 400  # the last ones
MOST_PATHS = 40
MOST_TOLD = 3
_SIGNS = (
    *("no such file", "not found", "cannot find", "can't find", "could not find", "does not exist", "enoent"),
    *("can't open", "cannot open", "could not open", "unable to open", "permission denied", "not a directory"),
    *("no module named", "bad interpreter", "read-only file system", "cannot execute", "failed to load"),
    "not a git repository",
)
_WORD = r"[^\s'\"`:;,()<>\[\]|*?]"
_PATH = regex(rf"(?<=['\"`])[^'\"`\n]*/[^'\"`\n]+(?=['\"`])|(?<![\w./~:-]){_WORD}*/{_WORD}+")
_ABSOLUTE = regex(r"(?<![\w./~-])/[\w.@+/-]+")
_KEY = regex(r"(?i)\bload (?:public |private )?key\b|\bidentity file\b")  # never to be shown
_SHEBANG = regex(r"#!\s*(/\S+)(?:\s+(/\S+))?")


def says_missing(text: str) -> bool:
    """Whether a program says that something is not there, or not allowed."""
    low = text.lower()
    return any(sign in low for sign in _SIGNS)


def named_in(script: str) -> tuple[str, ...]:
    """The absolute paths that a script names."""
    return tuple(dict.fromkeys(posixpath.normpath(path) for path in _ABSOLUTE.findall(script)))[:MOST_PATHS]


def tried(text: str, cwd: str, home: str) -> tuple[str, ...]:
    """Absolute paths that a failed program named as missing or closed, the last ones first; each once. No keys."""
    found: dict[str, None] = {}
    for line in reversed(text.splitlines()[-MOST_LINES:]):
        if says_missing(line) and not _KEY.search(line):
            for path in _paths(line, cwd, home):
                found.setdefault(path)
                if len(found) >= MOST_PATHS:
                    return tuple(found)
    return tuple(found)


def _paths(line: str, cwd: str, home: str) -> Iterator[str]:
    for match in _PATH.finditer(line):
        path = match[0].rstrip(".")
        whole = f"{home}{path[1:]}" if path[:2] == "~/" else path
        if "\0" not in whole and len(whole) < 1000:
            yield posixpath.normpath(posixpath.join(cwd, whole))


def interpreters(first: bytes) -> tuple[str, ...]:
    """The programs that the first line of a script names by their paths."""
    found = _SHEBANG.match(first.partition(b"\n")[0].decode("utf-8", "replace"))
    return tuple(filter(None, found.groups())) if found else ()


def shown_as(path: str, home: str) -> str:
    return f"~/{path[len(home) + 1 :]}" if path.startswith(f"{home}/") else path


def note(path: str, entry: str) -> str:
    """`entry`: what the user would have to show."""
    return f'Hidden by the sandbox: {path}. To show it, the user can set: sandbox.show = ["{entry}"]'
