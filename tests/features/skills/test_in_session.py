"""Skills in a session: in the head, used by the model and by the user, and what they keep a turn to."""

import json
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.settings.rule_book import FileRuleBook
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.rules import Rule
from quintet.domain.turn.messages import Request, Role
from quintet.domain.turn.tool_spec import CallStatus
from quintet.testing import Reply, ScriptedModel, call
from tests.engine.driving import BUILD, Driver, drive
from tests.features.skills.made import home_skills, trust_now, write_skill

pytestmark = pytest.mark.usefixtures("replays")


def results(driver: Driver) -> list[tuple[str, CallStatus, str]]:
    return [(one.tool, one.status, one.content) for one in driver.of(p.ToolFinished)]


def head(request: Request) -> str:
    return request.messages[0].text


async def one_turn(driver: Driver) -> None:
    await driver.turn("do it")


def test_a_model_is_told_of_skills_in_the_head_and_reads_one_when_it_uses_it(repo: Path) -> None:
    body = "Boil $1 of water."
    write_skill(home_skills(), "tea", "argument-hint: WATER\n", body, scripts__boil_sh="echo boiled")
    model = ScriptedModel([[call("use_skill", name="tea", arguments="'a litre'")], "done"])
    driver = drive(repo, one_turn, model)
    assert "- tea: What tea is for." in head(model.requests[0]) and "Boil" not in head(model.requests[0])
    ((tool, status, content),) = results(driver)
    assert (tool, status) == ("use_skill", CallStatus.OK)
    assert "Boil a litre of water." in content and "scripts/boil.sh" in content
    assert head(model.requests[0]) == head(model.requests[1])


def test_prices_and_columns_in_the_text_of_a_skill_stay_as_they_are(repo: Path) -> None:
    body = "Count by awk '{print $1}'; over $5,000 ask."
    write_skill(home_skills(), "pay", body=body)
    model = ScriptedModel([[call("use_skill", name="pay", arguments="march april")], "done"])
    ((_, _, content),) = results(drive(repo, one_turn, model))
    assert body in content and "Arguments: march april" in content


