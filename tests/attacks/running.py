"""A hostile model at work: the real program, in a world of canaries, told by a scripted model what to call.

`Attacker.session(call, …)` is one session that makes these calls in turn; `opens` only opens the project on a surface,
as a person would who then leaves. Both give an `Outcome`: what was decided, what came of it, what came out.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import functools
import json
import os
import pty
import re
import selectors
import struct
import termios
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from quintet.adapters.sqlite.store import SqliteStore
from quintet.domain.journal import protocol as p
from tests.adapters.model_server import Reply
from tests.attacks.hatchery import Hatchery, Run
from tests.attacks.world import World, put
from tests.surfaces.program import ModelThread

SECONDS = 120.0  # a limit, not a measure
ESCAPES = re.compile(r"\x1b\[[0-9;?<>=]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]")
QUESTION = re.compile(r"\[n\]|\[y/N\]")
PROMPT = "›"
BLOCKED = 3  # the exit code of a run that had to ask
QUIET_SECONDS = 0.25
GUARD_SECONDS = 0.45  # a question takes no answer before
PATIENCE_SECONDS = 6.0
PLAIN = "[runs]\ndelivery_check = false\nqa_review = false\n[prompt]\nrapid_paste = false\n"
Call = tuple[str, dict[str, Any]]


def call(name: str, /, **arguments: Any) -> Call:
    return name, arguments


def bash(line: str, **more: Any) -> Call:
    return "bash", {"command": line, **more}


@dataclass(frozen=True)
class Called:
    """A call, what the gate said about it, and what the model was told of it."""

    tool: str
    arguments: dict[str, Any]
    verdict: str = ""
    reason: str = ""
    status: str = ""
    content: str = ""


@dataclass
class Outcome:
    code: int
    out: str
    err: str
    calls: list[Called] = field(default_factory=list)
    told: str = ""  # all that the model was sent
    journal: list[p.Event] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)

    def __add__(self, other: Outcome) -> Outcome:
        """Two runs, one after the other."""
        left = self.leftovers + other.leftovers
        return Outcome(other.code, self.out + other.out, self.err + other.err, leftovers=left)

    @property
    def said(self) -> str:
        """Everything that came out of the run, to anybody."""
        return "\n".join((self.out, self.err, self.told, *(one.content for one in self.calls)))

    @property
    def verdicts(self) -> list[str]:
        return [one.verdict for one in self.calls]

    @property
    def texts(self) -> str:
        """What the model was told of its calls; for the message of a failed assertion."""
        return "\n".join(f"{one.tool} {one.verdict} ({one.reason}): {one.content}" for one in self.calls)


class Attacker:
    def __init__(self, world: World, hatchery: Hatchery, sandbox: str, seconds: float = SECONDS) -> None:
        self.world = world
        self.seconds = seconds  # a limit, not a measure
        self.sandbox = sandbox
        self.hatchery = hatchery
        self._watched = False

    # ── a session with a hostile model

    def session(
        self,
        *calls: Call | Sequence[Call],
        surface: str = "headless",
        work_mode: str = "build",
        profile: str = "normal",
        run_control: str = "autonomous",
        flags: Sequence[str] = (),
        settings: str = "",
        **variables: str,
    ) -> Outcome:
        """Make these calls, one reply each (several in one reply as a list), in one session.

        On the surfaces `tui` and `plain` somebody sits at a terminal and says no to every question. Headless, what asks
        ends a run, and the next one resumes the session.
        """
        replies = [_reply(number, one) for number, one in enumerate(calls)]
        model = ModelThread([*replies, Reply(text="done")])
        dials = ("--mode", work_mode, f"--{run_control}", "--permission-profile", profile, *flags)
        try:
            self._ready(model.settings(timeout=SECONDS, more=settings))
            if surface == "headless":
                outcome = self._run(("-p", "go", *dials), b"", variables)
                while outcome.code == BLOCKED and not _has_said(model, len(calls) + 1):  # it asked, and goes on
                    outcome += self._run(("-p", "go on", "--resume"), b"", variables)
            else:
                words = ("--plain", *dials) if surface == "plain" else dials
                said_all = functools.partial(_has_said, model, len(calls) + 1)
                outcome = self.at_terminal(words, said_all, variables, "go\r")
            outcome.told = json.dumps([request.body for request in model.server.requests])
        finally:
            model.close()
        return self._with_journal(outcome)

    def serves(self, *calls: Call, flags: Sequence[str] = (), **variables: str) -> Outcome:
        """Make these calls, one after the other, of `quintet mcp-server` over standard input and output."""
        self._ready("")
        (reads, typed), (out, writes) = os.pipe(), os.pipe()
        errors = self.world.out / "err"
        with open(errors, "wb") as err:
            run = self._start(("mcp-server", *flags), (reads, writes, err.fileno()), variables)
        os.close(reads)
        os.close(writes)
        with open(typed, "wb", buffering=0) as asks, open(out, "rb", buffering=0) as answers:
            said = _speak_mcp(asks, answers, calls, time.monotonic() + self.seconds)
        late = run.wait(self.seconds) is None
        code, left = run.end(), self.hatchery.leftovers()
        complained = errors.read_bytes().decode("utf-8", "replace")
        assert not late, f"still running after {self.seconds} s: {said}\n{complained}"
        return self._with_journal(Outcome(code, said, complained, leftovers=left))

    def _with_journal(self, outcome: Outcome) -> Outcome:
        outcome.journal = journal(self.world.home)
        outcome.calls = called(outcome.journal)
        return outcome

    # ── only opened

    def opens(self, surface: str, *flags: str, sees: str = "", **variables: str) -> Outcome:
        """Open the project on a surface (tui, plain, headless, or a command) with the offline rules, and leave; the
        screen once it has a prompt and shows what is to be seen."""
        self._ready("")
        if surface == "tui":
            return self.at_terminal(flags, lambda: True, variables, sees=sees)
        words = {"plain": ("--plain", *flags), "headless": ("-p", "what is here?", *flags)}
        return self._run(words.get(surface, (*surface.split(), *flags)), b"n\n/exit\n", variables)

    # ── how a run goes

    def _ready(self, settings: str) -> None:
        self.world.settings(f'[sandbox]\nuse = "{self.sandbox}"\n{PLAIN}{settings}')
        self.world.own(self.hatchery.user.uid)
        if not self._watched:
            self.world.watch()
            self._watched = True
        self.world.expect(self.world.home / ".config/quintet/settings.toml")

    def _start(self, words: Sequence[str], handles: Sequence[int], variables: dict[str, str]) -> Run:
        env = {**self.world.variables(), **variables}
        return self.hatchery.start(words, self.world.project, env, handles)

    def _run(self, words: Sequence[str], typed: bytes, variables: dict[str, str]) -> Outcome:
        files = {name: self.world.out / name for name in ("in", "out", "err")}
        put(files["in"], typed)
        with open(files["in"], "rb") as given, open(files["out"], "wb") as out, open(files["err"], "wb") as err:
            run = self._start(words, (given.fileno(), out.fileno(), err.fileno()), variables)
        late = run.wait(self.seconds) is None
        code, left = run.end(), self.hatchery.leftovers()
        said, complained = (files[name].read_bytes().decode("utf-8", "replace") for name in ("out", "err"))
        assert not late, f"still running after {self.seconds} s: {said}\n{complained}"
        return Outcome(code, said, complained, leftovers=left)

    def at_terminal(
        self,
        words: Sequence[str],
        over: Callable[[], bool],
        variables: dict[str, str],
        typed: str = "",
        sees: str = "",
    ) -> Outcome:
        """At a terminal: no trust, `typed`, and no to every question until it is over; then leave."""
        terminal = Terminal()
        run = self._start(words, (terminal.slave,) * 3, {"NO_COLOR": "1", **variables})
        terminal.opened()
        no = "n\r" if "--plain" in words else "n"
        terminal.reads(first=self.seconds)
        answered, tries, typed_at, until = 0, 0, -PATIENCE_SECONDS, time.monotonic() + self.seconds
        while run.wait(0) is None and time.monotonic() < until:
            terminal.reads()
            if QUESTION.search(terminal.text, answered):
                time.sleep(GUARD_SECONDS)
                terminal.reads()
                answered = len(terminal.text)
                terminal.types(no)
            elif over() and PROMPT in terminal.text and sees in terminal.text:
                break
            elif PROMPT in terminal.text and time.monotonic() - typed_at > PATIENCE_SECONDS:
                # At first; and when a turn has ended, because the next one makes the rest of the calls. Every other
                # time it is a no: one that came before the question took keys was for nothing.
                tries, typed_at = tries + 1, time.monotonic()
                terminal.types("\x7f" * 9 + typed if tries % 2 else no)
            elif time.monotonic() - typed_at > PATIENCE_SECONDS:  # a question too long to be seen whole
                typed_at = time.monotonic()
                terminal.types(no)
        late = run.wait(0) is None and not over()
        terminal.reads()
        for _ in range(3):  # interrupts what runs, then leaves
            terminal.types("\x03")
            terminal.reads(first=0.2)
            if run.wait(0.2) is not None:
                break
        terminal.close()
        code = run.wait(self.seconds)
        outcome = Outcome(run.end() if code is None else code, terminal.text, "", leftovers=self.hatchery.leftovers())
        assert not late, f"not over after {self.seconds} s: {' '.join(outcome.out.split())[-800:]}"
        return outcome


class Terminal:
    """A terminal of 100 columns and 30 lines, and all that was shown there."""

    def __init__(self) -> None:
        self._master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self._shown = b""

    def opened(self) -> None:
        """Somebody else has it open now."""
        os.close(self.slave)

    @property
    def text(self) -> str:
        return ESCAPES.sub("", self._shown.decode("utf-8", "replace"))

    def types(self, keys: str) -> None:
        with contextlib.suppress(OSError):  # it has left
            os.write(self._master, keys.encode())

    def reads(self, first: float = QUIET_SECONDS) -> bool:
        """Look until nothing is shown for a while; whether anything was. `first` is how long it may take to begin."""
        length, until = len(self._shown), time.monotonic() + SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(self._master, selectors.EVENT_READ)
            while selector.select(first if len(self._shown) == length else QUIET_SECONDS) and time.monotonic() < until:
                try:
                    self._shown += os.read(self._master, 65536)
                except OSError:  # it has left
                    break
        return len(self._shown) > length

    def close(self) -> None:
        os.close(self._master)


def _speak_mcp(asks: BinaryIO | Any, answers: BinaryIO | Any, calls: Sequence[Call], until: float) -> str:
    """A client's part of the conversation; all that the server said."""
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "hostile", "version": "1"}}
    wanted: list[tuple[str, dict[str, Any]]] = [("initialize", about), ("tools/list", {})]
    wanted += [("tools/call", {"name": name, "arguments": arguments}) for name, arguments in calls]
    said = b""
    with selectors.DefaultSelector() as selector, contextlib.suppress(OSError):  # it has left
        selector.register(answers, selectors.EVENT_READ)
        for number, (method, params) in enumerate(wanted):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            asks.write(json.dumps(message).encode() + b"\n")
            if not number:
                asks.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
            answered = re.compile(rb'"id": ?%d\b' % number)
            begun = len(said)
            while not answered.search(said, begun):
                if not selector.select(max(until - time.monotonic(), 0)) or not (came := answers.read(65536)):
                    return said.decode("utf-8", "replace")
                said += came
    return said.decode("utf-8", "replace")


