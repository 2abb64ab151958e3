"""An agent in words: what the model is told of whom it speaks as, and what the person is shown."""

from __future__ import annotations

from collections.abc import Sequence

from quintet.domain.agents.agent import Agent


def told(agent: Agent) -> str:
    """The persona as a part of what the model is told."""
    if agent.system_prompt:
        return agent.system_prompt.strip()
    persona = agent.persona
    parts = [f"You are {headline(agent)}. {persona.role}", persona.identity]
    if persona.communication_style:
        parts.append(f"How you speak: {persona.communication_style}")
    parts += [_listed("What you hold to:", persona.principles), _listed("Always:", agent.critical_actions)]
    return "\n\n".join(part.strip() for part in parts if part.strip())


def headline(agent: Agent) -> str:
    return f"{agent.name}, {agent.title}" if agent.title else agent.name


def numbered(labels: Sequence[str]) -> str:
    """A menu as it is shown."""
    width = len(str(len(labels)))
    return "\n".join(f"{number:>{width}}. {label}" for number, label in enumerate(labels, 1))


def _listed(heading: str, lines: Sequence[str]) -> str:
    return "\n".join([heading, *(f"- {line}" for line in lines)]) if lines else ""
