"""Runs the trials of a suite, several at once, each in a process of its own.

The order of trials is drawn from the seed, so that no arm is always tried first; what comes out does not depend on it.
A process that dies takes one trial with it, which is then told as broken, and another goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from random import Random
from typing import IO

import msgspec

from quintet.domain.ports.trials import TrialResult, TrialVerdict
from quintet.features.evals.arms import EvalArm, obstacle
from quintet.features.evals.scripted import does, rate_of
from quintet.features.evals.tasks import EvalTask, laid_out
from quintet.features.evals.worker import MOST_LINE, TrialOrder

PROGRAM = (sys.executable, "-P", "-m", "quintet.features.evals.worker")
END_SECONDS = 20.0  # between being told to end and being killed
DIED = "the process that ran it ended with {}: {}"
KEPT_WORDS = 300  # characters of what it said last


class TrialCrew:
    def __init__(self, folder: str, workers: int, tell: Callable[[TrialResult], None]) -> None:
        self._folder = folder
        self._workers = workers
        self._tell = tell

    async def run(self, orders: Sequence[TrialOrder]) -> list[TrialResult]:
        waiting = list(reversed(orders))
        results: list[TrialResult] = []

        async def work() -> None:
            child: Process | None = None
            with os.fdopen(os.memfd_create("errors"), "w+b") as errors:
                try:
                    while waiting:
                        order = waiting.pop()
                        if child is None or child.returncode is not None:
                            child = await self._started(errors)
                        result = await _asked(child, order, errors)
                        results.append(result)
                        self._tell(result)
                finally:
                    if child:
                        await asyncio.shield(_ended(child))

        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._workers, len(orders))):
                group.create_task(work())
        return results

    async def _started(self, errors: IO[bytes]) -> Process:
        return await asyncio.create_subprocess_exec(
            *PROGRAM, self._folder, stdin=PIPE, stdout=PIPE, stderr=errors, limit=MOST_LINE, start_new_session=True
        )


async def _asked(child: Process, order: TrialOrder, errors: IO[bytes]) -> TrialResult:
    assert child.stdin and child.stdout
    try:
        child.stdin.write(msgspec.json.encode(order) + b"\n")
        await child.stdin.drain()
        if line := await child.stdout.readline():
            return msgspec.json.decode(line, type=TrialResult)
    except ConnectionError:
        pass  # it is gone
    code = await child.wait()
    errors.seek(0)
    words = errors.read().decode("utf-8", "replace").strip().rpartition("\n")[2][-KEPT_WORDS:]
    reason = DIED.format(code, words or "it said nothing")
    return TrialResult(order.case.name, order.arm.name, order.number, TrialVerdict.BROKEN, reason)


async def _ended(child: Process) -> None:
    """It ends by itself when its stdin does; who does not is killed, with what it started."""
    if child.stdin:
        child.stdin.close()
    try:
        async with asyncio.timeout(END_SECONDS):
            await child.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await child.wait()


def orders(tasks: Sequence[EvalTask], arms: Sequence[EvalArm], trials: int, seed: int, place: str) -> list[TrialOrder]:
    """Every trial that can be made here, in the order that the seed gives; tasks are laid out below `place`."""
    found: list[TrialOrder] = []
    for task in tasks:
        case = laid_out(task, place)
        for arm in arms:
            if obstacle(task, arm):
                continue
            rate = rate_of(arm.model) if arm.model else None
            for number in range(1, trials + 1):
                scripted = rate is not None
                done = scripted and does(seed, task.name, arm.trial.name, number, rate or 0.0)
                solution = task.page.solution if done else None
                found.append(TrialOrder(case, arm.trial, number, scripted, solution))
    Random(seed).shuffle(found)
    return found


def cpu_seconds() -> float:
    """Of this process and of those it started that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
