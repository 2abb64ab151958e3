"""Edits and patches applied to a file's text: all of them, or none and a sentence that says where to look.

A text is a file's content as it is, line ends and byte order mark included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import counted, few, listed
from quintet.domain.edits.match import Landing, WantedEdit, found, wanted
from quintet.domain.edits.patch import FilePatch, Hunk

MARK = "\ufeff"
MOST_PLACES = 10
MOST_SHOWN = 16  # lines that are nearest to what was not found
MOST_COLUMNS = 200
MOST_SEARCHED = 20_000  # lines of a file that are looked through for the nearest
NEAR = 0.6
WRITE_AS_IS = "give more of the lines around it, exactly as in the file"


class Change(Struct, frozen=True, omit_defaults=True):  # without a docstring: it would be sent with the tool
    old_string: str
    new_string: str
    replace_all: bool = False


class Edited(Struct, frozen=True):
    text: str
    notes: tuple[str, ...] = ()  # where what was written did not stand there exactly, and how it was found


class FileLines:
    """A text as lines, their ends aside."""

    def __init__(self, text: str) -> None:
        self.mark = MARK if text.startswith(MARK) else ""
        parts = text[len(self.mark) :].split("\n")
        self.ends = ["\r\n" if part.endswith("\r") else "\n" for part in parts[:-1]] + [""]
        self.lines = [part.removesuffix("\r") for part in parts[:-1]] + parts[-1:]

    def text(self) -> str:
        return self.mark + "".join(line + end for line, end in zip(self.lines, self.ends, strict=True))

    def put(self, landing: Landing) -> None:
        first, behind = landing.first, landing.last + 1
        usual = self.ends[first] or (self.ends[0] if self.ends[0] else "\n")
        last = self.ends[landing.last]
        ends = [usual] * (len(landing.lines) - 1) + [last] if landing.lines else []
        if not landing.lines and not last:  # the file's last line goes, and the end of the one before it stays
            landing = Landing(first, landing.last, ("",))
            ends = [""]
        self.lines[first:behind] = landing.lines
        self.ends[first:behind] = ends


def edited(text: str, changes: Sequence[Change]) -> Edited:
    """The text after all changes, each made to what the one before it left."""
    notes: list[str] = []
    for number, change in enumerate(changes, 1):
        try:
            text, note = _changed(text, change)
        except ToolFailed as error:
            if len(changes) == 1:
                raise
            raise ToolFailed(f"edit {number} of {len(changes)}: {error}\nNone of the edits was made.") from None
        notes += [f"edit {number} {note}" if len(changes) > 1 else note] if note else []
    return Edited(text, tuple(notes))


def _changed(text: str, change: Change) -> tuple[str, str]:
    if change.old_string == change.new_string or not change.old_string:
        raise ToolFailed("old_string and new_string must differ, and old_string must not be empty")
    old, new = _as_in_file(change.old_string, change.new_string, text)
    count = text.count(old)
    if count == 1 or (count and change.replace_all):
        return text.replace(old, new), ""
    if count:
        raise ToolFailed(
            f"old_string occurs {count} times, in lines {_lines_of(text, old)}; "
            "give more of the text around it, or set replace_all"
        )
    lines = FileLines(text)
    edit = wanted(change.old_string, change.new_string)
    places = found(lines.lines, edit)
    if len(places) == 1:
        lines.put(places[0])
        made = lines.text()
        if made == text:
            raise ToolFailed(
                "old_string is not spelled as in the file, and with the file's spelling nothing would change: "
                f"{_span(places[0])} already {'is' if len(edit.old) == 1 else 'are'} as in new_string"
            )
        return made, _note(places[0])
    raise ToolFailed(_missed(lines.lines, edit, places, change.new_string))


def patched(text: str, patch: FilePatch) -> Edited:
    """The text after all hunks. They stand in the order of the file; one that could stand at two places fails all."""
    lines, notes, after, moved = FileLines(text), [], 0, 0
    for number, hunk in enumerate(patch.hunks, 1):
        place = _placed(lines.lines, hunk, after, moved, f"{patch.path}, hunk {number} of {len(patch.hunks)}")
        if place.how:
            notes.append(f"hunk {number} {_note(place)}")
        before = len(lines.lines)
        lines.put(place)
        after, moved = place.first + len(place.lines), moved + len(lines.lines) - before
    return Edited(lines.text(), tuple(notes))


def _placed(lines: Sequence[str], hunk: Hunk, after: int, moved: int, name: str) -> Landing:
    edit = WantedEdit(hunk.old, hunk.new, whole=True)
    if not hunk.old:
        if not any(lines):
            return Landing(0, len(lines) - 1, (*hunk.new, ""))
        raise ToolFailed(f"{name}: it only adds lines; add a line that comes before or after them")
    places = found(lines, edit)
    if len(places) > 1:
        fits = [place for place in places if place.first >= after and _belongs(lines, hunk, place, moved)]
        if len(fits) == 1:
            part = range(fits[0].first, fits[0].last + 1)
            alone = found(lines[part.start : part.stop], edit)
            if len(alone) == 1:
                return Landing(fits[0].first, fits[0].last, alone[0].lines, alone[0].how)
    if len(places) == 1 and hunk.under and not _belongs(lines, hunk, places[0], moved):
        said = " / ".join(name.strip() for name in hunk.under)
        raise ToolFailed(f"{name}: its lines are at {_span(places[0])}, and not under {said}")
    if len(places) == 1 and places[0].first >= after:
        return places[0]
    if len(places) == 1:
        raise ToolFailed(f"{name}: it belongs at {_span(places[0])}, before the previous hunk; put them in order")
    raise ToolFailed(f"{name}: {_missed(lines, edit, places, '')}")


def _belongs(lines: Sequence[str], hunk: Hunk, place: Landing, moved: int) -> bool:
    """Whether a hunk that fits several places says that it means this one: by its line, or by what it stands under."""
    if hunk.line:
        return place.first == hunk.line - 1 + moved
    begin = 0
    for name in hunk.under:
        below = [at for at in range(begin, place.first) if lines[at].strip() == name.strip()]
        if len(below) != 1:
            return False
        begin = below[0] + 1
    if not hunk.under:
        return False
    depth = _depth(lines[begin - 1])
    return all(_depth(line) > depth for line in lines[begin : place.first] if line.strip())


def _depth(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


def _as_in_file(old: str, new: str, text: str) -> tuple[str, str]:
    """Both texts with the line ends the file has where `old` stands."""
    windows = _with_windows_ends(old)
    all_windows = 0 < text.count("\n") == text.count("\r\n")
    first, second = (windows, old) if all_windows else (old, windows)
    there = first if first in text or second not in text else second
    if all_windows or (there is windows and windows != old):
        return there, _with_windows_ends(new)
    return there, new


def _with_windows_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


# ── what is said


def _note(place: Landing) -> str:
    return f"matched with {listed(place.how)}, {_span(place)}" if place.how else ""


def _span(place: Landing) -> str:
    if place.first == place.last:
        return f"line {place.first + 1}"
    return f"lines {place.first + 1}–{place.last + 1}"


def _lines_of(text: str, old: str) -> str:
    numbers, at = [], text.find(old)
    while at >= 0:
        numbers.append(str(text.count("\n", 0, at) + 1))
        at = text.find(old, at + len(old))
    return few(list(dict.fromkeys(numbers)), MOST_PLACES)


def _missed(lines: Sequence[str], edit: WantedEdit, places: Sequence[Landing], new: str) -> str:
    if len(places) > 1:
        spans = few([_span(place).partition(" ")[2] for place in places], MOST_PLACES)
        count = counted(len(places), "place")
        return f"that text matches more than one place: {count} are similar, lines {spans}; {WRITE_AS_IS}"
    said = "that text does not occur in the file"
    if len(new.strip()) > 20 and new.strip() in "\n".join(lines):
        at = "\n".join(lines).partition(new.strip())[0].count("\n") + 1
        return f"{said}; new_string already does, in line {at}"
    near = nearest_lines(lines, edit.old)
    if near is None:
        return f"{said}, and no similar line was found; read the file again"
    first, last = near
    shown = "\n".join(f"{number}\t{_cut(lines[number - 1])}" for number in range(first, last + 1))
    return f"{said}. Most similar: lines {first}–{last}:\n{shown}"


def nearest_lines(lines: Sequence[str], old: Sequence[str]) -> tuple[int, int] | None:
    """The lines that are most like the old ones, numbered from 1: first and last of what to show."""
    there = [" ".join(line.split()) for line in lines[:MOST_SEARCHED]]
    sought = [" ".join(line.split()) for line in old[:MOST_SEARCHED]]
    best = _same_window(there, sought) or _like(there, sought)
    if best is None:
        return None
    spare = max(0, min(2, (MOST_SHOWN - len(sought)) // 2))
    first = max(0, best - spare)
    last = min(len(lines), best + len(sought) + spare, first + MOST_SHOWN)
    if last == len(lines) and last > first + 1 and not lines[-1]:
        last -= 1
    return first + 1, max(last, first + 1)


def _same_window(there: Sequence[str], sought: Sequence[str]) -> int | None:
    """Where the old text would begin for most of its lines to be the same ones."""
    votes: dict[int, int] = {}
    where: dict[str, list[int]] = {}
    for at, line in enumerate(there):
        where.setdefault(line, []).append(at)
    for offset, line in enumerate(sought):
        for at in where.get(line, ())[:MOST_PLACES] if len(line) > 3 else ():
            votes[at - offset] = votes.get(at - offset, 0) + len(line)
    if not votes:
        return None
    return max(0, min(votes, key=lambda start: (-votes[start], start)))


def _like(there: Sequence[str], sought: Sequence[str]) -> int | None:
    """Where the line begins that is most like the longest of the old ones."""
    from difflib import SequenceMatcher

    offset = max(range(len(sought)), key=lambda at: len(sought[at]))
    matcher, best, at_best = SequenceMatcher(None, autojunk=False), NEAR, None
    matcher.set_seq2(sought[offset][:MOST_COLUMNS])
    for at, line in _distinct(there):
        matcher.set_seq1(line[:MOST_COLUMNS])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and (ratio := matcher.ratio()) > best:
            best, at_best = ratio, at
    return None if at_best is None else max(0, at_best - offset)


def _distinct(lines: Sequence[str]) -> Iterable[tuple[int, str]]:
    known: set[str] = set()
    for at, line in enumerate(lines):
        if line and line not in known:
            known.add(line)
            yield at, line


def _cut(line: str) -> str:
    return line if len(line) <= MOST_COLUMNS else f"{line[:MOST_COLUMNS]}…"
