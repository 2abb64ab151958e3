"""Use other people's MCP servers in their newest versions, and hold our client and server to the conformance suite.

scripts/check mcp [--from FOLDER] [--only servers|everything|client|server]: installs the packages below with npm and
pip into a temporary folder (or takes one in which they are), and uses each server in a session, through the gate and
behind the sandbox: its tools are listed, one is called, and the answer is looked at. server-everything is tried in all
its ways, over stdio and HTTP. Then the scenarios of @modelcontextprotocol/conformance, for clients and for servers, one
by one. It prints the tables of docs/compatibility/mcp.md; what fails and is not explained there makes it fail.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

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


class Tried(NamedTuple):
    """A server, and one call of it."""

    package: str
    manager: str  # npm or pip
    program: str  # below node_modules, or a script of the environment
    tool: str
    arguments: dict[str, Any]
    has: str  # stands in the answer
    words: tuple[str, ...] = ()
    env: dict[str, str] = {}  # noqa: RUF012
    beside: tuple[str, ...] = ()  # what it needs that it does not ask for


ROOT = "{root}"
SERVERS = (
    Tried("@modelcontextprotocol/server-everything", "npm", PROGRAM, "echo", {"message": "hello"}, "hello", ("stdio",)),
    Tried(
        "@modelcontextprotocol/server-filesystem",
        "npm",
        "@modelcontextprotocol/server-filesystem/dist/index.js",
        "read_text_file",
        {"path": f"{ROOT}/note.txt"},
        "hello",
        (ROOT,),
    ),
    Tried(
        "@modelcontextprotocol/server-memory",
        "npm",
        "@modelcontextprotocol/server-memory/dist/index.js",
        "create_entities",
        {"entities": [{"name": "ada", "entityType": "person", "observations": ["wrote"]}]},
        "ada",
        env={"MEMORY_FILE_PATH": "{home}/memory.jsonl"},
    ),
    Tried(
        "@modelcontextprotocol/server-sequential-thinking",
        "npm",
        "@modelcontextprotocol/server-sequential-thinking/dist/index.js",
        "sequentialthinking",
        {"thought": "x", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
        "thoughtNumber",
    ),
    Tried("@playwright/mcp", "npm", "@playwright/mcp/cli.js", "", {}, "browser_navigate", ("--headless",)),
    Tried("mcp-server-git", "pip", "mcp-server-git", "git_status", {"repo_path": ROOT}, "branch"),
    Tried("mcp-server-fetch", "pip", "mcp-server-fetch", "", {}, "fetch"),
    Tried("mcp-server-time", "pip", "mcp-server-time", "get_current_time", {"timezone": "UTC"}, "datetime"),
    Tried(
        "mcp-server-sqlite",
        "pip",
        "mcp-server-sqlite",
        "list_tables",
        {},
        "[]",
        ("--db-path", "{home}/x.db"),
        beside=("mcp<2",),  # with the newest SDK it ends at its start
    ),
    Tried("mcp-server-calculator", "pip", "mcp-server-calculator", "calculate", {"expression": "6*7"}, "42"),
    Tried("duckduckgo-mcp-server", "pip", "duckduckgo-mcp-server", "", {}, "search"),
    Tried("@upstash/context7-mcp", "npm", "@upstash/context7-mcp/dist/index.js", "", {}, "resolve-library-id"),
    Tried("mcp-server-commands", "npm", "mcp-server-commands/build/index.js", "", {}, "run_"),
    Tried(
        "chrome-devtools-mcp",
        "npm",
        "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js",
        "",
        {},
        "navigate_page",
    ),
    Tried("mcp-server-kubernetes", "npm", "mcp-server-kubernetes/dist/index.js", "", {}, "kubectl_get"),
)
SUITE = "@modelcontextprotocol/conformance"
NODE = "node@22"  # which the suite needs
EXPLAINED = {
    "auth/2025-03-26-oauth-metadata-backcompat": "the SDK wants the issuer of old metadata to be the server itself",
    "auth/client-credentials-jwt": "an extension for clients without a user",
    "auth/client-credentials-basic": "an extension for clients without a user",
    "auth/cross-app-access-complete-flow": "an extension for companies' own identity servers",
    "server-sse-polling": "the suite asks as a client of 2025-03-26, which the SDK sends no such events",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/check mcp", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--from", dest="folder", type=Path, help="a folder in which the packages are installed")
    parser.add_argument("--only", choices=("servers", "everything", "client", "server"), help="only this part")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="quintet-mcp-") as place:
        installed = given.folder.resolve() if given.folder else Path(place).resolve() / "installed"
        if not given.folder:
            install(installed, servers=given.only not in ("client", "server"))
        root = Path(place).resolve() / "project"
        root.mkdir()
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        (root / "note.txt").write_text("hello\n")
        for name in ("config", "state", "cache"):
            os.environ[f"XDG_{name.upper()}_HOME"] = str(Path(place) / name)
        failures = 0
        if given.only in (None, "servers"):
            failures += others(root, installed)
        if given.only in (None, "everything"):
            failures += over_stdio(root, installed) + over_http(root, installed)
        if given.only in (None, "client"):
            failures += conformance(root, installed, "client")
        if given.only in (None, "server"):
            failures += conformance(root, installed, "server")
    print("FAILED" if failures else "ok")
    return 1 if failures else 0


def install(folder: Path, *, servers: bool) -> None:
    folder.mkdir()
    (folder / "package.json").write_text('{"private": true}')
    npm = [one.package for one in SERVERS if one.manager == "npm"]
    quiet = {"stdout": subprocess.DEVNULL, "cwd": folder}
    around = {**os.environ, "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1", "PUPPETEER_SKIP_DOWNLOAD": "1"}
    for package in (*(npm if servers else ()), SUITE, NODE):  # one that cannot be had does not keep the others away
        words = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", package]
        subprocess.run(words, env=around, **quiet)  # type: ignore[call-overload]
    for one in SERVERS if servers else ():
        if one.manager == "pip":  # each in an environment of its own: they want different versions of the SDK
            subprocess.run([sys.executable, "-m", "venv", folder / "venvs" / one.package], check=True)
            pip = [folder / "venvs" / one.package / "bin/pip", "install", "-q", "--disable-pip-version-check"]
            subprocess.run([*pip, one.package, *one.beside], **quiet)  # type: ignore[call-overload]


def command(one: Tried, installed: Path, root: Path) -> tuple[list[str], str]:
    """How a server is started, and its version; nothing where it is not installed."""
    home = home_of(f"s{SERVERS.index(one)}")
    words = [word.replace(ROOT, str(root)).replace("{home}", home) for word in one.words]
    if one.manager == "npm":
        folder = installed / "node_modules" / one.package
        script = installed / "node_modules" / one.program.removeprefix("node_modules/")
        if not script.exists():
            return [], "not installed"
        version = json.loads((folder / "package.json").read_text())["version"]
        return ["node", str(script), *words], version
    program = installed / "venvs" / one.package / "bin" / one.program
    if not program.exists():
        return [], "not installed"
    found = subprocess.run(
        [program.parent / "pip", "show", one.package, "--disable-pip-version-check"], capture_output=True, text=True
    )
    version = next((line.split()[1] for line in found.stdout.splitlines() if line.startswith("Version:")), "?")
    return [str(program), *words], version


def others(root: Path, installed: Path) -> int:
    started = {one.package: command(one, installed, root) for one in SERVERS}
    names = {one.package: f"s{number}" for number, one in enumerate(SERVERS)}
    tables = [
        "\n".join(
            (
                f"[mcp.servers.{names[package]}]",
                f"command = {json.dumps(words[0])}",
                f"args = {json.dumps(words[1:])}",
                f"folders = {json.dumps([str(installed)])}",
                *(f"env.{name} = {json.dumps(value)}" for name, value in variables(package, names[package])),
                "timeout = 90\n",
            )
        )
        for package, (words, _) in started.items()
        if words
    ]
    settings("\n".join(tables), [f"{name}:*" for name in names.values()])
    print("| server | version | tried | result |\n| --- | --- | --- | --- |")
    return asyncio.run(used_others(root, started, names))


def variables(package: str, name: str) -> list[tuple[str, str]]:
    given = next(one.env for one in SERVERS if one.package == package)
    return [(key, value.replace("{home}", home_of(name))) for key, value in given.items()]


def home_of(name: str) -> str:
    """The home that a server of the user's own settings has, which lasts."""
    return os.path.join(os.environ["XDG_STATE_HOME"], "quintet/mcp/yours", name)


