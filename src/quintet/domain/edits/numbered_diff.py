"""A unified diff with the number of each line: of the old file for what is gone, of the new one for the rest."""

from __future__ import annotations

from quintet.domain.base.lazy_regex import regex

_HUNK = regex(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
GAP = "  ⋯"
_Row = tuple[str, int, str]  # sign, number, text; a row without a sign is shown as it is


def numbered(diff: str) -> list[str]:
    """Lines that begin with their sign: `+  12  text`. What stands before the first hunk is left out."""
    rows = diff_rows(diff)
    first = next((at for at, row in enumerate(rows) if row[0]), len(rows))
    return _shown([row for row in rows[first:] if row[0] or row[2] == GAP])


def numbered_files(changes: str) -> list[str]:
    """The same of what a tool says it changed: several diffs, each under its file's name, with the notes between."""
    return _shown(diff_rows(changes))


def diff_rows(diff: str) -> list[_Row]:
    """Each line as its sign, its number (0 where it is not known) and its text; what has no sign is shown as it is."""
    out: list[_Row] = []
    several = diff.count("\n+++ ") > 1
    old = new = 0  # the numbers of the next lines; 0 where they are not known
    old_left = new_left = 0  # lines that the hunk has yet
    lost = False  # how many it has, nobody knows
    for line in diff.split("\n"):
        sign = line[:1] or " "
        if line.startswith("\\ "):  # no newline at the end of the file
            continue
        cut_short = lost and (line.startswith(("--- ", "+++ ")) or _HUNK.match(line))
        if cut_short or (old_left <= 0 and new_left <= 0):
            if hunk := _HUNK.match(line):
                out += [("", 0, GAP)] if out and out[-1][0] else []
                old, new, lost = int(hunk[1]), int(hunk[3]), False
                old_left, new_left = int(hunk[2] or 1), int(hunk[4] or 1)
            elif line.startswith("+++ "):
                out += [("", 0, line[4:].removeprefix("b/"))] if several else []
            elif line.strip() and not line.startswith("--- "):
                out.append(("", 0, line))
        elif sign not in "+- ":
            out.append(("", 0, line))  # in the place of lines that were cut out
            old, new, lost = 0, 0, True
        else:
            out.append((sign, old if sign == "-" else new, line[1:]))
            old, old_left = old + (old > 0 and sign != "+"), old_left - (sign != "+")
            new, new_left = new + (new > 0 and sign != "-"), new_left - (sign != "-")
    return out


def _shown(rows: list[_Row]) -> list[str]:
    width = len(str(max((number for _, number, _ in rows), default=0)))
    return [
        f"{sign} {number or '':>{width}}  {text}".rstrip(" ") if sign else text.rstrip() for sign, number, text in rows
    ]
