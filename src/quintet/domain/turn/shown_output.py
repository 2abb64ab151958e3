"""The first and last lines of what a command printed: what is shown of it without being asked for."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UnsetType

from quintet.domain.turn.tool_spec import ShellSeen

FIRST_LINES = 5
LAST_LINES = 3  # of them: how a run of tests went is said at its end
COMMAND = "bash"


def exit_line(code: int) -> str:
    """How the exit code is told: behind what was printed, and as the summary."""
    return f"exit {code}"


def without_exit(lines: Sequence[str], shell: ShellSeen | UnsetType | None) -> list[str]:
    """What a shell line printed, without the exit code behind it, which the summary says too."""
    code = shell.exit_code if isinstance(shell, ShellSeen) else None
    ends = isinstance(code, int) and list(lines[-1:]) == [exit_line(code)]  # a note may follow it
    return list(lines[:-1] if ends else lines)


def both_ends(lines: Sequence[str]) -> tuple[list[str], int, list[str]]:
    """The lines that are shown of a long output: how it begins, how many are between, and how it ends."""
    if len(lines) <= FIRST_LINES + 1:
        return list(lines), 0, []
    first = FIRST_LINES - LAST_LINES
    return list(lines[:first]), len(lines) - FIRST_LINES, list(lines[-LAST_LINES:])
