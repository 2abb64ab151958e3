"""From a resolved command to what follows: an answer at once, or a turn with its opening events. Nothing is raised.

A command that fails gives an error with a code and changes nothing: its events are written only with what it begins.
"""

from __future__ import annotations

import shlex
from typing import Any, Literal

from msgspec import Struct, field, to_builtins
from msgspec.json import encode

from quintet.domain.agents import agent as agents
from quintet.domain.agents.agent import Agent
from quintet.domain.agents.route import CommandKind, ResolvedCommand, resolve
from quintet.domain.agents.run import ErrorInfo, RunErrorCode, RunPhase
from quintet.domain.agents.workflow import is_classic, is_workflow
from quintet.domain.base.errors import QuintetError, RunFailed
from quintet.domain.dials.axes import Surface
from quintet.domain.journal.protocol import AgentDismissed, CommandRan, DataLoaded, Event, RunStarted, RunTaken
from quintet.domain.journal.state import SessionState
from quintet.engine.agents import runs
from quintet.engine.agents.workflow_run import workflow_begun
from quintet.engine.commands import agents as agent_commands
from quintet.engine.session.core import Core

READ = (".md", ".markdown", ".txt", "")  # endings of scripts that are words for the model
EventType = Literal[
    "SHOW_MENU", "CLARIFY_CHOICE", "RUN_STARTED", "RUN_RESUMED", "AGENT_DISMISSED", "CHAT_RESPONSE", "RUN_MOVED"
]


class AgentTurn(Struct, frozen=True):
    """The turn that an input to an agent begins."""

    text: str  # what the model is told; empty where the run goes on by itself
    run: str = ""  # the run it belongs to
    own: tuple[str, str] | None = None  # a call of the person's own: tool and arguments


class Dispatched(Struct):
    """What became of a command: an event or an error, never both."""

    event: dict[str, Any] | None = None
    error: ErrorInfo | None = None
    text: str = ""  # for the person
    events: list[Event] = field(default_factory=list)
    begins: AgentTurn | None = None

    def answer(self, submission: str, text: str) -> CommandRan:
        """What answers an input that begins no turn."""
        data: dict[str, Any] = {"event": self.event} if self.event else {}
        if left := next((event.agent for event in self.events if isinstance(event, AgentDismissed)), ""):
            data["agent"] = left
        if self.error is None:
            return CommandRan(submission=submission, line=text, text=self.text, data=data)
        said = "\n".join(filter(None, (self.error.message, self.error.hint)))
        return CommandRan(submission=submission, line=text, text=said, ok=False, code=self.error.code)


def dispatch(core: Core, state: SessionState, text: str, surface: Surface) -> Dispatched:
    """Resolve an input against the active agent's menu, and carry it out as far as no model is needed."""
    agent = state.runs.agent
    assert agent
    command = resolve(text, agent, surface, bool(state.runs.active))
    try:
        return Dispatcher(core, state, agent, surface).carry_out(command, text)
    except QuintetError as error:
        return Dispatched(error=ErrorInfo(error.code, error.message, error.hint))
    except Exception as error:
        core.log.crash(error)
        return Dispatched(error=ErrorInfo(RunErrorCode.UNKNOWN, f"{type(error).__name__}: {error}"))


