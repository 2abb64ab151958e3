"""The cycle: what it does next, over the whole of what it may find; plans as text; pieces of a request."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from quintet.domain.dials.axes import PermissionProfile, RunControl
from quintet.domain.journal.cycle_events import CycleMoved, CycleResumed, PlanAccepted, PlanMade, PlannedTask
from quintet.domain.journal.cycle_state import CycleState, after, from_record
from quintet.domain.journal.run_events import CycleRecord
from quintet.domain.settings.settings import CycleSettings
from quintet.domain.tasks import cycle
from quintet.domain.tasks.cycle import Accept, Approve, Board, Execute, Plan, Stop, Verify, board, next_step
from quintet.domain.tasks.cycle_phases import PHASE_MOVES, TERMINAL, CyclePhase
from quintet.domain.tasks.drift import summarise
from quintet.domain.tasks.page import (
    FINDINGS,
    findings_page,
    new_tasks,
    pages_in,
    plan_text,
    read_page,
    request_of,
    without_nothing,
)
from quintet.domain.tasks.request_split import Piece, is_several, pieces
from quintet.domain.tasks.task import Task, TaskStatus, TaskText, moved
from quintet.domain.turn.messages import Usage

S = TaskStatus
A, M = RunControl.AUTONOMOUS, RunControl.MANUAL
SETTINGS = CycleSettings()
MILESTONE = "m-1"


def task(id: str, *needs: str, status: TaskStatus = S.TODO, milestone: str = MILESTONE, created: str = "") -> Task:
    return Task(TaskText(id, f"Do {id}", needs), status, milestone=milestone, created=created)


def planned(**values: object) -> CycleState:
    made = CycleRecord("run-1", at_work=True, planned=1, iteration=1, milestones=(MILESTONE,), added_nothing=True)
    return from_record(structs.replace(made, **values))


def step(state: CycleState, found: Board, control: RunControl = A, **more: object) -> cycle.Step:
    profile = more.pop("profile", PermissionProfile.TRUSTED)
    settings = more.pop("settings", SETTINGS)
    replans = more.pop("replans", False)
    return next_step(state, found, control, profile, settings, replans=replans, **more)  # type: ignore[arg-type]


def test_s4_the_phases_are_the_seeds() -> None:
    wanted = (
        "idle reading-input checking-done-files verifying-done-task cleaning-up-done-files running-planning "
        "checking-todo-files processing-todos running-execution moving-completed-files cycle-complete "
        "completed failed no-todo-files"
    )
    assert [str(phase) for phase in CyclePhase] == wanted.split()
    assert TERMINAL == {phase for phase in CyclePhase if not PHASE_MOVES[phase]}


STEPS = [
    # what stands, what comes next
    (planned(planned=0, iteration=0, milestones=()), Board(), Plan()),
    (planned(pending="m-2"), Board(), Accept()),
    (planned(), Board(ready=task("a"), left=1, total=1), Execute(task("a"))),
    (planned(), Board(verifying=task("a"), ready=task("b"), left=2, total=2), Verify(task("a"))),
    (planned(), Board(reviewing=task("a"), ready=task("b"), left=2, total=2), Approve(task("a"))),
    (planned(), Board(done=2, total=2), Stop("done", "", CyclePhase.COMPLETED)),
    (planned(), Board(), Stop("done", "the planner found nothing to do", CyclePhase.NO_TODO)),
    (
        planned(),
        Board(done=1, failed=1, given_up=("b",), total=2),
        Stop("failed", "failed: b; `quintet tasks show b` shows why", CyclePhase.FAILED),
    ),
    (planned(), Board(left=1, total=1, held=("b is blocked",)), Stop("blocked", "b is blocked")),
    (
        planned(),
        Board(left=1, total=2, failed=1, given_up=("a",), held=("b waits for a",)),
        Stop("failed", "failed: a; `quintet tasks show a` shows why; b waits for a"),
    ),
    (planned(), Board(left=1, total=1, running=("a",)), Stop("blocked", "running in another process: a")),
]


@pytest.mark.parametrize(("state", "found", "wanted"), STEPS)
def test_s4_what_is_begun_is_ended_first_and_it_goes_on_until_nothing_is_open(
    state: CycleState, found: Board, wanted: cycle.Step
) -> None:
    assert step(state, found) == wanted


def test_s4_the_planner_is_asked_again_until_it_adds_nothing() -> None:
    over = Board(done=1, total=1)
    assert step(planned(added_nothing=False), over, replans=True) == Plan()
    assert step(planned(added_nothing=True), over, replans=True) == Stop("done", "", CyclePhase.COMPLETED)
    assert step(planned(added_nothing=False), over, replans=False) == Stop("done", "", CyclePhase.COMPLETED)
    held = Board(left=1, total=1, held=("b is blocked",))
    assert step(planned(added_nothing=False), held, replans=True) == Stop("blocked", "b is blocked")
    stuck = Board(left=1, failed=1, total=2, held=("b waits for a",))
    assert step(planned(added_nothing=False), stuck, replans=True) == Plan()


def test_s3_4_assisted_does_one_unit_then_pauses_and_manual_one_step() -> None:
    ready = Board(ready=task("b"), left=1, total=2, done=1)
    for control, one, wanted in (
        (RunControl.ASSISTED, planned(units_since=1), cycle.ONE_UNIT),
        (M, planned(steps_since=1), cycle.ONE_TURN),
    ):
        assert step(planned(), ready, control) == Execute(task("b"))
        assert step(one, ready, control) == Stop("paused", wanted)
        assert step(one, ready, A) == Execute(task("b"))
        assert step(one, Board(done=2, total=2), control) == Stop("done", "", CyclePhase.COMPLETED)
    still = structs.replace(ready, verifying=task("a"))
    assert step(planned(units_since=1), still, RunControl.ASSISTED) == Verify(task("a"))


def test_s3_3_2_a_plan_waits_for_its_acceptance_unless_the_run_is_autonomous() -> None:
    waits = planned(pending="m-2")
    assert step(waits, Board(), RunControl.ASSISTED) == Stop("waiting", cycle.WAITS)
    assert step(planned(pending="m-2", accepted=True), Board(), RunControl.ASSISTED) == Accept()
    for control, status in ((A, "blocked"), (RunControl.ASSISTED, "waiting")):
        rest = step(waits, Board(), control, profile=PermissionProfile.RESTRICTED)
        assert isinstance(rest, Stop) and rest.status == status and "--permission-profile normal" in rest.reason


LIMITS = {
    "max_cost": (0.5, planned(cost=0.5)),
    "max_tokens": (100, planned(usage=Usage(60, 40))),
    "max_seconds": (9.0, planned(seconds=4.0)),
    "max_units": (3, planned(units=3)),
    "max_iterations": (2, planned(iteration=2, added_nothing=False)),
}


@pytest.mark.parametrize("name", LIMITS)
def test_s3_4_each_budget_names_itself_when_it_stops_the_run(name: str) -> None:
    value, state = LIMITS[name]
    found = Board(done=1, total=1) if name == "max_iterations" else Board(ready=task("a"), left=1, total=1)
    free = step(state, found, replans=True, seconds=5.0)
    assert not (isinstance(free, Stop) and free.status == "limit")
    tight = structs.replace(SETTINGS, **{name: value})
    rest = step(state, found, settings=tight, replans=True, seconds=5.0)
    assert isinstance(rest, Stop) and rest.status == "limit"
    assert rest.reason.startswith(f"cycle.{name} = {value:g}")


def test_a_budget_that_the_last_unit_used_up_stops_nothing() -> None:
    spent, settings = planned(cost=0.6), CycleSettings(max_cost=0.5)
    over = step(spent, Board(done=2, total=2), settings=settings)
    assert over == Stop("done", "", CyclePhase.COMPLETED)


def test_only_the_tasks_of_its_milestones_are_a_cycles_own_and_none_that_another_process_has() -> None:
    tasks = [
        task("a", status=S.DONE),
        task("b", "a"),
        task("c", status=S.VERIFYING),
        task("d", status=S.TODO, milestone="other"),
        task("e", status=S.CANCELLED),
        task("f", "nowhere"),
    ]
    found = board(tasks, (MILESTONE,))
    assert found.ready and found.ready.id == "b" and found.verifying and found.verifying.id == "c"
    assert (found.total, found.done, found.left, found.held) == (4, 1, 3, ("f waits for nowhere",))
    taken = board(tasks, (MILESTONE,), busy={"b", "c"})
    assert (taken.ready, taken.verifying, taken.running) == (None, None, ("b", "c"))
    every = board([task("d", milestone="other")], None)
    assert every.ready and every.ready.id == "d"


@given(st.integers(0, 10_000), st.sampled_from(list(RunControl)))
def test_a_cycle_over_any_tasks_ends_with_every_task_over_and_none_begun_twice_at_once(
    seed: int, control: RunControl
) -> None:
    dice = random.Random(seed)
    names = [f"t{number}" for number in range(dice.randint(1, 8))]
    tasks = {n: task(n, *dice.sample(names[:place], dice.randint(0, place))) for place, n in enumerate(names)}
    state = planned()
    for _ in range(500):
        chosen = step(state, board(list(tasks.values()), state.scope), control)
        match chosen:
            case Execute(task=one):
                assert all(tasks[need].status is S.DONE for need in one.depends_on)
                state = after(state, CycleMoved(run="run-1", phase=CyclePhase.EXECUTING, iteration=1))
                tasks[one.id] = moved(moved(one, S.RUNNING, "now"), S.VERIFYING, "now")
            case Verify(task=one):
                worse = one.retries < one.max_retries and dice.random() < 0.3
                tasks[one.id] = moved(one, S.RETRYING if worse else S.DONE, "now")
            case Stop(status="paused"):
                assert control is not A
                state = after(state, CycleResumed(run="run-1", submission="", reason="/next"))
            case Stop(status=status):
                assert status == "done"
                assert {one.status for one in tasks.values()} == {S.DONE}
                return
            case _:
                raise AssertionError(chosen)
    raise AssertionError("it never ended")


def test_a_task_that_failed_comes_after_those_not_yet_tried() -> None:
    tasks = [task("a", status=S.RETRYING, created="1"), task("b", created="2")]
    found = board(tasks, None)
    assert found.ready and found.ready.id == "b"


def test_a_plan_is_pending_until_it_is_accepted_and_its_milestone_is_the_cycles() -> None:
    state = CycleState("run-1", at_work=True)
    made = PlanMade(run="run-1", milestone="m-1", by="native", tasks=(PlannedTask("a", "Do a"),))
    pending = after(state, made)
    assert (pending.plan.pending, pending.plan.planned, pending.plan.added_nothing) == ("m-1", 1, False)
    taken = after(pending, PlanAccepted(run="run-1", milestone="m-1", tasks=("a",), by="user"))
    assert (taken.plan.pending, taken.plan.milestones, taken.scope) == ("", ("m-1",), ("m-1",))
    assert after(taken, PlanMade(run="run-1", milestone="m-2", by="native")).plan.added_nothing


# ── plans as text


def test_a_plan_is_read_from_fenced_pages_and_what_is_written_is_read_back() -> None:
    texts = [TaskText("task-001", "One", verification="make test", body="Do ```this``` one.\n"), TaskText("b", "Two")]
    said = f"Here is the plan.\n\n{plan_text(texts)}\n\nThat is all."
    read = [read_page(page)[0] for _, page in pages_in(said)]
    assert [(t.id, t.title, t.verification, t.body.strip()) for t in read if t] == [
        ("task-001", "One", "make test", "Do ```this``` one."),
        ("b", "Two", "", ""),
    ]
    assert pages_in("Nothing is left to do.") == []
    assert len(pages_in("```markdown\n---\nid: a\ntitle: A\n---\nBody\n```")) == 1
    assert len(pages_in("---\nid: a\ntitle: A\n---\nBody")) == 1


@pytest.mark.parametrize(
    ("answer", "before"),
    [
        ("NOTHING TO DO", ""),
        ("All is there.\n\n`NOTHING TO DO`.\n", "All is there."),
        ("There is nothing to do", None),
        ("NOTHING TO DO\nor is there?", None),
        ("", None),
    ],
)
def test_a_plan_says_that_nothing_is_to_be_done_in_its_last_line(answer: str, before: str | None) -> None:
    assert without_nothing(answer) == before


def test_ids_that_are_taken_are_given_anew_with_what_depends_on_them() -> None:
    there = [TaskText("task-001", "Old", body="Old."), TaskText("task-007", "Older")]
    texts = [
        TaskText("task-001", "New", body="New."),
        TaskText("task-002", "Next", ("task-001", "task-007", "x")),
        TaskText("x", "Old", body="Old.\n\n## Findings 1, native\n\nno"),
    ]
    new = new_tasks(texts, there, ["task-001", "task-007", "task-009"])
    assert [(t.id, t.title, t.depends_on) for t in new] == [
        ("task-010", "New", ()),
        ("task-002", "Next", ("task-010", "task-007", "task-001")),
    ]
    assert new_tasks([texts[1]], [], []) == [texts[1]]


# ── pieces of a request


def test_a_request_is_cut_at_and_then_bullets_and_lines_never_in_quotes() -> None:
    assert pieces('- replace "a and then b" with "c"\n- run the tests, verified by `make test`') == [
        Piece('replace "a and then b" with "c"'),
        Piece("run the tests", verification="make test"),
    ]
    assert pieces("rename a to b and then run the tests; lint") == [
        Piece("rename a to b"),
        Piece("run the tests", then=True),
        Piece("lint"),
    ]


@pytest.mark.parametrize(
    ("text", "by_rules", "by_model"),
    [
        ("rename a to b", False, False),
        ("rename a to b and then run the tests", True, False),
        ("fix this:\nit fails\nwith a trace", True, False),
        ("- one\n- two", True, True),
        ("1. one\n2. two", True, True),
        ("do:\n- only this", True, False),
        ("rename a to b, verified by `make test`", True, True),
    ],
)
def test_several_tasks_are_told_from_one(text: str, by_rules: bool, by_model: bool) -> None:
    assert (is_several(text, lines=True), is_several(text, lines=False)) == (by_rules, by_model)


# ── summaries and findings


def test_s4_completed_tasks_are_summarised_by_five_lines_oldest_first() -> None:
    def done(id: str, created: str, lines: int, folder: str = "done/verified") -> Task:
        body = "".join(f"{id} line {number}\n" for number in range(lines))
        return Task(TaskText(id, id, body=body), S.DONE, created=created, path=f"{folder}/{id}.md")

    tasks = [done("new", "2", 5), done("old", "1", 6, "done"), done("todo", "0", 1, "elsewhere")]
    shown = [f"old line {number}" for number in range(5)]
    assert summarise(tasks).split("\n\n") == [
        "\n".join(["- old.md:", *shown, "..."]),
        "\n".join(["- new.md:", *(f"new line {number}" for number in range(5))]),
    ]


def test_endless_findings_do_not_make_a_page_that_cannot_be_read() -> None:
    found = findings_page(1, "codex", "x" * 1_000_000 + " and that is why")
    assert len(found) < 30_000 and found.endswith(" and that is why")


def test_findings_are_appended_and_the_request_stays_what_it_was() -> None:
    body = "Do it.\n\nWell.\n"
    for number, by in itertools.product((1, 2), ("codex",)):
        body = f"{body.rstrip()}\n\n{findings_page(number, by, 'it fails')}\n"
    assert body.count(FINDINGS) == 2
    assert request_of(body) == "Do it.\n\nWell."
