"""What a call may touch, in words: what holds it to its grant, and not what the grant would like. Pure.

Only a whole sandbox holds a command to its grant. A line approved as outside, and any line without a sandbox, runs with
the user's rights, and that is what every question says of it.
"""

from __future__ import annotations

from quintet.domain.permission.effects import Effect, Grant, Sandbox
from quintet.domain.permission.user_keys import said
from quintet.domain.turn.tool_spec import Touch

OUTSIDE = "outside the sandbox, with your rights: any file, program and network"
UNCONTAINED = "no sandbox: it runs with your rights: any file, program and network"


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
        parts.append(f"may read {said(grant.keys)}")
    return " · ".join(parts)


def _left_open(grant: Grant) -> str:
    """What of the project Landlock cannot take away again."""
    if grant.write_roots:
        return "its .git and protected files can be written, its secret files read"
    return "secret files of the project can be read"
