"""A menu made ready for matching, once per agent and surface: its exact names, and the fields of its items.

A match is an item's place in the visible menu and the handler meant by it.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from quintet.domain.agents import Agent, Handler, MenuItem, visible_menu
from quintet.domain.axes import Surface
from quintet.domain.spoken import fold, words


class Match(Struct, frozen=True):
    index: int  # from 1
    handler: Handler


class CompiledMenu(Struct, frozen=True):
    items: tuple[MenuItem, ...]
    exact: dict[str, tuple[Match, ...]]  # by the words of a trigger, cmd, alias or code


@lru_cache(maxsize=64)
def compiled(agent: Agent, surface: Surface) -> CompiledMenu:
    items = visible_menu(agent, surface)
    exact: dict[str, list[Match]] = {}
    for index, item in enumerate(items, 1):
        for name, handler in _names(item):
            matches = exact.setdefault(name, [])
            if all(match.index != index for match in matches):
                matches.append(Match(index, handler))
    return CompiledMenu(items, {name: tuple(matches) for name, matches in exact.items()})


def name_of(folded: str) -> str:
    return " ".join(words(folded))


def _names(item: MenuItem) -> list[tuple[str, Handler]]:
    """What an item and its handlers go by exactly; a handler's own name comes before its item's."""
    own = (item.trigger, item.cmd, *item.aliases, item.code)
    given = [(name, handler) for handler in item.handlers for name in (handler.trigger, handler.code)]
    given += [(name, item.handlers[0]) for name in own]
    return [(name, handler) for text, handler in given if (name := name_of(fold(text)))]
