"""A unified diff with the number of each line: of the old file for what is gone, of the new one for the rest."""

from __future__ import annotations

from quintet.domain.base.lazy_regex import regex

_HUNK = regex(r"^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
GAP = "  ⋯"


def numbered(diff: str) -> list[str]:
    """Lines that begin with their sign: `+  12  text`. What stands before the first hunk is left out."""
    out: list[tuple[str, int, str]] = []
    old = new = 0
    for line in diff.splitlines():
        if hunk := _HUNK.match(line):
            out += [("", 0, "")] if out else []
            old, new = int(hunk[1]), int(hunk[2])
        elif not old and not new:
            continue
        elif line[:1] == "-":
            out.append(("-", old, line[1:]))
            old += 1
        elif line[:1] == "+":
            out.append(("+", new, line[1:]))
            new += 1
        elif line[:1] in (" ", ""):
            out.append((" ", new, line[1:]))
            old, new = old + 1, new + 1
    width = len(str(max((number for _, number, _ in out), default=0)))
    return [f"{sign} {number:>{width}}  {text}".rstrip() if sign else GAP for sign, number, text in out]
