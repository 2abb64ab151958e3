"""`quintet mcp-server`, driven by the SDK's own client: the same tools, by the same gate, on the same record."""

import asyncio
import base64
import json
import os
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request
import warnings
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters, types
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged

from quintet.adapters.files.paths import locate
from quintet.domain.journal import protocol as p
from quintet.domain.tasks.task import TaskStatus
from quintet.domain.turn.tool_menu import TOOL_MODES
from quintet.features.mcp.serving.offers import Offers, ProjectOffers, changed_by
from tests.surfaces.program import PROGRAM, Program

SECONDS = 120.0
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
EDITING = ("--mode", "build", "--permission-profile", "normal")
Use = Callable[[Client], Awaitable[None]]


def over_stdio(quintet: Program, use: Use, *flags: str, hear: Any = None, **answers: Any) -> None:
    """`hear` what it tells and the `answers` to what it asks are those of a client of the older protocol."""
    program, *words = PROGRAM
    server = StdioServerParameters(
        command=program, args=[*words, "mcp-server", *flags], env=dict(os.environ), cwd=quintet.root
    )

    async def used() -> None:
        async with asyncio.timeout(SECONDS):
            mode = "legacy" if hear or answers else "auto"
            async with Client(server, message_handler=hear, mode=mode, **answers) as client:  # type: ignore[arg-type]
                await use(client)

    asyncio.run(used())


@contextmanager
def http_server(quintet: Program, *flags: str, **variables: str) -> Iterator[str]:
    """The address of a server on a port of its own; ended as a person would end it."""
    child = subprocess.Popen(
        [*PROGRAM, "mcp-server", "--http", "0", *flags],
        cwd=quintet.root,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    )
    try:
        assert child.stderr
        said = ""
        while not (found := re.search(r"an MCP server at (http://127\.0\.0\.1:\d+/mcp)", said)):
            line = child.stderr.readline()
            assert line, f"it ended: {said}"
            said += line
        yield found[1]
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=SECONDS)
    finally:
        child.kill()
        child.communicate()


