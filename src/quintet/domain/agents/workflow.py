"""Workflows as their files describe them: a graph of steps, or step files in a row; and the package that holds them.

Paths are relative to the package, with forward slashes. Nothing here has been run, and nothing here runs.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from quintet.domain.agents.agent import Agent


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
    path: str  # of its workflow.md
    graph: Graph
    title: str = ""
    description: str = ""
    state: dict[str, Any] = field(default_factory=dict)  # the frontmatter it begins with
    graph_path: str = ""  # empty where the graph was made from the step files


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
    """Whether a workflow or script is of the classic kind, which is refused with the code CLASSIC."""
    return ref.strip().casefold().endswith(_CLASSIC_ENDINGS)


def names_workflow(ref: str) -> bool:
    """Whether a script's path says that it is a workflow."""
    return ref.strip().replace("\\", "/").rpartition("/")[2].casefold() == "workflow.md"


def is_workflow(ref: str, frontmatter: dict[str, Any]) -> bool:
    """Whether a script, now that it has been read, turns out to be a workflow."""
    return names_workflow(ref) or not _WORKFLOW_FIELDS.isdisjoint(frontmatter)
