"""A request in its pieces: cut at "and then", bullets and lines. What stands in quotes is never cut."""

from __future__ import annotations

import re

from msgspec import Struct

from quintet.domain.base.lazy_regex import regex
from quintet.domain.input.slash_line import one_word

_JOIN = regex(r"(?P<then>\s*[,;]?\s+and then\s+|\s*[,;]\s*then\s+)|\n+|;\s+", re.I)
_IN_QUOTES = regex(r"(?<!\S)(?:\"[^\"]*\"|'[^']*'|`[^`]*`)")
_KEPT = regex("\0(\\d+)\0")
_BULLET = regex(r"^\s*(?:[-*•]|\d+[.)])\s+")
_LISTED = regex(r"(?m)^(?:[-*•]|\d+[.)])\s+\S")
_VERIFIED = regex(r"[\s,;(]*\bverified by\s+`([^`]+)`[\s).]*$", re.I)


class Piece(Struct, frozen=True):
    text: str
    then: bool = False  # it comes after the piece before: "and then"
    verification: str = ""  # the command that shows that it is done: "verified by `…`" at its end


def file_named(text: str) -> str:
    """The path that a request is, in quotes or not; empty if it says more than that."""
    return one_word(text.strip()).removeprefix("@")


def names_a_page(path: str) -> bool:
    """Whether a path can hardly be meant as anything else: a page that says what to do."""
    return path.endswith((".md", ".txt"))


def split(text: str) -> list[str]:
    """The pieces as they stand, bullets and all."""
    return [piece for piece, _ in _cut(text)]


def pieces(text: str) -> list[Piece]:
    """The pieces of a request, each with the command it is to be verified by, if it names one."""
    found = []
    for piece, then in _cut(text):
        words = _BULLET.sub("", piece).strip()
        check = _VERIFIED.search(words)
        words = words[: check.start()] if check else words
        if words:
            found.append(Piece(words, then, check[1].strip() if check else ""))
    return found


def is_several(text: str, *, lines: bool) -> bool:
    """Whether a request is more than one task: a list of things, or one that is to be verified by a command.

    With `lines` every line and every "and then" counts, as the offline rules read it. A model's user may write as many
    lines as they like about one thing, so there only a list does.
    """
    if _VERIFIED.search(text.strip()):
        return True
    return len(pieces(text)) > 1 if lines else len(_LISTED.findall(text)) > 1


def _cut(text: str) -> list[tuple[str, bool]]:
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(found[0])
        return f"\0{len(kept) - 1}\0"

    hidden = _IN_QUOTES.sub(keep, text.strip())
    cut: list[tuple[str, bool]] = []
    start, then = 0, False
    for join in _JOIN.finditer(hidden):
        cut.append((hidden[start : join.start()], then))
        start, then = join.end(), bool(join["then"])
    cut.append((hidden[start:], then))
    return [(_KEPT.sub(lambda found: kept[int(found[1])], piece), after) for piece, after in cut]
