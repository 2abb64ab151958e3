"""The tools of MCP servers in a session: through the gate, by the user's rules, on record."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.settings.trust import set_trust
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Verdict
from quintet.domain.turn.tool_spec import CallStatus
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.places import TESTS
from tests.trusted import trust_now

pytestmark = pytest.mark.usefixtures("replays")

EVIL = TESTS / "mcp_servers/evil.py"
UNRESTRICTED = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.UNRESTRICTED)
RESTRICTED = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.RESTRICTED)
ECHO = call("mcp_tool", command="call_tool", server="evil", tool_name="echo", tool_args={"text": "hello"})


@pytest.fixture
def project(repo: Path) -> Path:
    """A trusted project whose .mcp.json names a server."""
    shutil.copy(EVIL, repo / "evil.py")
    server = {"command": sys.executable, "args": ["-S", str(repo / "evil.py")]}
    (repo / ".mcp.json").write_text(json.dumps({"mcpServers": {"evil": server}}))
    trust_now(repo)
    return repo


def turn(root: Path, steps: list[Any], answers: str = "", **options: Any) -> Driver:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        for choice in answers:
            await driver.answer(choice)
        await driver.until_type(p.TurnFinished)

    options.setdefault("axes", UNRESTRICTED)
    model = ScriptedModel([*([step] for step in steps), "done"])
    return drive(root, script, model, **{"person": True, **options})


def results(driver: Driver) -> list[tuple[CallStatus, str]]:
    return [(event.status, event.content) for event in driver.of(p.ToolFinished)]


def test_s0_what_the_settings_give_a_server_is_a_secret_that_it_may_say_again(project: Path) -> None:
    server = {"command": sys.executable, "args": ["-S", str(project / "told.py"), str(project / "told.json")]}
    server |= {"env": {"SHOP_API_KEY": "4-l1teral-key", "REGION": "europe-west"}}
    shutil.copy(EVIL.parent / "told.py", project / "told.py")
    tools = [{"name": "echo", "inputSchema": {"type": "object"}}]
    said = {"content": [{"type": "text", "text": "4-l1teral-key in europe-west"}]}
    answers = {"tools/list": {"tools": tools}, "resources/list": {"resources": []}, "tools/call": said}
    (project / "told.json").write_text(json.dumps(answers))
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"evil": server}}))
    trust_now(project)
    (status, said_then), *_ = results(turn(project, [ECHO], "y"))
    assert (status, said_then) == (CallStatus.OK, f"{'*' * 13} in europe-west")


def test_looking_at_the_users_servers_and_their_tools_is_not_asked_about(project: Path) -> None:
    (project / ".mcp.json").unlink()
    own = {"mcp.servers.evil.command": sys.executable, "mcp.servers.evil.args": ["-S", str(project / "evil.py")]}
    steps = [call("mcp_tool", command="list_servers"), call("mcp_tool", command="list_tools", server="evil")]
    driver = turn(project, steps, axes=RESTRICTED, person=False, settings=own)
    (_, servers), (status, tools) = results(driver)
    assert servers == f"evil  stdio  {sys.executable}"
    assert status is CallStatus.OK
    assert tools.startswith("evil: evil 6.66 · MCP ")
    assert "- echo(text)" in tools


def test_a_call_asks_even_at_unrestricted_and_the_question_shows_what_the_tool_would_be_told(project: Path) -> None:
    driver = turn(project, [ECHO], "n")
    asked = driver.of(p.QuestionAsked)[0]
    assert asked.text == "mcp_tool evil:echo?"
    assert (
        "Reason     the server decides what its tool does: it needs approval, unless one of your rules allows it"
        in (asked.detail)
    )
    assert "Always     in this project, until you run `quintet rules revoke`" in asked.detail
    assert '  "text": "hello"' in asked.detail
    assert results(driver) == [(CallStatus.DENIED, "not run: the user said no")]


def test_always_is_a_rule_for_exactly_that_tool_of_that_server(project: Path) -> None:
    other = call("mcp_tool", command="call_tool", server="evil", tool_name="counts")
    driver = turn(project, [ECHO, ECHO, other], "an")
    rule = driver.of(p.RuleMade)[0].rule
    assert (rule.tool, rule.pattern, rule.effects, rule.project) == (
        "mcp_tool",
        "evil:echo",
        (Effect.NETWORK,),
        str(project),
    )
    assert [decided.verdict for decided in driver.of(p.CallDecided)] == [Verdict.ASK, Verdict.ALLOW, Verdict.ASK]
    assert results(driver)[0] == results(driver)[1] == (CallStatus.OK, '{"text": "hello"}')


def test_with_nobody_to_ask_a_call_is_not_made(project: Path) -> None:
    driver = turn(project, [ECHO], person=False)
    ((status, said),) = results(driver)
    assert status is CallStatus.DENIED
    assert "Nobody can approve calls in this run" in said
    assert driver.of(p.TurnFinished)[0].status == "blocked"


def test_the_servers_of_a_folder_that_is_not_trusted_are_not_there(project: Path) -> None:
    set_trust(locate(str(project)).trust_file, str(project), False)
    driver = turn(project, [call("mcp_tool", command="list_servers"), ECHO], "y")
    (_, servers), (status, said) = results(driver)
    assert servers == "(.mcp.json is ignored until you trust this folder (`quintet trust`))"
    assert status is CallStatus.ERROR
    assert "there is no server evil" in said


def test_what_servers_are_told_in_settings_is_not_in_the_recording(project: Path, tmp_path: Path) -> None:
    options = {"mcp.servers.mine.command": "true", "mcp.servers.mine.env": {"TOKEN": "hunter2-hunter2"}}
    turn(project, [call("mcp_tool", command="list_servers")], settings=options)
    held = [path for path in (tmp_path / "state").rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]
    assert held == []
