"""Words: lists and counts in a sentence, the name that a misspelt one was probably meant to be, tables of words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

SMALL_WORDS = frozenset({"a", "an", "and", "for", "in", "of", "on", "or", "the", "to", "with"})  # say nothing alone


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def few(names: Sequence[str], most: int) -> str:
    """The first of them, and how many more there are: `a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def nearest(word: str, names: Iterable[str], most: int = 3) -> list[str]:
    from difflib import get_close_matches  # not for every start

    folded = {name.lower(): name for name in names}
    return [folded[match] for match in get_close_matches(word.lower(), folded, n=most, cutoff=0.6)]


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """A sentence to append to an error, or nothing."""
    close = nearest(word, names, most=1)
    return f" Did you mean {close[0]}?" if close else ""


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def first_line(text: str) -> str:
    """The first line of a text; where that only announces what follows, the next with it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[:2]) if lines and lines[0].endswith(":") else "".join(lines[:1])


def word_set(text: str) -> frozenset[str]:
    """The words of a table that is written as one text."""
    return frozenset(text.split())
