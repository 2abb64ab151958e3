"""A cycle over a real project: plan, accept, execute, verify, again; its budgets, its pauses, its ends."""

import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.sqlite.database import connect
from quintet.domain.base.errors import ModelAuthFailed
from quintet.domain.dials.axes import Axes, AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.dials.transitions import Actor
from quintet.domain.journal import protocol as p
from quintet.domain.tasks.cycle_phases import CyclePhase
from quintet.domain.tasks.task import TaskStatus
from quintet.domain.turn.messages import Request, Role
from quintet.engine.cycle.task_keeper import TaskKeeper
from quintet.engine.turn.recall import LEARNT
from quintet.testing import FrozenClock, ScriptedModel, call
from tests.engine.cycles import THREE, TWO, phases, rules, run, statuses, stretch, turned, units, until_stopped
from tests.engine.driving import Driver, drive
from tests.engine.task_places import added, keep, keeping, page, todo, untimed

ASSISTED = AxesChange(WorkMode.BUILD, RunControl.ASSISTED, PermissionProfile.TRUSTED)
RESTRICTED = AxesChange(WorkMode.CHAT, RunControl.AUTONOMOUS, PermissionProfile.RESTRICTED)


def block(id: str, title: str = "", body: str = "Do it.", **fields: str) -> str:
    more = "".join(f"{name}: {value}\n" for name, value in fields.items())
    return f"~~~~task\n---\nid: {id}\ntitle: {title or f'Do {id}'}\n{more}---\n{body}\n~~~~"


def write(path: str, text: str = "x\n") -> list[Any]:
    return [call("Write", file_path=path, content=text)]


# ── the offline rules alone


def test_s4_three_tasks_are_planned_executed_verified_and_one_that_fails_comes_back_and_passes(repo: Path) -> None:
    driver, end = run(repo, THREE)
    assert (end.status, end.done, end.left, end.units) == ("done", 3, 0, 4)
    assert units(driver) == [("task-001", 1), ("task-002", 1), ("task-003", 1), ("task-001", 2)]
    assert [(e.task, e.passed) for e in driver.of(p.TaskVerified)] == [
        ("task-001", False),
        ("task-002", True),
        ("task-003", True),
        ("task-001", True),
    ]
    assert statuses(repo) == dict.fromkeys(("task-001", "task-002", "task-003"), "done")
    assert untimed(todo(repo)) == [f"done/verified/task-00{number}.md" for number in (1, 2, 3)]
    kept = (repo / ".quintet/todo" / todo(repo)[0]).read_text()
    assert "## Findings 1, `grep -q count_words tally/count.py`" in kept and "exit 1" in kept
    assert "count_words" in (repo / "tally/count.py").read_text()
    assert end.answer.splitlines()[0].startswith("done  task-001  create the file NEWS.md")
    one = ["processing-todos", "running-execution", "moving-completed-files", "verifying-done-task"]
    unit = [*one, "cleaning-up-done-files"]
    first = ["reading-input", "checking-done-files", "running-planning", "checking-todo-files"]
    assert phases(driver) == [*first, *unit * 4, "cycle-complete", "completed"]
    evidence = [e.evidence for e in driver.of(p.TaskVerified) if e.command]
    assert evidence == ["exit 1", "exit 0"]
    why = [e.reason for e in driver.of(p.TaskMoved) if e.after == "retrying"]
    line = "`grep -q count_words tally/count.py`"
    assert why == [f"not done, by {line}: {line} failed: exit 1"]
    assert turned(driver) == []


def test_what_comes_after_and_then_waits_until_the_task_before_is_verified(repo: Path) -> None:
    driver, end = run(repo, TWO)
    (made,) = driver.of(p.PlanMade)
    assert [(task.id, task.depends_on) for task in made.tasks] == [("task-001", ()), ("task-002", ("task-001",))]
    assert end.status == "done" and units(driver) == [("task-001", 1), ("task-002", 1)]


