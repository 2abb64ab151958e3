"""A dial turned by the user in the middle of a run lands where its scope says."""

from pathlib import Path
from typing import Any

import pytest

from quintet.domain.dials.axes import ModelMode, PermissionProfile, RunControl, WorkMode
from quintet.domain.dials.transitions import Scope
from quintet.domain.journal import protocol as p
from quintet.domain.turn.messages import CallPart
from quintet.domain.turn.tool_spec import CallStatus
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.engine.turn.test_turn_runner import Waiting

AXES = [
    ("mode", "repair", "work_mode", WorkMode.REPAIR),
    ("control", "manual", "run_control", RunControl.MANUAL),
    ("permission-profile", "restricted", "permission_profile", PermissionProfile.RESTRICTED),
    ("model-mode", "deep", "model_mode", ModelMode.DEEP),
]


def held_tool(repo: Path, *more: CallPart) -> ScriptedModel:
    """Calls a tool that runs until it is let go, and these in the same step."""
    (repo / "Makefile").write_text("test:\n\twhile ! [ -e go ]; do sleep 0.02; done\n")
    return ScriptedModel([[call("bash", command="make test"), *more], "done"])


def let_go(repo: Path) -> None:
    (repo / "go").touch()


@pytest.mark.parametrize(("word", "value", "field", "wanted"), AXES, ids=[axis[0] for axis in AXES])
@pytest.mark.parametrize("scope", [Scope.NOW, Scope.AFTER_CURRENT_TOOL, Scope.AFTER_CURRENT_UNIT, Scope.NEXT_MILESTONE])
def test_s3_7_3_each_axis_lands_at_its_scope(
    repo: Path, word: str, value: str, field: str, wanted: object, scope: Scope
) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("work")
        await driver.until_type(p.ToolStarted)
        await driver.command(f"/steer {word} {value} {scope}")
        assert getattr(driver.axes, field) != wanted, (
            f"an active tool is never changed under: {driver.of(p.ToolFinished)}"
        )
        let_go(repo)
        await driver.until_type(p.ToolFinished)
        finished = await driver.until_type(p.TurnFinished)
        assert finished.status in ("done", "blocked")
        await driver.command("/status")

    driver = drive(repo, script, held_tool(repo))
    names = driver.types()
    if scope is Scope.NEXT_MILESTONE:
        assert "DialsTurned" not in names and len(driver.session.state.dials.pending) == 1
        return
    turned = names.index("DialsTurned")
    boundary = "TurnFinished" if scope is Scope.AFTER_CURRENT_UNIT else "ToolFinished"
    assert names[turned - 1] == boundary
    event = driver.of(p.DialsTurned)[0]
    assert getattr(event.after, field) == wanted and event.scope is scope
    others = {name for name in event.after.__struct_fields__ if name != field}
    assert all(getattr(event.after, name) == getattr(event.before, name) for name in others)


