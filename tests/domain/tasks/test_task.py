"""Tasks: which moves there are, where a file belongs, which task is next, and what is wrong with dependencies."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.base.errors import UsageError
from quintet.domain.tasks.order import DependencyProblem, blocked_by, dependency_problems, dispatch_order, next_task
from quintet.domain.tasks.task import (
    LEGAL_MOVES,
    Intent,
    Task,
    TaskStatus,
    TaskText,
    after_failure,
    check_move,
    milestones,
    moved,
    place,
)

S = TaskStatus
# One line a status: what a task of that status may become. Everything else is refused.
TABLE = """
todo       running blocked paused cancelled
running    verifying todo blocked paused retrying failed cancelled
verifying  reviewing done blocked retrying failed cancelled
reviewing  done blocked retrying failed cancelled
retrying   running todo blocked paused failed cancelled
blocked    todo failed cancelled
paused     todo running cancelled
failed     todo cancelled
done
cancelled
"""
LEGAL = {line.split()[0]: set(line.split()[1:]) for line in TABLE.strip().splitlines()}


def task(id: str, *needs: str, status: TaskStatus = S.TODO, created: str = "", intent: str = "") -> Task:
    claims = (Intent(intent),) if intent else ()
    return Task(TaskText(id, f"Do {id}", needs, intent=claims), status, created=created)


@pytest.mark.parametrize("before", S)
@pytest.mark.parametrize("after", S)
def test_s3_9_2_a_task_moves_only_as_the_table_says(before: TaskStatus, after: TaskStatus) -> None:
    at_work = task("t1", status=before)
    if after in LEGAL[before]:
        assert moved(at_work, after, "now").status is after
    else:
        with pytest.raises(UsageError, match=f"task t1 is {before} and cannot become {after}"):
            check_move(at_work, after)


def test_s3_9_2_the_statuses_are_the_seeds() -> None:
    wanted = "todo running verifying reviewing done blocked paused failed cancelled retrying"
    assert [str(status) for status in S] == wanted.split()
    assert set(LEGAL_MOVES) == set(S)


def test_every_task_can_still_come_to_an_end() -> None:
    for status in S:
        reached, edge = {status}, [status]
        while edge:
            edge = [after for before in edge for after in LEGAL_MOVES[before] if after not in reached]
            reached.update(edge)
        assert reached & {S.DONE, S.CANCELLED}


def test_the_error_names_what_could_be_done_instead() -> None:
    with pytest.raises(UsageError, match="it can become todo, failed, cancelled"):
        check_move(task("t1", status=S.BLOCKED), S.DONE)
    with pytest.raises(UsageError, match="this status is final"):
        check_move(task("t1", status=S.DONE), S.TODO)


def test_a_failed_unit_is_tried_again_until_the_retries_are_used_up() -> None:
    at_work, seen = moved(task("t1"), S.RUNNING, "1"), []
    while (after := after_failure(at_work)) is S.RETRYING:
        at_work = moved(moved(at_work, after, "2"), S.RUNNING, "3")
        seen.append(at_work.retries)
    assert seen == [1, 2, 3]
    assert after is S.FAILED
    assert at_work.started == "1", "the first start counts"
    assert moved(at_work, after, "4").completed == "4"
    assert moved(moved(at_work, after, "4"), S.TODO, "5").completed == ""


def test_a_stopped_task_goes_back_to_todo_without_a_retry() -> None:
    assert moved(moved(task("t1"), S.RUNNING, "1"), S.TODO, "2").retries == 0


def test_s4_a_file_lies_where_its_tasks_status_says() -> None:
    places = {status: place(status) for status in S}
    assert {s for s, p in places.items() if p == ""} == {S.TODO, S.RUNNING, S.PAUSED, S.BLOCKED, S.RETRYING, S.FAILED}
    assert {s for s, p in places.items() if p == "done"} == {S.VERIFYING, S.REVIEWING}
    assert {s for s, p in places.items() if p == "done/verified"} == {S.DONE}
    assert places[S.CANCELLED] is None


def test_the_oldest_task_whose_dependencies_are_done_is_next_whatever_the_order() -> None:
    tasks = [
        task("a", "done", "open", created="1"),
        task("b", "done", created="3"),
        task("c", created="3"),
        task("blocked", created="0", status=S.BLOCKED),
        task("again", created="4", status=S.RETRYING),
        task("open", created="5", status=S.PAUSED),
        task("done", created="0", status=S.DONE),
    ]
    for seed in range(20):
        random.Random(seed).shuffle(tasks)
        assert [t.id for t in dispatch_order(tasks)] == ["b", "c", "again"]
        chosen = next_task(tasks)
        assert chosen and chosen.id == "b"
        assert blocked_by(tasks) == {"a": ("open",)}


def test_nothing_is_next_when_everything_waits() -> None:
    assert next_task([]) is None
    assert next_task([task("a", "gone"), task("b", status=S.FAILED), task("c", "b")]) is None


@pytest.mark.parametrize(
    ("mine", "theirs", "meet"),
    [
        (Intent("a.py", 10, 50), Intent("a.py", 50, 60), True),
        (Intent("a.py", 10, 50), Intent("a.py", 51, 60), False),
        (Intent("a.py"), Intent("a.py", 51, 60), True),
        (Intent("src"), Intent("src/a.py", 1, 2), True),
        (Intent("src/"), Intent("src/deep/a.py"), True),
        (Intent("src/a.py"), Intent("src/a.pyi"), False),
        (Intent("src"), Intent("srcs/a.py"), False),
    ],
)
def test_a_task_waits_for_one_that_works_on_what_it_will_change(mine: Intent, theirs: Intent, meet: bool) -> None:
    for one, other in ((mine, theirs), (theirs, mine)):
        later = Task(TaskText("later", "", intent=(one,)))
        at_work = Task(TaskText("at-work", "", intent=(other,)), S.RUNNING)
        assert blocked_by([later, at_work]) == ({"later": ("at-work",)} if meet else {})
        assert next_task([later, at_work]) == (None if meet else later)


def test_circles_unknown_dependencies_and_ids_that_stand_twice_are_named() -> None:
    tasks = [task("b", "c"), task("a", "b"), task("c", "a", "gone"), task("me", "me"), task("a"), task("free")]
    assert dependency_problems(tasks) == [
        DependencyProblem("duplicate", ("a",), "the id a appears twice; change one of them"),
        DependencyProblem("unknown", ("c",), "c depends on gone, which does not exist"),
        DependencyProblem(
            "cycle", ("a", "b", "c"), "these depend on each other: a → b → c → a; none of them can start"
        ),
        DependencyProblem("cycle", ("me",), "these depend on each other: me → me; none of them can start"),
    ]


def test_a_long_chain_is_no_circle() -> None:
    chain = [task(f"t{n}", f"t{n + 1}") for n in range(20_000)]
    assert dependency_problems([*chain, task("t20000")]) == []


@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=3)))
def test_there_is_a_circle_exactly_when_the_tasks_cannot_all_be_done(needs: dict[str, list[str]]) -> None:
    tasks = {name: task(name, *(n for n in wanted if n in needs)) for name, wanted in needs.items()}
    while chosen := next_task(list(tasks.values())):
        tasks[chosen.id] = task(chosen.id, *chosen.depends_on, status=S.DONE)
    left = {name for name, t in tasks.items() if t.status is not S.DONE}
    circles = dependency_problems(list(tasks.values()))
    assert bool(left) == bool(circles)
    for knot in circles:
        assert set(knot.tasks) <= left
        for one, needed in zip(knot.tasks, (*knot.tasks[1:], knot.tasks[0]), strict=True):
            assert needed in tasks[one].depends_on


def test_a_milestone_is_over_when_all_its_tasks_are() -> None:
    one = Task(TaskText("t1", ""), S.DONE, created="1", milestone="m1")
    two = Task(TaskText("t2", ""), S.RUNNING, created="2", milestone="m1")
    other = Task(TaskText("t3", ""), S.FAILED, created="3", milestone="m2")
    found = milestones([other, two, one])
    assert [(m.id, [t.id for t in m.tasks], m.over) for m in found] == [
        ("m1", ["t1", "t2"], False),
        ("m2", ["t3"], True),
    ]
