"""The slash commands of agent sessions: list or enter, show the menu, leave; and the run that is resumed."""

from __future__ import annotations

from quintet.domain.agents.agent import Agent, headline, numbered, persona_prompt, visible_menu
from quintet.domain.base.errors import UsageError
from quintet.domain.base.text_table import table
from quintet.domain.dials.axes import Surface
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.journal.protocol import AgentDismissed, AgentEntered, Event
from quintet.domain.journal.state import SessionState
from quintet.engine.agents import runs
from quintet.engine.session.command_context import CommandContext, CommandOutcome
from quintet.engine.session.core import Core


def agents(context: CommandContext, line: CommandLine) -> CommandOutcome:
    if line.words:
        _not_while_running(context, "/agents")
        events = enter_agent(context.core, context.state, " ".join(line.words), context.surface)
        agent = next(event.agent for event in events if isinstance(event, AgentEntered))
        return CommandOutcome(f"you are talking to {headline(agent)}", events, data={"agent": agent.id})
    rows = [(agent.id, agent.title or agent.persona.role, origin) for agent, origin in context.core.agents.listed()]
    here = context.state.runs.agent
    said = f"you are talking to {here.name}; /menu shows its menu" if here else "/agents NAME opens one"
    return CommandOutcome("\n".join([*table(rows), said]), data={"agents": [row[0] for row in rows]})


def menu(context: CommandContext, line: CommandLine) -> CommandOutcome:
    return CommandOutcome(menu_text(_agent(context), context.surface), data={"event": {"type": "SHOW_MENU"}})


def dismiss(context: CommandContext, line: CommandLine) -> CommandOutcome:
    agent = _agent(context)
    _not_while_running(context, "/dismiss")
    data = {"agent": agent.id, "event": {"type": "AGENT_DISMISSED"}}
    return CommandOutcome(f"{agent.id} was dismissed", leave_agent(context.core, context.state, agent), data=data)


def enter_agent(core: Core, state: SessionState, name: str, surface: Surface) -> list[Event]:
    """An agent is chosen: the active run is put aside, its menu becomes the one that inputs go by."""
    return [
        *runs.put_aside(core, state, "another agent was chosen"),
        agent_entered(core, core.agents.find(name), surface),
    ]


def agent_entered(core: Core, agent: Agent, surface: Surface) -> AgentEntered:
    labels = tuple(item.label for item in visible_menu(agent, surface))
    return AgentEntered(agent=agent, persona=core.agents.rendered(persona_prompt(agent), agent), menu=labels)


def leave_agent(core: Core, state: SessionState, agent: Agent) -> list[Event]:
    return [*runs.put_aside(core, state, "the agent was dismissed"), AgentDismissed(agent=agent.id)]


def resume_run(core: Core, state: SessionState, wanted: str, surface: Surface) -> list[Event]:
    """A run is taken up, and with it the agent whose run it is."""
    taken, data = runs.resume(core, state, wanted or state.runs.active)
    if taken.run.run_id == state.runs.active:
        return [taken]
    leader = taken.progress.leader if taken.progress else None
    events = runs.put_aside(core, state, "another run was resumed")
    if leader and (state.runs.agent is None or state.runs.agent != leader):
        events.append(agent_entered(core, leader, surface))
    return [*events, taken, *data]


def menu_text(agent: Agent, surface: Surface) -> str:
    return numbered([item.label for item in visible_menu(agent, surface)])


def _agent(context: CommandContext) -> Agent:
    if context.state.runs.agent is None:
        raise UsageError("no agent is active; /agents lists them, /agents NAME opens one")
    return context.state.runs.agent


def _not_while_running(context: CommandContext, name: str) -> None:
    if context.state.turns.open or context.state.turns.waiting:
        raise UsageError(f"a turn is running: wait until it ends, or /stop it, before {name}")