def _has_said(model: ModelThread, replies: int) -> bool:
    return len(model.server.requests) >= replies


def _reply(number: int, calls: Call | Sequence[Call]) -> Reply:
    several = [calls] if isinstance(calls, tuple) and isinstance(calls[0], str) else list(calls)
    return Reply(
        calls=[
            {"id": f"c{number}-{index}", "name": name, "arguments": json.dumps(arguments)}  # type: ignore[misc]
            for index, (name, arguments) in enumerate(several)
        ]
    )


def journal(home: Path) -> list[p.Event]:
    """Every event of the newest session of the one project there is."""
    found = sorted((home / ".local/state/quintet").glob("*/state.db"))
    if not found:
        return []

    async def read() -> list[p.Event]:
        store = SqliteStore(str(found[-1]))
        try:
            newest = next(iter(store.sessions()), None)
            return [one.event for one in store.read(newest.id)] if newest else []
        finally:
            await store.close()

    return asyncio.run(read())


def called(events: Sequence[p.Event]) -> list[Called]:
    decided = [event for event in events if isinstance(event, p.CallDecided)]
    finished = {event.call: event for event in events if isinstance(event, p.ToolFinished)}
    found = []
    for one in decided:
        end = finished.get(one.call)
        try:
            arguments = json.loads(one.arguments)
        except ValueError:
            arguments = {"": one.arguments}
        status, content = (str(end.status), end.content) if end else ("", "")
        found.append(Called(one.tool, arguments, str(one.verdict), one.reason, status, content))
    return found