def test_a_tool_counts_as_active_from_the_moment_it_is_on_record(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    active: list[bool] = []

    async def script(driver: Driver) -> None:
        owner = driver.session._owner
        assert owner
        append = owner.journal.append

        async def observed(*events: p.Event, **more: Any) -> object:
            done = await append(*events, **more)
            if any(
                isinstance(event, p.ToolStarted) for event in events
            ):  # others can read it, its turn has not gone on
                active.append(owner._inputs.activity.tool)
            return done

        monkeypatch.setattr(owner.journal, "append", observed)
        let_go(repo)
        await driver.turn("work")

    drive(repo, script, held_tool(repo))
    assert active == [True]


def test_for_next_unit_holds_for_one_turn_and_reverts_by_itself(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("first")
        await model.begun.wait()
        await driver.command("/steer model-mode deep for-next-unit")
        model.go.set()
        await driver.until_type(p.TurnFinished)
        assert driver.axes.model_mode is ModelMode.SMART
        await driver.turn("second")
        await driver.command("/status")
        assert driver.axes.model_mode is ModelMode.SMART

    model = Waiting()
    driver = drive(repo, script, model)
    assert [event.axes.model_mode for event in driver.of(p.TurnStarted)] == [ModelMode.SMART, ModelMode.DEEP]
    assert [event.after.model_mode for event in driver.of(p.DialsTurned)] == [ModelMode.DEEP, ModelMode.SMART]


def test_now_interrupts_the_tool_where_the_settings_let_it(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("work")
        await driver.until_type(p.ToolStarted)
        await driver.command("/permission-profile normal")
        assert (await driver.until_type(p.ToolFinished)).status is CallStatus.INTERRUPTED
        turned = await driver.until_type(p.DialsTurned)
        assert turned.after.permission_profile is PermissionProfile.NORMAL
        assert (await driver.until_type(p.TurnFinished)).answer == "done"

    drive(repo, script, held_tool(repo), settings={"dials.abort_active_tool": True})


def test_a_tightened_profile_holds_for_the_next_call_of_the_same_step(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("work")
        await driver.until_type(p.ToolStarted)
        await driver.command("/permission-profile restricted")
        let_go(repo)
        await driver.until_type(p.TurnFinished)

    driver = drive(repo, script, held_tool(repo, call("Write", file_path="made.txt", content="x")))
    assert not (repo / "made.txt").exists()
    assert driver.of(p.ToolFinished)[1].status is CallStatus.DENIED


def test_every_transition_is_logged_with_all_five_axes_actor_reason_and_scope(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        ran = await driver.command("/mode research --autonomous --permission-profile restricted --model-mode deep")
        assert ran.text == "research │ autonomous │ restricted │ deep"

    driver = drive(repo, script)
    event = driver.of(p.DialsTurned)[0]
    plain = p.as_json(p.Recorded(1, "", event))
    assert (
        set(plain["before"])
        == set(plain["after"])
        == {
            "work_mode",
            "run_control",
            "permission_profile",
            "model_mode",
            "surface",
        }
    )
    assert (plain["actor"], plain["reason"], plain["scope"]) == ("user", "/mode", "now")


def test_review_below_deep_asks_once_and_changes_nothing_else(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.command("/mode review")
        assert driver.axes.work_mode is WorkMode.REVIEW and driver.axes.model_mode is ModelMode.SMART
        asked = await driver.until_type(p.QuestionAsked)
        assert [choice.key for choice in asked.choices] == ["d", "g"]
        await driver.session.submit(p.Answer(question=asked.question, choice="d"))
        turned = await driver.until_type(p.DialsTurned)
        assert turned.after.model_mode is ModelMode.DEEP and turned.reason == "chosen for review"

    driver = drive(repo, script, person=True)
    assert len(driver.of(p.QuestionAsked)) == 1


def test_review_with_nobody_attached_goes_on_and_says_so(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        ran = await driver.command("/mode review")
        assert "this run is non-interactive, so it continues at smart" in ran.text
        assert driver.axes.model_mode is ModelMode.SMART

    assert drive(repo, script).of(p.QuestionAsked) == []


def test_next_sets_assisted_and_lets_a_paused_run_go(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("work")
        await driver.until_type(p.ToolStarted)
        await driver.command("/pause")
        let_go(repo)
        await driver.until_type(p.ToolFinished)
        await driver.until_status("paused")
        await driver.command("/next")
        assert (await driver.until_type(p.TurnFinished)).status == "done"
        assert driver.axes.run_control is RunControl.ASSISTED

    drive(repo, script, held_tool(repo))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/mode bild", 'mode "bild": not one of chat, plan, build, review, repair, research. Did you mean build?'),
        (
            "/steer mood chat",
            'dial "mood": not one of mode, control, permission-profile, model-mode. Did you mean mode?',
        ),
        ("/steer mode chat tomorrow", 'scope "tomorrow": not one of now,'),
        ("/model gpt", 'model "gpt": not one of builtin'),
        ("/pause", "nothing is running"),
        ("/resume", "nothing is paused or interrupted"),
        ("/nonsense", "/nonsense is not a command."),
    ],
)
def test_a_bad_command_is_refused_with_what_to_do_and_no_model_hears_of_it(repo: Path, line: str, message: str) -> None:
    async def script(driver: Driver) -> None:
        ran = await driver.command(line)
        assert not ran.ok and ran.code == "USAGE" and ran.text.startswith(message)

    driver = drive(repo, script)
    assert driver.of(p.ModelRequested) == [] and driver.of(p.DialsTurned) == []


# When the dial is turned, scope by scope → the event it lands after; none: it still waits when the turn is over.
IDLE, STREAMING, IN_TOOL = "idle", "streaming", "in a tool"
LANDS_AFTER: dict[tuple[str, Scope], str] = {
    (IDLE, Scope.NOW): "SessionOpened",
    (IDLE, Scope.AFTER_CURRENT_TOOL): "SessionOpened",
    (IDLE, Scope.AFTER_CURRENT_UNIT): "SessionOpened",
    (IDLE, Scope.NEXT_MILESTONE): "",
    (IDLE, Scope.FOR_NEXT_UNIT): "InputReceived",
    (STREAMING, Scope.NOW): "ModelRequested",
    (STREAMING, Scope.AFTER_CURRENT_TOOL): "ModelRequested",
    (STREAMING, Scope.AFTER_CURRENT_UNIT): "TurnFinished",
    (STREAMING, Scope.NEXT_MILESTONE): "",
    (STREAMING, Scope.FOR_NEXT_UNIT): "",
    (IN_TOOL, Scope.FOR_NEXT_UNIT): "",
}


@pytest.mark.parametrize(("word", "value", "field", "wanted"), AXES, ids=[axis[0] for axis in AXES])
@pytest.mark.parametrize(("moment", "scope"), LANDS_AFTER, ids=[f"{when}-{scope}" for when, scope in LANDS_AFTER])
def test_s3_7_3_each_axis_and_scope_lands_where_it_says_at_every_moment(
    repo: Path, word: str, value: str, field: str, wanted: object, moment: str, scope: Scope
) -> None:
    async def script(driver: Driver) -> None:
        line = f"/steer {word} {value} {scope}"
        if moment == IDLE:
            await driver.command(line)
        await driver.session.say("work")
        if moment == STREAMING:
            await model.begun.wait()
            await driver.command(line)
            model.go.set()
        elif moment == IN_TOOL:
            await driver.until_type(p.ToolStarted)
            await driver.command(line)
            let_go(repo)
        await driver.until_type(p.TurnFinished)
        await driver.command("/status")

    model: Any = {IDLE: ScriptedModel(["done"]), STREAMING: Waiting(), IN_TOOL: held_tool(repo)}[moment]
    driver = drive(repo, script, model)
    names, turned = driver.types(), driver.of(p.DialsTurned)
    after = LANDS_AFTER[moment, scope]
    if not after:
        assert turned == [] and [waiting.scope for waiting in driver.session.state.dials.pending] == [scope]
        return
    assert names[names.index("DialsTurned") - 1] == after
    assert getattr(turned[0].after, field) == wanted and turned[0].scope is scope
    changed = [name for name in turned[0].after.__struct_fields__ if name != field]
    assert all(getattr(turned[0].after, name) == getattr(turned[0].before, name) for name in changed)
    if scope is Scope.FOR_NEXT_UNIT:  # it was for one turn, and goes back by itself
        assert getattr(driver.of(p.TurnStarted)[0].axes, field) == wanted
        assert len(turned) == 2 and turned[1].after == turned[0].before
        assert names[len(names) - 1 - names[::-1].index("DialsTurned") - 1] == "TurnFinished"
    else:
        assert len(turned) == 1 and getattr(driver.axes, field) == wanted


@pytest.mark.parametrize(("more", "asked"), [({}, 0), ({"routing.deep_effort": "high"}, 1)])
def test_deep_is_not_asked_for_where_it_is_the_same_model(repo: Path, more: dict[str, str], asked: int) -> None:
    async def script(driver: Driver) -> None:
        await driver.command("/mode review")
        await driver.command("/cost")
        assert len(driver.session.state.questions) == asked

    model = {"models.one.base_url": "http://127.0.0.1:9/v1", "models.one.model": "one", "routing.smart": "one"}
    drive(repo, script, person=True, settings={**model, **more})


def test_a_review_that_begins_closes_the_question_for_deep(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.command("/mode review")
        asked = await driver.until_type(p.QuestionAsked)
        await driver.session.say("review it")
        closed = await driver.until_type(p.QuestionAnswered)
        assert closed.question == asked.question and closed.by == "the review began"
        await driver.until_type(p.TurnFinished)
        assert not driver.session.state.questions

    drive(repo, script, ScriptedModel(["Nothing to say."]), person=True)
