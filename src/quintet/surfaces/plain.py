"""The plain surface: a session line by line, for any terminal, for pipes and for screen readers.

Text streams as it comes; questions are asked in line and answered by typing. Ctrl+C interrupts the turn; at the
prompt, twice within two seconds leaves.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import sys
import time
from collections.abc import Iterator

from quintet.domain.base.errors import UsageError
from quintet.domain.base.safe_text import visible
from quintet.domain.dials import badge
from quintet.domain.dials.axes import Axes
from quintet.domain.input.slash_line import own_call
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import Line, RepeatFilter, describe, question
from quintet.domain.journal.input_outcome import InputWatch
from quintet.domain.turn.messages import Role
from quintet.domain.turn.review_report import is_step
from quintet.engine.session.session import Session
from quintet.surfaces.input_lines import lines_of_input
from quintet.surfaces.paint import Painter, forgiving

PROMPT = "› "
QUIT_SECONDS = 2.0
RECAP_LINES = 8  # of each message shown on resuming


class Plain:
    def __init__(self, session: Session, project: str, about: str, color: str = "auto") -> None:
        out = forgiving(sys.stdout)
        self._session = session
        self._project = project
        self._about = about  # what the header says beside the badge
        self._paint = Painter(out, color)
        self._tty = sys.stdin.isatty()  # somebody types
        self._terminal = out.isatty()  # somebody sees
        self._shown: dict[str, int] = {}  # characters of each step's text that have been streamed
        self._line_open = False
        self._at_prompt = False
        self._said = ""  # the newest reply of the turn that is running
        self._without_repeats = RepeatFilter()
        self._own = False  # the turn is a call of the person's own: its answer is the call's result
        self._aside = False  # it is a step of a cycle, whose events say what came of it
        self._reports = False  # it ends with a report: what the person sees is that, not what it is made from
        self._question: p.QuestionAsked | None = None
        self._busy: dict[str, InputWatch] = {}  # by submission: inputs that are not over
        self._idle = asyncio.Event()
        self._idle.set()
        self._left = asyncio.Event()
        self._last_interrupt = 0.0
        self._background: set[asyncio.Task[str]] = set()

    async def run(self, told: asyncio.Event | None = None) -> int:
        """Until the person leaves, the input ends, or it is told to end."""
        with self._interruptible():
            self._header()
            tasks: list[asyncio.Task[object]] = [
                asyncio.create_task(self._follow(self._session.since)),
                asyncio.create_task(self._read()),
                asyncio.create_task(self._left.wait()),
                asyncio.create_task((told or self._left).wait()),
            ]
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(OSError):  # a terminal that is gone
            self._open_line_ends()
        for task in ended:
            if error := task.exception():
                raise error
        return 0

    async def _read(self) -> None:
        async for line in lines_of_input(sys.stdin.fileno()):
            await self._typed(line)
            if not self._tty:
                await self._idle.wait()
        await self._idle.wait()

    def _header(self) -> None:
        axes = self._session.state.axes
        self._title(axes)
        width = shutil.get_terminal_size().columns
        shown = self._paint.badge(axes) if width >= badge.NARROW else "\n".join(badge.lines(axes, width))
        self._paint.write(f"{self._paint.paint('QUINTET', 'bold')}  {shown}   {self._about}\n")
        self._recap()
        self._prompt()

    def _title(self, axes: Axes) -> None:
        if self._terminal:
            self._paint.write(f"\x1b]0;{badge.title(axes, visible(self._project))}\x07")

    def _recap(self) -> None:
        """On resuming, the last exchange, so that the person knows where they are."""
        state = self._session.state
        said = state.messages[1:] if state.summary else state.messages
        spoken = [message for message in said if message.text and message.role in (Role.USER, Role.ASSISTANT)]
        if not spoken:
            return
        lines = [Line(f"resumed {state.session}: {state.turns} turns, {state.status}", "dim")]
        for message in spoken[-2:]:
            mark = PROMPT if message.role is Role.USER else "  "
            lines += [Line(f"{mark}{visible(text)}", "dim") for text in message.text.splitlines()[:RECAP_LINES]]
        if state.interrupted:
            lines.append(Line("the last turn was interrupted; /resume goes on with it", "warning"))
        self._paint.print(lines)
        for asked in state.questions.values():
            self._question = asked
            self._paint.print(question(asked))

    # ── in

    async def _typed(self, line: str) -> None:
        text = line.strip()
        self._at_prompt = False  # what the person typed ended the line
        if self._question and not text.startswith("/"):
            await self._answer(self._question, text)
            return
        if not text and self._session.state.agent is None:
            self._prompt()
            return
        try:
            submission = await self._session.say(text)
        except UsageError as error:
            self._paint.print([Line(str(error), "error")])
            self._prompt()
            return
        self._begun(submission)

    async def _answer(self, asked: p.QuestionAsked, text: str) -> None:
        choice, _, note = text.partition(" ")
        if choice.lower() not in {c.key for c in asked.choices}:
            self._paint.print(question(asked))
            return
        self._question = None
        await self._session.submit(p.Answer(question=asked.question, choice=choice, note=note))

    # ── out

    async def _follow(self, after: int) -> None:
        async for item in self._session.events(after, signals=True):
            if isinstance(item, p.Recorded):
                self._event(item)
                self._see(item.event)
            elif isinstance(item, p.TextDelta) and not self._reports:
                self._stream(item.step, item.text)
            elif isinstance(item, p.Countdown) and self._tty:
                again = f": again in {item.seconds:.0f} s "
                room = max(shutil.get_terminal_size().columns - len(again) - 3, 0)  # a second line could not be redrawn
                why = " ".join(visible(item.why).split())
                self._paint.write(f"\r  {why if len(why) <= room else why[: room - 1] + '…'}{again}")
                self._line_open = True

    def _event(self, recorded: p.Recorded) -> None:
        recorded = self._without_repeats(recorded)
        event = recorded.event
        match event:
            case p.ModelReplied() if event.aside or (self._reports and not event.calls):
                return
            case p.ModelReplied():
                self._stream(event.step, event.text[self._shown.get(event.step, 0) :])
                self._shown.pop(event.step, None)
                self._said = event.text
                self._open_line_ends()
                return
            case p.QuestionAsked():
                self._question = event
                self._print(question(event))
                return
            case p.QuestionAnswered() if self._question and event.question == self._question.question:
                self._question = None
        lines = describe(recorded)
        self._print(lines[:1] if self._own and isinstance(event, p.ToolFinished) else lines)
        match event:
            case p.CommandRan():
                if event.data.get("quit") and event.submission in self._busy:
                    self._left.set()
            case p.TurnStarted():
                self._said = ""
                self._reports = event.order is not None
                self._own = own_call(event.text) is not None
                self._aside = is_step(event.order)
            case p.TurnFinished():
                if event.answer != self._said and not self._aside:  # of a shell line, or of `complete`
                    self._print([Line(visible(line)) for line in event.answer.splitlines()])
            case p.CycleBegan() | p.CycleResumed():  # also one that an answer began, which is no input of its own
                self._begun(event.submission)
            case p.DialsTurned():
                self._title(event.after)
        asyncio.get_running_loop().call_soon(self._prompt_when_idle)  # after whatever came with this event

    def _print(self, lines: list[Line]) -> None:
        if lines:
            self._open_line_ends()
            self._paint.print(lines)

    def _stream(self, step: str, text: str) -> None:
        if text:
            self._paint.write(visible(text))
            self._shown[step] = self._shown.get(step, 0) + len(text)
            self._line_open = not text.endswith("\n")

    def _open_line_ends(self) -> None:
        if self._line_open or self._at_prompt:
            self._at_prompt = False
            self._paint.write("\n")
            self._line_open = False

    def _begun(self, submission: str) -> None:
        self._busy.setdefault(submission, InputWatch(submission))
        self._idle.clear()

    def _see(self, event: p.Event) -> None:
        self._busy = {submission: watch for submission, watch in self._busy.items() if not watch.see(event)}
        if not self._busy:
            self._idle.set()

    def _prompt_when_idle(self) -> None:
        if not self._busy and not self._question:
            self._prompt()

    def _prompt(self) -> None:
        if self._tty and not self._left.is_set() and not self._at_prompt:
            self._at_prompt = True
            self._paint.write(self._paint.paint(PROMPT, "accent"))

    # ── Ctrl+C

    @contextlib.contextmanager
    def _interruptible(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()

        def interrupt() -> None:
            now = time.monotonic()
            running = self._session.state.status in ("running", "paused", "waiting")
            if running:
                self._background.add(asyncio.ensure_future(self._session.submit(p.Interrupt())))
            elif now - self._last_interrupt < QUIT_SECONDS:
                self._left.set()
            else:
                self._print([Line("(Ctrl+C again to leave, or /quit)", "dim")])
                self._prompt()
            self._last_interrupt = now

        loop.add_signal_handler(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)
