"""A work mode is the same by dial and by command, and what waits continues with the dial that lets it."""

import json
from pathlib import Path
from typing import Any

import pytest

from quintet import package
from quintet.domain.dials.axes import AxesChange, ModelMode, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import Line, describe
from quintet.testing import ScriptedModel, call
from tests.engine.cycle.test_cycle import block, write
from tests.engine.cycles import TWO, rules, run, statuses, stretch, turned, units, until_stopped
from tests.engine.driving import Driver, drive
from tests.engine.task_places import added, page

ASSISTED = AxesChange(WorkMode.CHAT, RunControl.ASSISTED, PermissionProfile.NORMAL)
NORMAL = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
ALONE = AxesChange(WorkMode.BUILD, RunControl.ASSISTED, PermissionProfile.NORMAL)
REVIEW = json.dumps({"summary": "Fine.", "findings": []})
TODO = ".quintet/todo"
RESEARCH = json.dumps({"question": "q", "answer": "By splitting.", "claims": []})


def creates(name: str) -> str:
    return page(name, body=f'create the file {name}.txt with "x"\n')


def described(event: p.Event) -> list[Line]:
    return describe(p.Recorded(1, "2026-01-01T00:00:00.000Z", event))


# ── by dial or by command


@pytest.mark.parametrize("lines", [("/plan do a",), ("/mode plan", "do a")])
def test_s3_3_2_in_plan_an_input_becomes_a_plan_that_accept_takes(repo: Path, lines: tuple[str, ...]) -> None:
    model = ScriptedModel([block("a", verification="test -e a.txt"), write("a.txt"), "written", "DONE\nit is there"])

    async def script(driver: Driver) -> None:
        for line in lines[:-1]:
            await driver.command(line)
        assert (await stretch(driver, lines[-1])).status == "waiting"
        (made,) = driver.of(p.PlanMade)
        assert [task.id for task in made.tasks] == ["a"] and str(driver.axes.work_mode) == "plan"
        assert (await stretch(driver, "/accept --permission-profile normal")).done == 1
        assert str(driver.axes.work_mode) == "build" and (repo / "a.txt").exists()

    drive(repo, script, model, axes=ASSISTED)
    told = "\n".join(message.text for message in model.requests[0].messages)
    assert "do a" in told and "This turn ends with a plan as task pages" in told


