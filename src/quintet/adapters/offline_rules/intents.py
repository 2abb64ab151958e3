"""What a request asks for, told by its words alone: a fixed set of intents, or none of them.

`parse` splits a request at "and then", bullets and lines, and reads each piece. A piece that fits no pattern makes the
whole request unmatched: half a request is not run.
"""

from __future__ import annotations

import re

from msgspec import Struct


class Replace(Struct, frozen=True):
    old: str
    new: str
    where: tuple[str, ...] = ()


class Find(Struct, frozen=True):
    what: str
    kind: str  # text | definition | usages


class RunTests(Struct, frozen=True):
    pass


class GitStatus(Struct, frozen=True):
    pass


class GitDiff(Struct, frozen=True):
    staged: bool = False


Intent = Replace | Find | RunTests | GitStatus | GitDiff

CAN_DO: tuple[tuple[str, str], ...] = (
    ('replace "old text" with "new text" in src/*.py', "replace text in chosen files"),
    ("find load_config, find the definition of load_config", "find text, definitions, usages"),
    ("run the tests", "run the project's tests"),
    ("git status, show the diff", "show what changed"),
)

_QUOTED = r"\"(?P<{0}q>[^\"]*)\"|'(?P<{0}s>[^']*)'|`(?P<{0}b>[^`]*)`|(?P<{0}w>[^\s\"'`]\S*)"
_FILLER = re.compile(r"^(?:please|now|ok(?:ay)?|could you|can you|would you|then)[\s,]+|[\s,]*\bplease\b[.!]?$", re.I)
_JOIN = re.compile(r"\s*[,;]?\s+and then\s+|\s*[,;]\s*then\s+|\n+|;\s+", re.I)
_IN_QUOTES = re.compile(r"(?<!\S)(?:\"[^\"]*\"|'[^']*'|`[^`]*`)")
_KEPT = re.compile("\0(\\d+)\0")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")

_REPLACE = re.compile(
    rf"^(?:replace|change|substitute)\s+(?:{_QUOTED.format('old')})\s+(?:with|to|by|into)\s+(?:{_QUOTED.format('new')})"
    r"(?:\s+(?:in|within|across)\s+(?P<where>.+))?$",
    re.I | re.S,
)
_DEFINITION = re.compile(
    rf"^(?:(?:find|show)\s+(?:me\s+)?(?:the\s+)?definition\s+of|where\s+is|where's)\s+(?:{_QUOTED.format('x')})"
    r"(?:\s+defined)?$",
    re.I,
)
_USAGES = re.compile(
    rf"^(?:find|show|list)\s+(?:me\s+)?(?:all\s+)?(?:the\s+)?(?:usages?|uses|references)\s+(?:of|to)\s+(?:{_QUOTED.format('x')})$",
    re.I,
)
_TEXT = re.compile(rf"^(?:find|search(?:\s+for)?|grep(?:\s+for)?|look\s+for)\s+(?:{_QUOTED.format('x')})$", re.I)
_TESTS = re.compile(
    r"^(?:re-?run|run|execute)\s+(?:all\s+)?(?:the\s+)?(?:unit\s+|project'?s\s+)?tests?(?:\s+suite)?$", re.I
)
_STATUS = re.compile(r"^(?:show\s+(?:me\s+)?(?:the\s+)?)?(?:git\s+)?status$|^what(?:'s|\s+has)?\s+changed$", re.I)
_DIFF = re.compile(
    r"^(?:show\s+(?:me\s+)?(?:the\s+)?)?(?:git\s+)?(?P<staged>staged\s+)?diff(?:\s+--?(?P<flag>staged|cached))?$", re.I
)
_FILE = re.compile(r"^(?=.*[./*])[\w./*?{},\[\]-]+$")
_EVERYWHERE = frozenset({"", "all files", "every file", "everywhere", "the project", "this project", "the repo", "."})


def parse(text: str) -> list[Intent] | None:
    """The intents of a request in order, or None if any part of it is none of ours."""
    pieces = [piece for piece in (_cleaned(p) for p in _split(text.strip())) if piece]
    intents = [_parse_one(piece) for piece in pieces]
    if not intents or any(intent is None for intent in intents):
        return None
    return [intent for intent in intents if intent is not None]


def _split(text: str) -> list[str]:
    """The pieces of a request; what stands in quotes is never cut."""
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(found[0])
        return f"\0{len(kept) - 1}\0"

    hidden = _IN_QUOTES.sub(keep, text)
    return [_KEPT.sub(lambda found: kept[int(found[1])], piece) for piece in _JOIN.split(hidden)]


def _cleaned(piece: str) -> str:
    piece = _BULLET.sub("", piece).strip()
    while (shorter := _FILLER.sub("", piece).strip()) != piece:
        piece = shorter
    return piece.rstrip(".!? ") if not piece.endswith(('"', "'", "`")) else piece


def _parse_one(piece: str) -> Intent | None:
    if found := _REPLACE.match(piece):
        old, where = _value(found, "old"), (found["where"] or "").strip()
        files = [] if where.lower() in _EVERYWHERE else _file_words(where)
        return Replace(old, _value(found, "new"), tuple(files)) if old and files is not None else None
    if _TESTS.match(piece) or piece.lower() in ("test", "tests"):
        return RunTests()
    if _STATUS.match(piece):
        return GitStatus()
    if found := _DIFF.match(piece):
        return GitDiff(staged=bool(found["staged"] or found["flag"]))
    if found := _USAGES.match(piece):
        return Find(_value(found, "x"), "usages")
    if found := _DEFINITION.match(piece):
        return Find(_value(found, "x"), "definition")
    if found := _TEXT.match(piece):
        return Find(_value(found, "x"), "text")
    return None


def _file_words(text: str) -> list[str] | None:
    """Names of files, folders and globs; None if the text says anything else."""
    words = [word.strip("\"'`") for word in re.split(r"(?:\s*,\s*|\s+)(?:and\s+)?", text) if word]
    words = [word for word in words if word.lower() not in ("files", "the", "file")]
    return words if all(_FILE.match(word) for word in words) else None


def _value(found: re.Match[str], name: str) -> str:
    return next(found[name + form] for form in "qsbw" if found[name + form] is not None)
