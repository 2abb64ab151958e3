"""The checklist: one step at a time, a claim is not done, and a failure says what to do."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.effects import Effect
from quintet.domain.turn import todos
from quintet.domain.turn.todos import Check, Criterion, Draft, Todo, TodoStatus
from quintet.domain.turn.tool_spec import Touch, with_criteria

EXPLAINED = "the parser is written and its tests pass"
RUNS = Criterion("command_exit_zero", command="pytest -q")
THERE = Criterion("file_exists", path="a.py")
HOLDS = Check(THERE, True, "a file is there")
FAILS = Check(RUNS, False, "exit 1")


def at(status: TodoStatus, *criteria: Criterion) -> dict[str, Todo]:
    return {"1": Todo("1", "write the parser", status, criteria)}


def test_ids_count_on_from_the_todos_that_are_there() -> None:
    made = todos.create({}, [Draft("one"), Draft("two", (RUNS,))])
    assert [(todo.id, todo.content, todo.status) for todo in made] == [
        ("1", "one", TodoStatus.PENDING),
        ("2", "two", TodoStatus.PENDING),
    ]
    assert [todo.id for todo in todos.create({todo.id: todo for todo in made}, [Draft("three")])] == ["3"]


@pytest.mark.parametrize(
    ("drafts", "said"),
    [
        ([], "todos is empty"),
        ([Draft("one"), Draft("  ")], "todo 2 of 2 has no content"),
        ([Draft("one", (Criterion("command_exit_zero"),))], "todo 1 of 1: criterion command_exit_zero needs command"),
        ([Draft("one", (Criterion("file_contains", path="a"),))], "file_contains needs text"),
        ([Draft("one", (Criterion("pr_exists", repo="a/b"),))], "pr_exists needs pull_number"),
        ([Draft("one", (Criterion("file_exists", path="a\0b"),))], "path contains a NUL"),
    ],
)
def test_a_todo_that_could_never_be_verified_is_not_taken(drafts: list[Draft], said: str) -> None:
    with pytest.raises(ToolFailed, match=said):
        todos.create({}, drafts)


def test_a_criterion_of_an_unknown_type_is_kept_and_warned_about() -> None:
    made = todos.create({}, [Draft("one", (Criterion("moon_is_full"),))])
    assert made[0].criteria == (Criterion("moon_is_full"),)
    assert "moon_is_full  (will fail: there is no criterion moon_is_full; use one of command" in todos.listed(made)


def test_a_todo_goes_through_all_its_states() -> None:
    started = todos.start(at(TodoStatus.PENDING, THERE), "1")
    claim = todos.claim({"1": started}, "1", EXPLAINED, "3 passed")
    done = todos.verified(todos.claimed({"1": claim}, "1"), (HOLDS,))
    assert [started.status, claim.status, done.status] == ["in_progress", "claimed", "verified"]
    assert (done.explanation, done.evidence, done.checks) == (EXPLAINED, "3 passed", (HOLDS,))


STEPS: dict[str, Any] = {
    "start": lambda table: todos.start(table, "1"),
    "claim": lambda table: todos.claim(table, "1", EXPLAINED, ""),
    "verify": lambda table: todos.claimed(table, "1"),
}


@pytest.mark.parametrize(
    ("step", "status", "said"),
    [
        ("claim", TodoStatus.PENDING, "todo 1 is pending: TodoStart comes first"),
        ("verify", TodoStatus.PENDING, "todo 1 is pending: TodoStart comes first"),
        ("verify", TodoStatus.IN_PROGRESS, "todo 1 is in_progress: TodoClaim comes first"),
        ("start", TodoStatus.IN_PROGRESS, "todo 1 is in_progress: TodoClaim comes next"),
        ("start", TodoStatus.CLAIMED, "todo 1 is claimed: TodoVerify comes next"),
        ("claim", TodoStatus.CLAIMED, "todo 1 is claimed: TodoVerify comes next"),
        ("start", TodoStatus.VERIFIED, "todo 1 is verified: nothing is left to do"),
        ("verify", TodoStatus.VERIFIED, "todo 1 is verified: nothing is left to do"),
    ],
)
def test_no_state_is_skipped_or_gone_back_to(step: str, status: TodoStatus, said: str) -> None:
    with pytest.raises(ToolFailed) as failed:
        STEPS[step](at(status))
    assert failed.value.message == said


@pytest.mark.parametrize("step", STEPS)
def test_an_unknown_id_is_answered_with_those_there_are(step: str) -> None:
    with pytest.raises(ToolFailed, match="there is no todo 1; todos: 4, 5"):
        STEPS[step]({name: Todo(name, "x") for name in ("4", "5")})
    with pytest.raises(ToolFailed, match="there are none yet; create them with TodoCreate"):
        STEPS[step]({})


@pytest.mark.parametrize("explanation", ["", "done", "x" * 19, " " * 40])
def test_a_claim_has_to_be_explained(explanation: str) -> None:
    with pytest.raises(ToolFailed, match="at least 20 are needed"):
        todos.claim(at(TodoStatus.IN_PROGRESS), "1", explanation, "")
    assert todos.claim(at(TodoStatus.IN_PROGRESS), "1", "x" * 20, "").status is TodoStatus.CLAIMED


@pytest.mark.parametrize("checks", [(), (FAILS,), (HOLDS, FAILS), (FAILS, HOLDS)])
def test_without_criteria_or_with_one_that_fails_it_stays_claimed(checks: tuple[Check, ...]) -> None:
    after = todos.verified(at(TodoStatus.CLAIMED)["1"], checks)
    assert (after.status, after.checks) == (TodoStatus.CLAIMED, checks)


def test_verifying_touches_what_the_criteria_of_a_claimed_todo_touch() -> None:
    touch = Touch(frozenset(), verifies="1")
    claimed = with_criteria(touch, at(TodoStatus.CLAIMED, RUNS, THERE, Criterion("pr_exists", repo="a", pull_number=1)))
    assert (claimed.effects, claimed.reads, claimed.lines) == ({Effect.READ, Effect.FETCH}, ("a.py",), ("pytest -q",))
    assert with_criteria(touch, at(TodoStatus.IN_PROGRESS, RUNS, THERE)) == touch
    assert with_criteria(touch, {}) == touch


@given(st.lists(st.tuples(st.sampled_from(["start", "claim", "hold", "fail"]), st.sampled_from("123"))))
def test_whatever_is_called_no_state_is_ever_skipped(calls: list[tuple[str, str]]) -> None:
    table = {todo.id: todo for todo in todos.create({}, [Draft("one"), Draft("two")])}
    order = list(TodoStatus)
    for step, todo_id in calls:
        with contextlib.suppress(ToolFailed):
            match step:
                case "start":
                    after = todos.start(table, todo_id)
                case "claim":
                    after = todos.claim(table, todo_id, EXPLAINED, "")
                case _:
                    after = todos.verified(todos.claimed(table, todo_id), (HOLDS if step == "hold" else FAILS,))
            before = table[todo_id]
            step_made = order.index(after.status) - order.index(before.status)
            assert step_made == (0 if step == "fail" else 1)
            table[todo_id] = after
