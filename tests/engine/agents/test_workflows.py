"""Runs over workflows: step by step along the graph, waiting for the user, to the end; and what stops them."""

import json
from pathlib import Path
from typing import Any

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.models.registry import Models
from quintet.domain.agents.run import RunPhase
from quintet.domain.base.errors import ModelRateLimited
from quintet.domain.journal import protocol as p
from quintet.domain.settings.settings import Settings
from quintet.domain.turn.messages import Request, Role
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.engine.packages import CHOICE, agent, graph, item, row, write


def package(repo: Path, files: dict[str, str], *names: str) -> Path:
    """An agent `crew` whose menu starts the workflows of these names, in a folder with an agent `mender`."""
    folder = repo / ".quintet" / "agents" / "crew"
    write(folder, "crew", [item(name, workflow=name) for name in names], files)
    (folder / "mender.agent.yaml").write_text(json.dumps(agent("mender", [item("mend", action="Mend")])))
    return folder


def run(repo: Path, script: Any, replies: Any, **options: Any) -> tuple[Driver, ScriptedModel]:
    model = ScriptedModel(list(replies))
    return drive(repo, script, model, agent="crew", **options), model


def finish(way: str = "", result: str = "") -> list[Any]:
    return [call("finish_step", way=way, result=result)]


def steps(driver: Driver) -> list[str]:
    return [event.node for event in driver.of(p.StepBegun)]


def told(request: Request) -> list[str]:
    return [message.text for message in request.messages if message.role is Role.USER and not message.passing]


def said_last(request: Request) -> str:
    """What the request alone is told: where it is in its workflow."""
    return request.messages[-1].text if request.messages[-1].passing else ""


def test_a_row_of_steps_is_followed_to_its_end(repo: Path) -> None:
    package(repo, row("tally", "Count.", "Check.", "Write it down."), "tally")

    async def script(driver: Driver) -> None:
        finished = await driver.turn("tally\nthe words")
        assert (finished.status, finished.answer) == ("done", "all done")
        moved = driver.of(p.RunMoved)
        assert [event.after for event in moved] == [RunPhase.RUNNING, RunPhase.COMPLETED]
        assert driver.session.state.runs.active == ""

    driver, model = run(repo, script, [finish(result="7"), finish(), finish(), "all done"])
    assert steps(driver) == ["step-01-s", "step-02-s", "step-03-s"]
    assert told(model.requests[0]) == ["tally\n\nthe words", "Count."]
    assert told(model.requests[2])[-1] == "Write it down."
    place = said_last(model.requests[1])
    assert "Workflow: tally\n# tally\nStep: Step 2" in place and "- step-01-s → next: 7" in place
    assert model.requests[0].messages[0] == model.requests[2].messages[0]  # the head stays over the steps
    assert "finish_step" in [tool.name for tool in model.requests[0].tools]
    assert "finish_step" not in [tool.name for tool in model.requests[3].tools]
    kept = Path(locate(str(repo)).runs, driver.of(p.RunStarted)[0].run.run_id)
    assert (kept / "01-step-01-s.md").read_text() == "7"


def test_a_graph_is_followed_along_the_ways_that_are_chosen_with_each_steps_agent(repo: Path) -> None:
    package(repo, CHOICE, "choice")

    async def script(driver: Driver) -> None:
        await driver.turn("choice")

    driver, model = run(repo, script, [finish(), finish("bad"), finish(), "it is mended"])
    assert steps(driver) == ["look", "choose", "mend"]
    assert told(model.requests[0])[-1] == f"Look at {repo}."
    assert "Possible next steps: good; bad" in said_last(model.requests[1])
    personas = ["You are Mender" in request.messages[0].text for request in model.requests]
    assert personas == [False, False, True, False]
    assert driver.of(p.RunMoved)[-1].after is RunPhase.COMPLETED
    ways = [(event.node, event.way, event.target) for event in driver.of(p.StepFinished)]
    assert ways == [
        ("look", "next", "choose"),
        ("choose", "bad", "mend"),
        ("mend", "mended", "join"),
        ("join", "next", "end"),
        ("end", "complete", ""),
    ]


@pytest.mark.parametrize("way", ["", "end", "next", "look", "nowhere"])
def test_s2_the_engine_moves_only_along_edges(repo: Path, way: str) -> None:
    package(repo, CHOICE, "choice")

    async def script(driver: Driver) -> None:
        await driver.turn("choice")
        assert steps(driver) == ["look", "choose"]

    _, model = run(repo, script, [finish(), finish(way), "which way?"])
    assert model.requests[2].messages[-2].text == f'way "{way}": the ways from choose are: good; bad'


