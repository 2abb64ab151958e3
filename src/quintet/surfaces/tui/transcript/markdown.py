"""Markdown as rows, while it streams: each line of the source is finished once the next one begins.

Headings, lists, quotes, rules, tables, fenced code, emphasis, inline code and links, as far as lines of text can show
them. `__init__` is a name here, not emphasis. A line is never joined with the next: what a model broke stays broken.
Growing costs what has been added, not what is there.
"""

from __future__ import annotations

import re

from rich.cells import cell_len

from quintet.domain.base.lazy_regex import regex
from quintet.surfaces.tui.transcript.highlight import MOST_WHOLE, code_line, code_lines
from quintet.surfaces.tui.transcript.rows import Row, Span, clean, fitted, wrap

_FENCE = regex(r"^(\s*)(```+|~~~+)\s*([\w+#.-]*)")
_HEADING = regex(r"^\s{0,3}(#{1,6})\s+(.*?)\s*#*$")
_ITEM = regex(r"^(\s*)([-*+]|\d{1,9}[.)])\s+(\[[ xX]\]\s+)?")
_QUOTE = regex(r"^\s{0,3}((?:>\s?)+)")
_RULE = regex(r"^\s{0,3}([-*_])(?:\s*\1){2,}\s*$")
_TABLE = regex(r"^\s*\|.*\|\s*$")
_DIVIDER = regex(r"^\s*\|(?:\s*:?-+:?\s*\|)+\s*$")
_INLINE = regex(
    r"(?<!`)(?P<code>`+)(?!`)(?P<inside>.+?)(?<!`)(?P=code)(?!`)"
    r"|\*\*(?P<strong>(?=\S).+?(?<=\S))\*\*"
    r"|(?<![\w*])\*(?P<em>(?=[^\s*]).+?(?<=[^\s*]))\*(?![\w*])"
    r"|(?<!\w)_(?P<em2>(?=[^\s_]).+?(?<=[^\s_]))_(?!\w)"
    r"|~~(?P<gone>(?=\S).+?(?<=\S))~~"
    r"|\[(?P<label>[^\]\n]+)\]\((?P<address>(?:[^()\s]|\([^()\s]*\))+)\)"
)
INDENT = "  "


def inline(text: str, role: str = "") -> list[Span]:
    """One line's emphasis, code and links."""
    spans: list[Span] = []
    at = 0
    for match in _INLINE.finditer(text):
        if match.start() > at:
            spans.append((text[at : match.start()], role))
        at = match.end()
        if match["inside"] is not None:
            spans.append((match["inside"], f"{role} code_inline".strip()))
        elif strong := match["strong"]:
            spans += inline(strong, f"{role} bold".strip())
        elif emphasis := match["em"] or match["em2"]:
            spans += inline(emphasis, f"{role} italic".strip())
        elif match["gone"] is not None:
            spans += inline(match["gone"], f"{role} strike".strip())
        else:
            label, address = match["label"], match["address"]
            spans.append((label, f"{role} underline".strip()))
            if address != label:
                spans.append((f" ({address})", "dim"))
    if at < len(text):
        spans.append((text[at:], role))
    return spans or [("", role)]


