"""A menu made ready for matching, once per agent and surface.

Each item has fields: the names it goes by, the phrases of its handlers, its description. Their words are indexed, so
that a word of an input finds the fields it stands in, may begin or misspell, without looking at the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from functools import lru_cache
from typing import TypeVar

from msgspec import Struct

from quintet.domain.agents.agent import Agent, Handler, MenuItem, visible_menu
from quintet.domain.agents.filler import content
from quintet.domain.agents.spoken import fold, words
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
