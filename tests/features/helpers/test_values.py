"""Who sits where: which helpers are new, and which of a call that was cut short continue."""

from __future__ import annotations

import pytest

from quintet.domain.input import slash_line
from quintet.domain.input.slash_line import as_input
from quintet.domain.journal.protocol import HelperAssigned
from quintet.domain.turn.messages import EndStatus, Usage
from quintet.features.helpers.values import (
    MOST_REPORT,
    HelperAccount,
    HelperEnd,
    HelperSeat,
    HelperState,
    HelperTask,
    outcome,
    report,
    seats,
)


def assigned(task: str, call: str, *, role: str = "explorer", branch: str = "") -> HelperAssigned:
    return HelperAssigned(helper=f"{role}-{task}", role=role, task=task, parent="s", call=call, branch=branch)


def sat(wanted: list[HelperTask], known: list[HelperAssigned | None], busy: frozenset[str] = frozenset()) -> list[str]:
    given = seats("s", wanted, known, {"cut": True, "over": False}, busy, len(known) + 1)
    return [f"{seat.session} {seat.name}{' continues' if seat.begun else ''}" for seat in given]


A, B = HelperTask("explorer", "a"), HelperTask("explorer", "b")


def test_new_helpers_are_numbered_in_order() -> None:
    assert sat([A, B, HelperTask("tester", "a")], []) == ["s.1 explorer-1", "s.2 explorer-2", "s.3 tester-3"]


@pytest.mark.parametrize(
    ("known", "busy", "sits"),
    [
        ([assigned("a", "cut")], frozenset(), "s.1 explorer-a continues"),
        ([assigned("a", "over")], frozenset(), "s.2 explorer-2"),  # it has reported
        ([assigned("a", "unknown")], frozenset(), "s.2 explorer-2"),  # its call is still at work
        ([assigned("a", "cut")], frozenset({"s.1"}), "s.2 explorer-2"),  # another call has taken it up
        ([assigned("b", "cut")], frozenset(), "s.2 explorer-2"),
        ([assigned("a", "cut", role="tester")], frozenset(), "s.2 explorer-2"),
        ([assigned("a", "cut", branch="quintet/x")], frozenset(), "s.2 explorer-2"),  # that one writes
        ([None, assigned("a", "cut")], frozenset(), "s.2 explorer-a continues"),
    ],
)
def test_only_what_was_cut_short_and_asked_for_again_continues(
    known: list[HelperAssigned | None], busy: frozenset[str], sits: str
) -> None:
    assert sat([A], known, busy) == [sits]


def test_two_that_are_asked_for_alike_are_two() -> None:
    known: list[HelperAssigned | None] = [assigned("a", "cut"), assigned("a", "cut")]
    assert sat([A, A, A], known) == ["s.1 explorer-a continues", "s.2 explorer-a continues", "s.3 explorer-3"]


@pytest.mark.parametrize("task", ["/quit", "  /mode build", "! rm -rf .", "!!bash {}", "*stop", "\n/stop\nmore"])
def test_a_task_that_looks_like_a_command_is_told_as_a_task(task: str) -> None:
    told = as_input(task)
    assert slash_line.command_name(told) is None
    assert slash_line.own_call(told) is None
    assert told == f"Task:\n\n{task.strip()}"


def test_any_other_task_is_told_as_it_is() -> None:
    assert as_input(" find words\nin tally/\n") == "find words\nin tally/"


def test_a_report_says_who_how_and_what() -> None:
    one, two = HelperSeat("s.1", "explorer-1", A), HelperSeat("s.2", "explorer-2", B)
    ended = [
        (one, HelperEnd(EndStatus.DONE, "found it", branch="quintet/helper-s-1")),
        (two, HelperEnd(EndStatus.LIMIT, "", "limits.max_cost = 1")),
    ]
    assert report(ended) == (
        "## explorer-1: done\n"
        "Its changes are on the branch quintet/helper-s-1; nothing of them is in this work tree.\n"
        "found it\n\n"
        "## explorer-2: limit (limits.max_cost = 1)\n"
        "(no report)"
    )
    assert outcome(ended) == "1 of 2 helpers done"


def test_a_long_report_is_cut_and_says_where_it_is_whole() -> None:
    told = report([(HelperSeat("s.1", "explorer-1", A), HelperEnd(EndStatus.DONE, "x" * (MOST_REPORT + 7)))])
    assert told.endswith("… 7 characters omitted; `quintet sessions show s.1` has all")


def test_progress_names_the_helper_its_state_and_what_it_used() -> None:
    account = HelperAccount("tester-1", HelperState.WORKING, "bash make", 2, 1, Usage(100, 20), 0.0125)
    assert account.line() == "tester-1: working · bash make · 2 requests, 1 call, 120 tokens, 0.0125"
