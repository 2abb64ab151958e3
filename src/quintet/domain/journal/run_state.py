"""Who is spoken with, and the runs of the session: a part of its state, folded from the events of agents and runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field, structs

from quintet.domain.agents import workflow_progress as progress
from quintet.domain.agents.agent import Agent
from quintet.domain.agents.run import ASIDE, TERMINAL, RunMetadata
from quintet.domain.agents.workflow_progress import WorkflowProgress
from quintet.domain.journal.run_events import RunMoved, RunStarted, RunTaken, StepBegun, StepFinished, WorkflowBegun


class RunState(Struct):
    agent: Agent | None = None  # who is spoken with
    persona: str = ""  # that agent's, as the model sees it
    active: str = ""  # the run that inputs belong to
    known: dict[str, RunMetadata] = field(default_factory=dict)
    progress: dict[str, WorkflowProgress] = field(default_factory=dict)  # of the runs over workflows that are not over
    begun_by: str = ""  # what began the session: worker, schedule or what a script says; empty: a person

    def forked(self) -> RunState:
        """What a fork keeps of it: a run has one session."""
        return RunState(self.agent, self.persona)

    def take(self, event: RunTaken) -> None:
        run = event.run.run_id
        self.known[run] = event.run
        self.active = run
        if event.progress:  # what it was told before may be in another conversation, or summarised by now
            self.progress[run] = structs.replace(event.progress, begun=False)

    def move(self, event: RunMoved) -> bool:
        """Returns whether the active run was put aside."""
        run = self.known.get(event.run)
        if run is None:
            return False
        self.known[event.run] = structs.replace(run, phase=event.after, updated_at=event.at)
        aside = event.after in ASIDE and self.active == event.run
        if aside:
            self.active = ""
        if event.after in TERMINAL:
            self.progress.pop(event.run, None)
        return aside

    def begin_step(self, event: StepBegun) -> None:
        if now := self.progress.get(event.run):
            self.progress[event.run] = structs.replace(
                now, begun=True, text=event.text, agent=event.agent, persona=event.persona
            )


def _started(runs: RunState, event: RunStarted) -> None:
    runs.known[event.run.run_id] = event.run
    runs.active = event.run.run_id


def _workflow_begun(runs: RunState, event: WorkflowBegun) -> None:
    before = runs.progress.get(event.run)
    if runs.agent:  # a workflow is begun from an agent's menu
        entry = (event.workflow, event.root, event.about)
        runs.progress[event.run] = progress.entered(before, event.run, runs.agent, *entry)


def _step_finished(runs: RunState, event: StepFinished) -> None:
    now = runs.progress.get(event.run)
    if now and not now.done:
        runs.progress[event.run] = progress.moved(now, event.way, event.target, event.result)


FOLDS: dict[type, Callable[[RunState, Any], None]] = {
    RunStarted: _started,
    WorkflowBegun: _workflow_begun,
    StepFinished: _step_finished,
}
