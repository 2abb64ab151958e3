"""What a person typed, made comparable: one form for what means the same, the same on every machine.

Compatibility forms, case, invisible characters and white space are folded, `*` and `/` in front dropped. Only the
first line is looked at, and no more of it than a command could need.
"""

from __future__ import annotations

from unicodedata import category, normalize

from msgspec import Struct

from quintet.domain.base.lazy_regex import regex

MOST_LETTERS = 400  # a first line longer than this is prose
_WORDS = regex(r"[^\W_]+(?:'[^\W_]+)*")
_BREAK = regex(r"[\r\n]")


class Spoken(Struct, frozen=True):
    line: str  # the first line, folded
    raw: str  # as it was typed, without the marks in front
    mark: str = ""  # the `*` or `/` it began with
    details: str = ""  # the lines after it
    long: bool = False  # the first line is too long to be a command


def spoken(text: str) -> Spoken:
    text = text.strip()
    broken = _BREAK.search(text)
    first, details = (text[: broken.start()], text[broken.end() :].strip("\r\n")) if broken else (text, "")
    bare = first.lstrip("*/ \t")
    folded = fold(bare[: MOST_LETTERS + 1])
    line = folded.lstrip("*/ ")  # their wide forms are plain only now
    mark = first[: len(first) - len(bare)].strip()[:1] or folded[: len(folded) - len(line)].strip()[:1]
    number = bare.isascii() and bare.isdigit()
    return Spoken(line, bare[:MOST_LETTERS], mark, details, len(bare) > MOST_LETTERS and not number)


def fold(text: str) -> str:
    text = normalize("NFKC", text)
    if not text.isprintable():
        text = "".join(_visible(char) for char in text)
    return " ".join(normalize("NFKC", text.casefold()).split())


def words(folded: str) -> list[str]:
    """Its words; hyphen, underscore, space and whatever else is no letter or digit stand between them."""
    return _WORDS.findall(folded.replace("’", "'"))


def _visible(char: str) -> str:
    kind = category(char)
    return "" if kind == "Cf" else " " if kind == "Cc" else char
