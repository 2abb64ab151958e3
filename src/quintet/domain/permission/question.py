"""What a question to the user says: what Quintet knows of a call first, what a model wrote after it. Pure.

A line of the latter that looks like one of the former is marked, so that no command can pass for a reason. `access`
says what holds a call to its grant, and not what the grant would like: only a whole sandbox holds a command to it. A
line approved as outside, and any line without a sandbox, runs with the user's rights, and that is what the question
says.
"""

from __future__ import annotations

from collections.abc import Sequence

from quintet.domain.base.safe_text import exactly
from quintet.domain.permission.effects import Effect, Grant, Sandbox
from quintet.domain.permission.exposure import keys_shown
from quintet.domain.turn.tool_spec import Touch

_OF_OLD = ("why asked", "axes", "grant")  # in journals of older versions
_OF_NOW = ("again", "reason", "deletes", "dials", "always", "session", "effects", "access", "secrets", "network")
LABELS = (*_OF_NOW, "sandbox", "arguments", "server", "goes to", "model", *_OF_OLD)
WIDTH = 11  # of a label with the spaces behind it
LISTED = 8  # of what would be deleted
MARK = "› "
BETWEEN = ""  # stands between the two in a question's detail: what a model wrote begins behind it


BELOW = "in full below"  # ends what is asked about where the detail has all of it


def split_detail(detail: Sequence[str]) -> tuple[list[str], list[str]]:
    """Quintet's own lines, which stand first, and the rest; every character of them can be seen."""
    own = 0
    while own < len(detail) and _label(detail[own]) and "\n" not in detail[own]:
        own += 1
    after = detail[own + 1 :] if own < len(detail) and detail[own] == BETWEEN else detail[own:]
    rest = [f"{MARK}{part}" if _label(part) else part for line in after for part in line.split("\n")]
    return [exactly(line) for line in detail[:own]], [exactly(line) for line in rest]


def _label(line: str) -> bool:
    return line[:WIDTH].rstrip().casefold() in LABELS and (len(line) <= WIDTH or line[WIDTH - 1] == " ")


def labelled(label: str, text: str) -> str:
    """A line of Quintet's own."""
    return f"{label:<{WIDTH}}{' '.join(text.split())}"


def lost(paths: Sequence[str]) -> tuple[str, ...]:
    """What a call would delete."""
    if not paths:
        return ()
    more = f" and {len(paths) - LISTED} more" if len(paths) > LISTED else ""
    return (labelled("Deletes", ", ".join(paths[:LISTED]) + more),)


OUTSIDE = "outside the sandbox, with your rights: any file, any program and the network"
UNCONTAINED = "no sandbox: it runs with your rights: any file, any program and the network"


def is_command(touch: Touch) -> bool:
    """Whether a call starts a program that may run code of the project's: shell lines, and git that commits."""
    return bool(touch.lines) or Effect.COMMIT in touch.effects


def access(grant: Grant, sandbox: Sandbox, root: str, *, command: bool) -> str:
    """`command`: see `is_command`; only a sandbox contains one. Other tools keep to their grant themselves."""
    if not command:
        return _granted(grant, root)
    if sandbox is Sandbox.NONE:
        return UNCONTAINED
    if Effect.OUTSIDE in grant.effects:
        return OUTSIDE
    if sandbox is Sandbox.PARTIAL:
        return f"{_granted(grant, root)} · partial sandbox: {_left_open(grant)}"
    return _granted(grant, root, keys=bool(grant.keys))


def _granted(grant: Grant, root: str, *, keys: bool = False) -> str:
    writes = ", ".join("the project" if path == root else path for path in grant.write_roots) or "nothing"
    parts = [f"writes {writes}"]
    if grant.read_roots:
        parts.append(f"reads {', '.join(grant.read_roots)}")
    parts.append(f"network {'on for this call' if grant.network else 'off'}")
    if keys:
        parts.append(f"may read {keys_shown(grant.keys)}")
    return " · ".join(parts)


def _left_open(grant: Grant) -> str:
    """What of the project Landlock cannot take away again."""
    if grant.write_roots:
        return "can write .git and protected files, can read secret files"
    return "can read secret files of the project"
