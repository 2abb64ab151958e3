"""One start of an AI CLI, from its process to its parts.

Every line is judged as it comes, so that what the stream said of its end is never lost; of what was not yet asked for
at most 5,000 are held, and then the program waits. Silence, the time in all, and the end are ours: SIGINT to its whole
group, half a second, then every process of its tree is killed.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator

from quintet.adapters.processes.processes import Child
from quintet.adapters.sandbox.containment import Launch
from quintet.domain.base.redaction import Redactor
from quintet.domain.tasks.executors import (
    KEPT_LINES,
    Assignment,
    CallBegan,
    CallEnded,
    ExecutorFailure,
    ExecutorPart,
    Printed,
)
from quintet.features.ai_clis.dialect import MOST_OUTPUT, Dialect, RunOutcome, clipped
from quintet.features.ai_clis.lines import LineSplitter, Whole, event_in

LINGER_SECONDS = 5.0  # for a program to end by itself after it has said how it went
TALKER_LINGER_SECONDS = 2.0  # the same for one that waits for more, once its stdin is closed
CALL_PATIENCE = 4.0  # a call of its own may be silent so many times longer
ODD_LINES = 1_000  # in a row that are no events: then this is not the stream it should be
LAST_LINES = 60  # of what it says beside its stream, for the reason of a failure
GivenUp = tuple[ExecutorFailure, str]  # why it was ended before it was done
UNREADABLE = (TypeError, ValueError, AttributeError, LookupError)  # an event of another shape than it should have


class Outlet:
    """Words for a program's stdin, written as fast as it reads them; one that no longer listens is let be.

    `reads` is the end that the program gets; it is closed here once that has its own copy.
    """

    def __init__(self) -> None:
        self.reads, self._writes = os.pipe()
        os.set_blocking(self._writes, False)
        self._waiting = bytearray()
        self._loop = asyncio.get_running_loop()
        self._last = False
        self._open = True

    def handed_over(self) -> None:
        os.close(self.reads)

    def say(self, words: bytes, *, last: bool = False) -> None:
        """Say something, and with `last` nothing more."""
        if not self._open:
            return
        self._waiting += words
        self._last = self._last or last
        self._flush()

    def _flush(self) -> None:
        try:
            while self._waiting:
                del self._waiting[: os.write(self._writes, self._waiting)]
        except BlockingIOError:
            self._loop.add_writer(self._writes, self._flush)
            return
        except OSError:  # it no longer listens
            self._last = True
        self._loop.remove_writer(self._writes)
        if self._last:
            self.close()

    def close(self) -> None:
        if self._open:
            self._open = False
            self._loop.remove_writer(self._writes)
            os.close(self._writes)


class Deadlines:
    """How long a program may be silent, and take in all; `talks` if it waits for more once it has said how it went."""

    def __init__(self, asked: Assignment, talks: bool) -> None:
        self.calls: set[str] = set()  # of its own that are under way: they may be silent longer
        self._silence, self._timeout = asked.silence, asked.timeout
        self._linger = TALKER_LINGER_SECONDS if talks else LINGER_SECONDS
        self._clock = asyncio.get_running_loop().time
        self._began = self._clock()
        self._outcome_at = 0.0
        self._trying_since = 0.0

    def heard(self, *, trying: bool) -> None:
        """It said something; that it tries a request again, and nothing else, is as good as silence."""
        self._trying_since = (self._trying_since or self._clock()) if trying else 0.0

    def decided(self) -> bool:
        """Whether this is the first that is heard of how it went; from now on it is to end."""
        first = not self._outcome_at
        if first:
            self._outcome_at = self._clock()
        return first

    def left(self) -> tuple[float | None, GivenUp | None]:
        """Until it is ended whatever it says; None for no end. And what that means, if it is a failure."""
        now = self._clock()
        if self._outcome_at:
            return max(self._outcome_at + self._linger - now, 0.0), None
        if not self._timeout:
            return None, None
        overtime = (ExecutorFailure.OVERTIME, f"it did not finish within {self._timeout:g} seconds")
        return max(self._began + self._timeout - now, 0.0), overtime

    def patience(self) -> tuple[float | None, GivenUp | None]:
        """How long nothing may come from now on, and what it means if nothing does."""
        left, why = self.left()
        silence = self._silence * (CALL_PATIENCE if self.calls else 1.0)
        if self._outcome_at or not silence or (left is not None and left <= silence):
            return left, why
        if self._trying_since:
            enough = max(self._trying_since + self._silence - self._clock(), 0.0)
            return enough, (ExecutorFailure.SILENT, f"it only tried again for {self._silence:g} seconds")
        return silence, (ExecutorFailure.SILENT, f"it printed nothing for {silence:g} seconds")


class RunningProgram:
    """A started program. `parts` may be read once; `close` ends whatever is left of it."""

    def __init__(self, launch: Launch, dialect: Dialect, redactor: Redactor) -> None:
        self.dialect = dialect
        self.events = 0
        self.aside: deque[str] = deque(maxlen=LAST_LINES)
        self.ended_by_us = False
        self.given_up: GivenUp | None = None
        self.left_out = 0  # lines that nobody asked for in time; the file has them
        asked = dialect.start.assignment
        self._deadlines = Deadlines(asked, dialect.talks)
        self._pending: deque[ExecutorPart] = deque()
        self._news = asyncio.Event()
        self._held = False
        self._odd = 0
        self.whole = Whole(asked.whole)
        ways = (self._line, self._beside)
        self._streams = tuple(LineSplitter(self.whole, redactor.chunks(), on_line) for on_line in ways)
        self._outlet = Outlet()
        try:
            self.child = Child(launch, self._streams[0], errors=self._streams[1], reads=self._outlet.reads)
        except BaseException:
            self._outlet.close()
            self.whole.close()
            raise
        finally:
            self._outlet.handed_over()
        self._watch = asyncio.ensure_future(self.child.ended.wait())
        self._watch.add_done_callback(lambda _: self._news.set())
        self._outlet.say(dialect.opening(), last=not dialect.talks)

    async def parts(self) -> AsyncGenerator[ExecutorPart, None]:
        """What it says, but for its end; over when the program is."""
        while True:
            while self._pending and not self._must_end():
                part = self._pending.popleft()
                if self._held and len(self._pending) < KEPT_LINES // 2:
                    self._go_on()
                yield part
            if self.child.ended.is_set():
                for stream in self._streams:
                    stream.finish()
                if not self._pending:
                    return
            elif self._must_end():
                await self.end()
            else:
                await self._wait()

    def _must_end(self) -> bool:
        """Whether it is to be ended now, however much it still says."""
        if self.child.ended.is_set():
            return False
        if self.dialect.outcome and self.dialect.outcome.hopeless:
            return True
        left, why = self._deadlines.left()
        if left is None or left > 0:
            return False
        self.given_up = why
        return True

    async def _wait(self) -> None:
        self._news.clear()
        left, why = self._deadlines.patience()
        try:
            async with asyncio.timeout(left):
                await self._news.wait()
        except TimeoutError:
            self.given_up = why
            await self.end()

    async def end(self) -> None:
        """Interrupt it, and then end all it started. Cancelling does not stop that."""
        self.ended_by_us = True
        self._outlet.say(self.dialect.farewell())
        await asyncio.shield(asyncio.ensure_future(self.child.end_tree()))

    async def close(self) -> None:
        try:
            if not self.child.ended.is_set():
                await self.end()
        finally:
            self._watch.cancel()
            self.child.release()
            self._outlet.close()
            for stream in self._streams:
                stream.keep_rest()
            self.whole.close()

    def _line(self, line: bytes, dropped: int) -> None:
        event = None if dropped else event_in(line)
        if event is None or not self._taken(event):
            self._odd += 1
            self._beside(line, dropped)
            if self._odd >= ODD_LINES:
                problem = f"it printed {self._odd} lines in a row that are not events"
                self._decide(RunOutcome(False, problem=problem, failure=ExecutorFailure.GARBAGE, hopeless=True))

    def _taken(self, event: dict[str, object]) -> bool:
        """Whether the event could be read; its parts are put in line."""
        if self.dialect.outcome:  # what comes after the end is no news
            return True
        try:
            parts = list(self.dialect.take(event))
        except UNREADABLE:
            return False
        self.events += 1
        self._odd = 0
        self._deadlines.heard(trying=self.dialect.trying)
        for part in parts:
            if isinstance(part, CallBegan):
                self._deadlines.calls.add(part.id)
            elif isinstance(part, CallEnded):
                self._deadlines.calls.discard(part.id)
            self._queue(part)
        if self.dialect.outcome:
            self._decide(self.dialect.outcome)
        elif reply := self.dialect.reply():
            self._outlet.say(reply)
        self._news.set()
        return True

    def _decide(self, outcome: RunOutcome) -> None:
        if self._deadlines.decided():
            self.dialect.outcome = outcome
            if outcome.hopeless:
                for stream in self._streams:
                    stream.only_kept = True
            else:
                self._outlet.say(b"", last=True)
        self._news.set()

    def _beside(self, line: bytes, dropped: int) -> None:
        text = clipped(line.decode("utf-8", "replace").rstrip(), MOST_OUTPUT)
        text += f" … {dropped} bytes omitted" if dropped else ""
        self.aside.append(text)
        self._news.set()
        if len(self._pending) >= KEPT_LINES:
            self.left_out += 1
        else:
            self._queue(Printed(text))

    def _queue(self, part: ExecutorPart) -> None:
        self._pending.append(part)
        if len(self._pending) >= KEPT_LINES and not self._held:
            self._held = True
            for inlet in self.child.inlets:
                inlet.hold()

    def _go_on(self) -> None:
        self._held = False
        for inlet in self.child.inlets:
            inlet.go_on()
