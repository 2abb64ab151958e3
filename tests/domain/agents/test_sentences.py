"""What people say to an agent is answered, and what they meant as a command is taken as it.

`corpus/free_sentences.jsonl` is talk, which goes to chat; `corpus/sloppy_commands.jsonl` names the item that was meant.
The lines marked `held_out` were first run when the scoring stood: no sentence was hijacked, and of 33 commands 32 were
right and one was chat ("write a commit message"). Verbs of making have become filler since: they are unseen no more.
"""

import json
from collections import Counter
from typing import Any

import pytest

from quintet.domain.agents.agent import visible_menu
from quintet.domain.agents.route import CommandKind, resolve
from quintet.domain.dials.axes import Surface
from tests.domain.menus import FOLDER, corpus_agents

MOST_WRONG = 0.01
LEAST_RIGHT = 0.9


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


FREE, SLOPPY = lines("free_sentences.jsonl"), lines("sloppy_commands.jsonl")


def test_the_corpus_is_large_enough_and_every_fifth_line_is_held_out() -> None:
    assert (len(FREE) >= 200, len(SLOPPY) >= 100) == (True, True)
    for rows in (FREE, SLOPPY):
        assert [number for number, row in enumerate(rows, 1) if row.get("held_out")] == list(range(5, len(rows) + 1, 5))


@pytest.mark.parametrize("row", FREE, ids=lambda row: row["text"][:40])
def test_a_free_sentence_is_never_hijacked(row: dict[str, Any]) -> None:
    command = resolve(row["text"], corpus_agents()[row["agent"]])
    assert (command.kind, command.menu_index, command.label) == (CommandKind.CHAT, None, None)


def outcome(row: dict[str, Any]) -> str:
    agent = corpus_agents()[row["agent"]]
    menu = visible_menu(agent, Surface.TUI)
    index, meant = next(
        (index, handler)
        for index, item in enumerate(menu, 1)
        for handler in item.handlers
        if row["item"] in (item.trigger, *item.aliases, handler.trigger)
    )
    command = resolve(row["text"], agent)
    if command.menu_index == index:
        return "right" if (command.target or "") == meant.target else "wrong"
    if command.kind is CommandKind.CLARIFY_CHOICE:
        return "choice" if any(candidate.index == index for candidate in command.candidates) else "wrong"
    return "chat" if command.kind is CommandKind.CHAT else "wrong"


@pytest.mark.parametrize("held_out", [False, True])
def test_a_sloppy_command_is_the_item_that_was_meant(held_out: bool) -> None:
    rows = [row for row in SLOPPY if bool(row.get("held_out")) is held_out]
    counts = Counter(outcome(row) for row in rows)
    assert counts["wrong"] <= MOST_WRONG * len(rows), counts
    assert counts["right"] >= LEAST_RIGHT * len(rows), counts
