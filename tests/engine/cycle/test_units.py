"""One unit of a task: what its executor is told, what its fields hold it to, and what becomes of words alone."""

from pathlib import Path
from typing import Any

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.sqlite.database import connect_to_read
from quintet.adapters.sqlite.task_rows import TaskRows
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe_cycle import stopped
from quintet.domain.tasks import board
from quintet.domain.tasks.executors import (
    Assignment,
    Ended,
    ExecutorFailure,
    ExecutorMessage,
    ExecutorPart,
    Printed,
    Spent,
)
from quintet.domain.tasks.task import Task, TaskMove
from quintet.domain.turn.messages import EndPart, Finish, Request, Role, TextPart, Usage
from quintet.engine.cycle.task_keeper import TaskKeeper
from quintet.engine.cycle.task_tables import ALL_AWAY
from quintet.engine.reports.conversation_page import as_markdown, exchanges
from quintet.testing import FrozenClock, ScriptedExecutors, ScriptedModel, call
from tests.engine.cycles import rules, statuses, stretch, until_stopped
from tests.engine.driving import BUILD, Driver, drive
from tests.engine.task_places import added, keep
from tests.surfaces.program import Program

BWRAP = pytest.mark.system("bwrap")
CODEX = {"cycle.executor": "codex"}
PRICED = {
    "models.big.base_url": "https://api.example/v1",
    "models.big.model": "big",
    "models.big.price_input": 10_000.0,
    "models.big.price_output": 0.0,
    "routing.smart": "big",
}  # a scripted request of ten tokens costs 0.10


def add(root: Path, id: str, *fields: str, title: str = "", body: str = "Do it.\n") -> None:
    more = "".join(f"{field}\n" for field in fields)
    added(root, (f"{id}.md", f"---\nid: {id}\ntitle: {title or f'Task {id}'}\n{more}---\n{body}"))


def built(
    root: Path, model: Any = None, scripts: list[Any] | None = None, **options: Any
) -> tuple[Driver, p.CycleStopped]:
    """The tasks that are there, done."""
    ends: list[p.CycleStopped] = []

    async def script(driver: Driver) -> None:
        ends.append(await stretch(driver, "/implement"))

    executors = ScriptedExecutors(scripts) if scripts is not None else None
    given = {"executors": executors} if executors else {}
    driver = drive(root, script, model or rules(), clock=FrozenClock(), **given, **options)
    return driver, ends[0]


def moves(root: Path, task: str) -> list[TaskMove]:
    async def look(keeper: TaskKeeper) -> list[TaskMove]:
        return keeper.store.moves(task)

    return keep(root, look)


# ── what an executor is told

FIELDS = ("verification: test -e b.txt", "intent: [b.txt, src/x.py:1-9]", "risk: medium")
SAID = [
    "Task b",
    "Write b.txt.",
    "Verified by this command, which must pass: test -e b.txt",
    "Its files: b.txt, src/x.py:1-9",
    "Risk: medium.",
    "Completed before:\n\n- a.md:\nWrite a.txt.",
]


def two(root: Path) -> None:
    add(root, "a", body="Write a.txt.\n")
    add(root, "b", "depends_on: [a]", *FIELDS, body="Write b.txt.\n")


def test_s4_a_native_unit_is_told_all_that_its_page_says_and_what_was_completed(repo: Path) -> None:
    two(repo)
    wrote = [call("Write", file_path="b.txt", content="b\n")]
    model = ScriptedModel([[call("Write", file_path="a.txt", content="a\n")], "did a", "DONE", wrote, "did b", "DONE"])
    driver, end = built(repo, model)
    assert (end.status, end.done) == ("done", 2)
    told = [e.text for e in driver.of(p.TurnStarted) if e.text]
    assert "nothing yet" in told[0] and all(part in told[1] for part in SAID)
    last = model.requests[3].messages
    assert told[1] in [message.text for message in last if message.role is Role.USER]


@BWRAP
def test_s4_an_ai_cli_is_told_the_same(repo: Path) -> None:
    two(repo)

    def writes(name: str) -> Any:
        def work(assignment: Assignment) -> list[ExecutorPart]:
            (repo / name).write_text("x\n")
            prompts.append(assignment.prompt)
            return [Ended(True, "written")]

        return work

    prompts: list[str] = []
    model = ScriptedModel(["DONE", "DONE"])
    _, end = built(repo, model, [writes("a.txt"), writes("b.txt")], settings=CODEX)
    assert (end.status, end.done) == ("done", 2) and all(part in prompts[1] for part in SAID)


