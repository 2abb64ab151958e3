"""Which task a worker takes, and why the others wait."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.tasks.task import Approval, Intent, Risk, Task, TaskStatus, TaskText
from quintet.domain.workers.claims import PathClaims
from quintet.domain.workers.dispatch import (
    Budgets,
    Dependencies,
    Dispatch,
    can_begin,
    needs_person,
    spent_budget,
    what_is_left,
)
from quintet.domain.workers.integration import (
    AfterRebase,
    Rebased,
    RebaseKind,
    after_rebase,
    goes_first,
    in_unsaved_work,
)

S = TaskStatus


def task(id: str, *needs: str, status: TaskStatus = S.TODO, **more: object) -> Task:
    return Task(TaskText(id, id, depends_on=needs, **more), status, created="2026-01-01")  # type: ignore[arg-type]


def place(id: str) -> tuple[bool, str, str]:
    return False, "", id


def test_the_later_one_waits_and_says_for_whom() -> None:
    dispatch = Dispatch(PathClaims({"t1": [Intent("src/")]}))
    dispatch.ready("t2", place("t2"), (Intent("src/a.py"),))
    dispatch.ready("t3", place("t3"), (Intent("docs/"),))
    assert dispatch.next() == "t3"
    assert dispatch.next() is None
    assert str(dispatch.waiting["t2"]) == "t2 waits for t1 (src/a.py)"
    dispatch.held.drop("t1")
    dispatch.freed("t1")
    assert dispatch.next() == "t2"


def test_who_waits_keeps_its_place() -> None:
    dispatch = Dispatch(PathClaims({"t1": [Intent("a")]}))
    dispatch.ready("t2", place("t2"), (Intent("a"), Intent("b")))
    dispatch.ready("t3", place("t3"), (Intent("b"),))
    assert dispatch.next() is None, "t3 would take what t2 waits for"
    dispatch.ready("t0", place("t0"), (Intent("b"),))
    assert dispatch.next() == "t0", "it comes before t2 in the plan"


def test_a_task_that_becomes_ready_again_is_not_waited_for_where_it_was() -> None:
    dispatch = Dispatch(PathClaims({"x": [Intent("a")]}))
    dispatch.ready("t1", place("t1"), (Intent("a"), Intent("b")))
    dispatch.ready("t2", place("t2"), (Intent("b"),))
    assert dispatch.next() is None
    dispatch.ready("t1", (True, "", "t1"), (Intent("a"), Intent("b")))
    assert dispatch.next() == "t2"


TASKS = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from((S.TODO, S.RUNNING, S.DONE, S.RETRYING, S.VERIFYING, S.BLOCKED))),
    max_size=8,
)


@given(TASKS)
def test_what_can_begin_has_its_dependencies_done(shape: list[tuple[int, TaskStatus]]) -> None:
    tasks = [
        task(f"t{number}", *([f"t{needs}"] if needs < number else []), status=status)
        for number, (needs, status) in enumerate(shape)
    ]
    done = {one.id for one in tasks if one.status is S.DONE}
    plain = {
        one.id
        for one in tasks
        if one.status in (S.TODO, S.RETRYING, S.VERIFYING) and all(needed in done for needed in one.depends_on)
    }
    assert {one.id for one in can_begin(tasks, ())} == plain
    assert [one.id for one in can_begin(tasks, plain)] == []


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.sets(st.sampled_from("abcdef")), min_size=1),
    st.permutations("abcdef"),
)
def test_told_one_by_one_what_is_done_it_says_each_once(needs: dict[str, set[str]], order: list[str]) -> None:
    dependencies = Dependencies(needs)
    said = [one for one, needed in needs.items() if not needed]
    done: set[str] = set()
    for one in order:
        done.add(one)
        found = dependencies.done(one)
        assert set(found) == {task for task, needed in needs.items() if one in needed and needed <= done}
        said += found
        assert dependencies.done(one) == []
    assert sorted(said) == sorted(needs)


@pytest.mark.parametrize(
    ("more", "asks"),
    [
        ({}, False),
        ({"risk": Risk.HIGH}, True),
        ({"approval": Approval.BEFORE}, True),
        ({"approval": Approval.AFTER}, True),
    ],
)
def test_no_worker_begins_what_asks_a_person(more: dict[str, object], asks: bool) -> None:
    assert bool(needs_person(task("t", **more))) is asks
    assert bool(can_begin([task("t", **more)], ())) is not asks


@pytest.mark.parametrize(
    ("budgets", "named"),
    [
        (Budgets(), ""),
        (Budgets(run=1.0, spent_run=0.9), ""),
        (Budgets(run=1.0, spent_run=1.0), "workers.max_cost_run"),
        (Budgets(day=2.0, spent_day=2.5), "workers.max_cost_day"),
    ],
)
def test_a_spent_budget_is_named(budgets: Budgets, named: str) -> None:
    assert spent_budget(budgets).partition(" ")[0] == named


def test_what_is_left_says_why() -> None:
    tasks = [task("t1", status=S.FAILED), task("t2", "t1"), task("t3", risk=Risk.HIGH), task("t4", status=S.VERIFYING)]
    assert what_is_left(tasks, {}, {"t4": "verified; not yet integrated into main"}) == [
        "t1 is failed; `quintet tasks show t1` shows why",
        "t2 waits for t1",
        "t3 needs your approval; do it in a session: /implement",
        "t4: verified; not yet integrated into main",
    ]


@pytest.mark.parametrize(
    ("kind", "then"),
    [
        (RebaseKind.SAME, AfterRebase.LAND),
        (RebaseKind.MOVED, AfterRebase.VERIFY),
        (RebaseKind.CONFLICT, AfterRebase.SEND_BACK),
        (RebaseKind.EMPTY, AfterRebase.CLOSE),
    ],
)
def test_what_follows_from_a_rebase(kind: RebaseKind, then: AfterRebase) -> None:
    assert after_rebase(Rebased(kind)) is then


@given(st.dictionaries(st.sampled_from("abcd"), st.tuples(st.just(""), st.sampled_from("abcd")), min_size=1))
def test_of_those_that_integrate_the_first_in_the_plan_goes_first(waiting: dict[str, tuple[str, str]]) -> None:
    first = [task for task in waiting if goes_first(task, waiting)]
    assert first and all(waiting[task] == min(waiting.values()) for task in first)


@pytest.mark.parametrize(
    ("changed", "unsaved", "hit"),
    [
        (["a"], [], ()),
        (["a"], ["b"], ()),
        (["a", "b"], ["b"], ("b",)),
        (["new/x"], ["new/"], ("new/x",)),
        (["a"], ["a/x"], ("a/x",)),  # a file comes where a folder with new work is
    ],
)
def test_unsaved_work_is_not_touched(changed: list[str], unsaved: list[str], hit: tuple[str, ...]) -> None:
    assert in_unsaved_work(changed, unsaved) == hit
