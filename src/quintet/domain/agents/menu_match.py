"""What an input comes nearest to in a menu.

A field's score grows with how its words are met (as a phrase, as words, as beginnings, as parts), with the kind of
field, and with how much of it is covered; it falls steeply with each word of the input that the field does not know. A
best score below THRESHOLD is no match, and what lies within MARGIN of the best is as good as it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from quintet.domain.agents.filler import COMMON, LAUNCHING, SHOWING, TURNING, Asked, asked
from quintet.domain.agents.menu_index import MOST_TYPO, CompiledMenu, Field, FieldKind, Match, clips
from quintet.domain.agents.spoken import words

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
