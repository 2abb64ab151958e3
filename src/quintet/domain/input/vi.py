"""The vi keys of a prompt: what a key does to a text in normal mode. Pure: a text and a cursor in, the same out.

Insert mode is the prompt as it always is; Esc leaves it. Normal: h j k l w b e 0 ^ $ gg G, x X s r ~ J, D C S Y,
d c y with a motion or doubled, i a I A o O, p P, u and Ctrl+R, and counts.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from msgspec import Struct


class ViDeed(StrEnum):
    """What the prompt has to do beside showing the text."""

    NOTHING = ""
    UNDO = "undo"
    REDO = "redo"
    OLDER = "older"  # the cursor would leave the first line
    NEWER = "newer"


class ViMove(Struct, frozen=True):
    text: str
    at: int  # the cursor
    insert: bool = False  # whether keys are typed from now on
    deed: ViDeed = ViDeed.NOTHING
    put: bool = False  # whether text came out of the register


OPERATORS = frozenset("dcy")
MOST_COUNT = 9_999


class ViKeys:
    """Normal mode: its register, and the keys of a command that is not complete."""

    def __init__(self) -> None:
        self.register = ""  # ends in a line's end if it is whole lines
        self._pending = ""

    @property
    def pending(self) -> str:
        return self._pending

    def forget(self) -> None:
        self._pending = ""

    def key(self, key: str, text: str, at: int) -> ViMove:
        """A key, as the character that it types, at a cursor."""
        keys, self._pending = self._pending + key, ""
        count, rest = _counted(keys)
        same = ViMove(text, at)
        if not rest:
            self._pending = keys
            return same
        operator = rest[0] if rest[0] in OPERATORS else ""
        inner, motion = _counted(rest[1:]) if operator else (None, rest)
        if motion in ("", "g") or (motion == "r" and not operator):
            self._pending = keys
            return same
        times = min((count or 1) * (inner or 1), MOST_COUNT)
        if operator:
            return self._operate(operator, motion, times, text, at)
        if motion == "G" and count:
            motion = "gg"
        return self._simple(motion, times, count, text, at)

    def _simple(self, key: str, times: int, count: int | None, text: str, at: int) -> ViMove:
        first, last = line_of(text, at)
        if key == "gg":
            return ViMove(text, _first_word(text, _line_start(text, (count or 1) - 1)))
        if key in ("j", "k"):
            return _vertical(text, at, times if key == "j" else -times)
        if motion := MOTIONS.get(key):
            return ViMove(text, _on_a_letter(text, _repeated(motion, times, text, at)))
        match key:
            case "i":
                return ViMove(text, at, insert=True)
            case "a":
                return ViMove(text, min(at + 1, last), insert=True)
            case "I":
                return ViMove(text, _first_word(text, first), insert=True)
            case "A":
                return ViMove(text, last, insert=True)
            case "o":
                return ViMove(f"{text[:last]}\n{text[last:]}", last + 1, insert=True)
            case "O":
                return ViMove(f"{text[:first]}\n{text[first:]}", first, insert=True)
            case "u":
                return ViMove(text, at, deed=ViDeed.UNDO)
            case "\x12":
                return ViMove(text, at, deed=ViDeed.REDO)
            case "p" | "P":
                return self._put(text, at, times, before=key == "P")
            case "x":
                return self._cut(text, at, min(at + times, last))
            case "X":
                return self._cut(text, max(at - times, first), at)
            case "D":
                return self._cut(text, at, last)
            case "C":
                return self._cut(text, at, last, insert=True)
            case "s":
                return self._cut(text, at, min(at + times, last), insert=True)
            case "S":
                return self._operate("c", "c", times, text, at)
            case "Y":
                return self._operate("y", "y", times, text, at)
            case "J":
                return _joined(text, at)
            case "~":
                end = min(at + times, last)
                return ViMove(text[:at] + text[at:end].swapcase() + text[end:], _on_a_letter(text, end))
        if key[:1] == "r" and len(key) == 2 and at + times <= last:
            return ViMove(text[:at] + key[1] * times + text[at + times :], at + times - 1)
        return ViMove(text, at)

    def _operate(self, operator: str, motion: str, times: int, text: str, at: int) -> ViMove:
        if motion in (operator, "j", "k", "G", "gg"):
            return self._lines(operator, motion, times, text, at)
        if not (found := MOTIONS.get(motion)):
            return ViMove(text, at)
        if operator == "c" and motion == "w" and text[at : at + 1].strip():
            motion = "e"  # as vi has it: a change of a word leaves the space behind it
            to = _repeated(_end, times - 1, text, _end_here(text, at))
        else:
            to = _repeated(found, times, text, at)
        begin, end = min(at, to), max(at, to)
        if motion in ("e", "$"):
            end = min(end + 1, line_of(text, at)[1] if motion == "$" else len(text))
        if motion == "w" and times == 1:
            end = min(end, line_of(text, at)[1])  # the last word of a line leaves the line's end
        if operator == "y":
            self.register = text[begin:end]
            return ViMove(text, begin)
        return self._cut(text, begin, end, insert=operator == "c")

    def _lines(self, operator: str, motion: str, times: int, text: str, at: int) -> ViMove:
        """An operator on whole lines."""
        lines = text.split("\n")
        row = text.count("\n", 0, at)
        other = {
            operator: row + times - 1,
            "j": row + times,
            "k": row - times,
            "G": len(lines) - 1,
            "gg": 0,
        }[motion]
        if not 0 <= other < len(lines):
            other = max(0, min(other, len(lines) - 1))
        top, bottom = min(row, other), max(row, other)
        self.register = "\n".join(lines[top : bottom + 1]) + "\n"
        if operator == "y":
            return ViMove(text, at if top == row else _line_start(text, top))
        kept = [*lines[:top], *([""] if operator == "c" else []), *lines[bottom + 1 :]]
        left = "\n".join(kept)
        begin = _line_start(left, min(top, max(len(kept) - 1, 0)))
        return ViMove(left, begin, insert=True) if operator == "c" else ViMove(left, _first_word(left, begin))

    def _cut(self, text: str, begin: int, end: int, *, insert: bool = False) -> ViMove:
        if begin != end:
            self.register = text[begin:end]
        left = text[:begin] + text[end:]
        return ViMove(left, begin if insert else _on_a_letter(left, begin), insert=insert)

    def _put(self, text: str, at: int, times: int, *, before: bool) -> ViMove:
        kept = self.register * times
        if not kept:
            return ViMove(text, at)
        first, last = line_of(text, at)
        if self.register.endswith("\n"):
            lines = kept[:-1]
            if before:
                return ViMove(f"{text[:first]}{lines}\n{text[first:]}", first, put=True)
            return ViMove(f"{text[:last]}\n{lines}{text[last:]}", last + 1, put=True)
        place = at if before else min(at + 1, last)
        return ViMove(text[:place] + kept + text[place:], place + len(kept) - 1, put=True)


def _counted(keys: str) -> tuple[int | None, str]:
    """The count before a command, and the command. A 0 at the beginning is a motion."""
    digits = 0
    while digits < len(keys) and keys[digits].isdecimal() and (digits or keys[0] != "0"):
        digits += 1
    return (min(int(keys[:digits]), MOST_COUNT) if digits else None), keys[digits:]


# ── places in a text


def line_of(text: str, at: int) -> tuple[int, int]:
    """Where the line of a cursor begins and ends."""
    end = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, len(text) if end < 0 else end


def _line_start(text: str, row: int) -> int:
    """Where a row begins; the last one if there are not so many."""
    at = 0
    for _ in range(row):
        end = text.find("\n", at)
        if end < 0:
            break
        at = end + 1
    return at


def _first_word(text: str, start: int) -> int:
    """The first character of a line that is no space."""
    last = line_of(text, start)[1]
    at = start
    while at < last and text[at] in " \t":
        at += 1
    return _on_a_letter(text, at)


def _on_a_letter(text: str, at: int) -> int:
    """In normal mode the cursor stands on a character, not behind the last one of its line."""
    at = max(0, min(at, len(text)))
    first, last = line_of(text, at)
    return max(first, at - 1) if at == last and last > first else at


def _vertical(text: str, at: int, by: int) -> ViMove:
    row, last = text.count("\n", 0, at), text.count("\n")
    if (by < 0 and row == 0) or (by > 0 and row == last):
        return ViMove(text, at, deed=ViDeed.OLDER if by < 0 else ViDeed.NEWER)
    column = at - line_of(text, at)[0]
    start = _line_start(text, max(0, row + by))
    return ViMove(text, _on_a_letter(text, min(start + column, line_of(text, start)[1])))


def _joined(text: str, at: int) -> ViMove:
    last = line_of(text, at)[1]
    if last == len(text):
        return ViMove(text, at)
    return ViMove(f"{text[:last].rstrip()} {text[last + 1 :].lstrip(' ')}", len(text[:last].rstrip()))


def _kind(char: str) -> int:
    """What a word is made of: letters, or signs; nothing is."""
    if not char.strip():
        return 0
    return 1 if char.isalnum() or char == "_" else 2


def _word(text: str, at: int) -> int:
    """The beginning of the next word."""
    if at >= len(text):
        return len(text)
    kind = _kind(text[at])
    while at < len(text) and kind and _kind(text[at]) == kind:
        at += 1
    while at < len(text) and not _kind(text[at]):
        at += 1
        if text[at - 1] == "\n" and text[at : at + 1] == "\n":
            break  # an empty line is a word
    return at


def _back(text: str, at: int) -> int:
    """The beginning of this word, or of the one before."""
    while at > 0 and not _kind(text[at - 1]):
        at -= 1
    kind = _kind(text[at - 1]) if at else 0
    while at > 0 and _kind(text[at - 1]) == kind:
        at -= 1
    return at


def _end(text: str, at: int) -> int:
    """The last character of this word, or of the next if the cursor is on it."""
    at += 1
    while at < len(text) and not _kind(text[at]):
        at += 1
    return min(_end_here(text, at), max(len(text) - 1, 0))


def _end_here(text: str, at: int) -> int:
    """The last character of this word."""
    while at + 1 < len(text) and _kind(text[at + 1]) == _kind(text[at]):
        at += 1
    return at


def _repeated(motion: Callable[[str, int], int], times: int, text: str, at: int) -> int:
    for _ in range(times):
        before, at = at, motion(text, at)
        if at == before:
            break
    return at


MOTIONS: dict[str, Callable[[str, int], int]] = {
    "h": lambda text, at: max(at - 1, line_of(text, at)[0]),
    "l": lambda text, at: min(at + 1, line_of(text, at)[1]),
    " ": lambda text, at: min(at + 1, line_of(text, at)[1]),
    "w": _word,
    "b": _back,
    "e": _end,
    "0": lambda text, at: line_of(text, at)[0],
    "^": lambda text, at: _first_word(text, line_of(text, at)[0]),
    "$": lambda text, at: max(line_of(text, at)[1] - 1, line_of(text, at)[0]),
    "G": lambda text, at: _first_word(text, _line_start(text, text.count("\n"))),
}