def test_a_step_is_finished_once_however_often_the_model_says_so_in_one_breath(repo: Path) -> None:
    package(repo, row("tally", "Count.", "Check.", "Write."), "tally")

    async def script(driver: Driver) -> None:
        await driver.turn("tally")
        assert steps(driver) == ["step-01-s", "step-02-s"]

    run(repo, script, [[*finish(), *finish()], "waiting"])


def test_s2_a_reply_without_a_call_waits_for_the_user_and_goes_on_with_the_answer(repo: Path) -> None:
    package(repo, row("tally", "Ask what to count.", "Count."), "tally")

    async def script(driver: Driver) -> None:
        finished = await driver.turn("tally")
        assert finished.answer == "words or lines?"
        assert driver.of(p.RunMoved)[-1].after is RunPhase.WAITING_USER
        assert (await driver.turn("lines")).answer == "12 lines"
        assert driver.of(p.RunMoved)[-1].after is RunPhase.COMPLETED
        assert (await driver.turn("hello")).answer == "chat again"

    driver, model = run(repo, script, ["words or lines?", finish(result="lines"), finish(), "12 lines", "chat again"])
    assert told(model.requests[1])[-1] == "lines"
    assert len({event.run for event in driver.of(p.TurnStarted)}) == 2


def test_a_row_ends_early_when_the_model_completes_it_and_a_graph_does_not(repo: Path) -> None:
    package(repo, {**row("tally", "Count.", "Write."), **CHOICE}, "tally", "choice")

    async def script(driver: Driver) -> None:
        assert (await driver.turn("tally")).answer == "there is nothing to count"
        assert driver.of(p.RunMoved)[-1].after is RunPhase.COMPLETED
        await driver.turn("choice")
        assert driver.of(p.RunMoved)[-1].after is RunPhase.WAITING_USER

    ends = [call("complete", final_answer="there is nothing to count")]
    run(repo, script, [ends, ends])


def test_a_workflow_calls_another_and_goes_on_behind_it(repo: Path) -> None:
    nodes = [
        {"id": "first", "type": "step", "text": "Begin."},
        {"id": "inner", "type": "subworkflow", "workflowId": "tally"},
        {"id": "last", "type": "step", "text": "Close."},
    ]
    outer = graph("outer", nodes, [("first", "inner", "next"), ("inner", "last", "next")])
    package(repo, {**outer, **row("tally", "Count.")}, "outer")

    async def script(driver: Driver) -> None:
        await driver.turn("outer")
        assert driver.of(p.RunMoved)[-1].after is RunPhase.COMPLETED

    driver, _ = run(repo, script, [finish(), finish(), finish(), "closed"])
    assert steps(driver) == ["first", "step-01-s", "last"]


def test_an_end_with_instructions_is_a_step_and_then_the_end(repo: Path) -> None:
    nodes = [{"id": "only", "type": "step", "text": "Work."}, {"id": "end", "type": "end", "text": "Say goodbye."}]
    package(repo, graph("short", nodes, [("only", "end", "next")]), "short")

    async def script(driver: Driver) -> None:
        await driver.turn("short")
        assert driver.of(p.RunMoved)[-1].after is RunPhase.COMPLETED

    driver, _ = run(repo, script, [finish(), finish(), "goodbye"])
    assert steps(driver) == ["only", "end"]


# ── what stops a run


def failure(driver: Driver) -> tuple[RunPhase, str]:
    moved = driver.of(p.RunMoved)[-1]
    return moved.after, moved.error.code if moved.error else ""


def test_s2_too_many_requests_end_the_turn_and_the_next_input_goes_on(repo: Path) -> None:
    package(repo, row("tally", *["Count."] * 4), "tally")

    async def script(driver: Driver) -> None:
        await driver.turn("tally")
        assert failure(driver) == (RunPhase.FAILED, "ENGINE_MAX_TURNS_EXCEEDED")
        assert driver.session.state.runs.active
        assert (await driver.turn("go on")).answer == "done"
        assert failure(driver) == (RunPhase.COMPLETED, "")

    run(repo, script, [*[finish()] * 4, "done"], settings={"limits.max_turns": 3})


def test_s2_a_run_that_repeats_itself_is_a_loop(repo: Path) -> None:
    package(repo, row("tally", "Count."), "tally")

    async def script(driver: Driver) -> None:
        await driver.turn("tally")
        assert failure(driver) == (RunPhase.FAILED, "ENGINE_LOOP_DETECTED")

    run(repo, script, [[call("Read", file_path="tally/count.py")]] * 4)


def test_s2_a_workflow_that_goes_round_with_nothing_to_do_is_a_loop(repo: Path) -> None:
    nodes = [{"id": "go", "type": "step", "text": "Go."}, {"id": "a", "type": "merge"}, {"id": "b", "type": "merge"}]
    package(repo, graph("round", nodes, [("go", "a", "next"), ("a", "b", "next"), ("b", "a", "next")]), "round")

    async def script(driver: Driver) -> None:
        await driver.turn("round")
        assert failure(driver) == (RunPhase.FAILED, "ENGINE_LOOP_DETECTED")

    run(repo, script, [finish()])


