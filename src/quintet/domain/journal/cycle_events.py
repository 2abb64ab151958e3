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
    """A cycle started, as a separate run; its text never changes."""

    run: str
    submission: str
    text: str
    planner: str
    executor: str
    verifier: str
    source: str = ""  # the file the text was read from
    plans: bool = True  # false: it does the existing tasks


class ExecutorChosen(Tagged, frozen=True, kw_only=True, gc=False):
    """The planner, executor or verifier of this session was chosen; used from now on, also in a running cycle."""

    role: ExecutorRole
    name: str  # empty: as in the settings
    planner: str  # who does each from now on
    executor: str
    verifier: str


class CycleResumed(Tagged, frozen=True, kw_only=True, gc=False):
    """A stopped cycle continues; the submission is answered when it stops again."""

    run: str
    submission: str
    reason: str


class CycleMoved(Tagged, frozen=True, kw_only=True, gc=False):
    """A cycle entered another phase."""

    run: str
    phase: CyclePhase
    iteration: int
    task: str = ""
    title: str = ""
    by: str = ""  # who plans, executes or verifies: native, or an AI CLI
    attempt: int = 0  # of a unit: how often the task was started, including this time
    current: int = 0  # of the tasks of the cycle, which one
    total: int = 0
    reads_only: bool | UnsetType = UNSET  # of a unit: its task may not change anything
    cost_budget: float | UnsetType = UNSET  # of a unit: what its task may cost
    cost_spent: float | UnsetType = UNSET  # and what it has cost before


class PlannedTask(Struct, frozen=True, gc=False):
    id: str
    title: str
    depends_on: tuple[str, ...] = ()
    verification: str = ""


class PlanMade(Tagged, frozen=True, kw_only=True, gc=False):
    """A planner's pages are valid and in the staging folder. Without tasks, it adds nothing."""

    run: str
    milestone: str
    by: str
    tasks: tuple[PlannedTask, ...] = ()
    words: str | UnsetType = UNSET  # of the planner, if it planned nothing


class PlanAccepted(Tagged, frozen=True, kw_only=True, gc=False):
    """The tasks of a plan became tasks of the project, and a milestone."""

    run: str
    milestone: str
    tasks: tuple[str, ...]
    by: str  # user, or autonomous


class TaskVerified(Tagged, frozen=True, kw_only=True, gc=False):
    """Whether a task is done, according to its command and the verifier, with the evidence; or that there is none."""

    run: str
    task: str
    title: str
    passed: bool  # the task is done
    by: str
    command: str = ""
    evidence: str = ""  # what the command printed, its last lines
    findings: str = ""  # what is missing, which is added to the task's file; or why it is not verified
    unverified: bool = False  # no evidence: the task is neither done nor failed
    unchecked: str | UnsetType = UNSET  # if the offline rules verified it: what was not checked


class CycleStopped(Tagged, frozen=True, kw_only=True, gc=False):
    """The cycle has ended, or needs the user's input."""

    run: str
    submission: str
    status: EndStatus
    phase: CyclePhase
    reason: str = ""
    answer: str = ""  # the status of each of its tasks
    done: int = 0
    failed: int = 0
    left: int = 0
    units: int = 0
    iterations: int = 0
    seconds: float = 0.0
    usage: Usage = Usage()
    cost: float = 0.0


class ExecutorSaid(Tagged, frozen=True, kw_only=True, gc=False):
    """A complete message of an AI CLI."""

    call: str
    text: str
    reasoning: bool = False


class ExecutorActed(Tagged, frozen=True, kw_only=True, gc=False):
    """A tool call that an AI CLI made itself, inside its sandbox."""

    call: str
    tool: str  # its name in the AI CLI
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
    changed: tuple[str, ...] = ()  # files that it reports as changed
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
