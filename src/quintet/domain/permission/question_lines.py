"""What a question shows in which order: what Quintet says of a call comes first, what a model wrote comes after it.

A line of the latter that looks like one of the former is marked, so that no command can pass for a reason.
"""

from __future__ import annotations

from collections.abc import Sequence

from quintet.domain.base.safe_text import exactly

LABELS = ("again", "why asked", "axes", "always", "effects", "access", "secrets", "network", "grant", "arguments")
WIDTH = 11  # of a label with the spaces behind it
MARK = "› "
BETWEEN = ""  # stands between the two in a question's detail: what a model wrote begins behind it


def parted(detail: Sequence[str]) -> tuple[list[str], list[str]]:
    """Quintet's own lines, which stand first, and the rest; every character of them can be seen."""
    own = 0
    while own < len(detail) and _label(detail[own]) and "\n" not in detail[own]:
        own += 1
    after = detail[own + 1 :] if own < len(detail) and detail[own] == BETWEEN else detail[own:]
    rest = [f"{MARK}{part}" if _label(part) else part for line in after for part in line.split("\n")]
    return [exactly(line) for line in detail[:own]], [exactly(line) for line in rest]


def _label(line: str) -> bool:
    return line[:WIDTH].rstrip() in LABELS and (len(line) <= WIDTH or line[WIDTH - 1] == " ")
