"""Indentation as a model wrote it, carried over to that of the file: the same, shifted, or in other units.

What can be read in two ways that differ is not carried over at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise
from math import gcd

TAB = "\t"
USUAL = "    "


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def unit_of(lines: Sequence[str]) -> str:
    """One step of a file's indentation: a tab, or so many spaces; four where the file does not show it."""
    indents = [indent_of(line) for line in lines if line.strip()]
    if sum(indent.startswith(TAB) for indent in indents) * 2 > sum(bool(indent) for indent in indents):
        return TAB
    steps = Counter(
        len(after) - len(before)
        for before, after in pairwise(indents)
        if TAB not in before + after and 2 <= len(after) - len(before) <= 8
    )
    return " " * min(steps, key=lambda step: (-steps[step], step)) if steps else USUAL


def carried_over(pairs: Collection[tuple[str, str]], wanted: Collection[str], unit: str) -> dict[str, str] | None:
    """The file's indentation for each wanted one of the model's; None where it is not certain.

    `pairs` are indentations of the same lines, the model's and the file's.
    """
    known = dict(pairs)
    if any(known[old] != new for old, new in pairs) or len(set(known.values())) < len(known):
        return None
    if all(old == new for old, new in known.items()):
        return {indent: indent for indent in wanted}
    if len(known) == 1 and any(len(indent) < len(next(iter(known))) for indent in wanted):
        return None  # one line says how far in, and not how far out
    readings = [reading for reading in (_shifted(known, wanted), _scaled(known, wanted, unit)) if reading is not None]
    if not readings and set(wanted) <= set(known) and _in_order(known):
        return {indent: known[indent] for indent in wanted}
    if len(readings) == 2 and readings[0] != readings[1]:  # only one of them may fit the steps of the file
        readings = [reading for reading in readings if all(_fits(indent, unit) for indent in reading.values())]
    return readings[0] if readings and all(reading == readings[0] for reading in readings) else None


def _in_order(known: dict[str, str]) -> bool:
    after = [len(new.expandtabs(8)) for _, new in sorted(known.items(), key=lambda pair: len(pair[0].expandtabs(8)))]
    return after == sorted(after)


def _fits(indent: str, unit: str) -> bool:
    return not indent.replace(unit, "")


def _shifted(known: dict[str, str], wanted: Collection[str]) -> dict[str, str] | None:
    """Every line as much further in, or out."""
    old, new = next(iter(known.items()))
    if new.endswith(old):
        more = new[: len(new) - len(old)]
        if all(after == more + before for before, after in known.items()):
            return {indent: more + indent for indent in wanted}
    elif old.endswith(new):
        less = old[: len(old) - len(new)]
        all_less = all(before == less + after for before, after in known.items())
        if all_less and all(indent.startswith(less) for indent in wanted):
            return {indent: indent[len(less) :] for indent in wanted}
    return None


def _scaled(known: dict[str, str], wanted: Collection[str], unit: str) -> dict[str, str] | None:
    """Every step of the model's is one of the file's."""
    before = [*known, *wanted]
    if any(_mixed(indent) for indent in (*before, *known.values())):
        return None
    if len({indent[0] for indent in before if indent}) > 1 or any(not _fits(new, unit) for new in known.values()):
        return None
    first = min(known, key=len)
    step = gcd(*(len(indent) - len(first) for indent in before))
    step = 1 if step and any(indent.startswith(TAB) for indent in before) else step
    if not step:
        return dict(known)

    def made(indent: str) -> str | None:
        level = len(known[first]) // len(unit) + (len(indent) - len(first)) // step
        return unit * level if level >= 0 else None

    if any(made(old) != new for old, new in known.items()):
        return None
    found = {indent: made(indent) for indent in wanted}
    return None if None in found.values() else {indent: new or "" for indent, new in found.items()}


def _mixed(indent: str) -> bool:
    return len(set(indent)) > 1
