"""How much of an output is shown: both its ends to a person who did not ask for it, and what a model gets at most."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UnsetType

from quintet.domain.turn.tool_spec import ShellSeen

FIRST_LINES = 5
LAST_LINES = 3  # of them: how a run of tests went is said at its end
COMMAND = "bash"
MOST_RESULT = 400_000  # characters that a model is told of one call, whatever its tool gives


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


def bounded(content: str) -> str:
    """The beginning and the end of a result that is longer than a model is told, with what was left out between."""
    over = len(content) - MOST_RESULT
    if over <= 0:
        return content
    half = MOST_RESULT // 2
    note = f"… {over:,} characters left out: a result has at most {MOST_RESULT:,}; ask for less at a time …"
    return f"{content[:half]}\n{note}\n{content[-half:]}"
