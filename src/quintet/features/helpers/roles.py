"""What a helper is: one of the built-in roles, a page of the prompts each, or any agent there is here by its name.

The agents of a project count only if it is trusted: what a repository wrote is otherwise data, never an order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quintet.adapters.agents.agents import LocalAgents
from quintet.adapters.agents.catalogue import all_agents
from quintet.app.opening_notes import sound_agents
from quintet.app.prompts import own_prompts
from quintet.domain.agents.agent import Agent, Persona, persona_prompt
from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import did_you_mean
from quintet.domain.journal.protocol import AgentEntered

if TYPE_CHECKING:
    from quintet.app.services import Opening

BUILT_IN = ("explorer", "reviewer", "tester", "researcher")
SHARED = "helpers/helper.md"  # what every helper is told


class Roles:
    def __init__(self, opening: Opening) -> None:
        self._places = opening.places
        self._protection = opening.terms.protection
        self._trusted = sound_agents(opening.places, opening.loaded.trust)
        self._prompts = own_prompts(opening.places.root, opening.loaded.trust)

    def names(self) -> list[str]:
        return [*BUILT_IN, *(id for id in self._agents() if id not in BUILT_IN)]

    def entered(self, role: str) -> AgentEntered:
        """The helper as its session's agent; ToolFailed if there is no such role."""
        shared = self._prompts.page(SHARED)
        if role in BUILT_IN:
            text = f"{self._prompts.page(f'helpers/{role}.md')}\n\n{shared}"
            return AgentEntered(agent=Agent(role, role, Persona("helper"), system_prompt=text), persona=text, menu=())
        agent = self._agents().get(role)
        if agent is None:
            names = self.names()
            raise ToolFailed(f'there is no role "{role}". Roles: {", ".join(names)}.{did_you_mean(role, names)}')
        agents = LocalAgents(self._places, self._protection, trusted=self._trusted)
        told = agents.rendered(persona_prompt(agent), agent)
        return AgentEntered(agent=agent, persona=f"{told}\n\n{shared}", menu=())

    def _agents(self) -> dict[str, Agent]:
        known = all_agents(self._places).agents
        return {id: one.agent for id, one in known.items() if one.origin != "project" or self._trusted}
