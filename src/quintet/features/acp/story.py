"""A session's events and signals as updates for a client, in order. It only adds: what was sent is not taken back.

The same for a session that is loaded and for one that runs: events are complete by themselves, and what a signal has
told already is not told again. What the client said itself is not sent back to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    ConfigOptionUpdate,
    Cost,
    CurrentModeUpdate,
    PlanEntry,
    SessionInfoUpdate,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
    UserMessageChunk,
)

from quintet.domain.base.safe_text import visible
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import QUIET, RepeatFilter, describe
from quintet.domain.journal.state import SessionState
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Verdict
from quintet.domain.settings.settings import Settings
from quintet.domain.tasks.task import AT_WORK as TASK_AT_WORK
from quintet.domain.tasks.task import TaskStatus
from quintet.domain.turn import context, reasoning
from quintet.domain.turn.todos import TodoStatus
from quintet.domain.turn.tool_spec import CallStatus
from quintet.features.acp import calls
from quintet.features.acp.dials import ConfigOption
from quintet.surfaces.transcript.turn_view import TurnView

MOST_PROGRESS = 8_000  # characters of a running call's output that a client is shown
MOST_OUTPUT = 20_000  # of a finished one's; all of it is in the journal
TITLE_LENGTH = 80
BUILTIN = "builtin"

Update = Any  # one of the protocol's session updates


class _Streamed:
    """What of a reply was sent while it streamed."""

    def __init__(self) -> None:
        self.parts = reasoning.ReasoningStream()
        self.thought: list[str] = []
        self.said: list[str] = []


class Story:
    """`options` makes the config options of a state; `mine` are the client's own submissions, and `quiet` those of
    them that an option made: its new value says all."""

    def __init__(
        self,
        root: str,
        settings: Settings,
        options: Callable[[SessionState], list[ConfigOption]],
        mine: set[str],
        quiet: set[str],
    ) -> None:
        self.state = SessionState()
        self._root = root
        self._settings = settings
        self._options = options
        self._mine = mine
        self._quiet = quiet
        self._ran = ""  # the submission of the newest command
        self._turn = TurnView()
        self._without_repeats = RepeatFilter()
        self._streamed: dict[str, _Streamed] = {}
        self._effects: dict[str, tuple[Effect, ...]] = {}  # of calls that were decided
        self.shown: dict[str, dict[str, Any]] = {}  # the arguments of calls that a client was told of
        self.asking: list[str] = []  # those of them that are to be approved
        self._progress: dict[str, str] = {}
        self._tasks: dict[str, tuple[str, TaskStatus]] = {}
        self._titled = False

    def apply(self, item: p.Recorded | p.Signal) -> list[Update]:
        match item:
            case p.Recorded():
                self.state.apply(item.event)
                return list(self._event(self._without_repeats(item)))
            case p.TextDelta() if not self._turn.reports:
                return self._text(item)
            case p.ThinkingDelta():
                streamed = self._streamed.setdefault(item.step, _Streamed())
                streamed.thought.append(item.text)
                return [thought(item.text, item.step)]
            case p.Progress() if item.call in self.shown:
                tail = (self._progress.get(item.call, "") + item.text)[-MOST_PROGRESS:]
                self._progress[item.call] = tail
                return [progress(item.call, content=[calls.text_content(calls.fenced(visible(tail)))])]
        return []

    # ── replies

    def _text(self, item: p.TextDelta) -> list[Update]:
        streamed = self._streamed.setdefault(item.step, _Streamed())
        thinks, says = streamed.parts.add(item.text)
        streamed.thought.append(thinks)
        streamed.said.append(says)
        return [*_chunk(thought, thinks, item.step), *_chunk(message, says, item.step)]

    def _replied(self, event: p.ModelReplied) -> Iterable[Update]:
        streamed = self._streamed.pop(event.step, None) or _Streamed()
        if self._turn.shows(event):
            thinks, says = reasoning.parted(event.text)
            thinks = event.thinking or thinks
            yield from _chunk(thought, _rest(thinks, "".join(streamed.thought)), event.step)
            yield from _chunk(message, _rest(says, "".join(streamed.said)), event.step)
            self._turn.apply(event)

    # ── events

    def _event(self, recorded: p.Recorded) -> Iterable[Update]:
        event = recorded.event
        match event:
            case p.TurnStarted():
                self._turn.apply(event)
                self.asking.clear()
                yield from self._begun(event)
            case p.CycleBegan():
                if event.text and event.submission not in (*self._mine, self._ran):
                    yield said_by_user(event.text, event.submission)
                yield from self._lines(recorded)
            case p.CommandRan():
                yield from self._command(recorded, event)
            case p.ModelReplied():
                yield from self._replied(event)
                yield from self._usage()
            case p.CallDecided():
                self._effects[event.call] = event.effects
                if event.verdict is Verdict.ASK and event.person and event.call not in self.shown:
                    yield self._start(event.call, event.tool, event.arguments, "pending")
                    self.asking.append(event.call)
                elif event.verdict is not Verdict.DENY:
                    yield from self._lines(recorded)
            case p.ToolStarted() if event.tool not in QUIET:
                if event.call in self.shown:
                    yield progress(event.call, status="in_progress")
                else:
                    yield self._start(event.call, event.tool, event.arguments, "in_progress")
                if event.call in self.asking:
                    self.asking.remove(event.call)
            case p.ToolFinished() if event.tool not in QUIET or event.status is not CallStatus.OK:
                yield from self._finished(event)
            case p.QuestionAsked():
                pass  # it becomes a request of its own
            case p.TodoMoved() | p.PlanMade() | p.TaskMoved() | p.PlanAccepted():
                yield from self._planned(recorded)
            case p.DialsTurned():
                if event.before.work_mode != event.after.work_mode:
                    yield CurrentModeUpdate(session_update="current_mode_update", current_mode_id=event.after.work_mode)
                yield self._dials()
            case p.ModelChosen() | p.ReasoningSwitched():
                yield self._dials()
            case p.UserMessaged():
                yield message(f"{event.text}\n\n", event.call)
            case p.ExecutorSaid():
                yield (thought if event.reasoning else message)(f"{event.text}\n\n", f"seq-{recorded.seq}")
            case p.TurnFinished():
                unsaid = self._turn.unsaid(event)
                if unsaid:
                    yield message("\n".join(unsaid), event.turn)
                yield from self._lines(recorded)
                yield from self._usage()
            case _:
                yield from self._lines(recorded)

    def _begun(self, event: p.TurnStarted) -> Iterable[Update]:
        if event.text and event.submission and event.submission not in self._mine:
            yield said_by_user(event.text, event.submission)
        if event.text and not self._titled:
            self._titled = True
            title = " ".join(event.text.split())[:TITLE_LENGTH]
            yield SessionInfoUpdate(session_update="session_info_update", title=title)

    def _command(self, recorded: p.Recorded, event: p.CommandRan) -> Iterable[Update]:
        mine, self._ran = event.submission in self._mine, event.submission
        if not event.line.startswith("/") or event.submission in self._quiet:
            return
        text = visible(event.text) if mine else "\n".join(line.text for line in describe(recorded))
        if not mine and (text or event.data):
            yield said_by_user(event.line, event.submission)
        if "turn" in event.data and event.ok:
            return  # what it begins says the rest
        if text.strip():
            yield message(calls.fenced(text) if "\n" in text else text, event.submission)

    def _lines(self, recorded: p.Recorded) -> Iterable[Update]:
        """What any surface says of an event: in the margin, or where it matters, as a message."""
        lines = describe(recorded)
        text = "\n".join(line.text for line in lines if line.text.strip())
        if text:
            says = thought if all(line.role == "dim" for line in lines) else message
            yield says(f"\n\n{calls.fenced(text) if len(lines) > 1 else text}\n\n", f"seq-{recorded.seq}")

    # ── calls

    def _start(self, call: str, tool: str, written: str, status: Any) -> ToolCallStart:
        given = calls.arguments(written)
        self.shown[call] = given
        return ToolCallStart(
            session_update="tool_call",
            tool_call_id=call,
            title=calls.title(tool, given),
            kind=calls.kind(tool, self._effects.get(call, ())),
            status=status,
            content=calls.proposed(tool, given, self._root) or None,
            locations=calls.locations(given, self._root) or None,
            raw_input=given or written,
        )

    def _finished(self, event: p.ToolFinished) -> Iterable[Update]:
        if event.call not in self.shown:
            yield self._start(event.call, event.tool, "{}", "pending")
        self.shown.pop(event.call, None)
        self._progress.pop(event.call, None)
        self._effects.pop(event.call, None)
        if event.call in self.asking:
            self.asking.remove(event.call)
        ok = event.status is CallStatus.OK
        content = calls.changed(event.content, self._root) if ok and event.changed else []
        if not content and event.content.strip():
            content = [calls.text_content(calls.fenced(visible(_cut(event.content))))]
        yield progress(
            event.call,
            status="completed" if ok else "failed",
            content=content or None,
            locations=calls.locations({"paths": list(event.changed)}, self._root) or None if ok else None,
            raw_output={"status": str(event.status), "content": _cut(event.content), "summary": event.summary},
        )

    # ── beside the conversation

    def _dials(self) -> ConfigOptionUpdate:
        return ConfigOptionUpdate(session_update="config_option_update", config_options=self._options(self.state))

    def _planned(self, recorded: p.Recorded) -> Iterable[Update]:
        match recorded.event:
            case p.PlanMade(tasks=tasks):
                self._tasks |= {one.id: (one.title, TaskStatus.TODO) for one in tasks}
                yield from self._lines(recorded)
            case p.TaskMoved(task=task, title=title, after=after):
                self._tasks[task] = (title, after)
            case p.PlanAccepted():
                yield from self._lines(recorded)
        yield AgentPlanUpdate(session_update="plan", entries=self.plan())

    def plan(self) -> list[PlanEntry]:
        """The tasks that this session made or moved, then the model's own todos."""
        tasks = [
            _entry(f"{id} {title}", status is TaskStatus.DONE, status in TASK_AT_WORK)
            for id, (title, status) in self._tasks.items()
            if status is not TaskStatus.CANCELLED
        ]
        todos = [
            _entry(todo.content, todo.status is TodoStatus.VERIFIED, todo.status is not TodoStatus.PENDING)
            for todo in self.state.work.todos.values()
        ]
        return tasks + todos

    def _usage(self) -> Iterable[Update]:
        state, settings = self.state, self._settings
        name = settings.routing.model(state.axes.model_mode, state.dials.model)
        if name == BUILTIN:
            return
        window = context.window_of(settings, name) or context.DEFAULT_WINDOW
        used = context.tokens_used(state.conversation.measured, state.conversation.messages)
        cost = Cost(amount=round(state.spent.cost, 6), currency="USD") if state.spent.cost else None
        yield UsageUpdate(session_update="usage_update", used=used, size=window, cost=cost)


