"""Workflows as their files describe them: a graph of steps, or step files in a row; and the package that holds them.

Paths are relative to the package, with forward slashes. Nothing here has been run, and nothing here runs. `render`
fills in the templates of a package's texts; `menu_problems` finds what in an agent's menu would fail when chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from quintet.domain.agents.agent import Agent, HandlerKind
from quintet.domain.base.lazy_regex import regex


class NodeKind(StrEnum):
    STEP = "step"
    DECISION = "decision"
    MERGE = "merge"
    END = "end"
    SUBWORKFLOW = "subworkflow"


class Node(Struct, frozen=True):
    id: str
    kind: NodeKind
    file: str = ""  # its instructions; none for a merge or an end that needs none
    title: str = ""
    description: str = ""
    agent_id: str = ""  # empty: the session's agent
    workflow: str = ""  # of a subworkflow: the workflow it calls
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


class Edge(Struct, frozen=True):
    source: str
    target: str
    label: str
    default: bool = False
    condition: str = ""  # for whoever decides


class Graph(Struct, frozen=True):
    entry: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...] = ()

    def node(self, id: str) -> Node | None:
        return next((node for node in self.nodes if node.id == id), None)

    def leaving(self, id: str) -> tuple[Edge, ...]:
        return tuple(edge for edge in self.edges if edge.source == id)


class Workflow(Struct, frozen=True):
    id: str
    path: str  # of its workflow.md, or of its workflow.yaml
    graph: Graph
    title: str = ""
    description: str = ""
    state: dict[str, Any] = field(default_factory=dict)  # the frontmatter it begins with
    graph_path: str = ""  # what the graph was read from; empty where it was made from the step files


class AgentPackage(Struct, frozen=True):
    """A folder of agents and the workflows they share; a single agent's file is a package of one."""

    root: str  # absolute
    name: str
    agents: tuple[Agent, ...]
    workflows: tuple[Workflow, ...] = ()
    entry: str = ""  # id of the workflow that opens it
    version: str = ""
    description: str = ""
    variables: dict[str, str] = field(default_factory=dict)  # its own configuration, for templates

    def agent(self, id: str) -> Agent | None:
        return next((agent for agent in self.agents if agent.id == id), None)

    def workflow(self, ref: str) -> Workflow | None:
        """By its id, or by the path of its workflow.md within the package."""
        path = ref.removeprefix("{package-root}").lstrip("/").removeprefix("./")
        return next((found for found in self.workflows if ref == found.id or path == found.path), None)


_CLASSIC_ENDINGS = (".yaml", ".yml", ".xml")
_WORKFLOW_FIELDS = frozenset({"schemaVersion", "workflowType", "currentNodeId"})


def is_classic(ref: str) -> bool:
    """Whether a workflow or script is of the classic kind: run where its form is known, else the code CLASSIC."""
    return ref.strip().casefold().endswith(_CLASSIC_ENDINGS)


def names_workflow(ref: str) -> bool:
    """Whether a script's path says that it is a workflow."""
    return ref.strip().replace("\\", "/").rpartition("/")[2].casefold() == "workflow.md"


def is_workflow(ref: str, frontmatter: dict[str, Any]) -> bool:
    """Whether a script, now that it has been read, turns out to be a workflow."""
    return names_workflow(ref) or not _WORKFLOW_FIELDS.isdisjoint(frontmatter)


_CONFIGURED = regex(r"\{config_source\}:([\w.-]+)")
_VARIABLE = regex(r"\{\{([\w.-]+)\}\}|\{([\w.-]+)\}")
PLACES = ("project-root", "package-root", "artifacts-root", "state-root")
_NOT_FILLED = frozenset({*PLACES, "config_source", "name", "description", "date"})
_MOST_DEEP = 4  # variables in variables of a page
_MOST_FILLED = 4_000  # characters of one value


def render(text: str, places: Mapping[str, str], variables: Mapping[str, str]) -> str:
    """`places` are ours and win; a variable of the package may hold a place, and nothing deeper."""
    if "{" not in text:
        return text
    values = {name: _substituted(value, places) for name, value in variables.items()}
    text = _CONFIGURED.sub(lambda found: values.get(found[1], found[0]), text)
    return _substituted(text, {**values, **places})


def own_variables(fields: Mapping[str, Any]) -> dict[str, str]:
    """What a page's own fields give for its text: their plain values, filled in from one another."""
    plain = {name: str(value) for name, value in fields.items() if isinstance(value, str | int | float) and value != ""}
    values = {name: value for name, value in plain.items() if name not in _NOT_FILLED}
    for _ in range(_MOST_DEEP):
        longer = {name: _substituted(value, values) for name, value in values.items() if "{" in value}
        values |= {name: value for name, value in longer.items() if len(value) <= _MOST_FILLED}
    return values


def filled(text: str, values: Mapping[str, str]) -> str:
    """A page's text with the values of its own fields."""
    return _substituted(text, values) if "{" in text else text


def _substituted(text: str, values: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda found: values.get(found[1] or found[2], found[0]), text)


class MenuProblem(Struct, frozen=True):
    target: str
    problem: str


def menu_problems(agent: Agent, package: AgentPackage) -> Iterator[MenuProblem]:
    """What leads nowhere within the package; what a template places outside it is not judged."""
    for handler in (handler for item in agent.menu for handler in item.handlers):
        target = handler.target
        if handler.kind is HandlerKind.ACTION and target.startswith("#") and not agent.prompt(target[1:]):
            yield MenuProblem(target, "is not a prompt of this agent")
        elif handler.kind is HandlerKind.VALIDATE and is_classic(target):
            yield MenuProblem(target, "is a classic workflow, and those are run but not validated")
        elif _is_workflow(handler.kind, target) and not package.workflow(target):
            yield MenuProblem(target, "is not a workflow of this package")


def _is_workflow(kind: HandlerKind, target: str) -> bool:
    if "{" in target.replace("{package-root}", "") or is_classic(target):
        return False
    return kind is HandlerKind.WORKFLOW or (kind is HandlerKind.EXEC and names_workflow(target))
