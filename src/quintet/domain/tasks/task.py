"""A task: what its file says, and where it stands.

The file says what a task is (`TaskText`), the row says its status; `place` is the folder that goes with a status. A
move is one of `LEGAL_MOVES` or it is refused; `moved` is the task after it. A milestone is the tasks of one accepted
plan.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct, structs

from quintet.domain.base.errors import UsageError
from quintet.domain.base.lazy_regex import regex
from quintet.domain.dials.axes import Axes

MAX_RETRIES = 3
ID_FORM = regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_DONE_AT = regex(r"_\d{8}_\d{6}(?:-\d+)?$")


class TaskStatus(StrEnum):
    TODO = "todo"
    RUNNING = "running"
    VERIFYING = "verifying"
    REVIEWING = "reviewing"
    DONE = "done"
    BLOCKED = "blocked"
    PAUSED = "paused"
    FAILED = "failed"
    CANCELLED = "cancelled"
    RETRYING = "retrying"


class Risk(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Mutation(StrEnum):
    """What a task changes."""

    NONE = "none"
    PROJECT = "project"
    OUTSIDE = "outside"


class Approval(StrEnum):
    """When the user is asked about a task: never, before it begins, or after it is verified."""

    NONE = "none"
    BEFORE = "before"
    AFTER = "after"


S = TaskStatus
# A verification that fails is a failed unit: verifying → retrying, so that the file is back in todo/ and counted.
LEGAL_MOVES: dict[TaskStatus, frozenset[TaskStatus]] = {
    S.TODO: frozenset({S.RUNNING, S.BLOCKED, S.PAUSED, S.CANCELLED}),
    S.RUNNING: frozenset({S.VERIFYING, S.TODO, S.BLOCKED, S.PAUSED, S.RETRYING, S.FAILED, S.CANCELLED}),
    S.VERIFYING: frozenset({S.REVIEWING, S.DONE, S.BLOCKED, S.RETRYING, S.FAILED, S.CANCELLED}),
    S.REVIEWING: frozenset({S.DONE, S.BLOCKED, S.RETRYING, S.FAILED, S.CANCELLED}),
    S.RETRYING: frozenset({S.RUNNING, S.TODO, S.BLOCKED, S.PAUSED, S.FAILED, S.CANCELLED}),
    S.BLOCKED: frozenset({S.TODO, S.FAILED, S.CANCELLED}),
    S.PAUSED: frozenset({S.TODO, S.RUNNING, S.CANCELLED}),
    S.FAILED: frozenset({S.TODO, S.CANCELLED}),
    S.DONE: frozenset(),
    S.CANCELLED: frozenset(),
}
# Tuples: a look into one compares identities, where a set would ask each status for its hash.
READY = (S.TODO, S.RETRYING)  # may be begun
AT_WORK = (S.RUNNING, S.VERIFYING, S.REVIEWING)
OVER = (S.DONE, S.FAILED, S.CANCELLED)

TODO_FOLDER, DONE_FOLDER, VERIFIED_FOLDER = "", "done", "done/verified"
FOLDERS = (TODO_FOLDER, DONE_FOLDER, VERIFIED_FOLDER)
_PLACES = {S.VERIFYING: DONE_FOLDER, S.REVIEWING: DONE_FOLDER, S.DONE: VERIFIED_FOLDER}


class Intent(Struct, frozen=True, gc=False):
    """What a task will change: a file or folder, and which of its lines, or what declared in it, if it says so."""

    path: str
    first: int = 0  # 0: all of it
    last: int = 0
    symbol: str = ""  # as `Calc.add`: the lines are those that the index gives for it, none before it was asked
    content: str = ""  # of a symbol: which content of the file the lines are of

    def __str__(self) -> str:
        if self.symbol:
            return f"{self.path}::{self.symbol}"
        return f"{self.path}:{self.first}-{self.last}" if self.first else self.path

    def meets(self, other: Intent) -> bool:
        """Whether two tasks that say so would get into each other's way."""
        if self.path != other.path:
            mine, theirs = self.path.rstrip("/") + "/", other.path.rstrip("/") + "/"
            return mine.startswith(theirs) or theirs.startswith(mine)
        if not (self.first and other.first) or self.moved(other):
            return True
        return self.first <= other.last and other.first <= self.last

    def moved(self, other: Intent) -> bool:
        """Whether their lines cannot be compared: those of their symbols are of two contents of the file."""
        return self.content != other.content and bool(self.content and other.content)


