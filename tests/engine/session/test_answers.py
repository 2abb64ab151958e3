"""The answers to an approval in a session: its own rules, accepted edits, dials that the person turns."""

import json
from pathlib import Path
from typing import Any

import pytest

from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.dials.transitions import Actor
from quintet.domain.journal import protocol as p
from quintet.domain.permission.gate import Verdict
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.replaying import loaded, recordings, replay

CHAT = AxesChange(WorkMode.CHAT, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
NORMAL = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
TEST = "python3 -m unittest"


def write(name: str) -> Any:
    return call("Write", file_path=name, content="x\n")


def turn(root: Path, steps: list[Any], answers: str, dials: AxesChange | None, **options: Any) -> Driver:
    async def script(driver: Driver) -> None:
        driver.seq = driver.session.since
        await driver.session.say("go")
        for choice in answers:
            await driver.answer(choice)
        await driver.until_type(p.TurnFinished)

    model = ScriptedModel([*([step] for step in steps), "done"])
    return drive(root, script, model, person=True, axes=dials, **options)


def started(driver: Driver) -> list[str]:
    return [json.loads(event.arguments).get("command", event.tool) for event in driver.of(p.ToolStarted)]


def test_for_this_session_holds_in_it_and_after_a_resume(repo: Path, tmp_path: Path) -> None:
    line = call("bash", command=TEST)
    first = turn(repo, [line, line], "s", NORMAL)
    (made,) = (event.rule for event in first.of(p.RuleMade))
    assert made.session == first.session.id and started(first) == [TEST, TEST]
    assert first.of(p.CallDecided)[1].rule == made.id
    again = turn(repo, [line], "", None, resume=first.session.id)
    assert started(again) == [TEST] and again.session.state.rules == (made,)
    assert turn(repo, [line], "n", NORMAL).session.state.rules == ()
    assert all(replay(loaded(path)).equal for path in recordings(tmp_path / "state"))


def test_a_rule_of_the_session_is_revoked_and_the_others_hold(repo: Path, tmp_path: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        await driver.answer("x")
        await driver.until_type(p.TurnFinished)
        own, other = driver.session.state.rules
        assert own.id in (await driver.command("/rules")).text
        assert not (await driver.command("/rules revoke nothing")).ok
        assert (await driver.command(f"/rules revoke {own.id}")).text == f"revoked {own.id}: allow Write (edit)"
        assert driver.session.state.rules == (other,)
        await driver.session.say("again")
        await driver.answer("n")
        await driver.until_type(p.TurnFinished)

    driver = drive(repo, script, ScriptedModel([[write("a")], "ok", [write("b")], "ok"]), person=True, axes=CHAT)
    assert (repo / "a").exists() and not (repo / "b").exists()
    kept = turn(repo, [], "", None, resume=driver.session.id).session.state.rules
    assert [rule.tool for rule in kept] == ["Edit"]
    assert all(replay(loaded(path)).equal for path in recordings(tmp_path / "state"))


def test_accepted_edits_go_in_chat_and_nothing_else_does(repo: Path, tmp_path: Path) -> None:
    edit = call("Edit", file_path="a", old_string="x", new_string="y")
    driver = turn(repo, [write("a"), edit, call("bash", command="touch b")], "xn", CHAT)
    asked = driver.of(p.QuestionAsked)
    assert [choice.key for choice in asked[0].choices] == ["y", "x", "b", "n", "e"]
    assert asked[0].text == "Write a?" and asked[0].detail[0].startswith(
        "Reason     in chat every change needs approval"
    )
    assert "Session    “accept edits” allows Edit and Write in this project only" in asked[0].detail
    assert (repo / "a").read_text() == "y\n" and not (repo / "b").exists()
    assert [event.rule.tool for event in driver.of(p.RuleMade)] == ["Write", "Edit"]
    assert all(replay(loaded(path)).equal for path in recordings(tmp_path / "state"))


@pytest.mark.parametrize(
    ("step", "dials", "choice", "after"),
    [
        (write("a"), CHAT, "b", (WorkMode.BUILD, PermissionProfile.NORMAL)),
        (call("bash", command="make a"), NORMAL, "t", (WorkMode.BUILD, PermissionProfile.TRUSTED)),
    ],
    ids=["build", "profile"],
)
def test_a_dial_is_turned_by_the_person_s_answer(
    repo: Path, tmp_path: Path, step: Any, dials: AxesChange, choice: str, after: Any
) -> None:
    (repo / "Makefile").write_text("a:\n\ttouch a\n")
    driver = turn(repo, [step], choice, dials)
    (turned,) = driver.of(p.DialsTurned)
    assert turned.actor == Actor.USER and turned.reason.startswith("answered q-")
    assert (driver.axes.work_mode, driver.axes.permission_profile) == after and (repo / "a").exists()
    assert [event.verdict for event in driver.of(p.CallDecided)] == [Verdict.ASK, Verdict.ALLOW]
    assert len(driver.of(p.QuestionAsked)) == 1
    assert all(replay(loaded(path)).equal for path in recordings(tmp_path / "state"))


def test_a_dial_that_is_not_offered_is_not_turned(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        asked = await driver.until_type(p.QuestionAsked)
        for choice in "btxsap":
            await driver.session.submit(p.Answer(question=asked.question, choice=choice))
            assert not (await driver.until_type(p.CommandRan)).ok
        await driver.session.submit(p.Answer(question=asked.question, choice="n"))
        await driver.until_type(p.TurnFinished)

    driver = drive(repo, script, ScriptedModel([[call("bash", command="git push")], "ok"]), person=True, axes=NORMAL)
    assert driver.of(p.DialsTurned) == [] and driver.of(p.RuleMade) == []


def test_no_with_feedback_is_a_no_that_the_model_is_told(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        await driver.answer("e", "use b instead")
        await driver.until_type(p.TurnFinished)

    driver = drive(repo, script, ScriptedModel([[write("a")], "ok"]), person=True, axes=CHAT)
    assert [(event.choice, event.note) for event in driver.of(p.QuestionAnswered)] == [("n", "use b instead")]
    assert driver.of(p.ToolFinished)[0].content == "not run: the user said no: use b instead"


def test_a_prefix_is_kept_and_covers_other_arguments(repo: Path) -> None:
    (repo / "Makefile").write_text("test:\n\ttouch tested\n")
    lines = [call("bash", command=line) for line in ("make test", "make test -k", "make test all")]
    driver = turn(repo, lines, "pn", NORMAL)
    (made,) = (event.rule for event in driver.of(p.RuleMade))
    assert made.words == ("make", "test") and made.session == "" and started(driver) == ["make test", "make test -k"]
    label = next(choice.label for choice in driver.of(p.QuestionAsked)[0].choices if choice.key == "p")
    assert label == "always in this project: make test …"


def test_what_would_be_deleted_is_listed(repo: Path) -> None:
    driver = turn(repo, [call("fs_delete", path="tally/count.py")], "n", CHAT)
    (asked,) = driver.of(p.QuestionAsked)
    assert asked.text == "fs_delete tally/count.py?" and "Deletes    tally/count.py" in asked.detail
