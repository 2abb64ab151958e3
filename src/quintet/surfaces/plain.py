"""The plain surface: a session line by line, for any terminal, for pipes and for screen readers.

Text streams as it comes; questions are asked in line and answered by typing. Ctrl+C interrupts the turn; at the
prompt, twice within two seconds leaves.

A terminal hands over whole lines here, so a pasted line looks like a typed one: each shell line of the user's own is
asked about before it runs with their rights, and what comes at once with it is no answer.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import shutil
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from quintet.domain.base.errors import UsageError
from quintet.domain.base.safe_text import exactly, visible
from quintet.domain.base.wording import counted
from quintet.domain.dials import badge
from quintet.domain.dials.axes import Axes
from quintet.domain.input.own_lines import ASKED, ELSEWHERE, OwnLineWay, own_line_way
from quintet.domain.input.provenance import NOT_TYPED
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import Line, RepeatFilter, describe, question
from quintet.domain.journal.input_outcome import InputWatch
from quintet.domain.journal.session_summary import AT_WORK
from quintet.domain.permission.answers import NO, SESSION, WORDS, YES, chosen
from quintet.domain.ports.prompt import PastInputs
from quintet.domain.turn.messages import EndStatus
from quintet.domain.turn.shown_output import COMMAND, both_ends, without_exit
from quintet.domain.turn.tool_spec import CallStatus
from quintet.engine.commands.queued import listing
from quintet.engine.session.session import Session
from quintet.surfaces.paint import Painter, forgiving
from quintet.surfaces.streamed_markdown import GrowingRows, StreamedMarkdown
from quintet.surfaces.terminal import forget_input, inputs_of, lines_of_input, on_signals
from quintet.surfaces.transcript.turn_view import TurnView, how_far, step_lines

PROMPT = "› "
OWN_LINE = "  y yes · s in the sandbox · n no"
QUIT_SECONDS = 2.0
RECAP_LINES = 8  # of each message shown on resuming
ANSWER_SECONDS = 0.5  # after the question about an own line; what comes sooner came with the line


class PlainOutput:
    """Lines on the terminal, and whether one is still open: text that streams, or the prompt."""

    def __init__(
        self, stream: TextIO, color: str, *, prompts: bool, markdown: Callable[[], GrowingRows] | None = None
    ) -> None:
        self.painter = Painter(stream, color)
        self._markdown = markdown if self.painter.color and stream.isatty() else None
        self._rendered: StreamedMarkdown | None = None  # the text that streams, where it is rendered
        self._stream = stream
        self._prompts = prompts  # whether a person types
        self._streamed: dict[str, int] = {}  # characters of each step's text that have been written
        self._line_open = False
        self._at_prompt = False
        self._said_once: set[str] = set()

    def print(self, lines: list[Line]) -> None:
        if lines:
            self.end_line()
            self.painter.print(lines)

    def stream(self, step: str, text: str, *, plain: bool = False) -> None:
        if not text:
            return
        self._streamed[step] = self._streamed.get(step, 0) + len(text)
        if self._markdown and not plain:
            self._rendered = self._rendered or StreamedMarkdown(self.painter, self._markdown())
            self._line_open = self._rendered.add(text, shutil.get_terminal_size().columns)
        else:
            self.painter.write(visible(text))
            self._line_open = not text.endswith("\n")

    def end_stream(self, step: str, whole: str, *, plain: bool = False) -> None:
        """Write what is left of a text."""
        self.stream(step, whole[self._streamed.get(step, 0) :], plain=plain)
        self._streamed.pop(step, None)
        self.end_line()

    def count_down(self, countdown: p.Countdown) -> None:
        """In one line, which each countdown overwrites."""
        if self._prompts:
            again = f": retrying in {countdown.seconds:.0f} s (Ctrl+C stops) "
            room = max(shutil.get_terminal_size().columns - len(again) - 3, 0)
            why = " ".join(visible(countdown.why).split())
            self.painter.write(f"\r  {why if len(why) <= room else why[: room - 1] + '…'}{again}")
            self._line_open = True

    def work(self, working: p.Working) -> None:
        """In one line, too; without a terminal, once."""
        if self._prompts:
            self.painter.write(f"\r  {how_far(working)} (Ctrl+C leaves it) ")
            self._line_open = True
        elif working.what not in self._said_once:
            self._said_once.add(working.what)
            sys.stderr.write(f"{how_far(working)}\n")

    def end_line(self) -> None:
        if self._rendered:
            self._line_open = self._rendered.finish()
            self._rendered = None
        if self._line_open or self._at_prompt:
            self._line_open = self._at_prompt = False
            self.painter.write("\n")

    def prompt(self) -> None:
        if self._prompts and not self._at_prompt:
            self._at_prompt = True
            self.painter.write(self.painter.paint(PROMPT, "accent"))

    def entered(self) -> None:
        """The person's Enter ended the line of the prompt."""
        self._at_prompt = False

    def copy(self, text: str) -> bool:
        """Give a text to the terminal's clipboard (OSC 52); returns whether there is a terminal."""
        if self._stream.isatty():
            self.painter.write(f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07")
        return self._stream.isatty()

    def title(self, text: str) -> None:
        if self._stream.isatty():
            self.painter.write(f"\x1b]0;{text}\x07")


class Plain:
    def __init__(
        self,
        session: Session,
        project: str,
        about: str,
        color: str = "auto",
        *,
        markdown: Callable[[], GrowingRows] | None = None,
        past: PastInputs | None = None,
    ) -> None:
        self._session = session
        self.wanted = ""  # the session that is to be opened in place of this one
        self._past = past  # what was typed in the project, also on a screen
        self._project = project
        self._about = about  # what the header says beside the badge
        self._typed_at = sys.stdin.isatty()
        self._out = PlainOutput(forgiving(sys.stdout), color, prompts=self._typed_at, markdown=markdown)
        self._turn = TurnView()
        self._without_repeats = RepeatFilter()
        self._question: p.QuestionAsked | None = None
        self._question_comes = False  # the next event asks one
        self._own_line = ""  # that is asked about
        self._own_line_at = 0.0
        self._inputs: dict[str, InputWatch] = {}  # those that have not ended
        self._idle = asyncio.Event()
        self._idle.set()
        self._input_over = False  # nobody can answer any more
        self._left = asyncio.Event()
        self._last_interrupt = 0.0
        self._background: set[asyncio.Task[str]] = set()

    async def run(self, told: asyncio.Event | None = None, first: str = "") -> int:
        """Until the person leaves, the input ends, or it is told to end; `first` is an input that it begins with."""
        with on_signals([signal.SIGINT], self._interrupt):
            self._header()
            tasks: list[asyncio.Task[object]] = [
                asyncio.create_task(self._follow(self._session.since)),
                asyncio.create_task(self._read(first)),
                asyncio.create_task(self._left.wait()),
                asyncio.create_task((told or self._left).wait()),
            ]
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(OSError):  # a terminal that is gone
            self._out.end_line()
        for task in ended:
            if error := task.exception():
                raise error
        return 0

    async def _read(self, first: str) -> None:
        if first:
            await self._say(first)
        handle = sys.stdin.fileno()
        async for text in inputs_of(handle, self._takes_pastes) if self._typed_at else lines_of_input(handle):
            await self._typed(text)
            if not self._typed_at:
                await self._idle.wait()
        self._input_over = True
        if self._question is None:
            await self._idle.wait()

    def _header(self) -> None:
        axes, painter = self._session.state.axes, self._out.painter
        self._title(axes)
        width = shutil.get_terminal_size().columns
        shown = painter.badge(axes) if width >= badge.NARROW else "\n".join(badge.lines(axes, width))
        painter.write(f"{painter.paint('QUINTET', 'bold')}  {shown}   {self._about}\n")
        self._recap()
        self._prompt()

    def _title(self, axes: Axes) -> None:
        self._out.title(badge.title(axes, visible(self._project)))

    def _recap(self) -> None:
        """On resuming, the last exchange, so that the person knows where they are."""
        state = self._session.state
        if not state.turns.count:
            return
        said, answer = self._session.last_exchange()
        lines = [Line(f"resumed {state.session}: {counted(state.turns.count, 'turn')}, {state.status}", "dim")]
        lines += [Line(f"{PROMPT}{visible(text)}", "dim") for text in said.splitlines()[:RECAP_LINES]]
        lines += [Line(f"  {visible(text)}", "dim") for text in answer.splitlines()[:RECAP_LINES]]
        if state.turns.interrupted:
            lines.append(Line("the last turn was interrupted; /resume continues it", "warning"))
        self._out.print([*lines, *self._queued()])
        for asked in state.questions.values():
            self._question = asked
            self._out.print(question(asked))

    def _queued(self) -> list[Line]:
        return [Line(f"  {visible(line)}", "dim") for line in listing(self._session.state)]

    # ── in

    def _takes_pastes(self) -> bool:
        """Whether lines that come at once are one text; an answer is a line."""
        return self._question is None and not self._own_line

    async def _typed(self, text: str) -> None:
        text = text.strip()
        self._out.entered()
        if self._own_line:
            await self._answer_own_line(text)
            return
        if self._question and not text.startswith("/"):
            await self._answer(self._question, text)
            return
        if not text and self._session.state.runs.agent is None:
            self._prompt()
            return
        if self._past and self._typed_at:
            self._past.add(text)
        session = self._session
        direct = session.settings.prompt.own_lines == "direct"
        match own_line_way(text, NOT_TYPED, at_terminal=self._typed_at, direct=direct, owned_here=session.owned_here):
            case OwnLineWay.CONFIRM:
                self._own_line, self._own_line_at = text, time.monotonic()
                forget_input(sys.stdin.fileno())
                self._out.print([Line(f"? {ASKED}", "warning"), Line(f"  {exactly(text)}"), Line(OWN_LINE, "dim")])
                return
            case OwnLineWay.ELSEWHERE:
                self._out.print([Line(ELSEWHERE, "dim")])
        await self._say(text)

    async def _say(self, text: str, *, typed: bool = False) -> None:
        try:
            by_hand = text if self._typed_at else ""
            self._begun(await self._session.submit(p.Say(text=text), typed=typed, by_hand=by_hand))
        except UsageError as error:
            self._out.print([Line(str(error), "error")])
            self._prompt()

    async def _answer_own_line(self, answer: str) -> None:
        text, self._own_line = self._own_line, ""
        early = time.monotonic() - self._own_line_at < ANSWER_SECONDS
        key = answer.lower() if answer.lower() in (YES, SESSION) else YES if answer.lower() == WORDS[YES] else NO
        if key != NO and not early:
            await self._say(text, typed=key == YES)
            return
        why = "the answer was sent together with the line" if early else "no"
        self._out.print([Line(f"not run: {why}", "warning")])
        self._prompt()

    async def _answer(self, asked: p.QuestionAsked, text: str) -> None:
        word, _, note = text.partition(" ")
        choice = chosen(asked.choices, word) or chosen(asked.choices, text)
        typed = next((one.key for one in asked.choices if one.takes_text is True), "")
        if not choice and typed and text:  # what a form asks for can be typed as it is
            choice, note = typed, text
        if not choice:
            self._out.print(question(asked))
            return
        self._question = None
        await self._session.submit(p.Answer(question=asked.question, choice=choice, note=note))

    def _interrupt(self, number: signal.Signals) -> None:
        """Ctrl+C: interrupts the turn; at the prompt, twice leaves."""
        now = time.monotonic()
        self._own_line = ""
        state = self._session.state
        if state.status in AT_WORK or state.turns.following:  # it may be in a hook, before its turn
            self._background.add(asyncio.ensure_future(self._session.submit(p.Interrupt())))
        elif now - self._last_interrupt < QUIT_SECONDS:
            self._left.set()
        else:
            self._out.print([Line("(Ctrl+C again to leave, or /quit)", "dim")])
            self._prompt()
        self._last_interrupt = now

    def _begun(self, submission: str) -> None:
        self._inputs.setdefault(submission, InputWatch(submission))
        self._idle.clear()

    def _see(self, event: p.Event) -> None:
        """Forget the inputs that an event ends."""
        for submission, watch in list(self._inputs.items()):
            if watch.see(event):
                del self._inputs[submission]
        if not self._inputs:
            self._idle.set()

    # ── out

    async def _follow(self, after: int) -> None:
        async for item in self._session.events(after, signals=True):
            if isinstance(item, p.Recorded):
                self._event(self._without_repeats(item))
            elif isinstance(item, p.TextDelta) and not self._turn.reports:
                self._out.stream(item.step, item.text, plain=self._turn.plain)
            elif isinstance(item, p.Countdown):
                self._out.count_down(item)
            elif isinstance(item, p.Working):
                self._out.work(item)
            elif isinstance(item, p.Progress) and item.steps:
                self._out.print(step_lines(item))

    def _event(self, recorded: p.Recorded) -> None:
        event = recorded.event
        if isinstance(event, p.CycleStopped):  # one that waits is asked about right after
            self._question_comes = event.status == EndStatus.WAITING
        elif isinstance(event, p.QuestionAsked | p.CommandRan | p.TurnStarted):
            self._question_comes = False
        match event:
            case p.CommandRan(data=data) if event.submission in self._inputs:
                self._commanded(data)
            case p.CycleBegan() | p.CycleResumed():  # also one that an answer began, which is no input of its own
                self._begun(event.submission)
            case p.InputsHeld():  # nothing is waited for that waits itself
                for submission in event.submissions:
                    self._inputs.pop(submission, None)
            case p.InputsReleased():
                for waiting in self._session.state.turns.waiting:
                    self._begun(waiting.submission)
        self._show(recorded)
        self._turn.apply(event)
        self._see(event)
        if not isinstance(event, p.ModelReplied | p.QuestionAsked):
            asyncio.get_running_loop().call_soon(self._prompt_when_idle)  # after whatever came with this event

    def _commanded(self, data: dict[str, Any]) -> None:
        """What a command of the person's asks of the surface."""
        self.wanted = str(data.get("attach", ""))
        if data.get("quit") or self.wanted:
            self._left.set()
        if "copy" in data and not self._out.copy(self._session.last_answer()):
            self._out.print([Line("not copied: the output is not a terminal", "warning")])

    def _show(self, recorded: p.Recorded) -> None:
        event, turn = recorded.event, self._turn
        match event:
            case p.ModelReplied():
                if turn.shows(event):
                    self._out.end_stream(event.step, event.text, plain=turn.plain)
                return
            case p.ExecutorSaid(reasoning=False):
                self._out.end_stream(f"said-{recorded.seq}", event.text)
                return
            case p.QuestionAsked():
                self._question = event
                if self._own_line:  # an answer to this question must not be taken for one about the line
                    self._own_line = ""
                    self._out.print([Line("not run: another question came first", "warning")])
                self._out.print(question(event))
                if self._input_over:
                    self._left.set()
                return
            case p.QuestionAnswered() if self._question and event.question == self._question.question:
                self._question = None
        lines = describe(recorded)
        self._out.print(lines[:1] if turn.own_call and isinstance(event, p.ToolFinished) else lines)
        match event:
            case p.ToolFinished(tool=tool, status=CallStatus.OK, changed=()) if tool == COMMAND and not turn.own_call:
                self._out.print(_printed(event))
            case p.TurnFinished():
                self._out.print([Line(visible(line)) for line in turn.unsaid(event)])
            case p.InputsHeld():
                self._out.print(self._queued())
            case p.DialsTurned():
                self._title(event.after)

    def _prompt_when_idle(self) -> None:
        if not (self._inputs or self._question or self._question_comes or self._own_line):
            self._prompt()

    def _prompt(self) -> None:
        if not self._left.is_set():
            self._out.prompt()


def _printed(finished: p.ToolFinished) -> list[Line]:
    """How what a command printed begins and ends, and how much more there is."""
    lines = finished.content.rstrip("\n").split("\n") if finished.content.strip() else []
    first, hidden, last = both_ends(without_exit(lines, finished.shell))
    more = [Line(f"    … {counted(hidden, 'more line')}", "dim")] if hidden else []
    begins, ends = ([Line(f"    {visible(line)}", "dim") for line in part] for part in (first, last))
    return [*begins, *more, *ends]
