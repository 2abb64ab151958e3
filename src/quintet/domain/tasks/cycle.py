"""What a cycle does next: one pure function, `next_step`, of the tasks as they stand and of how far the cycle has come.

A cycle is plan → accept → execute → verify, and again, until its planner adds nothing and none of its tasks is open.
What is begun is brought to its end first: a task that waits to be verified comes before the next unit.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from quintet.domain.dials.axes import PermissionProfile, RunControl
from quintet.domain.journal.cycle_state import CycleState
from quintet.domain.settings.settings import CycleSettings
from quintet.domain.tasks.cycle_phases import CyclePhase
from quintet.domain.tasks.order import blocked_by, dispatch_order
from quintet.domain.tasks.task import OVER, Mutation, Task, TaskStatus
from quintet.domain.turn.messages import EndStatus

MOST_NAMED = 5
WAITS = "the plan needs your approval: /accept"
NEEDS_FLAG = (
    "profile restricted builds nothing; use /accept --permission-profile normal, or in a shell "
    "quintet flow --resume --permission-profile normal"
)
NEEDS_PROFILE = "profile restricted builds nothing; change it to normal or above, then /resume"
ONE_UNIT = "one task is done; /next does another, /autonomous and /resume continue"
LAST_UNIT = "every task of the plan is done; /next has the planner look for anything that is left"
ONE_TURN = "one step is done; /resume does the next"


class Board(Struct, frozen=True, gc=False):
    """The tasks of a cycle as they stand, as far as the next step depends on them."""

    verifying: Task | None = None  # the oldest that waits to be verified
    reviewing: Task | None = None  # the oldest that waits for the user's approval
    ready: Task | None = None  # the one to begin now
    place: int = 0  # of that one among all, from 1
    running: tuple[str, ...] = ()  # at work in another process
    held: tuple[str, ...] = ()  # why the others cannot begin, some of them
    total: int = 0
    done: int = 0
    given_up: tuple[str, ...] = ()  # some of those that failed
    failed: int = 0
    left: int = 0


class Verify(Struct, frozen=True, tag=True):
    task: Task


class Approve(Struct, frozen=True, tag=True):
    """Ask whether a verified task is done."""

    task: Task


class Plan(Struct, frozen=True, tag=True):
    pass


class Accept(Struct, frozen=True, tag=True):
    """Take the plan that waits, unasked."""


class Execute(Struct, frozen=True, tag=True):
    task: Task


class Stop(Struct, frozen=True, tag=True):
    """Return control to the person."""

    status: EndStatus
    reason: str
    phase: CyclePhase | None = None  # the terminal one it comes to; none: it can go on


Step = Verify | Approve | Plan | Accept | Execute | Stop


def board(
    tasks: Sequence[Task],
    milestones: Collection[str] | None,
    busy: Collection[str] = (),
    last: Collection[str] = (),
    only: str = "",
) -> Board:
    """The board of the tasks of some milestones, or of all.

    `busy` are those that another live process has claimed, `last` those that are begun when no other is ready. With
    `only` it is the board of that task.
    """
    mine = [
        task
        for task in tasks
        if (milestones is None or task.milestone in milestones)
        and only in ("", task.text.id)
        and task.status is not TaskStatus.CANCELLED
        and not task.put_away
    ]
    ours = {task.text.id for task in mine if task.text.id not in busy}
    oldest = sorted(mine, key=lambda task: (task.created, task.text.id))
    waiting = blocked_by(tasks)
    could_begin = [task for task in dispatch_order(tasks) if task.text.id in ours]
    ready = min(could_begin, key=lambda task: task.text.id in last, default=None)
    running = [task.text.id for task in mine if task.status is TaskStatus.RUNNING or task.text.id in busy]
    return Board(
        verifying=next((t for t in oldest if t.status is TaskStatus.VERIFYING and t.text.id in ours), None),
        reviewing=next((t for t in oldest if t.status is TaskStatus.REVIEWING and t.text.id in ours), None),
        ready=ready,
        place=oldest.index(ready) + 1 if ready else 0,
        running=tuple(running[:MOST_NAMED]),
        held=tuple(_held(task, waiting) for task in oldest if _is_held(task, waiting))[:MOST_NAMED],
        total=len(mine),
        done=sum(task.status is TaskStatus.DONE for task in mine),
        given_up=tuple(task.id for task in oldest if task.status is TaskStatus.FAILED)[:MOST_NAMED],
        failed=sum(task.status is TaskStatus.FAILED for task in mine),
        left=sum(task.status not in OVER for task in mine),
    )


def _is_held(task: Task, waiting: dict[str, tuple[str, ...]]) -> bool:
    return task.text.id in waiting or task.status in (TaskStatus.BLOCKED, TaskStatus.PAUSED)


def _held(task: Task, waiting: dict[str, tuple[str, ...]]) -> str:
    if task.status in (TaskStatus.BLOCKED, TaskStatus.PAUSED):
        return f"{task.id} is {task.status}; use /tasks move {task.id} todo to allow it to start"
    return f"{task.id} waits for {', '.join(waiting[task.id])}"


def next_step(
    cycle: CycleState,
    found: Board,
    control: RunControl,
    profile: PermissionProfile,
    settings: CycleSettings,
    *,
    replans: bool,
    seconds: float = 0.0,
    person: bool = True,
) -> Step:
    """`replans`: whether the planner can be asked again; `seconds`: how long this stretch has taken.

    With no `person` attached, what wants one's approval waits until nothing else can be done.
    """
    accepted = cycle.plan.accepted or control is RunControl.AUTONOMOUS
    if hit := limit_hit(cycle, settings, seconds):
        return _unless_over(cycle, found, replans, Stop(EndStatus.LIMIT, hit))
    if control is RunControl.MANUAL and cycle.spent.steps_since and (accepted or not cycle.plan.pending):
        return _unless_over(cycle, found, replans, Stop(EndStatus.PAUSED, ONE_TURN))
    if found.verifying:
        return Verify(found.verifying)
    if found.reviewing and (person or not (found.ready or cycle.plan.pending)):
        return Approve(found.reviewing)
    if control is RunControl.ASSISTED and cycle.spent.units_since:
        return _unless_over(cycle, found, replans, Stop(EndStatus.PAUSED, ONE_UNIT if found.left else LAST_UNIT))
    if cycle.plan.pending:
        return _acceptance(accepted, profile)
    if cycle.plans and not cycle.plan.planned:
        return Plan() if not _too_often(cycle, settings) else _iterations(settings)
    if found.ready:
        if settings.max_units and cycle.spent.units >= settings.max_units:
            return Stop(EndStatus.LIMIT, f"cycle.max_units = {settings.max_units}")
        if is_kept_back(found.ready, profile):
            return Stop(EndStatus.BLOCKED, NEEDS_PROFILE)
        return Execute(found.ready)
    waits = found.running or (found.left and not found.failed)  # for another process, or for a person
    if replans and not cycle.plan.added_nothing and not waits:
        return Plan() if not _too_often(cycle, settings) else _iterations(settings)
    return _end(found)


def is_kept_back(task: Task, profile: PermissionProfile) -> bool:
    """Whether a unit of the task is not begun at a profile: nothing is built at restricted."""
    return profile is PermissionProfile.RESTRICTED and task.text.mutation is not Mutation.NONE


def _unless_over(cycle: CycleState, found: Board, replans: bool, rest: Stop) -> Stop:
    """Return control, unless nothing is left to do: then it is over, whoever advances the loop and whatever it cost."""
    over = not (found.left or cycle.plan.pending or (cycle.plans and not cycle.plan.planned))
    return _end(found) if over and not (replans and not cycle.plan.added_nothing) else rest


def _acceptance(accepted: bool, profile: PermissionProfile) -> Step:
    if profile is PermissionProfile.RESTRICTED:
        return Stop(EndStatus.BLOCKED if accepted else EndStatus.WAITING, NEEDS_FLAG)
    return Accept() if accepted else Stop(EndStatus.WAITING, WAITS)


def _end(found: Board) -> Stop:
    if found.running:
        return Stop(EndStatus.BLOCKED, f"running in another process: {', '.join(found.running)}")
    given_up = ""
    if found.given_up:
        given_up = f"failed: {', '.join(found.given_up)}; `quintet tasks show {found.given_up[0]}` shows why"
    if found.left:
        status = EndStatus.FAILED if found.failed else EndStatus.BLOCKED
        return Stop(status, "; ".join(filter(None, (given_up, *found.held))) or f"{found.left} tasks cannot start")
    if found.failed:
        return Stop(EndStatus.FAILED, given_up, CyclePhase.FAILED)
    if not found.total:
        return Stop(EndStatus.DONE, "the planner found nothing to do", CyclePhase.NO_TODO)
    return Stop(EndStatus.DONE, "", CyclePhase.COMPLETED)


def _too_often(cycle: CycleState, settings: CycleSettings) -> bool:
    return bool(settings.max_iterations) and cycle.iteration >= settings.max_iterations


def _iterations(settings: CycleSettings) -> Stop:
    return Stop(EndStatus.LIMIT, f"cycle.max_iterations = {settings.max_iterations}")


def limit_hit(cycle: CycleState, settings: CycleSettings, seconds: float) -> str:
    """The budget that is spent, by its name; empty if none is."""
    tokens = cycle.spent.usage.input_tokens + cycle.spent.usage.output_tokens
    if settings.max_cost and cycle.spent.cost >= settings.max_cost:
        return f"cycle.max_cost = {settings.max_cost:g}, spent {cycle.spent.cost:.4f}"
    if settings.max_tokens and tokens >= settings.max_tokens:
        return f"cycle.max_tokens = {settings.max_tokens}, used {tokens}"
    taken = cycle.spent.seconds + seconds
    if settings.max_seconds and taken >= settings.max_seconds:
        return f"cycle.max_seconds = {settings.max_seconds:g}, taken {taken:.0f}"
    return ""