class Dispatcher:
    def __init__(self, core: Core, state: SessionState, agent: Agent, surface: Surface) -> None:
        self._core = core
        self._state = state
        self._agent = agent
        self._surface = surface

    def carry_out(self, command: ResolvedCommand, text: str) -> Dispatched:
        match command.kind:
            case CommandKind.SHOW_MENU:
                return self._menu()
            case CommandKind.CLARIFY_CHOICE:
                return _unclear(command)
            case CommandKind.DISMISS_AGENT:
                return self._dismiss()
            case CommandKind.RESUME_RUN:
                return self._resume(command.target or "")
            case CommandKind.CONTINUE_RUN:
                return Dispatched(begins=AgentTurn(text, self._state.runs.active))
            case CommandKind.START_WORKFLOW:
                return self._start(command, command.target or "")
            case CommandKind.EXEC_SCRIPT:
                return self._script(command)
            case CommandKind.RUN_ACTION:
                return self._action(command)
            case CommandKind.CHAT:
                return self._chat(command, text)

    # ── at once

    def _menu(self) -> Dispatched:
        return Dispatched(_event("SHOW_MENU"), text=agent_commands.menu_text(self._agent, self._surface))

    def _dismiss(self) -> Dispatched:
        events = agent_commands.leave_agent(self._core, self._state, self._agent)
        return Dispatched(_event("AGENT_DISMISSED"), text=f"{self._agent.id} was dismissed", events=events)

    def _put(self, after: RunPhase) -> Dispatched:
        """The active run paused or stopped, between its turns."""
        run = self._state.runs.known.get(self._state.runs.active)
        if run is None:
            raise RunFailed(RunErrorCode.PRECONDITION, "no run is active")
        events = runs.move(self._core, run, after, "on request")
        return Dispatched(
            _event("RUN_MOVED", run=run.run_id, phase=after), text=f"run {run.run_id} {after}", events=events
        )

    # ── turns

    def _chat(self, command: ResolvedCommand, text: str) -> Dispatched:
        if command.menu_index is None:
            return Dispatched(begins=AgentTurn(text))
        if command.details:
            return Dispatched(begins=AgentTurn(command.details))
        said = f"{self._agent.name} is ready: type your question."
        return Dispatched(_event("CHAT_RESPONSE", assistant={"role": "assistant", "content": said}), text=said)

    def _resume(self, wanted: str) -> Dispatched:
        events = agent_commands.resume_run(self._core, self._state, wanted, self._surface)
        run = next(event.run for event in events if isinstance(event, RunTaken))
        return Dispatched(_event("RUN_RESUMED", run=to_builtins(run)), events=events, begins=AgentTurn("", run.run_id))

    def _start(self, command: ResolvedCommand, ref: str) -> Dispatched:
        if is_classic(ref) and self._validates(command):
            raise RunFailed(
                RunErrorCode.CLASSIC, f"{ref} is a classic workflow (.yaml, .yml, .xml), and those are not validated"
            )
        workflow, root = self._core.agents.workflow(self._rendered(ref), self._agent)
        data = self._data(command)
        started: RunStarted = runs.create(self._core, workflow.id, self._agent)
        run = started.run.run_id
        events = [started, workflow_begun(self._core, run, self._agent, workflow, root), *data]
        text = _joined(workflow.title or workflow.id, command.details)
        return Dispatched(
            _event("RUN_STARTED", run=to_builtins(started.run)), events=events, begins=AgentTurn(text, run)
        )

    def _validates(self, command: ResolvedCommand) -> bool:
        items = agents.visible_menu(self._agent, self._surface)
        item = items[command.menu_index - 1] if command.menu_index else None
        meant = [handler for handler in item.handlers if handler.target == command.target] if item else []
        return any(handler.kind is agents.HandlerKind.VALIDATE for handler in meant)

    def _script(self, command: ResolvedCommand) -> Dispatched:
        path = self._rendered(command.target or "")
        if is_classic(path):
            return self._start(command, path)
        whole, fields, body = self._core.agents.text(path, self._agent)
        if is_workflow(path, fields):
            return self._start(command, path)
        ending = whole[len(whole.rpartition(".")[0]) :] if "." in whole.rpartition("/")[2] else ""
        if ending.lower() in READ:
            text = _joined(self._rendered(body.strip()), command.details)
            return Dispatched(events=self._data(command), begins=AgentTurn(text))
        if not self._core.agents.trusted:
            raise RunFailed(
                RunErrorCode.PERMISSION_DENIED,
                f"{path} is a program, and this folder is not trusted",
                hint="`quintet trust` allows the programs of its agents to run, with approval where they need it.",
            )
        line = shlex.quote(whole)
        return Dispatched(begins=AgentTurn(f"!{line}", own=("bash", _json({"command": line}))))

    def _action(self, command: ResolvedCommand) -> Dispatched:
        action = (command.target or "").strip()
        match action:
            case agents.SHOW_MENU:
                return self._menu()
            case agents.DISMISS:
                return self._dismiss()
            case agents.RESUME:
                return self._resume(command.details.strip())
            case agents.PAUSE:
                return self._put(RunPhase.PAUSED)
            case agents.STOP:
                return self._put(RunPhase.CANCELLED)
        if action.startswith("#"):
            prompt = self._agent.prompt(action[1:])
            if prompt is None:
                named = ", ".join(f"#{known.id}" for known in self._agent.prompts) or "none"
                raise RunFailed(
                    RunErrorCode.UNKNOWN_PROMPT_ID,
                    f"{action} is not a prompt of {self._agent.name}; its prompts: {named}",
                )
            action = prompt.content.strip()
        text = _joined(self._rendered(action), command.details)
        return Dispatched(events=self._data(command), begins=AgentTurn(text))

    def _data(self, command: ResolvedCommand) -> list[Event]:
        if not command.data_ref:
            return []
        loaded = self._core.agents.data(self._rendered(command.data_ref), self._agent)
        return [DataLoaded(path=loaded.path, format=loaded.format, text=loaded.text)]

    def _rendered(self, text: str) -> str:
        return self._core.agents.rendered(text, self._agent)


def _unclear(command: ResolvedCommand) -> Dispatched:
    width = max(len(str(one.index)) for one in command.candidates)
    lines = [f"{one.index:>{width}}. {one.label}" for one in command.candidates]
    text = "\n".join([f"{command.reason}:", *lines])
    return Dispatched(_event("CLARIFY_CHOICE", command=to_builtins(command)), text=text)


def _event(type: EventType, **values: Any) -> dict[str, Any]:
    return {"type": type, **values}


def _joined(*parts: str) -> str:
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _json(value: dict[str, str]) -> str:
    return encode(value).decode()
