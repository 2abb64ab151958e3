"""Looks at the machine from outside, as a test may and a contained command may not."""

import asyncio
import contextlib
import itertools
import os
import time

from quintet.adapters.processes.processes import LocalProcesses, _environment
from quintet.domain.permission.effects import Grant

_numbers = itertools.count(1)


def a_while() -> str:
    """A number of seconds, ten minutes and more, that nobody else sleeps for, in this process or beside it."""
    number = next(_numbers)
    return f"{600 + number % 100}.{os.getpid()}{number:03}"


def alive(*argv: str, seconds: float = 60.0) -> bool:
    """Whether a process with exactly this command line still runs; it gets a moment to go."""
    deadline = time.monotonic() + seconds
    while found := _running(argv):
        if time.monotonic() > deadline:
            return found
        time.sleep(0.01)
    return False


def _running(argv: tuple[str, ...]) -> bool:
    wanted = "".join(f"{word}\0" for word in argv).encode()
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as file:
                if file.read() == wanted:
                    return True
    return False


async def put_up_a_room(processes: LocalProcesses, cwd: str, grant: Grant) -> None:
    """Two commands of one grant, and the walls of the third are kept up for it."""
    for _ in range(2):
        await processes.run(("true",), cwd=cwd, grant=grant, timeout=60)
    await _is_up(processes)


async def put_up_a_room_at_once(processes: LocalProcesses, cwd: str, grant: Grant) -> None:
    """The same walls, as after two commands of the grant, without the commands."""
    launch = await asyncio.to_thread(processes._containment.launch, ("true",), cwd, grant)
    processes._containment.settle(launch)
    for _ in range(2):
        processes.kept_sandboxes.settle(launch, _environment(launch))
    await _is_up(processes)


async def _is_up(processes: LocalProcesses) -> None:
    while not processes.kept_sandboxes.free:  # noqa: ASYNC110  its inside says when it is up
        await asyncio.sleep(0.005)