def test_the_head_stays_as_it_is_and_changes_come_as_a_message(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("first")
        write_skill(home_skills(), "late")
        await driver.turn("second")

    model = ScriptedModel(["one", "two"])
    drive(repo, script, model)
    assert head(model.requests[0]) == head(model.requests[1])
    told = [message.text for message in model.requests[1].messages[1:]]
    assert any("Skills that are new or have changed:\n- late: What late is for." in text for text in told)


def test_the_user_begins_a_turn_by_a_skill_with_its_arguments(repo: Path) -> None:
    write_skill(home_skills(), "tea", body="Brew $ARGUMENTS now.")
    (home_skills(".claude/commands")).mkdir(parents=True)
    (home_skills(".claude/commands") / "pour.md").write_text("Pour $1.")

    async def script(driver: Driver) -> None:
        await driver.turn('/tea "green one"')
        await driver.turn("/pour slowly")
        assert not (await driver.command("/teaa")).ok

    model = ScriptedModel(["one", "two"])
    driver = drive(repo, script, model)
    asked = [request.messages[-1].text for request in model.requests]
    assert '/tea "green one"' in asked[0] and 'Brew "green one" now.' in asked[0]
    assert "/pour slowly" in asked[1] and "Pour slowly." in asked[1]
    assert [one.skill.name for one in driver.of(p.TurnStarted) if one.skill] == ["tea", "pour"]


def test_s3_10_3_a_skill_that_mutates_production_is_started_by_the_user_alone(repo: Path) -> None:
    write_skill(home_skills(), "launch", "side-effects: production-mutation\nmodel-invocable: true\n", "Launch.")

    async def script(driver: Driver) -> None:
        await driver.turn("launch it")
        await driver.turn("/launch now")

    model = ScriptedModel([[call("use_skill", name="launch")], [call("use_skill", name="/LAUNCH")], "no", "yes"])
    driver = drive(repo, script, model)
    assert "launch" not in head(model.requests[0])
    assert [status for _, status, _ in results(driver)] == [CallStatus.DENIED, CallStatus.ERROR]
    assert "Launch." in model.requests[-1].messages[-1].text


SUMS = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    said = [os.path.exists(path) for path in (sys.argv[1], os.environ["OUT"])]
    told = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "sums", "version": "1"}},
        "tools/list": {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": f"saw {said}"}]},
    }
    result = told.get(asked["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


@pytest.mark.system("bwrap")
def test_servers_of_a_skill_are_there_once_it_is_used_in_the_sandbox_and_asked_about(
    repo: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "home/private.txt"
    outside.write_text("not yours")
    script = {"command": "python3", "args": ["${SKILL_ROOT}/sums.py", "${SKILL_ROOT}/SKILL.md"]}
    servers = {
        "sums": {**script, "env": {"OUT": str(outside)}},
        "nosy": {**script, "env": {"KEY": "${MY_API_KEY}"}},
        "mine": script,
    }
    write_skill(home_skills(), "tea", sums_py=SUMS, mcp_json=json.dumps({"mcpServers": servers}))
    look = call("mcp_tool", command="call_tool", server="sums", tool_name="look", tool_args={})
    let = Rule("let", "allow", "mcp_tool", "sums:look", effects=(Effect.NETWORK, Effect.EXECUTE))

    async def script_of(driver: Driver) -> None:
        await driver.turn("before")
        await driver.turn("use it")
        FileRuleBook(locate(str(repo)).rules_file).add(let)
        await driver.turn("again")

    steps = {"before": [[look]], "use it": [[call("use_skill", name="tea")], [look]], "again": [[look]]}

    def reply(request: Request) -> Reply:
        """A call that is not run has the turn looked at again, as often as that."""
        texts = [message.text for message in request.messages]
        begun = max(number for number, text in enumerate(texts) if text in steps)
        done = sum(message.role is Role.ASSISTANT for message in request.messages[begun:])
        return [*steps[texts[begun]], "DONE"][min(done, len(steps[texts[begun]]))]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MY_API_KEY", "hunter2-hunter2")
        driver = drive(repo, script_of, ScriptedModel([reply] * 20), settings={"mcp.servers.mine.command": "true"})
    before, used, asked, ran = results(driver)
    assert before[1] is not CallStatus.OK
    assert "Its MCP servers are there for mcp_tool now: sums." in used[2]
    assert "nosy cannot be used: it asks for MY_API_KEY" in used[2]
    assert "mine cannot be used: its name is taken by a server of your settings" in used[2]
    assert asked[1] is CallStatus.DENIED and "the server decides what its tool does" in asked[2]
    assert ran[1] is CallStatus.OK and "saw [True, False]" in ran[2], ran


def test_a_skill_is_not_used_below_its_profile(repo: Path) -> None:
    write_skill(home_skills(), "strong", "permission-profile: trusted\n")

    async def script(driver: Driver) -> None:
        await driver.turn("do it")
        assert "needs profile trusted" in (await driver.command("/strong")).text
        await driver.command("/permission-profile trusted")
        await driver.turn("/strong")

    model = ScriptedModel([[call("use_skill", name="strong")], "no", "yes"])
    normal = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
    driver = drive(repo, script, model, axes=normal)
    assert results(driver)[0][1] is CallStatus.DENIED and "needs profile trusted" in results(driver)[0][2]
    assert driver.axes.permission_profile is PermissionProfile.TRUSTED  # the user's doing; no skill turns a dial


def test_allowed_tools_keep_a_turn_to_them_and_the_next_one_is_free(repo: Path) -> None:
    write_skill(home_skills(), "look", "allowed-tools: Read Bash(git status)\n")
    edit = call("Write", file_path="new.txt", content="x")

    async def script(driver: Driver) -> None:
        await driver.turn("/look around")
        await driver.turn("write it")

    replies = [
        [edit],
        [call("bash", command="touch y")],
        [call("Read", file_path="tally/count.py")],
        "one",
        [edit],
        "two",
    ]
    driver = drive(repo, script, ScriptedModel(replies))
    statuses = [(tool, status) for tool, status, _ in results(driver)]
    assert statuses[:3] == [("Write", CallStatus.DENIED), ("bash", CallStatus.DENIED), ("Read", CallStatus.OK)]
    assert statuses[3] == ("Write", CallStatus.OK)
    assert "skill look works with" in results(driver)[0][2]


@pytest.mark.system("bwrap")
def test_scripts_of_a_skill_in_the_home_run_in_the_sandbox_with_its_folder_readable(repo: Path) -> None:
    place = write_skill(
        home_skills(), "run", scripts__go_sh=". $(dirname $0)/part.sh", scripts__part_sh="echo from-the-skill"
    )
    (home_skills() / "other").mkdir()
    (home_skills() / "other/secret.txt").write_text("not-for-you")
    lines = [f"sh {place}/scripts/go.sh", f"echo no >> {place}/SKILL.md", f"cat {home_skills()}/other/secret.txt"]

    (before,) = results(drive(repo, one_turn, ScriptedModel([[call("bash", command=lines[0])], "no"])))
    assert "from-the-skill" not in before[2]

    async def script(driver: Driver) -> None:
        await driver.turn("/run")

    replies = [*([call("bash", command=line)] for line in lines), "done"]
    ran, wrote, other = results(drive(repo, script, ScriptedModel(replies)))
    assert ran[1] is CallStatus.OK and "from-the-skill" in ran[2], ran
    assert wrote[1] is not CallStatus.OK and "no" not in (place / "SKILL.md").read_text().splitlines()
    assert "not-for-you" not in other[2]


def test_schemas_check_what_goes_in_and_what_comes_out(repo: Path) -> None:
    schema = '{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}'
    write_skill(home_skills(), "sum", schemas__input_json=schema, schemas__output_json=schema)
    replies = [
        [call("use_skill", name="sum", arguments='{"n": "one"}')],
        [call("use_skill", name="sum", arguments='{"n": 1}')],
        [call("check_skill_result", name="sum", result={})],
        [call("check_skill_result", name="sum", result={"n": 2})],
        "done",
    ]
    found = results(drive(repo, one_turn, ScriptedModel(replies)))
    assert [status for _, status, _ in found] == [CallStatus.ERROR, CallStatus.OK, CallStatus.ERROR, CallStatus.OK]
    assert "arguments.n" in found[0][2] and "does not fit schemas/output.json" in found[2][2]


def test_items_of_checklists_are_what_the_turn_must_show(repo: Path) -> None:
    write_skill(home_skills(), "list", checklists__done_md="# Done\n- [ ] it was tried\n")
    claim = {"id": "1", "explanation": "tried it with the tests", "evidence": "they pass"}
    shown = [[call("TodoStart", id="1")], [call("TodoClaim", **claim)]]
    checks = {"runs.delivery_check": True}

    for replies, state in ((["done"] * 4, "NEEDS_WORK"), ([*shown, "done"], "DONE")):
        driver = drive(
            repo,
            lambda driver: _ignored(driver.turn("/list make it")),
            ScriptedModel([[call("Write", file_path=f"{state}.txt", content="a")], *replies]),
            axes=AxesChange(WorkMode.BUILD, RunControl.ASSISTED, PermissionProfile.TRUSTED),
            settings=checks,
        )
        checked = driver.of(p.DeliveryChecked)
        assert checked[-1].state == state, checked
    assert "it was tried" in [todo.content.partition(": ")[2] for todo in driver.session.state.work.todos.values()]


async def _ignored(running: object) -> None:
    await running  # type: ignore[misc]


def test_request_tools_names_the_skills_that_match(repo: Path) -> None:
    write_skill(home_skills(), "brew-tea", "description: Make a pot of tea.\n")
    replies = [[call("request_tools", tool_names=["tea pot"])], "done"]
    ((_, status, content),) = results(drive(repo, one_turn, ScriptedModel(replies), axes=BUILD))
    assert status is CallStatus.OK and "brew-tea: Make a pot of tea." in content


def test_a_trusted_project_has_its_own_skills_and_a_change_is_refused(repo: Path) -> None:
    place = write_skill(repo / ".agents/skills", "ours", body="Our way.")
    trust_now(repo)

    async def script(driver: Driver) -> None:
        await driver.turn("/ours")
        (place / "more.md").write_text("new")
        assert "new or changed since you trusted" in (await driver.command("/ours")).text

    model = ScriptedModel(["done"])
    drive(repo, script, model)
    assert "Our way." in model.requests[0].messages[-1].text
