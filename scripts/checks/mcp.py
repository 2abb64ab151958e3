"""Use the npm package @modelcontextprotocol/server-everything, over stdio in the sandbox and over streamable HTTP.

scripts/check mcp [--from FOLDER]: installs the package with npm into a temporary project (or takes a folder in which
it is installed), opens a session there, and calls the server's tools and reads its resources through the gate: text,
structured content, a picture, links, progress, roots, bad arguments, a tool that no rule names, nothing left behind.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import quintet
from quintet.adapters.processes.system import descendants
from quintet.domain.dials.axes import AxesChange, PermissionProfile, WorkMode
from quintet.domain.input.slash_line import format_own_call
from quintet.domain.journal import protocol as p
from quintet.domain.turn.tool_spec import CallStatus

PACKAGE = "@modelcontextprotocol/server-everything"
PROGRAM = f"node_modules/{PACKAGE}/dist/index.js"
BUILD = AxesChange(work_mode=WorkMode.BUILD, permission_profile=PermissionProfile.NORMAL)
NAMED = ("echo", "get-sum", "get-structured-content", "get-tiny-image", "get-resource-links", "get-roots-list")
NAMED += ("trigger-long-running-operation", "get-resource-reference", "get-som")
SECONDS = 120.0


sys.path[:] = [path for path in sys.path if Path(path).resolve() != Path(__file__).resolve().parent]  # the SDK is mcp


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/check mcp", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--from", dest="folder", type=Path, help="a folder in which the package is installed")
    given = parser.parse_args().folder
    with tempfile.TemporaryDirectory(prefix="quintet-mcp-") as place:
        root = Path(place).resolve() / "project"
        root.mkdir()
        if given:
            shutil.copytree(given / "node_modules", root / "node_modules", symlinks=True)
        else:
            words = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", PACKAGE]
            subprocess.run(words, cwd=root, check=True, stdout=subprocess.DEVNULL)
        for name in ("config", "state", "cache"):
            os.environ[f"XDG_{name.upper()}_HOME"] = str(Path(place) / name)
        failures = over_stdio(root) + over_http(root)
    print("FAILED" if failures else "ok")
    return 1 if failures else 0


def over_stdio(root: Path) -> int:
    return checked(root, "stdio", {"command": "node", "args": [PROGRAM, "stdio"]})


def over_http(root: Path) -> int:
    with listening(root) as port:
        return checked(root, "http", {"url": f"http://127.0.0.1:{port}/mcp"})


@contextmanager
def listening(root: Path) -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    child = subprocess.Popen(
        ["node", PROGRAM, "streamableHttp"],
        cwd=root,
        env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            with socket.socket() as line:
                if line.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield port
    finally:
        child.kill()
        child.wait()


def checked(root: Path, transport: str, server: dict[str, Any]) -> int:
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "quintet"
    config.mkdir(parents=True, exist_ok=True)
    settings = "".join(f"{key} = {json.dumps(value)}\n" for key, value in server.items())
    (config / "settings.toml").write_text(f"[mcp.servers.everything]\n{settings}")
    rules = [
        {
            "id": f"rule-{n}",
            "verdict": "allow",
            "tool": "mcp_tool",
            "pattern": f"everything:{name}",
            "effects": ["network"],
        }
        for n, name in enumerate(NAMED)
    ]
    (config / "rules.json").write_text(json.dumps(rules))
    failures = asyncio.run(asyncio.wait_for(used(root, transport), SECONDS))
    left = [pid for pid, _ in descendants(os.getpid()) if transport == "stdio"]
    return failures + told(transport, "nothing is left behind", not left, str(left))


async def used(root: Path, transport: str) -> int:
    failures = 0
    signs: list[str] = []
    async with quintet.open(str(root), axes=BUILD) as session:

        async def call(**arguments: Any) -> p.ToolFinished:
            said = format_own_call("mcp_tool", json.dumps({"server": "everything", **arguments}))
            finished: p.ToolFinished | None = None
            async for item in session.follow(await session.say(said), signals=True):
                if isinstance(item, p.Progress):
                    signs.append(item.text)
                if isinstance(item, p.Recorded) and isinstance(item.event, p.ToolFinished):
                    finished = item.event
            assert finished
            return finished

        async def tool(name: str, **arguments: Any) -> p.ToolFinished:
            return await call(command="call_tool", tool_name=name, tool_args=arguments)

        def holds(what: str, done: p.ToolFinished, fits: Callable[[str], bool], status: str = CallStatus.OK) -> None:
            nonlocal failures
            failures += told(transport, what, done.status == status and fits(done.content), done.content)

        holds("its tools are listed", await call(command="list_tools"), lambda said: "- get-sum(a, b)" in said)
        holds("text", await tool("echo", message="hello"), lambda said: said == "Echo: hello")
        holds("numbers", await tool("get-sum", a=2, b=40), lambda said: "42" in said)
        weather = await tool("get-structured-content", location="New York")
        holds("structured content", weather, lambda said: "temperature" in json.loads(said))
        picture = await tool("get-tiny-image")
        holds("a picture, kept as a file", picture, lambda said: is_png(said))
        holds("links", await tool("get-resource-links", count=2), lambda said: said.count("demo://resource/") == 2)
        reference = await tool("get-resource-reference", resourceType="Text", resourceId=1)
        holds("a resource inside an answer", reference, lambda said: "demo://resource/dynamic/text/1" in said)
        read = await call(command="read_resource", resource_uri="demo://resource/static/document/features.md")
        holds("a resource", read, lambda said: "# " in said)
        blob = await call(command="read_resource", resource_uri="demo://resource/dynamic/blob/1")
        holds("a resource of bytes", blob, lambda said: "bytes: /" in said)
        slow = await tool("trigger-long-running-operation", duration=1, steps=4)
        holds("progress", slow, lambda said: "ompleted" in said and len(signs) >= 3)
        if transport == "stdio":
            holds("the project is its root", await tool("get-roots-list"), lambda said: str(root) in said)
        bad = await tool("get-sum", a="two")
        holds("bad arguments", bad, lambda said: "It takes: a, b" in said, CallStatus.ERROR)
        unknown = await tool("get-som")
        holds("a name that is not there", unknown, lambda said: "Did you mean get-sum?" in said, CallStatus.ERROR)
        unnamed = await tool("get-env")
        holds("what no rule names", unnamed, lambda said: "nobody is attached" in said, CallStatus.DENIED)
    return failures


def is_png(said: str) -> bool:
    path = next(line for line in said.splitlines() if line.startswith("[image/png")).removesuffix("]").split()[-1]
    return Path(path).read_bytes().startswith(b"\x89PNG")


def told(transport: str, what: str, good: bool, said: str) -> int:
    print(f"{transport:<6} {what:<28} {'ok' if good else 'FAILED: ' + said[:300]}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
