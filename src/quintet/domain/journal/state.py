"""A session's state is a fold over its journal: `SessionState.apply` for each event, in order, and nothing else.

Each subject keeps its part of the state and folds the events that are its own; here is the sum of the parts, and what
an event does to more than one of them. Applying is cheap and deterministic; the same events give the same state,
whoever folds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

from msgspec import Struct, field, structs

from quintet.domain.agents.run import TERMINAL
from quintet.domain.agents.workflow_progress import WorkflowProgress
from quintet.domain.base.errors import ModelContextOverflow
from quintet.domain.dials.axes import Axes, Surface
from quintet.domain.input import slash_line as command_line
from quintet.domain.journal import conversation_state, cycle_state, dial_state, run_state, turn_state
from quintet.domain.journal import protocol as p
from quintet.domain.journal.conversation_state import ConversationState, WorkState
from quintet.domain.journal.cycle_state import CycleState
from quintet.domain.journal.dial_state import DialState
from quintet.domain.journal.run_state import RunState
from quintet.domain.journal.session_summary import SessionStatus
from quintet.domain.journal.turn_state import CallState, TurnState
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.rules import Rule
from quintet.domain.skills.use import SkillUse, item_text
from quintet.domain.tasks.roles import ROLE_NAMES, CycleRoles
from quintet.domain.turn import compaction, swe_phases
from quintet.domain.turn.corrections import Correction
from quintet.domain.turn.messages import Usage
from quintet.domain.turn.stage_policy import CallContext, Stage
from quintet.domain.turn.todos import Todo
from quintet.domain.turn.tool_spec import CallStatus

REPORTS = frozenset({"review", "research", "plan"})  # orders that the model is told of
FILES_REWOUND = "The user restored files to an earlier state: {files} changed. Read them again before you continue."
DATA = "Data from {path} ({format}):\n\n{text}"
LOOKS = frozenset({p.SessionOpened, p.SessionTaken, p.CommandRan, p.Noticed, p.HookRan})  # what a look alone leaves
OTHERS_WORDS = ("web_", "browser_", "mcp_")  # tools whose results somebody else than the model wrote


class Spending(Struct):
    usage: Usage = Usage()
    cost: float = 0.0

    def add(self, usage: Usage, cost: float) -> None:
        self.usage = self.usage.plus(usage)
        self.cost += cost


class SessionState(Struct):
    """Everything a session is, as of its last event."""

    session: str = ""
    project: str = ""
    dials: DialState = field(default_factory=DialState)
    turns: TurnState = field(default_factory=TurnState)
    conversation: ConversationState = field(default_factory=ConversationState)
    work: WorkState = field(default_factory=WorkState)
    calls: CallState = field(default_factory=CallState)
    questions: dict[str, p.QuestionAsked] = field(default_factory=dict)
    runs: RunState = field(default_factory=RunState)
    cycle: CycleState | None = None  # the newest, at work or at rest
    executors: CycleRoles = CycleRoles()  # chosen for this session; empty: as the settings say
    checkpoint: p.CheckpointTaken | None = None  # the newest
    spent: Spending = field(default_factory=Spending)
    rules: tuple[Rule, ...] = ()  # those that hold in this session only
    helper: p.HelperAssigned | None = None  # whose call this session works for, if it is a helper's
    used: bool = False  # something was done or turned here; not if it was only looked into

    def apply(self, event: p.Event) -> None:
        self.used = self.used or type(event) not in LOOKS
        handler = _HANDLERS.get(type(event))
        if handler:
            handler(self, event)

    @property
    def axes(self) -> Axes:
        return self.dials.axes

    @property
    def call_context(self) -> CallContext:
        work, order, step = self.work, self.turns.order, self.step
        report = order.kind if order and order.kind in REPORTS else ""
        agent = step.agent if step and step.agent else self.runs.agent
        own, known = agent.tools if agent else None, self.calls.addresses
        stage = self.conversation.stage
        rules, read_only = self.rules, self.read_only
        return CallContext(
            self.axes,
            work.toolset,
            work.todos,
            work.swe,
            stage,
            report,
            own,
            known,
            step,
            rules,
            read_only,
            self.skills,
        )

    @property
    def skills(self) -> tuple[SkillUse, ...]:
        """That the turn works by which is under way."""
        return self.turns.open.skills if self.turns.open else ()

    @property
    def read_only(self) -> str:
        """Why nothing may be changed now: a helper that reads, a task that changes nothing. Empty if something may."""
        if self.helper and self.helper.read_only:
            return self.helper.read_only
        cycle = self.cycle
        held = cycle is not None and cycle.executing and cycle.unit.reads_only
        return f"task {cycle.unit.begun} changes nothing (mutation: none)" if cycle and held else ""

    @property
    def step(self) -> WorkflowProgress | None:
        """How far the run that the current turn belongs to has come in its workflow."""
        return self.runs.progress.get(self.turns.open.run) if self.turns.open else None

    @property
    def cycling(self) -> bool:
        """Whether a cycle is at work."""
        return self.cycle is not None and self.cycle.at_work

    @property
    def live_cycle(self) -> CycleState | None:
        """The cycle that is at work, or that can go on; None if there is none, or it is over."""
        run = self.runs.known.get(self.cycle.run) if self.cycle else None
        return self.cycle if run and run.phase not in TERMINAL else None

    @property
    def busy(self) -> bool:
        """Whether control is not with the person: a turn is under way, or a cycle between two of its turns."""
        return self.turns.open is not None or self.cycling

    @property
    def status(self) -> SessionStatus:
        if self.questions:
            return SessionStatus.WAITING
        if self.busy:
            return SessionStatus.PAUSED if self.turns.paused else SessionStatus.RUNNING
        return SessionStatus.INTERRUPTED if self.turns.interrupted else SessionStatus.IDLE


def fold(events: Iterable[p.Event]) -> SessionState:
    state = SessionState()
    for event in events:
        state.apply(event)
    return state


def _opened(state: SessionState, event: p.SessionOpened) -> None:
    state.session = event.session
    state.project = event.project
    state.dials.axes = event.axes
    if event.parent:  # a fork keeps what was said and done, not what its parent was in the middle of
        _settle(state)
        state.turns, state.runs = state.turns.forked(), state.runs.forked()
        state.dials.pending, state.dials.loans = (), ()
        state.questions, state.cycle, state.rules = {}, None, ()
    state.runs.begun_by = event.by or ""


def _input(state: SessionState, event: p.InputReceived) -> None:
    state.turns.waiting.append(event)
    if state.helper:
        return  # its parent's model wrote that; what the user's session was given holds for it too (`Bounds.known`)
    if event.surface is not Surface.RPC or not command_line.own_call(event.text):  # there, another agent makes calls
        state.calls.know(event.text, bare=True)


# ── turns


def _turn_started(state: SessionState, event: p.TurnStarted) -> None:
    state.conversation.mark(event.turn, state.work)
    state.turns.begin(event)
    state.dials.axes = event.axes
    if event.surroundings:
        state.conversation.see(event.surroundings)
    if event.skill:
        _list_items(state, event.skill)
    if event.text:
        told = f"{event.text}\n\n{event.quoted}" if event.quoted else event.text
        state.conversation.tell(told, event.images or ())
        if command_line.own_call(event.text) is None:
            state.conversation.requests.append(event.text)


def _list_items(state: SessionState, use: SkillUse) -> None:
    """What the checklists of a skill ask for becomes todos, which the turn has to show."""
    todos = state.work.todos
    listed = {todo.content for todo in todos.values()}
    for item in use.items:
        if (content := item_text(use.name, item)) not in listed:
            number = str(1 + max((int(known) for known in todos), default=0))
            todos[number] = Todo(number, content)


def _turn_finished(state: SessionState, event: p.TurnFinished) -> None:
    state.turns.end(event, in_cycle=state.cycling)
    if state.cycle and state.cycle.run == event.cycle:
        state.cycle = cycle_state.having_said(state.cycle, event.answer)
    _settle(state)
    state.conversation.leave_aside()


def _settle(state: SessionState) -> None:
    state.conversation.settle(state.calls.running)
    state.calls.settle()


def _requested(state: SessionState, event: p.ModelRequested) -> None:
    if event.stage == compaction.STAGE:
        return
    state.conversation.enter(Stage(event.stage))
    state.conversation.model = event.model
    if state.turns.open and event.attempt == 1:
        state.turns.open.steps += 1


def _replied(state: SessionState, event: p.ModelReplied) -> None:
    _spend(state, event)
    state.conversation.replied(event)


def _failed(state: SessionState, event: p.ModelFailed) -> None:
    if event.error.code == ModelContextOverflow.code and event.retry_in is not None:
        state.conversation.overflow()


def _spend(state: SessionState, event: p.ModelReplied | p.ExecutorEnded) -> None:
    state.spent.add(event.usage, event.cost)
    if state.cycle and state.cycle.at_work:
        state.cycle = cycle_state.having_spent(state.cycle, event.usage, event.cost)


def _consulted(state: SessionState, event: p.ModelConsulted) -> None:
    state.spent.add(event.usage, event.cost)


def _decided(state: SessionState, event: p.CallDecided) -> None:
    state.calls.effects[event.call] = event.effects
    state.turns.decided(event)
    if state.cycle:
        state.cycle = cycle_state.having_refused(state.cycle, event)


def _finished(state: SessionState, event: p.ToolFinished) -> None:
    started, effects = state.calls.finish(event)
    if started:
        state.turns.ran(started, event, effects)
    if event.skill and state.turns.open:
        state.turns.open.skills += (event.skill,)
        _list_items(state, event.skill)
    if event.status is CallStatus.OK and event.tool.startswith(OTHERS_WORDS):
        asked = started.arguments if started else ""
        state.calls.know(event.content, tool=event.tool, asked=asked, page=event.page or "")
    if event.status is CallStatus.INTERRUPTED and Effect.PUBLISH in effects and state.cycle:
        state.cycle = cycle_state.left_unsure(state.cycle)
    if event.status is CallStatus.DENIED and state.cycle:
        state.cycle = cycle_state.having_declined(state.cycle, event)
    if state.conversation.result(event) and state.work.swe and started:
        ok, changed = event.status is CallStatus.OK, bool(event.changed)
        state.work.swe = swe_phases.after_call(
            state.work.swe, event.tool, started.arguments, effects, ok=ok, changed=changed
        )


def _hook_ran(state: SessionState, event: p.HookRan) -> None:
    state.conversation.hook_ran(event)


def _corrected(state: SessionState, event: p.Corrected) -> None:
    state.conversation.correct(event)
    state.work.qa_told = state.work.qa_told or event.kind is Correction.QA_NOTES


def _page_told(state: SessionState, event: p.AgentsPageTold) -> None:
    state.conversation.page_told(event)


def _noticed(state: SessionState, event: p.Noticed) -> None:
    turn_state.noticed(state.calls, event)
    state.turns.takes_back = event.takes_back or state.turns.takes_back


def _recalled(state: SessionState, event: p.Recalled) -> None:
    state.conversation.recalled(event)


def _delivered(state: SessionState, event: p.DeliveryChecked) -> None:
    state.work.delivery = event.state
    state.conversation.leave_aside()


def _compacted(state: SessionState, event: p.HistoryCompacted) -> None:
    state.conversation.compacted(event)
    state.spent.add(event.usage, event.cost)


# ── checkpoints and questions


def _kept(state: SessionState, event: p.CheckpointTaken) -> None:
    state.checkpoint = event


def _rewound(state: SessionState, event: p.Rewound) -> None:
    state.conversation.mark(event.point, state.work)
    if event.files:
        state.turns.cut_off = ()
    if event.conversation:
        _go_back(state, event.to)
    elif event.restored:
        state.conversation.tell(FILES_REWOUND.format(files=event.restored))


def _cleared(state: SessionState, event: p.ConversationCleared) -> None:
    state.conversation.mark(event.point, state.work)
    state.conversation.clear()
    state.work = WorkState()
    state.turns.order, state.turns.interrupted = None, False


def _go_back(state: SessionState, point: str) -> None:
    """The conversation as it was at the mark. What it cost stays spent, and the dials stay where they are."""
    if mark := state.conversation.marks.get(point):
        state.conversation.go_back(mark)
        state.work = mark.work.copied()
        state.turns.order, state.turns.interrupted = None, False


def _asked(state: SessionState, event: p.QuestionAsked) -> None:
    state.questions[event.question] = event


def _answered(state: SessionState, event: p.QuestionAnswered) -> None:
    state.questions.pop(event.question, None)


def _rule_made(state: SessionState, event: p.RuleMade) -> None:
    if event.rule.session and event.rule.session == state.session:
        state.rules = (*state.rules, event.rule)


def _rule_revoked(state: SessionState, event: p.RuleRevoked) -> None:
    state.rules = tuple(rule for rule in state.rules if rule.id != event.rule)


# ── agents, runs and cycles


def _entered(state: SessionState, event: p.AgentEntered) -> None:
    state.runs.agent, state.runs.persona, state.work.toolset = event.agent, event.persona, ""


def _assigned(state: SessionState, event: p.HelperAssigned) -> None:
    state.helper = event


def _dismissed(state: SessionState, event: p.AgentDismissed) -> None:
    state.runs.agent, state.runs.persona, state.work.toolset = None, "", ""


def _loaded(state: SessionState, event: p.DataLoaded) -> None:
    state.conversation.tell(DATA.format(path=event.path, format=event.format, text=event.text))


def _run_taken(state: SessionState, event: p.RunTaken) -> None:
    state.runs.take(event)
    if event.cycle:
        state.cycle = cycle_state.with_roles(cycle_state.from_record(event.cycle), state.executors)


def _run_moved(state: SessionState, event: p.RunMoved) -> None:
    if state.runs.move(event):
        state.work.toolset = ""


def _step_begun(state: SessionState, event: p.StepBegun) -> None:
    state.runs.begin_step(event)
    state.conversation.tell(event.text)


def _cycle_began(state: SessionState, event: p.CycleBegan) -> None:
    state.cycle = cycle_state.began(event)
    state.turns.answered(event.submission)


def _executor_chosen(state: SessionState, event: p.ExecutorChosen) -> None:
    state.executors = structs.replace(state.executors, **{ROLE_NAMES[event.role]: event.name})
    if state.cycle:
        roles = CycleRoles(event.planner, event.executor, event.verifier)
        state.cycle = cycle_state.with_roles(state.cycle, roles)


def _cycle_moved(state: SessionState, event: Any) -> None:
    if state.cycle and state.cycle.run == event.run:
        state.cycle = cycle_state.after(state.cycle, event)


def _cycle_resumed(state: SessionState, event: p.CycleResumed) -> None:
    state.turns.answered(event.submission)
    _cycle_moved(state, event)


def _cycle_stopped(state: SessionState, event: p.CycleStopped) -> None:
    _cycle_moved(state, event)
    state.turns.paused = False


def _files_changed(state: SessionState, event: p.FilesChanged) -> None:
    if state.cycle:
        state.cycle = cycle_state.having_changed(state.cycle, event)


Handler = Callable[[SessionState, Any], None]


def _of_part(name: str, folds: dict[type, Callable[[Any, Any], None]]) -> dict[type, Handler]:
    """The folds of one part, as handlers of the whole."""
    part = attrgetter(name)

    def handler(fold: Callable[[Any, Any], None]) -> Handler:
        return lambda state, event: fold(part(state), event)

    return {kind: handler(fold) for kind, fold in folds.items()}


_HANDLERS: dict[type, Handler] = {
    **_of_part("dials", dial_state.FOLDS),
    **_of_part("turns", turn_state.TURN_FOLDS),
    **_of_part("calls", turn_state.CALL_FOLDS),
    **_of_part("work", conversation_state.WORK_FOLDS),
    **_of_part("runs", run_state.FOLDS),
    p.SessionOpened: _opened,
    p.InputReceived: _input,
    p.TurnStarted: _turn_started,
    p.TurnFinished: _turn_finished,
    p.ModelRequested: _requested,
    p.ModelReplied: _replied,
    p.ModelFailed: _failed,
    p.ModelConsulted: _consulted,
    p.CallDecided: _decided,
    p.ToolFinished: _finished,
    p.HookRan: _hook_ran,
    p.Corrected: _corrected,
    p.AgentsPageTold: _page_told,
    p.Recalled: _recalled,
    p.Noticed: _noticed,
    p.DeliveryChecked: _delivered,
    p.HistoryCompacted: _compacted,
    p.CheckpointTaken: _kept,
    p.Rewound: _rewound,
    p.ConversationCleared: _cleared,
    p.QuestionAsked: _asked,
    p.QuestionAnswered: _answered,
    p.RuleMade: _rule_made,
    p.RuleRevoked: _rule_revoked,
    p.AgentEntered: _entered,
    p.AgentDismissed: _dismissed,
    p.HelperAssigned: _assigned,
    p.DataLoaded: _loaded,
    p.RunTaken: _run_taken,
    p.RunMoved: _run_moved,
    p.StepBegun: _step_begun,
    p.CycleBegan: _cycle_began,
    p.ExecutorChosen: _executor_chosen,
    p.CycleResumed: _cycle_resumed,
    p.CycleMoved: _cycle_moved,
    p.PlanMade: _cycle_moved,
    p.PlanAccepted: _cycle_moved,
    p.TaskVerified: _cycle_moved,
    p.CycleStopped: _cycle_stopped,
    p.ExecutorEnded: _spend,
    p.FilesChanged: _files_changed,
}
