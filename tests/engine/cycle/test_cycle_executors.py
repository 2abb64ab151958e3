"""AI CLIs in a cycle: one plans, one executes, one verifies; each start is the gate's, failures are tried again."""

from pathlib import Path
from typing import Any

import pytest

from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import describe
from quintet.domain.permission.gate import Sandbox, Verdict
from quintet.domain.tasks.executors import (
    Assignment,
    CallBegan,
    CallEnded,
    Changed,
    Ended,
    ExecutorFailure,
    ExecutorMessage,
    ExecutorPart,
    Spent,
)
from quintet.domain.tasks.roles import ExecutorRole
from quintet.domain.turn.messages import Usage
from quintet.engine.cycle.task_keeper import TaskKeeper
from quintet.testing import HANG, FrozenClock, ScriptedExecutors, ScriptedModel
from tests.engine.cycles import phases, statuses, stretch, units, until_stopped
from tests.engine.driving import BUILD, Driver, drive
from tests.engine.task_places import keep

THREE_CLIS = {"cycle.planner": "claude", "cycle.executor": "codex", "cycle.verifier": "gemini"}
ONE_CLI = {"cycle.executor": "codex"}
PLAN = "~~~~task\n---\nid: a\ntitle: Do a\n---\nWrite it.\n~~~~"
BWRAP = pytest.mark.system("bwrap")


def pages(*names: str) -> Any:
    """A planner that leaves these pages in the folder it is given."""

    def plan(assignment: Assignment) -> list[ExecutorPart]:
        for name in names:
            Path(assignment.folder, f"{name}.md").write_text(f"---\nid: {name}\ntitle: Do {name}\n---\nWrite it.\n")
        return [ExecutorMessage(f"{len(names)} tasks"), Ended(True, "planned")]

    return plan


def writes(root: Path, name: str) -> Any:
    def work(assignment: Assignment) -> list[ExecutorPart]:
        (root / name).write_text("x\n")
        return [
            ExecutorMessage("I write it."),
            CallBegan("1", "shell", f"touch {name}"),
            CallEnded("1", True, "ok"),
            Changed(name, "added"),
            Spent(Usage(100, 20), 0.25),
            Ended(True, "written"),
        ]

    return work


def failing(failure: ExecutorFailure, **more: Any) -> list[ExecutorPart]:
    return [Ended(False, failure=failure, reason=str(failure), **more)]


def run(
    root: Path, scripts: list[Any], text: str = "/plan do it", settings: Any = THREE_CLIS, **options: Any
) -> tuple[Driver, p.CycleStopped, ScriptedExecutors]:
    executors, ends = ScriptedExecutors(scripts), list[p.CycleStopped]()
    model, after = options.pop("model", None), options.pop("after", None)

    async def script(driver: Driver) -> None:
        ends.append(await stretch(driver, text))
        if after:
            await after(driver)

    driver = drive(root, script, model, executors=executors, settings=settings, clock=FrozenClock(), **options)
    return driver, ends[0], executors


@BWRAP
def test_s4_one_plans_another_executes_the_third_verifies_and_each_start_is_a_decision_of_the_gate(repo: Path) -> None:
    scripts = [pages("a"), writes(repo, "a.txt"), [Ended(True, "DONE\nit is there")], pages()]
    driver, end, executors = run(repo, scripts)
    assert (end.status, end.done, end.cost) == ("done", 1, 0.25)
    assert [(s.executor, s.role) for s in executors.starts] == [
        ("claude", ExecutorRole.PLAN),
        ("codex", ExecutorRole.EXECUTE),
        ("gemini", ExecutorRole.VERIFY),
        ("claude", ExecutorRole.PLAN),
    ]
    decided = [e for e in driver.of(p.CallDecided) if e.tool == "executor"]
    assert [(e.verdict, e.rule) for e in decided] == [(Verdict.ALLOW, "cycle")] * 4
    planner, executor, verifier, _ = executors.starts
    assert planner.grant.write_roots == (planner.folder,) and str(repo) not in planner.folder
    assert executor.grant.write_roots == (str(repo),) and executor.grant.network
    assert verifier.grant.write_roots == (verifier.folder,)
    assert "Write it." in executor.prompt and "Do a" in verifier.prompt and "- a.md:" in executors.starts[3].prompt
    (acted,) = driver.of(p.ExecutorActed)
    assert (acted.tool, acted.summary, acted.ok) == ("shell", "touch a.txt", True)
    work = next(e for e in driver.of(p.ExecutorEnded) if e.role is ExecutorRole.EXECUTE)
    assert (work.changed, work.usage, work.cost) == (("a.txt",), Usage(100, 20), 0.25)
    assert [e.paths for e in driver.of(p.FilesChanged)] == [("a.txt",)]
    started = [e.call for e in driver.of(p.ToolStarted)]
    assert [e.call for e in driver.of(p.ToolFinished)] == started and len(started) == 4
    assert phases(driver)[-1] == "completed" and statuses(repo) == {"a": "done"}


