"""deploy: what is put up answers on loopback, keeps its log and ends with the session; targets run the user's lines."""

import asyncio
import socket
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from quintet.domain.permission.gate import Verdict
from quintet.domain.turn.tool_spec import CallStatus, ToolResult
from quintet.features.deploy.local import LocalDeployments
from quintet.features.deploy.settings import DeploySettings
from tests.tools.calling import Caller

APP = """\
import os
from http.server import BaseHTTPRequestHandler, HTTPServer

class Hello(BaseHTTPRequestHandler):
    def do_GET(self):
        print("asked for", self.path, flush=True)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello from the app")

    def log_message(self, *_):
        pass

HTTPServer((os.environ["HOST"], int(os.environ["PORT"])), Hello).serve_forever()
"""


def running(tools: Caller, script: Callable[[], Awaitable[None]]) -> None:
    """Run a script of calls, then close what the session would close."""

    async def whole() -> None:
        try:
            await script()
        finally:
            await tools.shells.close()
            await tools.processes.close()

    asyncio.run(whole())


async def got(url: str) -> str:
    def get() -> str:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return str(answer.read().decode())

    return await asyncio.to_thread(get)


async def ok(tools: Caller, **arguments: Any) -> ToolResult:
    result = await tools.call("deploy", **arguments)
    assert result.status is CallStatus.OK, result.content
    return result


def closed(url: str) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", int(url.rstrip("/").rpartition(":")[2]))) != 0


async def logged(tools: Caller, words: str, **arguments: Any) -> str:
    """The log, once these words are in it: what a server writes comes after what it answers."""
    async with asyncio.timeout(60):
        while words not in (log := (await ok(tools, **arguments)).content):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return log


def test_a_folder_is_served_until_the_session_ends(repo: Path) -> None:
    (repo / "site").mkdir()
    (repo / "site/index.html").write_text("<p>hello</p>")
    tools = Caller(repo)
    urls = []

    async def script() -> None:
        result = await ok(tools, command="frontend", dir="site")
        urls.append(result.summary)
        assert result.content.startswith(f"The frontend is running at {result.summary} until the session ends")
        assert await got(result.summary) == "<p>hello</p>"
        log = await logged(tools, '"GET / HTTP/1.1" 200', command="logs")
        assert log.startswith(f"── frontend {result.summary}\n")
        assert (await ok(tools, command="logs", app="frontend")).content == log  # a log is no less there for being read
        assert (await ok(tools, command="expose")).content == (
            f"frontend: {result.summary}\nOnly this machine can reach it."
        )

    running(tools, script)
    assert closed(urls[0])


def test_an_app_finds_its_port_and_is_replaced_by_the_next(repo: Path) -> None:
    (repo / "app.py").write_text(APP)
    tools = Caller(repo)

    async def script() -> None:
        first = await ok(tools, command="backend", app="python3 app.py")
        assert await got(f"{first.summary}one") == "hello from the app"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        second = await ok(tools, command="backend", app="python3 app.py", port=port)
        assert second.summary == f"http://127.0.0.1:{port}/"
        assert await got(second.summary) == "hello from the app"
        assert closed(first.summary)
        assert [shell.name for shell in tools.shells.running()] == ["backend"]
        await logged(tools, "asked for /", command="logs", app="backend")
        await tools.call("kill_shell", shell_id="backend")
        assert "backend: it has ended" in (await ok(tools, command="expose")).content
        assert "(ended)" in (await ok(tools, command="logs")).content

    running(tools, script)


def test_what_cannot_be_put_up_says_why_and_leaves_nothing_running(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repo / "site").mkdir()
    (repo / "site/.env").write_text("TOKEN=1")
    (repo / "many").mkdir()
    for number in range(51):
        (repo / f"many/{number}.html").touch()
    monkeypatch.setattr("quintet.features.deploy.tools.MOST_LOOKED_AT", 50)
    tools = Caller(repo)

    async def fails(says: str, **arguments: Any) -> None:
        result = await tools.call("deploy", **arguments)
        assert result.status in (CallStatus.ERROR, CallStatus.DENIED)
        assert says in result.content, result.content

    async def script() -> None:
        await fails("the backend ended immediately:\nbroken pipes", command="backend", app="echo broken pipes; exit 3")
        await fails("nothing is deployed on this machine yet", command="logs")
        await fails("app is missing", command="backend")
        await fails("site/.env may contain secrets, and would be served", command="frontend", dir="site")
        await fails(".git would be served, with all its history", command="frontend")
        await fails("many contains more than 50 files", command="frontend", dir="many")
        await fails("1024 to 65535", command="frontend", port=80)
        await fails("staging is not a target", command="frontend", app="staging")
        await fails("staging is not a target", command="expose", app="staging")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            await fails("choose another", command="frontend", dir="tests", port=taken.getsockname()[1])
        assert tools.shells.running() == []

    running(tools, script)


# ── targets of the settings


def targets(root: Path, **named: DeploySettings) -> Caller:
    return Caller(root, tables={"deploy": named})


def test_a_target_runs_the_users_line_in_the_folder(repo: Path) -> None:
    line = "echo deployed $(basename $PWD) > ../out.txt; cat ../out.txt"
    tools = targets(repo, preview=DeploySettings(frontend=line, logs="echo all is well; exit 1", production=False))
    (repo / "site").mkdir()
    result = tools("deploy", command="frontend", dir="site", app="preview")
    assert result.content == "deployed site\nexit 0"
    assert (repo / "out.txt").read_text() == "deployed site\n"
    assert tools.fails("deploy", command="logs", app="preview") == "all is well\nexit 1"
    assert tools.fails("deploy", command="expose", app="preview") == (
        "deploy.preview has no line for expose: set deploy.preview.expose"
    )
    assert "Did you mean preview?" in tools.fails("deploy", command="frontend", app="previw")


def test_a_production_target_always_asks_to_publish(repo: Path) -> None:
    tools = targets(repo, live=DeploySettings(frontend="./ship.sh", logs="./logs.sh"))
    prepared = tools.prepare("deploy", '{"command": "frontend", "app": "live"}')
    assert not isinstance(prepared, ToolResult)
    assert prepared.decision.verdict is Verdict.ASK
    assert "publishing always needs approval" in prepared.decision.reason
    assert prepared.decision.lifts == ()
    assert prepared.touch.lines == ("./ship.sh",)
    logs = tools.prepare("deploy", '{"command": "logs", "app": "live"}')
    assert not isinstance(logs, ToolResult)
    assert "publish" not in logs.decision.effects


@pytest.mark.parametrize("trusted", [True, False])
def test_a_projects_own_targets_count_once_it_is_trusted(repo: Path, trusted: bool) -> None:
    from quintet.adapters.files.paths import locate
    from quintet.adapters.settings import layers as config
    from tests.trusted import trust_now

    (repo / ".quintet").mkdir()
    (repo / ".quintet/settings.toml").write_text('[deploy.live]\nfrontend = "./ship.sh"\n')
    places = locate(str(repo))
    if trusted:
        trust_now(repo)
    loaded = config.load(places)
    assert list(loaded.settings.named("deploy", DeploySettings)) == (["live"] if trusted else [])
    assert bool(loaded.warnings) is not trusted


def test_a_port_that_nobody_has_does_not_answer() -> None:
    ports = LocalDeployments({})
    assert asyncio.run(ports.answers(ports.free_port(0))) is False
