"""`@` and the beginning of a file's name in a line of input: where it stands, what it asks for, what replaces it.

An `@` counts only at the beginning of a word, so an e-mail address is none. A name with spaces or signs that a shell
would read otherwise is put in quotes: single ones, double ones where the name has a single one.
"""

from __future__ import annotations

from msgspec import Struct

SIGN = "@"
_PLAIN = frozenset("._-/+@%:,=~")  # besides letters and digits
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
    before = line[: token.start] + quoted(path)
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
