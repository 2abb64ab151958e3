"""Where a model's text stands in a file: exactly, or with differences that do not matter; never a guess.

`found` tries the strictest reading first. What matches in other ways than exactly must be whole lines, or differ in
quotes and dashes only, and must stand at one place; lines that the model left as they are keep the file's own spelling.
A file is its lines, without line ends.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from quintet.domain.base.lazy_regex import regex
from quintet.domain.edits.indent import carried_over, indent_of, unit_of

if TYPE_CHECKING:
    from difflib import Match

MOST_COMPARED = 2000  # lines of both texts; of longer ones, unchanged lines are taken as the model wrote them
MOST_TYPED = 20_000  # characters, likewise
MOST_BLANK = 4  # lines around a text that may be left out
MOST_CHAINS = 1000

_FOLDED = str.maketrans(
    dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"')
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'")
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-")
    | dict.fromkeys("\u00a0\u2002\u2003\u2007\u2008\u2009\u200a\u202f\u3000", " ")
)
_UNSEEN = str.maketrans("", "", "\u200b\u200c\u200d\u2060\ufeff")
_NUMBERED = regex(r"^ *(\d+)(?:\t|→|: |:$| ?\| ?|$)(.*)$")
_ESCAPED = regex(r"\\([ntr\"'`\\])")
_ESCAPED_QUOTE = regex(r"\\([\"'])")
_LEFT_OUT = regex(r"^(?:#|//|--|;|%|/\*|<!--|\{/\*)?\s*(?:\.\.\.|…)[^'\"=()\[\]]*$")
_WORDS = regex(r"\S+|\s+")
_MEANT = {"n": "\n", "t": "\t", "r": "\r"}

TRAILING, TYPOGRAPHY, INDENTATION, SPACING = (
    "different spaces at the ends of lines",
    "different quotes, dashes or spaces",
    "different indentation",
    "different spacing",
)
NUMBERS, ESCAPES, BLANKS, ELISION = (
    "line numbers left out",
    "escaped characters read as characters",
    "blank lines around it left out",
    "left-out lines kept",
)


class Landing(Struct, frozen=True):
    """A place in a file, and what is to stand there: lines from 0, `last` being the last of them."""

    first: int
    last: int
    lines: tuple[str, ...]
    how: tuple[str, ...] = ()  # in which ways it does not match exactly


class WantedEdit(Struct, frozen=True):
    """What is to be replaced by what, each as lines; `whole` where these are lines from end to end."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    whole: bool = False
    how: tuple[str, ...] = ()


def wanted(old: str, new: str, *, whole: bool = False) -> WantedEdit:
    """Two texts as lines. One that ends a line replaces lines from end to end, whatever the new one ends with."""
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if old.endswith("\n"):
        old, whole = old.removesuffix("\n"), True
        return WantedEdit(tuple(old.split("\n")), tuple(new.removesuffix("\n").split("\n")) if new else (), True)
    return WantedEdit(tuple(old.split("\n")), tuple(new.split("\n")), whole)


def found(lines: Sequence[str], edit: WantedEdit) -> list[Landing]:
    """The places the edit may mean, by the strictest reading that has any; it lands where there is just one."""
    for reading in _readings(edit):
        if places := _by_level(lines, reading):
            return places
    return _elided(lines, edit)


def _readings(edit: WantedEdit) -> Iterator[WantedEdit]:
    """The edit as it is written, and as it may be meant."""
    for one in (edit, _unnumbered(edit), _unescaped(edit)):
        if one is not None:
            yield one
            yield from _trimmed(one)


def _by_level(lines: Sequence[str], edit: WantedEdit) -> list[Landing]:
    core = _core(edit.old)
    if not core:
        return []
    if edit.whole:
        places = _windows(lines, edit, str, ())
    else:  # as it is written, it has been looked for
        places = _within(lines, edit, str) if edit.how else []
    if not places and indent_of(core[0]):  # which says enough of the place
        places = _windows(lines, edit, str.rstrip, (TRAILING,))
    if places and BLANKS not in edit.how:
        return places
    alike = _starts(lines, core, _loose)
    if len(alike) > 1:  # also where only one of them has the right indentation
        return [Landing(start, start + len(core) - 1, (), (SPACING,)) for start in alike]
    if not places and not edit.whole:
        places = _within(lines, edit, _folded)
    for key, how in _LEVELS:
        places = places or _windows(lines, edit, key, (how,))
    return places


