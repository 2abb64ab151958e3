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
    """The user opened an agent; it gets all inputs until it is dismissed."""

    agent: Agent
    persona: str  # as the model gets it
    menu: tuple[str, ...]  # the labels, as numbered on the surface it was chosen on


class HelperAssigned(Tagged, frozen=True, kw_only=True, gc=False):
    """The session is a helper's: for whose call it works, as what, and that it may do no more than its parent."""

    helper: str  # its name, as questions and progress show it
    role: str
    task: str
    parent: str  # the session whose call it is
    call: str
    depth: int = 1  # 1: of a session of the user's
    read_only: str = ""  # why it changes nothing; empty: it may
    branch: str = ""  # where its changes are, if it writes
    chain: tuple[str, ...] = ()  # the bounds it began with, from the user's session down to its own


class AgentDismissed(Tagged, frozen=True, kw_only=True, gc=False):
    """The user left the agent."""

    agent: str


class DataLoaded(Tagged, frozen=True, kw_only=True, gc=False):
    """The model got the data of a menu item."""

    path: str
    format: str
    text: str


class RunStarted(Tagged, frozen=True, kw_only=True, gc=False):
    """A run was created and is the active one."""

    run: RunMetadata


class CycleRecord(Struct, frozen=True):
    """The progress of a cycle, which a run takes to another session."""

    run: str
    text: str = ""
    submission: str = ""  # the submission that is answered when the cycle stops
    planner: str = ""
    executor: str = ""
    verifier: str = ""
    plans: bool = True
    at_work: bool = False  # false: it needs the user's input
    phase: CyclePhase = CyclePhase.IDLE
    iteration: int = 0
    planned: int = 0  # plans that were made
    added_nothing: bool = False  # the last of them had no tasks
    pending: str = ""  # the milestone of a plan that needs approval
    accepted: bool = False  # by the user, so the cycle continues
    milestones: tuple[str, ...] = ()
    task: str = ""  # the task of the current unit
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
    unsure: str = ""  # a task that was interrupted while it published something


class RunTaken(Tagged, frozen=True, kw_only=True, gc=False):
    """A run that was not active, here or in another session, is active again."""

    run: RunMetadata
    progress: WorkflowProgress | None = None  # its progress in the workflow
    cycle: CycleRecord | None = None  # or in its cycle


class RunMoved(Tagged, frozen=True, kw_only=True, gc=False):
    """A run entered another phase."""

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
    about: str = ""  # the text of its workflow.md


class StepBegun(Tagged, frozen=True, kw_only=True, gc=False):
    """The model got the instructions of the current node."""

    run: str
    node: str
    title: str
    text: str
    agent: Agent | None = None  # of this step, if it is not the session's
    persona: str = ""


class StepFinished(Tagged, frozen=True, kw_only=True, gc=False):
    """A step is done, and the run continues along `way`; an empty target ends the workflow."""

    run: str
    node: str
    way: str
    target: str
    result: str = ""
