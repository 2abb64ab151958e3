"""The real program in a project: run to its end, started, or at a terminal; and a model server it can talk to."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pexpect

from tests.adapters.model_server import MODEL, ModelServer, Recorded, Reply, answer
from tests.surfaces.forked import PROGRAM, at_start, forks

SECONDS = 120.0  # a limit, not a measure: a busy machine takes its time
WAIT = 120
BUILD = ("--mode", "build", "--autonomous", "--permission-profile", "normal")


@dataclass(frozen=True)
class Done:
    """How a run ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)

    def lines(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines; anything else in it is an error."""
        return [json.loads(line) for line in self.out.splitlines()]

    def clean(self, code: int) -> Done:
        """Itself, if it ended with this code and without a stack trace."""
        assert "Traceback" not in self.err, self.err
        assert self.code == code, self
        return self


class Program:
    """Quintet, in one project."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._terminals: list[pexpect.spawn[str]] = []
        self._children: list[subprocess.Popen[str]] = []

    # ── to its end

    def run(self, *arguments: str, stdin: str | bytes = b"", **variables: str) -> Done:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        around = env(variables)
        if forks().read_at_start == at_start(around):
            done = forks().run(arguments, cwd=self.root, env=around, data=data, seconds=SECONDS)
        else:
            argv = [*PROGRAM, *arguments]
            done = subprocess.run(argv, cwd=self.root, input=data, capture_output=True, timeout=SECONDS, env=around)
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def shell(self, line: str) -> Done:
        """A line for bash in which $Q is the program."""
        done = subprocess.run(
            ["bash", "-c", line], cwd=self.root, capture_output=True, timeout=SECONDS, env=env({"Q": " ".join(PROGRAM)})
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    # ── while it runs

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [*PROGRAM, *arguments],
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env(variables),
        )
        self._children.append(child)
        return child

    def plain(self, *arguments: str, command: Sequence[str] = (), columns: int = 200, **variables: str) -> Terminal:
        """The plain surface at a terminal of its own."""
        program, *rest = command or (*PROGRAM, "--plain", *arguments)
        child = _Spawn(
            program,
            rest,
            cwd=str(self.root),
            env=env({"TERM": "xterm-256color", "NO_COLOR": "1", **variables}),
            encoding="utf-8",
            timeout=WAIT,
            echo=False,
            dimensions=(50, columns),
        )
        child.delaybeforesend = None
        child.ptyproc.delayafterclose = child.ptyproc.delayafterterminate = 0.01
        self._terminals.append(child)
        return Terminal(child)

    def close(self) -> None:
        for terminal in self._terminals:
            try:
                terminal.close(force=True)
            except pexpect.ExceptionPexpect:  # killed, and not gone at once on a busy machine
                terminal.ptyproc.wait()
        for child in self._children:
            child.kill()
            child.communicate(timeout=SECONDS)

    # ── what is on disk

    def settings(self, text: str, *, project: bool = False) -> Path:
        folder = self.root / ".quintet" if project else Path(os.environ["XDG_CONFIG_HOME"], "quintet")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "settings.toml"
        path.write_text(text)
        return path

    def sessions(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self.run("sessions", "list", "--json").clean(0).json()
        return listed

    def journal(self, session: str = "") -> list[dict[str, Any]]:
        session = session or self.sessions()[0]["session"]
        return self.run("sessions", "show", session, "--events").clean(0).lines()

    def events(self, kind: str, session: str = "") -> list[dict[str, Any]]:
        return [event for event in self.journal(session) if event["type"] == kind]


class _Spawn(pexpect.spawn):  # type: ignore[type-arg]
    """A program at a terminal; Quintet itself is forked from one that has already imported its modules."""

    def _spawnpty(self, args: list[bytes], *, env: dict[str, str], cwd: str, **how: Any) -> Any:
        words = tuple(os.fsdecode(word) for word in args)
        if words[: len(PROGRAM)] != PROGRAM or forks().read_at_start != at_start(env):
            return super()._spawnpty(args, env=env, cwd=cwd, **how)
        rows, columns = how["dimensions"]
        return forks().at_terminal(words[len(PROGRAM) :], cwd=Path(cwd), env=env, rows=rows, columns=columns)


class Terminal:
    """A person at a terminal: types lines, waits for words."""

    def __init__(self, child: pexpect.spawn[str]) -> None:
        self.child = child

    def sees(self, *words: str) -> str:
        """Waits for each of these words in turn; returns everything that came by."""
        came = []
        for word in words:
            self.child.expect_exact(word)
            came += [self.child.before or "", word]
        return "".join(came)

    def matches(self, pattern: str) -> re.Match[str]:
        self.child.expect(pattern)
        match = self.child.match
        assert isinstance(match, re.Match)
        return match

    def types(self, line: str) -> None:
        self.child.sendline(line)

    def confirms(self, answer: str = "y") -> None:
        """Answers the question about an own line, not so fast that it could have come with the line."""
        self.sees("Run this line with your rights", "n no")
        time.sleep(0.6)
        self.types(answer)

    def interrupts(self) -> None:
        self.child.sendintr()

    def goes_away(self) -> None:
        """Closes the terminal, and waits for the program's end."""
        self.child.ptyproc.fileobj.close()
        self.child.wait()

    def leaves(self) -> tuple[int | None, str]:
        """Waits for the program's end: its exit code and what it said until then."""
        self.child.expect(pexpect.EOF)
        rest = self.child.before or ""
        self.child.wait()
        return self.child.exitstatus, rest


def env(variables: dict[str, str]) -> dict[str, str]:
    return {**os.environ, "PYTHONUNBUFFERED": "", **variables}


# ── a model


class _Record(list[Recorded]):
    """A record of requests that can be waited on."""

    def __init__(self) -> None:
        super().__init__()
        self._came = asyncio.Event()

    def append(self, request: Recorded) -> None:
        super().append(request)
        self._came.set()

    async def reaches(self, length: int) -> None:
        while len(self) < length:
            self._came.clear()
            await self._came.wait()


class ModelThread:
    """A scripted model server in a thread of its own."""

    server_class = ModelServer

    def __init__(self, replies: Sequence[Reply]) -> None:
        self.server = self.server_class(replies)
        self.server.requests = self._record = _Record()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._do(self.server.__aenter__())

    def _do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(SECONDS)

    @property
    def said(self) -> list[list[tuple[str, str]]]:
        """The messages of each request, as role and text."""
        return [
            [(message["role"], message.get("content") or "") for message in request.body["messages"]]
            for request in self.server.requests
        ]

    def asked(self, times: int = 1) -> None:
        """Waits until so many requests have come."""
        self._do(self._record.reaches(times))

    def goes_on(self) -> None:
        """Gives the answer that was held."""
        self._loop.call_soon_threadsafe(self.server.goes_on.set)

    def settings(self, *, timeout: float = 60, retries: int = 0, more: str = "") -> str:
        return (
            f'[models.m]\nbase_url = "{self.server.base_url}"\nmodel = "{MODEL}"\ntimeout = {timeout}\n{more}\n'
            f'[routing]\nsmart = "m"\ndeep_effort = "high"\n'
            f'[limits]\nretries = {retries}\n[tools]\npresentation = "flat"\n'
        )

    def close(self) -> None:
        self._do(self.server.__aexit__())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


Model = Callable[..., ModelThread]


def call(name: str, /, **arguments: Any) -> Reply:
    """A reply that calls one tool."""
    return Reply(calls=[{"id": f"c-{name}", "name": name, "arguments": json.dumps(arguments)}])


def stuck_after(text: str) -> Reply:
    """A reply that streams this text and then nothing more, until the client leaves."""
    whole = answer(Reply(text=text))
    cut = whole.index(b"\r\n", whole.index(json.dumps(text, ensure_ascii=False)[1:-1].encode())) + 2
    return Reply(text=text, only=cut, then="hang")


EDIT = (
    call("Read", file_path="tally/count.py"),
    call("Edit", file_path="tally/count.py", old_string="def words", new_string="def tokens"),
    Reply(text="Renamed."),
)
