"""A process that runs trials for the one that runs a suite: usage worker FOLDER, with an order on each line of stdin.

It answers each with the result on a line of stdout. It ends when its stdin does, and what it was doing with it: it does
not outlive who asks.
"""

from __future__ import annotations

import asyncio
import os
import sys

import msgspec
from msgspec import Struct

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers
from quintet.domain.ports.trials import TrialArm, TrialCase, TrialResult, TrialRunner, TrialVerdict
from quintet.features.evals.scripted import SolutionModel
from quintet.features.evals.tasks import Solution
from quintet.features.registry import trial_runner

MOST_LINE = 1 << 26  # bytes of an order
NO_RUNNER = "nothing here can run trials"


class TrialOrder(Struct, frozen=True):
    case: TrialCase
    arm: TrialArm
    number: int
    scripted: bool = False  # the scripted model does it
    solution: Solution | None = None  # and how; without one it does nothing


async def serve(folder: str, answers: int) -> None:
    places = locate(folder)
    runner = trial_runner(places, layers.load(places))
    loop = asyncio.get_running_loop()
    orders = asyncio.StreamReader(MOST_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    line = await orders.readline()
    while line:
        ended = asyncio.ensure_future(orders.readline())
        trial = asyncio.ensure_future(_tried(runner, msgspec.json.decode(line, type=TrialOrder)))
        await asyncio.wait({ended, trial}, return_when=asyncio.FIRST_COMPLETED)
        if not trial.done():  # nothing is sent before an answer: whoever asked is gone
            trial.cancel()
            await asyncio.wait({trial})
            return
        os.write(answers, msgspec.json.encode(trial.result()) + b"\n")
        line = await ended


async def _tried(runner: TrialRunner | None, order: TrialOrder) -> TrialResult:
    if runner is None:
        return TrialResult(order.case.name, order.arm.name, order.number, TrialVerdict.BROKEN, NO_RUNNER)
    model = SolutionModel(order.solution) if order.scripted else None
    return await runner.run(order.case, order.arm, order.number, model)


if __name__ == "__main__":
    own = os.dup(1)
    os.dup2(2, 1)  # what anything prints is no answer
    asyncio.run(serve(sys.argv[1], own))