@BWRAP
def test_what_ai_clis_did_is_in_the_log_and_in_the_costs(repo: Path) -> None:
    said: list[str] = []

    async def look(driver: Driver) -> None:
        said.append((await driver.command("/cost --by stage")).text)
        said.append((await driver.command("/logs --kind request")).text)

    scripts = [
        pages("a"),
        failing(ExecutorFailure.UNREACHABLE),
        writes(repo, "a.txt"),
        [Spent(Usage(7, 3)), Ended(True, "DONE\nit is there")],
        pages(),
    ]
    run(repo, scripts, after=look)
    costs = {line.split()[0]: line.split()[1:] for line in said[0].splitlines()}
    assert costs["execute"] == ["2", "1", "100", "0", "20", "0.2500"]
    assert costs["verify"] == ["1", "0", "7", "0", "3", "0.0000"]
    assert "gemini does not report its cost: 1 start of it counts as 0." in said[0]
    assert ["execute", "codex"] == next(line for line in said[1].splitlines() if "unreachable" in line).split()[2:4]


@BWRAP
def test_s4_a_failed_start_is_tried_again_with_a_countdown_and_counts_as_no_retry_of_the_task(repo: Path) -> None:
    down = failing(ExecutorFailure.UNREACHABLE)
    scripts = [down, down, writes(repo, "a.txt")]
    model = ScriptedModel([PLAN, "DONE", "nothing more"])
    driver, end, executors = run(repo, scripts, settings=ONE_CLI, model=model)
    ended = driver.of(p.ExecutorEnded)
    assert [(e.attempt, e.ok, e.retry_in) for e in ended] == [(1, False, 10.0), (2, False, 20.0), (3, True, None)]
    assert end.status == "done" and units(driver) == [("a", 1)] and len(executors.starts) == 3
    assert end.seconds >= 30.0


@BWRAP
def test_a_rate_limit_is_waited_for_until_it_ends(repo: Path) -> None:
    scripts = [failing(ExecutorFailure.RATE_LIMIT, resets_in=75.0), writes(repo, "a.txt")]
    model = ScriptedModel([PLAN, "DONE", "nothing more"])
    driver, end, _ = run(repo, scripts, settings=ONE_CLI, model=model)
    assert driver.of(p.ExecutorEnded)[0].retry_in == 75.0 and end.status == "done" and end.seconds >= 75.0


@BWRAP
@pytest.mark.parametrize(
    "failure", [ExecutorFailure.LOGIN, ExecutorFailure.MISSING, ExecutorFailure.CONTAINMENT, ExecutorFailure.REFUSED]
)
def test_what_only_a_person_can_mend_stops_the_cycle_and_is_no_fault_of_the_tasks(
    repo: Path, failure: ExecutorFailure
) -> None:
    executors = ScriptedExecutors([failing(failure, hint="mend it"), writes(repo, "a.txt")])

    async def script(driver: Driver) -> None:
        end = await stretch(driver, "/plan do it")
        assert (end.status, end.reason) == ("failed", f"codex: {failure}\nmend it")
        assert statuses(repo) == {"a": "todo"} and "Findings" not in (repo / ".quintet/todo/a.md").read_text()
        assert (await stretch(driver, "/resume")).status == "done"
        assert [e.attempt for e in driver.of(p.ExecutorEnded)] == [1, 1]

    drive(repo, script, ScriptedModel([PLAN, "DONE", "nothing more"]), executors=executors, settings=ONE_CLI)


@BWRAP
def test_attempts_that_never_reach_the_server_are_no_fault_of_the_tasks_either(repo: Path) -> None:
    settings = {**ONE_CLI, "retry.max_attempts": 2}
    _, end, executors = run(
        repo, [failing(ExecutorFailure.UNREACHABLE)] * 2, settings=settings, model=ScriptedModel([PLAN, "no more"])
    )
    assert end.status == "failed" and "2 of 2 attempts failed (retry.max_attempts)" in end.reason
    assert len(executors.starts) == 2 and statuses(repo) == {"a": "todo"}


