"""A process with a session and two helpers, to be killed: one helper ends, the other runs a command that takes long."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from quintet.domain.journal import protocol as p
from quintet.domain.turn.messages import Request
from quintet.testing import Reply, call
from tests.features.helpers.helping import model, opened, started, turns_of

TASKS = ("the quick one", "the slow one")
LINE = "sleep 86407"  # seconds that nothing else sleeps


def helper(request: Request, task: str) -> Reply:
    if task == TASKS[1] and turns_of(request) == 0:
        return [call("bash", command=LINE)]
    return f"report on {task}"


async def main(root: str) -> None:
    async with opened(Path(root), model([started(*TASKS)], helper)) as session:
        sys.stdout.write(f"{session.id}\n")
        async for item in session.follow(await session.say("look around"), signals=True):
            if isinstance(item, p.Progress):
                sys.stdout.write(item.text)
                sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
