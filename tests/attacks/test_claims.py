"""An AI CLI that only says so: whoever verifies, nothing is done on a claim alone, and that is said."""

from pathlib import Path
from typing import Any

import pytest

from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe_cycle import words
from quintet.domain.tasks.executors import CallBegan, CallEnded, Ended, ExecutorMessage, ExecutorPart
from quintet.testing import FrozenClock, ScriptedExecutors
from tests.engine.cycles import rules, statuses, stretch
from tests.engine.driving import Driver, drive

BWRAP = pytest.mark.system("bwrap")
CODEX = {"cycle.executor": "codex"}
BOTH = {"cycle.executor": "codex", "cycle.verifier": "gemini"}
TWO = 'create the file one.txt with "1" and then create the file two.txt with "2"'
CLAIM: list[ExecutorPart] = [ExecutorMessage("I wrote it."), Ended(True, "done: the file is there")]


def cycle(root: Path, text: str, scripts: list[Any], settings: Any, **options: Any) -> tuple[Driver, p.CycleStopped]:
    ends: list[p.CycleStopped] = []

    async def script(driver: Driver) -> None:
        ends.append(await stretch(driver, f"/plan {text}"))

    executors = ScriptedExecutors(scripts)
    driver = drive(root, script, rules(), executors=executors, settings=settings, clock=FrozenClock(), **options)
    return driver, ends[0]


def writes(root: Path, name: str) -> Any:
    def work(_: Any) -> list[ExecutorPart]:
        (root / name).write_text("x\n")
        return [Ended(True, "written")]

    return work


@BWRAP
def test_a_cli_that_only_says_done_is_not_verified_by_the_offline_rules(repo: Path) -> None:
    driver, end = cycle(repo, TWO, [CLAIM, CLAIM], CODEX)
    assert (end.status, end.done, end.left) == ("blocked", 0, 2)
    assert "not verified" in end.reason and "nobody can approve" in end.reason
    told = driver.of(p.TaskVerified)
    assert told and not any(one.passed for one in told) and all(one.unverified for one in told)
    assert "done" not in statuses(repo).values()
    shown = "\n".join(text for event in told for text, _ in words(event))
    assert shown.startswith("not verified create the file one.txt")


@BWRAP
@pytest.mark.parametrize(
    ("made", "done"),
    [("one.txt", 1), ("other.txt", 0), ("one.txt.bak", 0), ("none.txt", 0), ("sub-one.txt", 0)],
)
def test_the_very_files_that_a_task_names_have_to_change(repo: Path, made: str, done: int) -> None:
    _, end = cycle(repo, 'create the file one.txt with "1"', [writes(repo, made)], CODEX)
    assert end.done == done and (end.status == "done") is bool(done)


@BWRAP
def test_a_command_of_the_tasks_own_shows_it(repo: Path) -> None:
    line = 'create the file one.txt with "1", verified by `test -f one.txt`'
    _, end = cycle(repo, line, [writes(repo, "one.txt")], CODEX)
    assert (end.status, end.done) == ("done", 1)
    (repo / "one.txt").unlink()
    driver, end = cycle(repo, line, [CLAIM] * 4, CODEX)
    assert end.status == "failed" and not any(one.passed for one in driver.of(p.TaskVerified))


@BWRAP
def test_two_claims_are_a_claim(repo: Path) -> None:
    one = 'create the file one.txt with "1"'
    driver, end = cycle(repo, one, [CLAIM, [Ended(True, "DONE\nI believe it")]], BOTH)
    assert (end.status, end.done) == ("blocked", 0)
    assert [v.unverified for v in driver.of(p.TaskVerified)] == [True]


@BWRAP
def test_a_verifier_that_looked_is_one(repo: Path) -> None:
    looks = [CallBegan("1", "shell", "ls"), CallEnded("1", True, "a"), Ended(True, "DONE\nit was there before")]
    _, end = cycle(repo, 'create the file one.txt with "1"', [CLAIM, looks], BOTH)
    assert (end.status, end.done) == ("done", 1)


@BWRAP
@pytest.mark.parametrize(("answer", "status"), [("y", "done"), ("n", "retrying")])
def test_a_person_is_asked_with_the_reason(repo: Path, answer: str, status: str) -> None:
    asked: list[p.QuestionAsked] = []

    async def script(driver: Driver) -> None:
        await driver.session.say('/plan create the file one.txt with "1"')
        asked.append(await driver.until_type(p.QuestionAsked))
        await driver.session.submit(p.Answer(question=asked[0].question, choice=answer, note=""))
        await driver.until(lambda e: isinstance(e, p.TaskMoved) and str(e.after) == status)

    executors = ScriptedExecutors([CLAIM, CLAIM])
    drive(repo, script, rules(), executors=executors, settings=CODEX, clock=FrozenClock(), person=True)
    assert asked[0].text.startswith("Is ") and "not verified: nothing changed" in asked[0].detail[0]


@BWRAP
def test_the_rules_own_work_is_verified_as_before(repo: Path) -> None:
    _, end = cycle(repo, TWO, [], {})
    assert (end.status, end.done) == ("done", 2)
