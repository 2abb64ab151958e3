"""Slash commands as text: one grammar, parse(format(line)) is the identity; and what is offered while one is typed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.base.errors import UsageError
from quintet.domain.input.slash_line import (
    CommandLine,
    CommandUsage,
    command_name,
    format_command,
    format_own_call,
    hints,
    meant,
    own_call,
    parse,
    words_of,
)
from quintet.engine.commands import table as commands

VALUED = frozenset({"permission-profile", "model-mode"})
SWITCHES = frozenset({"autonomous"})

NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,12}", fullmatch=True)
TEXT = st.text(st.characters(blacklist_categories=["Cs"]), max_size=20)
FLAGS = st.fixed_dictionaries(
    {}, optional={"permission-profile": TEXT, "model-mode": TEXT, "autonomous": st.just(True)}
)
LINES = st.builds(
    CommandLine,
    NAMES,
    st.lists(TEXT, max_size=4).map(tuple),
    FLAGS,
    st.text(st.characters(blacklist_categories=["Cs"])),
)


@given(LINES)
def test_parse_of_format_is_the_identity(line: CommandLine) -> None:
    assert parse(format_command(line), valued=VALUED, switches=SWITCHES) == line


def test_combined_forms() -> None:
    line = parse("/mode repair --autonomous --permission-profile normal", valued=VALUED, switches=SWITCHES)
    assert line == CommandLine("mode", ("repair",), {"autonomous": True, "permission-profile": "normal"})


def test_quotes_escapes_and_details() -> None:
    line = parse('/Say "two words" \'single \\ quoted\' back\\ slash "a \\"b\\""\nmore\nlines')
    assert line == CommandLine("say", ("two words", "single \\ quoted", "back slash", 'a "b"'), {}, "more\nlines")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('/mode "build', 'a " quote is not closed'),
        ("/mode build --permision-profile x", "unknown flag --permision-profile. Did you mean permission-profile?"),
        ("/mode build --model-mode", "--model-mode needs a value"),
    ],
)
def test_a_bad_line_is_told_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        parse(text, valued=VALUED, switches=SWITCHES)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("/mode build", "mode"),
        ("  /HELP", "help"),
        ("/", None),
        ("/ x", None),
        ("what is /mode", None),
        ("/usr/bin/env is a path", None),
        ("//comment", None),
        ("/mode\nrest", "mode"),
    ],
)
def test_only_a_first_line_that_begins_with_a_word_is_a_command(text: str, name: str | None) -> None:
    assert command_name(text) == name


def test_s3_11_1_the_programs_own_name_is_no_command_root() -> None:
    assert {command.name for command in commands.TABLE} & {"sf", "quintet"} == set()
    with pytest.raises(UsageError, match="/quintet is not a command"):
        commands.parse("/quintet mode build")


def test_an_unknown_command_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"/moed is not a command\. Nearest: /mode"):
        commands.parse("/moed build")


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("! ls -l", ("bash", '{"command":"ls -l"}')),
        ("!ls", ("bash", '{"command":"ls"}')),
        ('!!Read {"file_path": "a b"}', ("Read", '{"file_path": "a b"}')),
        ('!! Read\n{"file_path": "a"}', ("Read", '{"file_path": "a"}')),
        ("!!git_log", ("git_log", "{}")),
        ("!!", ("", "{}")),
        ("ls", None),
        ("/mode plan", None),
    ],
)
def test_a_persons_own_call_is_a_shell_line_or_a_tool_with_its_arguments(
    text: str, own: tuple[str, str] | None
) -> None:
    assert own_call(text) == own


def test_a_call_that_is_written_out_is_read_back() -> None:
    assert own_call(format_own_call("Read", '{"file_path": "a"}')) == ("Read", '{"file_path": "a"}')


TABLE = (
    CommandUsage("mode", "/mode chat|plan|build [--autonomous] [SCOPE]", "what kind of work"),
    CommandUsage("model", "/model [NAME|auto]", "choose a model"),
    CommandUsage("steer", "/steer DIAL VALUE [now|later]", "turn a dial"),
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
    assert hints("/steer x", TABLE).note.startswith("/steer DIAL VALUE")


@pytest.mark.parametrize("text", ["", "mode", "/usr/bin/env", "/mode\nmore", "/unknown word"])
def test_nothing_is_offered_for_what_is_no_command(text: str) -> None:
    assert hints(text, TABLE).rows == ()


def test_words_come_from_the_usage() -> None:
    assert [words_of(one.usage) for one in TABLE] == [("chat", "plan", "build"), ("auto",), (), (), ()]


@pytest.mark.parametrize(
    ("typed", "offered", "index"),
    [
        ("/mode", ("/mode ", "/model", "/model-mode "), 0),  # the very one
        ("/mod", ("/mode ", "/model"), None),  # several begin so
        ("/stat", ("/status",), 0),
        ("/stp", ("/stop",), None),  # a guess
        ("/atu", ("/status",), None),  # in the middle of it
        ("/mode b", ("/mode build",), 0),
        ("/mode ", ("/mode chat", "/mode plan"), None),
        ("1", ("1", "10"), 0),
        ("/x", (), None),
    ],
)
def test_enter_means_the_one_that_is_typed_or_the_only_one_begun(
    typed: str, offered: tuple[str, ...], index: int | None
) -> None:
    assert meant(typed, offered) == index
