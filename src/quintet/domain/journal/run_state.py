"""What the events of agents and runs do to a session's state."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import structs

from quintet.domain.agents import workflow_progress as progress
from quintet.domain.agents.run import ASIDE, TERMINAL
from quintet.domain.journal import run_events as r
from quintet.domain.turn.messages import Message, Role

if TYPE_CHECKING:
    from quintet.domain.journal.state import SessionState

DATA = "Data from {path} ({format}):\n\n{text}"


def _entered(state: SessionState, event: r.AgentEntered) -> None:
    state.agent, state.persona, state.toolset = event.agent, event.persona, ""


def _dismissed(state: SessionState, event: r.AgentDismissed) -> None:
    state.agent, state.persona, state.toolset = None, "", ""


def _loaded(state: SessionState, event: r.DataLoaded) -> None:
    text = DATA.format(path=event.path, format=event.format, text=event.text)
    state.messages.append(Message(Role.USER, text))


def _started(state: SessionState, event: r.RunStarted) -> None:
    state.runs[event.run.run_id] = event.run
    state.active_run = event.run.run_id


def _taken(state: SessionState, event: r.RunTaken) -> None:
    run = event.run.run_id
    state.runs[run] = event.run
    state.active_run = run
    if event.cycle:
        state.cycle = event.cycle
    if event.progress:  # what it was told before may be in another conversation, or summarised by now
        state.progress[run] = structs.replace(event.progress, begun=False)


def _moved(state: SessionState, event: r.RunMoved) -> None:
    run = state.runs.get(event.run)
    if run is None:
        return
    state.runs[event.run] = structs.replace(run, phase=event.after, updated_at=event.at)
    if event.after in ASIDE and state.active_run == event.run:
        state.active_run, state.toolset = "", ""
    if event.after in TERMINAL:
        state.progress.pop(event.run, None)


def _workflow(state: SessionState, event: r.WorkflowBegun) -> None:
    before = state.progress.get(event.run)
    if state.agent:  # a workflow is begun from an agent's menu
        entry = (event.workflow, event.root, event.about)
        state.progress[event.run] = progress.entered(before, event.run, state.agent, *entry)


def _begun(state: SessionState, event: r.StepBegun) -> None:
    if now := state.progress.get(event.run):
        state.progress[event.run] = structs.replace(
            now, begun=True, text=event.text, agent=event.agent, persona=event.persona
        )
    state.messages.append(Message(Role.USER, event.text))


def _finished(state: SessionState, event: r.StepFinished) -> None:
    now = state.progress.get(event.run)
    if now and not now.done:
        state.progress[event.run] = progress.moved(now, event.way, event.target, event.result)


HANDLERS: dict[type, Callable[[Any, Any], None]] = {
    r.AgentEntered: _entered,
    r.AgentDismissed: _dismissed,
    r.DataLoaded: _loaded,
    r.RunStarted: _started,
    r.RunTaken: _taken,
    r.RunMoved: _moved,
    r.WorkflowBegun: _workflow,
    r.StepBegun: _begun,
    r.StepFinished: _finished,
}
