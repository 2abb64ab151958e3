"""`quintet parallel` starts workers and shows what they do; `quintet worker` is one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from typing import IO, Any

import msgspec
from msgspec import structs

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.processes.system import RandomIds, process_identity
from quintet.adapters.settings import layers
from quintet.adapters.stores.chosen import chosen_kind, database_url, plain_address
from quintet.app.task_lookups import tasks_here
from quintet.cli.parsing import dial_flags, make_parser, turned
from quintet.domain.base.database_url import VARIABLE
from quintet.domain.base.errors import UsageError
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.base.wording import counted
from quintet.domain.dials.axes import PermissionProfile, RunControl, WorkMode
from quintet.domain.ports.workers import Worker, WorkerState
from quintet.domain.tasks.task import Task, TaskStatus
from quintet.domain.workers.claims import Overlap
from quintet.domain.workers.dispatch import Waiting, what_is_left
from quintet.domain.workers.integration import IntegrateWay
from quintet.features.workers.clone import Clone
from quintet.features.workers.schedules import Schedules
from quintet.features.workers.service import WorkersSeen, start_worker
from quintet.features.workers.settings import MOST, TaskSettings, WorkerSettings
from quintet.features.workers.shop import Rights, Shop
from quintet.features.workers.worker import CRASHED, WorkerLoop, WorkerNews, put_back
from quintet.surfaces.tables import complain, say, say_json, say_table
from quintet.surfaces.terminal import ending_signals, on_signals

LOOK_SECONDS = 0.2
STOPS = ("stopping after the current tasks; once more to end them now", "ending the current tasks")
NEEDS_PROFILE = "profile restricted builds nothing: use --permission-profile normal or above"


def parallel(arguments: list[str]) -> int:
    parser = make_parser("parallel", "Do the open tasks with several workers, until none can start.")
    parser.add_argument("number", nargs="?", type=int, metavar="N", help="how many workers (workers.count)")
    _flags(parser)
    parsed = parser.parse_args(arguments)
    places = locate(parsed.directory)
    loaded = layers.load(places)
    number = loaded.settings.table("workers", WorkerSettings).count if parsed.number is None else parsed.number
    if not 1 <= number <= MOST:
        raise UsageError(f"{number} workers: expected 1 to {MOST}")
    words = _words(parsed, loaded)
    shop = Shop(places, loaded, parsed.onto, _way(parsed))
    try:
        shop.check()
    finally:
        asyncio.run(shop.close())
    words += ["--onto", shop.target, "--integrate", str(shop.way)]
    return _watched(places, number, words, shop.way, as_json=parsed.json)


def _watched(places: Places, number: int, words: list[str], way: IntegrateWay, *, as_json: bool) -> int:
    """Start the workers, tell what changes, and say at the end where everything stands."""
    run, began = RandomIds().new("p"), time.monotonic()
    pid = f"{os.getpid()}:{process_identity(os.getpid())}"
    errors = [os.fdopen(os.memfd_create("errors"), "w+b") for _ in range(number)]
    processes = [start_worker(places.root, run, pid, words, file.fileno()) for file in errors]
    interrupted = 0

    def stop(*_: object) -> None:
        nonlocal interrupted
        interrupted += 1
        with contextlib.suppress(OSError):  # past the buffer: this may come in the middle of another message
            os.write(2, f"{STOPS[min(interrupted, len(STOPS)) - 1]}\n".encode())
        for one in processes:
            if one.poll() is None:
                one.send_signal(signal.SIGTERM if interrupted == 1 else signal.SIGKILL)

    handled = {one: signal.signal(one, stop) for one in (signal.SIGINT, signal.SIGTERM)}
    watch = _Watch(places, run, quiet=as_json)
    try:
        while any(one.poll() is None for one in processes):
            watch.look()
            time.sleep(LOOK_SECONDS)
        asyncio.run(_put_back(places))
        watch.look()
        rows = {one.owner_pid: one for one in WorkersSeen(places).workers if one.run == run}
        ended = [_ended(one, rows.get(one.pid), file) for one, file in zip(processes, errors, strict=True)]
    finally:
        for one, former in handled.items():
            signal.signal(one, former)
        for file in errors:
            file.close()
    told = [] if interrupted else [f"worker {place} {said}" for place, said in enumerate(ended, 1) if said]
    return _result(places, run, way, time.monotonic() - began, bool(interrupted), told, as_json=as_json)


async def _put_back(places: Places) -> None:
    """What a worker that was killed or crashed had begun is not left running."""
    shop = Shop(places, layers.load(places))
    try:
        await put_back(shop, lambda task, said: None)
    finally:
        await shop.close()


def _ended(process: subprocess.Popen[bytes], row: Worker | None, errors: IO[bytes]) -> str:
    """How a worker ended, if not by itself."""
    code = process.poll() or 0
    if code < 0:
        return f"(process {process.pid}) was killed: {signal.strsignal(-code) or -code}"
    if row and row.state is WorkerState.ENDED and not row.said.startswith(CRASHED):
        return ""
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - 4096))
    lines = errors.read().decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
    return f"(process {process.pid}) ended with {code}: {on_one_line(last)}"


class _Watch:
    """Tells on standard error what has changed since the last look."""

    def __init__(self, places: Places, run: str, *, quiet: bool) -> None:
        self._places = places
        self._run = run
        self._quiet = quiet
        self._tasks: dict[str, TaskStatus] = {task.id: task.status for task in tasks_here(places)[0].tasks}
        self._waits: set[tuple[str, str]] = set()

    def look(self) -> None:
        if self._quiet:
            return
        seen = WorkersSeen(self._places)
        number = {one.task: place for place, one in enumerate(self._mine(seen), 1) if one.task}
        for task in tasks_here(self._places)[0].tasks:
            if self._tasks.get(task.id) is not task.status:
                self._tasks[task.id] = task.status
                by = f"worker {number[task.id]}  " if task.id in number else ""
                complain(f"{by}{task.id} {task.status}")
        waits = {(one.task, f"{one.waits_for}: {one.path}") for one in seen.waits}
        for name, about in sorted(waits - self._waits):
            complain(f"{name} waits for {about}")
        self._waits = waits

    def _mine(self, seen: WorkersSeen) -> list[Worker]:
        return [one for one in seen.workers if one.run == self._run]


def _result(
    places: Places,
    run: str,
    way: IntegrateWay,
    seconds: float,
    interrupted: bool,
    ended: list[str],
    *,
    as_json: bool,
) -> int:
    seen = WorkersSeen(places)
    tasks = [task for task in tasks_here(places)[0].tasks if not task.put_away]
    mine = [one for one in seen.workers if one.run == run]
    limit = next((one.said for one in mine if one.said.startswith("workers.max_cost")), "")
    left = what_is_left(tasks, _waiting(seen), seen.held_up, "; ".join(ended) or limit or interrupted * "stopped")
    code = _exit_code(tasks, bool(limit), interrupted)
    if as_json:
        value: dict[str, Any] = {
            "tasks": {task.id: str(task.status) for task in tasks},
            "left": left,
            "ended": ended,
            "limit": limit,
            "workers": [msgspec.to_builtins(one) for one in mine],
            "seconds": round(seconds, 3),
            "exit_code": code,
        }
        say_json(value)
        return code
    say_table([(task.status, task.id, task.title) for task in sorted(tasks, key=lambda task: task.id)])
    sys.stdout.flush()
    for line in filter(None, (limit, *ended, *left)):
        complain(line)
    kept = sorted(one.branch for one in seen.branches.values() if one.state == "kept")
    if kept and way is IntegrateWay.PULL_REQUEST:
        complain("To publish what is verified:")
        say(f"git push -u origin {branch}" for branch in kept)
    done = sum(one.done for one in mine)
    complain(f"{counted(done, 'task')} done by {counted(len(mine), 'worker')} in {seconds:.0f} s")
    return code


def _waiting(seen: WorkersSeen) -> dict[str, Waiting]:
    found: dict[str, Waiting] = {}
    for one in seen.waits:
        others = found[one.task].others if one.task in found else ()
        found[one.task] = Waiting(one.task, (*others, Overlap(one.waits_for, one.path)))
    return found


def _exit_code(tasks: list[Task], limit: bool, interrupted: bool) -> int:
    if interrupted:
        return 130
    if any(task.status is TaskStatus.FAILED for task in tasks):
        return 1
    if all(task.status in (TaskStatus.DONE, TaskStatus.CANCELLED) for task in tasks):
        return 0
    return 4 if limit else 3


def worker(arguments: list[str]) -> int:
    parser = make_parser("worker", "Run one worker: do open tasks, one after the other, until none can start.")
    _flags(parser)
    parser.add_argument("--run", default="", metavar="ID", help="of the command that started it")
    parser.add_argument(
        "--parent", default="", metavar="PID", help="stop taking tasks when the process with this id has ended"
    )
    parser.add_argument("--wait", action="store_true", help="when nothing can start, wait for new tasks")
    parser.add_argument(
        "--repository", default="", metavar="URL", help="work in a clone of this, for the database of several machines"
    )
    parser.add_argument(
        "--schedule", action="store_true", help="also run what is due in the schedules, and wait for new tasks"
    )
    parser.add_argument("--push", action="store_true", help="push the branches quintet/TASK to that repository")
    parsed = parser.parse_args(arguments)
    if parsed.repository:
        return asyncio.run(_work(_cloned(parsed), parsed))
    if parsed.push:
        raise UsageError("--push publishes to the repository that --repository names; name one")
    places = locate(parsed.directory)
    loaded = layers.load(places)
    _words(parsed, loaded)
    return asyncio.run(_work(Shop(places, loaded, parsed.onto, _way(parsed)), parsed))


def _cloned(parsed: Namespace) -> Shop:
    """A shop in a clone of the worker's own; what cannot work is said before anything is cloned."""
    here = locate(parsed.directory)
    url = database_url(here)
    if not url:
        raise UsageError(
            "a worker with a clone of its own needs the database that its tasks are in",
            hint=f"Add --database postgresql://USER@HOST/NAME, or set {VARIABLE}.",
        )
    _words(parsed, layers.load(here))
    way = _way(parsed) or IntegrateWay.BRANCH
    if way is IntegrateWay.MERGE:
        raise UsageError("a worker with its own clone does not move your branches: remove --integrate merge")
    if rows := chosen_kind(url).rows(url, plain_address(parsed.repository)):  # raises where it cannot be used
        rows.close()
    clone = Clone(parsed.repository, pushes=parsed.push)
    try:
        target = clone.make(parsed.onto)
        places = structs.replace(locate(clone.root), pages_elsewhere=True)
        return Shop(places, layers.load(places), target, way, clone)
    except BaseException:
        clone.close()
        raise


