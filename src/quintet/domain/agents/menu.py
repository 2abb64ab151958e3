"""Which item of a menu an input comes nearest to.

A menu is compiled once per agent and surface. Each item has fields: the names it goes by, the phrases of its handlers,
its description. Their words are indexed, so that a word of an input finds the fields it stands in, may begin or
misspell, without looking at the others.

A field's score grows with how its words are met (as a phrase, as words, as beginnings, as parts), with the kind of
field, and with how much of it is covered; it falls steeply with each word of the input that the field does not know. A
best score below THRESHOLD is no match, and what lies within MARGIN of the best is as good as it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from functools import lru_cache
from itertools import chain
from typing import TypeVar

from msgspec import Struct

from quintet.domain.agents.agent import Agent, Handler, MenuItem, visible_menu
from quintet.domain.agents.words import COMMON, LAUNCHING, SHOWING, TURNING, Asked, asked, content, fold, words
from quintet.domain.base.lazy_regex import regex
from quintet.domain.dials.axes import Surface

LEAST_TYPO, MOST_TYPO = 5, 40  # letters of a word or name that may have a typo
T = TypeVar("T")
_CODES = regex(r"\[\w{1,4}\]")


class FieldKind(IntEnum):
    DESCRIPTION = 0
    MATCH = 1  # the phrase of a handler
    NAME = 2


class Match(Struct, frozen=True):
    index: int  # from 1
    handler: Handler
    score: float = 1.0


class Field(Struct, frozen=True, gc=False):
    index: int
    handler: Handler
    kind: FieldKind
    words: tuple[str, ...]
    phrase: str  # the words with a space before, between and after
    alias: bool = False


class CompiledMenu(Struct, frozen=True):
    items: tuple[MenuItem, ...]
    exact: dict[str, tuple[Match, ...]]  # by the words of a trigger, cmd, alias or code
    labels: dict[str, tuple[Match, ...]]  # by the words of a whole description, its code in front or not
    fields: tuple[Field, ...]
    places: dict[str, tuple[int, ...]]  # in which fields a word stands
    ordered: tuple[str, ...]  # the words, for finding beginnings
    clipped: dict[str, tuple[str, ...]]  # long words by what is left when one letter is taken out
    codes: dict[str, tuple[int, ...]]  # fields that are met by the whole word or not at all
    names: dict[str, tuple[Field, ...]]  # by a name without its separators
    ordered_names: tuple[str, ...]
    clipped_names: dict[str, tuple[str, ...]]


@lru_cache(maxsize=64)
def compiled(agent: Agent, surface: Surface) -> CompiledMenu:
    items = visible_menu(agent, surface)
    exact: dict[str, list[Match]] = {}
    labels: dict[str, list[Match]] = {}
    fields: list[Field] = []
    places, codes = dict[str, list[int]](), dict[str, list[int]]()
    names: dict[str, list[Field]] = {}
    for index, item in enumerate(items, 1):
        for name, handler in _names(item):
            _enter(exact, name, Match(index, handler))
        for label in (item.label, _CODES.sub(" ", item.label, 1), _CODES.sub(" ", item.label)):
            _enter(labels, name_of(fold(label)), Match(index, item.handlers[0]))
        for text, handler, kind in _texts(item):
            found = content(words(fold(text)))
            if not found:
                continue
            for word in dict.fromkeys(found):
                places.setdefault(word, []).append(len(fields))
            fields.append(Field(index, handler, kind, found, f" {' '.join(found)} ", text in item.aliases))
            if kind is FieldKind.NAME:
                names.setdefault("".join(found), []).append(fields[-1])
        for code, handler in _codes(item):
            codes.setdefault(code, []).append(len(fields))
            fields.append(Field(index, handler, FieldKind.NAME, (code,), f" {code} "))
    return CompiledMenu(
        items,
        _frozen(exact),
        _frozen(labels),
        tuple(fields),
        _frozen(places),
        tuple(sorted(places)),
        _clipped(places),
        _frozen(codes),
        _frozen(names),
        tuple(sorted(names)),
        _clipped(names),
    )


def _enter(table: dict[str, list[Match]], name: str, match: Match) -> None:
    if not name:
        return
    matches = table.setdefault(name, [])
    if all(known.index != match.index for known in matches):
        matches.append(match)


def _frozen(lists: dict[str, list[T]]) -> dict[str, tuple[T, ...]]:
    return {key: tuple(values) for key, values in lists.items()}


def _clipped(vocabulary: Iterable[str]) -> dict[str, tuple[str, ...]]:
    clipped: dict[str, dict[str, None]] = {}
    for word in vocabulary:
        for clip in clips(word):
            clipped.setdefault(clip, {})[word] = None
    return {clip: tuple(meant) for clip, meant in clipped.items()}


def name_of(folded: str) -> str:
    return " ".join(words(folded))


def _names(item: MenuItem) -> list[tuple[str, Handler]]:
    """What an item and its handlers go by exactly; a handler's own name comes before its item's."""
    given = [(name, handler) for handler in item.handlers for name in (handler.trigger, handler.code)]
    given += [(name, item.handlers[0]) for name in (item.trigger, item.cmd, *item.aliases, item.code)]
    return [(name_of(fold(text)), handler) for text, handler in given]


def _texts(item: MenuItem) -> Iterator[tuple[str, Handler, FieldKind]]:
    first = item.handlers[0]
    for name in filter(None, (item.trigger, item.cmd, *item.aliases)):
        yield name, first, FieldKind.NAME
    for handler in item.handlers:
        if handler.trigger:
            yield handler.trigger, handler, FieldKind.NAME
        if handler.match:
            yield handler.match, handler, FieldKind.MATCH
    yield _CODES.sub(" ", item.label), first, FieldKind.DESCRIPTION


def _codes(item: MenuItem) -> Iterator[tuple[str, Handler]]:
    given = [(handler.code, handler) for handler in item.handlers] + [(item.code, item.handlers[0])]
    for code, handler in given:
        if code:
            yield fold(code), handler


def clips(word: str) -> Iterator[str]:
    """A word, and what is left of it when one letter is taken out; none of one too short or too long for a typo."""
    if LEAST_TYPO <= len(word) <= MOST_TYPO:
        yield word
        for at in range(len(word)):
            yield word[:at] + word[at + 1 :]


THRESHOLD = 0.27
MARGIN = 0.02

_PHRASE, _WORD, _PREFIX, _PART = 1.0, 3.0, 1.9, 1.0  # a phrase adds to what its words have
_PLURAL, _TYPO, _OPENING = 2.95, 2.8, 2.1  # the last: a name that begins with the input
_KIND = {FieldKind.NAME: 0.6, FieldKind.MATCH: 0.3, FieldKind.DESCRIPTION: 0.0}
_NAME, _COVERED = _KIND[FieldKind.NAME], 0.25
_MOST = _WORD + _PHRASE + _NAME + _COVERED
_STEEP = 5  # how fast unknown words take a score down
_LEAST_SHARE = THRESHOLD ** (1 / _STEEP)  # of the request's words, for the best of fields to reach the threshold
_LEAST_PREFIX, _LEAST_PART = 3, 4
_MOST_WORDS = 40
_MOST_OF = 0.5  # of a field, to take a sentence that turns for a command


def nearest_items(line: str, menu: CompiledMenu) -> tuple[Match, ...]:
    """The items an input may mean: one, several that are as good, or none."""
    said = words(line)
    if whole := menu.labels.get(" ".join(said)):
        return whole
    request = asked(said[: _MOST_WORDS + 1])
    if not request.words or len(said) > _MOST_WORDS or not menu.places.keys() >= request.turning:
        return ()
    met: dict[int, dict[int, tuple[float, str]]] = {}  # field → place in the request → how it is met, and by what
    for place, word in enumerate(request.words):
        for meant, rank, numbers in _met(word, menu, alone=len(said) == 1):
            for number in numbers:
                ways = met.setdefault(number, {})
                if place not in ways or rank > ways[place][0]:
                    ways[place] = (rank, meant)
    least = _LEAST_SHARE * sum(word not in LAUNCHING and word not in SHOWING for word in request.words)
    scored: Iterator[Match] = (
        Match(field.index, field.handler, _score(field, request, ways))
        for field, ways in ((menu.fields[number], ways) for number, ways in met.items() if len(ways) >= least)
    )
    best: dict[int, Match] = {}
    if not request.turning:
        scored = chain(_joined(request.words, menu), _joined(said, menu), scored)
    for match in scored:
        if match.score >= THRESHOLD and (match.index not in best or match.score > best[match.index].score):
            best[match.index] = match
    bar = max((match.score for match in best.values()), default=0.0) - MARGIN
    return tuple(sorted((match for match in best.values() if match.score >= bar), key=lambda match: match.index))


def _joined(said: Sequence[str], menu: CompiledMenu) -> Iterator[Match]:
    """Items whose name is the whole input, or begins with it, were it not for a space or a typo in a short word."""
    joined = "".join(said)
    near = ((other, _TYPO) for other in _typos(joined, menu.clipped_names))
    for name, rank in ((joined, _WORD), *near):
        for field in menu.names.get(name, ()):
            yield Match(field.index, field.handler, (rank + _PHRASE + _NAME + _COVERED) / _MOST)
    phrase = f" {' '.join(said)}"
    for name in _beginning(joined, menu.ordered_names):
        covered = len(joined) / len(name)
        for field in menu.names[name]:
            if len(joined) >= _LEAST_PREFIX or not field.alias:
                whole = len(said) > 1 and field.phrase.startswith(phrase)
                rank = _PHRASE + (_WORD + _PREFIX) / 2 if whole else _OPENING
                yield Match(field.index, field.handler, (rank + _NAME + _COVERED * covered) / _MOST)


def _met(word: str, menu: CompiledMenu, *, alone: bool) -> Iterator[tuple[str, float, tuple[int, ...]]]:
    """The menu's words that a word of the input may stand for, how well, and the fields they are in."""
    places = menu.places
    if word in menu.codes:
        yield word, _WORD, menu.codes[word]
    if word in places:
        yield word, _WORD, places[word]
    if word in TURNING or word in LAUNCHING:
        return
    for other in (f"{word}s", word[:-1] if word[-1] == "s" else ""):
        if len(other) >= _LEAST_PREFIX and other in places:
            yield other, _PLURAL, places[other]
    for other in _typos(word, menu.clipped):
        yield other, _TYPO, places[other]
    for other in _beginning(word, menu.ordered) if len(word) >= _LEAST_PREFIX else ():
        yield other, _PREFIX, places[other]
    if not word.endswith("ed"):
        for size in range(_LEAST_PREFIX, min(len(word) - 1, MOST_TYPO)):
            if (other := word[:size]) in places:
                yield other, _PREFIX, places[other]
    if alone and len(word) >= _LEAST_PART:
        for other in menu.ordered:
            if word in other:
                yield other, _PART, places[other]


