"""How far a run has come in its workflow, and where it may go: only along the edges of the graph.

Pure: a place is a stack of workflows, each at one of its nodes; a subworkflow is one more on the stack. What needs no
model (a merge, an end, the way back from a subworkflow) is passed through.
"""

from __future__ import annotations

from msgspec import Struct, structs

from quintet.domain.agents.agent import Agent
from quintet.domain.agents.workflow import Edge, Node, NodeKind, Workflow
from quintet.domain.turn.tool_spec import Move

MOST_DEPTH = 8  # workflows within workflows
COMPLETE = "complete"  # the way out of a row of steps that its last word, not an edge, says is over


class Frame(Struct, frozen=True):
    workflow: Workflow
    root: str  # the folder its files are in
    node: str
    about: str = ""  # what its workflow.md says of the whole
    returned: bool = False  # its node is a subworkflow that has ended


class FinishedStep(Struct, frozen=True):
    """A step that is behind the run."""

    node: str
    way: str
    result: str = ""


class WorkflowProgress(Struct, frozen=True):
    run: str
    leader: Agent  # whose run it is
    frames: tuple[Frame, ...]  # the innermost last; empty once the end is reached
    begun: bool = False  # whether the model has the instructions of the node it is at
    text: str = ""  # those instructions
    agent: Agent | None = None  # of this step, where it is not the session's
    persona: str = ""  # that agent's, as the model sees it
    finished: tuple[FinishedStep, ...] = ()

    @property
    def done(self) -> bool:
        return not self.frames

    @property
    def node(self) -> Node:
        frame = self.frames[-1]
        node = frame.workflow.graph.node(frame.node)
        assert node  # the reader has checked every edge and the entry
        return node

    @property
    def ways(self) -> tuple[Edge, ...]:
        frame = self.frames[-1]
        return frame.workflow.graph.leaving(frame.node)

    @property
    def linear(self) -> bool:
        """Whether its steps are a row of files, without a graph of their author's."""
        return not self.frames[-1].workflow.graph_path


def entered(
    progress: WorkflowProgress | None, run: str, leader: Agent, workflow: Workflow, root: str, about: str = ""
) -> WorkflowProgress:
    """A run at the entry of a workflow, its first or one that a node calls."""
    frame = Frame(workflow, root, workflow.graph.entry, about)
    if progress is None:
        return WorkflowProgress(run, leader, (frame,))
    return structs.replace(progress, frames=(*progress.frames, frame), begun=False)


def moved(progress: WorkflowProgress, way: str, target: str, result: str) -> WorkflowProgress:
    """The place after a step is finished."""
    frame = progress.frames[-1]
    behind = (*progress.finished, FinishedStep(frame.node, way, result))
    if target:
        frames = (*progress.frames[:-1], structs.replace(frame, node=target, returned=False))
    else:
        frames = progress.frames[:-1]
        if frames:
            frames = (*frames[:-1], structs.replace(frames[-1], returned=True))
    return structs.replace(progress, frames=frames, begun=False, text="", agent=None, persona="", finished=behind)


def chosen(progress: WorkflowProgress, way: str, result: str = "") -> Move | None:
    """The move along the way that is named, or along the only one; None if that is no way on from here."""
    ways = progress.ways
    if not ways:
        return Move(way or COMPLETE, "", result)
    wanted = way.strip().casefold()
    named = [edge for edge in ways if wanted and wanted in (edge.label.casefold(), edge.target.casefold())]
    if not wanted and len(ways) == 1:
        named = list(ways)
    return Move(named[0].label, named[0].target, result) if len(named) == 1 else None


def by_itself(progress: WorkflowProgress) -> Move | None:
    """The move that needs nobody's choice: along the only way, or the one that is the default."""
    if only := chosen(progress, ""):
        return only
    defaults = [edge for edge in progress.ways if edge.default]
    return Move(defaults[0].label, defaults[0].target) if len(defaults) == 1 else None


def passes(progress: WorkflowProgress) -> Move | None:
    """The move on from a node that gives a model nothing to do; None if it has something, or must choose the way."""
    node, frame = progress.node, progress.frames[-1]
    if node.kind is NodeKind.END:
        return None if node.file else Move(COMPLETE, "")
    idle = (node.kind is NodeKind.MERGE and not node.file) or frame.returned
    return by_itself(progress) if idle else None


def named_ways(progress: WorkflowProgress) -> str:
    """The ways on, for whoever has to choose."""
    return "; ".join(f"{edge.label}{f' ({edge.condition})' if edge.condition else ''}" for edge in progress.ways)
