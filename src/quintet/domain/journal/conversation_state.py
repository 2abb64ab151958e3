"""The conversation with the model, what it is at beside it, and where both stood before each turn.

Parts of the session's state, folded from its events. A conversation stays whole: every call that the model made has its
result before anything else is said. Its lists are only ever added to, or given up for new ones, so a mark holds the
list itself and how long it was: nothing is copied, and marking costs the same however long the conversation is.

The few words that folding adds stand in the code, not in a prompt's page: a page may change or be overridden, and a
journal has to fold to the same conversation for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from msgspec import Struct, field, structs

from quintet.domain.journal.call_events import MenuMoved, PhaseMoved, TodoMoved, ToolFinished
from quintet.domain.journal.reasons import never_begun
from quintet.domain.journal.session_events import (
    AgentsPageTold,
    Corrected,
    HistoryCompacted,
    HookRan,
    ModelReplied,
    QaReported,
    Recalled,
)
from quintet.domain.turn import compaction, context, reasoning, surroundings, swe_phases
from quintet.domain.turn.compaction import CallOutcome, Summary
from quintet.domain.turn.context import Measured
from quintet.domain.turn.messages import KeptImage, Message, Role
from quintet.domain.turn.reports import QaReport
from quintet.domain.turn.stage_policy import Stage
from quintet.domain.turn.surroundings import Surroundings
from quintet.domain.turn.swe_phases import PhaseState
from quintet.domain.turn.todos import Todo

ASIDE = frozenset({Stage.DELIVERY_CHECK, Stage.QA_REVIEW, Stage.VERIFICATION})
MOST_MARKS = 200
MOST_PAST = 4_000_000  # characters of conversations that were given up, held for going back to
HOOK_SAYS = "From a hook of the user's ({place}):\n{context}"
OUTCOME_UNKNOWN = "interrupted, outcome unknown: the call was stopped and was not run again"


class WorkState(Struct):
    """What the model is at, beside the conversation; a rewind of the conversation takes it back too."""

    toolset: str = ""  # the model's place in the tool menu; empty at ROOT
    todos: dict[str, Todo] = field(default_factory=dict)
    swe: PhaseState | None = None  # None while the SWE phases are off
    delivery: str = ""  # of the newest turn that was checked
    qa: QaReport | None = None  # of the newest turn that was reviewed
    qa_told: bool = False  # whether the model has been told of it

    def copied(self) -> WorkState:
        return structs.replace(self, todos=dict(self.todos))


def _menu_moved(work: WorkState, event: MenuMoved) -> None:
    work.toolset = event.toolset


def _todo_moved(work: WorkState, event: TodoMoved) -> None:
    work.todos[event.todo.id] = event.todo


def _phase_moved(work: WorkState, event: PhaseMoved) -> None:
    move = swe_phases.PhaseMove(event.before, event.after, event.reason, event.values)
    work.swe = swe_phases.moved(work.swe, move)


def _reviewed(work: WorkState, event: QaReported) -> None:
    work.qa, work.qa_told = event.report, False


WORK_FOLDS: dict[type, Callable[[WorkState, Any], None]] = {
    MenuMoved: _menu_moved,
    TodoMoved: _todo_moved,
    PhaseMoved: _phase_moved,
    QaReported: _reviewed,
}


class Mark(Struct, frozen=True):
    """Where the conversation stood before a turn, so that the user can go back to there."""

    messages: list[Message]
    count: int
    requests: list[str]
    requested: int
    summary: Summary | None
    outcomes: dict[str, CallOutcome]
    work: WorkState


class GivenUp(Struct, frozen=True):
    """Messages that are the conversation's no more."""

    messages: list[Message]
    length: int  # in characters