def test_the_offline_rules_get_what_they_can_read_and_no_more(repo: Path) -> None:
    add(repo, "a", "verification: test -e a.txt", body='create the file a.txt with "a"\n')
    driver, end = built(repo)
    assert end.status == "done"
    assert [e.text for e in driver.of(p.TurnStarted) if e.text] == ['create the file a.txt with "a"']
    (verified,) = driver.of(p.TaskVerified)
    assert verified.unchecked == "what its command does not test"


# ── words alone


@pytest.mark.parametrize("reply", ["", "Which file do you mean?", "DONE. All is written and every test passes."])
def test_s4_a_model_that_does_nothing_asks_back_or_claims_success_is_never_done(repo: Path, reply: str) -> None:
    add(repo, "a", "intent: [a.txt]", title="write a.txt")
    model = ScriptedModel([reply] * 40)
    driver, end = built(repo, model, settings={"runs.delivery_check": True})
    assert end.status != "done" and end.done == 0 and statuses(repo)["a"] != "done"
    said = [e.answer or e.reason for e in driver.of(p.TurnFinished)]
    assert any(reply in text for text in said)


@BWRAP
def test_a_verifier_that_asks_back_verifies_nothing_and_costs_no_retry(repo: Path) -> None:
    add(repo, "a", body='create the file a.txt with "a"\n')
    asks = [ExecutorMessage("Shall I look?"), Ended(True, "Shall I\n\nlook?")]
    driver, end = built(repo, None, [asks], settings={"cycle.verifier": "codex"})
    assert end.status == "blocked" and "did not say whether it is done: Shall I look?" in end.reason
    assert statuses(repo) == {"a": "reviewing"}
    (verified,) = driver.of(p.TaskVerified)
    assert verified.unverified and not verified.passed


def test_s4_what_the_offline_rules_wrote_is_not_done_where_it_is_not_what_the_task_said_it_would_change(
    repo: Path,
) -> None:
    add(repo, "a", "intent: [src/never.py]", body='create the file A.md with "a"\n')
    _, end = built(repo)
    assert end.status == "blocked" and statuses(repo) == {"a": "reviewing"}
    assert "there is no evidence that its files were handled: src/never.py does not exist" in end.reason


# ── what the fields hold a unit to


def test_s3_a_task_that_changes_nothing_cannot_write(repo: Path) -> None:
    add(repo, "a", "mutation: none", body="Look around.\n")
    calls = [
        call("Write", file_path="a.txt", content="a\n"),
        call("bash", command="touch b.txt"),
        call("bash", command="python3 -c \"open('c.txt', 'w')\""),
    ]
    driver, _ = built(repo, ScriptedModel([calls, "looked", "DONE"]))
    assert not any((repo / name).exists() for name in ("a.txt", "b.txt", "c.txt"))
    first = next(e for e in driver.of(p.CallDecided) if e.tool == "Write")
    assert (first.verdict, first.reason) == (
        "deny",
        "task a changes nothing (mutation: none), which does not allow changing files",
    )
    assert all(e.grant is None or e.grant.write_roots == () for e in driver.of(p.CallDecided))


def test_s3_4_a_refusal_costs_the_offline_rules_no_retry_and_is_what_the_task_waits_with(repo: Path) -> None:
    add(repo, "a", "mutation: none", body='create the file A.md with "x"\n')
    driver, end = built(repo)
    assert (end.status, end.units) == ("blocked", 1)
    assert statuses(repo) == {"a": "blocked"}
    assert [e.answer for e in driver.of(p.TurnFinished)] == [
        "Nothing added: not run: task a changes nothing (mutation: none), which does not allow changing files"
    ]
    assert "task a changes nothing (mutation: none), which does not allow changing files" in moves(repo, "a")[-1].reason
    assert "Findings" not in (repo / ".quintet/todo/a.md").read_text()


@BWRAP
def test_s3_nor_can_an_ai_cli_that_does_it(repo: Path) -> None:
    add(repo, "a", "mutation: none")
    executors = ScriptedExecutors([[Ended(True, "looked")]])

    async def script(driver: Driver) -> None:
        await stretch(driver, "/implement")

    drive(repo, script, ScriptedModel(["DONE"]), executors=executors, settings=CODEX)
    (start,) = executors.starts
    assert start.grant.write_roots == () and "Changes: nothing" in start.prompt


