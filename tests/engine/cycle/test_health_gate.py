"""The health gate before a unit, with each cause made for real, under each policy."""

import asyncio
from pathlib import Path

import pytest

from quintet.domain.journal import protocol as p
from quintet.domain.tasks.health_gate import RepairCause
from tests.app.health.sicknesses import FIXABLE, STAYING
from tests.engine.cycles import rules, run, stretch, turned, units, until_stopped
from tests.engine.driving import Driver, drive
from tests.engine.task_places import added, page

POLICIES = ("auto", "ask", "log-only")
MAKE = {sick.code: sick.make for sick in (*FIXABLE, *STAYING)}
CAUSES = {
    "SETTINGS_BROKEN": RepairCause.GATE,
    "GIT_BROKEN": RepairCause.UNSAFE,
    "TASK_CYCLE": RepairCause.CORRUPT,
}  # of drift: tests/app/health/test_installation.py, with a copy of Quintet whose files change
# None of these keeps a unit from being done well.
OTHERS = (
    "GIT_LOCKED",
    "OWN_TOOL_UNUSABLE",
    "TASK_MALFORMED",
    "INPUTS_DAMAGED",
    "TEMPORARY_LEFT",
    "RULE_WITHOUT_EFFECT",
)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("code", CAUSES)
def test_s3_3_5_no_unit_is_dispatched_for_each_cause_under_each_policy(repo: Path, code: str, policy: str) -> None:
    added(repo, page("safe", body='create the file safe.txt with "x"\n'))

    async def script(driver: Driver) -> None:
        await asyncio.to_thread(MAKE[code], repo)
        end = await stretch(driver, "/implement")
        assert end.status == "blocked" and end.reason.startswith(f"no task starts: {code}: ")
        assert units(driver) == [] and not (repo / "safe.txt").exists()
        repairs = [event for event in driver.of(p.DialsTurned) if str(event.after.work_mode) == "repair"]
        assert [str(event.actor) for event in repairs] == ["rule"] * (policy == "auto")
        reasons = [event.reason for event in repairs]
        assert all(reason.startswith(f"before a task: {CAUSES[code]}: ") for reason in reasons)
        said = [event.code for event in driver.of(p.Noticed) if event.level == "error"]
        assert said == ([code] if policy == "log-only" else [])

    drive(repo, script, rules(), settings={"repair.auto_transition": policy})


@pytest.mark.parametrize("choice", ["y", "n"])
def test_s3_3_5_a_person_is_asked_and_what_cannot_be_fixed_stops_the_run_all_the_same(repo: Path, choice: str) -> None:
    added(repo, page("safe", body='create the file safe.txt with "x"\n'))
    MAKE["TASK_CYCLE"](repo)

    async def script(driver: Driver) -> None:
        await driver.session.say("/implement")
        await driver.answer(choice)
        assert (await until_stopped(driver)).status == "blocked"
        assert [who for work_mode, who in turned(driver) if work_mode == "repair"] == ["user"] * (choice == "y")

    drive(repo, script, rules(), person=True)


@pytest.mark.parametrize("policy", POLICIES)
def test_s3_3_5_what_is_no_danger_is_said_and_lets_every_unit_through(repo: Path, policy: str) -> None:
    added(repo, page("safe", body='create the file safe.txt with "x"\n'))
    for code in OTHERS:
        MAKE[code](repo)
    driver, end = run(repo, "/implement", settings={"repair.auto_transition": policy})
    assert (end.status, end.done) == ("done", 1) and (repo / "safe.txt").exists()
    assert "repair" not in [work_mode for work_mode, _ in turned(driver)]
    assert set(OTHERS) <= {event.code for event in driver.of(p.Noticed) if event.level == "warning"}