def over_http(address: str, use: Use, **headers: str) -> None:
    async def used() -> None:
        async with (
            asyncio.timeout(SECONDS),
            httpx2.AsyncClient(headers=headers, timeout=None) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            await use(client)

    asyncio.run(used())


def said(result: types.CallToolResult) -> tuple[bool, str]:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return result.is_error, block.text


async def reads_and_is_refused(client: Client) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert {"Read", "grep", "glob"} <= set(tools) <= set(TOOL_MODES["swe"].tool_list)
    assert "Write" not in tools, "restricted shows what it is any use at"
    assert tools["Read"].input_schema["required"] == ["file_path"]
    assert said(await client.call_tool("glob", {"pattern": "tally/*.py"})) == (
        False,
        "tally/__init__.py\ntally/count.py",
    )
    failed, text = said(await client.call_tool("bash", {"command": "touch made"}))
    assert failed
    assert "The call was bash touch made. Nobody can approve calls in this run" in text
    failed, text = said(await client.call_tool("Write", {"file_path": "a", "content": "b"}))
    assert failed
    assert "there is no tool Write here. Available: Read, bash" in text
    failed, text = said(await client.call_tool("Read", {"file": "x"}))
    assert failed
    assert "Its arguments: file_path, offset?, limit?." in text


def test_by_default_it_only_reads_and_says_why_it_does_no_more(quintet: Program) -> None:
    over_stdio(quintet, reads_and_is_refused)
    assert not (quintet.root / "made").exists()
    assert [event["tool"] for event in quintet.events("tool_finished")] == ["glob", "bash", "Read"]
    opened = quintet.events("session_opened")[0]["axes"]
    assert (opened["surface"], opened["permission_profile"], opened["work_mode"]) == ("rpc", "restricted", "chat")


def test_it_is_the_same_over_streamable_http(quintet: Program) -> None:
    with http_server(quintet) as address:
        over_http(address, reads_and_is_refused)
        # A page in a browser must not reach it, under whatever name it found this machine.
        for header in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            with pytest.raises(urllib.error.HTTPError, match=r"421|403"):
                urllib.request.urlopen(
                    urllib.request.Request(address, b"{}", {"Content-Type": "application/json", **header})
                )
    assert [event["tool"] for event in quintet.events("tool_finished")] == ["glob", "bash", "Read"]


def test_dials_and_toolsets_are_chosen_at_the_start(quintet: Program) -> None:
    async def use(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"Write", "fs_move", "git_branch_list"} <= names
        written = await client.call_tool("Write", {"file_path": "new.txt", "content": "new\n"})
        assert not written.is_error
        failed, text = said(await client.call_tool("bash", {"command": "shred -u new.txt"}))
        assert (failed, "always needs approval" in text) == (True, True)
        failed, text = said(await client.call_tool("fs_read_file", {"path": ".env"}))
        assert failed and text.startswith("not run: .env is protected: it may contain secrets; ")

    over_stdio(quintet, use, *EDITING, "--toolsets", "swe,data,git")
    assert (quintet.root / "new.txt").read_text() == "new\n"


def test_a_rule_of_the_users_holds_for_other_agents_too(quintet: Program) -> None:
    quintet.run("rules", "add", "allow", "bash", "touch made", "--effects", "edit").clean(0)

    async def use(client: Client) -> None:
        assert not (await client.call_tool("bash", {"command": "touch made"})).is_error

    over_stdio(quintet, use, "--mode", "build")
    assert (quintet.root / "made").exists()


def test_a_call_that_is_no_longer_wanted_is_stopped_and_the_next_one_runs(quintet: Program) -> None:
    async def use(client: Client) -> None:
        told: list[str | None] = []

        async def heard(progress: float, total: float | None, message: str | None) -> None:
            told.append(message)
            calling.cancel()

        line = {"command": "echo begun; sleep 600", "timeout": 600}
        calling = asyncio.create_task(client.call_tool("bash", line, progress_callback=heard))
        with pytest.raises((asyncio.CancelledError, MCPError)):
            await calling
        assert told[0] == "begun"
        assert said(await client.call_tool("bash", {"command": "echo next"})) == (False, "next\nexit 0")

    over_stdio(quintet, use, "--mode", "build", "--permission-profile", "normal")
    assert [event["status"] for event in quintet.events("tool_finished")] == ["interrupted", "ok"]


def test_calls_that_come_together_are_made_one_after_the_other(quintet: Program) -> None:
    async def use(client: Client) -> None:
        lines = [{"command": f"echo {number}"} for number in range(4)]
        results = await asyncio.gather(*(client.call_tool("bash", line) for line in lines))
        assert [said(result)[1] for result in results] == [f"{number}\nexit 0" for number in range(4)]

    over_stdio(quintet, use, *EDITING)


def test_with_a_token_only_those_who_know_it_are_let_in(quintet: Program) -> None:
    async def use(client: Client) -> None:
        assert (await client.list_tools()).tools

    with http_server(quintet, "--token-env", "SECRET", SECRET="open sesame") as address:
        over_http(address, use, Authorization="Bearer open sesame")
        for headers in ({}, {"Authorization": "Bearer open"}):
            with pytest.raises(urllib.error.HTTPError, match="401"):
                urllib.request.urlopen(urllib.request.Request(address, b"{}", headers))


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (("--toolsets", "swee"), 'toolsets "swee": not one of swe, library,'),
        (("--token-env", "X"), "--token-env goes with --http PORT"),
        (("--http", "0", "--token-env", "NOT_SET"), "there is no such variable"),
        (("--http", "99999"), "--http 99999: a port is a number from 0 to 65535"),
    ],
)
def test_what_is_wrong_with_its_flags_is_said_at_once(quintet: Program, flags: tuple[str, ...], error: str) -> None:
    assert error in quintet.run("mcp-server", *flags).clean(2).err
    assert quintet.sessions() == []