@BWRAP
def test_a_crash_may_be_the_tasks_doing_and_goes_into_its_page(repo: Path) -> None:
    settings = {**ONE_CLI, "retry.max_attempts": 1, "cycle.max_retries": 1}
    model = ScriptedModel([PLAN, "nothing more"])
    driver, end, _ = run(repo, [failing(ExecutorFailure.CRASHED)] * 2, settings=settings, model=model)
    assert end.status == "failed" and statuses(repo) == {"a": "failed"}
    assert (repo / ".quintet/todo/a.md").read_text().count("codex: crashed") == 2
    told = [line.text for n, e in enumerate(driver.seen) for line in describe(p.Recorded(n, "", e))]
    assert [line for line in told if "crashed" in line] == [
        "retry    Do a, not done, by codex: codex: crashed",
        "failed   Do a, not done, by codex: codex: crashed",
    ]


@BWRAP
def test_what_stopped_a_cycle_is_told_once(repo: Path) -> None:
    scripts = [failing(ExecutorFailure.LOGIN, hint="log in")]
    driver, _, _ = run(repo, scripts, settings=ONE_CLI, model=ScriptedModel([PLAN]))
    told = [line.text for n, e in enumerate(driver.seen) for line in describe(p.Recorded(n, "", e))]
    assert "▸ codex: execute" in told
    assert [line for line in told if "login" in line or "log in" in line] == [
        "failed   codex: login   0 of 1 task done · 1 attempt",
        "log in",
    ]


@BWRAP
def test_s3_4_what_an_ai_cli_spends_is_its_tasks_too_and_the_tasks_budget_holds(repo: Path) -> None:
    model = ScriptedModel([PLAN, "DONE", "nothing more"])
    driver, end, _ = run(repo, [writes(repo, "a.txt")], settings=ONE_CLI, model=model)
    unit = next(e for e in driver.of(p.TurnFinished) if e.cost)
    assert (unit.cost, unit.usage) == (0.25, Usage(100, 20)) and end.cost == 0.25

    async def spent(keeper: TaskKeeper) -> float:
        return keeper.find("a").cost_spent

    assert keep(repo, spent) == 0.25


@BWRAP
@pytest.mark.parametrize(
    ("limit", "parts", "reason"),
    [
        ({"cycle.max_seconds": 60.0}, failing(ExecutorFailure.RATE_LIMIT, resets_in=3600.0), "cycle.max_seconds = 60"),
        ({"cycle.max_cost": 0.5}, [Spent(Usage(1, 1), 0.6), *failing(ExecutorFailure.CRASHED)], "cycle.max_cost = 0.5"),
        ({"cycle.max_tokens": 40}, [Spent(Usage(30, 20)), *failing(ExecutorFailure.CRASHED)], "cycle.max_tokens = 40"),
    ],
)
def test_s3_4_a_budget_holds_between_the_attempts_of_an_ai_cli(
    repo: Path, limit: dict[str, Any], parts: list[ExecutorPart], reason: str
) -> None:
    model = ScriptedModel([PLAN])
    _, end, executors = run(repo, [parts], settings={**ONE_CLI, **limit}, model=model)
    assert end.status == "limit" and end.reason.startswith(reason) and end.seconds < 60
    assert len(executors.starts) == 1 and statuses(repo) == {"a": "todo"}


@BWRAP
def test_an_ai_cli_gets_no_more_time_than_the_cycle_has(repo: Path) -> None:
    settings = {**ONE_CLI, "cycle.max_seconds": 90.0}
    scripts = [failing(ExecutorFailure.UNREACHABLE), writes(repo, "a.txt")]
    model = ScriptedModel([PLAN, "DONE", "nothing more"])
    _, _, executors = run(repo, scripts, settings=settings, model=model)
    assert [start.timeout for start in executors.starts] == [90.0, 80.0]


