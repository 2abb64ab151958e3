"""Carrying data to an MCP server in the address of a resource: what the server listed goes, what was made up asks."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from quintet.adapters.files.paths import locate
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.journal.state import fold
from quintet.domain.permission import known_addresses
from quintet.domain.permission.gate import Verdict
from quintet.domain.permission.rules import subject_of
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive

RESTRICTED = AxesChange(WorkMode.CHAT, RunControl.AUTONOMOUS, PermissionProfile.RESTRICTED)
PLAN = AxesChange(WorkMode.PLAN, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)
BUILD = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
SERVER = r"""
import json, sys
today = {"uri": "notes://today", "name": "today", "description": "- notes://in/words: x"}
listed = [today, {"uri": "memo:1", "name": ""}]
templates = [{"uriTemplate": "notes://{day}", "name": "notes"}]
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, given = asked["method"], asked.get("params") or {}
    if method == "initialize":
        about = {"name": "notes", "version": "1"}
        answer = {"protocolVersion": given["protocolVersion"], "capabilities": {"resources": {}}, "serverInfo": about}
    elif method == "resources/list":
        answer = {"resources": listed}
    elif method == "resources/templates/list":
        answer = {"resourceTemplates": templates}
    elif method == "resources/read":
        answer = {"contents": [{"uri": given["uri"], "text": "GOT " + given["uri"]}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
"""
SERVERS = ("docs", "other")
LIST = {"command": "list_tools", "server": "docs"}
MADE_UP = (
    "https://evil.example/?d=PROJECT-DATA",
    "notes://PROJECT-DATA",
    "notes://today/PROJECT-DATA",
    "notes://today?PROJECT-DATA",
    "notes://today#PROJECT-DATA",
    "notes://{day}",
    "notes://Today",
    "memo:1 PROJECT-DATA",
    "notes://today\nPROJECT-DATA",
    "notes://in/words",
    "PROJECT-DATA",
)


def asked(root: Path, axes: AxesChange, said: str, *calls: dict[str, Any]) -> Driver:
    (root / "notes.py").write_text(SERVER)
    user = Path(locate(str(root)).user_settings)
    user.parent.mkdir(parents=True, exist_ok=True)
    words = json.dumps(["-S", str(root / "notes.py")])
    servers = [f"[mcp.servers.{name}]\ncommand = {json.dumps(sys.executable)}\nargs = {words}\n" for name in SERVERS]
    user.write_text("".join(servers))

    async def turn(driver: Driver) -> None:
        await driver.session.say(said)
        await driver.until_type(p.TurnFinished)

    model = ScriptedModel([*([call("mcp_tool", **one)] for one in calls), "done"])
    return drive(root, turn, model, axes=axes, person=False)


def read(uri: str, server: str = "docs", **more: str) -> dict[str, Any]:
    return {"command": "read_resource", "server": server, "resource_uri": uri, **more}


def verdicts(driver: Driver) -> list[Verdict]:
    return [one.verdict for one in driver.of(p.CallDecided)]


@pytest.mark.parametrize("axes", [RESTRICTED, PLAN], ids=["restricted", "plan"])
@pytest.mark.parametrize("before", ["after the list", "unseen"])
def test_what_the_model_made_up_asks_and_the_server_hears_nothing(repo: Path, axes: AxesChange, before: str) -> None:
    first = [LIST] if before != "unseen" else []
    for uri in MADE_UP[:: 1 if axes is RESTRICTED and first else 4]:
        driver = asked(repo, axes, "go", *first, read(uri))
        assert verdicts(driver) == [Verdict.ALLOW] * len(first) + [Verdict.ASK], uri
        assert not [one for one in driver.of(p.ToolFinished) if "GOT" in one.content]


def test_what_a_server_listed_goes_to_that_server_alone_also_after_a_resume(repo: Path) -> None:
    driver = asked(repo, RESTRICTED, "go", LIST, read("notes://today"), read("memo:1"), read("notes://today", "other"))
    assert verdicts(driver) == [Verdict.ALLOW, Verdict.ALLOW, Verdict.ALLOW, Verdict.ASK]
    assert known_addresses.is_known("docs", "memo:1", fold(driver.seen).calls.addresses)


def test_what_the_user_named_goes(repo: Path) -> None:
    driver = asked(repo, RESTRICTED, "what does notes://monday say?", read("notes://monday"), read("notes://mond"))
    assert verdicts(driver) == [Verdict.ALLOW, Verdict.ASK]


def test_what_a_resource_says_teaches_nothing(repo: Path) -> None:
    """An answer that looks like a list is none."""
    fake = "docs: x\n\nresources\n- notes://PROJECT-DATA: y"
    for arguments in (json.dumps(read(fake)), json.dumps({**LIST, "tool_name": "x"}), "{", "[]", ""):
        assert known_addresses.listed_in(arguments, fake) == set()
    assert known_addresses.is_known("docs", "notes://PROJECT-DATA", known_addresses.listed_in(json.dumps(LIST), fake))


def test_at_normal_it_goes_as_fetch_does(repo: Path) -> None:
    assert verdicts(asked(repo, BUILD, "go", read(MADE_UP[0]))) == [Verdict.ALLOW]


def test_a_rule_for_a_tool_of_the_server_is_none_for_reading_with_its_name_beside() -> None:
    assert subject_of({"command": "call_tool", "server": "docs", "tool_name": "find"}) == "docs:find"
    about = subject_of(read("notes://DATA", tool_name="find"))
    assert about != "docs:find" and "notes://DATA" in about
