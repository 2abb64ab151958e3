"""Leads a run through its workflow: gives the model each step's instructions, moves along edges, sees the end.

Every move is an event before anything follows from it, so a run that was cut short goes on at the step it was at. What
a step came to is also kept as a file in the run's folder.
"""

from __future__ import annotations

from collections.abc import Iterable

from quintet.domain.agents import workflow_progress as progress
from quintet.domain.agents.agent import Agent, persona_prompt
from quintet.domain.agents.run import RunErrorCode
from quintet.domain.agents.workflow import NodeKind, Workflow, is_classic
from quintet.domain.agents.workflow_progress import FinishedStep, WorkflowProgress
from quintet.domain.base.errors import RunFailed
from quintet.domain.journal.protocol import StepBegun, StepFinished, WorkflowBegun
from quintet.domain.turn.messages import Message
from quintet.domain.turn.tool_spec import Move
from quintet.engine.session.core import Core
from quintet.engine.session.journal import Journal

ABOUT_SHOWN = 20_000  # characters of a workflow.md
RESULT_SHOWN = 2_000  # characters of what each finished step came to, in what the model is told
STEPS_SHOWN = 20


class WorkflowRun:
    """The workflow of the current turn's run."""

    def __init__(self, core: Core, journal: Journal, run: str) -> None:
        self._core = core
        self._journal = journal
        self._run = run
        self._kept = 0  # steps whose results are in the run's folder; a crash may have come before the last was

    @property
    def _place(self) -> WorkflowProgress:
        return self._journal.state.runs.progress[self._run]

    def arrive(self) -> None:
        """Go on to where the model has something to do, and give it its instructions; or to the end."""
        self._keep_results()
        seen: set[tuple[tuple[str, str, bool], ...]] = set()
        while not (place := self._place).done and not place.begun:
            here = tuple((frame.workflow.id, frame.node, frame.returned) for frame in place.frames)
            if here in seen:
                raise RunFailed(RunErrorCode.LOOP, f"{place.node.id}: the workflow loops here without doing anything")
            seen.add(here)
            if move := progress.passes(place):
                self._go(move)
            elif place.node.kind is NodeKind.SUBWORKFLOW and not place.frames[-1].returned:
                self._call(place)
            else:
                self._begin(place)

    def complete(self, answer: str) -> None:
        """The model ended the turn with its last word: in a row of steps that ends the row."""
        place = self._place
        if not place.done and place.begun and place.linear:
            self._go(Move(progress.COMPLETE, "", answer))
            self.arrive()

    def choose(self, said: str) -> bool:
        """The person names the way on, where nobody else can choose it."""
        place = self._place
        move = progress.chosen(place, said) if place.begun and len(place.ways) > 1 else None
        return self._moved(move)

    def push(self, answer: str) -> bool:
        """Go on without a model's word that the step is done, if there is but one way."""
        place = self._place
        if place.done:
            return False
        return self._moved(progress.chosen(place, "", answer))

    def _moved(self, move: Move | None) -> bool:
        if move is None:
            return False
        self._go(move)
        self.arrive()
        return not self._place.done

    def _go(self, move: Move) -> None:
        node = self._place.node.id
        self._journal.post(StepFinished(run=self._run, node=node, way=move.way, target=move.target, result=move.result))

    def _call(self, place: WorkflowProgress) -> None:
        node = place.node
        if len(place.frames) >= progress.MOST_DEPTH:
            raise RunFailed(RunErrorCode.LOOP, f"{node.id}: workflows are nested more than {progress.MOST_DEPTH} deep")
        if not node.workflow:
            raise RunFailed(RunErrorCode.WORKFLOW_REF_REQUIRED, f"{node.id}: the node names no workflow to call")
        try:
            workflow, root = self._core.agents.workflow(node.workflow, place.leader)
        except RunFailed as error:
            unknown = error.code == RunErrorCode.UNKNOWN_WORKFLOW
            raise RunFailed(RunErrorCode.WORKFLOW_REF_UNKNOWN if unknown else error.code, error.message) from None
        self._journal.post(workflow_begun(self._core, self._run, place.leader, workflow, root))

    def _begin(self, place: WorkflowProgress) -> None:
        node, core, leader = place.node, self._core, place.leader
        text = core.agents.step(node.file, place.frames[-1].root) if node.file else node.description or node.title
        if not text:
            text = f"Choose the next step: {progress.named_ways(place)}"
        text = core.agents.rendered(text, leader, self._run)
        agent = core.agents.other(leader, node.agent_id) if node.agent_id not in ("", leader.id) else None
        persona = core.agents.rendered(persona_prompt(agent), agent, self._run) if agent else ""
        title = node.title or node.id
        self._journal.post(StepBegun(run=self._run, node=node.id, title=title, text=text, agent=agent, persona=persona))

    def _keep_results(self) -> None:
        finished = self._place.finished
        for number, step in enumerate(finished[self._kept :], self._kept + 1):
            if step.result:
                self._core.turn.keep_artifact(self._run, f"{number:02}-{_file_name(step.node)}", step.result, step)
        self._kept = len(finished)


def workflow_begun(core: Core, run: str, leader: Agent, workflow: Workflow, root: str) -> WorkflowBegun:
    """A workflow's beginning, with what its workflow.md says, unless that is its one step."""
    alone = any(node.file == workflow.path for node in workflow.graph.nodes)
    if is_classic(workflow.path):
        about = core.agents.rendered(workflow.description, leader, run)
    else:
        about = "" if alone else core.agents.rendered(core.agents.step(workflow.path, root), leader, run)
    return WorkflowBegun(run=run, workflow=workflow, root=root, about=about[:ABOUT_SHOWN])


def place_text(place: WorkflowProgress, messages: Iterable[Message]) -> str:
    """Where the run stands, as the model is told it; with the step's instructions if a summary has taken them."""
    frame = place.frames[-1]
    lines = [f"Workflow: {frame.workflow.title or frame.workflow.id}", *filter(None, [frame.about])]
    lines.append(f"Step: {place.node.title or place.node.id}")
    if place.node.outputs:
        lines.append(f"Its outputs: {', '.join(place.node.outputs)}")
    if len(place.ways) > 1:
        lines.append(f"Possible next steps: {progress.named_ways(place)}")
    elif not place.ways:
        lines.append("It is the last step.")
    if place.text and all(message.text != place.text for message in messages):
        lines += ["Its instructions:", place.text]
    if place.finished:
        lines += ["Finished so far:", *(_behind(step) for step in place.finished[-STEPS_SHOWN:])]
    return "\n".join(lines)


def _behind(step: FinishedStep) -> str:
    result = step.result if len(step.result) <= RESULT_SHOWN else f"{step.result[:RESULT_SHOWN]} …"
    return f"- {step.node} → {step.way}{f': {result}' if result else ''}"


def _file_name(node: str) -> str:
    return "".join(char if char.isalnum() or char in "-_" else "_" for char in node)[:60]
