"""MCP servers: real ones of the SDK's over both transports, and such as hang, flood, lie, crash or leave."""

import asyncio
import contextlib
import os
import re
import shutil
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.processes.piped_child import Piped
from quintet.adapters.sandbox.containment import Launch
from quintet.adapters.settings.gate_terms import make_terms
from quintet.app.open import make_containment
from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.opened_places import NOTHING_OPENED, OpenedPlaces
from quintet.domain.settings.settings import SandboxSettings, Settings
from quintet.features.mcp.connection import connect
from quintet.features.mcp.pool import MOST_ENDS, McpPool
from quintet.features.mcp.values import Lost, McpPart, McpServer
from tests.mcp_servers import SERVERS, listening
from tests.mcp_servers.evil_http import evil_http

Use = Callable[[McpPool], Awaitable[None]]


class Project:
    """A project with MCP servers, and what they are used for."""

    def __init__(self, root: Path, caches: Path) -> None:
        self.root, self.caches, self.cache = root, caches, caches / "yours/good"
        for script in ("good.py", "evil.py"):  # behind the walls only the project is to be seen
            shutil.copy(SERVERS / script, root / script)
        self.told: list[str] = []

    def good(self, **more: Any) -> McpServer:
        return McpServer("good", "your settings", (sys.executable, str(self.root / "good.py")), **more)

    def evil(self, how: str = "", timeout: float = 60.0) -> McpServer:
        return McpServer(
            "evil", "your settings", (sys.executable, "-S", str(self.root / "evil.py"), how), timeout=timeout
        )

    def use(self, server: McpServer, use: Use, opened: OpenedPlaces = NOTHING_OPENED) -> None:
        async def used() -> None:
            places, settings = locate(str(self.root)), Settings(sandbox=SandboxSettings(loopback="open"))
            containment = make_containment(places, settings, make_terms(places, settings))
            pool = McpPool(lambda: ([server], []), containment, places.root, str(self.caches), places=opened)
            try:
                await use(pool)
            finally:
                await pool.close()
                await containment.close()

        asyncio.run(used())

    def fails(self, server: McpServer, tool: str, **arguments: Any) -> str:
        """What a call says that must fail; the session goes on, and the server can be used again."""
        said = ""

        async def use(pool: McpPool) -> None:
            nonlocal said
            with pytest.raises(ToolFailed) as caught:
                await pool.call(server.name, tool, arguments, self.told.append)
            said = str(caught.value)
            again = await pool.call(server.name, "echo", {"text": "still here"}, self.told.append)
            assert again.parts == (McpPart('{"text": "still here"}'),)

        self.use(server, use)
        return said


@pytest.fixture
def project(repo: Path, tmp_path: Path) -> Project:
    return Project(repo, tmp_path / "caches")


@pytest.fixture
def port(project: Project) -> Iterator[int]:
    """A server of the SDK's on streamable HTTP."""
    with listening() as number:
        yield number


async def every_kind_of_answer(pool: McpPool) -> None:
    told: list[str] = []
    offer = await pool.offer("good")
    assert offer.about.startswith("good 1.2 · MCP 20")
    assert offer.instructions == "Add numbers with add."
    assert {"add", "picture", "slow"} <= {tool.name for tool in offer.tools}
    assert {one.uri: one.template for one in offer.resources} == {
        "notes://today": False,
        "pictures://one": False,
        "notes://{day}": True,
    }
    added = await pool.call("good", "add", {"a": 1, "b": 2}, told.append)
    assert (added.parts, added.structured, added.failed) == ((McpPart("3"),), {"result": 3}, False)
    picture = (await pool.call("good", "picture", {}, told.append)).parts[0]
    assert (picture.data[:4], picture.mime) == (b"\x89PNG", "image/png")
    failed = await pool.call("good", "fails", {}, told.append)
    assert failed.failed
    assert "the pump is broken" in failed.parts[0].text
    assert (await pool.call("good", "slow", {}, told.append)).parts == (McpPart("done"),)
    assert told == ["1 of 3 step 1", "2 of 3 step 2", "3 of 3 step 3"]
    notes = (await pool.read("good", "notes://today")).parts[0]
    assert (notes.uri, notes.mime, notes.text[:7]) == ("notes://today", "text/markdown", "# Today")
    assert (await pool.read("good", "notes://friday")).parts[0].text == "notes of friday"
    assert (await pool.read("good", "pictures://one")).parts[0].data[:4] == b"\x89PNG"
    with pytest.raises(ToolFailed, match=r"good: .*notes:/nowhere"):
        await pool.read("good", "notes:/nowhere")