def test_a_port_that_is_taken_is_said_before_a_session_begins(quintet: Program) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = quintet.run("mcp-server", "--http", str(port)).clean(2).err
    assert said == f"quintet: --http {port}: Address already in use\n0 picks a free port.\n"
    assert quintet.sessions() == []


def test_a_read_does_not_wait_behind_a_command_and_counts_as_read(quintet: Program) -> None:
    began, gate = quintet.root / "began", quintet.root / "gate"
    (quintet.root / "note.txt").write_text("one\n")

    async def use(client: Client) -> None:
        line = "touch began; until test -e gate; do sleep 0.1; done"
        slow = asyncio.create_task(client.call_tool("bash", {"command": line}))
        while not began.exists():  # noqa: ASYNC110  another process makes it
            await asyncio.sleep(0.05)
        failed, text = said(await client.call_tool("Read", {"file_path": "note.txt"}))
        assert (failed, slow.done()) == (False, False) and text
        gate.write_text("")
        await slow
        edited = {"file_path": "note.txt", "old_string": "one", "new_string": "two"}
        assert not said(await client.call_tool("Edit", edited))[0]

    over_stdio(quintet, use, "--mode", "build", "--permission-profile", "trusted")


def test_sessions_tasks_menus_and_pictures_are_offered_and_a_turned_dial_is_told(quintet: Program) -> None:
    (quintet.root / "dot.png").write_bytes(PICTURE)
    heard: list[str] = []

    async def use(client: Client) -> None:
        _, picture = (await client.call_tool("Read", {"file_path": "dot.png"})).content
        assert isinstance(picture, types.ImageContent) and picture.mime_type == "image/png"
        assert base64.b64decode(picture.data) == PICTURE
        (content,) = (await client.read_resource("quintet://sessions")).contents
        assert isinstance(content, types.TextResourceContents)
        (row,) = json.loads(content.text)
        (content,) = (await client.read_resource(f"quintet://sessions/{row['session']}/journal")).contents
        assert isinstance(content, types.TextResourceContents)
        kinds = [json.loads(line)["event"]["type"] for line in content.text.splitlines()]
        assert kinds[0] == "session_opened" and "tool_finished" in kinds
        with pytest.raises(MCPError, match="there is no such resource"):
            await client.read_resource("quintet://sessions/../../x")
        proposed = await client.complete(
            types.ResourceTemplateReference(uri="quintet://sessions/{session}/journal"),
            {"name": "session", "value": row["session"][:4]},
        )
        assert proposed.completion.values == [row["session"]]
        names = [one.name for one in (await client.list_prompts()).prompts]
        assert "planner:write-spec" in names
        (message,) = (await client.get_prompt("planner:write-spec", {"input": "dark mode"})).messages
        assert isinstance(message.content, types.TextContent) and message.content.text.endswith("dark mode")
        assert "Write" not in {tool.name for tool in (await client.list_tools()).tools}
        turned = [*PROGRAM, "-p", "/mode build --permission-profile normal", "--resume", row["session"]]
        await asyncio.to_thread(subprocess.run, turned, cwd=quintet.root, check=True, capture_output=True)
        while "ToolListChangedNotification" not in heard:  # noqa: ASYNC110  nothing else tells of it
            await asyncio.sleep(0.05)
        assert "Write" in {tool.name for tool in (await client.list_tools()).tools}

    async def hear(message: object) -> None:
        heard.append(type(message).__name__)

    over_stdio(quintet, use, hear=hear)


