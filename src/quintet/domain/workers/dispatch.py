"""Which ready task a worker takes: the first in the plan that nobody is in the way of.

`Dispatch` is told what becomes ready and what is let go of, and says what may begin. A task that has to wait keeps its
place: what it wants is not given to a task that comes later. Each step costs the logarithm of the number of tasks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from heapq import heappop, heappush

from msgspec import Struct

from quintet.domain.tasks.order import blocked_by
from quintet.domain.tasks.task import OVER, READY, Approval, Intent, Task, TaskStatus
from quintet.domain.workers.claims import Overlap, PathClaims

NOT_BEGUN = "no worker came to it before the workers ended; run `quintet parallel` again"
Place = tuple[bool, str, str]  # in the plan: those that failed last, then the oldest, then by id


class Waiting(Struct, frozen=True):
    """A task that could begin, but for others."""

    task: str
    others: tuple[Overlap, ...]

    def __str__(self) -> str:
        return f"{self.task} waits for " + ", ".join(f"{one.task} ({one.path})" for one in self.others)


class Budgets(Struct, frozen=True):
    """What workers may spend, and have; 0: no limit."""

    run: float = 0.0
    day: float = 0.0
    spent_run: float = 0.0
    spent_day: float = 0.0


class Dependencies:
    """What each task still waits for; told what is done, it says what has become ready."""

    def __init__(self, needs: Mapping[str, Collection[str]]) -> None:
        self._left = {task: len(set(found)) for task, found in needs.items()}
        self._after: dict[str, list[str]] = {}
        for task, found in needs.items():
            for one in set(found):
                self._after.setdefault(one, []).append(task)
        self._done: set[str] = set()

    def ready(self) -> list[str]:
        """Those that wait for nothing, done or not."""
        return [task for task, left in self._left.items() if not left]

    def done(self, task: str) -> list[str]:
        """Those that are ready from now on."""
        if task in self._done:
            return []
        self._done.add(task)
        found = []
        for one in self._after.get(task, ()):
            self._left[one] -= 1
            if not self._left[one]:
                found.append(one)
        return found


class Dispatch:
    def __init__(self, held: PathClaims) -> None:
        self.held = held
        self._queue: list[tuple[Place, str]] = []
        self._wants: dict[str, tuple[Intent, ...]] = {}  # of what is ready
        self._places: dict[str, Place] = {}
        self._parked: dict[str, list[str]] = {}  # behind whom
        self._reserved = PathClaims()
        self.waiting: dict[str, Waiting] = {}

    def ready(self, task: str, place: Place, wants: Sequence[Intent] = ()) -> None:
        """The task's dependencies are done. One that was ready already has another place from now on."""
        if task in self._wants:
            self.gone(task)
        self._wants[task], self._places[task] = tuple(wants), place
        heappush(self._queue, (place, task))

    def gone(self, task: str) -> None:
        """The task is not ready any more: somebody else has taken or cancelled it."""
        self._wants.pop(task, None)
        self._reserved.drop(task)
        self.waiting.pop(task, None)
        self.freed(task)

    def freed(self, task: str) -> None:
        """The task has let go of what it claimed: whoever waited for it is looked at again."""
        for other in self._parked.pop(task, ()):
            if other in self.waiting:
                del self.waiting[other]
                self._reserved.drop(other)
                heappush(self._queue, (self._places[other], other))

    def next(self) -> str | None:
        """The task that may begin now; it is not ready any more then. Those in the way of others wait from here on."""
        while self._queue:
            place, task = heappop(self._queue)
            if task not in self._wants or task in self.waiting or self._places[task] != place:
                continue
            wants = self._wants[task]
            others = self.held.in_the_way(task, wants)
            others += [one for one in self._reserved.in_the_way(task, wants) if self._places[one.task] < place]
            if not others:
                del self._wants[task]
                return task
            self.waiting[task] = Waiting(task, tuple(others))
            self._reserved.add(task, wants)
            self._parked.setdefault(others[0].task, []).append(task)
        return None


def place_of(task: Task) -> Place:
    return task.status is TaskStatus.RETRYING, task.created, task.id


def plan_place(task: Task) -> tuple[str, str]:
    """Where a task stands in its plan, whatever became of it so far."""
    return task.created, task.id


def needs_person(task: Task) -> str:
    """Why no worker begins a task: somebody has to be asked; empty if a worker may."""
    if task.text.asks_first or task.text.approval is Approval.AFTER:
        return f"{task.id} needs your approval; do it in a session: /implement"
    return ""


def can_begin(tasks: Sequence[Task], busy: Collection[str], held_back: Collection[str] = ()) -> list[Task]:
    """The tasks that workers may begin, or go on verifying, as far as dependencies say: claims are not looked at.

    `busy` are those that live processes have, `held_back` those that wait for something else.
    """
    dependencies = Dependencies({task.id: task.depends_on for task in tasks})
    for task in tasks:
        if task.status is TaskStatus.DONE:
            dependencies.done(task.id)
    met = set(dependencies.ready())
    open_ones = [task for task in tasks if task.status in READY or task.status is TaskStatus.VERIFYING]
    free = [task for task in open_ones if task.id not in busy and task.id not in held_back and task.id in met]
    return sorted((task for task in free if not needs_person(task)), key=place_of)


def spent_budget(budgets: Budgets) -> str:
    """The budget that is spent, by its name; empty if there is money left."""
    if budgets.run and budgets.spent_run >= budgets.run:
        return f"workers.max_cost_run = {budgets.run:g}, spent {budgets.spent_run:.4f}"
    if budgets.day and budgets.spent_day >= budgets.day:
        return f"workers.max_cost_day = {budgets.day:g}, spent {budgets.spent_day:.4f}"
    return ""


def what_is_left(
    tasks: Sequence[Task], waiting: Mapping[str, Waiting], later: Mapping[str, str], ended: str = ""
) -> list[str]:
    """Why each task that is open could not be begun, a line each. `ended` is why workers took no more."""
    blockers = blocked_by(tasks)
    lines = []
    for task in sorted(tasks, key=plan_place):
        if task.id in later:
            lines.append(f"{task.id}: {later[task.id]}")
        elif task.id in waiting:
            lines.append(str(waiting[task.id]))
        elif task.status in READY and task.id in blockers:
            lines.append(f"{task.id} waits for {', '.join(blockers[task.id])}")
        elif task.status in READY and (why := needs_person(task)):
            lines.append(why)
        elif task.status in (TaskStatus.BLOCKED, TaskStatus.PAUSED, TaskStatus.REVIEWING, TaskStatus.FAILED):
            lines.append(f"{task.id} is {task.status}; `quintet tasks show {task.id}` shows why")
        elif task.status not in OVER:
            lines.append(f"{task.id} is {task.status}: {ended or NOT_BEGUN}")
    return lines
