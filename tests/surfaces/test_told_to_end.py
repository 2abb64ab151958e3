"""SIGTERM, a hang-up: what runs is ended, the call is on record as interrupted, what appeared is moved aside."""

import asyncio
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client

from tests.adapters.model_server import Reply
from tests.looking import a_while, alive
from tests.surfaces.program import PROGRAM, SECONDS, Model, Program, call

pytestmark = pytest.mark.system("bwrap")
ENDS = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
COMMAND = {"command": "make -f slow.mk", "timeout": 600}
DIALS = ("--mode", "build", "--permission-profile", "trusted")


@pytest.fixture(autouse=True)
def heeds_a_hang_up() -> Iterator[None]:
    """What a process ignores its children ignore, and whoever runs the tests may ignore a hang-up, as nohup does."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


class Slow:
    """A command that leaves something in a protected place, says so, and then takes for ever."""

    def __init__(self, quintet: Program) -> None:
        self.quintet = quintet
        self.seconds = a_while()
        self.left = quintet.root / ".claude/settings.json"
        os.mkfifo(quintet.root / "ready")
        lines = ("mkdir -p .claude", "echo {} > .claude/settings.json", "echo go > ready", f"sleep {self.seconds}")
        (quintet.root / "slow.mk").write_text(f"all:\n\t@{'; '.join(lines)}\n")

    def runs(self) -> None:
        assert (self.quintet.root / "ready").read_text() == "go\n"

    def is_over(self) -> None:
        assert not alive("sleep", self.seconds)
        assert not self.left.exists()
        assert [event["status"] for event in self.quintet.events("tool_finished")] == ["interrupted"]


@pytest.fixture
def slow(quintet: Program) -> Slow:
    return Slow(quintet)


@ENDS
def test_plain_at_a_terminal(quintet: Program, model: Model, slow: Slow, number: signal.Signals) -> None:
    model(call("bash", **COMMAND), Reply(text="over"))
    terminal = quintet.plain(*DIALS, "--autonomous")
    terminal.types("wait")
    slow.runs()
    terminal.child.kill(number)
    assert terminal.leaves()[0] == 0
    slow.is_over()


def test_plain_whose_terminal_is_gone(quintet: Program, model: Model, slow: Slow) -> None:
    model(call("bash", **COMMAND), Reply(text="over"))
    terminal = quintet.plain(*DIALS, "--autonomous")
    terminal.types("wait")
    slow.runs()
    terminal.goes_away()
    slow.is_over()


@ENDS
def test_headless(quintet: Program, slow: Slow, number: signal.Signals) -> None:
    line = f"echo go > ready; sleep {slow.seconds}"
    child = quintet.start("-p", f"! {line}", *DIALS, "--autonomous", "--output-format", "json")
    slow.runs()
    child.send_signal(number)
    out, err = child.communicate(timeout=SECONDS)
    assert child.returncode == 130, err
    assert json.loads(out)["status"] == "interrupted"
    slow.is_over()


def test_plain_from_a_pipe(quintet: Program, model: Model, slow: Slow) -> None:
    model(call("bash", **COMMAND), Reply(text="over"))
    child = subprocess.Popen([*PROGRAM, "--plain", *DIALS, "--autonomous"], cwd=quintet.root, stdin=subprocess.PIPE)
    try:
        assert child.stdin
        child.stdin.write(b"wait\n")
        child.stdin.flush()
        slow.runs()
        child.send_signal(signal.SIGTERM)
        assert child.wait(SECONDS) == 0
    finally:
        child.kill()
        child.communicate()
    slow.is_over()


@pytest.fixture
def server(quintet: Program, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen(
        [*PROGRAM, "mcp-server", *DIALS, *request.param],
        cwd=quintet.root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


@pytest.mark.parametrize("server", [()], indirect=True, ids=["stdio"])
@ENDS
def test_an_mcp_server_over_stdio(slow: Slow, server: subprocess.Popen[str], number: signal.Signals) -> None:
    def says(method: str, **more: Any) -> None:
        assert server.stdin
        server.stdin.write(json.dumps({"jsonrpc": "2.0", "method": method, **more}) + "\n")
        server.stdin.flush()

    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    says("initialize", id=1, params=about)
    assert server.stdout and server.stdout.readline()
    says("notifications/initialized")
    says("tools/call", id=2, params={"name": "bash", "arguments": COMMAND})
    slow.runs()
    server.send_signal(number)  # its input stays open
    assert server.wait(SECONDS) == 0
    slow.is_over()


@pytest.mark.parametrize("server", [("--http", "0")], indirect=True, ids=["http"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_an_mcp_server_over_http(slow: Slow, server: subprocess.Popen[str], number: signal.Signals) -> None:
    assert server.stderr
    address = None
    while not address:
        line = server.stderr.readline()
        assert line
        address = re.search(r"http://127\.0\.0\.1:\d+/mcp", line)

    async def used(url: str) -> None:
        async with asyncio.timeout(SECONDS), Client(url) as client:
            calling = asyncio.create_task(client.call_tool("bash", COMMAND))
            await asyncio.to_thread(slow.runs)
            server.send_signal(number)
            await asyncio.gather(calling, return_exceptions=True)
            assert await asyncio.to_thread(server.wait, SECONDS) == 0

    asyncio.run(used(address[0]))
    slow.is_over()
