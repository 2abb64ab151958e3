"""mcp_tool: what servers answer, as a model reads it."""

import asyncio
import base64
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from quintet.domain.turn.tool_spec import CallStatus, ToolResult
from quintet.features.mcp.pool import McpPool
from quintet.features.mcp.values import McpServer
from tests.places import TESTS
from tests.tools.calling import Caller

SCRIPTS = TESTS / "mcp_servers"
ADD = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]}
OFFER: dict[str, Any] = {
    "tools/list": {"tools": [{"name": "add", "description": "Add two numbers.", "inputSchema": ADD}]},
    "resources/list": {"resources": []},
    "resources/templates/list": {
        "resourceTemplates": [{"uriTemplate": "notes://{day}", "name": "notes", "description": "Of a day."}]
    },
}


class Servers:
    """A project with MCP servers that say what they are told to."""

    def __init__(self, root: Path, caches: Path) -> None:
        self.root, self.caches = root, caches
        for script in ("told.py", "evil.py"):
            shutil.copy(SCRIPTS / script, root / script)
        self.listed = [
            self.program("sums", "told.py", "told.json"),
            McpServer("off", "x", problem="it is switched off"),
        ]
        self.notes: list[str] = []
        self.say()

    def program(self, name: str, *words: str) -> McpServer:
        return McpServer(name, "your settings", (sys.executable, "-S", *words), timeout=60.0)

    def say(self, **answers: Any) -> None:
        """What `sums` answers from now on."""
        said = {method.replace("_", "/"): answer for method, answer in answers.items()}
        (self.root / "told.json").write_text(json.dumps({**OFFER, **said}))

    def answers(self, *content: dict[str, Any], **more: Any) -> None:
        self.say(tools_call={"content": content, **more})

    def __call__(self, **arguments: Any) -> ToolResult:
        async def once() -> ToolResult:
            caller = Caller(self.root)
            pool = McpPool(lambda: (self.listed, self.notes), caller.containment, str(self.root), str(self.caches))
            caller = Caller(self.root, mcp=pool)
            try:
                return await caller.call("mcp_tool", **arguments)
            finally:
                await pool.close()

        return asyncio.run(once())

    def ok(self, **arguments: Any) -> str:
        result = self(**arguments)
        assert result.status is CallStatus.OK, result.content
        return result.content

    def fails(self, **arguments: Any) -> str:
        result = self(**arguments)
        assert result.status is CallStatus.ERROR, result.content
        return result.content

    def add(self) -> str:
        return self.ok(command="call_tool", server="sums", tool_name="add", tool_args={"a": 1})


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


@pytest.fixture
def servers(repo: Path, tmp_path: Path) -> Servers:
    return Servers(repo, tmp_path / "caches")


def test_servers_are_listed_with_what_is_wrong(servers: Servers) -> None:
    servers.notes.append("a note")
    assert servers.ok(command="list_servers").splitlines() == [
        f"sums  stdio  {sys.executable}",
        "off  stdio  it is switched off",
        "(a note)",
    ]


def test_no_server_is_answered_with_how_to_add_one(servers: Servers) -> None:
    servers.listed.clear()
    assert "[mcp.servers.NAME]" in servers.ok(command="list_servers")
    assert "[mcp.servers.NAME]" in servers.fails(command="list_tools")
    assert "there is no server sums. None is configured." in servers.fails(command="list_tools", server="sums")


def test_a_list_of_tools_is_short_and_one_tool_is_shown_whole(servers: Servers) -> None:
    about, *rest = servers.ok(command="list_tools", server="sums").splitlines()
    assert about.startswith("sums: sums 1 · MCP 20")
    assert rest == [
        "Be exact.",
        "",
        "tools",
        "- add(a, b?): Add two numbers.",
        "",
        "resources",
        "- notes://{day} (template): notes — Of a day.",
    ]
    shown = servers.ok(command="list_tools", server="sums", tool_name="add")
    assert shown.startswith("sums:add\nAdd two numbers.\n\n{\n")
    assert json.loads(shown.split("\n\n", 1)[1]) == ADD
    assert "sums has no tool ad; it has: add" in servers.fails(command="list_tools", server="sums", tool_name="ad")


def test_a_server_with_thousands_of_tools_stays_within_bounds(servers: Servers) -> None:
    tools = [{"name": f"tool{n}", "description": "word " * 100, "inputSchema": ADD} for n in range(2_000)]
    servers.say(tools_list={"tools": tools})
    shown = servers.ok(command="list_tools", server="sums")
    assert len(shown) < 31_000
    assert "characters omitted; ask about one with tool_name" in shown


def test_the_only_server_need_not_be_named(servers: Servers) -> None:
    servers.answers(text("3"))
    assert servers.ok(command="call_tool", tool_name="add", tool_args={"a": 1}) == "3"
    servers.listed.append(servers.program("more", "told.py", "told.json"))
    assert "server: which one? Available: sums, more" in servers.fails(command="list_tools")