def _score(field: Field, request: Asked, ways: dict[int, tuple[float, str]]) -> float:
    meant = [ways[place][1] for place in sorted(ways)]
    seen = set(meant)
    size = sum(word in seen or word not in LAUNCHING for word in field.words)
    covered = min(len(seen) / size, 1.0)
    if request.turning and not (covered >= _MOST_OF and request.turning.issubset(seen)):
        return 0.0
    if field.kind is not FieldKind.NAME and (COMMON.issuperset(seen) or (len(seen) == 1 and not request.bare)):
        return 0.0
    known, unknown = len(ways), 0.0
    for place, word in enumerate(request.words):
        if place not in ways and word not in LAUNCHING:
            unknown += 1 - covered if word in SHOWING else 1.0
    rank = sum(rank for rank, _ in ways.values()) / known
    run = f" {' '.join(meant)} "
    if (run == field.phrase and rank >= _TYPO) or (known > 1 and run in field.phrase):
        rank += _PHRASE
    share = known / (known + unknown)
    return float(share**_STEEP * (rank + _KIND[field.kind] + _COVERED * covered) / _MOST)


def _beginning(word: str, ordered: Sequence[str]) -> Iterator[str]:
    at = bisect_left(ordered, word)
    while at < len(ordered) and ordered[at].startswith(word):
        if ordered[at] != word:
            yield ordered[at]
        at += 1


def _typos(word: str, clipped: dict[str, tuple[str, ...]]) -> Iterable[str]:
    """Words one edit away: a letter too many, too few, another, or two neighbours swapped."""
    near = dict.fromkeys(other for clip in clips(word) for other in clipped.get(clip, ()))
    return [other for other in near if other != word and _one_edit(word, other)]


def _one_edit(one: str, other: str) -> bool:
    if len(one) < len(other):
        one, other = other, one
    if len(one) - len(other) > 1:
        return False
    at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(other))
    if len(one) > len(other):
        return one[at + 1 :] == other[at:]
    swapped = one[at + 1 : at + 2] + one[at : at + 1] == other[at : at + 2]
    return one[at + 1 :] == other[at + 1 :] or (swapped and one[at + 2 :] == other[at + 2 :])
