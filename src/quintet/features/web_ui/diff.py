"""A change as a table: numbers of both files, signs, code in its colours, and what changed inside a line marked."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import islice, pairwise

from msgspec import Struct
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_for_filename
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound

from quintet.domain.edits.numbered_diff import GAP, diff_rows
from quintet.features.web_ui.html import e

MOST_LINES = 2_000  # of one change
MOST_COMPARED = 200  # characters of a line in which words are compared
MOST_PAIRS = 100  # of lines that are compared in one change
MOST_COLOURED = 300  # lines of a change
MOST_WIDE = 200  # characters of a line that is coloured: some lexers take the square of it
_NAMED = re.compile(r"^\+\+\+ (?:b/)?(.+?)\s*$", re.MULTILINE)
_WORD = re.compile(r"\w+|\s+|.")
_NAMES = {"+": "add", "-": "del", " ": "same"}


class _Line(Struct):
    sign: str
    number: int
    text: str
    marked: tuple[tuple[int, int], ...] = ()  # what changed in it
    html: str = ""


def diff_table(changes: str) -> str:
    """What a tool says it changed: one diff or several, each under its file's name."""
    lines = [_Line(*row) for row in diff_rows(changes)]
    more = len(lines) - MOST_LINES
    lines = lines[:MOST_LINES]
    _mark_words(lines)
    named = _NAMED.search(changes)
    _colour(lines, named[1] if named else "")
    rows = "".join(_row(line) for line in lines)
    rest = f'<p class="more">{more} more lines</p>' if more > 0 else ""
    split = '<button type="button" class="split">Side by side</button>'
    return f'<div class="change">{split}<table class="diff"><tbody>{rows}</tbody></table></div>{rest}'


def counts(changes: str) -> tuple[int, int]:
    """Lines that were added and taken away."""
    signs = [sign for sign, _, _ in diff_rows(changes)]
    return signs.count("+"), signs.count("-")


def _row(line: _Line) -> str:
    if not line.sign:
        kind = "gap" if line.text == GAP else "file"
        return f'<tr class="{kind}"><td colspan="3">{e(line.text.strip())}</td></tr>'
    number = line.number or ""
    sign = line.sign if line.sign != " " else ""
    return (
        f'<tr class="{_NAMES[line.sign]}"><td class="n">{number}</td><td class="s">{sign}</td>'
        f"<td>{line.html or e(line.text)}</td></tr>"
    )


def _mark_words(lines: Sequence[_Line]) -> None:
    """Where as many lines came as went, each pair is compared."""
    for gone, came in islice(_pairs(lines), MOST_PAIRS):
        if max(len(gone.text), len(came.text)) > MOST_COMPARED:
            continue
        before, after = _WORD.findall(gone.text), _WORD.findall(came.text)
        matcher = SequenceMatcher(None, before, after, autojunk=False)
        if matcher.ratio() < 0.4:
            continue
        changed = [opcode[1:] for opcode in matcher.get_opcodes() if opcode[0] != "equal"]
        gone.marked = tuple((_width(before[:a]), _width(before[:b])) for a, b, _, _ in changed if b > a)
        came.marked = tuple((_width(after[:c]), _width(after[:d])) for _, _, c, d in changed if d > c)


def _width(words: Sequence[str]) -> int:
    return sum(map(len, words))


def _colour(lines: Sequence[_Line], name: str) -> None:
    """`name` is that of the first file; those of the others stand between the lines."""
    lexer = _lexer(name)
    for number, line in enumerate(lines):
        if not line.sign:
            lexer = _lexer(line.text.strip()) if line.text != GAP else lexer
        elif lexer and number < MOST_COLOURED and len(line.text) <= MOST_WIDE:
            line.html = _pieces(
                line, [(STANDARD_TYPES.get(kind, ""), text) for kind, text in lexer.get_tokens(line.text)]
            )
        elif line.marked:
            line.html = _pieces(line, [("", line.text)])


@lru_cache(maxsize=32)
def _lexer(path: str) -> Lexer | None:
    try:
        return get_lexer_for_filename(os.path.basename(path), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def _pieces(line: _Line, tokens: Sequence[tuple[str, str]]) -> str:
    """The text of a line in pieces: each of one colour, and marked or not."""
    edges = {edge for mark in line.marked for edge in mark}
    made, at = [], 0
    for kind, text in tokens:
        cuts = sorted({at, at + len(text), *(edge for edge in edges if at < edge < at + len(text))})
        for begin, end in pairwise(cuts):
            piece = e(text[begin - at : end - at])
            piece = f'<span class="{kind}">{piece}</span>' if kind else piece
            inside = any(first <= begin < last for first, last in line.marked)
            made.append(f"<mark>{piece}</mark>" if inside else piece)
        at += len(text)
    return "".join(made).replace("</mark><mark>", "")


def _pairs(lines: Sequence[_Line]) -> Iterator[tuple[_Line, _Line]]:
    at = 0
    while at < len(lines):
        gone = at
        while at < len(lines) and lines[at].sign == "-":
            at += 1
        came = at
        while at < len(lines) and lines[at].sign == "+":
            at += 1
        if came - gone == at - came and came > gone:
            yield from zip(lines[gone:came], lines[came:at], strict=True)
        at = max(at, gone + 1)