def test_s2_a_workflow_that_calls_itself_is_a_loop(repo: Path) -> None:
    package(repo, graph("self", [{"id": "me", "type": "subworkflow", "workflowId": "self"}], []), "self")

    async def script(driver: Driver) -> None:
        await driver.turn("self")
        assert failure(driver) == (RunPhase.FAILED, "ENGINE_LOOP_DETECTED")

    run(repo, script, [])


@pytest.mark.parametrize(
    ("node", "code"),
    [
        ({"type": "subworkflow"}, "WORKFLOW_REF_REQUIRED"),
        ({"type": "subworkflow", "workflowId": "nowhere"}, "WORKFLOW_REF_UNKNOWN"),
        ({"type": "step", "text": "Work.", "agentId": "nobody"}, "AGENT_NOT_FOUND"),
    ],
)
def test_s2_a_step_that_leads_nowhere_fails_the_run(repo: Path, node: dict[str, str], code: str) -> None:
    package(repo, graph("odd", [{"id": "odd", **node}], []), "odd")

    async def script(driver: Driver) -> None:
        assert (await driver.turn("odd")).status == "failed"
        assert failure(driver) == (RunPhase.FAILED, code)
        assert driver.session.state.runs.active

    _, model = run(repo, script, [])
    assert model.requests == []


@pytest.mark.parametrize("trick", ["gone", "link"])
def test_s2_a_steps_file_that_is_gone_or_leads_out_fails_the_run_and_mended_goes_on(repo: Path, trick: str) -> None:
    folder = package(repo, row("tally", "Count.", "Write."), "tally")
    second = folder / "workflows" / "tally" / "steps" / "step-02-s.md"
    (repo.parent / "outside.md").write_text("secret")

    async def script(driver: Driver) -> None:
        await driver.turn("tally")
        second.unlink()
        if trick == "link":
            second.symlink_to(repo.parent / "outside.md")
        await driver.turn("go on")
        assert failure(driver)[1] == {"gone": "ENGINE_PRECONDITION_FAILED", "link": "PERMISSION_DENIED"}[trick]
        second.unlink(missing_ok=True)
        second.write_text("Write it again.")
        assert (await driver.turn("now")).answer == "written"

    _, model = run(repo, script, ["wait", finish(), finish(), "written"])
    assert told(model.requests[2])[-1] == "Write it again."
    assert not any("secret" in text for request in model.requests for text in told(request))


def test_s2_a_model_that_fails_fails_the_run_and_leaves_it_active(repo: Path) -> None:
    package(repo, row("tally", "Count."), "tally")

    async def script(driver: Driver) -> None:
        await driver.turn("tally")
        active = driver.session.state.runs.active
        await driver.turn("go on")
        assert failure(driver) == (RunPhase.FAILED, "LLM_ERROR")
        moved = driver.of(p.RunMoved)[-1]
        assert moved.error and moved.error.message.startswith("LLM_RATE_LIMITED:")
        assert driver.session.state.runs.active == active
        assert (await driver.turn("again")).answer == "better"

    run(repo, script, ["what?", ModelRateLimited("slow down"), "better"], settings={"limits.retries": 0})


def test_s2_a_call_that_nobody_can_allow_leaves_the_run_waiting(repo: Path) -> None:
    package(repo, row("tally", "Publish."), "tally")

    async def script(driver: Driver) -> None:
        await driver.turn("tally")
        assert failure(driver) == (RunPhase.WAITING_USER, "TOOL_EXEC_FAILED")

    run(repo, script, [[call("bash", command="git push origin main")]])


def test_s2_an_interrupted_run_goes_on_with_resume(repo: Path) -> None:
    package(repo, row("tally", "Count."), "tally")

    async def script(driver: Driver) -> None:
        await driver.session.say("tally")
        await driver.until_type(p.ModelRequested)
        await driver.session.submit(p.Interrupt())
        await driver.until_type(p.TurnFinished)
        assert failure(driver) == (RunPhase.WAITING_USER, "ENGINE_ABORTED")
        await driver.command("/resume")
        assert (await driver.until_type(p.TurnFinished)).answer == "counted"
        assert len(driver.of(p.StepBegun)) == 1

    drive(repo, script, ScriptedModel(["slow", "counted"], delay=0.4), agent="crew")


