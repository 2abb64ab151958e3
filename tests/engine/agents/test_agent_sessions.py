"""An agent's session: entering it, where inputs go, and what each kind of command does."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import apsw
import pytest

from quintet.adapters.agents.agents import LocalAgents
from quintet.adapters.files.paths import locate
from quintet.adapters.settings.trust import set_trust
from quintet.app.open import open_session
from quintet.domain.agents.agent import Agent
from quintet.domain.agents.run import RunPhase
from quintet.domain.base.errors import ModelAuthFailed, ModelTimeout, RunFailed
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.ports.ports import ItemData
from quintet.domain.turn.messages import Role
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.engine.packages import item, row, write
from tests.trusted import trust_now

MENU = [
    item("greet", action="#hello"),
    item("count-words", action="Count the words of {project-root}"),
    item("tally", workflow="tally", data="table.csv"),
    item("read-page", exec="page.md"),
    item("run-flow", exec="{package-root}/workflows/tally/workflow.md"),
    item("show", action="menu.show"),
    item("go", action="agent.dismiss"),
    item("again", action="run.resume"),
    item("count-lines", action="Count the lines"),
    item("browse", action="Look at the page", **{"web-only": True}),
]
FILES = {**row("tally", "Count.", "Write it down."), "table.csv": "name,count\na,1\n", "page.md": "Read me aloud."}
PROMPTS = [{"id": "hello", "content": "Say hello from {package-root}."}]
HELLO, CHAT, TALLY = "3", "2", "5"  # numbers, the two that every menu opens with counted


@pytest.fixture
def crew(repo: Path) -> Path:
    """The folder of an agent `crew` in the project."""
    folder = repo / ".quintet" / "agents" / "crew"
    write(folder, "crew", MENU, FILES, prompts=PROMPTS)
    return folder


def enter(repo: Path, script: Any, replies: Any = (), **options: Any) -> tuple[Driver, ScriptedModel]:
    model = ScriptedModel(list(replies))
    return drive(repo, script, model, agent=options.pop("agent", "crew"), **options), model


def last_user(model: ScriptedModel, request: int = -1) -> str:
    return [
        message.text
        for message in model.requests[request].messages
        if message.role is Role.USER and not message.passing
    ][-1]


# ── AC1: entry


def test_s2_ac1_entering_sets_the_agent_and_shows_persona_and_numbered_menu(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.until_type(p.AgentEntered)
        assert driver.session.state.runs.agent and driver.session.state.runs.agent.id == "crew"
        assert driver.session.state.runs.active == ""

    driver, _ = enter(repo, script)
    entered = driver.of(p.AgentEntered)[0]
    assert entered.menu[:2] == ("[MH] Redisplay Menu Help", "[CH] Chat with the Agent about anything")
    assert entered.menu[2] == "Item greet" and entered.menu[-1] == "[DA] Dismiss Agent"
    assert "Keeps the tally" in entered.persona


def test_s2_ac1_choosing_an_agent_detaches_the_active_run_and_the_toolset(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn(TALLY)
        run = driver.session.state.runs.active
        assert run and driver.session.state.work.toolset == "git"
        assert (await driver.command("/agents planner")).ok
        state = driver.session.state
        assert (state.runs.agent and state.runs.agent.id, state.runs.active, state.work.toolset) == ("planner", "", "")
        assert state.runs.known[run].phase is RunPhase.PAUSED

    enter(repo, script, [[call("menu_enter", mode="git")], "what next?"], settings={"tools.presentation": "menu"})


def test_s2_ac1_an_agent_is_entered_by_its_file_and_an_unknown_one_is_an_error(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        assert driver.session.state.runs.agent and driver.session.state.runs.agent.id == "crew"
        ran = await driver.command("/agents nobody")
        assert (ran.ok, ran.code) == (False, "AGENT_NOT_FOUND")
        assert driver.session.state.runs.agent.id == "crew"

    enter(repo, script, agent=str(crew / "crew.agent.yaml"))
    with pytest.raises(RunFailed) as caught:
        enter(repo, script, agent="nobody")
    assert caught.value.code == "AGENT_NOT_FOUND"


def test_agents_lists_who_there_is(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        ran = await driver.command("/agents")
        assert {"crew", "planner", "reviewer", "release"} <= set(ran.data["agents"])

    drive(repo, script)


def test_the_agent_and_the_run_are_there_again_when_the_session_is_resumed(repo: Path, crew: Path) -> None:
    async def first(driver: Driver) -> None:
        await driver.turn(TALLY)

    driver, _ = enter(repo, first, ["which table?"])
    run = driver.session.state.runs.active

    async def second(driver: Driver) -> None:
        state = driver.session.state
        assert (state.runs.agent and state.runs.agent.id, state.runs.active) == ("crew", run)
        assert (await driver.turn("the first")).answer == "thanks"

    model = ScriptedModel(["thanks"])
    drive(repo, second, model, resume=driver.session.id, axes=None)
    told = model.requests[0].messages
    assert "Keeps the tally" in told[0].text
    assert [m.text for m in told if m.role is Role.USER and not m.passing][-1] == "the first"


# ── AC3: execution


def test_s2_ac3_start_workflow_creates_a_run_that_becomes_active(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("tally")
        state = driver.session.state
        run = driver.of(p.RunStarted)[0].run
        assert state.runs.active == run.run_id
        assert (run.workflow_ref, run.agent_id, run.project, run.package) == ("tally", "crew", str(repo), str(crew))
        assert run.phase is RunPhase.IDLE and run.created_at
        assert state.runs.known[run.run_id].phase is RunPhase.WAITING_USER

    _, model = enter(repo, script, ["what shall I count?"])
    assert last_user(model) == "Count."


def test_s2_ac3_exec_of_a_workflow_is_upgraded_to_a_run(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("run-flow")
        assert driver.of(p.RunStarted)[0].run.workflow_ref == "tally"

    enter(repo, script, ["hm?"])


def test_s2_ac3_exec_of_a_page_whose_fields_make_it_a_workflow_is_upgraded(repo: Path, crew: Path) -> None:
    (crew / "page.md").write_text("---\nworkflowType: page\n---\nRead me.\n")

    async def script(driver: Driver) -> None:
        await driver.turn("read-page")
        assert driver.of(p.RunStarted)

    enter(repo, script, ["hm?"])


def test_s2_ac3_exec_of_a_page_is_instructions_for_the_model(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        assert (await driver.turn("read-page\nslowly")).answer == "read"
        assert driver.of(p.RunStarted) == []

    _, model = enter(repo, script, ["read"])
    assert last_user(model) == "Read me aloud.\n\nslowly"


@pytest.mark.parametrize("trusted", [False, True])
def test_s2_ac3_exec_of_a_program_runs_through_the_gate_and_only_where_trusted(
    repo: Path, crew: Path, trusted: bool
) -> None:
    program = crew / "count.sh"
    program.write_text("#!/bin/sh\necho counted\n")
    program.chmod(0o755)
    write(crew, "crew", [item("count", exec="count.sh")])
    places = locate(str(repo))
    if trusted:
        trust_now(repo)
    else:
        set_trust(places.trust_file, places.root, False)

    async def script(driver: Driver) -> None:
        if not trusted:
            ran = await driver.command("count")
            assert (ran.ok, ran.code) == (False, "PERMISSION_DENIED")
            return
        finished = await driver.turn("count")
        assert "counted" in finished.answer
        assert [event.tool for event in driver.of(p.CallDecided)] == ["bash"]

    _, model = enter(repo, script)
    assert model.requests == []


def test_s2_ac3_menu_show_answers_with_the_menu(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        for said in ("show", "", "/menu", "*menu", "1"):
            ran = await driver.command(said)
            assert ran.ok and ran.data["event"] == {"type": "SHOW_MENU"}
            assert ran.text.splitlines()[2] == " 3. Item greet"

    _, model = enter(repo, script)
    assert model.requests == []


@pytest.mark.parametrize("said", ["go", "/dismiss", "*dismiss", "goodbye"])
def test_s2_ac3_agent_dismiss_leaves_the_agent(repo: Path, crew: Path, said: str) -> None:
    async def script(driver: Driver) -> None:
        ran = await driver.command(said)
        assert ran.data["event"] == {"type": "AGENT_DISMISSED"}
        assert driver.session.state.runs.agent is None
        assert (await driver.turn("5")).answer == "five"

    _, model = enter(repo, script, ["five"])
    assert "Keeps the tally" not in model.requests[0].messages[0].text
    assert last_user(model) == "5"


def test_s2_ac3_run_resume_takes_up_the_latest_run_of_the_project(repo: Path, crew: Path) -> None:
    async def first(driver: Driver) -> None:
        await driver.turn("tally")

    enter(repo, first, ["what?"])
    latest = enter(repo, first, ["what?"])[0].session.state.runs.active

    async def third(driver: Driver) -> None:
        assert (await driver.turn("again")).answer == "where was I"
        assert driver.of(p.RunTaken)[0].run.run_id == latest
        assert driver.session.state.runs.active == latest

    _, model = enter(repo, third, ["where was I"])
    assert last_user(model) == "Count."


def test_s2_ac3_a_named_run_is_resumed_with_its_agent(repo: Path, crew: Path) -> None:
    async def first(driver: Driver) -> None:
        await driver.turn("tally")

    run = enter(repo, first, ["what?"])[0].session.state.runs.active
    enter(repo, first, ["what?"])

    async def second(driver: Driver) -> None:
        ran = await driver.command(f"/resume {run}")
        assert ran.data["event"]["type"] == "RUN_RESUMED" and ran.data["event"]["run"]["run_id"] == run
        await driver.until_type(p.TurnFinished)
        state = driver.session.state
        assert (state.runs.agent and state.runs.agent.id, state.runs.active) == ("crew", run)

    drive(repo, second, ScriptedModel(["here I am"]))


def test_s2_ac3_a_run_taken_up_elsewhere_is_no_longer_the_first_sessions(repo: Path, crew: Path) -> None:
    async def first(driver: Driver) -> None:
        await driver.turn("tally")

    one = enter(repo, first, ["what?"])[0]
    run = one.session.state.runs.active

    async def second(driver: Driver) -> None:
        await driver.command("/resume")
        await driver.until_type(p.TurnFinished)
        assert driver.session.state.runs.active == run

    drive(repo, second, ScriptedModel(["mine now"]))

    async def third(driver: Driver) -> None:
        assert driver.session.state.runs.active == ""
        assert driver.session.state.runs.known[run].phase is RunPhase.PAUSED

    drive(repo, third, resume=one.session.id, axes=None)


def test_a_run_of_a_session_that_is_open_elsewhere_is_not_taken(repo: Path, crew: Path) -> None:
    async def script() -> None:
        async with open_session(str(repo), agent="crew", model=ScriptedModel(["what?"])) as other:
            one = Driver(other)
            await one.turn("tally")
            run = other.state.runs.active
            async with open_session(str(repo), model=ScriptedModel([])) as session:
                two = Driver(session)
                ran = await two.command(f"/resume {run}")
                assert (ran.ok, ran.code) == (False, "ENGINE_PRECONDITION_FAILED")
                assert not (await two.command("/resume")).ok

    asyncio.run(script())


def test_s2_ac3_a_prompt_is_injected_as_user_message(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        assert (await driver.turn(HELLO)).answer == "hello"

    _, model = enter(repo, script, ["hello"])
    assert last_user(model) == f"Say hello from {crew}."


def test_s2_ac3_inline_text_is_a_user_message_with_its_templates_filled_in(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("count words\nof the readme")

    _, model = enter(repo, script, ["3"])
    assert last_user(model) == f"Count the words of {repo}\n\nof the readme"


def test_an_action_that_looks_like_a_persons_own_shell_line_is_words_for_the_model(repo: Path, crew: Path) -> None:
    write(crew, "crew", [item("sly", action="!touch sly.txt")])

    async def script(driver: Driver) -> None:
        assert (await driver.turn("sly")).answer == "no"
        assert driver.of(p.ToolStarted) == []

    enter(repo, script, ["no"])
    assert not (repo / "sly.txt").exists()


def test_s2_ac3_data_is_loaded_before_and_enters_as_a_message_of_its_own(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn(TALLY)
        loaded = driver.of(p.DataLoaded)[0]
        assert (loaded.path, loaded.format) == ("table.csv", "csv")
        kinds = driver.types()
        assert kinds.index("DataLoaded") < kinds.index("TurnStarted") < kinds.index("ModelRequested")

    _, model = enter(repo, script, ["ok"])
    told = [message.text for message in model.requests[0].messages if message.role is Role.USER and not message.passing]
    assert told[0].startswith("Data from table.csv (csv):") and '"count": "1"' in told[0]


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("d.yaml", "a: [1, two]", '"two"'),
        ("d.yml", "a: 1", '"a": 1'),
        ("d.json", '{"a": null}', '"a": null'),
        ("d.csv", "a,b\n1,2\n", '"b": "2"'),
        ("d.md", "# A *page*", "# A *page*"),
        ("d.txt", "{plain", "{plain"),
    ],
)
def test_data_is_parsed_by_its_ending(repo: Path, crew: Path, name: str, text: str, shown: str) -> None:
    write(crew, "crew", [item("with-data", action="Look", data=name)], {name: text})

    async def script(driver: Driver) -> None:
        await driver.turn("with-data")
        assert shown in driver.of(p.DataLoaded)[0].text

    enter(repo, script, ["ok"])


CLASSIC = {
    "old/workflow.yaml": "name: lamp\nwho: Ada\ninstructions: ./how.xml\n",
    "old/how.xml": '<critical>Be brief.</critical><step n="1" goal="Oil">Ask {who}.</step><step n="2">Light it.</step>',
}


def test_a_classic_workflow_runs_step_by_step(repo: Path, crew: Path) -> None:
    write(crew, "crew", [item("lamp", workflow="old/workflow.yaml")], CLASSIC)

    async def script(driver: Driver) -> None:
        await driver.turn("lamp")
        begun = [event.text for event in driver.of(p.StepBegun)]
        assert begun == ['<step n="1" goal="Oil">Ask Ada.</step>', '<step n="2">Light it.</step>']
        assert "Be brief." in driver.of(p.WorkflowBegun)[0].about
        (run,) = driver.session.state.runs.known.values()
        assert run.phase is RunPhase.COMPLETED

    replies = [[call("finish_step", result="oil")], [call("finish_step", result="lit")], "The lamp is lit."]
    enter(repo, script, replies)


def test_s2_a_run_that_is_resumed_in_another_session_has_its_data(repo: Path, crew: Path) -> None:
    async def first(driver: Driver) -> None:
        await driver.turn(TALLY)

    async def again(driver: Driver) -> None:
        await driver.turn("again")

    enter(repo, first, ["which table?"])
    for _ in range(2):  # from the session that began it, then from the one that took it up
        _, model = enter(repo, again, ["go on"])
        told = [message.text for message in model.requests[0].messages if message.role is Role.USER]
        assert len([text for text in told if text.startswith("Data from table.csv (csv):")]) == 1


# ── what fails


BAD_DATA = {"d.yaml": "a: [1", "d.json": "{", "d.csv": "a,b\n1\n", "d.bin": "x"}
LINKED = "linked.md"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"action": "#nowhere"}, "UNKNOWN_PROMPT_ID"),
        ({"workflow": "nowhere"}, "UNKNOWN_WORKFLOW"),
        ({"workflow": "workflows/nowhere/workflow.md"}, "UNKNOWN_WORKFLOW"),
        ({"workflow": "{nothing}"}, "WORKFLOW_REF_REQUIRED"),
        ({"workflow": "old/workflow.yaml"}, "NOT_SUPPORTED_CLASSIC_WORKFLOW"),
        ({"workflow": "old/workflow.yml"}, "NOT_SUPPORTED_CLASSIC_WORKFLOW"),
        ({"exec": "{project-root}/old/task.xml"}, "NOT_SUPPORTED_CLASSIC_WORKFLOW"),
        ({"validate-workflow": "{project-root}/old/workflow.yaml"}, "NOT_SUPPORTED_CLASSIC_WORKFLOW"),
        ({"validate-workflow": "known/workflow.yaml"}, "NOT_SUPPORTED_CLASSIC_WORKFLOW"),
        ({"workflow": "broken"}, "VALIDATION_FAILED"),
        ({"action": "Look", "data": "none.json"}, "DATA_LOAD_FAILED"),
        *[({"action": "Look", "data": name}, "DATA_LOAD_FAILED") for name in BAD_DATA],
    ],
)
def test_s2_verification_a_failed_dispatch_has_its_code_and_changes_nothing(
    repo: Path, crew: Path, fields: dict[str, str], code: str
) -> None:
    broken = {"workflows/broken/workflow.md": "# x\n", "workflows/broken/workflow.graph.json": "{}"}
    broken |= {"known/workflow.yaml": "instructions: ./how.md", "known/how.md": "x"}
    write(crew, "crew", [item("try", **fields)], {**BAD_DATA, **broken, "config.yaml": "nothing: ''\n"})

    async def script(driver: Driver) -> None:
        before = driver.session.state.runs.active
        ran = await driver.command("try")
        assert (ran.ok, ran.code) == (False, code), ran.text
        assert driver.session.state.runs.active == before == ""
        assert driver.of(p.RunStarted) == driver.of(p.TurnStarted) == []

    _, model = enter(repo, script)
    assert model.requests == []


@pytest.mark.parametrize("field", ["exec", "data", "workflow"])
@pytest.mark.parametrize(
    "path",
    [
        "../../../../outside.md",
        "/etc/hostname.md",
        "{project-root}/../outside.md",
        "{package-root}/../../../../outside.md",
        "https://example.com/page.md",
        "file:///etc/hostname.md",
        "\\\\host\\share\\page.md",
        "//host/share/page.md",
        "C:\\page.md",
        "~/page.md",
        "..\\..\\..\\..\\outside.md",
        LINKED,
        "inner/../../../../../outside.md",
        "{project-root}/.ssh/page.md",
    ],
)
def test_s2_nothing_outside_package_and_project_is_read(repo: Path, crew: Path, field: str, path: str) -> None:
    outside = repo.parent / "outside.md"
    outside.write_text("---\nname: secret\n---\nsecret\n")
    (crew / LINKED).symlink_to(outside)
    (repo / ".ssh").mkdir()
    (repo / ".ssh" / "page.md").write_text("secret")
    fields = {"action": "Look", "data": path} if field == "data" else {field: path}
    write(crew, "crew", [item("try", **fields)])

    async def script(driver: Driver) -> None:
        ran = await driver.command("try")
        assert (ran.ok, ran.code) == (False, "PERMISSION_DENIED"), ran.text

    _, model = enter(repo, script)
    assert model.requests == []


@pytest.mark.parametrize("gone", ["package", "project"])
def test_a_package_or_project_that_is_gone_is_an_error_with_its_code(repo: Path, tmp_path: Path, gone: str) -> None:
    folder = tmp_path / "elsewhere"
    path = write(folder, "crew", [item("tally", workflow="tally")], row("tally", "Count."))

    async def script(driver: Driver) -> None:
        (folder if gone == "package" else repo).rename(tmp_path / "moved")
        ran = await driver.command("tally")
        (tmp_path / "moved").rename(folder if gone == "package" else repo)
        assert ran.code == {"package": "PACKAGE_NOT_FOUND", "project": "PROJECT_ROOT_INVALID"}[gone]

    enter(repo, script, agent=str(path))


def test_a_run_whose_folder_cannot_be_made_is_not_started(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        Path(locate(str(repo)).runs).write_text("in the way")
        ran = await driver.command("tally")
        assert ran.code == "STATE_INIT_FAILED"
        assert driver.session.state.runs.active == ""

    enter(repo, script, settings={"runs.record": False})  # nothing else makes the folder of runs


def test_an_unforeseen_error_in_dispatch_is_told_and_the_session_goes_on(repo: Path, crew: Path) -> None:
    class Failing(LocalAgents):
        def data(self, path: str, agent: Agent) -> ItemData:
            raise RuntimeError("the disk is on fire")

    async def script(driver: Driver) -> None:
        driver.session._owner.core.agents._port = Failing(locate(str(repo)))  # type: ignore[union-attr]
        assert (await driver.command(TALLY)).code == "UNKNOWN"
        assert (await driver.turn("hello")).answer == "hi"

    enter(repo, script, ["hi"])


# ── AC4: chat


def test_s2_ac4_chat_goes_to_the_model_with_the_persona(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        assert (await driver.turn("hello there, how does this work?")).answer == "well"
        assert driver.session.state.runs.active == ""

    _, model = enter(repo, script, ["well"])
    system = model.requests[0].messages[0].text
    assert "You are Crew, The crew. Keeps the tally" in system and "- Count twice." in system
    assert "finish_step" not in [tool.name for tool in model.requests[0].tools]


def test_s2_ac4_choosing_chat_by_number_asks_what_it_is_about(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        ran = await driver.command(CHAT)
        assert ran.data["event"]["type"] == "CHAT_RESPONSE"
        assert (await driver.turn(f"{CHAT}\nthe weather")).answer == "sunny"

    _, model = enter(repo, script, ["sunny"])
    assert last_user(model) == "the weather"


def test_s2_ac4_tools_keep_to_the_agents_policy_when_shown_and_when_called(repo: Path) -> None:
    page = repo / ".claude" / "agents" / "reader.md"
    page.parent.mkdir(parents=True)
    page.write_text("---\nname: reader\ndescription: Reads.\ntools: Read, Grep\n---\nYou read.\n")

    async def script(driver: Driver) -> None:
        await driver.turn("write something")

    model = ScriptedModel([[call("Write", file_path="x.txt", content="x")], "I cannot"])
    drive(repo, script, model, agent="reader")
    shown = {tool.name for tool in model.requests[0].tools}
    assert {"Read", "grep", "complete"} <= shown and not shown & {"Write", "bash", "Edit"}
    assert not (repo / "x.txt").exists()
    assert "not among this agent's tools" in model.requests[1].messages[-1].text


@pytest.mark.parametrize("error", [ModelAuthFailed("no"), ModelTimeout("late")])
def test_s2_test_plan_chat_fails_with_the_models_own_code(repo: Path, crew: Path, error: Exception) -> None:
    async def script(driver: Driver) -> None:
        finished = await driver.turn("hello")
        assert finished.error and finished.error.code == error.code  # type: ignore[attr-defined]

    enter(repo, script, [error], settings={"limits.retries": 0})


# ── AC5: where input goes


def test_s2_ac5_in_run_mode_everything_but_global_commands_belongs_to_the_run(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("tally")
        run = driver.session.state.runs.active
        for said in ("greet", HELLO, "dismiss", "menu"):
            assert (await driver.turn(said)).answer == "noted"
            assert driver.session.state.runs.active == run
        assert (await driver.command("*menu")).data["event"] == {"type": "SHOW_MENU"}
        assert (await driver.command("/menu")).ok
        assert driver.session.state.runs.active == run

    _, model = enter(repo, script, ["what?", *["noted"] * 4])
    assert [last_user(model, n) for n in range(1, 5)] == ["greet", HELLO, "dismiss", "menu"]


@pytest.mark.parametrize("said", ["/stop", "*stop"])
def test_s2_ac5_stop_cancels_the_run(repo: Path, crew: Path, said: str) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("tally")
        run = driver.session.state.runs.active
        assert (await driver.command(said)).ok
        state = driver.session.state
        assert (state.runs.active, state.runs.known[run].phase) == ("", RunPhase.CANCELLED)
        ran = await driver.command(f"/resume {run}")
        assert (ran.ok, ran.code) == (False, "ENGINE_PRECONDITION_FAILED")

    enter(repo, script, ["what?"])


def test_s2_ac5_stop_in_the_middle_of_a_turn_cancels_the_run(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("tally")
        await driver.until_type(p.ModelRequested)
        assert (await driver.command("*stop")).ok
        assert (await driver.until_type(p.TurnFinished)).status == "cancelled"
        moved = driver.of(p.RunMoved)[-1]
        assert moved.after is RunPhase.CANCELLED and moved.error and moved.error.code == "ENGINE_ABORTED"

    model = ScriptedModel(["slow"], delay=5)
    drive(repo, script, model, agent="crew")


@pytest.mark.parametrize("said", ["/pause", "*pause"])
def test_s2_ac5_pause_puts_a_waiting_run_aside_and_resume_goes_on(repo: Path, crew: Path, said: str) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("tally")
        run = driver.session.state.runs.active
        await driver.command(said)
        assert driver.session.state.runs.active == ""
        assert (await driver.turn("hello")).answer == "chatting"
        await driver.command("/resume")
        await driver.until_type(p.TurnFinished)
        assert driver.session.state.runs.active == run

    enter(repo, script, ["what?", "chatting", "again: what?"])


def test_s2_ac5_in_agent_mode_the_menu_comes_before_chat(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        assert (await driver.turn("greet")).answer == "hello"
        assert (await driver.turn("tell me about birds")).answer == "birds sing"

    _, model = enter(repo, script, ["hello", "birds sing"])
    assert last_user(model, 0).startswith("Say hello")
    assert last_user(model, 1) == "tell me about birds"


def test_s2_ac5_an_unclear_input_is_answered_by_number_on_the_next(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        ran = await driver.command("count")
        event = ran.data["event"]
        assert event["type"] == "CLARIFY_CHOICE"
        candidates = {one["label"]: one["index"] for one in event["command"]["candidates"]}
        assert {"Item count words", "Item count lines"} <= set(candidates)
        assert f"{candidates['Item count lines']}. Item count lines" in ran.text
        await driver.turn(str(candidates["Item count lines"]))

    _, model = enter(repo, script, ["7"])
    assert last_user(model) == "Count the lines"


def test_s2_ac2_a_number_out_of_range_is_asked_back_and_gating_shifts_numbers(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        ran = await driver.command("99")
        assert ran.data["event"]["type"] == "CLARIFY_CHOICE"
        labels = [one["label"] for one in ran.data["event"]["command"]["candidates"]]
        assert len(labels) == len(MENU) + 2 and "Item browse" not in labels

    enter(repo, script)


def test_an_unknown_slash_word_is_refused_with_the_nearest_names_in_both_modes(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        ran = await driver.command("/tallly the words")
        assert (ran.ok, ran.code) == (False, "USAGE") and "/tally" in ran.text
        await driver.turn("/tally")  # an item of the menu may be called by a slash
        ran = await driver.command("/tally")
        assert (ran.ok, ran.code) == (False, "USAGE")
        assert not (await driver.command("/sotp")).ok
        assert len(driver.of(p.TurnStarted)) == 1

    enter(repo, script, ["what?"])


def test_a_slash_command_of_the_table_is_never_the_agents(repo: Path, crew: Path) -> None:
    write(crew, "crew", [item("status", action="Say how it stands")])

    async def script(driver: Driver) -> None:
        assert "agent     crew" in (await driver.command("/status")).text
        assert (await driver.turn("*status")).answer == "fine"

    enter(repo, script, ["fine"])


def test_a_persons_own_shell_line_is_neither_the_agents_nor_the_runs(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("tally")
        moves = len(driver.of(p.RunMoved))
        assert "count.py" in (await driver.turn("!ls tally")).answer
        assert len(driver.of(p.RunMoved)) == moves

    enter(repo, script, ["what?"], axes=AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED))


def test_entering_and_leaving_wait_for_a_running_turn(repo: Path, crew: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("hello")
        await driver.until_type(p.ModelRequested)
        assert not (await driver.command("/agents planner")).ok
        assert not (await driver.command("/dismiss")).ok
        await driver.command("/stop")
        await driver.until_type(p.TurnFinished)
        assert (await driver.command("/dismiss")).ok

    model = ScriptedModel(["slow"], delay=5)
    drive(repo, script, model, agent="crew")


def test_without_an_agent_menu_and_dismiss_say_so(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        for line in ("/menu", "/dismiss"):
            ran = await driver.command(line)
            assert (ran.ok, ran.code) == (False, "USAGE")
        assert (await driver.turn("5")).answer == "five"

    drive(repo, script, ScriptedModel(["five"]))


def test_a_record_of_runs_that_cannot_be_read_is_an_error_with_its_code(repo: Path, crew: Path) -> None:
    async def first(driver: Driver) -> None:
        await driver.turn("tally")

    enter(repo, first, ["what?"], settings={"runs.record": False})  # a damaged journal replays nothing
    with contextlib.closing(apsw.Connection(locate(str(repo)).database)) as connection:
        connection.execute("UPDATE journal SET data = '{' WHERE type = 'run_started'")

    async def second(driver: Driver) -> None:
        ran = await driver.command("again")
        assert (ran.ok, ran.code) == (False, "RUNS_INDEX_INVALID")
        assert (await driver.command("/resume run-1")).code == "RUNS_INDEX_INVALID"
        assert (await driver.turn("hello")).answer == "hi"

    enter(repo, second, ["hi"], settings={"runs.record": False})


def test_resume_goes_on_with_the_active_run_even_if_another_is_newer(repo: Path, crew: Path) -> None:
    async def other(driver: Driver) -> None:
        await driver.turn("tally")

    async def script(driver: Driver) -> None:
        await driver.turn("tally")
        run = driver.session.state.runs.active
        async with open_session(str(repo), agent="crew", model=ScriptedModel(["what?"])) as session:
            await other(Driver(session))
        assert (await driver.command("/resume")).data["event"]["run"]["run_id"] == run
        assert (await driver.until_type(p.TurnFinished)).answer == "still here"

    enter(repo, script, ["what?", "still here"])
