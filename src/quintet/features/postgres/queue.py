"""Port `TaskQueue`: procrastinate brings tasks to the workers of a project, in a queue of the project's own.

A task is queued in the transaction that lets it begin, by whoever makes that: so nothing that can begin is forgotten,
and nothing is queued that was not stored. A job is a word that a task may be looked at, and no more; its row says
whether it can begin, and the claim on it who may write.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import procrastinate
import psycopg
from procrastinate import exceptions
from procrastinate.jobs import DeleteJobCondition, Status

from quintet.adapters.sqlite.rows import Rows
from quintet.domain.base.errors import StoreError, StoreUnreachable
from quintet.domain.tasks.task import ID_FORM
from quintet.engine.session.leases import HEARTBEAT_SECONDS, LEASE_SECONDS
from quintet.features.postgres.link import ServerLink, statements, wanted_of

Handler = Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object]
JOB = "quintet.task"
LOOK_SECONDS = 5.0  # that stand in for a notification that a pooler did not pass on
PAUSE_SECONDS = 0.5  # before a connection that was lost is made anew
SQL = statements("queue.sql")
_deferring = procrastinate.App(connector=procrastinate.SyncPsycopgConnector())  # on the connection of a write, always
for _name in ("procrastinate", "psycopg.pool"):  # what goes wrong there is told by us, where it matters
    logging.getLogger(_name).addHandler(logging.NullHandler())
    logging.getLogger(_name).propagate = False


def put_in(link: ServerLink, tasks: Sequence[str]) -> None:
    """Queue tasks, in the transaction of the link; the project is locked, so nobody else queues any of them."""
    locks = {f"{link.project}/{task}": task for task in tasks}
    if not locks:
        return
    for (lock,) in link.execute(SQL["on_their_way"], (list(locks),)).fetchall():
        del locks[str(lock)]
    for lock, task in locks.items():
        job = _deferring.configure_task(
            JOB, queue=queue_name(link.project), queueing_lock=lock, connection=link.connection
        )
        link.execute("SAVEPOINT brought")
        try:
            with link.errors():
                job.defer(task=task)
        except StoreUnreachable:
            raise
        except StoreError:  # what lets the task begin is stored all the same: workers look for themselves, too
            link.execute("ROLLBACK TO brought")
        link.execute("RELEASE brought")


def queue_name(project: int) -> str:
    return f"quintet-{project}"


def _without_lost_connections(others: Handler | None) -> Handler:
    """A job whose server went away is queued again; that nobody waited for its last word is no news."""

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if isinstance(context.get("exception"), exceptions.ConnectorException):
            return
        if others:
            others(loop, context)
        else:
            loop.default_exception_handler(context)

    return handle


class ProcrastinateQueue:
    """Port `TaskQueue`."""

    def __init__(self, url: str, project: int, write: Callable[[Callable[[Rows], None]], Awaitable[None]]) -> None:
        self._url = url
        self._project = project
        self._write = write
        self._app: procrastinate.App | None = None

    async def bring(self, tasks: Sequence[str]) -> None:
        if tasks:
            await self._write(lambda rows: put_in(rows.connection, tasks))

    async def serve(self, do: Callable[[str], Awaitable[None]]) -> None:
        app = procrastinate.App(connector=procrastinate.PsycopgConnector(**self._pool()))

        async def brought(task: Any = "", **_: Any) -> None:
            """Whoever can write a job can say anything in it: what is no task's id is nobody's."""
            if isinstance(task, str) and ID_FORM.fullmatch(task):
                await do(task)

        app.task(name=JOB)(brought)
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_without_lost_connections(loop.get_exception_handler()))
        while True:
            with contextlib.suppress(exceptions.ConnectorException, psycopg.OperationalError):
                async with app.open_async():
                    self._app = app
                    await self._run(app)
            if (task := asyncio.current_task()) and task.cancelling():
                raise asyncio.CancelledError  # taking leave of a server that is away fails in the place of this
            await asyncio.sleep(PAUSE_SECONDS)  # the server is away, and comes back

    async def _run(self, app: procrastinate.App) -> None:
        await app.run_worker_async(
            queues=[queue_name(self._project)],
            concurrency=1,
            install_signal_handlers=False,
            delete_jobs=DeleteJobCondition.ALWAYS,
            fetch_job_polling_interval=LOOK_SECONDS,
            update_heartbeat_interval=HEARTBEAT_SECONDS,
            stalled_worker_timeout=LEASE_SECONDS,
        )

    async def recover(self) -> list[str]:
        if self._app is None:
            return []
        manager, found = self._app.job_manager, []
        try:
            stalled = await manager.get_stalled_jobs(
                queue=queue_name(self._project), seconds_since_heartbeat=LEASE_SECONDS
            )
            for job in stalled:
                await manager.finish_job(job=job, status=Status.FAILED, delete_job=True)
                task = job.task_kwargs.get("task")
                found += [task] if isinstance(task, str) and ID_FORM.fullmatch(task) else []
        except (exceptions.ProcrastinateException, StoreError):
            return found  # another worker was quicker, or the server is away: it is looked for again
        return found

    def _pool(self) -> dict[str, Any]:
        return {"conninfo": wanted_of(self._url), "min_size": 1, "max_size": 2, "timeout": LEASE_SECONDS}
