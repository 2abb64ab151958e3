"""Which task comes next, what the others wait for, and what is wrong with how they depend on each other.

Pure, deterministic, and linear in the number of tasks and dependencies: the same tasks in any order give the same
answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from quintet.domain.tasks.task import AT_WORK, OVER, READY, Intent, Task, TaskStatus


class DependencyProblem(Struct, frozen=True, gc=False):
    """Something wrong with the dependencies; `tasks` are those it concerns."""

    kind: str  # duplicate, unknown or cycle
    tasks: tuple[str, ...]
    problem: str


def next_task(tasks: Sequence[Task]) -> Task | None:
    """The task to begin now: its dependencies are done and nobody is at what it will change; oldest first, then by id,
    and those to be tried again last.

    None if no task can be begun as things stand.
    """
    board = _Board(tasks)
    return next((task for task in _ready(tasks) if not board.waits_for(task)), None)


def dispatch_order(tasks: Sequence[Task]) -> list[Task]:
    """Every task that could be begun now, in the order they will be."""
    board = _Board(tasks)
    return [task for task in _ready(tasks) if not board.waits_for(task)]


def blocked_by(tasks: Sequence[Task]) -> dict[str, tuple[str, ...]]:
    """What each task that is not over waits for: dependencies that are not done, tasks at work on what it will change.

    A dependency that does not exist is waited for like any other; `dependency_problems` says that it never comes.
    """
    board = _Board(tasks)
    waiting = [task for task in tasks if task.status not in OVER and task.status not in AT_WORK]
    return {task.id: found for task in waiting if (found := board.waits_for(task))}


def _ready(tasks: Sequence[Task]) -> list[Task]:
    """In the order of their turn: a task that failed comes after those that were not yet tried."""
    ready = [task for task in tasks if task.status in READY]
    return sorted(ready, key=lambda task: (task.status is TaskStatus.RETRYING, task.created, task.text.id))


class _Board:
    """What is done, and what tasks at work are changing."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._done = {task.text.id for task in tasks if task.status is TaskStatus.DONE}
        self._claimed: dict[str, list[tuple[str, Intent]]] = {}  # by path
        self._above: dict[str, list[tuple[str, Intent]]] = {}  # by each folder above
        for task in tasks:
            if task.status is TaskStatus.RUNNING:
                for intent in task.text.intent:
                    self._claimed.setdefault(_key(intent.path), []).append((task.id, intent))
                    for folder in _folders(intent.path):
                        self._above.setdefault(folder, []).append((task.id, intent))

    def waits_for(self, task: Task) -> tuple[str, ...]:
        found = [name for name in task.text.depends_on if name not in self._done]
        for intent in task.text.intent if self._claimed else ():
            path = _key(intent.path)
            near = [*self._claimed.get(path, ()), *self._above.get(path, ())]
            for folder in _folders(path):
                near += self._claimed.get(folder, ())
            found += [owner for owner, other in near if intent.meets(other)]
        return tuple(dict.fromkeys(found)) if found else ()


def _key(path: str) -> str:
    return path.rstrip("/")


def _folders(path: str) -> list[str]:
    parts = _key(path).split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def dependency_problems(tasks: Sequence[Task]) -> list[DependencyProblem]:
    """Ids that stand twice, dependencies on what does not exist, and circles, each with its members named."""
    seen: dict[str, Task] = {}
    found = []
    for task in tasks:
        if task.id in seen:
            found.append(
                DependencyProblem("duplicate", (task.id,), f"the id {task.id} appears twice; change one of them")
            )
        seen.setdefault(task.id, task)
    found += [
        DependencyProblem("unknown", (task.id,), f"{task.id} depends on {name}, which does not exist")
        for task in seen.values()
        for name in task.depends_on
        if name not in seen
    ]
    for circle in _circles(seen):
        way = " → ".join((*circle, circle[0]))
        found.append(DependencyProblem("cycle", circle, f"these depend on each other: {way}; none of them can start"))
    return found


def _circles(tasks: dict[str, Task]) -> list[tuple[str, ...]]:
    """One circle of each group of tasks that all depend on each other, beginning with its smallest id."""
    circles = []
    for group in _groups(tasks):
        first = min(group)
        if len(group) > 1 or first in tasks[first].depends_on:
            circles.append(_way_back(tasks, group, first))
    return sorted(circles)


def _way_back(tasks: dict[str, Task], group: set[str], first: str) -> tuple[str, ...]:
    """The shortest way from a task back to itself within its group."""
    came_from: dict[str, str] = {}
    ring: list[str] = [first]
    while ring:
        outer = []
        for name in ring:
            for needed in sorted(tasks[name].depends_on):
                if needed == first:
                    way = [name]
                    while way[-1] != first:
                        way.append(came_from[way[-1]])
                    return tuple(reversed(way))
                if needed in group and needed not in came_from:
                    came_from[needed] = name
                    outer.append(needed)
        ring = outer
    raise AssertionError(f"{first} is not in a circle")


def _groups(tasks: dict[str, Task]) -> Iterable[set[str]]:
    """Tarjan's strongly connected components, without recursion: a chain of ten thousand tasks is no problem."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    open_: list[str] = []
    is_open: set[str] = set()
    for root in tasks:
        if root in number:
            continue
        work = [(root, iter(tasks[root].depends_on))]
        number[root] = low[root] = len(number)
        open_.append(root)
        is_open.add(root)
        while work:
            name, rest = work[-1]
            needed = next(rest, None)
            if needed is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == number[name]:
                    group: set[str] = set()
                    while name not in group:
                        member = open_.pop()
                        is_open.discard(member)
                        group.add(member)
                    yield group
            elif needed in tasks and needed not in number:
                number[needed] = low[needed] = len(number)
                open_.append(needed)
                is_open.add(needed)
                work.append((needed, iter(tasks[needed].depends_on)))
            elif needed in is_open:
                low[name] = min(low[name], number[needed])