def test_s3_3_2_plan_and_autonomous_by_flag_chain_into_build(repo: Path) -> None:
    axes = AxesChange(WorkMode.PLAN, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
    driver, end = run(repo, 'create the file a.md with "a"', axes=axes)
    assert (end.status, end.done) == ("done", 1) and (repo / "a.md").exists()
    assert turned(driver) == [("build", "user")]


@pytest.mark.parametrize(
    ("line", "work_mode", "reply"),
    [
        ("what is counted?", WorkMode.RESEARCH, RESEARCH),
        ("look at the parser", WorkMode.REVIEW, REVIEW),
    ],
)
def test_s3_3_4_in_review_and_research_an_input_leaves_the_report(
    repo: Path, line: str, work_mode: WorkMode, reply: str
) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn(line)
        (made,) = driver.of(p.ReportMade)
        assert (made.kind, made.subject) == (str(work_mode), line) and Path(made.path).exists()

    drive(repo, script, ScriptedModel([reply]), axes=AxesChange(work_mode, RunControl.ASSISTED))


def test_for_the_next_unit_alone_a_work_mode_does_its_job_too(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.command("/steer mode research for-next-unit")
        await driver.turn("what is counted?")
        await driver.turn("thank you")
        assert len(driver.of(p.ReportMade)) == 1 and str(driver.axes.work_mode) == "chat"

    drive(repo, script, ScriptedModel([RESEARCH, "You are welcome."]), axes=ASSISTED)


def test_a_planner_that_says_that_nothing_is_to_be_done_is_heard_and_the_dial_stays(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        end = await stretch(driver, "what does tally do?")
        assert end.status == "done" and str(driver.axes.work_mode) == "plan"
        (made,) = driver.of(p.PlanMade)
        assert made.words == "It counts words. Nothing has to be planned." and not made.tasks
        shown = "\n".join(line.text for event in driver.seen for line in described(event))
        assert shown.count("Nothing has to be planned.") == 1 and shown.count("nothing to do") == 1
        assert "nothing to add" not in shown

    model = ScriptedModel(["It counts words. Nothing has to be planned.\n\nNOTHING TO DO"])
    drive(repo, script, model, axes=AxesChange(WorkMode.PLAN, RunControl.ASSISTED))


@pytest.mark.parametrize("words", ["I could not read the project.", "It is all there already."])
@pytest.mark.parametrize(("person", "status"), [(True, "waiting"), (False, "blocked")])
def test_s21_a_planner_that_answers_in_words_alone_has_planned_nothing_and_is_never_done(
    repo: Path, person: bool, status: str, words: str
) -> None:
    async def script(driver: Driver) -> None:
        end = await stretch(driver, "add a database")
        assert end.status == status and not driver.of(p.PlanMade)
        shown = "\n".join(line.text for event in driver.seen for line in described(event))
        assert end.reason == f"the planner planned nothing: {words}" and shown.count(words) == 1
        assert (await stretch(driver, "with SQLite, in db.py")).status == "waiting" and len(driver.of(p.PlanMade)) == 1
        if person:
            await driver.until(lambda event: isinstance(event, p.QuestionAsked))

    model = ScriptedModel([words, block("a")])
    drive(repo, script, model, axes=AxesChange(WorkMode.PLAN, RunControl.ASSISTED), person=person)


@pytest.mark.parametrize(("person", "status"), [(True, "waiting"), (False, "blocked")])
def test_a_planner_that_asks_back_has_planned_nothing_and_is_answered(repo: Path, person: bool, status: str) -> None:
    async def script(driver: Driver) -> None:
        end = await stretch(driver, "add a database")
        assert end.status == status and "Which database do you want?" in end.reason and not driver.of(p.PlanMade)
        assert (await stretch(driver, "SQLite")).status == "waiting" and len(driver.of(p.PlanMade)) == 1
        if person:
            await driver.until(lambda event: isinstance(event, p.QuestionAsked))

    model = ScriptedModel(["Which database do you want?", block("a")])
    drive(repo, script, model, axes=AxesChange(WorkMode.PLAN, RunControl.ASSISTED), person=person)


# ── repair


def _bad_page(repo: Path) -> Path:
    path = repo / TODO / "broken.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("---\nid: broken\n---\nno title\n")
    return path


@pytest.mark.parametrize("lines", [("/repair --autonomous",), ("/mode repair --autonomous", "/repair")])
def test_s3_3_5_repair_goes_on_until_the_doctor_finds_nothing(repo: Path, lines: tuple[str, ...]) -> None:
    _bad_page(repo)
    read = [call("Read", file_path=f"{TODO}/broken.md")]
    edit = {"old_string": "id: broken\n", "new_string": "id: broken\ntitle: It is whole\n"}
    mend = [call("Edit", file_path=f"{TODO}/broken.md", **edit)]

    async def script(driver: Driver) -> None:
        for line in lines[:-1]:
            await driver.command(line)
        end = await driver.turn(lines[-1])
        assert end.status == "done", end.reason
        assert str(driver.axes.work_mode) == "repair"
        checks = [(str(e.state), e.reason.partition("\n")[0]) for e in driver.of(p.DeliveryChecked)]
        assert checks[-1] == ("DONE", "the doctor finds no more problems")

    model = ScriptedModel(["I had a look.", read, mend, "mended"])
    drive(repo, script, model, axes=ASSISTED)
    told = model.requests[0].messages[-1].text
    assert "TASK_MALFORMED" in told and "Fix .quintet/todo/broken.md; until then it is ignored." in told


def test_s3_3_5_repair_that_gets_nowhere_is_blocked_and_says_what_is_left(repo: Path) -> None:
    _bad_page(repo)

    async def script(driver: Driver) -> None:
        end = await driver.turn("/repair --autonomous")
        assert end.status == "blocked" and "TASK_MALFORMED" in end.reason

    drive(repo, script, ScriptedModel(["I had a look.", "I cannot."]), axes=ASSISTED)


def test_repair_mends_by_rule_first_and_needs_no_model_for_it(repo: Path) -> None:
    added(repo, creates("one"))
    (repo / TODO / "one.md").unlink()

    async def script(driver: Driver) -> None:
        end = await driver.turn("/repair")
        assert (end.status, end.answer) == ("done", "nothing is wrong")
        said = ["fixed    wrote one.md again", "health before: 1 warning; after: no problems"]
        assert [e.text for e in driver.of(p.Noticed)] == said

    drive(repo, script, rules(), axes=ASSISTED)


def test_repair_by_the_offline_rules_says_what_they_cannot_mend(repo: Path) -> None:
    _bad_page(repo)

    async def script(driver: Driver) -> None:
        end = await driver.turn("/repair")
        assert end.status == "blocked" and "TASK_MALFORMED" in end.reason
        assert end.reason.startswith("the offline rules cannot fix anything else. The doctor finds 1 problem:")
        assert ".. " not in end.reason

    drive(repo, script, rules(), axes=ASSISTED)


def test_a_request_in_repair_is_done_beside_what_the_doctor_finds(repo: Path) -> None:
    _bad_page(repo)

    async def script(driver: Driver) -> None:
        assert (await driver.turn("write a.txt")).status == "done"

    model = ScriptedModel([write("a.txt"), "written"])
    drive(repo, script, model, axes=AxesChange(WorkMode.REPAIR, RunControl.ASSISTED))
    told = model.requests[0].messages[-1].text
    assert told.startswith("write a.txt") and "TASK_MALFORMED" in told


# ── what waits goes on


@pytest.mark.parametrize(("line", "done"), [("/next", 1), ("/autonomous", 2), ("/resume", 1)])
def test_s3_4_1_open_tasks_go_on_in_build(repo: Path, line: str, done: int) -> None:
    added(repo, creates("one"), creates("two"))

    async def script(driver: Driver) -> None:
        assert (await stretch(driver, line)).done == done

    drive(repo, script, rules(), axes=ALONE)


@pytest.mark.parametrize("line", ["/next", "/autonomous"])
def test_open_tasks_are_not_begun_in_another_work_mode_but_named(repo: Path, line: str) -> None:
    added(repo, creates("one"))

    async def script(driver: Driver) -> None:
        ran = await driver.command(line)
        assert ran.ok and "1 open task in this project; /implement builds it" in ran.text
        assert not driver.of(p.CycleBegan)

    drive(repo, script, rules(), axes=ASSISTED)


@pytest.mark.parametrize(("line", "done"), [("/autonomous", 2), ("/next", 2), ("/resume", 2)])
def test_s3_4_1_a_cycle_that_paused_after_a_unit_goes_on(repo: Path, line: str, done: int) -> None:
    async def script(driver: Driver) -> None:
        await stretch(driver, f"/plan {TWO}")
        assert (await stretch(driver, "/accept --permission-profile normal")).status == "paused"
        assert (await stretch(driver, line)).done == done

    drive(repo, script, rules(), axes=ASSISTED)


def test_s3_4_1_autonomous_takes_the_plan_that_waits(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        assert (await stretch(driver, f"/plan {TWO}")).status == "waiting"
        assert (await stretch(driver, "/autonomous")).done == 2

    drive(repo, script, rules(), axes=ASSISTED)


def test_a_unit_that_was_refused_is_asked_again_when_its_cycle_goes_on(repo: Path) -> None:
    push = [call("bash", command="git push")]
    first = [block("a", verification="true"), push, *["I could not.", "NEEDS_WORK\nno"] * 2]
    model = ScriptedModel([*first, write("a.txt"), "written instead", "DONE\nit is there"])

    async def script(driver: Driver) -> None:
        assert (await stretch(driver, "/plan push it")).status == "blocked"
        assert statuses(repo) == {"a": "blocked"}
        assert (await stretch(driver, "/resume")).status == "done"
        assert [e.reason for e in driver.of(p.TaskMoved) if str(e.after) == "todo"] == ["asked again"]

    drive(repo, script, model)
    assert statuses(repo) == {"a": "done"}


def test_restricted_is_looked_at_before_each_unit_and_costs_no_retry(repo: Path) -> None:
    added(repo, creates("one"), creates("two"))

    async def script(driver: Driver) -> None:
        await driver.session.say("/implement")
        await driver.until(lambda e: isinstance(e, p.CycleMoved) and e.phase == "running-execution")
        await driver.command("/steer permission-profile restricted after-current-unit")
        end = await until_stopped(driver)
        assert end.status == "blocked" and "profile restricted" in end.reason
        assert sorted(statuses(repo).values()) == ["done", "todo"] and len(units(driver)) == 1
        await driver.command("/permission-profile normal")
        assert (await stretch(driver, "/resume")).done == 2

    drive(repo, script, rules(), axes=NORMAL)


def test_a_unit_that_a_dial_kept_from_its_work_is_blocked_and_its_retries_stay(repo: Path) -> None:
    """The profile is turned in the middle of a unit."""
    added(repo, page("one", body="Do it.\n"))
    model: Any = ScriptedModel([[call("wait", seconds=2)], write("a.txt"), "I may not write.", "NEEDS_WORK\nno file"])

    async def script(driver: Driver) -> None:
        await driver.session.say("/implement")
        await driver.until(lambda e: isinstance(e, p.ToolStarted))
        await driver.command("/steer permission-profile restricted now")
        end = await until_stopped(driver)
        assert end.status == "blocked", end
        (refused,) = [e for e in driver.of(p.TaskMoved) if str(e.after) == "blocked"]
        assert refused.reason.startswith("not allowed: Write needs profile normal")

    drive(repo, script, model, axes=NORMAL)
    assert statuses(repo) == {"one": "blocked"}


# ── model modes on the way


@pytest.mark.parametrize(("choice", "after"), [("a", "smart"), ("s", "smart"), ("k", "deep")])
def test_s3_3_2_accepting_a_plan_offers_model_mode_smart(repo: Path, choice: str, after: str) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say(f"/plan {TWO}")
        asked = await driver.until_type(p.QuestionAsked)
        shown = {one.key: one.label for one in asked.choices}
        assert shown["a"] == "autonomous, profile normal (as now), model mode smart"
        assert shown["k"] == "autonomous, profile normal (as now), model mode deep (as now)"
        await driver.session.submit(p.Answer(question=asked.question, choice=choice))
        await until_stopped(driver)
        assert str(driver.axes.model_mode) == after

    axes = AxesChange(WorkMode.PLAN, RunControl.MANUAL, PermissionProfile.NORMAL, ModelMode.DEEP)
    drive(repo, script, rules(), axes=axes, person=True)


def test_s3_3_4_go_deep_is_asked_when_review_lands_later(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("wait a little")
        await driver.until(lambda e: isinstance(e, p.ToolStarted))
        await driver.command("/steer mode review after-current-unit")
        assert not driver.of(p.QuestionAsked)
        await driver.until_type(p.TurnFinished)
        await driver.answer("d")
        await driver.until(lambda e: isinstance(e, p.DialsTurned) and str(e.after.model_mode) == "deep")
        assert str(driver.axes.work_mode) == "review"

    model = ScriptedModel([[call("wait", seconds=1)], "waited"])
    drive(repo, script, model, axes=ASSISTED, person=True)


@pytest.mark.parametrize(
    "line", ["/mode build --autonomous --control manual", "/mode build --mode plan", "/accept --mode plan"]
)
def test_flags_that_contradict_each_other_are_an_error(repo: Path, line: str) -> None:
    async def script(driver: Driver) -> None:
        if line.startswith("/accept"):
            await stretch(driver, f"/plan {TWO}")
        before = driver.axes
        ran = await driver.command(line)
        assert not ran.ok and "contradict each other" in ran.text and driver.axes == before

    drive(repo, script, rules(), axes=ASSISTED)


# ── what is planned


def test_plan_reads_a_file_in_quotes_and_says_when_there_is_none(repo: Path) -> None:
    (repo / "my file.md").write_text(TWO)

    async def script(driver: Driver) -> None:
        missing = await driver.command("/plan nosuch.md")
        assert not missing.ok and "nosuch.md: no such file" in missing.text
        assert str(driver.axes.work_mode) == "chat"
        await stretch(driver, "/plan 'my file.md'")
        (began,) = driver.of(p.CycleBegan)
        assert (began.source, began.text) == ("my file.md", TWO)

    drive(repo, script, rules(), axes=ASSISTED)


def test_restricted_for_the_next_unit_alone_is_looked_at_before_that_unit_begins(repo: Path) -> None:
    added(repo, creates("one"))

    async def script(driver: Driver) -> None:
        await driver.command("/steer permission-profile restricted for-next-unit")
        end = await stretch(driver, "/implement")
        assert end.status == "blocked" and "profile restricted" in end.reason and units(driver) == []

    drive(repo, script, rules(), axes=NORMAL)


def test_s3_3_5_no_unit_begins_once_quintets_own_files_have_changed(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upgrade in the middle of a run: what is loaded later would be of another version."""
    added(repo, creates("one"))
    monkeypatch.setattr(package, "STARTED", 0.0)
    _, end = run(repo, "/implement", settings={"repair.auto_transition": "auto"})
    assert end.status == "blocked" and "Quintet's own files have changed" in end.reason
    assert statuses(repo) == {"one": "todo"}
