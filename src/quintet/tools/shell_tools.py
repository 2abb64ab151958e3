"""bash: one shell line, run to its end or to its timeout; and wait."""

from __future__ import annotations

import asyncio
from typing import Any

from quintet.domain.axes import PermissionProfile
from quintet.domain.errors import ToolFailed
from quintet.domain.grants import Effect
from quintet.domain.ports import Finished, Workbench
from quintet.domain.toolspec import CallStatus, ToolResult, Touch
from quintet.tools.declare import tool

TIMED_OUT = 124
LONGEST_WAIT = 600.0


def _line(arguments: dict[str, Any]) -> Touch:
    folder = arguments["exec_dir"]
    return Touch(frozenset(), (folder,) if folder else (), lines=(arguments["command"],), folder=folder)


@tool(effects=set(Effect) - {Effect.FETCH}, profile=PermissionProfile.RESTRICTED, touch=_line)
async def bash(
    bench: Workbench, command: str, exec_dir: str = "", timeout: float = 45, description: str = ""
) -> ToolResult:
    """Run a shell line in the project and return its output and exit code.

    :command: the line, for bash
    :exec_dir: folder to run in, relative to the project
    :timeout: seconds before it is killed (exit 124)
    :description: what it is for, in a few words
    """
    try:
        cwd = bench.files.real(exec_dir) if exec_dir else bench.root
    except FileNotFoundError:
        raise ToolFailed(f"{exec_dir}: no such folder") from None
    done = await bench.processes.run(
        ("bash", "-c", command), cwd=cwd, grant=bench.grant, timeout=timeout, on_output=bench.progress
    )
    return shown(done, timeout)


@tool(effects=set())
async def wait(bench: Workbench, seconds: float) -> ToolResult:
    """Wait, for something that takes its time.

    :seconds: 0 to 600
    """
    if not 0 <= seconds <= LONGEST_WAIT:
        raise ToolFailed(f"seconds = {seconds:g}: 0 to {LONGEST_WAIT:g} is wanted")
    await asyncio.sleep(seconds)
    return ToolResult(f"waited {seconds:g} s", summary=f"{seconds:g} s")


def shown(done: Finished, timeout: float) -> ToolResult:
    code = TIMED_OUT if done.timed_out else done.exit_code
    note = f"\n(killed after {timeout:g} s)" if done.timed_out else ""
    text = done.output.rstrip("\n")
    content = f"{text}\nexit {code}{note}" if text else f"exit {code}{note}"
    return ToolResult(content, CallStatus.OK if code == 0 else CallStatus.ERROR, summary=f"exit {code}")
