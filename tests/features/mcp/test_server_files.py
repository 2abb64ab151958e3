"""Which MCP servers there are: the user's settings and a trusted project's .mcp.json, mistakes named."""

import json
from pathlib import Path
from typing import Any

import pytest

from quintet.adapters.settings.trust import server_piece, written
from quintet.domain.permission.trusted_content import Trust, digest
from quintet.features.mcp.server_files import servers
from quintet.features.mcp.settings import McpServerSettings
from quintet.features.mcp.values import McpServer

VARIABLES = {"TOKEN": "t0k3n", "EMPTY": ""}


def test_a_server_that_an_editor_names_is_not_the_users_own(tmp_path: Path) -> None:
    (found,), _ = of_project(tmp_path, {}, near=McpServerSettings(command="run", by_editor=True))
    assert found.origin == "your editor"


def of_project(
    root: Path, given: Any, *, trusted: bool = True, **own: McpServerSettings
) -> tuple[list[McpServer], list[str]]:
    text = given if isinstance(given, str) else json.dumps({"mcpServers": given})
    (root / ".mcp.json").write_text(text)
    try:
        table = json.loads(text)["mcpServers"]
        content = {server_piece(name): digest(written(entry)) for name, entry in table.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        content = {}
    return servers(str(root), own, Trust(True, trusted, content), VARIABLES)


def one(root: Path, **entry: Any) -> McpServer:
    (found,), notes = of_project(root, {"one": entry})
    assert notes == []
    return found


def test_a_program_and_an_address_are_read_with_variables_filled_in(tmp_path: Path) -> None:
    program = one(
        tmp_path, command="${HOME:-/bin}/serve", args=["--key", "${TOKEN}"], env={"A": "${EMPTY:-b}"}, network=True
    )
    assert program == McpServer("one", ".mcp.json", ("/bin/serve", "--key", "t0k3n"), {"A": "b"}, network=True)
    assert program.target == "/bin/serve", "arguments may be secret"
    address = one(tmp_path, type="http", url="https://a.example/mcp?key=${TOKEN}", headers={"X": "Bearer ${TOKEN}"})
    assert (address.url, address.headers) == ("https://a.example/mcp?key=t0k3n", {"X": "Bearer t0k3n"})
    assert (address.transport, address.target) == ("http", "https://a.example/mcp")
    older = one(tmp_path, type="sse", url="https://a.example/sse")
    assert (older.transport, older.problem) == ("sse", "")


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({}, "expected a command or a url: one of the two"),
        ({"command": "a", "url": "http://b"}, "expected a command or a url: one of the two"),
        ({"command": "a", "disabled": True}, "it is switched off"),
        ({"type": "sse", "command": "b"}, 'type "sse": stdio needs a command, http and sse need a url'),
        ({"type": "http", "command": "a"}, 'type "http": stdio needs a command, http and sse need a url'),
        ({"type": "stdio", "url": "http://b"}, 'type "stdio": stdio needs a command'),
        ({"url": "ftp://b"}, "its url is not an http address"),
        ({"command": "${NOWHERE} ${NOWHERE} ${ELSE}"}, "no such variable: NOWHERE, ELSE"),
        ({"command": 3}, ".mcp.json: one: wanted text, found a whole number (command)"),
    ],
)
def test_a_server_that_cannot_be_used_is_listed_with_the_reason(
    tmp_path: Path, entry: dict[str, Any], problem: str
) -> None:
    assert one(tmp_path, **entry).problem.startswith(problem)


@pytest.mark.parametrize("name", ["", "a b", "../a", "a:b", "x" * 65])
def test_a_name_that_rules_and_folders_could_not_hold_is_refused(tmp_path: Path, name: str) -> None:
    (found,), _ = of_project(tmp_path, {name: {"command": "a"}})
    assert found.problem.startswith("its name may have letters, digits")


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": []}', "\0", '{"mcpServers": 3}', "[" * 5_000])
def test_a_file_that_makes_no_sense_is_said_and_names_no_server(tmp_path: Path, text: str) -> None:
    found, (note,) = of_project(tmp_path, text)
    assert found == []
    assert note.startswith('.mcp.json: expected {"mcpServers": {NAME: {…}}}')


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    found, notes = of_project(tmp_path, " " * 1_000_001)
    assert (found, notes) == ([], [".mcp.json: more than 1000 kB is too large for a list of servers"])


def test_a_projects_file_counts_only_once_its_folder_is_trusted(tmp_path: Path) -> None:
    found, notes = of_project(tmp_path, {"one": {"command": "a"}}, trusted=False)
    assert (found, notes) == ([], [".mcp.json is ignored until you trust this folder (`quintet trust`)"])


def test_where_both_name_a_server_the_users_own_wins(tmp_path: Path) -> None:
    found, notes = of_project(
        tmp_path, {"one": {"command": "theirs"}, "two": {"command": "theirs"}}, one=McpServerSettings(command="mine")
    )
    assert [(server.name, server.command, server.origin) for server in found] == [
        ("one", ("mine",), "your settings"),
        ("two", ("theirs",), ".mcp.json"),
    ]
    assert notes == [".mcp.json: one is ignored: your settings have a server with that name"]


def test_without_a_file_there_are_the_users_own(tmp_path: Path) -> None:
    own = {"off": McpServerSettings(command="a", enabled=False)}
    (found,), notes = servers(str(tmp_path), own, Trust(), {})
    assert (found.problem, notes) == ("it is switched off", [])
