"""A hostile model at work: the real program, in a world of canaries, told by a scripted model what to call.

`Attacker.session(call, …)` is one headless session that makes these calls in turn; `opens` only opens the project on a
surface, as a person would who then leaves. Both give an `Outcome`: what was decided, what came of it, what came out.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pty
import re
import selectors
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quintet.adapters.sqlite.store import SqliteStore
from quintet.domain import protocol as p
from tests.adapters.model_server import Reply
from tests.attacks.hatchery import Hatchery, Run
from tests.attacks.world import World, put
from tests.surfaces.program import ModelThread

SECONDS = 120.0  # a limit, not a measure
ESCAPES = re.compile(r"\x1b\[[0-9;?<>=]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]")
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
    def __init__(self, world: World, hatchery: Hatchery, sandbox: str) -> None:
        self.world = world
        self.sandbox = sandbox
        self._hatchery = hatchery
        self._watched = False

    # ── a session with a hostile model

    def session(
        self,
        *calls: Call | Sequence[Call],
        work_mode: str = "build",
        profile: str = "normal",
        run_control: str = "autonomous",
        flags: Sequence[str] = (),
        settings: str = "",
        **variables: str,
    ) -> Outcome:
        """Make these calls, one reply each (several in one reply as a list), in a headless session."""
        replies = [_reply(number, one) for number, one in enumerate(calls)]
        model = ModelThread([*replies, Reply(text="done")])
        try:
            self._ready(model.settings(timeout=SECONDS, more=settings))
            words = ("-p", "go", "--mode", work_mode, f"--{run_control}", "--permission-profile", profile, *flags)
            outcome = self._run(words, b"", variables)
            outcome.told = json.dumps([request.body for request in model.server.requests])
        finally:
            model.close()
        outcome.journal = journal(self.world.home)
        outcome.calls = called(outcome.journal)
        return outcome

    # ── only opened

    def opens(self, surface: str, *flags: str, keys: Sequence[str] = (), **variables: str) -> Outcome:
        """Open the project on a surface (tui, plain, headless, or a command) with the offline rules, and leave."""
        self._ready("")
        if surface == "tui":
            return self.screen((*flags,), keys or ("n", "\x03", "\x03"), variables)
        words = {"plain": ("--plain", *flags), "headless": ("-p", "what is here?", *flags)}
        return self._run(words.get(surface, (*surface.split(), *flags)), b"n\n/exit\n", variables)

    def screen(self, words: Sequence[str], keys: Sequence[str], variables: dict[str, str]) -> Outcome:
        """At a terminal: press each key when the screen has come to rest, then hang up."""
        master, slave = pty.openpty()
        try:
            run = self._start(words, (slave, slave, slave), {"COLUMNS": "100", "LINES": "30", **variables})
        finally:
            os.close(slave)
        seen = _until_quiet(master, first=SECONDS)
        for key in keys:
            if run.wait(0) is not None:
                break
            with contextlib.suppress(OSError):
                os.write(master, key.encode())
            seen += _until_quiet(master)
        if run.wait(1.0) is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(run.pid, signal.SIGHUP)
        os.close(master)
        code = run.wait(SECONDS)
        shown = ESCAPES.sub("", seen.decode("utf-8", "replace"))
        return Outcome(run.end() if code is None else code, shown, "", leftovers=self._hatchery.leftovers())

    # ── how a run goes

    def _ready(self, settings: str) -> None:
        self.world.settings(f'[sandbox]\nuse = "{self.sandbox}"\n{PLAIN}{settings}')
        self.world.own(self._hatchery.user.uid)
        if not self._watched:
            self.world.watch()
            self._watched = True
        self.world.expect(self.world.home / ".config/quintet/settings.toml")

    def _start(self, words: Sequence[str], handles: Sequence[int], variables: dict[str, str]) -> Run:
        env = {**self.world.variables(), **variables}
        return self._hatchery.start(words, self.world.project, env, handles)

    def _run(self, words: Sequence[str], typed: bytes, variables: dict[str, str]) -> Outcome:
        files = {name: self.world.out / name for name in ("in", "out", "err")}
        put(files["in"], typed)
        with open(files["in"], "rb") as given, open(files["out"], "wb") as out, open(files["err"], "wb") as err:
            run = self._start(words, (given.fileno(), out.fileno(), err.fileno()), variables)
        code = run.wait(SECONDS)
        late = code is None
        code, left = run.end(), self._hatchery.leftovers()
        said, complained = (files[name].read_bytes().decode("utf-8", "replace") for name in ("out", "err"))
        assert not late, f"still running after {SECONDS} s: {said}\n{complained}"
        return Outcome(code, said, complained, leftovers=left)


def _reply(number: int, calls: Call | Sequence[Call]) -> Reply:
    several = [calls] if isinstance(calls, tuple) and isinstance(calls[0], str) else list(calls)
    return Reply(
        calls=[
            {"id": f"c{number}-{index}", "name": name, "arguments": json.dumps(arguments)}  # type: ignore[misc]
            for index, (name, arguments) in enumerate(several)
        ]
    )


def _until_quiet(master: int, first: float = 0.3) -> bytes:
    """What a terminal shows until it has shown nothing for a while; `first` is how long it may take to begin."""
    seen, until = b"", time.monotonic() + SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(master, selectors.EVENT_READ)
        while selector.select(0.3 if seen else first) and time.monotonic() < until:
            try:
                seen += os.read(master, 65536)
            except OSError:  # it has left
                return seen
    return seen


def journal(home: Path) -> list[p.Event]:
    """Every event of the newest session of the one project there is."""
    found = sorted((home / ".local/state/quintet").glob("*/state.db"))
    if not found:
        return []

    async def read() -> list[p.Event]:
        store = SqliteStore(str(found[-1]))
        try:
            newest = store.newest()
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