def test_pause_holds_a_run_between_its_steps(repo: Path) -> None:
    package(repo, row("tally", "Count.", "Write."), "tally")

    async def script(driver: Driver) -> None:
        await driver.session.say("tally")
        await driver.until_type(p.ModelRequested)
        assert (await driver.command("*pause")).ok
        await driver.until(lambda e: isinstance(e, p.StepBegun) and e.node == "step-02-s")
        assert driver.session.state.turns.paused
        await driver.command("/resume")
        assert (await driver.until_type(p.TurnFinished)).answer == "done"

    model = ScriptedModel([finish(), finish(), "done"], delay=0.3)  # so that the pause comes while it is asked
    drive(repo, script, model, agent="crew")


# ── packages with a manifest


def manifest(repo: Path, workflows: Any, files: dict[str, str]) -> Path:
    folder = repo / ".quintet" / "agents" / "crew"
    body = {"name": "crew", "version": "1", "entry": {"agents": "agents.json"}, "workflows": workflows}
    one = agent("crew", [item("tally", workflow="tally")])["agent"]
    one["id"] = one["metadata"].pop("id")
    files = {"bmad.json": json.dumps(body), "agents.json": json.dumps({"agents": [one]}), **files}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("gone", "code"),
    [
        ("", ""),
        ("workflows/tally/workflow.md", "WORKFLOW_FILE_NOT_FOUND"),
        ("tally.json", "GRAPH_FILE_NOT_FOUND"),
        ("bmad.json", "MANIFEST_INVALID"),
    ],
)
def test_s2_what_a_manifest_lists_and_is_not_there_has_a_code_of_its_own(repo: Path, gone: str, code: str) -> None:
    nodes = [{"id": "go", "type": "step", "text": "Go."}]
    files = graph("tally", nodes, [])
    files["tally.json"] = files.pop("workflows/tally/workflow.graph.json").replace("steps/", "workflows/tally/steps/")
    listed = [{"id": "tally", "workflow": "workflows/tally/workflow.md", "graph": "tally.json"}]
    folder = manifest(repo, listed, files)

    async def script(driver: Driver) -> None:
        if gone == "bmad.json":
            (folder / gone).write_text("{")
        elif gone:
            (folder / gone).unlink()
        if code:
            assert (await driver.command("tally")).code == code
        else:
            assert (await driver.turn("tally")).answer == "gone"

    run(repo, script, ["gone"])


def test_a_workflow_of_another_sort_of_package_is_found_by_its_path_in_the_project(repo: Path) -> None:
    """As BMAD's own agents name them: by their place in the project, outside the agent's folder."""
    folder = repo / ".quintet" / "agents" / "crew"
    write(folder, "crew", [item("tally", exec="{project-root}/flows/tally/workflow.md")])
    for name, text in row("tally", "Count.").items():
        place = repo / name.replace("workflows/", "flows/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    async def script(driver: Driver) -> None:
        await driver.turn("tally")
        assert steps(driver) == ["step-01-s"]

    run(repo, script, ["hm"])


# ── offline


def test_the_offline_rules_follow_a_row_of_steps_they_understand(repo: Path) -> None:
    package(repo, row("look", "find words", "summarise the project"), "look")

    async def script(driver: Driver) -> None:
        finished = await driver.turn("look")
        assert finished.status == "done", finished.answer
        assert driver.of(p.RunMoved)[-1].after is RunPhase.COMPLETED
        assert "tally/count.py" in driver.of(p.StepFinished)[0].result

    drive(repo, script, Models(Settings()).get("builtin"), agent="crew")


def test_the_offline_rules_leave_a_choice_to_the_person(repo: Path) -> None:
    nodes = [
        {"id": "look", "type": "decision", "text": "find words"},
        {"id": "more", "type": "step", "text": "summarise the project"},
        {"id": "end", "type": "end"},
    ]
    package(
        repo, graph("look", nodes, [("look", "more", "more"), ("look", "end", "enough"), ("more", "end", "n")]), "look"
    )

    async def script(driver: Driver) -> None:
        await driver.turn("look")
        assert driver.of(p.RunMoved)[-1].after is RunPhase.WAITING_USER
        await driver.turn("more")
        assert driver.of(p.RunMoved)[-1].after is RunPhase.COMPLETED
        assert steps(driver) == ["look", "more"]

    drive(repo, script, Models(Settings()).get("builtin"), agent="crew")


def test_a_steps_instructions_outlive_a_summary_of_the_conversation(repo: Path) -> None:
    package(repo, row("tally", "Count with care."), "tally")

    async def script(driver: Driver) -> None:
        await driver.turn("tally")
        for number in range(8):
            await driver.turn(f"more {number}")
        assert (await driver.command("/compact")).ok
        await driver.turn("and now?")

    settings = {"compression.keep_messages": 4, "compression.by": "rules"}
    _, model = run(repo, script, ["hm"] * 10, settings=settings)
    assert "Count with care." not in told(model.requests[-1])
    assert "Its instructions:\nCount with care." in said_last(model.requests[-1])
    assert "Its instructions" not in said_last(model.requests[0])
