"""The text of a shell word, and the bounds of a here-document, by bash's own rules of quoting.

A second reading beside the grammar's: given the places of the expansions, it checks every character and refuses a word
in which something would end it, run, or expand where the grammar saw nothing.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

from quintet.domain.base.lazy_regex import regex
from quintet.domain.shell.syntax import Word, unescaped

PLAIN = r"[\w@%+:,./=~^*?-]"
_ENDS_A_WORD = frozenset(" \t\n;|&<>()")
_EXPANDS = frozenset("({[@*#?$!-_'\"0123456789")
_PLAIN_BRACES = regex(r"[\w./-]*+(?:\{[\w./-]*+(?:,[\w./-]*+)++\}[\w./-]*+)++", re.ASCII)
_CHOICES = regex(r"([\w./-]+)|\{([^}]*)\}", re.ASCII)
_MOST_WORDS = 64
_DESCRIPTOR = regex(r"\{\w+\}")
_DELIMITER = regex(r"""(\w+)|'(\w[\w ]*)'|"(\w[\w ]*)"|\\(\w+)""", re.ASCII)
_RUNS = regex(r"\\.|`|\$[({\[]", re.DOTALL)


_PART = rf"(?:{PLAIN}++|'[^']*+'|\"[^\"$`\\]*+\")"
# A command whose words need no second look: no expansion, no escape, no brace. Possessive, so it fails in linear time.
_SIMPLE = regex(rf"{_PART}++(?: ++{_PART}++)*+", re.ASCII)
_ATOMS = regex(rf"{_PART}++", re.ASCII)
_PARTS = regex(_PART, re.ASCII)


class Misread(Exception):
    """The line is not understood; the message says at what."""


def spelled(raw: str, skips: list[tuple[int, int, str, str]]) -> Word:
    """The word that `raw` spells; `skips` are its expansions as the grammar sees them, in order."""
    text: list[str] = []
    parts: list[str] = []
    done = 0  # how much of the text is in the parts
    bare: list[str] = []  # what stands outside quotes: only there braces and patterns mean anything
    quote = ""
    dynamic = False
    at = 0
    end = len(raw)
    skips = [*skips, (end + 1, end + 1, "", "")]
    place = 0
    while at < end:
        char = raw[at]
        if at == skips[place][0]:
            if quote == "'":
                raise Misread("quotes")
            _, at, kind, variable = skips[place]
            place += 1
            dynamic = True
            parts += ("".join(text[done:]), variable)
            done = len(text) + 1
            text.append("0" if kind == "arithmetic_expansion" else "$")
            continue
        at += 1
        if quote == "'":
            if char == "'":
                quote = ""
            else:
                text.append(char)
        elif char == "\\":
            if at == end:
                raise Misread("a backslash at the end")
            char = raw[at]
            at += 1
            if char == "\n":
                if quote:
                    continue
                raise Misread("a line that continues inside a word")
            text.append(char if not quote or char in '$`"\\' else f"\\{char}")
        elif char == "`" or (char == "$" and at < end and _expands(raw[at], quote)):
            if char == "$" and not quote and raw[at : at + 1] == "'":
                stop = _ansi_end(raw, at + 1)
                text.append(_ansi(raw[at + 1 : stop]))
                at = stop + 1
            else:
                raise Misread("an expansion")
        elif char == quote:
            quote = ""
        elif not quote and char in "'\"":
            quote = char
        elif not quote and char in _ENDS_A_WORD:
            raise Misread("a word")
        else:
            text.append(char)
            if not quote:
                bare.append(char)
    if quote or at != end or place != len(skips) - 1:
        raise Misread("quotes")
    unquoted = "".join(bare)
    if "{" in unquoted:
        if _DESCRIPTOR.fullmatch(raw):
            raise Misread("a name in braces")
        behind = unquoted[unquoted.index("{") :]
        dynamic = dynamic or "," in behind or ".." in behind
    glob = "*" in unquoted or "?" in unquoted or "[" in unquoted
    if parts:
        parts.append("".join(text[done:]))
    return Word("".join(text), dynamic, glob, tuple(parts))


def braced(raw: str) -> list[str]:
    """The words that plain, unnested braces stand for; none if there is more to them."""
    if not _PLAIN_BRACES.fullmatch(raw):
        return []
    spelled_out = [""]
    for text, choices in _CHOICES.findall(raw):
        parts = choices.split(",") if choices else [text]
        spelled_out = [before + part for before in spelled_out for part in parts]
        if len(spelled_out) > _MOST_WORDS:
            return []
    return [word for word in spelled_out if word]


def _expands(char: str, quote: str) -> bool:
    """Whether `$` before `char` begins an expansion; before a closing quote it is only itself."""
    return char.isalpha() or (char in _EXPANDS and not (quote and char in "'\""))


def _ansi(inner: str) -> str:
    """What stands between `$'` and `'`, decoded."""
    decoded = unescaped(inner)
    if decoded is None:
        raise Misread("a character given by its number")
    return decoded


def _ansi_end(raw: str, at: int) -> int:
    while at < len(raw):
        if raw[at] == "'":
            return at
        at += 2 if raw[at] == "\\" else 1
    raise Misread("quotes")


def heredoc_problem(text: str, opened: tuple[int, int], closed: tuple[int, int], starts: AbstractSet[int]) -> None:
    """Refuse a here-document that bash would end elsewhere, or in which something runs at none of `starts`."""
    raw = text[opened[0] : opened[1]]
    spelling = _DELIMITER.fullmatch(raw)
    if spelling is None:
        raise Misread("the end of a here-document")
    delimiter = next(group for group in spelling.groups() if group)
    begin = text.find("\n", opened[1]) + 1
    last = text.rfind("\n", 0, closed[0]) + 1
    strip = "\t" if text[: opened[0]].rstrip(" \t").endswith("<<-") else ""
    lines = text[begin:last].split("\n")[:-1]
    ending = text[last:].partition("\n")[0]
    if not begin or last < begin or ending.lstrip(strip or "\n") != delimiter or closed[1] != last + len(ending):
        raise Misread("the end of a here-document")
    if any(line.lstrip(strip or "\n") == delimiter for line in lines):
        raise Misread("the end of a here-document")
    if raw != delimiter:  # quoted: nothing in it runs
        return
    for found in _RUNS.finditer(text, begin, last):
        if found.group() == "\\\n" or found.group() == "`" or (found.group()[0] == "$" and found.start() not in starts):
            raise Misread("an expansion in a here-document")


def simple_words(raw: str) -> tuple[Word, ...]:
    """The words of a command that need no second look; none if there are others among them."""
    if not _SIMPLE.fullmatch(raw):
        return ()
    if "'" in raw or '"' in raw or "*" in raw or "?" in raw:
        return tuple(map(_unquoted, _ATOMS.findall(raw)))
    return tuple(map(Word, raw.split()))


def _unquoted(atom: str) -> Word:
    if "'" not in atom and '"' not in atom:
        return Word(atom, False, "*" in atom or "?" in atom)
    parts: list[str] = _PARTS.findall(atom)
    if len(parts) == 1:
        return Word(atom[1:-1])
    quoted = [part[0] in "'\"" for part in parts]
    text = "".join(part[1:-1] if inside else part for part, inside in zip(parts, quoted, strict=True))
    return Word(text, False, any("*" in p or "?" in p for p, inside in zip(parts, quoted, strict=True) if not inside))