class TaskText(Struct, frozen=True, gc=False, omit_defaults=True):
    """What a task's file says."""

    id: str
    title: str
    depends_on: tuple[str, ...] = ()
    risk: Risk = Risk.LOW
    mutation: Mutation = Mutation.PROJECT
    verification: str = ""  # the command that shows that it is done
    approval: Approval = Approval.NONE
    intent: tuple[Intent, ...] = ()
    body: str = ""
    cost_budget: float = 0.0  # what its units may cost in all; 0: no limit of its own
    kept: tuple[str, ...] = ()  # fields of the page that are nobody's here, each as it stands there

    @property
    def asks_first(self) -> bool:
        """Whether the user is asked before its first unit begins."""
        return self.approval is Approval.BEFORE or self.risk is Risk.HIGH


class Task(Struct, frozen=True, gc=False):
    text: TaskText
    status: TaskStatus = TaskStatus.TODO
    axes: Axes = Axes()  # those it was made under
    retries: int = 0  # failed units
    max_retries: int = MAX_RETRIES
    cost_spent: float = 0.0
    created: str = ""
    started: str = ""
    completed: str = ""
    next_action: str = ""  # when it is due, if it has a time
    checkpoint: str = ""  # what the project was before its newest unit
    milestone: str = ""
    path: str = ""  # of its file: relative to the todo folder, or absolute once it is cancelled
    stamp: str = ""  # of that file when its text was read

    @property
    def id(self) -> str:
        return self.text.id

    @property
    def title(self) -> str:
        return self.text.title

    @property
    def depends_on(self) -> tuple[str, ...]:
        return self.text.depends_on

    @property
    def cost_budget(self) -> float:
        return self.text.cost_budget

    @property
    def put_away(self) -> bool:
        """Whether it is done and was reset: history, in no list and no summary; its row and its file stay."""
        return self.status is TaskStatus.DONE and self.path.startswith("/")


class TaskMove(Struct, frozen=True, gc=False):
    """One move of one task, as it is written down."""

    task: str
    before: TaskStatus | None  # none: the task was made
    after: TaskStatus
    reason: str
    at: str
    scope: str = ""  # of the transition that brought it about
    number: int = 0  # its own, once it is written


class Milestone(Struct, frozen=True, gc=False):
    """The tasks of one accepted plan, in the order they were made."""

    id: str
    tasks: tuple[Task, ...]

    @property
    def over(self) -> bool:
        return all(task.status in OVER for task in self.tasks)


def place(status: TaskStatus) -> str | None:
    """The folder a task's file lies in, below the todo folder; none for what is cancelled."""
    return None if status is TaskStatus.CANCELLED else _PLACES.get(status, TODO_FOLDER)


def file_name(name: str, after: TaskStatus, at: str) -> str:
    """The name of a task's file with a status: in the done folders it carries the time it came there."""
    stem = _DONE_AT.sub("", name.removesuffix(".md"))
    if place(after) == TODO_FOLDER:
        return f"{stem}.md"
    return name if has_time(name) or after is TaskStatus.CANCELLED else f"{stem}{done_at(at)}.md"


def has_time(name: str) -> bool:
    return bool(_DONE_AT.search(name.removesuffix(".md")))


def done_at(at: str) -> str:
    """An instant as the names of files have it: `_20240113_143052`."""
    digits = "".join(sign for sign in at[:19] if sign.isdigit())
    return f"_{digits[:8]}_{digits[8:]}"


def check_move(task: Task, after: TaskStatus) -> None:
    """A move that is not legal is an error that names those that are."""
    if after not in LEGAL_MOVES[task.status]:
        legal = ", ".join(status for status in TaskStatus if status in LEGAL_MOVES[task.status])
        from_here = f"it can become {legal}" if legal else "this status is final"
        raise UsageError(f"task {task.id} is {task.status} and cannot become {after}: {from_here}")


def moved(task: Task, after: TaskStatus, at: str) -> Task:
    """The task after a legal move: its counts and times follow from the move."""
    check_move(task, after)
    return structs.replace(
        task,
        status=after,
        retries=_retries(task, after),
        next_action="",
        started=at if after is TaskStatus.RUNNING and not task.started else task.started,
        completed=at if after in OVER else "",
    )


def _retries(task: Task, after: TaskStatus) -> int:
    """A task that has failed for good and is put back to todo starts anew."""
    if task.status is TaskStatus.FAILED and after is TaskStatus.TODO:
        return 0
    return task.retries + 1 if after is TaskStatus.RETRYING else task.retries


def after_failure(task: Task) -> TaskStatus:
    """Where a failed unit takes its task: tried again, or failed for good."""
    return TaskStatus.RETRYING if task.retries < task.max_retries else TaskStatus.FAILED


def milestones(tasks: Iterable[Task]) -> list[Milestone]:
    """The milestones of these tasks, oldest first; tasks of no plan belong to the one without a name."""
    by_id: dict[str, list[Task]] = {}
    for task in sorted(tasks, key=lambda task: (task.created, task.id)):
        by_id.setdefault(task.milestone, []).append(task)
    return [Milestone(name, tuple(members)) for name, members in by_id.items()]