def test_a_real_server_over_stdio_gives_every_kind_of_answer(project: Project) -> None:
    project.use(project.good(), every_kind_of_answer)


def test_a_real_server_over_streamable_http_gives_every_kind_of_answer(project: Project, port: int) -> None:
    project.use(McpServer("good", "your settings", url=f"http://127.0.0.1:{port}/mcp"), every_kind_of_answer)


@pytest.mark.parametrize("said", ["sse", ""])
def test_a_real_server_of_the_older_transport_gives_every_kind_of_answer(project: Project, said: Any) -> None:
    with listening("sse") as port:
        project.use(McpServer("good", "x", url=f"http://127.0.0.1:{port}/sse", older=said), every_kind_of_answer)


def test_the_older_protocol_is_spoken_where_the_settings_say_so(project: Project) -> None:
    async def use(pool: McpPool) -> None:
        assert (await pool.offer("good")).about == "good 1.2 · MCP 2025-11-25"

    project.use(project.good(older="protocol"), use)


async def a_list_that_changes(pool: McpPool) -> None:
    async def young(**given: str) -> tuple[McpPart, ...]:
        return (await pool.call("good", "young", given, lambda text: None)).parts

    assert await young(less="x") == (McpPart("x"),)
    with pytest.raises(ToolFailed, match="Its arguments: less"):  # by the list that is known
        await young(more="x")
    await pool.call("good", "grow", {}, lambda text: None)
    for _ in range(500):  # the server's word may come after its answer
        with contextlib.suppress(ToolFailed):
            assert await young(more="x") == (McpPart("x"),)
            break
        await asyncio.sleep(0.01)
    else:
        pytest.fail("the old list is still used")


def test_a_list_that_the_server_says_has_changed_is_asked_for_again(project: Project) -> None:
    project.use(project.good(), a_list_that_changes)


def test_a_list_that_has_changed_over_streamable_http(project: Project, port: int) -> None:
    project.use(McpServer("good", "your settings", url=f"http://127.0.0.1:{port}/mcp"), a_list_that_changes)


@pytest.mark.system("bwrap")
def test_a_server_reads_the_project_writes_its_cache_and_has_no_network(project: Project) -> None:
    (project.root / ".env").write_text("KEY=1")
    (project.root / ".quintet").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        async def use(pool: McpPool) -> None:
            async def says(tool: str, **arguments: Any) -> Any:
                return (await pool.call("good", tool, arguments, print)).structured["result"]

            root, cache = project.root, project.cache
            assert "def words" in await says("look", path=f"{root}/tally/count.py")
            assert await says("look", path=f"{root}/.env") == "PermissionError"
            for path in (f"{root}/new", f"{root}/.quintet/new", f"{root}/.git/new"):
                assert await says("look", path=path, write=True) in ("OSError", "PermissionError"), path
            await says("look", path=f"{root.parent}/new", write=True)  # into a /tmp of its own
            assert not (root.parent / "new").exists()
            assert await says("look", path=f"{cache}/new", write=True) == "written"
            assert (cache / "new").read_text() == "was here"
            assert (await says("online", port=port)).startswith("no")

        project.use(project.good(), use)

        async def online(pool: McpPool) -> None:
            answer = await pool.call("good", "online", {"port": port}, print)
            assert answer.parts == (McpPart("yes"),)

        project.use(project.good(network=True), online)


def test_a_server_gets_a_small_environment_and_what_its_settings_name(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_TOKEN", "not for servers")

    async def use(pool: McpPool) -> None:
        answer = await pool.call("good", "variables", {}, print)
        assert answer.structured["GIVEN"] == "this one"
        assert answer.structured["XDG_CACHE_HOME"] == str(project.cache)
        assert "SOME_API_TOKEN" not in answer.structured

    project.use(project.good(env={"GIVEN": "this one"}), use)


# ── arguments


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "evil:echo: tool_args.text is missing. Its arguments: text."),
        ({"text": 3}, "evil:echo: tool_args.text: string is expected, found integer. Its arguments: text."),
    ],
)
def test_arguments_are_held_to_the_servers_schema(project: Project, arguments: dict[str, Any], said: str) -> None:
    assert project.fails(project.evil(), "echo", **arguments) == said