async def used_others(root: Path, started: dict[str, tuple[list[str], str]], names: dict[str, str]) -> int:
    failures = 0
    async with quintet.open(str(root), axes=BUILD) as session:
        for one in SERVERS:
            words, version = started[one.package]
            said, good = "not installed", False
            if words:
                asked = {"server": names[one.package], "command": "list_tools"}
                done = await called(session, **asked)
                if done.status == CallStatus.OK and one.tool:
                    arguments = json.loads(json.dumps(one.arguments).replace(ROOT, str(root)))
                    done = await called(
                        session, **{**asked, "command": "call_tool"}, tool_name=one.tool, tool_args=arguments
                    )
                good = done.status == CallStatus.OK and one.has in done.content
                said = " ".join(done.content.split())[:160]
            why = "" if good else f"{EXPLAINED[one.package]}" if one.package in EXPLAINED else f"FAILED: {said}"
            failures += why.startswith("FAILED")
            print(f"| {one.package} | {version} | {one.tool or 'tools listed'} | {why or 'ok'} |", flush=True)
    return failures


async def called(session: Any, **arguments: Any) -> p.ToolFinished:
    finished: p.ToolFinished | None = None
    async for item in session.follow(await session.say(format_own_call("mcp_tool", json.dumps(arguments)))):
        if isinstance(item, p.Recorded) and isinstance(item.event, p.ToolFinished):
            finished = item.event
    assert finished
    return finished


