"""The words of `quintet memory` and `/memory`: one set of parsers, one set of answers."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from quintet.cli.parsing import word_parser
from quintet.domain.base.errors import NotFound
from quintet.domain.base.text_table import table
from quintet.features.memory.memory import ProjectMemory
from quintet.features.memory.store import MemoryStore
from quintet.features.memory.values import (
    YOU,
    CommandCheck,
    MemoryEntry,
    NewMemory,
    Tier,
    check_words,
    checked_text,
    parse_check,
    parse_tier,
)

EXAMPLE = 'quintet memory add "Releases are cut from main" --tier decision'
EMPTY = f"nothing is remembered of this project yet. For example {EXAMPLE}"
HEADING = ("ID", "TIER", "DATE", "HOLDS", "TEXT")


class MemoryAnswer(Struct, frozen=True):
    lines: list[str]
    data: Any


class MemoryScene(Struct, frozen=True):
    """Where the words are said."""

    memory: ProjectMemory
    now: str


Answering = Callable[[MemoryScene, Namespace], MemoryAnswer]


def listed(scene: MemoryScene, words: Namespace) -> MemoryAnswer:
    memory, tier = scene.memory, parse_tier(words.tier) if words.tier else None
    if not memory.exists:
        return MemoryAnswer([EMPTY], [])

    def look(store: MemoryStore) -> tuple[list[MemoryEntry], bool]:
        query = " ".join(words.query)
        found = memory.found(store, query, words.number, tier) if query else memory.looked_at(store.entries(tier))
        return found, store.is_off

    found, off = memory.do(look)
    shown = found[-words.number :]
    rows = [(one.id, one.tier, one.at[:10], _holds(one), one.text) for one in shown]
    lines = table(rows, heading=HEADING) or ["nothing matches" if words.query or tier else EMPTY]
    if len(found) > len(shown):
        lines.append(f"{len(found) - len(shown)} older ones are not shown; -n {len(found)} shows all")
    if off:
        lines.append("memory is off in this project: nothing is written or recalled; /memory on turns it on")
    return MemoryAnswer(lines, [as_data(one) for one in shown])


def shown(scene: MemoryScene, words: Namespace) -> MemoryAnswer:
    one = scene.memory.looked_at([_stored(scene, lambda store: store.entry(words.id), words.id)])[0]
    seen = f", passed on {one.at[:10]}; not run for this" if isinstance(one.check, CommandCheck) else ""
    rows = [
        ("text", one.text),
        ("tier", one.tier),
        ("source", one.source),
        ("date", one.at),
        ("evidence", one.evidence or "none"),
        ("check", f"{check_words(one.check) or 'none'}{seen}"),
        ("holds", _holds(one)),
    ]
    return MemoryAnswer([one.id, *table(rows)], as_data(one))


def added(scene: MemoryScene, words: Namespace) -> MemoryAnswer:
    text = scene.memory.clean(checked_text(" ".join(words.text)))
    check = parse_check(words.check) if words.check else None
    new = NewMemory(parse_tier(words.tier), text, "you said so", check)
    one = scene.memory.do(lambda store: store.add([new], YOU, scene.now))[0]
    return MemoryAnswer([f"remembered {one.id}: {one.text}"], as_data(one))


def edited(scene: MemoryScene, words: Namespace) -> MemoryAnswer:
    before = _stored(scene, lambda store: store.entry(words.id), words.id)
    text = scene.memory.clean(checked_text(" ".join(words.text))) if words.text else before.text
    check = parse_check(words.check) if words.check else before.check
    one = scene.memory.do(lambda store: store.change(words.id, text, check, YOU, scene.now))
    return MemoryAnswer([f"changed {one.id}: {one.text}"], as_data(one))


def forgotten(scene: MemoryScene, words: Namespace) -> MemoryAnswer:
    gone = [_stored(scene, lambda store, id=id: store.forget(id), id) for id in dict.fromkeys(words.ids)]  # type: ignore[misc]
    return MemoryAnswer([f"forgot {one.id}: {one.text}" for one in gone], [as_data(one) for one in gone])


def turned_on(scene: MemoryScene, words: Namespace) -> MemoryAnswer:
    return _turned(scene, off=False)


def turned_off(scene: MemoryScene, words: Namespace) -> MemoryAnswer:
    return _turned(scene, off=True)


def _turned(scene: MemoryScene, *, off: bool) -> MemoryAnswer:
    scene.memory.do(lambda store: store.turn(off=off))
    does = "off: nothing is stored or recalled; existing memories stay" if off else "on"
    return MemoryAnswer([f"memory is {does}"], {"memory": "off" if off else "on"})


def _stored(scene: MemoryScene, work: Callable[[MemoryStore], MemoryEntry], id: str) -> MemoryEntry:
    if not scene.memory.exists:
        raise NotFound(f"there is no memory {id[:40]}: {EMPTY}")
    return scene.memory.do(work)


def _holds(one: MemoryEntry) -> str:
    if one.stale:
        return f"no: {one.stale}"
    return "" if one.check is None else "not run" if isinstance(one.check, CommandCheck) else "yes"


def as_data(one: MemoryEntry) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(one)
    return found


# ── what they take


def _takes_list(parser: ArgumentParser) -> None:
    parser.add_argument("query", nargs="*", metavar="WORDS", help="only what matches, the best first")
    parser.add_argument("--tier", default="", metavar="TIER", help="fact, decision or outcome")
    parser.add_argument("-n", "--number", metavar="N", type=int, default=50, help="how many (default: 50)")


def _takes_id(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="as `quintet memory list` shows it")


def _takes_ids(parser: ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help="as `quintet memory list` shows it")


def _takes_text(parser: ArgumentParser) -> None:
    parser.add_argument("text", nargs="*", metavar="TEXT", help="one line")
    parser.add_argument("--tier", default=str(Tier.DECISION), metavar="TIER", help="fact, decision (default), outcome")
    _takes_check(parser)


def _takes_edit(parser: ArgumentParser) -> None:
    _takes_id(parser)
    parser.add_argument("text", nargs="*", metavar="TEXT", help="the new text (default: unchanged)")
    _takes_check(parser)


def _takes_check(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--check", default="", metavar="CHECK", help="it holds while: path:FILE, text:FILE:WORDS; or command:LINE"
    )


def _takes_nothing(parser: ArgumentParser) -> None:
    pass


class MemoryWord(Struct, frozen=True):
    about: str
    run: Answering
    takes: Callable[[ArgumentParser], None]


WORDS: dict[str, MemoryWord] = {
    "list": MemoryWord("What is remembered of this project.", listed, _takes_list),
    "show": MemoryWord("One memory: its source, its evidence, and whether it still holds.", shown, _takes_id),
    "add": MemoryWord("Remember something.", added, _takes_text),
    "edit": MemoryWord("Change a memory's text or check.", edited, _takes_edit),
    "forget": MemoryWord("Delete memories; no run brings them back.", forgotten, _takes_ids),
    "on": MemoryWord("Write and recall memories in this project.", turned_on, _takes_nothing),
    "off": MemoryWord("Neither write nor recall memories in this project.", turned_off, _takes_nothing),
}


def parsed(action: str, arguments: list[str], *, at_terminal: bool = True) -> Namespace:
    word = WORDS[action]
    parser = word_parser(f"memory {action}", word.about, at_terminal=at_terminal)
    word.takes(parser)
    found: Namespace = parser.parse_args(arguments)
    return found
