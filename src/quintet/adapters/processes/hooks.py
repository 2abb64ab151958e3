"""Runs a hook: the user's own shell command, in a group of its own, not in the sandbox, ended as a whole.

It reads and writes files without a name, not pipes: whatever it leaves behind holds nothing of ours open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import IO

from quintet.adapters.files.own_temporary import unnamed_file
from quintet.adapters.processes.proc_fs import descendants
from quintet.adapters.processes.processes import kill_tree, own_environment
from quintet.domain.settings.hooks import HookEnd

MOST_BYTES = 1_000_000  # of what a hook prints that is read
NOT_STARTED = 127


class ShellHooks:
    def __init__(self, problem: Callable[[str], str] = lambda command: "") -> None:
        """`problem` says why a command may not be run as things are now; empty if it may."""
        self._problem = problem

    async def run(self, command: str, told: bytes, cwd: str, timeout: float) -> HookEnd:
        if problem := self._problem(command):
            return HookEnd(NOT_STARTED, withheld=problem)

        with unnamed_file() as given, unnamed_file() as out, unnamed_file() as err:
            given.write(told)
            given.seek(0)
            try:
                process = await asyncio.create_subprocess_exec(
                    "/bin/sh",
                    "-c",
                    command,
                    cwd=cwd,
                    env=own_environment(),
                    stdin=given,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                )
            except OSError as error:
                return HookEnd(NOT_STARTED, stderr=f"cannot be started: {error.strerror}")
            timed_out = False
            try:
                async with asyncio.timeout(timeout):
                    await process.wait()
            except TimeoutError:
                timed_out = True
            finally:
                kill_tree(process.pid, descendants(process.pid))
                code = await asyncio.shield(process.wait())
            return HookEnd(code if code >= 0 else 128 - code, _text(out), _text(err), timed_out)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(MOST_BYTES).decode("utf-8", "replace")
