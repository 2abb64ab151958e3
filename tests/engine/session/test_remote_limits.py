"""What comes from elsewhere, as the owner takes it: the limits hold there, whatever a channel lets through."""

from pathlib import Path

import pytest

from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.permission import remote_limits
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.replaying import loaded, recordings, replay

NORMAL = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
ACTOR = "remote:telegram/42"
ASSISTED = AxesChange(WorkMode.PLAN, RunControl.ASSISTED, PermissionProfile.NORMAL)
HIGHEST = PermissionProfile.NORMAL
MAKE = call("bash", command="make a")


async def from_elsewhere(driver: Driver, body: p.Submission) -> None:
    await driver.session.submit(body, actor=ACTOR, highest=HIGHEST)


@pytest.mark.parametrize("choice", ["s", "a", "t"])
def test_an_answer_that_makes_a_rule_or_turns_too_high_is_refused_and_the_question_stays(
    repo: Path, tmp_path: Path, choice: str
) -> None:
    (repo / "Makefile").write_text("a:\n\ttouch a\n")

    async def script(driver: Driver) -> None:
        driver.seq = driver.session.since
        await driver.session.say("go")
        asked = await driver.until_type(p.QuestionAsked)
        assert choice in {one.key for one in asked.choices}
        await from_elsewhere(driver, p.Answer(question=asked.question, choice=choice))
        refused = await driver.until_type(p.CommandRan)
        assert not refused.ok and refused.actor == ACTOR and asked.question in driver.session.state.questions
        await from_elsewhere(driver, p.Answer(question=asked.question, choice="y"))
        answered = await driver.until_type(p.QuestionAnswered)
        assert (answered.by, answered.closed) == (ACTOR, False)
        await driver.until_type(p.TurnFinished)

    driver = drive(repo, script, ScriptedModel([[MAKE], "done"]), person=True, axes=NORMAL)
    assert not driver.of(p.RuleMade) and not driver.of(p.DialsTurned) and (repo / "a").exists()
    assert all(replay(loaded(path)).equal for path in recordings(tmp_path / "state"))


def test_a_plan_is_not_accepted_at_a_higher_profile_from_elsewhere(repo: Path) -> None:
    plan = "~~~~task\n---\nid: a\ntitle: Do a\n---\nWrite it.\n~~~~"

    async def script(driver: Driver) -> None:
        driver.seq = driver.session.since
        await driver.session.say("/plan one thing")
        asked = await driver.until_type(p.QuestionAsked)
        trusted = next(one.key for one in asked.choices if "profile trusted" in one.label)
        await from_elsewhere(driver, p.Answer(question=asked.question, choice=trusted))
        refused = await driver.until(lambda event: isinstance(event, p.CommandRan) and event.line == "answer")
        assert isinstance(refused, p.CommandRan) and "remote.max_profile" in refused.text
        assert driver.session.state.questions and driver.axes.work_mode is WorkMode.PLAN
        await from_elsewhere(driver, p.Answer(question=asked.question, choice="n"))
        await driver.until_type(p.QuestionAnswered)

    driver = drive(repo, script, ScriptedModel([plan]), person=True, axes=ASSISTED)
    assert not [one for one in driver.of(p.DialsTurned) if one.after.permission_profile is PermissionProfile.TRUSTED]


def test_a_rule_is_not_revoked_from_elsewhere(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        driver.seq = driver.session.since
        await from_elsewhere(driver, p.Say(text="/rules revoke rule-1"))
        ran = await driver.until_type(p.CommandRan)
        assert not ran.ok and ran.text.startswith("rules can be added and revoked only at the computer")
        await from_elsewhere(driver, p.Say(text="/rules"))
        assert (await driver.until_type(p.CommandRan)).ok

    drive(repo, script, axes=NORMAL)


def test_no_file_is_named_from_elsewhere(repo: Path, tmp_path: Path) -> None:
    async def script(driver: Driver) -> None:
        driver.seq = driver.session.since
        await from_elsewhere(driver, p.Say(text=f"/export {tmp_path / 'planted'}"))
        ran = await driver.until_type(p.CommandRan)
        assert not ran.ok and "only at the computer" in ran.text
        await from_elsewhere(driver, p.Say(text="/export"))
        assert (await driver.until_type(p.CommandRan)).ok

    drive(repo, script, axes=NORMAL)
    assert not (tmp_path / "planted").exists()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("/executor acp:sh -c 'touch planted'", remote_limits.NO_PROGRAM),
        ('/verifier "acp:sh -c ls"', remote_limits.NO_PROGRAM),
        ("/schedule add in 1m -- /repair it --autonomous --permission-profile trusted", remote_limits.NO_LATER_COMMAND),
        ("/schedule add in 1m -- '  /implement' --permission-profile trusted", remote_limits.NO_LATER_COMMAND),
    ],
)
@pytest.mark.everything
def test_no_program_and_no_later_command_is_given_from_elsewhere(repo: Path, line: str, why: str) -> None:
    async def script(driver: Driver) -> None:
        driver.seq = driver.session.since
        await from_elsewhere(driver, p.Say(text=line))
        ran = await driver.until_type(p.CommandRan)
        assert not ran.ok and ran.text == why
        await from_elsewhere(driver, p.Say(text="/schedule add tomorrow 07:30 -- look at /etc/hosts"))
        assert (await driver.until_type(p.CommandRan)).ok
        await from_elsewhere(driver, p.Say(text="/executor native"))
        assert (await driver.until_type(p.CommandRan)).ok

    driver = drive(repo, script, axes=NORMAL)
    assert [one.name for one in driver.of(p.ExecutorChosen)] == ["native"]


def test_a_turned_dial_and_one_that_waits_name_who_turned_it(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        driver.seq = driver.session.since
        await from_elsewhere(driver, p.Say(text="/mode review"))
        assert (await driver.until_type(p.DialsTurned)).actor == ACTOR
        await from_elsewhere(driver, p.Say(text="/steer mode build for-next-unit"))
        assert (await driver.until_type(p.TransitionPending)).actor == ACTOR
        await driver.session.say("/mode chat")
        assert (await driver.until_type(p.DialsTurned)).actor == "user"
        assert "by remote:telegram/42" in (await driver.command("/session-report")).text

    drive(repo, script, axes=NORMAL)


def test_an_input_from_elsewhere_is_accepted_once(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        driver.seq = driver.session.since
        for _ in range(3):
            await driver.session.submit(p.Say(text="once"), id="remote-1", actor=ACTOR, highest=HIGHEST)
        await driver.until_type(p.TurnFinished)
        await driver.turn("behind it")

    driver = drive(repo, script, ScriptedModel(["one", "two"]), axes=NORMAL)
    assert [one.text for one in driver.of(p.InputReceived)] == ["once", "behind it"]
    assert driver.of(p.InputReceived)[0].actor == ACTOR
