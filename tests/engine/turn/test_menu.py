"""The menu in a run: what a model is shown is what it may call, and the meta-tools do what they say."""

from pathlib import Path

import pytest

from quintet.app.tool_registry import BY_NAME
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.turn.tool_menu import META_TOOLS, TOOL_MODES
from quintet.domain.turn.tool_spec import CallStatus
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive

LOCAL_GIT = [tool for tool in TOOL_MODES["git"].tool_list if tool in BY_NAME]
MENU = {"tools.presentation": "menu"}
CHECKED = {"runs.delivery_check": True}


def shown(model: ScriptedModel, request: int) -> list[str]:
    return [tool.name for tool in model.requests[request].tools]


def test_s0_a_model_starts_at_root_with_six_tools_and_enters_a_toolset(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("look")
        await driver.turn("again")

    model = ScriptedModel([[call("menu_enter", mode="git")], [call("menu_exit")], "done", "done"])
    driver = drive(repo, script, model, settings=MENU)
    assert shown(model, 0) == META_TOOLS
    assert set(shown(model, 1)) == {*META_TOOLS, *LOCAL_GIT}
    assert shown(model, 2) == META_TOOLS
    assert [event.toolset for event in driver.of(p.MenuMoved)] == ["git", ""]


def test_request_tools_finds_a_tool_and_goes_to_it_from_anywhere(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("look")

    find = [call("request_tools", tool_names=["git diff"])]
    nothing = [call("request_tools", tool_names=["brew coffee"])]
    model = ScriptedModel([find, nothing, "done"])
    drive(repo, script, model, settings={"tools.presentation": "search"})
    assert shown(model, 0) == [*META_TOOLS, "request_tools"]
    assert "git_diff" in shown(model, 1)
    assert model.requests[1].messages[-1].text.startswith("git_diff matches.")
    assert model.requests[2].messages[-1].text.startswith("no tool matches brew coffee.")


@pytest.mark.parametrize("place", ["", "git"])
def test_s0_request_tools_is_called_from_any_place_and_moves_for_no_unknown_name(repo: Path, place: str) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("look")

    enter = [[call("menu_enter", mode=place)]] if place else []
    unknown = [call("request_tools", tool_names=["does_not_exist"])]
    find = [call("request_tools", tool_names=["Read"])]
    model = ScriptedModel([*enter, unknown, find, "done"])
    driver = drive(repo, script, model, settings=MENU)
    told = [request.messages[-1].text for request in model.requests[1 + bool(place) :]]
    assert told[0].startswith("there is no tool does_not_exist.")
    assert told[1].startswith("Read matches.")
    assert [event.toolset for event in driver.of(p.MenuMoved)] == [*([place] if place else []), "swe"]
    assert "request_tools" not in shown(model, 0), "S0 counts what is shown at ROOT"


def test_the_toolset_is_kept_from_turn_to_turn_and_over_a_resume(repo: Path) -> None:
    async def first(driver: Driver) -> None:
        await driver.turn("look")

    session = drive(repo, first, ScriptedModel([[call("menu_enter", mode="data")], "ok"]), settings=MENU).session.id

    async def second(driver: Driver) -> None:
        await driver.turn("go on")

    model = ScriptedModel(["ok"])
    drive(repo, second, model, settings=MENU, resume=session, axes=None)
    assert set(shown(model, 0)) == {*META_TOOLS, *TOOL_MODES["data"].tool_list}


def test_s0_the_mask_holds_when_a_tool_is_called(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("read")

    model = ScriptedModel([[call("Read", file_path="tally/count.py")], "ok"])
    driver = drive(repo, script, model, settings=MENU)
    assert driver.of(p.ToolStarted) == []
    told = model.requests[1].messages[-1].text
    assert told == "Read is not in this toolset; it is in: swe. Use menu_enter to go there."


def test_complete_ends_the_turn_with_its_answer_and_runs_nothing_after_it(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        finished = await driver.turn("work")
        assert (finished.status, finished.answer) == ("done", "it is done")
        blocked = await driver.turn("more")
        assert (blocked.status, blocked.answer) == ("blocked", "I cannot")

    step = [call("complete", final_answer="it is done"), call("Write", file_path="late.txt", content="x")]
    model = ScriptedModel([step, [call("complete", final_answer="I cannot", status="blocked")]])
    drive(repo, script, model)
    assert not (repo / "late.txt").exists()


def test_a_message_to_the_user_is_an_event_and_the_run_goes_on(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        assert (await driver.turn("work")).answer == "done"

    model = ScriptedModel([[call("message_user", message="half way"), call("think", content="hm")], "done"])
    driver = drive(repo, script, model)
    assert [event.text for event in driver.of(p.UserMessaged)] == ["half way"]
    assert [event.status for event in driver.of(p.ToolFinished)] == [CallStatus.OK, CallStatus.OK]


@pytest.mark.parametrize(
    ("person", "control", "waits"),
    [(True, RunControl.ASSISTED, True), (True, RunControl.AUTONOMOUS, False), (False, RunControl.ASSISTED, False)],
)
def test_the_model_waits_for_an_answer_only_where_somebody_can_give_one(
    repo: Path, person: bool, control: RunControl, waits: bool
) -> None:
    async def script(driver: Driver) -> None:
        finished = await driver.turn("work")
        assert finished.answer == ("which one?" if waits else "I took the first")

    model = ScriptedModel([[call("message_user", message="which one?", block_on_user=True)], "I took the first"])
    axes = AxesChange(WorkMode.BUILD, control, PermissionProfile.TRUSTED)
    drive(repo, script, model, person=person, axes=axes)


def test_a_question_to_the_user_is_no_delivery_and_is_not_checked_as_one(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        finished = await driver.turn("work")
        assert (finished.status, finished.answer, finished.delivery) == ("done", "which one?", "")

    steps = [
        [call("Write", file_path="a.txt", content="x")],
        [call("message_user", message="which one?", block_on_user=True)],
    ]
    axes = AxesChange(WorkMode.BUILD, RunControl.ASSISTED, PermissionProfile.TRUSTED)
    driver = drive(repo, script, ScriptedModel([*steps, "DONE"]), person=True, axes=axes, settings=CHECKED)
    assert len(driver.of(p.ModelRequested)) == 2
    assert driver.of(p.DeliveryChecked) == []


def test_in_manual_the_meta_tools_do_not_ask(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        assert (await driver.turn("look")).status == "done"

    manual = AxesChange(WorkMode.BUILD, RunControl.MANUAL, PermissionProfile.TRUSTED)
    model = ScriptedModel([[call("menu_list"), call("think", content="x")], "done"])
    driver = drive(repo, script, model, person=True, axes=manual, settings=MENU)
    assert driver.of(p.QuestionAsked) == []


def test_a_persons_own_shell_line_needs_no_toolset(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        assert (await driver.turn("! git status --short")).status == "done"

    drive(repo, script, settings=MENU)
