"""With nobody attached, a call that needs approval is skipped, the model is told, and the run goes on."""

from pathlib import Path
from typing import Any

import pytest

from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.journal.session_summary import summarise
from quintet.domain.turn.skipped import IN_ALL, SAME_KIND
from quintet.testing import ScriptedModel, call
from tests.engine.cycle.test_cycle import block
from tests.engine.driving import Driver, drive

ASSISTED = AxesChange(WorkMode.BUILD, RunControl.ASSISTED, PermissionProfile.TRUSTED)
AUTONOMOUS = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)
CHAT = AxesChange(WorkMode.CHAT, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
PUSH = call("bash", command="git push --force")
FETCH = call("bash", command="curl https://example.org/x")
AWAY = call("bash", command="touch /opt/made-by-quintet")
WRITE = call("Write", file_path="new.txt", content="new\n")
LOST = ["I could not.", "NEEDS_WORK\nit is not pushed"]


def turned(root: Path, replies: list[Any], text: str = "make new.txt", **options: Any) -> tuple[Driver, ScriptedModel]:
    model = ScriptedModel(replies)
    options.setdefault("axes", AUTONOMOUS)

    async def script(driver: Driver) -> None:
        await driver.turn(text)

    return drive(root, script, model, deterministic=True, **options), model


def ending(driver: Driver) -> p.TurnFinished:
    return driver.of(p.TurnFinished)[-1]


def stages(driver: Driver) -> list[str]:
    return [event.stage for event in driver.of(p.ModelRequested)]


@pytest.mark.parametrize("axes", [ASSISTED, AUTONOMOUS], ids=["assisted", "autonomous"])
def test_a1_a_model_that_is_refused_three_things_and_finds_another_way_delivers(repo: Path, axes: AxesChange) -> None:
    replies = [[PUSH], [FETCH], [AWAY], [WRITE], "new.txt is there.", "DONE\nnew.txt is written"]
    driver, model = turned(repo, replies, axes=axes)
    assert (ending(driver).status, ending(driver).delivery, ending(driver).reason) == ("done", "DONE", "")
    assert (repo / "new.txt").read_text() == "new\n"
    assert driver.session.state.turns.skipped == summarise(driver.session.state).skipped == 3
    assert [event.status for event in driver.of(p.ToolFinished)] == ["denied", "denied", "denied", "ok"]
    for request, line in zip(model.requests[1:4], ("git push --force", "curl", "touch /opt"), strict=True):
        told = request.messages[-1].text
        assert told.startswith("not run: ") and line in told and "Nobody can approve" in told
    assert stages(driver)[-1] == "delivery_check", "a skip forces it, though the setting is off and a file was written"
    asked = model.requests[-1].messages[-1].text
    assert "- bash git push --force: not run, because nobody could approve it" in asked
    assert "- Write new.txt: ok" in asked


def test_a_turn_without_a_skipped_call_is_not_checked_for_it(repo: Path) -> None:
    driver, _ = turned(repo, [[WRITE], "new.txt is there."])
    assert stages(driver) == ["act", "tool_followup"] and ending(driver).delivery == ""


@pytest.mark.parametrize("axes", [ASSISTED, AUTONOMOUS, CHAT], ids=["assisted", "autonomous", "chat"])
def test_a1_work_that_cannot_do_without_the_call_ends_blocked_and_says_which(repo: Path, axes: AxesChange) -> None:
    driver, _ = turned(repo, [[PUSH], *LOST, *LOST], "push it", axes=axes)
    end = ending(driver)
    assert (end.status, end.delivery, end.answer) == ("blocked", "NEEDS_WORK", "I could not.")
    assert "1 call skipped" in end.reason and "git push --force: publishing always needs approval" in end.reason


def test_the_flag_that_would_have_let_it_run_is_named(repo: Path) -> None:
    normal = AxesChange(WorkMode.BUILD, RunControl.ASSISTED, PermissionProfile.NORMAL)
    tests = call("bash", command="python3 -m pytest")
    driver, _ = turned(repo, [[tests], *LOST], "run the tests", axes=normal)
    assert ending(driver).reason.endswith(". To allow python3 -m pytest: --permission-profile trusted")


def test_a_model_that_completes_as_blocked_after_a_skip_is_held_up_by_it(repo: Path) -> None:
    replies = [[PUSH], [call("complete", final_answer="It has to be pushed by you.", status="blocked")]]
    driver, _ = turned(repo, replies, "push it")
    assert (ending(driver).status, ending(driver).answer) == ("blocked", "It has to be pushed by you.")
    assert "git push --force" in ending(driver).reason


def test_a_change_that_was_skipped_in_chat_is_not_done_on_the_models_word(repo: Path) -> None:
    replies = [
        [WRITE],
        "It is there.",
        "DONE\nwritten",
        "It is there.",
        "DONE\nwritten",
        "It is there.",
        "DONE\nwritten",
    ]
    driver, _ = turned(repo, replies, axes=CHAT)
    assert (ending(driver).status, ending(driver).delivery) == ("blocked", "NEEDS_WORK")


def test_a_check_that_failed_after_the_last_change_is_not_the_skipped_calls_fault(repo: Path) -> None:
    fails = call("bash", command="python3 -m unittest nothing_here")
    driver, _ = turned(repo, [[PUSH], [WRITE], [fails], "All pass."], axes=ASSISTED)
    assert (ending(driver).status, ending(driver).delivery) == ("done", "NEEDS_WORK")


# ── a model that keeps trying


@pytest.mark.parametrize("together", [True, False], ids=["in one step", "one by one"])
def test_a1_fifty_probing_lines_end_blocked_at_the_limit(repo: Path, together: bool) -> None:
    lines = [call("bash", command=f"git push origin branch-{number}") for number in range(50)]
    driver, _ = turned(repo, [lines] if together else [[line] for line in lines])
    end = ending(driver)
    assert end.status == "blocked" and end.reason.startswith(f"{SAME_KIND} calls of the same kind skipped")
    assert all(f"git push origin branch-{number}" in end.reason for number in range(SAME_KIND))
    assert len(driver.of(p.CallDecided)) == SAME_KIND and driver.of(p.ToolStarted) == []


def test_a1_probing_in_many_ways_ends_blocked_at_ten(repo: Path) -> None:
    ways = [PUSH, FETCH, AWAY, call("Read", file_path="/srv/x"), call("bash", command="cat /srv/x")]
    driver, _ = turned(repo, [[way] for way in ways * 10])
    assert ending(driver).status == "blocked" and ending(driver).reason.startswith(f"{IN_ALL} calls skipped")
    assert len(driver.of(p.CallDecided)) == IN_ALL and driver.of(p.ToolStarted) == []


# ── who is there, and afterwards


def test_autonomous_with_a_person_attached_asks_them(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("push it")
        await driver.answer("n")
        await driver.until_type(p.TurnFinished)

    driver = drive(repo, script, ScriptedModel([[PUSH], "Not pushed."]), axes=AUTONOMOUS, person=True)
    assert len(driver.of(p.QuestionAsked)) == 1 and driver.session.state.turns.skipped == 0
    assert driver.of(p.DeliveryChecked) == []


def test_a_session_goes_on_after_a_blocked_turn_and_counts_anew(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        assert (await driver.turn("push")).status == "blocked"
        assert driver.session.state.turns.skipped == SAME_KIND
        assert (await driver.turn("again")).status == "done"
        assert driver.session.state.turns.skipped == 1

    model = ScriptedModel([[PUSH, PUSH, PUSH], [PUSH], [WRITE], "Written instead.", "DONE\nnew.txt is there"])
    drive(repo, script, model, axes=AUTONOMOUS)
    called = {one.id for message in model.requests[-1].messages for one in message.calls}
    results = {message.call_id for message in model.requests[-1].messages if message.call_id}
    assert called == results, "every call that was made has a result"


def test_the_outcome_of_an_input_lists_its_own_skipped_calls(repo: Path) -> None:
    found = []

    async def script(driver: Driver) -> None:
        for text in ("push", "write"):
            followed = driver.session.follow(await driver.session.say(text))
            found.append((await followed.end()).skipped)

    drive(repo, script, ScriptedModel([[PUSH], [WRITE], "w", "DONE\nw", [WRITE], "w"]), axes=AUTONOMOUS)
    assert [[call.line for call in skipped] for skipped in found] == [["git push --force"], []]
    (one,) = found[0]
    assert (one.tool, one.reason) == ("bash", "publishing always needs approval (git push: publishes with --force)")
    assert "publish" in one.effects


def test_the_outcome_of_a_cycle_lists_what_all_its_turns_skipped(repo: Path) -> None:
    found = []

    async def script(driver: Driver) -> None:
        found.append(await driver.session.follow(await driver.session.say("/plan write it")).end())

    unit = [[PUSH], [WRITE], "Written, not pushed.", "DONE\nnew.txt is there"]
    looks = [[call("Read", file_path="/opt/x")], [call("Read", file_path="new.txt")], "DONE\nit is there"]
    drive(repo, script, ScriptedModel([block("a"), *unit, *looks, "nothing more to plan"]), axes=AUTONOMOUS)
    (outcome,) = found
    assert outcome.status == "done"
    assert [call.line for call in outcome.skipped] == ["git push --force", "/opt/x"]
