"""deploy: pages or an app, up on this machine in the sandbox, or by the lines that the settings have for a target."""

from __future__ import annotations

import asyncio
import posixpath
import time
from typing import Any, Literal

from msgspec import structs

from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import did_you_mean
from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.effects import Effect
from quintet.domain.ports.ports import Workbench
from quintet.domain.settings.settings import Settings
from quintet.domain.turn.tool_spec import ToolResult, ToolSpec, Touch
from quintet.features.deploy.local import Deployed, LocalDeployments
from quintet.features.deploy.settings import DeploySettings
from quintet.tools.declare import tool
from quintet.tools.shell import shown

Command = Literal["frontend", "backend", "logs", "expose"]
SERVE = "python3 -u -m http.server --bind 127.0.0.1 {port}"
START_SECONDS = 20.0  # an app has to answer by then, or is said not to yet
LOOK_SECONDS = 0.1
LOG_CHARACTERS = 20_000
MOST_LOOKED_AT = 20_000  # files of a folder that is to be served
LOWEST_PORT = 1024


def _deploys(arguments: dict[str, Any]) -> Touch:
    command, folder, app = arguments["command"], arguments["dir"], arguments["app"]
    reads = (folder,) if folder else ()
    if command in ("logs", "expose"):
        return Touch(frozenset(), reads, folder=folder)
    line = SERVE.format(port=arguments["port"]) if command == "frontend" else app
    lines = (line,) if line else ()
    effects = frozenset({Effect.EXECUTE, Effect.NETWORK}) if lines else frozenset()
    return Touch(effects, reads, lines=lines, folder=folder)


@tool(effects=set(Effect) - {Effect.FETCH}, profile=PermissionProfile.NORMAL, touch=_deploys, needs=("bash",))
async def deploy(bench: Workbench, command: Command, dir: str = "", port: int = 0, app: str = "") -> ToolResult:
    """Put pages or an app up, on this machine or at a target of the user's settings; read its log; get its address.

    frontend serves a folder, backend starts an app, each on 127.0.0.1 until the session ends; deploying again takes the
    place of what was up. logs shows what it printed, expose says its address. With the name of a target of the user's
    as app, the line that the settings have for it is run instead.

    :command: what to do
    :dir: the folder to serve, or to run in; the project if empty
    :port: the port to listen on; 0 for any that is free
    :app: backend: the shell line that starts the app, which finds its port in $PORT; else a target's name
    """
    deployments: LocalDeployments = bench.service("deploy")
    if app in deployments.targets:
        return await _configured(bench, deployments, command, dir, app)
    if command in ("logs", "expose"):
        return _looked_at(bench, deployments, command, app)
    if command == "frontend" and app:
        raise ToolFailed(_no_target(app, deployments))
    if command == "backend" and not app:
        raise ToolFailed("deploy backend: app is missing: give the shell line that starts it, or a target's name")
    if port and not LOWEST_PORT <= port <= 65_535:
        raise ToolFailed(f"port {port}: expected {LOWEST_PORT} to 65535, or 0 for any free port")
    cwd = bench.files.real(dir or ".")
    if command == "frontend":
        _refuse_secrets(bench, dir or ".")
    return await _put_up(bench, deployments, command, app, cwd, port)


async def _put_up(
    bench: Workbench, deployments: LocalDeployments, name: str, app: str, cwd: str, wanted: int
) -> ToolResult:
    """Start it in a background shell of that name, and wait until it answers."""
    if name in _running(bench):
        await bench.shells.kill(name, "it was deployed again")
    port = deployments.free_port(wanted)
    line = SERVE.format(port=port) if name == "frontend" else f"export PORT={port} HOST=127.0.0.1\n{app}"
    await bench.shells.start(name, ("bash", "-c", line), call=bench.call, cwd=cwd, grant=bench.grant)
    deployed = Deployed(name, f"http://127.0.0.1:{port}/", cwd)
    deployments.up[name] = deployed
    try:
        until = time.monotonic() + START_SECONDS
        while not (answers := await deployments.answers(port)) and time.monotonic() < until:
            if name not in _running(bench):
                raise ToolFailed(f"the {name} ended immediately:\n{_log(bench, name)}")
            bench.progress(f"waiting for {deployed.url}")
            await asyncio.sleep(LOOK_SECONDS)
    except BaseException:
        del deployments.up[name]
        await bench.shells.kill(name)
        raise
    more = "" if answers else f"\nIt does not answer yet; its output:\n{_log(bench, name)}"
    said = f"The {name} is running at {deployed.url} until the session ends; shell {name} has its log.{more}"
    return ToolResult(said, summary=deployed.url)


