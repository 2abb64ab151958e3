"""The commands on the conversation and on what it changed, over one session; each run is replayed."""

from pathlib import Path

import pytest

from quintet.domain.journal import protocol as p
from quintet.domain.journal.state import fold
from quintet.engine.checkpoints.rewind_points import Point, newest_change
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive


def test_a_session_with_every_command_on_its_conversation(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("write it")
        assert "new.txt  new  +1 −0" in (await driver.command("/diff")).text
        assert (await driver.command("/undo")).data["rewind"]["restore"][0]["path"] == "new.txt"
        assert (await driver.command("/undo yes")).ok and not (repo / "new.txt").exists()
        assert not (await driver.command("/undo")).ok
        assert driver.session.id in (await driver.command("/sessions")).text
        assert not (await driver.command("/sessions nosuch")).ok
        assert not (await driver.command("/copy")).ok, "there is no terminal here"
        assert (await driver.command("/export page.md")).ok and (repo / "page.md").exists()
        assert not (await driver.command("/export page.md")).ok
        assert "no rules yet" in (await driver.command("/rules")).text
        assert (await driver.command("/clear")).data["cleared"]
        assert driver.session.state.conversation.messages == []
        assert (await driver.command("/new sentence")).code == "USAGE"

    drive(repo, script, ScriptedModel([[call("Write", file_path="new.txt", content="one\n")], "written"]))


def test_a_new_conversation_forgets_todos_and_pages_and_keeps_what_was_spent(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("plan it")
        before = driver.session.state
        assert before.work.todos and before.spent.usage.input_tokens
        spent = before.spent.usage.input_tokens
        await driver.command("/clear")
        after = driver.session.state
        assert (after.work.todos, after.conversation.requests, after.conversation.summary) == ({}, [], None)
        assert (after.turns.count, after.spent.usage.input_tokens) == (1, spent)

    drive(repo, script, ScriptedModel([[call("TodoCreate", todos=[{"content": "paint"}])], "planned"]))


def test_clearing_what_was_never_said_is_harmless() -> None:
    state = fold([p.ConversationCleared(point="clear-1")])
    assert state.conversation.messages == [] and list(state.conversation.marks) == ["clear-1"]


def points(*shapes: str) -> list[Point]:
    """`c` changed files, `-` did not, a number is a rewind of files to that point."""
    changed = p.FilesChanged(call="c", point="", paths=("a",), count=1, added=1, removed=0)
    return [
        Point(number, f"p{number}", "", "", number, changes=[changed] if shape == "c" else [])
        if not shape.isdecimal()
        else Point(number, f"p{number}", "", "", number, back_to=f"p{shape}", changes=[changed])
        for number, shape in enumerate(shapes, 1)
    ]


@pytest.mark.parametrize(
    ("shapes", "found"),
    [
        ("", 0),
        ("-", 0),
        ("c", 1),
        ("c-", 1),
        ("cc", 2),
        ("c1", 0),
        ("cc2", 1),
        ("cc21", 0),
        ("cc23", 2),  # the rewind itself was taken back
        ("c1c", 3),
        ("cc2-c", 5),
    ],
)
def test_the_newest_change_that_stands(shapes: str, found: int) -> None:
    newest = newest_change(points(*shapes))
    assert (newest.number if newest else 0) == found