async def _work(shop: Shop, parsed: Namespace) -> int:
    told: list[WorkerNews] = []

    def tell(progress: WorkerNews) -> None:
        told.append(progress)
        if not parsed.json:
            complain(f"{progress.task}  {progress.said}" if progress.task else progress.said)

    try:
        shop.check()
        pid, _, identity = parsed.parent.partition(":")
        parent = (int(pid), identity) if pid.isdigit() else (0, "")
        run = parsed.run or RandomIds().new("p")
        loop = WorkerLoop(shop, _rights(parsed), run, tell, parent, stays=parsed.wait or parsed.schedule)
        if shop.clone and not parsed.json:
            complain(shop.clone.about)
        main = asyncio.current_task()

        def stop(number: signal.Signals) -> None:
            if loop.stopping.is_set() and main:
                main.cancel()
                return
            loop.stopping.set()
            complain("stops after the current task; a second signal ends it now")

        with on_signals([signal.SIGINT, *ending_signals()], stop):
            try:
                with contextlib.ExitStack() as beside:
                    if parsed.schedule:
                        said = lambda text: tell(WorkerNews(loop.row.id, "", text))  # noqa: E731
                        beside.enter_context(Schedules(shop, _rights(parsed).axes, parsed.model, said))
                    why = await loop.run()
            except asyncio.CancelledError:
                complain("interrupted")
                return 130
        if parsed.json:
            answer = {"worker": loop.row.id, "why": why, "done": loop.row.done, "said": told}
            say_json(answer | ({"repository": shop.clone.name, "pushes": shop.clone.pushes} if shop.clone else {}))
        else:
            complain(why)
        tried = [task for task in shop.keeper.look().tasks if task.id in loop.tried]
        return _exit_code(tried, why.startswith("workers.max_cost"), why == "stopped")
    finally:
        await shop.close()


