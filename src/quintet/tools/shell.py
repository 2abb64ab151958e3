"""bash: one shell line, run to its end or to its timeout, or in the background; the shells that go on; and wait.

list_secrets says by name which secrets commands get, and never a value.
"""

from __future__ import annotations

import asyncio
import posixpath
import re
import time
from typing import Any

from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import counted
from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.protected_paths import inside
from quintet.domain.ports.ports import Finished, Workbench
from quintet.domain.turn.shown_output import exit_line
from quintet.domain.turn.tool_spec import CallStatus, ShellSeen, ToolResult, Touch
from quintet.tools.declare import tool

TIMED_OUT = 124
LONGEST_WAIT = 600.0
MOST_CHARACTERS = 30_000
FIRST_WORDS_SECONDS = 0.3  # a background shell's first output is worth this wait


def _line(arguments: dict[str, Any]) -> Touch:
    folder = arguments["exec_dir"]
    return Touch(frozenset(), (folder,) if folder else (), lines=(arguments["command"],), folder=folder)


@tool(effects=set(Effect) - {Effect.FETCH}, profile=PermissionProfile.RESTRICTED, touch=_line, needs=("bash",))
async def bash(
    bench: Workbench,
    command: str,
    exec_dir: str = "",
    bash_id: str = "",
    timeout: float = 45,
    description: str = "",
    run_in_background: bool = False,
) -> ToolResult:
    """Run a shell line in the project and return its output and exit code.

    :command: the line, for bash
    :exec_dir: folder to run in, relative to the project
    :bash_id: a name for the background shell
    :timeout: seconds before it is killed (exit 124)
    :description: what it is for, in a few words
    :run_in_background: start it in its own terminal and continue; bash_output reads it
    """
    try:  # a folder outside is one that the gate has asked about
        outside = exec_dir and inside(exec_dir, bench.root) is None
        cwd = posixpath.join(bench.root, exec_dir) if outside else bench.files.real(exec_dir or ".")
    except FileNotFoundError:
        raise ToolFailed(f"{exec_dir}: no such folder") from None
    argv = ("bash", "-c", command)
    if run_in_background:
        if bash_id and not re.fullmatch(r"[\w.-]{1,40}", bash_id):
            raise ToolFailed(f'bash_id "{bash_id}": expected letters, digits, dots and dashes')
        name = await bench.shells.start(bash_id, argv, call=bench.call, cwd=cwd, grant=bench.grant)
        await asyncio.sleep(FIRST_WORDS_SECONDS)
        return _shell_output(bench, name, "", f"shell {name} was started.")
    if bash_id:
        raise ToolFailed(
            "bash_id names a background shell: set run_in_background, or use write_to_shell for a running one"
        )
    whole = f"{bench.outputs}/{time.time_ns()}.txt"
    done = await bench.processes.run(
        argv,
        cwd=cwd,
        grant=bench.grant,
        timeout=timeout,
        whole=whole,
        as_user=bench.own_line,
        on_output=bench.progress,
    )
    return shown(done, timeout)


@tool(effects=set(), needs=("bash",))
async def bash_output(bench: Workbench, bash_id: str, filter: str = "") -> ToolResult:
    """Read what a background shell has printed since you last looked.

    :bash_id: the shell's name
    :filter: only lines that match this regular expression
    """
    return _shell_output(bench, bash_id, filter)


def _typed(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset(), lines=(arguments["content"],), shell=arguments["shell_id"])


@tool(effects=set(Effect) - {Effect.FETCH}, profile=PermissionProfile.NORMAL, touch=_typed, needs=("bash",))
async def write_to_shell(bench: Workbench, shell_id: str, content: str = "", press_enter: bool = True) -> ToolResult:
    """Type into a background shell.

    :shell_id: the shell's name
    :content: what to type
    :press_enter: and press Enter
    """
    await bench.shells.write(shell_id, content + ("\n" if press_enter else ""))
    await asyncio.sleep(FIRST_WORDS_SECONDS)
    return _shell_output(bench, shell_id, "")


@tool(effects=set(), needs=("bash",))
async def kill_shell(bench: Workbench, shell_id: str) -> ToolResult:
    """End a background shell and everything it started.

    :shell_id: the shell's name
    """
    code = await bench.shells.kill(shell_id)
    said = f"shell {shell_id} was ended (exit {code})"
    return ToolResult(said, summary=f"exit {code}", shell=ShellSeen(shell_id, running=False))


@tool(effects=set())
async def wait(bench: Workbench, seconds: float) -> ToolResult:
    """Wait for something that takes time.

    :seconds: 0 to 600
    """
    if not 0 <= seconds <= LONGEST_WAIT:
        raise ToolFailed(f"seconds = {seconds:g}: expected 0 to {LONGEST_WAIT:g}")
    await asyncio.sleep(seconds)
    return ToolResult(f"waited {seconds:g} s", summary=f"{seconds:g} s")


def _shell_output(bench: Workbench, name: str, pattern: str, head: str = "") -> ToolResult:
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise ToolFailed(f'filter "{pattern}": not a regular expression ({error})') from None
    text, code = bench.shells.read(name)
    lines = [line for line in text.splitlines() if wanted.search(line)]
    shown_text = "\n".join(lines)
    if (over := len(shown_text) - MOST_CHARACTERS) > 0:
        where = bench.shells.state(name).whole
        shown_text = f"… {over} characters omitted; the full output is in {where} …\n{shown_text[over:]}"
    state = "still running" if code is None else f"exit {code}"
    said = [part for part in (head, shown_text, f"({state})") if part]
    summary = f"{counted(len(lines), 'line')}, {state}"
    return ToolResult("\n".join(said), summary=summary, shell=ShellSeen(name, running=code is None))


def shown(done: Finished, timeout: float) -> ToolResult:
    code = TIMED_OUT if done.timed_out else done.exit_code
    note = f"\n(killed after {timeout:g} s)" if done.timed_out else ""
    text = done.output.rstrip("\n")
    content = f"{text}\n{exit_line(code)}{note}" if text else f"{exit_line(code)}{note}"
    content += "".join(f"\n{told}" for told in done.notes)
    status = CallStatus.OK if code == 0 else CallStatus.ERROR
    return ToolResult(content, status, summary=exit_line(code), shell=ShellSeen("", running=False, exit_code=code))


@tool(effects=set())
async def list_secrets(bench: Workbench) -> ToolResult:
    """List the secrets there are by name, with where each is from and which commands get it in their environment."""
    if bench.secrets is None:
        raise ToolFailed("no secrets are stored here")
    found = bench.secrets.names()
    if not found:
        return ToolResult("there are no secrets here", summary="none")
    lines = [f"{one.name}  from {one.source}{_given(one.exposed)}" for one in found]
    lines.append("Values are never shown. A command that gets a secret finds it in its environment under this name.")
    return ToolResult("\n".join(lines), summary=counted(len(found), "name"))


def _given(commands: tuple[str, ...]) -> str:
    return f"  exposed to: {', '.join(commands)}" if commands else "  exposed to no command"