def test_who_follows_a_journal_hears_of_each_turn_and_a_call_that_talks_is_heard(quintet: Program) -> None:
    heard: list[Any] = []

    async def use(client: Client) -> None:
        (content,) = (await client.read_resource("quintet://sessions")).contents
        assert isinstance(content, types.TextResourceContents)
        journal = f"quintet://sessions/{json.loads(content.text)[0]['session']}/journal"
        with pytest.raises(MCPError, match="there is no such resource"):
            await client.subscribe_resource("quintet://nowhere")
        await client.subscribe_resource(journal)
        await client.set_logging_level("info")
        await client.call_tool("bash", {"command": "echo halfway; sleep 0.3; echo there"})
        while len({type(one) for one in heard}) < 2:  # noqa: ASYNC110  nothing else tells of it
            await asyncio.sleep(0.05)
        told = [one.params for one in heard if isinstance(one, types.LoggingMessageNotification)]
        assert (told[0].level, "halfway" in told[0].data) == ("info", True)
        updated = [str(one.params.uri) for one in heard if isinstance(one, types.ResourceUpdatedNotification)]
        assert updated == [journal]
        await client.unsubscribe_resource(journal)
        await client.call_tool("Read", {"file_path": "README.md"})
        assert updated == [str(one.params.uri) for one in heard if isinstance(one, types.ResourceUpdatedNotification)]

    async def hear(message: object) -> None:
        heard.append(message)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both are on their way out; clients of today have nothing else
        over_stdio(quintet, use, "--mode", "build", "--permission-profile", "trusted", hear=hear)


ASKER = """
from mcp import types
from quintet import Effect, Workbench, tool
from quintet.features.mcp.serving.caller import caller_of

@tool(effects={Effect.READ}, toolset="swe")
async def ask_the_caller(bench: Workbench, what: str) -> str:
    \"""Ask.

    :what: what is asked
    \"""
    caller = await caller_of(bench)
    if what == "secret":
        import os
        secret = os.environ["FAKE_API_TOKEN"]
        caller.add(types.ResourceLink(name=secret, uri="test://more"))
        about = {"type": "object", "properties": {"name": {"type": "string", "description": secret}}}
        return str((await caller.ask(secret, about)).content) + (await caller.sample(secret, 10)).content.text
    caller.add(types.ResourceLink(name="more", uri="test://more"))
    if what == "model":
        return (await caller.sample("think", 10)).content.text
    return str((await caller.ask("who", {"type": "object", "properties": {"name": {"type": "string"}}})).content)
"""


