"""The events of durable tasks: what a session did to them. The truth about a task is its row; these are copies."""

from __future__ import annotations

from quintet.domain.base.wire_struct import Tagged
from quintet.domain.tasks.task import TaskStatus


class TaskMoved(Tagged, frozen=True, kw_only=True, gc=False):
    """A task was moved by this session; `transition` is the number of the move among those of the project's tasks."""

    task: str
    title: str
    before: TaskStatus
    after: TaskStatus
    reason: str
    transition: int
    run: str = ""  # the cycle that moved it
