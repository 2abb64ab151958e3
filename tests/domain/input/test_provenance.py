"""Where a prompt's text came from, and what becomes of a shell line by that."""

import itertools

import pytest

from quintet.domain.dials.axes import Surface
from quintet.domain.input.own_lines import OwnLineWay, decide, own_line_way
from quintet.domain.input.provenance import ALL_TYPED, NOT_TYPED, Provenance, TextSource
from quintet.domain.input.slash_line import is_shell_line
from quintet.domain.permission.effects import Effect, JudgedLines
from quintet.domain.permission.gate import Verdict
from quintet.domain.permission.rules import Rule
from quintet.domain.turn.tool_spec import Touch

TYPED, PASTED, PREFILLED, RECALLED, EDITED = TextSource


def after(*changes: tuple[str, TextSource]) -> Provenance:
    provenance = ALL_TYPED
    for text, source in changes:
        provenance = provenance.changed(text, source)
    return provenance


@pytest.mark.parametrize(
    ("changes", "others"),
    [
        ([], set()),
        ([("!", TYPED), ("!l", TYPED), ("!ls", TYPED)], set()),
        ([("!", TYPED), ("!rm x", PASTED)], {PASTED}),
        ([("x", PASTED), ("!x", TYPED)], {PASTED}),  # also in part
        ([("!ls", RECALLED), ("!ls ", TYPED)], {RECALLED}),  # edited is still recalled
        ([("!ls", PREFILLED), ("!l", TYPED), ("!", TYPED)], {PREFILLED}),
        ([("!ls", PREFILLED), ("", TYPED), ("!", TYPED)], set()),  # emptied, and typed anew
        ([("!ls", PASTED), ("", PASTED)], set()),
        ([("!ls", PASTED), (" ", TYPED)], {PASTED}),
        ([("a", PASTED), ("ab", RECALLED), ("abc", TYPED)], {PASTED, RECALLED}),
        ([("!ls", PASTED), ("", TYPED), ("!ls", RECALLED)], {RECALLED}),  # the deletion undone
    ],
)
def test_only_keys_are_typed_until_the_prompt_is_empty(
    changes: list[tuple[str, TextSource]], others: set[TextSource]
) -> None:
    assert after(*changes).others == others
    assert after(*changes).typed == (not others)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("!ls", True), ("! ls", True), ("!", False), ("! ", False), ("!!bash {}", False), ("ls", False)],
)
def test_what_a_shell_line_is(text: str, is_one: bool) -> None:
    assert is_shell_line(text) == is_one


def test_the_whole_product_of_what_decides() -> None:
    for text, provenance, terminal, direct, here in itertools.product(
        ("!ls", "!!bash {}", "ls"), (ALL_TYPED, NOT_TYPED), (True, False), (True, False), (True, False)
    ):
        way = own_line_way(text, provenance, at_terminal=terminal, direct=direct, owned_here=here)
        everything = text == "!ls" and terminal and direct and here
        assert (way is OwnLineWay.DIRECT) == (everything and provenance.typed)
        assert (way is OwnLineWay.CONFIRM) == (everything and not provenance.typed)
        assert (way is OwnLineWay.ELSEWHERE) == (text == "!ls" and terminal and direct and not here)


DENY = Rule(id="r-1", verdict="deny", tool="bash", pattern="git push*")


@pytest.mark.parametrize(
    ("subject", "commands", "rules", "verdict"),
    [
        ("git push", ("git push",), (), Verdict.ALLOW),
        ("git push", ("git push",), (DENY,), Verdict.DENY),
        ("cd x && git push", ("cd x", "git push"), (DENY,), Verdict.DENY),
        ("ls", ("ls",), (DENY,), Verdict.ALLOW),
    ],
)
def test_a_deny_rule_and_nothing_else_stops_it(
    subject: str, commands: tuple[str, ...], rules: tuple[Rule, ...], verdict: Verdict
) -> None:
    touch = Touch(frozenset({Effect.PUBLISH}), lines=(subject,), refused="a protected place")
    decided = decide("bash", touch, JudgedLines(commands), rules, subject, "/p", Surface.TUI)
    assert decided.verdict is verdict
    if verdict is Verdict.ALLOW:
        assert decided.grant.write_roots == ("/p",) and Effect.OUTSIDE in decided.grant.effects
        assert "tui" in decided.reason


def test_a_line_that_only_reads_needs_no_checkpoint() -> None:
    touch = Touch(frozenset({Effect.READ}), lines=("ls",))
    assert decide("bash", touch, JudgedLines(("ls",), plain=True), (), "ls", "/p", Surface.TUI).grant.write_roots == ()
