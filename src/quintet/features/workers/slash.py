"""/parallel: workers for this project's open tasks, with at most the rights of this session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quintet.adapters.git.worktrees import Worktrees
from quintet.adapters.stores.chosen import open_store
from quintet.domain.base.errors import UsageError
from quintet.domain.base.text_table import table
from quintet.domain.base.wording import counted
from quintet.domain.dials.axes import PermissionProfile, Surface
from quintet.features.workers.service import Workers, WorkersSeen
from quintet.features.workers.settings import MOST, TaskSettings, WorkerSettings

if TYPE_CHECKING:
    from quintet.app.services import Opening

USAGE = "[start N|status|stop]"


async def parallel(opening: Opening, words: tuple[str, ...]) -> str:
    held: Workers = opening.services["workers"]
    match tuple(word.lower() for word in words):
        case () | ("status",):
            return "\n".join(status_lines(held.seen()))
        case ("start", *rest) if len(rest) <= 1:
            return _start(opening, held, rest[0] if rest else "")
        case ("stop",):
            return await _stop(held)
    raise UsageError(USAGE)


def _start(opening: Opening, held: Workers, given: str) -> str:
    settings = opening.settings.table("workers", WorkerSettings)
    if given and not (given.isdigit() and 1 <= int(given) <= MOST):
        raise UsageError(f"start {given}: expected a number of workers, 1 to {MOST}")
    number = int(given) if given else settings.count
    axes = opening.attach(Surface.RPC).state.axes
    if axes.permission_profile is PermissionProfile.RESTRICTED:
        raise UsageError("profile restricted builds nothing; change it to normal or above first")
    target = opening.settings.table("tasks", TaskSettings).target or Worktrees(opening.places.root).current()
    if not target:
        raise UsageError("your checkout is on no branch: check one out first")
    words = ["--permission-profile", str(axes.permission_profile), "--model-mode", str(axes.model_mode)]
    held.start(number, [*words, "--onto", target])
    return f"{counted(number, 'worker')} started, at most {axes.permission_profile}; /parallel status shows them"


async def _stop(held: Workers) -> str:
    live = held.seen().live
    store = open_store(held.places)
    try:
        for one in live:
            await store.worker_store().stop_worker(one.id)
    finally:
        await store.close()
    return f"{counted(len(live), 'worker')} told to stop after the current task" if live else "no worker runs"


def status_lines(seen: WorkersSeen) -> list[str]:
    rows = [
        (
            str(one.owner_pid),
            str(one.state),
            one.task or "-",
            ", ".join(map(str, seen.claims.get(one.task, ()))) or "-",
            str(one.done),
            f"{one.cost:.4f}",
            one.heartbeat[11:19],
        )
        for one in seen.live
    ]
    heading = ("PROCESS", "STATE", "TASK", "CLAIMS", "DONE", "COST", "HEARTBEAT")
    lines = table(rows, heading=heading, right=(0, 4, 5)) if rows else ["no worker runs; /parallel start N starts some"]
    lines += [f"{one.owner_pid} on {one.machine}: {one.said}" for one in seen.live if one.said]
    lines += [f"{wait.task} waits for {wait.waits_for}: {wait.path}" for wait in seen.waits]
    lines += [f"{task}: {said}" for task, said in seen.later.items()]
    return lines