def _flags(parser: ArgumentParser) -> None:
    dial_flags(parser)
    about = "merge, branch or pull-request (tasks.integrate)"
    parser.add_argument("--integrate", default="", metavar="WAY", help=about)
    parser.add_argument("--onto", default="", metavar="BRANCH", help="the branch to start from and integrate into")
    parser.add_argument(
        "--model", default="", metavar="NAME", help="one of your models, PRESET/MODEL, builtin, or replay:FILE"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _way(parsed: Namespace) -> IntegrateWay | None:
    try:
        return IntegrateWay(parsed.integrate) if parsed.integrate else None
    except ValueError:
        raise UsageError(f"--integrate {parsed.integrate}: not one of {', '.join(IntegrateWay)}") from None


def _rights(parsed: Namespace) -> Rights:
    flags: dict[str, Any] = {}
    if parsed.model:
        flags = {f"routing.{model_mode}": parsed.model for model_mode in ("fast", "smart", "deep")}
    return Rights(turned(parsed), flags)


def _words(parsed: Namespace, loaded: layers.LoadedSettings) -> list[str]:
    """The flags that every worker gets; what cannot work is said before any is started."""
    axes = turned(parsed)
    if axes.work_mode not in (None, WorkMode.BUILD) or axes.run_control not in (None, RunControl.AUTONOMOUS):
        raise UsageError("workers always build autonomously: remove --mode and --control")
    profile = axes.permission_profile or loaded.settings.dials.permission_profile
    if profile in (None, PermissionProfile.RESTRICTED):
        raise UsageError(NEEDS_PROFILE)
    loaded.settings.table("tasks", TaskSettings)
    words = ["--permission-profile", str(profile)]
    if axes.model_mode:
        words += ["--model-mode", str(axes.model_mode)]
    return words + (["--model", parsed.model] if parsed.model else [])
