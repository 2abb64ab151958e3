"""The judge of shell lines gives an answer to any text, and does not take long over it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.adapters.shell_grammar.fast_path import flat
from quintet.adapters.shell_grammar.parse import LONGEST, MOST_MARKS, BashGrammar
from quintet.domain.permission.effects import Effect
from quintet.domain.shell.judge import JudgedLine, judge, judged_line, with_lines
from quintet.domain.shell.read_only_commands import plain_paths
from quintet.domain.shell.syntax import Script, ShellCommand, Word
from quintet.domain.turn.tool_spec import Touch

GRAMMAR = BashGrammar()
BLANKS = "\u00a0\u1680\u2000\u2028\u2029\u202f\u205f\u3000\x85\x1c\x0b\x0c \t\n"
PIECES = [
    *("$x", "${x}", "$(ls)", "`ls`", "x=", "x=1;", '"', "'", "\\", "{", "}", "{a,b}", "[", "]", "(", ")", "((", "))"),
    *("|", "&&", ";", "&", "<", ">", "<<E", "<<<", "cat", "ls", "git", "-C", "cd", "sed", "awk", "xargs", "find"),
    *("-exec", "for x in", "do", "done", "if", "then", "fi", "f()", "read", "let", "declare -i", "a[$(b)]", "=", ":"),
    *(".env", "../", "~", "*", "?", "#", "!", "\ud800", "\x00", "é", "\U0001f600", *BLANKS),
]


def answered(line: str) -> JudgedLine:
    """The judgement as it is made, with no net below it."""
    return judged_line((flat(line) or GRAMMAR.parse_tree(line)) if line.isprintable() else GRAMMAR.parse(line))


@given(st.text(max_size=200) | st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join))
def test_any_text_gets_an_answer(line: str) -> None:
    assert answered(line).effects
    plain_paths(line)


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_any_pieces_without_spaces_get_an_answer(line: str) -> None:
    assert answered(line).effects


@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize(
    "line", ['"{}$x"', "{}$x", 'x="{}"; $x a', 'cat "$x{}"', 'echo a > "{}$x"', "x='{}'; cat < $x"]
)
def test_a_blank_of_any_kind_beside_an_expansion_gets_an_answer(line: str, blank: str) -> None:
    assert answered(line.format(blank)).effects


def test_a_line_too_long_or_too_tangled_is_not_understood() -> None:
    for line in ("echo " + "a" * LONGEST, *("echo " + mark * (MOST_MARKS + 1) for mark in "{|$(<&;`[")):
        touch = judge(GRAMMAR.parse(line))
        assert Effect.DESTROY in touch.effects and touch.why.startswith("not understood: ")


LARGE = [
    *("echo " + "{" * 3900, "cat " + "[" * 3900, "echo " + "{," * 3900, "cat {" + "," * 30000, "cat " + ":" * 30000),
    *("git " + "-C a " * 6000 + "push", "awk '" + "print " * 5000 + "'", "sed '" + "s/a/b/;" * 3900 + "'"),
    *("ls " + "|" * 3900, "echo " + "${" * 1900, "x=" + "[" * 3900, "xargs " * 5000 + "rm", "env " * 8000 + "ls"),
    *("echo " + "$(" * 1000 + ")" * 1000, "cat " + "{a,b}" * 600, "$x" * 1900, "bash -c " * 3000, "cd a; " * 3900),
]


@pytest.mark.parametrize("line", LARGE, ids=lambda line: line[:20])
def test_large_lines_get_an_answer(line: str) -> None:
    """What takes the square of its length here takes minutes, and the suite's own limit ends it."""
    assert len(line) <= LONGEST
    assert with_lines(Touch(frozenset(), lines=(line,)), GRAMMAR.parse)[0].effects


def test_a_subcommand_behind_any_number_of_flags_is_known_to_rules() -> None:
    assert "git push" in judge(GRAMMAR.parse("git " + "-C a " * 500 + "push")).commands


def test_a_fault_in_the_judge_is_no_way_past_it() -> None:
    broken = Script((ShellCommand((Word(None),)),))  # type: ignore[arg-type]
    touch = judge(broken)
    assert touch.effects == {Effect.DESTROY} and "an internal error of Quintet" in touch.why
