"""Who may write to a task: a lease with a number that rises with every taking.

Whoever takes a task gets the next number and carries it with every write; a write with another number than the newest
is refused, in the transaction that would have made it. So it does not matter why a former holder writes late: it was
suspended, cut off, or its message was sent twice. The time only decides when a lease may be taken, never who may write.
"""

from __future__ import annotations

from msgspec import Struct


class Holder(Struct, frozen=True, gc=False):
    """Who has a task, and with which number."""

    owner: str
    number: int


def number_for(held: Holder | None, owner: str, newest: int, *, carried: int = 0, gone: str = "") -> int:
    """The number of a lease that `owner` asks for; 0 if it is refused.

    `newest` is the highest number that was ever given for the task, `carried` the one that the owner has already: then
    it keeps that very lease or none. `gone` is the holder that was seen to be gone.
    """
    if held is None:
        return 0 if carried else newest + 1
    if held.owner == owner:
        return held.number if carried in (0, held.number) else 0
    return newest + 1 if held.owner == gone and not carried else 0


def holds(held: Holder | None, owner: str) -> bool:
    """Whether a task is its owner's to move; without an owner, whether nobody has it."""
    return (held.owner if held else "") == owner


def may_write(newest: int, carried: int) -> bool:
    """Whether a write that carries this number is made."""
    return carried == newest