def _core(lines: Sequence[str]) -> Sequence[str]:
    """The lines without blank ones around."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    return lines[filled[0] : filled[-1] + 1] if filled else ()


# ── lines from end to end


def _starts(lines: Sequence[str], old: Sequence[str], key: Callable[[str], str]) -> list[int]:
    """Where lines stand that are the same by a key. Places that overlap are as many places."""
    keys, sought = [key(line) for line in lines], [key(line) for line in old]
    anchor = max(range(len(sought)), key=lambda at: len(sought[at]))
    return [
        start
        for at, value in enumerate(keys)
        if value == sought[anchor] and (start := at - anchor) >= 0 and keys[start : start + len(sought)] == sought
    ]


def _windows(lines: Sequence[str], edit: WantedEdit, key: Callable[[str], str], how: tuple[str, ...]) -> list[Landing]:
    starts = _starts(lines, edit.old, key)
    if len(starts) != 1:
        return [Landing(start, start + len(edit.old) - 1, (), how) for start in starts]
    start, end = starts[0], starts[0] + len(edit.old)
    made = _rewritten(lines[start:end], edit, unit_of(lines))
    return [] if made is None else [Landing(start, end - 1, made, (*edit.how, *how))]


def _rewritten(there: Sequence[str], edit: WantedEdit, unit: str) -> tuple[str, ...] | None:
    """The new lines as they belong there: unchanged ones as the file has them, others with its indentation."""
    kept = _unchanged(edit.old, edit.new)
    fresh = [at for at in range(len(edit.new)) if at not in kept and edit.new[at].strip()]
    indents = {indent_of(edit.new[at]) for at in fresh}
    pairs = [(indent_of(old), indent_of(line)) for old, line in zip(edit.old, there, strict=True) if old.strip()]
    first = edit.old[0]
    begins_inside = bool(first.strip() and edit.new) and not indent_of(first) and bool(indent_of(there[0]))
    made = carried_over(pairs, indents, unit)
    whole = None if made is None else _spelt(there, edit, kept, made)
    if not begins_inside or indent_of(edit.new[0]):
        return whole
    rest = carried_over(pairs[1:], indents, unit) if pairs[1:] else {indent: indent for indent in indents}
    if rest is None:
        return whole
    inside = _spelt(there, edit, kept, rest, begin=indent_of(there[0]))
    if whole is None or (len(edit.old) == 1 and whole == inside):
        return inside
    return whole if pairs[1:] else None  # two readings of one line


def _spelt(
    there: Sequence[str], edit: WantedEdit, kept: dict[int, int], indents: dict[str, str], begin: str | None = None
) -> tuple[str, ...]:
    signs, for_old = _straightened(edit.old, there), _in_place_of(kept, len(edit.old), len(edit.new))
    made = []
    for at, line in enumerate(edit.new):
        if at in kept:
            made.append(there[kept[at]])
        elif not line.strip():
            made.append(line)
        else:
            indent = indents[indent_of(line)] if begin is None or at else begin
            inner = line[len(indent_of(line)) :]
            before = for_old.get(at)
            old, real = ("", "") if before is None else (edit.old[before].strip(" \t"), there[before].strip(" \t"))
            made.append(indent + _retyped(old, real, inner, signs))
    return tuple(made)


def _unchanged(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """Which line of the old text a new line is."""
    if len(old) + len(new) > MOST_COMPARED:
        return {}
    return {block.b + step: block.a + step for block in _blocks(old, new) for step in range(block.size)}


def _blocks(old: Sequence[str], new: Sequence[str]) -> list[Match]:
    from difflib import SequenceMatcher  # where nothing but exact edits are made, nobody needs it

    return SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()


def _in_place_of(kept: dict[int, int], old: int, new: int) -> dict[int, int]:
    """Which old line a changed line stands for: between unchanged ones, where there are as many as before."""
    found: dict[int, int] = {}
    at = before = 0
    for end, old_end in [*sorted(kept.items()), (new, old)]:
        if end - at == old_end - before:
            found |= dict(zip(range(at, end), range(before, old_end), strict=True))
        at, before = end + 1, old_end + 1
    return found


# ── parts of lines


def _within(lines: Sequence[str], edit: WantedEdit, key: Callable[[str], str]) -> list[Landing]:
    """The text wherever it stands, by a key that keeps its length."""
    text, old, new = "\n".join(lines), "\n".join(edit.old), "\n".join(edit.new)
    folded, sought = key(text), key(old)
    how = edit.how if key is str else (*edit.how, TYPOGRAPHY)
    places = []
    at = folded.find(sought)
    while at >= 0:
        places.append(at)
        at = folded.find(sought, at + 1)
    if len(places) != 1:
        firsts = [text.count("\n", 0, at) for at in places]
        return [Landing(first, first + len(edit.old) - 1, (), how) for first in firsts]
    at = places[0]
    there = text[at : at + len(old)]
    new = _retyped(old, there, new, _straightened([old], [there]))
    begin, end = text.rfind("\n", 0, at) + 1, text.find("\n", at + len(old))
    whole = text[begin:at] + new + text[at + len(old) : end if end >= 0 else len(text)]
    first = text.count("\n", 0, at)
    return [Landing(first, first + len(edit.old) - 1, tuple(whole.split("\n")), how)]


def _retyped(old: str, there: str, new: str, signs: dict[int, str]) -> str:
    """The new text with plain signs, and with the file's own spelling where the model left the text as it was."""
    made = new.translate(signs)
    if old == there or len(old) + len(new) > MOST_TYPED:
        return made
    if _folded(old) == _folded(there):
        spelt = list(made)
        for block in _blocks(old, new):
            spelt[block.b : block.b + block.size] = there[block.a : block.a + block.size]
        return "".join(spelt)
    return _spaced(old, there, made) if _loose(old) == _loose(there) else made