def test_a_tool_of_the_users_asks_the_client_and_gives_it_more_than_text(quintet: Program) -> None:
    (tools := Path(os.environ["XDG_CONFIG_HOME"], "quintet/tools")).mkdir(parents=True, exist_ok=True)
    (tools / "asker.py").write_text(ASKER)
    asked: list[str] = []

    async def fill_in(context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    async def use(client: Client) -> None:
        text, link = (await client.call_tool("ask_the_caller", {"what": "person"})).content
        assert isinstance(text, types.TextContent) and text.text == "{'name': 'Ada'}"
        assert isinstance(link, types.ResourceLink) and asked == ["who"]
        refused = await client.call_tool("ask_the_caller", {"what": "model"})
        assert refused.is_error and "does not take requests to its model" in str(refused.content[0])

    over_stdio(quintet, use, elicitation_callback=fill_in)
    assert [event["status"] for event in quintet.events("tool_finished")] == ["ok", "error"]
    alone = quintet.run("tools", "call", "ask_the_caller", "--args", '{"what": "person"}')
    assert "no MCP client has made this call" in alone.out + alone.err


def test_no_known_secret_goes_to_the_client_beside_the_result(
    quintet: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "sk-canary-1234567890-abcdef"
    monkeypatch.setenv("FAKE_API_TOKEN", secret)
    (tools := Path(os.environ["XDG_CONFIG_HOME"], "quintet/tools")).mkdir(parents=True, exist_ok=True)
    (tools / "asker.py").write_text(ASKER)
    asked: list[str] = []

    async def fill_in(context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.model_dump_json())
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    async def think(context: object, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        asked.append(params.model_dump_json())
        return types.CreateMessageResult(role="assistant", content=types.TextContent(text="yes"), model="m")

    async def use(client: Client) -> None:
        answer = await client.call_tool("ask_the_caller", {"what": "secret"})
        assert not answer.is_error and len(answer.content) == 2
        asked.append(answer.model_dump_json())

    over_stdio(quintet, use, elicitation_callback=fill_in, sampling_callback=think)
    assert len(asked) == 3 and secret not in "".join(asked)


def test_a_client_of_the_newer_protocol_hears_what_it_listens_to(quintet: Program) -> None:
    async def use(client: Client) -> None:
        (content,) = (await client.read_resource("quintet://sessions")).contents
        assert isinstance(content, types.TextResourceContents)
        session = json.loads(content.text)[0]["session"]
        journal = f"quintet://sessions/{session}/journal"
        async with client.listen(tools_list_changed=True, resource_subscriptions=[journal]) as events:
            coming = aiter(events)
            await client.call_tool("Read", {"file_path": "README.md"})
            assert await anext(coming) == ResourceUpdated(journal)
            turned = [*PROGRAM, "-p", "/mode build --permission-profile normal", "--resume", session]
            await asyncio.to_thread(subprocess.run, turned, cwd=quintet.root, check=True, capture_output=True)
            while not isinstance(await anext(coming), ToolsListChanged):
                pass
        assert "Write" in {tool.name for tool in (await client.list_tools()).tools}

    over_stdio(quintet, use)


class Notes:
    """What a feature offers: one note and one prompt."""

    def resources(self) -> list[types.Resource]:
        return [types.Resource(uri="notes://today", name="today")]

    def templates(self) -> list[types.ResourceTemplate]:
        raise RuntimeError("it has none, and says so badly")

    def read(self, uri: str) -> types.ReadResourceResult | None:
        if uri == "notes://broken":
            raise RuntimeError("torn")
        held = types.TextResourceContents(uri=uri, text="buy milk")
        return types.ReadResourceResult(contents=[held]) if uri == "notes://today" else None

    def prompts(self) -> list[types.Prompt]:
        return [types.Prompt(name="remind")]

    def prompt(self, name: str, arguments: dict[str, str]) -> types.GetPromptResult | None:
        return types.GetPromptResult(messages=[]) if name == "remind" else None


def test_features_add_resources_and_prompts_and_one_that_breaks_takes_nothing_along(repo: Path) -> None:
    offers = Offers(ProjectOffers(locate(str(repo))), Notes())
    assert [one.uri for one in offers.resources()] == ["quintet://sessions", "quintet://tasks", "notes://today"]
    assert len(offers.templates()) == 2
    assert {"planner:write-spec", "remind"} <= {one.name for one in offers.prompts()}
    (content,) = offers.read("notes://today").contents
    assert isinstance(content, types.TextResourceContents) and content.text == "buy milk"
    assert offers.prompt("remind", {}).messages == []
    for ask, said in (
        (lambda: offers.read("notes://broken"), "torn"),
        (lambda: offers.read("notes://gone"), "no such resource"),
        (lambda: offers.prompt("gone", {}), "no such prompt"),
    ):
        with pytest.raises(MCPError, match=said):
            ask()


def test_what_an_event_changes_is_named_by_its_address() -> None:
    moved = p.TaskMoved(task="t-1", title="x", before=TaskStatus.DONE, after=TaskStatus.DONE, reason="x", transition=1)
    assert changed_by(moved, "s") == {"quintet://tasks", "quintet://tasks/t-1"}
    accepted = p.PlanAccepted(run="r", milestone="m", tasks=("t-1", "t-2"), by="user")
    assert changed_by(accepted, "s") == {"quintet://tasks", "quintet://tasks/t-1", "quintet://tasks/t-2"}
    assert changed_by(p.Noticed(level="info", code="X", text="x"), "s") == set()
