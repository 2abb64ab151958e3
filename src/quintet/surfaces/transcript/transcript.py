"""The transcript: a session's events and signals as blocks, in the order in which a person should read them.

It only grows at its end. Of the blocks before that, those of calls that still run and of open questions may change.
`take_changed` says from which block on they have to be drawn again. A surface names the kinds of blocks that it draws.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from quintet.domain.base.safe_text import brief, visible
from quintet.domain.dials.transitions import REMOTE
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import QUIET, Line, RepeatFilter, describe, with_rights
from quintet.domain.tasks.cycle_phases import CyclePhase
from quintet.domain.turn import reasoning
from quintet.domain.turn.tool_spec import CallStatus
from quintet.surfaces.transcript.blocks import (
    AnswerBlock,
    Block,
    CallBlock,
    FoldedBlock,
    JoinedCallsBlock,
    LinesBlock,
    PromptBlock,
)
from quintet.surfaces.transcript.turn_view import TurnView, how_far


class _Reply:
    """A reply that is streaming: what of it is reasoning, and what is said."""

    def __init__(self) -> None:
        self.thinking: FoldedBlock | None = None
        self.answer: AnswerBlock | None = None
        self.stream = reasoning.ReasoningStream()
        self.calls: dict[int, LinesBlock] = {}  # those that are being written, by their place


class Transcript:
    # The surface's kinds of blocks.
    prompt_block: type[PromptBlock]
    lines_block: type[LinesBlock]
    answer_block: type[AnswerBlock]
    folded_block: type[FoldedBlock]
    call_block: type[CallBlock]
    joined_block: type[JoinedCallsBlock]
    blocks: list[Any]  # each of one of these kinds

    def __init__(self, *, continues: bool = False) -> None:
        self.blocks = []
        self.marks: list[int] = []  # the events at which a turn or a unit begins: there it can be cut in two
        self._continues = continues  # something stands above it
        self.forgot = False  # what came first is not here any more
        self._changed: int | None = None
        self._replies: dict[str, _Reply] = {}
        self._calls: dict[str, CallBlock] = {}
        self._call: CallBlock | None = None  # the newest that has ended
        self._unit: list[CallBlock] = []  # the calls of the unit of a cycle
        self._ran = ""  # the newest command that is shown, by its submission
        self._of_command: list[Block] = []  # what the events said that a command wrote before it
        self._began: list[Block] = []  # what the newest run said at its start, before what was asked for
        self._questions: dict[str, LinesBlock] = {}
        self._countdown: LinesBlock | None = None
        self._greeting: LinesBlock | None = None
        self._turn = TurnView()
        self._without_repeats = RepeatFilter()
        self.answer = ""  # the newest whole answer, to be copied
        self.pressed: set[str] = set()  # inputs that a key made: the dial that it turned says all

    def take_changed(self) -> int | None:
        """The first block that is new or changed since the last call."""
        changed, self._changed = self._changed, None
        return changed

    def forget(self, count: int) -> None:
        """Drop the oldest blocks."""
        self.forgot = True
        gone = set(map(id, self.blocks[:count]))
        del self.blocks[:count]
        self._calls = {name: block for name, block in self._calls.items() if id(block) not in gone}
        self._questions = {name: block for name, block in self._questions.items() if id(block) not in gone}

    # ── in

    def apply(self, item: p.Recorded | p.Signal) -> None:
        if isinstance(item, p.Countdown | p.Working):
            self._wait(item)
            return
        self._end_countdown()
        if isinstance(item, p.Recorded):
            self._event(item)
        elif isinstance(item, p.TextDelta) and not self._turn.reports:
            self._stream(item.step, item.text)
        elif isinstance(item, p.ThinkingDelta):
            self._think(self._replies.setdefault(item.step, _Reply()), item.text)
        elif isinstance(item, p.CallStreams):
            self._call_streams(item)
        elif isinstance(item, p.Progress) and (call := self._calls.get(item.call)):
            call.progress(item.text)
            self._touch(call)

    def note(self, *lines: Line) -> None:
        """Add lines of the surface itself."""
        self._add(self.lines_block(lines))

    def greet(self, *lines: Line) -> None:
        """Lines of the surface that stand at the top until something is said; none if something was."""
        if not any(isinstance(block, PromptBlock) for block in self.blocks):
            self._greeting = self.lines_block(lines)
            self._add(self._greeting)

    def _step_aside(self) -> None:
        greeting, self._greeting = self._greeting, None
        if greeting and greeting in self.blocks:
            self._touch(greeting)
            self.blocks.remove(greeting)
            if self.blocks:
                self.blocks[0].spaced = False

    def _event(self, recorded: p.Recorded) -> None:
        recorded = self._without_repeats(recorded)
        event = recorded.event
        if begins_transcript(event):
            self.marks.append(recorded.seq)
        match event:
            case p.TurnStarted():
                self._turn.apply(event)
                self.answer, self._call = "", None
                if event.text and event.submission:  # otherwise the cycle shows it
                    self._add(self.prompt_block(event.text))
            case p.CycleBegan():
                if event.text and event.submission != self._ran:
                    self._add_above(self.prompt_block(event.text), self._began)
                self._describe(recorded)
            case p.CycleMoved(phase=CyclePhase.EXECUTING):
                self._unit = []
                self._describe(recorded)
                self.blocks[-1].spaced = self._continues or len(self.blocks) > 1
            case p.TaskVerified(passed=True):
                self._join(self._unit)
                self._describe(recorded)
            case p.DialsTurned() | p.TransitionPending() | p.TransitionDropped() | p.InputsHeld():
                self._describe(recorded)
                if event.reason.startswith("/"):
                    self._of_command.append(self.blocks[-1])
            case p.RunStarted():
                self._describe(recorded)
                self._began = [self.blocks[-1]]
            case p.ExecutorSaid(reasoning=False):
                self._add(self.answer_block(event.text))
            case p.ModelRequested():
                self._turn.apply(event)
            case p.ModelReplied():
                self._replied(event)
            case p.ToolStarted() if event.tool not in QUIET:
                call = self._calls[event.call] = self.call_block(
                    event.tool, f"{brief(event.arguments, 400)}{with_rights(event)}"
                )
                self._add(call)
                self._unit.append(call)
            case p.ToolFinished() if event.call in self._calls:
                self._finished(self._calls.pop(event.call), event)
            case p.QuestionAsked():
                asked = self._questions[event.question] = self.lines_block(
                    [Line(f"? {visible(event.text)}", "warning")], "  "
                )
                self._add(asked)
            case p.QuestionAnswered() if event.question in self._questions:
                self._answered(self._questions.pop(event.question), event)
            case p.QaReported():
                report = event.report
                text = report.as_markdown().partition("\n")[2].strip()
                heading = f"review  {report.heading}"
                self._add(self.folded_block(heading, text, "warning" if report.issues else "dim", markdown=True))
            case p.CommandRan():
                self._command_ran(recorded, event)
            case p.ModelFailed():
                self._forget_streamed_calls(self._replies.values())
                self._describe(recorded)
            case p.TurnFinished():
                self._forget_streamed_calls(self._replies.values())
                self._turn_finished(recorded, event)
            case _:
                self._describe(recorded)

    # ── replies

    def _stream(self, step: str, text: str) -> None:
        reply = self._replies.setdefault(step, _Reply())
        thought, said = reply.stream.add(text)
        self._think(reply, thought)
        if said:
            if reply.answer is None:
                reply.answer = self.answer_block(plain=self._turn.plain)
                self._add(reply.answer)
            reply.answer.append(said)
            self._touch(reply.answer)

    def _think(self, reply: _Reply, text: str) -> None:
        if reply.thinking is None and text.strip():
            reply.thinking = self.folded_block("reasoning")
            self._add(reply.thinking)
            text = text.lstrip("\n")
        if reply.thinking and text:
            reply.thinking.append(text)
            self._touch(reply.thinking)

    def _call_streams(self, signal: p.CallStreams) -> None:
        """A row for a call that is being written; the call's own row takes its place once the reply is whole."""
        calls = self._replies.setdefault(signal.step, _Reply()).calls
        if signal.tool in QUIET or self._turn.reports:
            return
        if signal.place not in calls:
            calls[signal.place] = self.lines_block([], "  ")
            self._add(calls[signal.place])
        about = brief(signal.about, 200)
        calls[signal.place].lines = [Line(f"▸ {signal.tool} {about}".rstrip() + "  being written", "dim")]
        calls[signal.place].changed()
        self._touch(calls[signal.place])

    def _forget_streamed_calls(self, replies: Iterable[_Reply]) -> None:
        for block in [block for reply in replies for block in reply.calls.values() if block in self.blocks]:
            self._touch(block)
            self.blocks.remove(block)

    def _replied(self, event: p.ModelReplied) -> None:
        reply = self._replies.pop(event.step, None) or _Reply()
        self._forget_streamed_calls([reply])
        if not self._turn.shows(event):
            return
        thought, text = reasoning.parted(event.text)
        thought = event.thinking or thought
        if reply.thinking is None and thought.strip():
            self._think(reply, thought.strip())
        if text.strip() and reply.answer is None:
            reply.answer = self.answer_block(plain=self._turn.plain)
            self._add(reply.answer)
        if reply.answer:
            reply.answer.finish(text)
            self._touch(reply.answer)
        self._turn.apply(event)
        self.answer = text or self.answer

    # ── commands, calls, questions, the end of a turn

    def _command_ran(self, recorded: p.Recorded, event: p.CommandRan) -> None:
        lines = describe(recorded)
        typed = event.line.startswith("/") and event.submission not in self.pressed
        if (lines or (typed and self._of_command)) and (typed or "event" in event.data):  # a command, or an agent's
            self._ran = event.submission
            self._add_above(self.prompt_block(event.line, "dim"), self._of_command)
        self._of_command = []
        self._lines(lines, "  ")

    def _join(self, calls: list[CallBlock]) -> None:
        """Put the calls of a finished unit in one row, in the place of the first."""
        there = [index for index, block in enumerate(self.blocks) if block in calls]
        if len(there) > 1:
            joined = self.joined_block(
                [block for block in self.blocks if isinstance(block, CallBlock) and block in calls]
            )
            joined.spaced, joined.mark = self.blocks[there[0]].spaced, self.blocks[there[0]].mark
            self.blocks.insert(there[0], joined)
            self._touch(joined)

    def _finished(self, call: CallBlock, event: p.ToolFinished) -> None:
        self._call = call
        diff = bool(event.changed) and event.status is CallStatus.OK
        call.finish(event.status, event.content, event.summary, event.seconds, diff=diff, shell=event.shell or None)
        self._touch(call)

    def _answered(self, asked: LinesBlock, event: p.QuestionAnswered) -> None:
        said = f"closed: {event.by}" if event.closed else f"{event.choice} {event.note}".rstrip()
        if event.by.startswith(REMOTE):
            said += f", by {event.by}"
        first = asked.lines[0]
        asked.lines[0] = Line(f"{first.text}   → {visible(said)}", "dim")
        asked.changed()
        self._touch(asked)

    def _turn_finished(self, recorded: p.Recorded, event: p.TurnFinished) -> None:
        if self._turn.step:
            return
        shown = ("", self._turn.said.strip(), self.answer.strip())
        if event.answer.strip() not in shown:  # of a shell line, or of `complete`
            self.answer = event.answer
            if self._call and self._call.content.strip() == event.answer.strip():
                self._call.show()
                self._touch(self._call)
            else:
                self._add(self.answer_block(event.answer, plain=self._turn.plain))
        self._describe(recorded)

    def _describe(self, recorded: p.Recorded) -> None:
        self._lines(describe(recorded), "  ")

    def _lines(self, lines: list[Line], indent: str) -> None:
        if lines:
            self._add(self.lines_block(lines, indent))

    def _wait(self, signal: p.Countdown | p.Working) -> None:
        if isinstance(signal, p.Countdown):
            line = Line(f"{visible(signal.why)}: retrying in {signal.seconds:.0f} s · Esc stops", "warning")
        else:
            line = Line(f"{how_far(signal)} · Esc stops", "dim")
        if self._countdown is None:
            self._countdown = self.lines_block([line], "  ")
            self._add(self._countdown)
        else:
            self._countdown.lines = [line]
            self._countdown.changed()
            self._touch(self._countdown)

    def _end_countdown(self) -> None:
        if self._countdown:
            self._touch(self._countdown)
            self.blocks.remove(self._countdown)
            self._countdown = None

    # ── blocks

    def _add(self, block: Block) -> None:
        if self._greeting and isinstance(block, PromptBlock):
            self._step_aside()
        before = next((one for one in reversed(self.blocks) if not one.hidden), None)
        first = before is None and not self._continues
        block.spaced = not first and (block.spaced or isinstance(before, PromptBlock | AnswerBlock))
        if isinstance(before, PromptBlock) and isinstance(block, LinesBlock):
            block.spaced = False
        block.mark = self.marks[-1] if self.marks else 0
        self.blocks.append(block)
        self._touch(block)

    def _add_above(self, prompt: PromptBlock, caused: list[Block]) -> None:
        """What a person said, above what it has caused already."""
        below: list[Block] = []
        while self.blocks and self.blocks[-1] in caused:
            self._touch(self.blocks[-1])
            below.insert(0, self.blocks.pop())
        for block in (prompt, *below):
            self._add(block)

    def _touch(self, block: Block) -> None:
        for index in range(len(self.blocks) - 1, -1, -1):
            if self.blocks[index] is block:
                self._changed = index if self._changed is None else min(self._changed, index)
                return


def begins_transcript(event: p.Event) -> bool:
    """Whether a transcript can begin with this event and read as it does in its place."""
    match event:
        case p.TurnStarted():
            return bool(event.submission)
        case p.CycleMoved(phase=CyclePhase.EXECUTING):
            return True
        case _:
            return False