def message(text: str, id: str) -> AgentMessageChunk:
    return AgentMessageChunk(session_update="agent_message_chunk", content=_block(text), message_id=id)


def thought(text: str, id: str) -> AgentThoughtChunk:
    return AgentThoughtChunk(session_update="agent_thought_chunk", content=_block(text), message_id=f"{id}-thought")


def said_by_user(text: str, id: str) -> UserMessageChunk:
    return UserMessageChunk(session_update="user_message_chunk", content=_block(text), message_id=id or None)


def progress(call: str, **changes: Any) -> ToolCallProgress:
    given = {name: value for name, value in changes.items() if value is not None}
    return ToolCallProgress(session_update="tool_call_update", tool_call_id=call, **given)


def _block(text: str) -> TextContentBlock:
    return TextContentBlock(type="text", text=text)


def _chunk(made: Callable[[str, str], Update], text: str, id: str) -> list[Update]:
    return [made(text, id)] if text else []


def _rest(whole: str, sent: str) -> str:
    """What of a reply was not sent yet; all of it again where a piece was lost on the way."""
    whole = whole.strip()
    if whole.startswith(sent.strip()):
        return whole[len(sent.strip()) :]
    return f"\n\n{whole}" if whole else ""


def _entry(content: str, done: bool, begun: bool) -> PlanEntry:
    status: Any = "completed" if done else "in_progress" if begun else "pending"
    return PlanEntry(content=content, priority="medium", status=status)


def _cut(text: str) -> str:
    if len(text) <= MOST_OUTPUT:
        return text
    left = len(text) - MOST_OUTPUT
    return f"{text[: MOST_OUTPUT // 2]}\n… {left:,} characters …\n{text[-MOST_OUTPUT // 2 :]}"
