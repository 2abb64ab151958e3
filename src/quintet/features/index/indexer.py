"""The process that keeps a project's index up to date for a session: usage indexer, with a IndexTask as JSON on stdin.

It brings the index up to date, then again for each further line. On stdout it says how far it is, a Stand each as JSON.
It has a low priority and ends when its stdin does. If another process has the lock of the index, it waits.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from functools import partial

import msgspec
from msgspec import Struct

from quintet.domain.base.errors import QuintetError
from quintet.features.index.build import NICE, Builder, Job
from quintet.features.index.store import IndexStore, writing

WAIT_SECONDS = 0.2  # between two tries for the lock


class IndexTask(Struct, frozen=True):
    path: str  # of the index
    job: Job


class Stand(Struct, frozen=True):
    """How far the indexer is."""

    looks: int = 0  # that it has brought to an end
    done: int = 0
    of: int = 0
    problem: str = ""


def main() -> None:
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
    task = msgspec.json.decode(sys.stdin.buffer.readline(), type=IndexTask)
    looks = 0
    while True:
        try:
            _keep(task, looks)
            return
        except QuintetError as error:
            looks += 1
            _say(Stand(looks, problem=error.message))
        if not sys.stdin.buffer.readline():
            return


def _keep(task: IndexTask, looks: int) -> None:
    """One look after the other, as long as somebody asks."""
    while True:
        with writing(task.path) as mine:
            if mine:
                store = IndexStore(task.path)
                builder = Builder(task.job, store)
                try:
                    while True:
                        builder.bring(partial(_told, looks))
                        looks += 1
                        _say(Stand(looks))
                        if not sys.stdin.buffer.readline():
                            return
                finally:
                    builder.close()
                    store.close()
        _say(Stand(looks))  # somebody else keeps it
        time.sleep(WAIT_SECONDS)


def _told(looks: int, done: int, of: int) -> None:
    _say(Stand(looks, done, of))


def _say(stand: Stand) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(stand) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