class MarkdownLines:
    """A text that grows, and its rows at one width at a time."""

    def __init__(self, text: str = "", indent: str = INDENT, *, plain: bool = False) -> None:
        """With `plain` no mark means anything: the lines as they are."""
        self._plain = plain
        self._parts = [text]  # joined when the whole is asked for: a stream is many small pieces
        self._indent = indent
        self._width = 0
        self._reset()

    def _reset(self) -> None:
        self._done: list[Row] = []  # rows of the lines that are finished
        self._read = 0  # parts that have been read
        self._tail = ""  # the line that is not finished
        self._fence = ""  # the marks that close the open fence
        self._language = ""
        self._fenced_from = 0  # the first of its rows
        self._code: list[str] = []
        self._colored = 0  # lines of it that have rows
        self._table: list[str] = []  # the lines of an open table

    @property
    def text(self) -> str:
        if len(self._parts) > 1:
            self._parts, self._read = ["".join(self._parts)], int(self._read == len(self._parts))
            if not self._read:
                self._reset()
        return self._parts[0]

    def append(self, text: str) -> None:
        self._parts.append(text)

    def replace(self, text: str) -> None:
        """Another text in its place; the rows so far stay where it only goes on."""
        so_far = self.text
        if text.startswith(so_far):
            if len(text) > len(so_far):
                self._parts.append(text[len(so_far) :])
        else:
            self._parts = [text]
            self._reset()

    def rows(self, width: int) -> list[Row]:
        """All rows; the last line is shown as far as it is there."""
        if width != self._width:
            self._width = width
            self._reset()
        if self._read < len(self._parts):
            *lines, self._tail = (self._tail + "".join(self._parts[self._read :])).split("\n")
            self._read = len(self._parts)
            for line in lines:
                self._finish(clean(line.removesuffix("\r")))
            self._color_code()
        last = clean(self._tail)
        if self._table and last and not last.lstrip().startswith("|"):
            self._close_table()
        rest: list[Row] = []
        if self._table:
            rest = self._table_rows([*self._table, last] if _TABLE.match(last) else self._table)
        elif last:
            rest = self._code_rows([code_line(self._language, last)]) if self._fence else self._line(last)
        return [*self._done, *rest]

    def finished(self) -> int:
        """How many of the rows will stay as they are, but for the colours of code whose fence is open."""
        return len(self._done)

    def _finish(self, line: str) -> None:
        if self._plain:
            self._done += self._line(line)
            return
        if self._fence:
            self._fenced(line)
            return
        if _TABLE.match(line):
            self._table.append(line)
            return
        self._close_table()
        if fence := _FENCE.match(line):
            self._fence, self._language = fence[2], fence[3]
            self._fenced_from, self._code = len(self._done), []
            return
        self._done += self._line(line)

    def _fenced(self, line: str) -> None:
        stripped = line.strip()
        if stripped.startswith(self._fence) and not stripped.strip(self._fence[0]):
            if self._colored <= MOST_WHOLE:
                # Read line by line so far; read as a whole now, so that strings over several lines come out right.
                del self._done[self._fenced_from :]
                self._colored = 0
            self._color_code(whole=True)
            self._fence, self._language, self._code, self._colored = "", "", [], 0
            return
        self._code.append(line)

    def _color_code(self, *, whole: bool = False) -> None:
        """The rows of the code that came since; one by one, unless the fence is closed and all of it is there."""
        fresh = self._code[self._colored :]
        lines = code_lines(self._language, fresh) if whole else [code_line(self._language, line) for line in fresh]
        self._done += self._code_rows(lines)
        self._colored = len(self._code)

    def _code_rows(self, lines: list[list[Span]]) -> list[Row]:
        bar = (f"{self._indent}│ ", "dim")
        room = max(self._width - cell_len(bar[0]), 8)
        return [(bar, *row) for spans in lines for row in wrap(spans, room)]

    def _line(self, line: str) -> list[Row]:
        if not line.strip():
            return [()]
        if self._plain:
            hang = self._indent + line[: len(line) - len(line.lstrip())] + "  "
            return wrap([(self._indent + line, "")], self._width, hang)
        if heading := _HEADING.match(line):
            return self._wrapped("", inline(heading[2], "heading"), "")
        if _RULE.match(line):
            return [((self._indent, ""), ("─" * max(min(self._width - 4, 40), 3), "dim"))]
        if quote := _QUOTE.match(line):
            bars = "▎ " * quote[1].count(">")
            return self._wrapped(bars, inline(line[quote.end() :], "dim"), bars, "accent")
        if item := _ITEM.match(line):
            return self._item(line, item)
        lead = line[: len(line) - len(line.lstrip())]
        return self._wrapped(lead, inline(line.lstrip()), lead)

    def _item(self, line: str, item: re.Match[str]) -> list[Row]:
        mark = "•" if item[2] in "-*+" else item[2]
        box = {"": "", "[ ]": "☐ ", "[x]": "☑ "}[(item[3] or "").strip().lower()]
        lead = f"{item[1]}{mark} {box}"
        return self._wrapped(lead, inline(line[item.end() :]), " " * cell_len(lead), "accent")

    def _wrapped(self, lead: str, spans: list[Span], hang: str, role: str = "") -> list[Row]:
        first: list[Span] = [(self._indent, "")]
        if lead:
            first.append((lead, role))
        return wrap([*first, *spans], self._width, self._indent + hang)

    # ── tables

    def _close_table(self) -> None:
        if self._table:
            self._done += self._table_rows(self._table)
            self._table = []

    def _table_rows(self, lines: list[str]) -> list[Row]:
        cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
        headed = len(lines) > 1 and bool(_DIVIDER.match(lines[1]))
        body = [row for number, row in enumerate(cells) if not (headed and number == 1)]
        columns = max(map(len, body))
        sides = [_side(cell) for cell in cells[1]] if headed else []
        sides += ["left"] * (columns - len(sides))
        shown = [[inline(cell) for cell in row] + [[("", "")]] * (columns - len(row)) for row in body]
        widths = [max(_cells(row[column]) for row in shown) for column in range(columns)]
        room = max(self._width - len(self._indent) - 3 * (columns - 1), columns * 3)
        while sum(widths) > room and max(widths) > 3:
            widths[widths.index(max(widths))] -= 1
        rows: list[Row] = []
        for number, row in enumerate(shown):
            rows.append(self._table_row(row, widths, sides, "bold" if headed and not number else ""))
            if headed and not number:
                rows.append(((self._indent, ""), ("─┼─".join("─" * width for width in widths), "dim")))
        return rows

    def _table_row(self, row: list[list[Span]], widths: list[int], sides: list[str], role: str) -> Row:
        spans: list[Span] = [(self._indent, "")]
        for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
            if column:
                spans.append((" │ ", "dim"))
            used = _cells(cell)
            if used > width:
                cell = [(fitted("".join(text for text, _ in cell), width), cell[0][1])]
                used = _cells(cell)
            before = {"left": 0, "right": width - used, "centre": (width - used) // 2}[sides[column]]
            spans += [(" " * before, "")] if before else []
            spans += [(text, f"{own} {role}".strip()) for text, own in cell]
            if column < len(widths) - 1:
                spans.append((" " * (width - used - before), ""))
        return tuple(spans)


def _side(divider: str) -> str:
    """Where a column's cells stand, by its part of the line below the head: `---:` right, `:-:` in the middle."""
    if not divider.endswith(":"):
        return "left"
    return "centre" if divider.startswith(":") else "right"


def _cells(spans: list[Span]) -> int:
    return sum(cell_len(text) for text, _ in spans)