class ConversationState(Struct):
    messages: list[Message] = field(default_factory=list)
    summary: Summary | None = None  # of what came before; then it is the first message
    requests: list[str] = field(default_factory=list)  # the user's, of the model; the last survive a summary
    outcomes: dict[str, CallOutcome] = field(default_factory=dict)  # of the calls in `messages`
    unanswered: dict[str, str] = field(default_factory=dict)  # calls the model made that have no result yet
    to_say: list[Message] = field(default_factory=list)  # once no call waits for its result: by hooks, pages for agents
    stage: Stage = Stage.ACT  # of the newest request
    aside: list[Message] = field(default_factory=list)  # of a stage that leaves nothing in the conversation
    marks: dict[str, Mark] = field(default_factory=dict)  # where it stood before each turn
    past: list[GivenUp] = field(
        default_factory=list
    )  # lists of messages that were given up and are marked, oldest first
    model: str = ""  # that the newest request went to
    measured: Measured | None = None  # by the provider, since the conversation was last made shorter
    overflowed: dict[str, int] = field(default_factory=dict)  # tokens that were too many, by model
    head: Surroundings | None = None  # as they were when the conversation began: they stand in its head
    seen: Surroundings | None = None  # as the model was last told
    pages: dict[str, str] = field(default_factory=dict)  # for agents, of folders below the root, as they were told

    @property
    def spoken(self) -> list[Message]:
        """Where what is said now goes: the conversation, or aside for a stage that leaves nothing in it."""
        return self.aside if self.stage in ASIDE else self.messages

    def tell(self, text: str, images: tuple[KeptImage, ...] = ()) -> None:
        """The model is told something that no call of its own brought up."""
        self.messages.append(Message(Role.USER, text, kept=images))

    def see(self, found: Surroundings) -> None:
        """The surroundings at the beginning of a turn: the first stand in the head, what changed since is told."""
        if self.head is None or self.seen is None:
            self.head = found
        elif changed := surroundings.changes(self.seen, found):
            self.tell(changed)
        self.seen = found

    # ── stages

    def enter(self, stage: Stage) -> None:
        if stage is not self.stage and stage in ASIDE:
            self.aside = []
        self.stage = stage

    def leave_aside(self) -> None:
        """What comes next is said in the conversation again."""
        self.stage, self.aside = Stage.ACT, []

    # ── replies and results

    def replied(self, event: ModelReplied) -> None:
        if event.usage.input_tokens and not (event.partial or self.stage in ASIDE):
            self.measured = Measured(event.usage.input_tokens, len(self.messages))
        if event.text or event.calls:
            text = reasoning.with_outcome(event.text, warm_up=self.stage is Stage.WARMUP)
            self.spoken.append(Message(Role.ASSISTANT, text, event.calls, original=event.original))
        self.unanswered.update({call.id: call.name for call in event.calls})

    def result(self, event: ToolFinished) -> bool:
        """A call's result is told; returns whether the model had asked for it."""
        asked = self.unanswered.pop(event.call, None) is not None
        if asked:
            self.spoken.append(Message(Role.TOOL, event.content, call_id=event.call, kept=event.images or ()))
            if self.stage not in ASIDE:
                self.outcomes[event.call] = CallOutcome(event.status, event.changed)
        else:  # the person's own call
            self.messages.append(Message(Role.USER, event.content, kept=event.images or ()))
        self._pass_on()
        return asked

    def correct(self, event: Corrected) -> None:
        self.spoken.append(Message(Role.USER, event.text))

    def hook_ran(self, event: HookRan) -> None:
        if event.context:
            text = HOOK_SAYS.format(place=event.place, context=event.context)
            self.to_say.append(Message(Role.USER, text))
            self._pass_on()

    def page_told(self, event: AgentsPageTold) -> None:
        self.pages[event.path] = event.text
        self.to_say.append(Message(Role.USER, event.text))
        self._pass_on()

    def recalled(self, event: Recalled) -> None:
        self.tell(event.text)

    def settle(self, running: Container[str]) -> None:
        """Give every call that never got a result one, so the conversation stays whole."""
        for call in self.unanswered:
            text = OUTCOME_UNKNOWN if call in running else never_begun()
            self.spoken.append(Message(Role.TOOL, text, call_id=call))
        self.unanswered = {}
        self._pass_on()

    def _pass_on(self) -> None:
        """Say what hooks and pages had to tell, once nothing stands between a call and its result."""
        if not self.unanswered:
            self.spoken.extend(self.to_say)
            self.to_say = []

    # ── summaries and marks

    def overflow(self) -> None:
        """The model's server says that the conversation is too long."""
        self.overflowed[self.model] = context.tokens(self.messages)

    def compacted(self, event: HistoryCompacted) -> None:
        self.measured = None
        self._give_up()
        if event.shortened:
            self.messages = context.with_shortened(self.messages, event.shortened)
            return
        latest = len(self.messages) - event.kept
        first = int(self.summary is not None)  # a summary gives way to the one that has taken it in
        start = max(place for place in compaction.boundaries(self.messages) if place <= max(latest, first))
        kept = self.messages[start:]
        self.messages = [compaction.summary_message(event.summary), *kept]
        self.summary = event.summary
        self.head = self.seen
        self.requests = self.requests[-compaction.LAST_REQUESTS :]
        self._forget_pages()
        calls = {call.id for message in kept for call in message.calls}
        self.outcomes = {call: outcome for call, outcome in self.outcomes.items() if call in calls}

    def mark(self, point: str, work: WorkState) -> None:
        self.marks[point] = Mark(
            self.messages,
            len(self.messages),
            self.requests,
            len(self.requests),
            self.summary,
            self.outcomes,
            work.copied(),
        )
        if len(self.marks) > MOST_MARKS:
            del self.marks[next(iter(self.marks))]

    def _give_up(self) -> None:
        """Another list is about to take the place of the messages; what was given up long ago is let go of."""
        given = self.messages
        if not any(mark.messages is given for mark in self.marks.values()):
            return
        self.past.append(GivenUp(given, sum(map(_length, given))))
        while len(self.past) > 1 and sum(past.length for past in self.past) > MOST_PAST:
            oldest = self.past.pop(0)
            self.marks = {point: mark for point, mark in self.marks.items() if mark.messages is not oldest.messages}

    def go_back(self, mark: Mark) -> None:
        self._give_up()
        self.messages = mark.messages[: mark.count]
        self.requests = mark.requests[: mark.requested]
        self.summary = mark.summary
        self.outcomes = dict(mark.outcomes)
        self.seen = self.head
        self.measured = None
        self._forget_pages()

    def clear(self) -> None:
        """Nothing was said; where it stood before stays marked."""
        self._give_up()
        self.messages, self.requests, self.summary, self.outcomes = [], [], None, {}
        self.unanswered, self.to_say, self.measured = {}, [], None
        self.head = self.seen = None
        self.pages = {}
        self.leave_aside()

    def _forget_pages(self) -> None:
        """Those that no longer stand in the conversation are told again when they are wanted."""
        said = {message.text for message in self.messages}
        self.pages = {path: text for path, text in self.pages.items() if text in said}


def _length(message: Message) -> int:
    return len(message.text) + sum(len(call.arguments) for call in message.calls)