def test_one_task_in_build_is_one_turn_and_so_is_any_input_that_is_not_autonomous(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        assert (await driver.turn('create the file a.txt with "a"')).status == "done"
        await driver.command("/control assisted")
        assert (await driver.turn("summarise the project\nrun the tests")).status == "done"
        assert driver.of(p.CycleBegan) == [] and todo(repo) == []

    drive(repo, script, rules())


def test_a_request_that_the_rules_cannot_plan_is_not_begun_and_they_say_what_they_can(repo: Path) -> None:
    driver, end = run(repo, "/plan make it faster and then make it nicer")
    assert end.status == "blocked" and "No model is configured" in end.reason
    assert driver.of(p.PlanMade) == [] and todo(repo) == []
    assert end.phase is CyclePhase.PLANNING


def test_a_second_plan_gets_ids_that_nothing_has(repo: Path) -> None:
    run(repo, TWO)
    driver, end = run(repo, 'create the file c.txt with "c" and then create the file d.txt with "d"')
    (made,) = driver.of(p.PlanMade)
    assert [(task.id, task.depends_on) for task in made.tasks] == [("task-003", ()), ("task-004", ("task-003",))]
    assert (end.status, end.done) == ("done", 2)


@pytest.mark.parametrize("most", [0, 1])
def test_what_an_earlier_cycle_did_or_left_is_done_where_it_is_asked_for_again(repo: Path, most: int) -> None:
    again = "run the tests and then show the last 2 commits"
    assert run(repo, again, settings={"cycle.max_units": most})[1].left == most
    driver, end = run(repo, again)
    (made,) = driver.of(p.PlanMade)
    assert [(task.id, task.depends_on) for task in made.tasks] == [("task-003", ()), ("task-004", ("task-003",))]
    assert (end.status, end.done) == ("done", 2)


def test_the_id_of_a_cancelled_task_is_taken(repo: Path) -> None:
    added(repo, page("task-001"))

    async def cancel(keeper: TaskKeeper) -> None:
        await keeper.move("task-001", TaskStatus.CANCELLED, "")

    keep(repo, cancel)
    _, end = run(repo, TWO)
    assert (end.status, end.done) == ("done", 2)
    assert statuses(repo) == {"task-001": "cancelled", "task-002": "done", "task-003": "done"}


# ── the plan's acceptance


def test_a_plan_whose_ids_were_taken_while_it_waited_gets_others(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        assert (await stretch(driver, f"/plan {TWO}")).status == "waiting"
        async with keeping(repo) as other:
            await other.add([page("task-002")], Axes())
        end = await stretch(driver, "/accept --autonomous --permission-profile normal")
        assert (end.status, end.done) == ("done", 2)
        assert statuses(repo) == {"task-001": "done", "task-002": "todo", "task-003": "done"}

    drive(repo, script, rules(), axes=AxesChange(WorkMode.PLAN, RunControl.ASSISTED, PermissionProfile.NORMAL))


def test_a_cycle_that_is_stopped_before_it_goes_on_leaves_the_session_free(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        assert (await stretch(driver, f"/plan {TWO}")).status == "waiting"
        accepted = await driver.session.say("/accept --autonomous --permission-profile normal")
        await driver.session.say("/stop")
        assert await driver.ended(accepted)
        assert (await driver.turn("git status")).status == "done"
        assert todo(repo) == []

    drive(repo, script, rules(), axes=AxesChange(WorkMode.PLAN, RunControl.ASSISTED, PermissionProfile.NORMAL))


def test_a_plan_whose_pages_are_gone_is_not_taken_for_an_empty_one(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        assert (await stretch(driver, f"/plan {TWO}")).status == "waiting"
        for path in Path(locate(str(repo)).plans).rglob("*.md"):
            path.unlink()
        end = await stretch(driver, "/accept --autonomous --permission-profile normal")
        assert end.status == "failed" and end.reason.startswith("the plan is no longer in ")
        assert driver.of(p.PlanAccepted) == []

    drive(repo, script, rules(), axes=AxesChange(WorkMode.PLAN, RunControl.ASSISTED, PermissionProfile.NORMAL))


def test_s3_3_2_headless_autonomous_chains_from_plan_into_build_as_the_users_own_request(repo: Path) -> None:
    axes = AxesChange(WorkMode.CHAT, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)
    driver, end = run(repo, f"/plan {TWO}", axes=axes)
    assert end.status == "done"
    assert turned(driver) == [("plan", "user"), ("build", "user")]
    (accepted,) = driver.of(p.PlanAccepted)
    assert (accepted.by, accepted.tasks) == ("autonomous", ("task-001", "task-002"))


def test_in_restricted_it_stops_at_the_plan_and_names_the_flag(repo: Path) -> None:
    driver, end = run(repo, f"/plan {TWO}", axes=RESTRICTED)
    assert end.status == "blocked" and "--permission-profile normal" in end.reason
    assert len(driver.of(p.PlanMade)) == 1 and todo(repo) == []


def test_s3_3_2_a_plan_waits_and_its_acceptance_chooses_profile_and_who_advances(repo: Path) -> None:
    axes = AxesChange(WorkMode.CHAT, RunControl.ASSISTED, PermissionProfile.NORMAL)

    async def script(driver: Driver) -> None:
        end = await stretch(driver, f"/plan {TWO}")
        assert (end.status, driver.axes.work_mode) == ("waiting", WorkMode.PLAN)
        asked = await driver.until_type(p.QuestionAsked)
        assert [choice.key for choice in asked.choices] == ["a", "t", "u", "s", "n"]
        assert asked.choices[0].label == "autonomous, profile normal (as now)"
        await driver.session.submit(p.Answer(question=asked.question, choice="n"))
        await driver.until_type(p.QuestionAnswered)
        assert todo(repo) == []
        await driver.session.say("/accept")
        await driver.answer("t")
        end = await until_stopped(driver)
        assert (end.status, end.done) == ("done", 2)
        assert driver.axes.permission_profile is PermissionProfile.TRUSTED
        assert driver.axes.run_control is RunControl.AUTONOMOUS
        assert [e.by for e in driver.of(p.PlanAccepted)] == ["user"]

    drive(repo, script, rules(), axes=axes, person=True)


def test_a_plan_is_accepted_by_flags_without_a_question(repo: Path) -> None:
    axes = AxesChange(WorkMode.PLAN, RunControl.ASSISTED, PermissionProfile.NORMAL)

    async def script(driver: Driver) -> None:
        assert (await stretch(driver, f"/plan {TWO}")).status == "waiting"
        assert not (await driver.command("/resume")).ok
        end = await stretch(driver, "/accept --autonomous --permission-profile trusted")
        assert end.status == "done"
        assert not (await driver.command("/accept")).ok

    drive(repo, script, rules(), axes=axes)


@pytest.mark.parametrize("decides", ["/accept --autonomous --permission-profile trusted", "/stop", "/accept"])
def test_the_question_about_a_plan_ends_when_something_else_decides(repo: Path, decides: str) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say(f"/plan {TWO}")
        asked = await driver.until_type(p.QuestionAsked)
        await driver.session.say(decides)
        closed = await driver.until_type(p.QuestionAnswered)
        assert (closed.question, closed.choice) == (asked.question, "")
        if decides == "/accept":
            assert (await driver.until_type(p.QuestionAsked)).question != asked.question
        elif decides != "/stop":
            assert (await until_stopped(driver)).status == "done"
            assert not driver.session.state.questions

    axes = AxesChange(WorkMode.CHAT, RunControl.ASSISTED, PermissionProfile.NORMAL)
    drive(repo, script, rules(), axes=axes, person=True)


def test_a_plan_that_waits_is_arranged_and_built_as_it_is_then(repo: Path) -> None:
    axes = AxesChange(WorkMode.CHAT, RunControl.ASSISTED, PermissionProfile.NORMAL)

    async def script(driver: Driver) -> None:
        assert (await stretch(driver, f"/plan {THREE}")).status == "waiting"
        asked = await driver.until_type(p.QuestionAsked)
        first = driver.of(p.PlanMade)[-1]
        assert not (await driver.command("/arrange task-009")).ok
        await driver.session.say("/arrange task-003 task-002")
        closed = await driver.until_type(p.QuestionAnswered)
        assert (closed.question, closed.by) == (asked.question, "the plan was changed")
        again = await driver.until_type(p.QuestionAsked)
        changed = driver.of(p.PlanMade)[-1]
        assert (changed.milestone, changed.by) == (first.milestone, "user")
        assert [task.title for task in changed.tasks] == [first.tasks[2].title, first.tasks[1].title]
        await driver.session.say('/arrange edit task-003 replace "words" with "terms" in *.py')
        await driver.until_type(p.QuestionAsked)
        assert again.question not in driver.session.state.questions
        end = await stretch(driver, "/accept --autonomous --permission-profile trusted")
        assert (end.status, end.done) == ("done", 2)
        assert "terms" in (repo / "tally/count.py").read_text()
        assert not (await driver.command("/arrange task-002")).ok

    drive(repo, script, rules(), axes=axes, person=True)


def test_plan_takes_a_file_of_the_project_and_never_changes_it(repo: Path) -> None:
    (repo / "wish.md").write_text(TWO)
    driver, end = run(repo, "/plan wish.md")
    assert end.status == "done" and (repo / "wish.md").read_text() == TWO
    assert driver.of(p.CycleBegan)[0].source == "wish.md"


# ── run control


def test_s3_4_assisted_does_one_unit_verifies_it_and_pauses_until_next(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        assert (await stretch(driver, f"/plan {TWO}")).status == "waiting"
        end = await stretch(driver, "/accept")
        assert (end.status, end.done, end.left) == ("paused", 1, 1)
        assert statuses(repo) == {"task-001": "done", "task-002": "todo"}
        end = await stretch(driver, "/next")
        assert (end.status, end.done) == ("done", 2)
        assert not (await driver.command("/resume")).ok

    drive(repo, script, rules(), axes=ASSISTED)


def test_implement_does_the_tasks_that_are_there(repo: Path) -> None:
    pages = [page(name, body=f'create the file {name}.txt with "x"\n') for name in ("one", "two")]
    added(repo, *pages)
    driver, end = run(repo, "/implement --autonomous --permission-profile normal", axes=RESTRICTED)
    assert (end.status, end.done) == ("done", 2)
    assert (repo / "one.txt").exists() and phases(driver)[:3] == [
        "reading-input",
        "checking-done-files",
        "checking-todo-files",
    ]


def test_pause_holds_the_cycle_between_its_steps_and_resume_lets_it_go(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say(THREE)
        await driver.until(lambda e: isinstance(e, p.TurnFinished))
        assert (await driver.command("/pause")).ok
        assert driver.session.state.status == "paused"
        said = (await driver.command("/status")).text
        assert any(line.split()[:2] == ["cycle", "paused,"] for line in said.splitlines())
        assert (await driver.command("/resume")).ok
        assert (await until_stopped(driver)).status == "done"

    drive(repo, script, rules())


def test_stop_cancels_the_run_returns_the_claimed_task_and_drops_what_waits(repo: Path) -> None:
    model = ScriptedModel([block("a", verification="true"), [call("wait", seconds=60)]])

    async def script(driver: Driver) -> None:
        await driver.session.say("/plan do a")
        await driver.until(lambda e: isinstance(e, p.ToolStarted))
        await driver.command("/steer model-mode deep next-milestone")
        assert (await driver.command("/stop")).ok
        end = await until_stopped(driver)
        assert end.status == "cancelled"
        assert statuses(repo) == {"a": "todo"}
        assert driver.session.state.dials.pending == ()
        await driver.command("/mode chat")
        again = await driver.command("/resume")
        assert not again.ok and "1 open task in this project; /implement builds it" in again.text

    drive(repo, script, model)
    assert keep(repo, _claims) == {}


async def _claims(keeper: TaskKeeper) -> dict[str, Any]:
    return keeper.store.claims()


def test_an_interrupted_unit_goes_back_and_resume_begins_it_again(repo: Path) -> None:
    plan = block("a", body="Write it.")
    model = ScriptedModel([plan, [call("wait", seconds=60)], write("a.txt"), "written", "DONE", "nothing to add"])

    async def script(driver: Driver) -> None:
        await driver.session.say("/plan do a")
        await driver.until(lambda e: isinstance(e, p.ToolStarted))
        await driver.session.submit(p.Interrupt())
        assert (await until_stopped(driver)).status == "interrupted"
        assert statuses(repo) == {"a": "todo"}
        end = await stretch(driver, "/resume")
        assert (end.status, end.reason) == ("done", "")
        assert units(driver) == [("a", 1), ("a", 2)]

    drive(repo, script, model)


# ── a model that plans, works and verifies


def test_s4_a_model_plans_in_plan_mode_works_in_build_and_verifies_by_reading(repo: Path) -> None:
    plan = f"Two things.\n\n{block('one', verification='test -e one.txt')}\n\n{block('two', depends_on='[one]')}"
    model = ScriptedModel(
        [
            *(plan, write("one.txt"), "one is written"),
            *([call("Read", file_path="one.txt")], "NEEDS_WORK\none.txt should say more"),
            *(write("one.txt", "more\n"), "now it does", "DONE\nit says more"),
            *(write("two.txt"), "two is written", "DONE\nit is there"),
            "Nothing is left to do.",
        ]
    )

    def verifying(request: Request) -> bool:
        return any(m.passing and "This is the verification of a task" in m.text for m in request.messages)

    driver, end = run(repo, "/plan write one and two", model)
    assert (end.status, end.done, end.iterations) == ("done", 2, 2)
    assert units(driver) == [("one", 1), ("one", 2), ("two", 1)]
    assert turned(driver) == [("plan", "user"), ("build", "user"), ("plan", "user"), ("build", "user")]
    work_modes = [str(e.axes.work_mode) for e in driver.of(p.ModelRequested) if e.stage == "act"]
    assert work_modes[0] == "plan" and set(work_modes[1:-1]) == {"build"} and work_modes[-1] == "plan"
    looked = [request for request in model.requests if verifying(request)]
    assert len(looked) == 4
    assert not {"Write", "Edit", "bash"} & {name for request in looked for name in request.allowed or ()}
    assert all(request.allowed for request in looked)
    again = next(r for r in model.requests if r.messages[-1].role is Role.USER and "Findings 1" in r.messages[-1].text)
    assert "one.txt should say more" in again.messages[-1].text
    last = model.requests[-1].messages[-1].text
    assert "Completed so far:\n\n- one.md:" in last and "- two.md:" in last
    assert phases(driver)[-3:] == ["running-planning", "cycle-complete", "completed"]
    assert end.usage.input_tokens == 10 * len(model.requests)


def test_a_plan_with_flaws_is_sent_back_once_and_then_refused_and_its_tasks_are_none(repo: Path) -> None:
    bad = block("a", risk="huge")
    driver, end = run(repo, "/plan do a", ScriptedModel([bad, bad]))
    assert end.status == "failed" and 'risk: "huge" is not one of low, medium, high' in end.reason
    assert [e.kind for e in driver.of(p.Corrected)] == ["plan_flawed"] and todo(repo) == []
    driver, end = run(repo, "/plan do a", ScriptedModel([bad, block("a"), "did it", "DONE", "no more"]))
    assert end.status == "done"


def test_dependencies_in_a_circle_are_no_plan(repo: Path) -> None:
    circle = f"{block('a', depends_on='[b]')}\n{block('b', depends_on='[a]')}"
    _, end = run(repo, "/plan do a", ScriptedModel([circle]))
    assert end.status == "failed" and "these depend on each other: a → b → a" in end.reason
    assert statuses(repo) == {}


def test_a_planner_that_finds_nothing_to_do_ends_the_cycle_without_a_task(repo: Path) -> None:
    driver, end = run(repo, "/plan look whether something is to be done", ScriptedModel(["Nothing is.\nNOTHING TO DO"]))
    assert (end.status, end.phase) == ("done", CyclePhase.NO_TODO)
    assert phases(driver)[-2:] == ["cycle-complete", "no-todo-files"]


def test_s3_9_2_a_task_that_keeps_failing_has_failed_after_its_retries_and_the_run_with_it(repo: Path) -> None:
    model = ScriptedModel([block("a"), *["did it", "NEEDS_WORK\nno"] * 3, "nothing more to plan"])
    driver, end = run(repo, "/plan do a", model, settings={"cycle.max_retries": 2})
    assert (end.status, end.failed, end.phase) == ("failed", 1, CyclePhase.FAILED)
    assert units(driver) == [("a", 1), ("a", 2), ("a", 3)] and statuses(repo) == {"a": "failed"}
    assert (repo / ".quintet/todo/a.md").read_text().count("## Findings") == 3


def test_a_model_that_cannot_be_reached_is_no_fault_of_the_tasks(repo: Path) -> None:
    _, end = run(repo, "/plan do a", ScriptedModel([block("a"), ModelAuthFailed("the key is wrong")]))
    assert (end.status, end.reason) == ("failed", "the key is wrong")
    assert statuses(repo) == {"a": "todo"}


# ── budgets


@pytest.mark.parametrize(
    ("limits", "reason", "done"),
    [
        ({"cycle.max_units": 1}, "cycle.max_units = 1", 1),
        ({"cycle.max_tokens": 20}, "cycle.max_tokens = 20, used 45", 0),
        ({"cycle.max_iterations": 1}, "cycle.max_iterations = 1", 2),
        ({"limits.max_calls": 1}, "limits.max_calls = 1", 0),
    ],
)
def test_s3_4_a_budget_stops_the_run_and_names_itself(
    repo: Path, limits: dict[str, Any], reason: str, done: int
) -> None:
    write_two = [*write("x.txt"), *write("y.txt")]
    model = ScriptedModel([f"{block('a')}\n{block('b')}", write_two, "a", "DONE", write("z.txt"), "b", "DONE"])
    _, end = run(repo, "/plan do a and b", model, settings=limits)
    assert (end.status, end.reason, end.done) == ("limit", reason, done)
    assert "running" not in statuses(repo).values()


# ── approval, verification commands, the gate


def test_a_task_may_want_approval_before_it_begins_and_after_it_is_verified(repo: Path) -> None:
    plan = f"{block('a', approval='before')}\n{block('b', approval='after', depends_on='[a]')}"

    async def script(driver: Driver) -> None:
        await driver.session.say("/plan do both")
        before = await driver.until_type(p.QuestionAsked)
        assert before.text == "Start a: Do a?" and statuses(repo)["a"] == "todo"
        await driver.session.submit(p.Answer(question=before.question, choice="y"))
        after = await driver.until_type(p.QuestionAsked)
        assert after.text == "Is b done: Do b?" and statuses(repo)["b"] == "reviewing"
        await driver.session.submit(p.Answer(question=after.question, choice="n", note="it is too short"))
        await driver.until(lambda e: isinstance(e, p.TaskMoved) and e.after == "retrying")
        assert "it is too short" in (repo / ".quintet/todo/b.md").read_text()
        await driver.answer("y")
        assert (await until_stopped(driver)).status == "done"

    model = ScriptedModel([plan, "did a", "DONE", "did b", "DONE", "did b again", "DONE", "nothing more"])
    drive(repo, script, model, person=True)


def test_approval_with_nobody_attached_ends_blocked_and_loses_nothing(repo: Path) -> None:
    driver, end = run(repo, "/plan do a", ScriptedModel([block("a", approval="before")]))
    assert end.status == "blocked" and "needs your approval" in end.reason and statuses(repo) == {"a": "todo"}
    assert end.reason.endswith(f"quintet --resume {driver.session.id} at a terminal, and there `/next`.")


def test_a_verification_that_the_gate_asks_about_ends_blocked_and_is_asked_again_on_resume(repo: Path) -> None:
    normal = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)

    async def script(driver: Driver) -> None:
        text = 'create the file a.txt with "a", verified by `python3 -m unittest`'
        end = await stretch(driver, text)
        assert end.status == "blocked" and "building or testing needs approval in profile normal" in end.reason
        assert statuses(repo) == {"task-001": "verifying"}
        await driver.command("/permission-profile trusted")
        assert (await stretch(driver, "/resume")).status == "done"
        assert units(driver) == [("task-001", 1)]

    drive(repo, script, rules(), axes=normal)


def test_each_way_to_build_a_plan_that_is_offered_at_restricted_builds_it(repo: Path) -> None:
    restricted = AxesChange(WorkMode.PLAN, RunControl.ASSISTED, PermissionProfile.RESTRICTED)

    async def script(driver: Driver) -> None:
        await stretch(driver, "do both")
        asked = await driver.until_type(p.QuestionAsked)
        (one_by_one,) = (choice for choice in asked.choices if choice.key == "s")
        assert one_by_one.label == "one task at a time, profile normal" and one_by_one.only_selects
        await driver.session.submit(p.Answer(question=asked.question, choice="s"))
        assert "one task is done" in (await until_stopped(driver)).reason
        assert statuses(repo) == {"a": "done", "b": "todo"} and driver.axes.permission_profile == "normal"
        last = await stretch(driver, "/next")
        assert last.reason.startswith("every task of the plan is done")

    model = ScriptedModel([f"{block('a')}\n{block('b')}", "did a", "DONE", "did b", "DONE"])
    drive(repo, script, model, person=True, axes=restricted)


def test_what_is_said_instead_of_a_verification_command_goes_to_whoever_does_the_task(repo: Path) -> None:
    normal = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)

    async def script(driver: Driver) -> None:
        await driver.session.say("/plan do a")
        asked = await driver.until_type(p.QuestionAsked)
        assert asked.text == "Run: python3 -m unittest?"
        await driver.session.submit(p.Answer(question=asked.question, choice="n", note="add a test first"))
        await driver.answer("y")
        assert (await until_stopped(driver)).status == "done"

    plan = block("a", verification="python3 -m unittest")
    model = ScriptedModel([plan, "did a", "did a with a test", "DONE", "nothing more"])
    driver = drive(repo, script, model, person=True, axes=normal)
    assert units(driver) == [("a", 1), ("a", 2)]
    assert "add a test first" in model.requests[2].messages[-1].text


def test_a_unit_that_needs_a_person_ends_blocked(repo: Path) -> None:
    model = ScriptedModel([block("a"), [call("bash", command="git push")], *["I could not.", "NEEDS_WORK\nno"] * 2])
    driver, end = run(repo, "/plan push it", model)
    assert end.status == "blocked" and "publishing always needs approval" in end.reason
    assert statuses(repo) == {"a": "blocked"}
    assert units(driver) == [("a", 1)], "no retry is spent on it"


def test_a_unit_that_says_it_is_blocked_by_a_skipped_call_costs_no_retry(repo: Path) -> None:
    done = call("complete", final_answer="It has to be pushed.", status="blocked")
    driver, end = run(repo, "/plan push it", ScriptedModel([block("a"), [call("bash", command="git push")], [done]]))
    assert end.status == "blocked" and "git push" in end.reason
    assert statuses(repo) == {"a": "blocked"} and units(driver) == [("a", 1)]


def test_a_unit_that_does_without_the_skipped_call_is_done(repo: Path) -> None:
    write = call("Write", file_path="one.txt", content="1\n")
    unit = [[call("bash", command="git push")], [write], "Written, not pushed.", "DONE\none.txt is there"]
    looks = [[call("Read", file_path="one.txt")], "DONE\nit is there"]
    _, end = run(repo, "/plan write it", ScriptedModel([block("a"), *unit, *looks, "nothing more to plan"]))
    assert end.status == "done" and statuses(repo) == {"a": "done"}


def test_a_verifier_that_could_not_look_costs_no_retry(repo: Path) -> None:
    write = call("Write", file_path="one.txt", content="1\n")
    looks = [[call("Read", file_path="/opt/one.txt")], "NEEDS_WORK\nI could not see it"]
    driver, end = run(repo, "/plan write it", ScriptedModel([block("a"), [write], "Written.", *looks]))
    assert end.status == "blocked" and "/opt/one.txt" in end.reason
    assert statuses(repo) == {"a": "verifying"} and units(driver) == [("a", 1)]


def test_a_page_that_came_with_an_untrusted_folder_runs_no_command_of_its_own(repo: Path) -> None:
    folder = repo / ".quintet/todo"
    folder.mkdir(parents=True)
    body = 'create the file b.txt with "b"\n'
    (folder / "found.md").write_text(f"---\nid: found\ntitle: T\nverification: touch ran.txt\n---\n{body}")

    async def mend(keeper: TaskKeeper) -> None:
        await keeper.mend(keeper.look().drifts)

    keep(repo, mend)
    driver, end = run(repo, "/implement")
    assert end.status == "done" and not (repo / "ran.txt").exists()
    assert driver.of(p.TaskVerified)[0].command == ""


# ── steering


def test_s3_4_2_scopes_land_at_the_ends_of_units_and_milestones(repo: Path) -> None:
    model = ScriptedModel(
        [
            f"{block('a')}\n{block('b', depends_on='[a]')}",
            *([call("wait", seconds=0)], "did a", "DONE", "did b", "DONE", "nothing more"),
        ]
    )

    async def script(driver: Driver) -> None:
        await driver.session.say("/plan do both")
        await driver.until(lambda e: isinstance(e, p.CycleMoved) and e.phase is CyclePhase.EXECUTING)
        await driver.command("/steer permission-profile normal after-current-unit")
        await driver.command("/steer model-mode deep next-milestone")
        await driver.command("/steer model-mode fast for-next-unit")
        assert (await until_stopped(driver)).status == "done"

    driver = drive(repo, script, model)
    at = {
        type(e).__name__ + str(getattr(e, "scope", "") or getattr(e, "task", "")): n for n, e in enumerate(driver.seen)
    }
    verified = [n for n, e in enumerate(driver.seen) if isinstance(e, p.TaskVerified)]
    assert verified[0] < at["DialsTurnedafter-current-unit"] < verified[1]
    assert at["DialsTurnednext-milestone"] > verified[1]
    loans = [e for e in driver.of(p.DialsTurned) if e.scope == "for-next-unit"]
    assert [(str(e.before.model_mode), str(e.after.model_mode)) for e in loans] == [
        ("smart", "fast"),
        ("fast", "smart"),
    ]
    first_loan = driver.seen.index(loans[0])
    assert verified[0] < first_loan < verified[1] < driver.seen.index(loans[1])


def test_a_work_mode_that_the_user_turns_stops_the_cycle_where_it_lands(repo: Path) -> None:
    model = ScriptedModel([f"{block('a')}\n{block('b')}", [call("wait", seconds=0)], "did a", "DONE"])

    async def script(driver: Driver) -> None:
        await driver.session.say("/plan do both")
        await driver.until(lambda e: isinstance(e, p.CycleMoved) and e.phase is CyclePhase.EXECUTING)
        await driver.command("/steer mode research after-current-unit")
        end = await until_stopped(driver)
        assert end.status == "paused" and "this is research" in end.reason
        assert statuses(repo) == {"a": "done", "b": "todo"}

    drive(repo, script, model)


# ── the health gate


def _unfinished_merge(repo: Path) -> None:
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repo, capture_output=True, text=True, check=True)
    (repo / ".git" / "MERGE_HEAD").write_text(head.stdout)


@pytest.mark.parametrize("policy", ["auto", "ask", "log-only"])
def test_s3_3_5_nothing_is_dispatched_into_an_unfinished_merge(repo: Path, policy: str) -> None:
    _unfinished_merge(repo)
    driver, end = run(repo, TWO, settings={"repair.auto_transition": policy})
    assert end.status == "blocked" and "git is in the middle of a merge" in end.reason and units(driver) == []
    wanted = [("repair", "rule")] if policy == "auto" else []
    assert turned(driver) == wanted
    if wanted:
        assert driver.axes.permission_profile is PermissionProfile.NORMAL


def _lost_page(repo: Path) -> None:
    pages = [page(name, body=f'create the file {name}.txt with "x"\n') for name in ("one", "two")]
    added(repo, *pages)
    (repo / ".quintet/todo/one.md").unlink()


def test_s3_3_5_a_standing_rule_goes_over_to_repair_mends_and_comes_back(repo: Path) -> None:
    _lost_page(repo)
    driver, end = run(repo, "/implement", settings={"repair.auto_transition": "auto"})
    assert (end.status, end.done) == ("done", 2)
    moved = [e for e in driver.of(p.DialsTurned) if e.actor == Actor.RULE]
    shown = [(str(e.after.work_mode), str(e.after.permission_profile)) for e in moved]
    assert shown == [("repair", "normal"), ("build", "trusted")]
    assert [e.text for e in driver.of(p.Noticed) if e.code != LEARNT] == ["fixed    wrote one.md again"]


@pytest.mark.parametrize(("choice", "status"), [("y", "done"), ("n", "blocked")])
def test_s3_3_5_by_default_the_user_is_asked_before_it_goes_over_to_repair(
    repo: Path, choice: str, status: str
) -> None:
    _lost_page(repo)

    async def script(driver: Driver) -> None:
        await driver.session.say("/implement")
        await driver.answer(choice)
        assert (await until_stopped(driver)).status == status
        actors = [str(e.actor) for e in driver.of(p.DialsTurned) if str(e.after.work_mode) == "repair"]
        assert actors == ["user"] * (choice == "y")

    drive(repo, script, rules(), person=True)


def test_s3_3_5_log_only_says_what_drifted_and_goes_on(repo: Path) -> None:
    _lost_page(repo)
    driver, end = run(repo, "/implement", settings={"repair.auto_transition": "log-only"})
    assert end.status == "done"
    assert "TASK_ROW_WITHOUT_FILE" in [e.code for e in driver.of(p.Noticed)] and ("repair", "rule") not in turned(
        driver
    )


# ── two at once, malformed pages, beginning afresh


def test_a_task_that_another_process_works_at_is_left_to_it(repo: Path) -> None:
    added(repo, page("one", body='create the file one.txt with "x"\n'))

    async def script(driver: Driver) -> None:
        async with keeping(repo) as other:
            await other.claim("one", "another/owner")
            end = await stretch(driver, "/implement")
            assert (end.status, end.reason) == ("blocked", "running in another process: one")
            await other.let_go("one", "another/owner")
        assert (await stretch(driver, "/resume")).status == "done"

    drive(repo, script, rules())


def test_a_malformed_page_is_said_left_alone_and_holds_nothing_up(repo: Path) -> None:
    added(repo, page("one", body='create the file one.txt with "x"\n'))
    bad = repo / ".quintet/todo/bad.md"
    bad.write_text("---\nid: bad\nrisk: huge\n---\n")
    driver, end = run(repo, "/implement")
    assert end.status == "done" and bad.read_text().startswith("---\nid: bad")
    (said,) = [e.text for e in driver.of(p.Noticed) if e.code == "TASK_MALFORMED"]
    assert "bad.md: line 1, title: is missing" in said


def test_s4_reset_clears_the_draft_and_puts_done_tasks_away_once_it_is_confirmed(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await stretch(driver, TWO)
        (repo / ".quintet/task.md").write_text("what I want next")
        asked = await driver.command("/reset")
        assert asked.text == "this would clear task.md, archive 2 done tasks; to do it: /reset yes"
        assert (repo / ".quintet/task.md").exists() and len(todo(repo)) == 2
        done = await driver.command("/reset yes")
        assert done.text.splitlines()[-1] == "cleared task.md" and "archived task-001" in done.text
        assert todo(repo) == [] and not (repo / ".quintet/task.md").exists()
        health = await driver.command("/doctor")
        assert "TASK_" not in health.text

    drive(repo, script, rules())
    away = [path.name for path in Path(locate(str(repo)).runs).rglob("task-*.md")]
    assert untimed(away) == ["task-001.md", "task-002.md"]

    async def summary(keeper: TaskKeeper) -> str:
        return keeper.summary()

    assert keep(repo, summary) == ""


# ── a process that ended


def test_what_a_dead_process_had_begun_is_put_back_and_done_stays_done(repo: Path) -> None:
    pages = [page(name, body=f'create the file {name}.txt with "x"\n') for name in ("one", "two")]
    added(repo, *pages)
    sessions: list[str] = []

    async def script(driver: Driver) -> None:
        sessions.append(driver.session.id)
        assert (await stretch(driver, "/implement")).status == "limit"

    drive(repo, script, rules(), settings={"cycle.max_units": 1})

    async def die(keeper: TaskKeeper) -> None:
        await keeper.claim("two", f"{sessions[0]}/gone")
        await keeper.move("two", TaskStatus.RUNNING, "unit 1", owner=f"{sessions[0]}/gone")

    keep(repo, die)
    path = locate(str(repo)).database
    with connect(path) as connection:
        connection.execute("UPDATE task_runtime SET owner_started = 'never'")

    async def again(driver: Driver) -> None:
        driver.seq = driver.session.since
        end = await stretch(driver, "/resume")
        assert (end.status, end.done) == ("done", 2)
        moves = [(e.task, e.before, e.after) for e in driver.of(p.TaskMoved)]
        assert moves[0] == ("two", "running", "todo")
        assert [e for e in moves if e[0] == "one"] == []

    drive(repo, again, rules(), resume=sessions[0], axes=None)


def test_a_unit_that_was_cut_short_while_it_published_waits_for_a_person(repo: Path) -> None:
    server = socket.create_server(("127.0.0.1", 0))  # takes the connection and says nothing
    address = f"git://127.0.0.1:{server.getsockname()[1]}/x"
    model = ScriptedModel([block("a", body="Push it."), [call("bash", command=f"git push {address} main")]])

    async def script(driver: Driver) -> None:
        await driver.session.say("/plan push it")
        await driver.answer("y")
        await driver.until(lambda e: isinstance(e, p.ToolStarted))
        await driver.session.submit(p.Interrupt())
        assert (await until_stopped(driver)).status == "interrupted"
        assert statuses(repo) == {"a": "blocked"}
        end = await stretch(driver, "/resume")
        assert (end.status, end.reason) == ("blocked", "a is blocked; use /tasks move a todo to allow it to start")
        assert units(driver) == [("a", 1)]

    with server:
        drive(repo, script, model, person=True)


def test_the_doctor_does_not_have_a_unit_begun_again_whose_process_died_while_it_published(repo: Path) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    push = [call("bash", command=f"git push git://127.0.0.1:{server.getsockname()[1]}/x main")]
    sessions: list[tuple[str, int]] = []

    async def script(driver: Driver) -> None:
        await driver.session.say("/plan push it")
        await driver.answer("y")
        await driver.until(lambda e: isinstance(e, p.ToolStarted))
        sessions.append((driver.session.id, driver.seq))
        await driver.session.submit(p.Interrupt())
        await until_stopped(driver)

    with server:
        model = ScriptedModel([block("a", body="Push it."), push])
        drive(repo, script, model, person=True, settings={"runs.record": False})
    ((session, seq),) = sessions

    async def die(keeper: TaskKeeper) -> None:
        await keeper.move("a", TaskStatus.TODO, "")
        await keeper.claim("a", f"{session}/gone")
        await keeper.move("a", TaskStatus.RUNNING, "unit 1", owner=f"{session}/gone")

    keep(repo, die)
    with connect(locate(str(repo)).database) as connection:  # as a kill right behind the start would have left it
        connection.execute("DELETE FROM journal WHERE session = ? AND seq > ?", (session, seq))
        connection.execute("UPDATE task_runtime SET owner_started = 'never'")

    async def mend(driver: Driver) -> None:
        assert "released task a, which is blocked" in (await driver.command("/doctor fix")).text

    drive(repo, mend, rules())
    assert statuses(repo) == {"a": "blocked"}


def test_a_clock_that_jumps_back_in_a_unit_costs_nothing(repo: Path) -> None:
    clock = FrozenClock()

    def jump(request: Request) -> str:
        clock._epoch -= 86_400
        return "did a"

    model = ScriptedModel([f"{block('a')}\n{block('b', depends_on='[a]')}", jump, "DONE", "did b", "DONE", "no more"])
    driver, end = run(repo, "/plan do both", model, clock=clock)
    assert (end.status, end.done) == ("done", 2) and units(driver) == [("a", 1), ("b", 1)]


def test_a_page_that_cannot_be_moved_stops_the_cycle_and_loses_nothing(repo: Path) -> None:
    """A full disk and a folder that cannot be made fail at the same place: before the row has moved."""
    in_the_way = repo / ".quintet/todo/done"

    def fill(request: Request) -> str:
        in_the_way.write_text("")
        return "did a"

    async def script(driver: Driver) -> None:
        end = await stretch(driver, "/plan do a")
        assert end.status == "failed" and "todo/a.md: cannot be written" in end.reason
        assert statuses(repo) == {"a": "todo"} and (repo / ".quintet/todo/a.md").exists()
        in_the_way.unlink()
        assert (await stretch(driver, "/resume")).status == "done"

    drive(repo, script, ScriptedModel([block("a"), fill, "did it again", "DONE", "no more"]))
    assert keep(repo, _claims) == {}
