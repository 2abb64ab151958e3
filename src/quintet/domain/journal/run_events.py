"""The events of agents and runs: who is spoken with, which run is active, how far it has come."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from quintet.domain.agents.agent import Agent
from quintet.domain.agents.run import ErrorInfo, RunMetadata, RunPhase
from quintet.domain.agents.workflow import Workflow
from quintet.domain.agents.workflow_progress import WorkflowProgress
from quintet.domain.base.wire_json import Tagged
from quintet.domain.tasks.cycle_phases import CyclePhase
from quintet.domain.turn.messages import Usage


class AgentEntered(Tagged, frozen=True, kw_only=True, gc=False):
    """The user chose an agent; what follows is said to it, until it is dismissed."""

    agent: Agent
    persona: str  # as the model is told it
    menu: tuple[str, ...]  # the labels, as numbered on the surface it was chosen on


class AgentDismissed(Tagged, frozen=True, kw_only=True, gc=False):
    """The user is done with the agent."""

    agent: str


class DataLoaded(Tagged, frozen=True, kw_only=True, gc=False):
    """A menu item's data was put before the model."""

    path: str
    format: str
    text: str


class RunStarted(Tagged, frozen=True, kw_only=True, gc=False):
    """A run was created and is the active one."""

    run: RunMetadata


class CycleRecord(Struct, frozen=True):
    """How far a cycle has come, as a run takes it to another session."""

    run: str
    text: str = ""
    submission: str = ""  # what the end of the current stretch answers
    planner: str = ""
    executor: str = ""
    verifier: str = ""
    plans: bool = True
    at_work: bool = False  # false: control is with the person
    phase: CyclePhase = CyclePhase.IDLE
    iteration: int = 0
    planned: int = 0  # plans that were made
    added_nothing: bool = False  # the last of them had no tasks
    pending: str = ""  # the milestone of a plan that waits to be accepted
    accepted: bool = False  # by the user, who gave control back with it
    milestones: tuple[str, ...] = ()
    task: str = ""  # the one that a unit is at
    title: str = ""
    attempt: int = 0
    current: int = 0
    total: int = 0
    units: int = 0
    units_since: int = 0  # since control was last given
    steps_since: int = 0
    usage: Usage = Usage()
    cost: float = 0.0
    seconds: float = 0.0
    status: str = ""  # how it stopped last
    reason: str = ""
    changed: tuple[str, ...] = ()  # by the units of the task named below, the first of the files
    changed_by: str = ""
    begun: str | UnsetType = UNSET  # the task of the newest unit
    done_by: str | UnsetType = UNSET
    said: str | UnsetType = UNSET
    reads_only: bool | UnsetType = UNSET
    cost_budget: float | UnsetType = UNSET
    cost_spent: float | UnsetType = UNSET
    cost_from: float | UnsetType = UNSET
    unsure: str = ""  # a task in whose unit something was being published when it was cut short


class RunTaken(Tagged, frozen=True, kw_only=True, gc=False):
    """A run that was put aside, here or in another session, is the active one again."""

    run: RunMetadata
    progress: WorkflowProgress | None = None  # how far it has come in its workflow
    cycle: CycleRecord | None = None  # or in its cycle


class RunMoved(Tagged, frozen=True, kw_only=True, gc=False):
    """A run came to another phase."""

    run: str
    before: RunPhase
    after: RunPhase
    at: str
    reason: str = ""
    error: ErrorInfo | None = None


class WorkflowBegun(Tagged, frozen=True, kw_only=True, gc=False):
    """A run is at the entry of a workflow: its own, or one that its workflow calls."""

    run: str
    workflow: Workflow
    root: str  # the folder its files are in
    about: str = ""  # what its workflow.md says of the whole


class StepBegun(Tagged, frozen=True, kw_only=True, gc=False):
    """The model was given the instructions of the node that the run is at."""

    run: str
    node: str
    title: str
    text: str
    agent: Agent | None = None  # of this step, where it is not the session's
    persona: str = ""


class StepFinished(Tagged, frozen=True, kw_only=True, gc=False):
    """A step is done, and the run went on along `way`; an empty target leaves the workflow."""

    run: str
    node: str
    way: str
    target: str
    result: str = ""
