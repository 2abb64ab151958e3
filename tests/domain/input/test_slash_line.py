"""Slash commands as text: one grammar, and parse(format(line)) is the identity."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.base.errors import UsageError
from quintet.domain.input.slash_line import (
    CommandLine,
    command_name,
    format_command,
    format_own_call,
    own_call,
    parse,
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
