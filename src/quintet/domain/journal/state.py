"""A session's state is a fold over its journal: `SessionState.apply` for each event, in order, and nothing else.

Applying is cheap and deterministic; the same events give the same state, whoever folds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct, field

from quintet.domain.agents.agent import Agent
from quintet.domain.agents.run import RunMetadata
from quintet.domain.agents.workflow_progress import WorkflowProgress
from quintet.domain.dials.axes import INTERACTIVE, Axes, Surface
from quintet.domain.dials.transitions import Loan, Scope, Transition
from quintet.domain.input import slash_line as command_line
from quintet.domain.journal import cycle_state, run_state
from quintet.domain.journal import protocol as p
from quintet.domain.journal.conversation_marks import Mark, go_back, set_mark
from quintet.domain.journal.cycle_state import CycleState
from quintet.domain.permission.call_context import Stage, Standing
from quintet.domain.permission.effects import Effect
from quintet.domain.turn import compression, reasoning, swe_phases
from quintet.domain.turn.corrections import Correction
from quintet.domain.turn.messages import Message, Role, Usage
from quintet.domain.turn.qa_report import QaReport
from quintet.domain.turn.review_report import Order
from quintet.domain.turn.todos import Todo
from quintet.domain.turn.tool_spec import CallStatus

ASIDE = frozenset({Stage.DELIVERY_CHECK, Stage.QA_REVIEW, Stage.VERIFICATION})
REPORTS = frozenset({"review", "research", "plan"})  # orders that the model is told of
HOOK_SAYS = "From a hook of the user's ({place}):\n{context}"
FILES_REWOUND = "The user took files back to how they were before: {files} changed. Read them again before you go on."
OUTCOME_UNKNOWN = "interrupted, outcome unknown: the call was cut short and was not run again"


class OpenTurn(Struct):
    turn: str
    run: str
    submission: str
    steps: int = 0


class SessionState(Struct):
    """Everything a session is, as of its last event."""

    session: str = ""
    project: str = ""
    axes: Axes = INTERACTIVE
    pending: tuple[Transition, ...] = ()
    loans: tuple[Loan, ...] = ()
    model: str = ""
    toolset: str = ""  # the model's place in the tool menu; empty at ROOT
    todos: dict[str, Todo] = field(default_factory=dict)
    swe: swe_phases.PhaseState | None = None  # None while the SWE phases are off
    reasoning: bool = False  # whether the user wants visible reasoning
    stage: Stage = Stage.ACT  # of the newest request
    aside: list[Message] = field(default_factory=list)  # of a stage that leaves nothing in the conversation
    delivery: str = ""  # of the newest turn that was checked
    qa: QaReport | None = None  # of the newest turn that was reviewed
    qa_told: bool = False  # whether the model has been told of it
    order: Order | None = None  # the report the newest turn is to leave
    paused: bool = False
    turn: OpenTurn | None = None
    told: list[Message] = field(default_factory=list)  # by hooks, until no call waits for its result
    waiting: list[p.InputReceived] = field(default_factory=list)  # inputs whose turn has not begun
    questions: dict[str, p.QuestionAsked] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    summary: compression.Summary | None = None  # of what came before; then it is the first message
    requests: list[str] = field(default_factory=list)  # the user's, of the model; the last survive a summary
    outcomes: dict[str, compression.CallOutcome] = field(default_factory=dict)  # of the calls in `messages`
    marks: dict[str, Mark] = field(default_factory=dict)  # where the conversation stood before each turn
    checkpoint: p.CheckpointTaken | None = None  # the newest
    running: dict[str, p.ToolStarted] = field(default_factory=dict)  # started, not finished
    decided: dict[str, tuple[Effect, ...]] = field(default_factory=dict)  # effects of calls not finished yet
    unanswered: dict[str, str] = field(default_factory=dict)  # calls the model made that have no result yet
    last_result: str = ""  # of the newest finished call
    addresses: set[str] = field(default_factory=set)  # that somebody else than the model wrote
    turns: int = 0
    last_turn: str = ""  # the newest one that finished
    usage: Usage = Usage()
    cost: float = 0.0
    interrupted: bool = False  # the last turn was cut off and can be resumed
    agent: Agent | None = None  # who is spoken with
    persona: str = ""  # that agent's, as the model is told it
    active_run: str = ""  # the run that inputs belong to
    runs: dict[str, RunMetadata] = field(default_factory=dict)
    progress: dict[str, WorkflowProgress] = field(default_factory=dict)  # of the runs over workflows that are not over
    cycle: CycleState | None = None  # the newest, at work or at rest

    def apply(self, event: p.Event) -> None:
        handler = _HANDLERS.get(type(event))
        if handler:
            handler(self, event)

    @property
    def standing(self) -> Standing:
        report = self.order.kind if self.order and self.order.kind in REPORTS else ""
        step = self.step
        agent = step.agent if step and step.agent else self.agent
        own, known = agent.tools if agent else None, self.addresses
        return Standing(self.axes, self.toolset, self.todos, self.swe, self.stage, report, own, known, step)

    @property
    def step(self) -> WorkflowProgress | None:
        """How far the run that the current turn belongs to has come in its workflow."""
        return self.progress.get(self.turn.run) if self.turn else None

    @property
    def spoken(self) -> list[Message]:
        """Where what is said now goes: the conversation, or aside for a stage that leaves nothing in it."""
        return self.aside if self.stage in ASIDE else self.messages

    @property
    def busy(self) -> bool:
        """Whether control is not with the person: a turn is under way, or a cycle between two of its turns."""
        return self.turn is not None or bool(self.cycle and self.cycle.at_work)

    @property
    def status(self) -> str:
        if self.questions:
            return "waiting"
        if self.busy:
            return "paused" if self.paused else "running"
        return "interrupted" if self.interrupted else "idle"


def fold(events: Iterable[p.Event]) -> SessionState:
    state = SessionState()
    for event in events:
        state.apply(event)
    return state


def _opened(state: SessionState, event: p.SessionOpened) -> None:
    state.session = event.session
    state.project = event.project
    state.axes = event.axes
    if event.parent:  # a fork keeps what was said and done, not what its parent was in the middle of
        _settle(state)
        state.turn = state.order = None
        state.waiting, state.questions = [], {}
        state.pending, state.loans = (), ()
        state.paused = state.interrupted = False
        state.active_run, state.runs, state.progress, state.cycle = "", {}, {}, None  # a run has one session


def _input(state: SessionState, event: p.InputReceived) -> None:
    state.waiting.append(event)
    if event.surface is not Surface.RPC or not command_line.own_call(event.text):  # there, another agent makes calls
        _know(state, event.text, bare=True)


def _know(state: SessionState, text: str, *, bare: bool = False, tool: str = "", asked: str = "") -> None:
    if ":" in text or (bare and "." in text):
        from quintet.domain.permission.known_addresses import take_in  # not for every start

        take_in(state.addresses, text, bare=bare, tool=tool, asked=asked)


def _turned(state: SessionState, event: p.DialsTurned) -> None:
    state.axes = event.after
    landed = next((t for t in state.pending if t.id == event.transition), None)
    state.pending = tuple(t for t in state.pending if t.id != event.transition)
    if event.scope is Scope.FOR_NEXT_UNIT:
        if landed:
            state.loans = (*state.loans, Loan(landed, event.before))
        else:
            state.loans = tuple(loan for loan in state.loans if loan.transition.id != event.transition)


def _pending(state: SessionState, event: p.TransitionPending) -> None:
    waiting = Transition(event.transition, event.change, event.scope, event.actor, event.reason)
    state.pending = (*state.pending, waiting)


def _dropped(state: SessionState, event: p.TransitionDropped) -> None:
    state.pending = tuple(t for t in state.pending if t.id != event.transition)
    state.loans = tuple(loan for loan in state.loans if loan.transition.id != event.transition)


def _model(state: SessionState, event: p.ModelChosen) -> None:
    state.model = event.name


def _paused(state: SessionState, event: p.RunPaused) -> None:
    state.paused = True


def _resumed(state: SessionState, event: p.RunResumed) -> None:
    state.paused = False


def _turn_started(state: SessionState, event: p.TurnStarted) -> None:
    set_mark(state, event.turn)
    state.turn = OpenTurn(event.turn, event.run, event.submission)
    state.waiting = [i for i in state.waiting if i.submission != event.submission]
    state.axes = event.axes
    state.order = event.order
    state.turns += 1
    state.interrupted = False
    if event.text:
        state.messages.append(Message(Role.USER, event.text))
        if command_line.own_call(event.text) is None:
            state.requests.append(event.text)


def _turn_finished(state: SessionState, event: p.TurnFinished) -> None:
    state.turn = None
    state.last_turn = event.turn
    state.paused = state.paused and bool(state.cycle and state.cycle.at_work)  # a cycle is held, not a turn of it
    state.interrupted = event.status == "interrupted"
    _settle(state)
    state.stage, state.aside = Stage.ACT, []


def _settle(state: SessionState) -> None:
    """Give every call that never got a result one, so the conversation stays whole."""
    for call in state.unanswered:
        text = OUTCOME_UNKNOWN if call in state.running else "not run: the turn ended first"
        state.spoken.append(Message(Role.TOOL, text, call_id=call))
    state.unanswered = {}
    state.running = {}
    state.decided = {}
    _tell(state)


def _requested(state: SessionState, event: p.ModelRequested) -> None:
    if event.stage == compression.STAGE:
        return
    stage = Stage(event.stage)
    if stage is not state.stage and stage in ASIDE:
        state.aside = []
    state.stage = stage
    if state.turn and event.attempt == 1:
        state.turn.steps += 1


def _replied(state: SessionState, event: p.ModelReplied) -> None:
    state.usage = state.usage.plus(event.usage)
    state.cost += event.cost
    cycle_state.spend(state, event.usage, event.cost)
    if event.text or event.calls:
        text = reasoning.kept(event.text)
        state.spoken.append(Message(Role.ASSISTANT, text, event.calls, original=event.original))
    state.unanswered.update({call.id: call.name for call in event.calls})


def _consulted(state: SessionState, event: p.ModelConsulted) -> None:
    state.usage = state.usage.plus(event.usage)
    state.cost += event.cost


def _moved(state: SessionState, event: p.MenuMoved) -> None:
    state.toolset = event.toolset


def _todo_moved(state: SessionState, event: p.TodoMoved) -> None:
    state.todos[event.todo.id] = event.todo


def _phase_moved(state: SessionState, event: p.PhaseMoved) -> None:
    move = swe_phases.PhaseMove(event.before, event.after, event.reason, event.values)
    state.swe = swe_phases.moved(state.swe, move)


def _decided(state: SessionState, event: p.CallDecided) -> None:
    state.decided[event.call] = event.effects


def _started(state: SessionState, event: p.ToolStarted) -> None:
    state.running[event.call] = event


def _finished(state: SessionState, event: p.ToolFinished) -> None:
    started = state.running.pop(event.call, None)
    effects = state.decided.pop(event.call, ())
    state.last_result = event.content
    if event.status is CallStatus.OK and event.tool.startswith(("web_", "browser_", "mcp_")):
        _know(state, event.content, tool=event.tool, asked=started.arguments if started else "")
    if event.status is CallStatus.INTERRUPTED and Effect.PUBLISH in effects:
        cycle_state.leave_unsure(state)
    if state.unanswered.pop(event.call, None) is not None:
        if state.swe and started:
            ok, changed = event.status is CallStatus.OK, bool(event.changed)
            state.swe = swe_phases.after_call(state.swe, event.tool, started.arguments, effects, ok=ok, changed=changed)
        state.spoken.append(Message(Role.TOOL, event.content, call_id=event.call))
        if state.stage not in ASIDE:
            state.outcomes[event.call] = compression.CallOutcome(event.status, event.changed)
    else:  # the person's own call: no model asked for it
        state.messages.append(Message(Role.USER, event.content))
    _tell(state)


def _hook_ran(state: SessionState, event: p.HookRan) -> None:
    if event.context:
        state.told.append(Message(Role.USER, HOOK_SAYS.format(place=event.place, context=event.context)))
        _tell(state)


def _tell(state: SessionState) -> None:
    """Say what hooks had to tell, once nothing stands between a call and its result."""
    if not state.unanswered:
        state.spoken.extend(state.told)
        state.told = []


def _ran(state: SessionState, event: p.CommandRan) -> None:
    """An input that was answered without a turn waits no longer."""
    state.waiting = [i for i in state.waiting if i.submission != event.submission]


def _switched(state: SessionState, event: p.ReasoningSwitched) -> None:
    state.reasoning = event.enabled


def _corrected(state: SessionState, event: p.Corrected) -> None:
    state.spoken.append(Message(Role.USER, event.text))
    state.qa_told = state.qa_told or event.kind is Correction.QA_NOTES


def _delivered(state: SessionState, event: p.DeliveryChecked) -> None:
    state.delivery = event.state
    state.stage, state.aside = Stage.ACT, []  # what comes next is said in the conversation again


def _reviewed(state: SessionState, event: p.QaReported) -> None:
    state.qa, state.qa_told = event.report, False


def _compacted(state: SessionState, event: p.HistoryCompacted) -> None:
    latest = len(state.messages) - event.kept
    first = int(state.summary is not None)  # a summary gives way to the one that has taken it in
    start = max(place for place in compression.boundaries(state.messages) if place <= max(latest, first))
    kept = state.messages[start:]
    state.messages = [compression.message(event.summary), *kept]
    state.summary = event.summary
    state.requests = state.requests[-compression.LAST_REQUESTS :]
    calls = {call.id for message in kept for call in message.calls}
    state.outcomes = {call: outcome for call, outcome in state.outcomes.items() if call in calls}
    state.usage = state.usage.plus(event.usage)
    state.cost += event.cost


def _kept(state: SessionState, event: p.CheckpointTaken) -> None:
    state.checkpoint = event


def _rewound(state: SessionState, event: p.Rewound) -> None:
    set_mark(state, event.point)
    if event.conversation:
        go_back(state, event.to)
    elif event.restored:
        state.messages.append(Message(Role.USER, FILES_REWOUND.format(files=event.restored)))


def _asked(state: SessionState, event: p.QuestionAsked) -> None:
    state.questions[event.question] = event


def _answered(state: SessionState, event: p.QuestionAnswered) -> None:
    state.questions.pop(event.question, None)


_HANDLERS: dict[type, Callable[[SessionState, Any], None]] = {
    p.SessionOpened: _opened,
    p.InputReceived: _input,
    p.CommandRan: _ran,
    p.HookRan: _hook_ran,
    p.DialsTurned: _turned,
    p.TransitionPending: _pending,
    p.TransitionDropped: _dropped,
    p.ModelChosen: _model,
    p.RunPaused: _paused,
    p.RunResumed: _resumed,
    p.TurnStarted: _turn_started,
    p.TurnFinished: _turn_finished,
    p.ModelRequested: _requested,
    p.ModelReplied: _replied,
    p.ModelConsulted: _consulted,
    p.MenuMoved: _moved,
    p.TodoMoved: _todo_moved,
    p.PhaseMoved: _phase_moved,
    p.CallDecided: _decided,
    p.ToolStarted: _started,
    p.ToolFinished: _finished,
    p.ReasoningSwitched: _switched,
    p.Corrected: _corrected,
    p.DeliveryChecked: _delivered,
    p.QaReported: _reviewed,
    p.HistoryCompacted: _compacted,
    p.CheckpointTaken: _kept,
    p.Rewound: _rewound,
    p.QuestionAsked: _asked,
    p.QuestionAnswered: _answered,
    **run_state.HANDLERS,
    **cycle_state.HANDLERS,
}
