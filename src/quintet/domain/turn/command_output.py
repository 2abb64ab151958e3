"""The first lines of what a command printed: what is shown of it without being asked for."""

from __future__ import annotations

from collections.abc import Sequence

FIRST_LINES = 5
COMMAND = "bash"


def without_exit(lines: Sequence[str], summary: str) -> list[str]:
    """What was printed, without the exit code behind it where the summary says it."""
    said = bool(lines) and lines[-1].startswith("exit ") and summary.startswith(lines[-1])
    return list(lines[:-1] if said else lines)


def first_lines(lines: Sequence[str]) -> tuple[list[str], int]:
    """The lines that are shown, and how many more there are; one line is not left out for a line that says so."""
    most = FIRST_LINES if len(lines) > FIRST_LINES + 1 else len(lines)
    return list(lines[:most]), len(lines) - most