def _spaced(old: str, there: str, new: str) -> str:
    """The new line with the file's words, and its spaces between them, where the model left them as they were."""
    words, spelt, real = old.split(), _WORDS.findall(new), _WORDS.findall(there)
    if len(words) != len(there.split()) or new[:1].isspace() or there[:1].isspace():
        return new
    for block in _blocks(words, new.split()):
        if block.size:  # every second one is what stands between two words
            spelt[2 * block.b : 2 * (block.b + block.size) - 1] = real[2 * block.a : 2 * (block.a + block.size) - 1]
    return "".join(spelt)


def _straightened(old: Sequence[str], there: Sequence[str]) -> dict[int, str]:
    """The typographic signs that the model writes where the file has plain ones."""
    signs: dict[int, str] = {}
    for said, real in zip(old, there, strict=True):
        said, real = said.strip(" \t"), real.strip(" \t")
        if said != real and len(said) == len(real):
            signs |= {ord(a): b for a, b in zip(said, real, strict=True) if not a.isascii() and b.isascii()}
    return signs


def _folded(text: str) -> str:
    return text.translate(_FOLDED)


def _typographic(line: str) -> str:
    return line.rstrip().translate(_FOLDED)


def _loose(line: str) -> str:
    """A line without all that does not matter; several lines that are the same by this are as many places."""
    plain = unicodedata.normalize("NFC", line.translate(_UNSEEN)).translate(_FOLDED).replace("…", "...")
    return " ".join(plain.split())


_LEVELS: tuple[tuple[Callable[[str], str], str], ...] = (
    (str.rstrip, TRAILING),
    (_typographic, TYPOGRAPHY),
    (str.strip, INDENTATION),
    (_loose, SPACING),
)


# ── what models add


def _unnumbered(edit: WantedEdit) -> WantedEdit | None:
    """Without the line numbers that Read shows. New lines have them all, or none has."""
    old = _without_numbers(edit.old)
    if old is None:
        return None
    new = _without_numbers(edit.new)
    if new is None and any(_NUMBERED.match(line) for line in edit.new if line.strip()):
        return None
    return structs.replace(edit, old=old, new=edit.new if new is None else new, how=(*edit.how, NUMBERS))


def _without_numbers(lines: Sequence[str]) -> tuple[str, ...] | None:
    matches = [_NUMBERED.match(line) for line in lines]
    numbers = [int(match[1]) for match in matches if match]
    blank = all(match or not line.strip() for match, line in zip(matches, lines, strict=True))
    if not numbers or not blank or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return None
    return tuple(match[2] if match else "" for match in matches)


def _unescaped(edit: WantedEdit) -> WantedEdit | None:
    """With `\\n` and `\\"` as the characters they stand for, in a text that was escaped as a whole."""
    old, new = "\n".join(edit.old), "\n".join(edit.new)
    for escaped in (_ESCAPED, _ESCAPED_QUOTE):
        if not escaped.search(old) or not _as_a_whole(old, escaped):
            continue
        if not _as_a_whole(new, escaped):
            if "\\" in new:
                return None
        else:
            new = _meant(new, escaped)
            if escaped is _ESCAPED and any(line.count('"') % 2 for line in new.split("\n") if line not in old):
                return None  # a line end inside a string was to stay escaped, or it was not: nobody knows
        made = tuple(_meant(old, escaped).split("\n"))
        return WantedEdit(made, tuple(new.split("\n")), edit.whole, (*edit.how, ESCAPES))
    return None


def _meant(text: str, escaped: re.Pattern[str]) -> str:
    return escaped.sub(lambda match: _MEANT.get(match[1], match[1]), text)


