"""The events of a cycle: plan, execute, verify; what AI CLIs did in it; and the moves of tasks.

The truth about a task is its row; what is told of it here is a copy.
"""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from quintet.domain.base.wire_json import Tagged
from quintet.domain.dials.axes import Axes
from quintet.domain.tasks.cycle_phases import CyclePhase
from quintet.domain.tasks.executors import ExecutorFailure
from quintet.domain.tasks.roles import ExecutorRole
from quintet.domain.tasks.task import TaskStatus
from quintet.domain.turn.messages import EndStatus, Usage


class CycleBegan(Tagged, frozen=True, kw_only=True, gc=False):
    """A cycle began, as a run of its own; the text it began with stays what it is to the end."""

    run: str
    submission: str
    text: str
    planner: str
    executor: str
    verifier: str
    source: str = ""  # the file the text was read from
    plans: bool = True  # without: it does the tasks that are there


class ExecutorChosen(Tagged, frozen=True, kw_only=True, gc=False):
    """Who plans, executes or verifies in this session was chosen; what follows goes by it, in a running cycle too."""

    role: ExecutorRole
    name: str  # empty: as the settings say
    planner: str  # who does each from now on
    executor: str
    verifier: str


class CycleResumed(Tagged, frozen=True, kw_only=True, gc=False):
    """A cycle that had stopped continues; the end of this stretch answers the submission."""

    run: str
    submission: str
    reason: str


class CycleMoved(Tagged, frozen=True, kw_only=True, gc=False):
    """A cycle came to another phase."""

    run: str
    phase: CyclePhase
    iteration: int
    task: str = ""
    title: str = ""
    by: str = ""  # who plans, executes or verifies: native, or an AI CLI
    attempt: int = 0  # of a unit: how often the task was begun, this time included
    current: int = 0  # of the tasks of the cycle, which one
    total: int = 0
    reads_only: bool | UnsetType = UNSET  # of a unit: its task changes nothing, so it may not
    cost_budget: float | UnsetType = UNSET  # of a unit: what its task may cost
    cost_spent: float | UnsetType = UNSET  # and has cost before


class PlannedTask(Struct, frozen=True, gc=False):
    id: str
    title: str
    depends_on: tuple[str, ...] = ()
    verification: str = ""


class PlanMade(Tagged, frozen=True, kw_only=True, gc=False):
    """A planner's pages were read and found sound; they wait in the staging folder. No tasks: it adds nothing."""

    run: str
    milestone: str
    by: str
    tasks: tuple[PlannedTask, ...] = ()
    words: str | UnsetType = UNSET  # the planner's, where it planned nothing


class PlanAccepted(Tagged, frozen=True, kw_only=True, gc=False):
    """The tasks of a plan became tasks of the project, and a milestone."""

    run: str
    milestone: str
    tasks: tuple[str, ...]
    by: str  # user, or autonomous


class TaskVerified(Tagged, frozen=True, kw_only=True, gc=False):
    """Whether a task is done, by its own command and by the verifier, with what shows it; or that nothing does."""

    run: str
    task: str
    title: str
    passed: bool  # the task is done
    by: str
    command: str = ""
    evidence: str = ""  # what the command printed, its last lines
    findings: str = ""  # what is missing, which goes into the task's file; or why it is not verified
    unverified: bool = False  # nothing shows it: the task is neither done nor failed
    unchecked: str | UnsetType = UNSET  # of what is done by the offline rules' word: what nobody looked at


class CycleStopped(Tagged, frozen=True, kw_only=True, gc=False):
    """Control returned to the person: the cycle is over, or waits for them."""

    run: str
    submission: str
    status: EndStatus
    phase: CyclePhase
    reason: str = ""
    answer: str = ""  # where each of its tasks stands
    done: int = 0
    failed: int = 0
    left: int = 0
    units: int = 0
    iterations: int = 0
    seconds: float = 0.0
    usage: Usage = Usage()
    cost: float = 0.0


class ExecutorSaid(Tagged, frozen=True, kw_only=True, gc=False):
    """A whole message of an AI CLI."""

    call: str
    text: str
    reasoning: bool = False


class ExecutorActed(Tagged, frozen=True, kw_only=True, gc=False):
    """A call of a tool that an AI CLI made by itself, inside the sandbox that its start was given."""

    call: str
    tool: str  # by its name there
    summary: str
    ok: bool
    output: str = ""


class ExecutorEnded(Tagged, frozen=True, kw_only=True, gc=False):
    """One start of an AI CLI ended; with `retry_in` it is started again."""

    call: str
    turn: str
    run: str
    conversation: str
    axes: Axes
    executor: str
    role: ExecutorRole
    attempt: int
    ok: bool
    failure: ExecutorFailure | None = None
    reason: str = ""
    hint: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    changed: tuple[str, ...] = ()  # files it says it changed
    notes: tuple[str, ...] = ()  # what the sandbox stopped
    usage: Usage = Usage()
    cost: float = 0.0
    retry_in: float | None = None


class TaskMoved(Tagged, frozen=True, kw_only=True, gc=False):
    """A task was moved by this session; `transition` is the number of the move among those of the project's tasks."""

    task: str
    title: str
    before: TaskStatus
    after: TaskStatus
    reason: str
    transition: int
    run: str = ""  # the cycle that moved it