@pytest.mark.parametrize("given", ['{"text": "hello"}', {"text": "hello"}])
def test_arguments_may_come_as_text(servers: Servers, given: Any) -> None:
    servers.listed.append(servers.program("evil", "evil.py"))
    said = servers.ok(command="call_tool", server="evil", tool_name="echo", tool_args=given)
    assert said == '{"text": "hello"}'


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"command": "call_tool"}, "tool_name: which one?"),
        ({"command": "read_resource"}, "resource_uri: which one?"),
        (
            {"command": "call_tool", "tool_name": "add", "tool_args": "{"},
            "tool_args: expected an object, but this text is not JSON",
        ),
        ({"command": "call_tool", "tool_name": "add", "tool_args": "[1]"}, "tool_args: an object is expected"),
        ({"command": "call_tool", "tool_name": "add"}, "sums:add: tool_args.a is missing. Its arguments: a, b?."),
    ],
)
def test_what_is_missing_is_said(servers: Servers, arguments: dict[str, Any], said: str) -> None:
    servers.answers(text("was called"))
    assert said in servers.fails(server="sums", **arguments)


def test_pictures_and_other_data_are_kept_as_files_that_can_be_read(servers: Servers) -> None:
    data = base64.b64encode(b"\x89PNG").decode()
    picture = {"type": "image", "data": data, "mimeType": "image/png"}
    servers.answers(text("two:"), picture, {"type": "resource", "resource": {"uri": "x://y", "blob": data}})
    said, first, second = servers.add().splitlines()
    assert said == "two:"
    path = Path(first.removesuffix("]").rpartition(" ")[2])
    assert first == f"[image/png 4 bytes: {path}]"
    assert (path.suffix, path.read_bytes(), path.stat().st_mode & 0o777) == (".png", b"\x89PNG", 0o600)
    assert second.startswith("[x://y 4 bytes: ") and second.endswith(".bin]")


def test_pictures_are_shown_to_the_model_as_many_as_it_can_take(servers: Servers) -> None:
    data = b"\x89PNG\r\n\x1a\n" + bytes(9)
    picture = {"type": "image", "data": base64.b64encode(data).decode(), "mimeType": "image/png"}
    servers.answers(*[picture] * 6)
    images = servers(command="call_tool", server="sums", tool_name="add", tool_args={"a": 1}).images
    assert [(image.media_type, image.size) for image in images] == [("image/png", 17)] * 4


def test_what_is_said_twice_is_shown_once(servers: Servers) -> None:
    servers.answers(text('{"n":  3}'), structuredContent={"n": 3})
    assert servers.add() == '{"n":  3}'
    servers.answers(text("three"), structuredContent={"n": 3})
    assert servers.add() == 'three\n{\n  "n": 3\n}'


def test_a_picture_is_not_said_again_in_letters(servers: Servers) -> None:
    data = base64.b64encode(bytes(range(256)) * 4).decode()
    image = {"type": "image", "data": data, "mimeType": "image/png"}
    servers.answers(image, structuredContent={"content": [image]})
    said = servers.add()
    assert said.startswith("[image/png 1024 bytes: ") and len(said.splitlines()) == 1
    servers.answers(text("done"), structuredContent={"thumbnail": data, "n": 3})
    assert data not in servers.add()
    assert f'"thumbnail": "({len(data)} characters of base64, omitted)"' in servers.add()


def test_a_long_answer_is_cut_in_its_middle_and_kept_whole(servers: Servers) -> None:
    servers.answers(text("a" * 50_000 + "end"))
    said = servers.add()
    assert len(said) < 31_000
    assert said.endswith("end")
    path = said.partition("the full text is in ")[2].partition(" …")[0]
    assert Path(path).read_text() == "a" * 50_000 + "end"


def test_what_is_nested_without_an_end_is_text_and_no_reason_to_fail(servers: Servers) -> None:
    servers.answers(text("[" * 20_000), structuredContent={"n": 3})
    assert servers.add().endswith('[\n{\n  "n": 3\n}')
    call = {"command": "call_tool", "server": "sums", "tool_name": "add", "tool_args": "[" * 20_000}
    assert "tool_args: expected an object, but this text is not JSON" in servers.fails(**call)


def test_a_secret_is_neither_in_what_is_kept_whole_nor_half_of_it_at_the_cut(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "correct-horse-battery")
    servers.answers(
        text("a" * 14_990 + "correct-horse-battery" + "b" * 20_000 + "correct-horse-battery" + "c" * 14_990)
    )
    said = servers.add()
    assert said.startswith(f"{'a' * 14_990}{'*' * 10}\n… ") and said.endswith(f" …\n{'*' * 10}{'c' * 14_990}")
    whole = Path(said.partition("the full text is in ")[2].partition(" …")[0]).read_text()
    assert "correct" not in whole and whole.count("*" * 21) == 2


def test_a_failure_of_the_servers_is_a_failure(servers: Servers) -> None:
    servers.answers(text("no such number"), isError=True)
    call = {"command": "call_tool", "server": "sums", "tool_name": "add", "tool_args": {"a": 1}}
    assert servers.fails(**call) == "no such number"


def test_a_resource_is_shown_with_its_name(servers: Servers) -> None:
    contents = [{"uri": "notes://today", "mimeType": "text/plain", "text": "water the plants"}]
    servers.say(resources_read={"contents": contents})
    said = servers.ok(command="read_resource", server="sums", resource_uri="notes://today")
    assert said == "[notes://today text/plain]\nwater the plants"