def test_s3_a_risky_task_asks_before_it_starts(repo: Path) -> None:
    add(repo, "a", "risk: high", body='create the file a.txt with "a"\n')
    _, end = built(repo)
    assert end.status == "blocked" and "needs your approval before it starts (risk: high)" in end.reason
    assert statuses(repo) == {"a": "todo"} and not (repo / "a.txt").exists()

    async def script(driver: Driver) -> None:
        await driver.session.say("/implement")
        asked = await driver.until_type(p.QuestionAsked)
        assert asked.text == "Start a: Task a?" and "risk       high" in asked.detail
        await driver.session.submit(p.Answer(question=asked.question, choice="y"))
        assert (await until_stopped(driver)).status == "done"

    drive(repo, script, rules(), person=True)


def test_a_no_of_the_user_is_asked_for_once_and_costs_no_retry(repo: Path) -> None:
    add(repo, "a", body="run the tests\n")

    async def script(driver: Driver) -> None:
        await driver.session.say("/implement")
        asked = await driver.until_type(p.QuestionAsked)
        await driver.session.submit(p.Answer(question=asked.question, choice="n"))
        end = await until_stopped(driver)
        assert end.status == "blocked" and end.units == 1

    axes = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
    driver = drive(repo, script, rules(), person=True, axes=axes)
    assert len(driver.of(p.QuestionAsked)) == 1
    assert statuses(repo) == {"a": "blocked"} and "the user said no" in moves(repo, "a")[-1].reason


def test_with_nobody_attached_a_task_that_asks_first_comes_after_all_that_do_not(repo: Path) -> None:
    add(repo, "a", "risk: high", body='create the file a.txt with "a"\n')
    add(repo, "b", body='create the file b.txt with "b"\n')
    _, end = built(repo)
    assert statuses(repo) == {"a": "todo", "b": "done"} and (repo / "b.txt").exists()
    assert end.status == "blocked" and "task a needs your approval" in end.reason


def test_s3_9_2_a_tasks_budget_stops_its_unit_before_the_next_request(repo: Path) -> None:
    add(repo, "a", "cost_budget: 0.25")
    looks = [[call("Read", file_path="tally/count.py", offset=line)] for line in range(1, 9)]
    model = ScriptedModel(looks)
    _, end = built(repo, model, settings=PRICED)
    assert (end.status, len(model.requests)) == ("limit", 3)
    assert end.reason.startswith("task a: cost_budget = 0.25, spent 0.3000; raise it in the task's page")
    assert statuses(repo) == {"a": "todo"}

    again = ScriptedModel(looks)
    _, end = built(repo, again, settings=PRICED)
    assert end.status == "limit" and again.requests == []  # nothing is left to begin with
    page = repo / ".quintet/todo/a.md"
    page.write_text(page.read_text().replace("0.25", "5"))
    wrote = [call("Write", file_path="a.txt", content="a\n")]
    _, end = built(repo, ScriptedModel([wrote, "did a", "DONE"]), settings=PRICED)
    assert end.status == "done"


@BWRAP
def test_s3_9_2_and_that_of_an_ai_cli_once_it_has_said_what_it_spent(repo: Path) -> None:
    add(repo, "a", "cost_budget: 0.25")
    parts = [Spent(Usage(1, 1), 0.2), Printed("on"), Spent(Usage(1, 1), 0.2), Printed("and on"), Ended(True, "done")]
    driver, end = built(repo, None, [parts], settings=CODEX)
    assert end.status == "limit" and end.reason.startswith("task a: cost_budget = 0.25, spent 0.4")
    assert statuses(repo) == {"a": "todo"}
    (ended,) = driver.of(p.ExecutorEnded)
    assert (ended.ok, ended.cost) == (False, 0.4)
    assert len(driver.of(p.ToolFinished)) == 1


# ── what the rows say


def test_s3_9_2_a_move_has_the_scope_of_what_brought_it_about(repo: Path) -> None:
    add(repo, "a", body="Wait.\n")
    add(repo, "b", "depends_on: [a]", body="Wait.\n")

    async def script(driver: Driver) -> None:
        await driver.session.say("/implement")
        await driver.until(lambda e: isinstance(e, p.ToolStarted))
        await driver.command("/steer model-mode deep after-current-unit")
        await driver.until(lambda e: isinstance(e, p.ToolStarted))
        await driver.command("/stop")
        await until_stopped(driver)

    waits = [call("wait", seconds=1)]
    model = ScriptedModel([waits, "did a", "DONE", [call("wait", seconds=60)]])
    drive(repo, script, model)
    assert [(str(m.after), m.scope) for m in moves(repo, "b")] == [
        ("todo", ""),
        ("running", "after-current-unit"),
        ("todo", "now"),
    ]


