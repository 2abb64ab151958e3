"""A change as a table: numbers of both files, signs, and what changed inside a line marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice

from msgspec import Struct

from quintet.domain.edits.numbered_diff import GAP, diff_rows
from quintet.features.web_ui.html import e

MOST_LINES = 2_000  # of one change
MOST_COMPARED = 200  # characters of a line in which words are compared
MOST_PAIRS = 100  # of lines that are compared in one change
_WORD = re.compile(r"\w+|\s+|.")
_NAMES = {"+": "add", "-": "del", " ": "same"}


class _Line(Struct):
    sign: str
    number: int
    text: str
    html: str = ""


def diff_table(changes: str) -> str:
    """What a tool says it changed: one diff or several, each under its file's name."""
    lines = [_Line(*row) for row in diff_rows(changes)]
    more = len(lines) - MOST_LINES
    lines = lines[:MOST_LINES]
    _mark_words(lines)
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
        old, new = [], []
        for kind, a, b, c, d in matcher.get_opcodes():
            left, right = e("".join(before[a:b])), e("".join(after[c:d]))
            old.append(left if kind == "equal" else f"<mark>{left}</mark>" if left else "")
            new.append(right if kind == "equal" else f"<mark>{right}</mark>" if right else "")
        gone.html, came.html = "".join(old), "".join(new)


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