def _as_a_whole(text: str, escaped: re.Pattern[str]) -> bool:
    """Whether nothing in it that would have been escaped stands for itself."""
    rest = escaped.sub("", text)
    return '"' not in rest and (escaped is _ESCAPED_QUOTE or not ("\n" in rest or "\\" in rest))


def _trimmed(edit: WantedEdit) -> Iterator[WantedEdit]:
    """Without blank lines around it, as few as will do; as many are left out of the new text, which may have none."""
    blank = [not line.strip() for line in edit.old]
    if all(blank):
        return
    before, behind = blank.index(False), blank[::-1].index(False)
    ways = [(top, end) for top in range(before + 1) for end in range(behind + 1) if 0 < top + end <= MOST_BLANK]
    for top, end in sorted(ways, key=sum):
        new = _without_blank(edit.new, top, end)
        if new is not None:
            yield WantedEdit(edit.old[top : len(edit.old) - end], new, True, (*edit.how, BLANKS))


def _without_blank(lines: tuple[str, ...], top: int, end: int) -> tuple[str, ...] | None:
    blank = [not line.strip() for line in lines]
    if all(blank):
        return lines[top + end :] if len(lines) >= top + end or not lines else None
    before, behind = blank.index(False), blank[::-1].index(False)
    if 0 < before < top or 0 < behind < end:
        return None
    return lines[min(top, before) : len(lines) - min(end, behind)]


# ── lines left out


def _elided(lines: Sequence[str], edit: WantedEdit) -> list[Landing]:
    """Lines with `...` for those between. Every part stands after the one before it, and in one way only."""
    edit = _unnumbered(edit) or edit
    old, new = _parts(edit.old), _parts(edit.new)
    if len(old) < 2 or len(old) != len(new) or not all(any(line.strip() for line in part) for part in old):
        return []
    starts = [_starts(lines, part, _loose) for part in old]
    chains: list[list[int]] = [[]]
    for at, places in enumerate(starts):
        chains = [
            [*chain, place]
            for chain in chains
            for place in places
            if not chain or _in_one_block(lines, chain[-1] + len(old[at - 1]), place)
        ]
        if not 1 <= len(chains) <= MOST_CHAINS:
            return []
    if len(chains) != 1 or len(starts[0]) != 1:
        return []
    chain = chains[0]
    there = [line for start, part in zip(chain, old, strict=True) for line in lines[start : start + len(part)]]
    joined = WantedEdit(
        tuple(line for part in old for line in part), tuple(line for part in new for line in part), True
    )
    if _rewritten(there, joined, unit_of(lines)) is None:
        return []
    made: list[str] = []
    for at, start in enumerate(chain):
        piece = _piece(lines[start : start + len(old[at])], old[at], new[at], joined, there, unit_of(lines))
        if piece is None:
            return []
        following = chain[at + 1] if at + 1 < len(chain) else start + len(old[at])
        made += [*piece, *lines[start + len(old[at]) : following]]
    return [Landing(chain[0], chain[-1] + len(old[-1]) - 1, tuple(made), (*edit.how, ELISION))]


def _piece(
    there: Sequence[str],
    old: Sequence[str],
    new: Sequence[str],
    joined: WantedEdit,
    all_there: Sequence[str],
    unit: str,
) -> tuple[str, ...] | None:
    """One part in its place, with the indentation that all parts together show."""
    kept = _unchanged(old, new)
    pairs = [(indent_of(a), indent_of(b)) for a, b in zip(joined.old, all_there, strict=True) if a.strip()]
    indents = {indent_of(line) for at, line in enumerate(new) if at not in kept and line.strip()}
    made = carried_over(pairs, indents, unit)
    return None if made is None else _spelt(there, WantedEdit(tuple(old), tuple(new), True), kept, made)


def _parts(lines: Sequence[str]) -> list[list[str]]:
    """The lines between those that stand for others; such a line at an end stands for nothing."""
    parts: list[list[str]] = [[]]
    for line in lines:
        if _LEFT_OUT.match(line.strip()):
            parts.append([])
        else:
            parts[-1].append(line)
    for at in (0, -1):
        if len(parts) > 1 and not any(line.strip() for line in parts[at]):
            del parts[at]
    return parts


def _in_one_block(lines: Sequence[str], begin: int, end: int) -> bool:
    """Whether there are lines between, and none is further out than what follows: they belong to the same block."""
    depths = [len(indent_of(line).expandtabs(4)) for line in lines[begin : end + 1] if line.strip()]
    return begin < end and bool(depths) and min(depths) >= depths[-1]