def _looked_at(bench: Workbench, deployments: LocalDeployments, command: str, name: str) -> ToolResult:
    """The log or the address of what is up on this machine."""
    known = deployments.up
    if name and name not in known:
        up = f" Running here: {', '.join(known)}." if known else ""
        raise ToolFailed(f"{_no_target(name, deployments)}{up}")
    if not known:
        raise ToolFailed("nothing is deployed on this machine yet: deploy frontend or backend first")
    wanted = [name] if name else list(known)
    running = _running(bench)
    if command == "logs":
        heads = {one: f"── {one} {known[one].url}{'' if one in running else ' (ended)'}" for one in wanted}
        return ToolResult("\n".join(f"{heads[one]}\n{_log(bench, one)}" for one in wanted), summary=" ".join(wanted))
    lines = [f"{one}: {known[one].url}" if one in running else f"{one}: it has ended" for one in wanted]
    return ToolResult("\n".join([*lines, "Only this machine can reach it."]), summary=lines[0])


async def _configured(
    bench: Workbench, deployments: LocalDeployments, command: str, folder: str, name: str
) -> ToolResult:
    """Run the line that the settings have for a target."""
    target = deployments.targets[name]
    line = getattr(target, command)
    if not line:
        raise ToolFailed(f"deploy.{name} has no line for {command}: set deploy.{name}.{command}")
    done = await bench.processes.run(
        ("bash", "-c", line),
        cwd=bench.files.real(folder or "."),
        grant=bench.grant,
        timeout=target.timeout,
        whole=f"{bench.outputs}/{time.time_ns()}.txt",
        on_output=bench.progress,
    )
    return shown(done, target.timeout)


def _no_target(name: str, deployments: LocalDeployments) -> str:
    targets = ", ".join(deployments.targets) or "none"
    hint = did_you_mean(name, deployments.targets)
    return f"{name} is not a target.{hint} Targets: {targets}; add one with [deploy.NAME] in the settings."


def _running(bench: Workbench) -> list[str]:
    return [shell.name for shell in bench.shells.running()]


def _log(bench: Workbench, name: str) -> str:
    text = bench.shells.log(name).replace("\r\n", "\n").strip()
    over = len(text) - LOG_CHARACTERS
    return f"… {over} characters omitted …\n{text[over:]}" if over > 0 else text or "(nothing yet)"


def _refuse_secrets(bench: Workbench, folder: str) -> None:
    """What is served can be read by every program of this machine."""
    folders, seen = [folder], 0
    while folders:
        at = folders.pop()
        for entry in bench.files.entries(at):
            seen += 1
            if seen > MOST_LOOKED_AT:
                raise ToolFailed(
                    f"{folder} contains more than {MOST_LOOKED_AT} files: choose a folder with only the pages"
                )
            path = posixpath.normpath(posixpath.join(at, entry.name))
            if bench.files.protection.is_secret(path):
                raise ToolFailed(
                    f"{path} may contain secrets, and would be served: choose a folder with only the pages"
                )
            if entry.name == ".git":
                raise ToolFailed(f"{path} would be served, with all its history: choose a folder with only the pages")
            if entry.kind == "folder" and entry.name != "node_modules":
                folders.append(path)


def deploy_tool(settings: Settings) -> ToolSpec:
    """The tool, with the targets that the settings name; with such it is on record as a tool of the user's own."""
    targets = settings.named("deploy", DeploySettings)
    if not targets:
        return deploy

    def touch(arguments: dict[str, Any]) -> Touch:
        name = arguments["app"]
        plain = _deploys(arguments)
        return _to_target(plain, name, targets[name], arguments["command"]) if name in targets else plain

    return structs.replace(deploy, touch=touch, toolset="deploy")


def _to_target(touch: Touch, name: str, target: DeploySettings, command: str) -> Touch:
    """What deploying to a configured target touches: the line that the settings have for it, and its reach."""
    line = getattr(target, command)
    if not line:
        return structs.replace(touch, effects=frozenset(), lines=())  # it will be told so, and nothing is run
    reach = Effect.PUBLISH if target.production and command != "logs" else Effect.NETWORK
    why = f"deploy.{name}, a production target" if reach is Effect.PUBLISH else f"deploy.{name}"
    return structs.replace(touch, effects=frozenset({Effect.EXECUTE, reach}), lines=(line,), why=why, user_line=True)