def conformance(root: Path, installed: Path, side: str) -> int:
    """Each scenario of the suite by itself, so that one that hangs is one that fails."""
    node = str(installed / "node_modules/node/bin/node")
    suite = [node, str(installed / "node_modules/.bin/conformance")]
    listed = subprocess.run([*suite, "list", f"--{side}"], capture_output=True, text=True).stdout
    names = [line.split()[1] for line in listed.splitlines() if line.startswith("  - ")]
    version = json.loads((installed / "node_modules" / SUITE / "package.json").read_text())["version"]
    print(f"\n{SUITE} {version}, {side}\n\n| scenario | result |\n| --- | --- |")
    failures = 0
    with serving(root, installed) if side == "server" else contextlib.nullcontext("") as address:
        for name in names:
            if side == "client":
                client = f"{sys.executable} -P -W ignore {Path(__file__).with_name('_mcp_client.py')}"
                words = [*suite, "client", "--command", client, "--scenario", name, "--timeout", "50000"]
            else:
                words = [*suite, "server", "--url", address, "--scenario", name]
            try:
                done = subprocess.run(words, capture_output=True, text=True, cwd=root, timeout=90)
                good, said = done.returncode == 0, " ".join(done.stdout.split())[-200:]
            except subprocess.TimeoutExpired:
                good, said = False, "no end within 90 s"
            why = "" if good else EXPLAINED.get(name, f"FAILED: {said}")
            failures += why.startswith("FAILED")
            print(f"| {name} | {why or 'ok'} |", flush=True)
    return failures


def with_fixture(installed: Path) -> str:
    """An environment that finds Quintet where this one does, and has the suite's plugin, installed as any other."""
    env = installed / "fixture"
    if not (env / "bin/python").exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", env], check=True)
        packages = next(env.glob("lib/python3*/site-packages"))
        (packages / "beside.pth").write_text("\n".join(path for path in sys.path if path) + "\n")
    pip = [sys.executable, "-m", "pip", "--python", env / "bin/python", "install", "-q", "--force-reinstall"]
    plugin = Path(__file__).with_name("mcp_fixture")
    with tempfile.TemporaryDirectory() as copy:  # a build leaves things beside its source
        shutil.copytree(plugin, Path(copy) / "plugin")
        more = ["--no-index", "--no-deps", "--no-build-isolation", Path(copy) / "plugin"]
        subprocess.run([*pip, *more], check=True)
    return str(env / "bin/python")


@contextmanager
def serving(root: Path, installed: Path) -> Iterator[str]:
    """Our own server over HTTP, in an environment with the plugin that has what the suite asks for (mcp_fixture/)."""
    python = with_fixture(installed)
    words = [python, "-P", "-m", "quintet", "mcp-server", "--http", "0", "--toolsets", "swe,data"]
    child = subprocess.Popen(words, cwd=root, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stderr
        said = ""
        while "MCP server at " not in said:
            line = child.stderr.readline()
            assert line, said
            said += line
        yield said.rpartition("MCP server at ")[2].strip()
    finally:
        child.terminate()
        child.communicate()


def settings(text: str, allowed: Sequence[str]) -> None:
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "quintet"
    config.mkdir(parents=True, exist_ok=True)
    (config / "settings.toml").write_text(text)
    rules = [
        {"id": f"rule-{n}", "verdict": "allow", "tool": "mcp_tool", "pattern": pattern, "effects": ["network"]}
        for n, pattern in enumerate(allowed)
    ]
    (config / "rules.json").write_text(json.dumps(rules))


def over_stdio(root: Path, installed: Path) -> int:
    script = str(installed / PROGRAM)
    return checked(root, "stdio", {"command": "node", "args": [script, "stdio"], "folders": [str(installed)]})


def over_http(root: Path, installed: Path) -> int:
    with listening(installed) as port:
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
    table = "".join(f"{key} = {json.dumps(value)}\n" for key, value in server.items())
    settings(f"[mcp.servers.everything]\n{table}", [f"everything:{name}" for name in NAMED])
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
        holds("bad arguments", bad, lambda said: "Its arguments: a, b" in said, CallStatus.ERROR)
        unknown = await tool("get-som")
        holds("a name that is not there", unknown, lambda said: "Did you mean get-sum?" in said, CallStatus.ERROR)
        unnamed = await tool("get-env")
        holds("what no rule names", unnamed, lambda said: "everything:get-env" in said, CallStatus.DENIED)
    return failures


def is_png(said: str) -> bool:
    path = next(line for line in said.splitlines() if line.startswith("[image/png")).removesuffix("]").split()[-1]
    return Path(path).read_bytes().startswith(b"\x89PNG")


def told(transport: str, what: str, good: bool, said: str) -> int:
    print(f"{transport:<6} {what:<28} {'ok' if good else 'FAILED: ' + said[:300]}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
