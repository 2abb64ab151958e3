"""A plan that waits is changed: tasks struck, in another order, in other words; what depends on what stays true."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.base.errors import UsageError
from quintet.domain.tasks.arrangement import arranged, reworded
from quintet.domain.tasks.task import TaskText

PLAN = (
    TaskText("task-001", "write"),
    TaskText("task-002", "test", depends_on=("task-001",)),
    TaskText("task-003", "tell", depends_on=("task-001", "task-002")),
)


def said(texts: list[TaskText]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(text.id, text.title, text.depends_on) for text in texts]


def test_another_order_gives_the_numbers_to_other_tasks_and_dependencies_follow() -> None:
    free = TaskText("task-004", "look")
    assert said(arranged((*PLAN, free), ["task-004", "task-001", "task-002", "task-003"])) == [
        ("task-001", "look", ()),
        ("task-002", "write", ()),
        ("task-003", "test", ("task-002",)),
        ("task-004", "tell", ("task-002", "task-003")),
    ]


def test_a_task_is_not_put_before_one_that_it_depends_on() -> None:
    """It would run after it all the same: the order that is shown is the one of running."""
    with pytest.raises(UsageError, match=r"task-002 \(test\) depends on task-001 \(write\)") as refused:
        arranged(PLAN, ["task-002", "task-001", "task-003"])
    assert "Remove task-001" in refused.value.hint
    with pytest.raises(UsageError, match="task-003"):
        arranged(PLAN, ["task-003", "task-001"])


def test_a_plan_that_came_in_such_an_order_can_still_be_changed() -> None:
    plan = (
        TaskText("a", "late", depends_on=("b", "c")),
        TaskText("b", "first"),
        TaskText("c", "second"),
        TaskText("d", "other"),
    )
    assert said(arranged(plan, ["a", "b", "c"])) == [("a", "late", ("b", "c")), ("b", "first", ()), ("c", "second", ())]
    assert [text.title for text in arranged(plan, ["b", "a", "c", "d"])] == ["first", "late", "second", "other"]


def test_a_task_that_is_struck_is_waited_for_by_nobody() -> None:
    assert said(arranged(PLAN, ["task-001", "task-003"])) == [
        ("task-001", "write", ()),
        ("task-003", "tell", ("task-001",)),
    ]


def test_names_that_are_no_numbers_get_one_before_them_so_that_they_sort() -> None:
    plan = (TaskText("add", "a"), TaskText("check", "c"), TaskText("end", "e", depends_on=("add",)))
    once = arranged(plan, ["check", "add", "end"])
    assert said(once) == [("1-check", "c", ()), ("2-add", "a", ()), ("3-end", "e", ("2-add",))]
    assert said(arranged(once, ["2-add", "1-check"])) == [("1-add", "a", ()), ("2-check", "c", ())]


@pytest.mark.parametrize("order", [[], ["task-009"], ["task-001", "task-001"]])
def test_what_is_no_order_of_the_plan_is_refused(order: list[str]) -> None:
    with pytest.raises(UsageError):
        arranged(PLAN, order)


@given(st.lists(st.sampled_from(PLAN), min_size=1, unique=True))
def test_the_titles_come_in_the_order_that_was_named_and_the_ids_sort_so(kept: list[TaskText]) -> None:
    ids = [text.id for text in kept]
    if ids != sorted(ids):  # each depends on all before it
        with pytest.raises(UsageError):
            arranged(PLAN, ids)
        return
    made = arranged(PLAN, ids)
    assert [text.title for text in made] == [text.title for text in kept]
    assert [text.id for text in made] == sorted(text.id for text in made)
    assert {id for text in made for id in text.depends_on} <= {text.id for text in made}


def test_a_task_in_other_words_keeps_its_place() -> None:
    made = reworded(PLAN, "task-002", "test it twice\nwith both Pythons")
    assert made[1] == TaskText("task-002", "test it twice", ("task-001",), body="with both Pythons\n")
    assert made[0] is PLAN[0]
    for id, words in (("task-009", "x"), ("task-001", " ")):
        with pytest.raises(UsageError):
            reworded(PLAN, id, words)
