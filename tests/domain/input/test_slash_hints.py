"""What is offered while a slash command is typed."""

import pytest

from quintet.domain.input.slash_hints import CommandUsage, hints, words_of

TABLE = (
    CommandUsage("mode", "/mode chat|plan|build [--autonomous] [SCOPE]", "what kind of work"),
    CommandUsage("model", "/model [NAME|auto]", "choose a model"),
    CommandUsage("steer", "/steer AXIS VALUE [now|later]", "turn a dial"),
    CommandUsage("tasks", "/tasks [STATUS…] | move ID STATUS", "tasks"),
    CommandUsage("quit", "/quit", "leave"),
)


def labels(text: str) -> list[str]:
    return [row.label for row in hints(text, TABLE).rows]


def test_a_slash_offers_every_command_in_the_tables_order() -> None:
    assert labels("/") == ["/mode", "/model", "/steer", "/tasks", "/quit"]


def test_names_that_begin_so_come_before_those_that_have_it_inside() -> None:
    assert labels("/mo") == ["/mode", "/model"]
    assert labels("/model") == ["/model"]
    assert labels("/t") == ["/tasks", "/steer", "/quit"]


def test_a_misspelt_command_gets_the_nearest() -> None:
    found = hints("/moed", TABLE)
    assert found.rows[0].label == "/mode"
    assert found.note == "/moed is not a command; nearest:"
    assert hints("/xyzzy", TABLE).note == "/xyzzy is not a command; /help lists them all"


def test_a_command_that_needs_words_waits_for_them_and_one_that_needs_none_is_ready() -> None:
    rows = {row.label: row for row in hints("/", TABLE).rows}
    assert (rows["/mode"].text, rows["/mode"].ready) == ("/mode ", False)
    assert (rows["/model"].text, rows["/model"].ready) == ("/model", True)
    assert (rows["/quit"].text, rows["/quit"].ready) == ("/quit", True)


def test_the_words_of_an_argument_are_offered_and_its_usage_is_said() -> None:
    found = hints("/mode b", TABLE)
    assert [(row.label, row.text) for row in found.rows] == [("build", "/mode build")]
    assert found.note.startswith("/mode chat|plan|build")
    assert labels("/mode ") == ["chat", "plan", "build"]
    assert labels("/mode build --autonomous") == []
    assert hints("/steer x", TABLE).note.startswith("/steer AXIS VALUE")


@pytest.mark.parametrize("text", ["", "mode", "/usr/bin/env", "/mode\nmore", "/unknown word"])
def test_nothing_is_offered_for_what_is_no_command(text: str) -> None:
    assert hints(text, TABLE).rows == ()


def test_words_come_from_the_usage() -> None:
    assert [words_of(one.usage) for one in TABLE] == [("chat", "plan", "build"), ("auto",), (), (), ()]
