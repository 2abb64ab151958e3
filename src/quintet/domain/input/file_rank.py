"""Which files somebody means by a few letters: a score for each path, better ones first.

The letters stand in the path in their order. A file's own name counts for more than its folders, the beginning of a
word for more than its middle, letters in a row for more than scattered ones. A capital letter wants a capital one.
"""

from __future__ import annotations

from collections.abc import Iterable

_EXACT, _PREFIX, _WORD, _INSIDE, _SCATTERED = 900, 800, 700, 600, 300
_IN_PATH = 250  # less, where it is not the file's own name
_SEPARATORS = frozenset("/._- ")


def ranked(query: str, paths: Iterable[str], most: int) -> list[str]:
    """The paths that fit, best first; those that fit as well by the alphabet."""
    scored = [(-points, path) for path in paths if (points := score(query, path)) is not None]
    scored.sort()
    return [path for _, path in scored[:most]]


def score(query: str, path: str) -> int | None:
    """How well a path fits; None if it does not. Without a query, files nearest to the project's root come first."""
    if not query:
        return -path.count("/")
    if query == query.lower():
        path = _folded(path)
    name = path.rpartition("/")[2]
    best = _of_text(query, name)
    whole = _of_text(query, path)
    if whole is not None:
        whole -= _IN_PATH
        best = whole if best is None else max(best, whole)
    return None if best is None else best - min(len(path), 99)


def _folded(path: str) -> str:
    lower = path.lower()
    return lower if len(lower) == len(path) else path.casefold()


def _of_text(query: str, text: str) -> int | None:
    at = text.find(query)
    if at == 0:
        return _EXACT if len(text) == len(query) or text[len(query) :].rfind(".") == 0 else _PREFIX
    if at > 0:
        word = at
        while word > 0 and text[word - 1] not in _SEPARATORS:
            word = text.find(query, word + 1)
        return _WORD if word > 0 else _INSIDE
    return _scattered(query, text)


def _scattered(query: str, text: str) -> int | None:
    """Letters apart: each at the nearest beginning of a word if there is one, else at its next place."""
    points, at, row = _SCATTERED, 0, False
    for letter in query:
        here = text.find(letter, at)
        if here < 0:
            return _anyhow(query, text)
        begins = here
        while begins > 0 and text[begins - 1] not in _SEPARATORS:
            begins = text.find(letter, begins + 1)
        if row and here == at:
            points += 4
        elif begins >= 0:
            here = begins
            points += 8
        else:
            points -= 2
        at, row = here + 1, True
    return points


def _anyhow(query: str, text: str) -> int | None:
    """The letters in their order, wherever: going for words' beginnings may have skipped one."""
    at = 0
    for letter in query:
        at = text.find(letter, at) + 1
        if not at:
            return None
    return _SCATTERED - 2 * len(query)
