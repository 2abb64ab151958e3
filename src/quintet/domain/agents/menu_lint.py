"""What in an agent's menu would fail when chosen: a prompt or workflow that is not there, a classic workflow.

An agent with loose ends is still an agent; whoever wrote it wants to know.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from quintet.domain.agents.agent import Agent, HandlerKind
from quintet.domain.agents.workflow import AgentPackage, is_classic, names_workflow

_REFERRING = (HandlerKind.WORKFLOW, HandlerKind.EXEC, HandlerKind.VALIDATE)


class LooseEnd(Struct, frozen=True):
    target: str
    problem: str


def loose_ends(agent: Agent, package: AgentPackage) -> Iterator[LooseEnd]:
    """What leads nowhere within the package; what a template places outside it is not judged."""
    for handler in (handler for item in agent.menu for handler in item.handlers):
        target = handler.target
        if handler.kind is HandlerKind.ACTION and target.startswith("#") and not agent.prompt(target[1:]):
            yield LooseEnd(target, "is no prompt of this agent")
        elif handler.kind in _REFERRING and is_classic(target):
            yield LooseEnd(target, "is a classic workflow (.yaml, .yml, .xml), and those are not supported")
        elif _is_workflow(handler.kind, target) and not package.workflow(target):
            yield LooseEnd(target, "is no workflow of this package")


def _is_workflow(kind: HandlerKind, target: str) -> bool:
    if "{" in target.replace("{package-root}", ""):
        return False
    return kind is HandlerKind.WORKFLOW or (kind is HandlerKind.EXEC and names_workflow(target))