@BWRAP
def test_s3_4_pause_holds_the_next_attempt_of_an_ai_cli(repo: Path) -> None:
    executors = ScriptedExecutors([failing(ExecutorFailure.UNREACHABLE), writes(repo, "a.txt")])

    async def script(driver: Driver) -> None:
        await driver.session.say("/plan do it")
        await driver.until(lambda e: isinstance(e, p.ExecutorEnded))
        assert (await driver.command("/pause")).ok
        assert (await driver.command("/retry")).ok
        await driver.command("/status")
        assert len(executors.starts) == 1
        assert (await driver.command("/resume")).ok
        assert (await until_stopped(driver)).status == "done" and len(executors.starts) == 2

    settings = {**ONE_CLI, "retry.base_seconds": 3600.0}
    drive(repo, script, ScriptedModel([PLAN, "DONE", "nothing more"]), executors=executors, settings=settings)


@BWRAP
def test_s4_the_wait_can_be_skipped_and_a_hanging_start_is_cancelled(repo: Path) -> None:
    executors = ScriptedExecutors([failing(ExecutorFailure.UNREACHABLE), [ExecutorMessage("thinking"), HANG]])
    model = ScriptedModel([PLAN])

    async def script(driver: Driver) -> None:
        await driver.session.say("/plan do it")
        await driver.until(lambda e: isinstance(e, p.ExecutorEnded))
        assert (await driver.command("/retry")).ok
        await driver.until(lambda e: isinstance(e, p.ExecutorSaid))
        assert (await driver.command("/retry")).text == "there is nothing to retry"
        await driver.session.submit(p.Interrupt())
        end = await until_stopped(driver)
        assert (end.status, statuses(repo)) == ("interrupted", {"a": "todo"})
        ended = driver.of(p.ExecutorEnded)[-1]
        assert (ended.ok, ended.reason) == (False, "interrupted")
        assert end.seconds < 60

    settings = {**ONE_CLI, "retry.base_seconds": 3600.0}
    drive(repo, script, model, executors=executors, settings=settings)


@BWRAP
def test_what_the_sandbox_stopped_is_said(repo: Path) -> None:
    note = ".git/hooks/pre-commit was kept from being written"
    scripts = [[Ended(True, "done", notes=(note,))]]
    driver, _, _ = run(repo, scripts, settings=ONE_CLI, model=ScriptedModel([PLAN, "DONE", "nothing more"]))
    assert driver.of(p.ExecutorEnded)[0].notes == (note,)


def test_in_restricted_no_executor_is_started(repo: Path) -> None:
    axes = AxesChange(WorkMode.CHAT, RunControl.AUTONOMOUS, PermissionProfile.RESTRICTED)
    _, end, executors = run(repo, [pages("a")], axes=axes)
    assert end.status == "blocked" and "needs profile normal or above" in end.reason and executors.starts == []


def test_without_a_whole_sandbox_a_start_asks_whoever_is_named(repo: Path) -> None:
    settings = {**ONE_CLI, "sandbox.use": "none"}
    driver, end, executors = run(repo, [], settings=settings, model=ScriptedModel([PLAN]), axes=BUILD)
    assert end.status == "blocked" and executors.starts == []
    decided = [e for e in driver.of(p.CallDecided) if e.tool == "executor"]
    assert [(e.verdict, e.sandbox) for e in decided] == [(Verdict.ASK, Sandbox.NONE)]
    assert statuses(repo) == {"a": "blocked"}


@BWRAP
@pytest.mark.parametrize(
    ("words", "status", "reason"),
    [
        ("I cannot read it.", "blocked", "the planner planned nothing: I cannot read it."),
        ("", "blocked", "the planner planned nothing: (it said nothing)"),
        ("It is there.\n\n**NOTHING TO DO**", "done", "the planner found nothing to do"),
    ],
)
def test_s21_an_ai_cli_that_leaves_no_pages_is_done_only_if_it_says_that_nothing_is_to_be_done(
    repo: Path, words: str, status: str, reason: str
) -> None:
    _, end, _ = run(repo, [[ExecutorMessage(words), Ended(True, words)]])
    assert (end.status, end.reason) == (status, reason) and statuses(repo) == {}


@BWRAP
def test_a_planner_that_leaves_a_malformed_page_makes_no_plan_and_loses_nothing(repo: Path) -> None:
    def bad(assignment: Assignment) -> list[ExecutorPart]:
        Path(assignment.folder, "task-001.md").write_text("no front matter")
        return [Ended(True, "planned")]

    _, end, executors = run(repo, [bad])
    assert end.status == "failed" and "task-001.md: line 1: no front matter" in end.reason
    assert Path(executors.starts[0].folder, "task-001.md").read_text() == "no front matter"
    assert statuses(repo) == {}
