"""The surfaces a scenario is driven through: the plain one at a terminal, the screen in tmux, headless run by run."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from quintet.domain.journal import protocol as p
from tests.scenarios.journals import Journal
from tests.scenarios.steps import Answer, Interrupt, Kill, ModelGoesOn, Say, Scenario, Step, Turn, Until
from tests.surfaces.program import PROGRAM, SECONDS, Done, ModelThread, Program
from tests.surfaces.tmux import QUINTET, Tmux

KEYS = {"mode": "F3", "control": "F4", "permission-profile": "F5", "model-mode": "F6"}
TIMES = 10  # that a key is pressed
GUARD = 0.6  # a key that is pressed while a question appears does not count as its answer


class SurfaceUnderTest(ABC):
    """Does each step as a person would at this surface, and waits for what it brings."""

    attended = True

    def __init__(
        self, scenario: Scenario, root: Path, variables: dict[str, str], model: ModelThread | None = None
    ) -> None:
        self.scenario = scenario
        self.model = model
        self.root = root
        self.variables = variables
        self.journal = Journal(root)
        self.ended: list[Done] = []  # of the runs of one that ends
        self.left_out: list[str] = []  # lines that stand for an answer
        self.shown = ""
        self._before = 0

    def run(self) -> None:
        self.open()
        for step in self.scenario.steps:
            self.step(step)
        self.leave()

    def step(self, step: Step) -> None:
        before = len(self.journal.events())
        match step:
            case Say():
                self.say(step)
                if step.waits:
                    self.journal.rests(before)
            case Turn():
                self.turn(step)
            case Answer():
                self.answer(step)
            case Until():
                before = self.journal.came(self._before, step.kind)
            case ModelGoesOn():
                assert self.model
                self.model.goes_on()
            case Interrupt():
                self.interrupt()
                self.journal.rests(before)
            case Kill():
                if self.model:  # a request is on record before it is sent
                    self.model.asked(sum(isinstance(event, p.ModelRequested) for event in self.journal.events()))
                self.kill()
        self._before = before  # events, when the step began

    @abstractmethod
    def open(self) -> None: ...

    @abstractmethod
    def say(self, step: Say) -> None: ...

    @abstractmethod
    def turn(self, step: Turn) -> None: ...

    @abstractmethod
    def answer(self, step: Answer) -> None: ...

    @abstractmethod
    def interrupt(self) -> None: ...

    @abstractmethod
    def kill(self) -> None: ...

    @abstractmethod
    def leave(self) -> None: ...

    @abstractmethod
    def close(self) -> None:
        """Whatever happened, nothing of it runs on."""


class PlainSurface(SurfaceUnderTest):
    def open(self) -> None:
        self._program = Program(self.root)
        self._start(*(["--resume"] if self.scenario.resumed else self.scenario.flags))

    def _start(self, *words: str) -> None:
        self._terminal = self._program.plain(*words, columns=500, **self.variables)
        self.shown += self._terminal.sees("› ")

    def say(self, step: Say) -> None:
        self._terminal.types(step.text)

    def turn(self, step: Turn) -> None:
        self.step(Say(f"/{step.dial} {step.value}"))

    def answer(self, step: Answer) -> None:
        before = len(self.journal.events())
        self.journal.asked(step.key)
        self.shown += self._terminal.sees(f"[{step.key}]")
        self._terminal.types(f"{step.key} {step.words}".rstrip())
        self.journal.rests(before)

    def interrupt(self) -> None:
        self._terminal.interrupts()

    def kill(self) -> None:
        os.kill(self._terminal.child.pid, signal.SIGKILL)
        self._terminal.leaves()
        self._start("--resume", self.journal.session)

    def leave(self) -> None:
        self._terminal.child.sendeof()
        code, rest = self._terminal.leaves()
        self.shown += rest
        assert "Traceback" not in self.shown, self.shown
        assert code == 0, self.shown

    def close(self) -> None:
        self._program.close()


class ScreenSurface(SurfaceUnderTest):
    """The terminal UI."""

    def open(self) -> None:
        self._tmux = Tmux(self.root.parent, self.root)
        self._tmux.open("a", columns=220, rows=60, **self.variables)
        self._start(*(["--resume"] if self.scenario.resumed else self.scenario.flags))

    def _start(self, *words: str) -> None:
        self._tmux.type("a", f"clear; {QUINTET} {' '.join(words)}; echo over $?", "Enter")
        self._tmux.sees("a", "? keys")

    def say(self, step: Say) -> None:
        self._tmux.enter("a", step.text)

    def turn(self, step: Turn) -> None:
        before = len(self.journal.events())
        self._tmux.type("a", KEYS[step.dial])
        self.journal.rests(before)

    def answer(self, step: Answer) -> None:
        before = len(self.journal.events())
        question = self.journal.asked(step.key).question
        shown = self._tmux.sees("a", f"[{step.key}]")
        if "Tab or F8 to answer" in shown:
            self._tmux.type("a", "F8")
        time.sleep(GUARD)
        self._tmux.type("a", step.key)
        # A busy machine may show a question later than it is guarded for.
        for _ in range(TIMES):
            if self._takes_words() if step.words else self.journal.is_closed(question, 5 * GUARD):
                break
            self._tmux.type("a", step.key)
        else:
            raise AssertionError(f"[{step.key}] is not taken:\n{self._tmux.screen('a')}")
        if step.words:
            self._tmux.type("a", step.words)
            self._tmux.sees("a", step.words)
            self._tmux.type("a", "Enter")
        self.journal.rests(before)

    def _takes_words(self) -> bool:
        end = time.monotonic() + 5 * GUARD
        while not (shown := "Enter sends it" in self._tmux.screen("a")) and time.monotonic() < end:
            time.sleep(0.05)
        return shown

    def interrupt(self) -> None:
        self._tmux.sees("a", "running")  # the screen may be behind the journal
        self._tmux.type("a", "C-c")

    def kill(self) -> None:
        (pid,) = self._tmux.children("a")
        os.kill(pid, signal.SIGKILL)
        self._tmux.sees("a", f"over {128 + signal.SIGKILL}")
        self._start("--resume", self.journal.session)

    def leave(self) -> None:
        shown = ""
        while shown != (shown := self._tmux.screen("a")):  # the screen may be behind the journal
            time.sleep(0.5)
        self.shown += shown
        self._tmux.type("a", "C-q")
        self._tmux.sees("a", "over 0")
        assert "Traceback" not in self._tmux.screen("a")

    def close(self) -> None:
        self._tmux.close()


class HeadlessSurface(SurfaceUnderTest):
    """Each line is a run of its own that continues with the session; flags turn its dials."""

    attended = False

    def open(self) -> None:
        self._program = Program(self.root)
        self._flags: list[str] = []
        self._running: subprocess.Popen[str] | None = None
        self._queued: list[subprocess.Popen[str]] = []  # runs that wait behind it

    def _words(self, text: str) -> list[str]:
        session = self.journal.session
        words = ["--resume", session, *self._flags] if session else self.scenario.flags
        self._flags = []
        return ["-p", text, *words, "--output-format", "json"]

    def say(self, step: Say) -> None:
        text = step.text if step.alone is None else step.alone
        if step.alone is not None:
            self.left_out += [step.alone, step.text]
        if not step.waits and not self._running:
            self._running = self._started(text)
        elif not step.waits and not text.startswith("/"):
            self._queued.append(self._started(text))
        elif text:
            self.ended.append(self._program.run(*self._words(text), **self.variables))
            assert "Traceback" not in self.ended[-1].err, self.ended[-1].err

    def _started(self, text: str) -> subprocess.Popen[str]:
        around: dict[str, Any] = {**os.environ, **self.variables}
        return subprocess.Popen(
            [*PROGRAM, *self._words(text)],
            cwd=self.root,
            env=around,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def turn(self, step: Turn) -> None:
        if not self.journal.session:
            self.say(Say(f"/{step.dial} {step.value}"))
            return
        if self._flags:
            self._turn_now()
        self._flags = [f"--{step.dial}", step.value]

    def _turn_now(self) -> None:
        """Dials that no line follows."""
        flag, value = self._flags
        self._flags = []
        self.say(Say(f"/{flag.removeprefix('--')} {value}"))

    def answer(self, step: Answer) -> None:
        if step.alone:
            self.left_out.append(step.alone)
            self.say(Say(step.alone))

    def interrupt(self) -> None:
        assert self._running
        self._running.send_signal(signal.SIGINT)

    def kill(self) -> None:
        if self._running:
            self._running.kill()
            self._running.communicate()
            self._running = None

    def leave(self) -> None:
        if self._flags:
            self._turn_now()
        for run in filter(None, (self._running, *self._queued)):
            out, err = run.communicate(timeout=SECONDS)
            self.ended.append(Done(run.returncode, out, err))
        self.shown = "\n".join(done.out + done.err for done in self.ended)

    def close(self) -> None:
        for run in filter(None, (self._running, *self._queued)):
            if run.poll() is None:
                run.kill()
                run.communicate()


SURFACES: dict[str, type[SurfaceUnderTest]] = {
    "plain": PlainSurface,
    "headless": HeadlessSurface,
    "tui": ScreenSurface,
}
