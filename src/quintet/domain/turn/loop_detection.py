"""Sees a run that goes in circles: the same call with the same result three times, or two taking turns twice."""

from __future__ import annotations

from collections.abc import Sequence

Step = tuple[str, str, str]  # tool, arguments, result


def going_in_circles(steps: Sequence[Step]) -> str:
    """What is repeated; empty if nothing is."""
    if len(steps) >= 3 and len(set(steps[-3:])) == 1:
        return f"{steps[-1][0]} was called three times with the same arguments and the same result"
    if len(steps) >= 4:
        a, b, c, d = steps[-4:]
        if a == c and b == d and a != b:
            return f"{a[0]} and {b[0]} were called in turns with the same arguments and the same results"
    return ""