def test_a_tool_that_is_not_there_is_answered_with_those_that_are(project: Project) -> None:
    said = project.fails(project.evil(), "ecko")
    assert "evil has no tool ecko. Did you mean echo? It has: hang, flood," in said


# ── contained


def test_a_call_that_hangs_is_given_up_and_the_server_started_anew(project: Project) -> None:
    for seconds in (2, 8, 32):  # the first is enough, unless the machine is very busy
        with contextlib.suppress(ToolFailed, AssertionError):
            said = project.fails(project.evil(timeout=seconds), "hang")
            break
    assert said == (
        f"evil: no answer within {seconds} s, so it was ended. The outcome of the call is not known; "
        "the next use starts evil again."
    )


@pytest.mark.parametrize("tool", ["flood", "one_line"])
def test_a_flood_is_cut_off(project: Project, tool: str) -> None:
    assert "evil: it sent more than 16 MB in one message, and was disconnected" in project.fails(project.evil(), tool)


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        (
            "counts",
            "counts sent an answer that its own schema does not allow: result.n: integer is expected, found string",
        ),
        ("shapeless", "it sent an answer that the protocol does not allow (content"),
        ("garbled", "it sent data that is not base64"),
    ],
)
def test_a_server_that_lies_about_its_answers_is_found_out(project: Project, tool: str, said: str) -> None:
    assert said in project.fails(project.evil(), tool)


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("no_schema", "its schema is not valid (KeyError: 'sheep')"),
        ("endless", "its schema cannot be checked: it refers to itself without end"),
    ],
)
def test_a_schema_that_is_none_does_no_harm(project: Project, tool: str, said: str) -> None:
    assert said in project.fails(project.evil(), tool, a=1)


def test_no_pattern_of_a_servers_is_run(project: Project) -> None:
    async def use(pool: McpPool) -> None:
        hostile = "a" * 60 + "!"  # by this pattern it would take longer than anybody lives
        answer = await pool.call("evil", "pattern", {"a": hostile}, print)
        assert hostile in answer.parts[0].text

    project.use(project.evil(), use)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("unending", "evil: its list of tools does not end"),
        ("misshapen", "evil: it sent an answer that the protocol does not allow (tools.11.inputSchema.type: "),
    ],
)
def test_a_list_that_makes_no_sense_is_refused(project: Project, how: str, said: str) -> None:
    async def use(pool: McpPool) -> None:
        with pytest.raises(ToolFailed, match=re.escape(said)):
            await pool.offer("evil")

    project.use(project.evil(how), use)


def test_a_server_may_not_ask_the_model(project: Project) -> None:
    async def use(pool: McpPool) -> None:
        answer = await pool.call("evil", "wants_input", {}, print)
        assert "was told: there is no language model here" in answer.parts[0].text

    project.use(project.evil(), use)


@pytest.mark.parametrize("how", ["banner", "rude"])
def test_a_server_with_odd_manners_is_put_up_with(project: Project, how: str) -> None:
    async def use(pool: McpPool) -> None:
        assert (await pool.offer("evil")).about.startswith("evil 6.66")

    project.use(project.evil(how), use)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("crash", r"evil cannot be used: .*exit 1.*\n?no license to serve.$"),
        ("mute", "evil was not ready within 1.5 s"),
        ("antique", "evil cannot be used: Unsupported protocol version from the server: 1066-10-14"),
    ],
)
def test_a_server_that_does_not_get_ready_says_why_and_is_left_alone_in_the_end(
    project: Project, how: str, said: str
) -> None:
    async def use(pool: McpPool) -> None:
        with pytest.raises(ToolFailed, match=f"(?s){said}"):
            await pool.offer("evil")
        if how != "mute":
            for _ in range(MOST_ENDS - 1):
                with pytest.raises(ToolFailed, match="cannot be used"):
                    await pool.offer("evil")
            with pytest.raises(ToolFailed, match="has ended 4 times in this session and is not started again"):
                await pool.offer("evil")

    project.use(project.evil(how, timeout=1.5 if how == "mute" else 60.0), use)


# ── crashes


