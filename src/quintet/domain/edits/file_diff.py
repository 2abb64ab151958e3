"""What a change did to a file: lines added and removed, and a unified diff that is bounded in work and in length.

What is the same at the beginning and at the end is not compared. Where the lines between them are too many to be
compared in about a second, all of the old ones count as removed and all of the new ones as added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

CONTEXT = 2
MOST_LINES = 10_000  # compared, old and new together
MOST_PAIRS = 1_000_000  # of equal lines, which is what comparing them costs
MOST_COLUMNS = 500  # of a line that is shown
Opcode = tuple[str, int, int, int, int]


class FileDiff(Struct, frozen=True):
    text: str
    added: int
    removed: int
    left_out: int = 0  # lines of the diff that the text has no room for


def file_diff(path: str, before: str, after: str, most: int) -> FileDiff:
    """The diff of one file; its text has at most about `most` characters."""
    old, new = before.splitlines(), after.splitlines()
    steps = _steps(old, new)
    added = sum(step[4] - step[3] for step in steps if step[0] != "equal")
    removed = sum(step[2] - step[1] for step in steps if step[0] != "equal")
    shown: list[str] = []
    left_out, room = 0, most
    for line in _unified(path, old, new, steps):
        line = line if len(line) <= MOST_COLUMNS else f"{line[:MOST_COLUMNS]}… ({len(line) - 1} characters)"
        room -= len(line) + 1
        if room >= 0 and not left_out:
            shown.append(line)
        else:
            left_out += 1
    return FileDiff("\n".join(shown), added, removed, left_out)


def unified(path: str, old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """The lines of the diff, all of them and whole."""
    return _unified(path, old, new, _steps(old, new))


def _steps(old: Sequence[str], new: Sequence[str]) -> list[Opcode]:
    """How the old lines become the new ones, as difflib says it."""
    shorter = min(len(old), len(new))
    head = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    tail = next((at for at in range(shorter - head) if old[-1 - at] != new[-1 - at]), shorter - head)
    old_end, new_end = len(old) - tail, len(new) - tail
    steps: list[Opcode] = [("equal", 0, head, 0, head)] if head else []
    steps += [
        (kind, head + a, head + b, head + c, head + d)
        for kind, a, b, c, d in _compared(old[head:old_end], new[head:new_end])
    ]
    return steps + ([("equal", old_end, len(old), new_end, len(new))] if tail else [])


def _compared(old: Sequence[str], new: Sequence[str]) -> list[Opcode]:
    from difflib import SequenceMatcher  # only once a file is changed

    if not (old or new):
        return []
    if len(old) + len(new) <= MOST_LINES:
        counts = Counter(new)
        if sum(counts[line] for line in old) <= MOST_PAIRS:
            return list(SequenceMatcher(None, old, new).get_opcodes())
    return [("replace" if old and new else "delete" if old else "insert", 0, len(old), 0, len(new))]


def _unified(path: str, old: Sequence[str], new: Sequence[str], steps: list[Opcode]) -> Iterator[str]:
    first = True
    for hunk in _hunks(steps):
        if first:
            yield f"--- a/{path}"
            yield f"+++ b/{path}"
            first = False
        (_, a, _, c, _), (_, _, b, _, d) = hunk[0], hunk[-1]
        yield f"@@ -{_range(a, b)} +{_range(c, d)} @@"
        for kind, a, b, c, d in hunk:
            if kind == "equal":
                yield from (f" {line}" for line in old[a:b])
            else:
                yield from (f"-{line}" for line in old[a:b])
                yield from (f"+{line}" for line in new[c:d])


def _hunks(steps: list[Opcode]) -> Iterator[list[Opcode]]:
    """The changes that are near each other, with the lines around them."""
    hunk: list[Opcode] = []
    for at, (kind, a, b, c, d) in enumerate(steps):
        if kind != "equal":
            hunk.append((kind, a, b, c, d))
            continue
        last = at == len(steps) - 1
        before = (kind, max(a, b - CONTEXT), b, max(c, d - CONTEXT), d)
        after = (kind, a, min(b, a + CONTEXT), c, min(d, c + CONTEXT))
        if hunk and not last and b - a <= 2 * CONTEXT:
            hunk.append((kind, a, b, c, d))
            continue
        if hunk:
            yield [*hunk, after]
        hunk = [before]
    if any(step[0] != "equal" for step in hunk):
        yield hunk


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"
