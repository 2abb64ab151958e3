"""Lines that may read without approval where no whole sandbox contains them: a closed table of programs and flags.

A line is plain if it is nothing but such commands, joined by pipes, and every word of it is bare or quoted as a whole.
Expansions, redirections, patterns, assignments, functions, lists, git, interpreters, absolute paths and `..` are not in
the table, and what is not in the table is not plain. The table says what a command reads; what stands at those paths,
links among them, is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import word_set
from quintet.domain.shell.syntax import Word

LONGEST = 4096
_BARE = r"[A-Za-z0-9_./,:=@%+-]++"
# Nothing in single quotes means anything to a shell; in double quotes four characters do.
_QUOTED = r"'[ -&(-~]*+'|\"[ #%-\[\]^_a-~]*+\""
_WORD = rf"(?:{_BARE}|{_QUOTED})"
_COMMAND = rf"{_WORD}(?: ++{_WORD})*+"
_LINE = regex(rf" *+{_COMMAND}(?: *+\| *+{_COMMAND})*+ *+", re.ASCII)
_PIECES = regex(rf"{_WORD}|\|", re.ASCII)
_NUMBER = regex(r"[0-9]{1,9}", re.ASCII)
_FIELDS = regex(r"[0-9][0-9,.-]{0,40}", re.ASCII)
_TEXT = regex(r"[ -~]*", re.ASCII)
_KINDS = {"n": _NUMBER, "f": _FIELDS, "t": _TEXT}


class _Row(Struct, frozen=True, gc=False):
    flags: str = ""  # letters that may stand together after one dash
    values: str = ""  # letters that take the next word, each with its kind: n number, f fields, t any text
    words: int = 0  # how many first operands are words of its own and no paths
    paths: int = 99  # the most operands that are paths
    numbered: bool = False  # `-20` says how many


_PLAIN: dict[str, _Row] = {
    "ls": _Row("aAlhtrSRd1Fisp"),
    "cat": _Row("nbsAET"),
    "head": _Row("qv", "nn cn", numbered=True),
    "tail": _Row("qv", "nn cn", numbered=True),
    "wc": _Row("lwcmL"),
    "nl": _Row(),
    "tac": _Row(),
    "rev": _Row(),
    "grep": _Row("inlLcvwxoHhEFqs", "An Bn Cn mn", words=1),
    "sort": _Row("nrufbhV", "kf tt"),
    "uniq": _Row("cdui", paths=0),
    "cut": _Row("s", "dt ff cf bf"),
    "tr": _Row("dsc", words=2, paths=0),
    "cmp": _Row("ls"),
    "stat": _Row(),
    "file": _Row("bi"),
    "du": _Row("shac", "dn"),
    "df": _Row("hT"),
    "readlink": _Row("f"),
    "realpath": _Row(),
    "md5sum": _Row(),
    "sha256sum": _Row(),
    "echo": _Row("neE", words=99, paths=0),
    "basename": _Row(words=2, paths=0),
    "dirname": _Row(words=9, paths=0),
    "seq": _Row(words=3, paths=0),
    "which": _Row("a", words=9, paths=0),
    "pwd": _Row("LP", paths=0),
    "whoami": _Row(paths=0),
    "id": _Row("ugnG", paths=0),
    "uname": _Row("asrmnvpo", paths=0),
    "nproc": _Row(paths=0),
    "arch": _Row(paths=0),
    "true": _Row(paths=0),
    "false": _Row(paths=0),
}
_FINDING = {"-name": _TEXT, "-iname": _TEXT, "-path": _TEXT, "-type": regex("[fdl]"), "-print": None, "-not": None}
_FINDING |= {"-maxdepth": _NUMBER, "-mindepth": _NUMBER}
# Of the shell's own commands these act on nothing but the shell. Their words may hold expansions: what runs in those
# are commands of the line like any others.
_TESTS = word_set("test [")
_SHELL_ONLY = word_set("cd pushd popd set test [ exit : for echo printf true false sleep break continue")


def plain_paths(line: str) -> tuple[str, ...] | None:
    """The paths that a plain line reads; None if it is not plain."""
    if len(line) > LONGEST or not _LINE.fullmatch(line):
        return None
    commands: list[list[str]] = [[]]
    for piece in _PIECES.findall(line):
        if piece == "|":
            commands.append([])
        else:
            commands[-1].append(piece[1:-1] if piece[0] in "'\"" else piece)
    found: list[str] = []
    for words in commands:
        paths = _paths(words)
        if paths is None:
            return None
        found += paths
    return tuple(found) if all(map(_within, found)) else None


def only_reads(words: Sequence[Word]) -> bool:
    """Whether one command of a line is in the table, or one of the shell's own that act on nothing else.

    For what may stand beside a command that was given more than the project: where its paths lead is judged elsewhere.
    """
    if words[0].text in _SHELL_ONLY:  # what is known only when it runs may be `-v` and a name that is run
        return not words[0].dynamic and not (words[0].text in _TESTS and any(word.dynamic for word in words))
    if any(word.dynamic or word.glob or word.parts for word in words):
        return False
    return _paths([word.text for word in words]) is not None


def _within(path: str) -> bool:
    """Whether the path, by its words, stays in the project."""
    return path[:1] != "/" and ".." not in path.split("/") and path[:1] != "~"


def _paths(words: Sequence[str]) -> list[str] | None:
    program, *rest = words
    if program == "date":
        return [] if all(word in ("-u", "-R", "-Iseconds", "-I") or word[:1] == "+" for word in rest) else None
    if program == "find":
        return _found(rest)
    row = _PLAIN.get(program)
    if row is None:
        return None
    values = {pair[0]: _KINDS[pair[1]] for pair in row.values.split()}
    operands: list[str] = []
    at = 0
    while at < len(rest):
        word = rest[at]
        at += 1
        if word[:1] != "-":
            operands.append(word)
        elif row.numbered and _NUMBER.fullmatch(word[1:]):
            continue
        elif word[1:] in values:
            if at == len(rest) or not values[word[1:]].fullmatch(rest[at]):
                return None
            at += 1
        elif word[1:2] in values and values[word[1]].fullmatch(word[2:]):
            continue
        elif not word[1:] or not set(word[1:]) <= set(row.flags):
            return None
    paths = operands[row.words :]
    return paths if len(paths) <= row.paths and "" not in operands[row.words :] else None


def _found(rest: list[str]) -> list[str] | None:
    """find: the folders it looks through, and tests that only look at names."""
    at = 0
    while at < len(rest) and rest[at][:1] != "-":
        if rest[at][:1] in ("(", ")", "!", ",", ""):
            return None
        at += 1
    folders = rest[:at]
    while at < len(rest):
        if rest[at] not in _FINDING:
            return None
        kind = _FINDING[rest[at]]
        at += 1
        if kind is not None:
            if at == len(rest) or not kind.fullmatch(rest[at]):
                return None
            at += 1
    return folders
