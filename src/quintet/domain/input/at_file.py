"""`@` and the beginning of a file's name in a line of input: where it stands, what it may mean, what replaces it.

An `@` counts only at the beginning of a word, so an e-mail address is none. A name with spaces or signs that a shell
would read otherwise is put in quotes: single ones, double ones where the name has a single one.

Files are ranked by a score for each path: the letters stand in it in their order. A file's own name counts for more
than its folders, the beginning of a word for more than its middle, letters in a row for more than scattered ones. A
capital letter wants a capital one.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from quintet.domain.base.lazy_regex import regex

SIGN = "@"
_PLAIN = frozenset("._-/+@%:,=~")  # besides letters and digits
_PICTURE = regex(r"\.(?:png|jpe?g|gif|webp)$", 2)  # re.IGNORECASE
_ESCAPED = frozenset('"\\')


class AtToken(Struct, frozen=True):
    query: str  # what stands behind the sign, without quotes
    start: int  # where the sign stands in the line
    end: int  # where the token ends


def at_token(line: str, column: int) -> AtToken | None:
    """The token that the cursor at `column` stands in or behind."""
    start = line.find(SIGN)
    while 0 <= start < column:
        if start == 0 or line[start - 1].isspace():
            token = _token(line, start)
            if column <= token.end:
                return token
            start = token.end - 1
        start = line.find(SIGN, start + 1)
    return None


def completed(line: str, token: AtToken, path: str) -> tuple[str, int]:
    """The line with the path in the token's place and a space behind it, and where the cursor belongs."""
    rest = line[token.end :]
    sign = SIGN if _PICTURE.search(path) else ""  # a picture comes along only with its sign
    before = line[: token.start] + sign + quoted(path)
    return (before + rest, len(before) + 1) if rest.startswith(" ") else (f"{before} {rest}", len(before) + 1)


def quoted(path: str) -> str:
    """A path as it stands in a sentence; `unquoted` is the way back."""
    if path and all(char.isalnum() or char in _PLAIN for char in path):
        return path
    if "'" not in path:
        return f"'{path}'"
    return '"' + "".join(f"\\{char}" if char in _ESCAPED else char for char in path) + '"'


def unquoted(text: str) -> str:
    """What a quoted path, or the beginning of one, means."""
    return _quoted_at(text, 0)[0] if text[:1] in ("'", '"') else text


def _token(line: str, start: int) -> AtToken:
    if line[start + 1 : start + 2] in ("'", '"'):
        query, end = _quoted_at(line, start + 1)
        return AtToken(query, start, end)
    end = start + 1
    while end < len(line) and not line[end].isspace():
        end += 1
    return AtToken(line[start + 1 : end], start, end)


def _quoted_at(text: str, start: int) -> tuple[str, int]:
    """What the quotes at `start` hold, and where they end; those that are not closed end with the text."""
    quote, inside = text[start], []
    at = start + 1
    while at < len(text) and text[at] != quote:
        if quote == '"' and text[at] == "\\" and text[at + 1 : at + 2] in _ESCAPED:
            at += 1
        inside.append(text[at])
        at += 1
    return "".join(inside), min(at + 1, len(text))


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