def test_a_call_during_which_the_server_ends_is_not_made_again(project: Project) -> None:
    async def use(pool: McpPool) -> None:
        with pytest.raises(ToolFailed) as caught:
            await pool.call("good", "leave", {"code": 7}, print)
        assert "good: it ended (exit 7). Its last output:\n" in str(caught.value)
        assert "the boiler has gone out. The outcome of the call is not known" in str(caught.value)

    project.use(project.good(), use)


@pytest.mark.parametrize(("how", "code"), [("", 7), ("fading", 3)])
def test_the_end_of_a_server_is_told_when_its_exit_code_and_last_words_are_known(
    project: Project, how: str, code: int
) -> None:
    server = project.evil(how)

    async def bare() -> Piped:  # walls would hold its pipe open until it has ended
        return await Piped.start(Launch(tuple(server.command), str(project.root)), {})

    async def use() -> str:
        connected = None
        try:
            connected = await connect(server, str(project.root), bare)
            await connected.ask(lambda client: client.call_tool("fade", {}))
        except Lost as lost:
            return f"{lost}{connected.last_words() if connected else ''}"
        finally:
            if connected:
                await connected.close()
        return "it goes on"

    assert asyncio.run(use()) == f"it ended (exit {code}). Its last output:\nso long"


async def _until(true: Callable[[], bool]) -> None:
    while not true():  # noqa: ASYNC110 - the end of a pipe has no event of its own
        await asyncio.sleep(0)


def test_a_server_that_ended_meanwhile_is_started_again_and_that_is_said(project: Project) -> None:
    async def use(pool: McpPool) -> None:
        await pool.call("evil", "echo", {"text": "a"}, print)
        open = pool._open["evil"]
        child = open._connected.child
        assert child
        await child.end()
        await asyncio.wait_for(_until(lambda: not open.usable), 60)
        answer = await pool.call("evil", "echo", {"text": "b"}, print)
        assert answer.notes == ("evil had ended and was started again",)
        assert (await pool.call("evil", "echo", {"text": "c"}, print)).notes == ()

    project.use(project.evil(), use)


def test_nothing_runs_on_after_the_end(project: Project) -> None:
    pids: list[int] = []

    async def use(pool: McpPool) -> None:
        await pool.call("evil", "echo", {"text": "a"}, print)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await pool.call("evil", "hang", {}, print)
        child = pool._open["evil"]._connected.child
        assert child
        pids.append(child._process.pid)
        assert os.path.exists(f"/proc/{pids[0]}")

    project.use(project.evil(), use)
    assert not os.path.exists(f"/proc/{pids[0]}")


def test_an_address_where_nobody_answers_is_said(project: Project) -> None:
    async def use(pool: McpPool) -> None:
        with pytest.raises(ToolFailed, match="far cannot be used: it cannot be reached"):
            await pool.offer("far")

    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        project.use(McpServer("far", "x", url=f"http://127.0.0.1:{nobody.getsockname()[1]}/mcp"), use)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("hang", "far was not ready within 2 s"),
        ("flood", "it sent more than 16 MB in one message, and was disconnected"),
        ("stream", "it sent more than 16 MB in one message, and was disconnected"),
        ("packed", "it compresses its answers, although it was asked not to"),
        ("401", "(HTTP 401 Unauthorized)"),
        ("page", "Unexpected content type: text/html"),
        ("away", "Redirect to http://elsewhere.example/mcp not followed"),
    ],
)
def test_an_address_that_misbehaves_is_contained(project: Project, path: str, said: str) -> None:
    async def use(pool: McpPool) -> None:
        with pytest.raises(ToolFailed) as caught:
            await pool.offer("far")
        assert str(caught.value).startswith("far ")
        assert said in str(caught.value)

    with evil_http() as port:
        address = f"http://127.0.0.1:{port}/{path}"
        project.use(McpServer("far", "x", url=address, timeout=2.0 if path == "hang" else 60.0), use)


@pytest.mark.parametrize(("path", "login"), [("401", True), ("more", True), ("named", False)])
def test_a_login_is_proposed_by_the_status_of_an_answer_and_not_by_its_words(
    project: Project, path: str, login: bool
) -> None:
    async def use(pool: McpPool) -> None:
        with pytest.raises(ToolFailed) as caught:
            await pool.offer("far")
        assert ("Log in with `quintet mcp login far`" in str(caught.value)) is login, str(caught.value)

    with evil_http() as port:
        project.use(McpServer("far", "x", url=f"http://127.0.0.1:{port}/{path}"), use)
