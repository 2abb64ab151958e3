"""`quintet mcp`: which servers there are, what they have, whether they work, and a call by the user's own hand."""

import json
import shutil
import sys
from typing import Any

import pytest

from tests.places import TESTS
from tests.surfaces.program import Program

SCRIPTS = TESTS / "mcp_servers"
BUILD = ("--mode", "build")


@pytest.fixture
def servers(quintet: Program) -> Program:
    """A project with a server of the user's that answers, and one that does not start."""
    shutil.copy(SCRIPTS / "evil.py", quintet.root / "evil.py")

    def words(how: str) -> str:
        return json.dumps(["-S", "evil.py", how])

    quintet.settings(
        f'[mcp.servers.ours]\ncommand = "{sys.executable}"\nargs = {words("")}\nenv = {{ TOKEN = "hunter2-hunter2" }}\n'
        f'[mcp.servers.broken]\ncommand = "{sys.executable}"\nargs = {words("crash")}\n'
    )
    return quintet


def test_servers_are_listed_without_being_started_and_without_their_secrets(servers: Program) -> None:
    heading, *rows = servers.run("mcp", "list").clean(0).out.splitlines()
    assert heading.split() == ["SERVER", "BY", "WHAT", "STATE", "FROM"]
    assert [row.split() for row in rows] == [
        [name, "stdio", sys.executable, "configured", "your", "settings"] for name in ("ours", "broken")
    ]
    listed = servers.run("mcp", "list", "--json").clean(0)
    assert "hunter2" not in listed.out + servers.run("settings").clean(0).out + servers.run("settings", "--json").out
    assert listed.json()[0] == {
        "name": "ours",
        "from": "your settings",
        "transport": "stdio",
        "target": sys.executable,
        "env": ["TOKEN"],
        "headers": [],
        "network": False,
        "folders": [],
        "write": [],
        "timeout": 60.0,
        "problem": "",
    }


def test_without_servers_the_list_says_how_one_is_added(quintet: Program) -> None:
    assert "[mcp.servers.NAME]" in quintet.run("mcp", "list").clean(0).out
    assert quintet.run("mcp", "--json").clean(0).json() == []
    assert "[mcp.servers.NAME]" in quintet.run("mcp", "doctor").clean(0).out


def test_a_projects_own_servers_are_there_once_it_is_trusted(quintet: Program) -> None:
    entry = {"type": "http", "url": "http://127.0.0.1:9/mcp?key=${KEY:-hunter2}", "headers": {"X-Key": "${KEY}"}}
    (quintet.root / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": entry, "wrong": {"args": 3}}}))
    done = quintet.run("mcp", "list", "--json").clean(0)
    assert done.json() == []
    assert ".mcp.json is ignored until you trust this folder" in done.err
    quintet.run("trust").clean(0)
    theirs, wrong = quintet.run("mcp", "list", "--json").clean(0).json()
    assert (theirs["transport"], theirs["target"]) == ("http", "http://127.0.0.1:9/mcp")
    assert theirs["problem"] == "no such variable: KEY"
    assert wrong["problem"] == ".mcp.json: wrong: wanted a list, found a whole number (args)"
    refused = quintet.run("mcp", "list", "--json", KEY="k").clean(0).json()[0]
    assert refused["problem"].startswith("it asks for KEY, which may be a secret")
    quintet.settings('[mcp]\nvariables = ["theirs: KEY"]\n')
    assert quintet.run("mcp", "list", "--json", KEY="k").clean(0).json()[0]["problem"] == ""


def test_what_a_server_has_is_shown(servers: Program) -> None:
    about, _, heading, *rows = servers.run("mcp", "tools", "ours").clean(0).out.splitlines()
    assert about.startswith("ours: evil 6.66 · MCP ")
    assert heading.split() == ["TOOL", "TAKES", "WHAT", "IT", "DOES"]
    assert ["echo", "text"] in [row.split() for row in rows]
    one = servers.run("mcp", "tools", "ours", "echo", "--json").clean(0).json()
    assert (one["name"], one["schema"]["required"]) == ("echo", ["text"])
    assert "there is no server our. Did you mean ours?" in servers.run("mcp", "tools", "our").err


def test_doctor_starts_each_and_says_how_it_went(servers: Program) -> None:
    found: list[dict[str, Any]] = servers.run("mcp", "doctor", "--json").clean(1).json()
    ours, broken = found
    assert (ours["state"], ours["tools"], broken["state"]) == ("ready", 11, "broken")
    assert "no license to serve" in broken["said"]
    shown = servers.run("mcp", "doctor", "broken").clean(1).out
    assert shown.splitlines()[1].startswith(
        "broken  broken  broken cannot be used: it ended (exit 1). Its last output: no"
    )


def test_a_call_by_hand_goes_through_the_gate_and_is_on_record(servers: Program) -> None:
    call = ("mcp", "call", "ours", "echo", '{"text": "hello"}')
    done = servers.run(*call, *BUILD).clean(3)
    assert "Skipped: mcp_tool ours:echo needs approval" in done.err
    assert "this run is non-interactive" in done.err
    rule = servers.run("rules", "add", "allow", "mcp_tool(ours:echo)", "--json").clean(0).json()
    assert (rule["tool"], rule["pattern"], rule["effects"]) == ("mcp_tool", "ours:echo", ["network"])
    assert servers.run(*call, *BUILD).clean(0).out == '{"text": "hello"}\n'
    assert "hunter2" not in json.dumps(servers.journal())
    assert servers.events("call_decided")[0]["rule"] == rule["id"]


@pytest.mark.parametrize("arguments", ["[1]", "{", "hello"])
def test_arguments_that_are_no_object_are_refused_before_anything_begins(servers: Program, arguments: str) -> None:
    assert "the arguments are no" in servers.run("mcp", "call", "ours", "echo", arguments).clean(2).err
    assert servers.sessions() == []


@pytest.mark.parametrize("rule", ["mcp_tool", "mcp_tool(*:*)", "mcp_tool(*:echo)", "mcp_tool(ours)"])
def test_a_rule_that_does_not_name_server_and_tool_is_refused(servers: Program, rule: str) -> None:
    assert "mcp_tool(github:list_issues)" in servers.run("rules", "add", "allow", rule).clean(2).err


def test_a_server_with_both_a_command_and_an_address_is_an_error_of_the_settings(quintet: Program) -> None:
    path = quintet.settings('[mcp.servers.two]\ncommand = "a"\nurl = "http://b"\n')
    said = quintet.run("mcp", "list").clean(2).err
    assert f"{path}: mcp.servers.two needs a command or a url: one of the two" in said