class WatchedClock(FrozenClock):
    """Stands still, and looks at what the task's row says whenever somebody waits."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self._root = root
        self.due: list[str] = []

    async def sleep(self, seconds: float) -> None:
        path = locate(str(self._root)).database
        found = [task.next_action for task in TaskRows(connect_to_read(path), path).tasks()]
        self.due += [at for at in found if at not in self.due]
        await super().sleep(seconds)


@BWRAP
def test_s3_9_2_when_an_attempt_is_made_again_stands_in_the_row(repo: Path) -> None:
    add(repo, "a")
    clock = WatchedClock(repo)
    executors = ScriptedExecutors([[Ended(False, failure=ExecutorFailure.UNREACHABLE, reason="down")]])

    async def script(driver: Driver) -> None:
        await stretch(driver, "/implement")

    drive(repo, script, ScriptedModel(["DONE"]), executors=executors, settings=CODEX, clock=clock)
    assert len(executors.starts) == 2 and clock.due == ["2026-01-01T00:00:10.000Z"]

    async def after(keeper: TaskKeeper) -> str:
        return keeper.find("a").next_action

    assert keep(repo, after) == ""


def test_s3_9_2_how_full_the_conversation_is_stands_beside_the_claim_when_a_unit_ends(repo: Path) -> None:
    add(repo, "a")
    seen: list[float | None] = []

    def verifies(request: Request) -> str:
        path = locate(str(repo)).database
        seen.append(TaskRows(connect_to_read(path), path).claims()["a"].context)
        return "DONE"

    used = [TextPart("did a"), EndPart(Finish.STOP, Usage(500, 5))]
    settings = {**PRICED, "models.big.context_window": 1000}
    built(repo, ScriptedModel([[call("Write", file_path="a.txt", content="a\n")], used, verifies]), settings=settings)
    assert len(seen) == 1 and seen[0] is not None and 50 <= seen[0] < 60


def test_s4_reset_is_offered_at_the_end_and_what_it_puts_away_is_in_no_list(repo: Path) -> None:
    add(repo, "a", body='create the file a.txt with "a"\n')

    async def script(driver: Driver) -> None:
        end = await stretch(driver, "/implement")
        assert end.status == "done" and "/reset archives the done tasks" in stopped(end)
        await driver.command("/reset yes")
        assert (await driver.command("/tasks")).text.startswith(ALL_AWAY)
        assert (await driver.command("/tasks done")).text == "no task is done"
        shown = await driver.command("/tasks show a")
        assert "verified by native" in shown.text

    drive(repo, script, rules())

    async def look(keeper: TaskKeeper) -> list[Task]:
        return keeper.look().tasks

    (task,) = keep(repo, look)
    assert task.status == "done" and task.put_away
    assert board.entries(board.UnderWay((task,)), (), ()) == [] and board.counts([task]) == ""
    add(repo, "b", "depends_on: [a]", body='create the file b.txt with "b"\n')
    _, end = built(repo)
    assert (end.status, end.done) == ("done", 1)  # what waits for one that was put away does not wait


def test_the_turns_of_a_task_are_listed_by_its_title(repo: Path) -> None:
    """Not by the words that the model is told, which are the same for each task."""
    add(repo, "greet", title="Greet the reader")
    said: dict[str, str] = {}

    async def script(driver: Driver) -> None:
        await stretch(driver, "/implement")
        for command in ("/rewind", "/undo", "/session-report", "/logs --kind turn"):
            said[command] = (await driver.command(command)).text
        said["export"] = as_markdown("", exchanges(driver.session.past_events(0, driver.session.newest_event)))

    write = call("Write", file_path="hello.txt", content="Hello, reader.\n")
    drive(repo, script, ScriptedModel([[write], "written", "DONE\nhello.txt greets"]), axes=BUILD)
    for place, text in said.items():
        assert "greet: Greet the reader" in text, (place, text)
        assert "Do this task" not in text, place
    assert "verify greet: Greet the reader" in said["/rewind"]
    (listed,) = Program(repo).sessions()
    assert listed["title"] == "greet: Greet the reader"
