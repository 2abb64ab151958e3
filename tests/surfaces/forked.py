"""Runs of the program, each a process of its own, forked from one that has already imported its modules.

A run costs its own work and not a start of Python; what Python itself reads at its start has to be as it was here.
`Forks.put_program` makes a `quintet` for lines of a shell: a small script that hands its words, folder, environment and
handles over and waits for the end. At a terminal, or with a handle closed, it is the program itself.
"""

from __future__ import annotations

import atexit
import fcntl
import functools
import gc
import importlib.util
import io
import json
import os
import pty
import runpy
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import ptyprocess

READ_AT_START = ("PYTHON", "LC_", "LANG")
IMPORTED = (
    "asyncio",
    "difflib",
    "h11",
    "tomllib",
    "quintet.app.open",
    "quintet.app.late_parts",
    "quintet.cli.agents",
    "quintet.cli.commands",
    "quintet.cli.doctor",
    "quintet.cli.main",
    "quintet.cli.session",
    "quintet.cli.session_journal",
    "quintet.cli.sessions",
    "quintet.cli.reports",
    "quintet.cli.tasks",
    "quintet.cli.tools",
    "quintet.surfaces.headless",
    "quintet.surfaces.plain",
    "quintet.surfaces.tables",
    "quintet.adapters.models.chat_completions",
    "quintet.adapters.models.http_model",
    "quintet.adapters.offline_rules.model",
    "quintet.adapters.protected.moved_aside",
    "quintet.adapters.sandbox.bubblewrap",
    "quintet.adapters.sandbox.landlock",
    "quintet.adapters.shell_grammar.parse",
    "quintet.adapters.sqlite.grouped_writes",
    "quintet.adapters.sqlite.store",
    "quintet.adapters.sqlite.task_rows",
    "quintet.adapters.sqlite.worker_rows",
)
# Only where the feature is there, and the packages that it needs.
OF_FEATURES = {
    "mcp": (("mcp",), ("connection",)),
    "acp": (("acp",), ("serving",)),
    "postgres": (("psycopg", "procrastinate"), ("queue", "queue_schema", "schema", "search", "store")),
    "ai_clis": ((), ("installed", "settings")),
    "library": ((), ("store",)),
    "memory": ((), ("holding", "store")),
    "remote": ((), ("wiring",)),
    "schedule": (("whenever",), ("book", "install", "port", "store", "words")),
    "skills": ((), ("service", "wiring")),
    "workers": ((), ("service",)),
}
HELD = 60  # seconds that what a run started may hold the run's handles after its end
MOST_BYTES = 1_000_000  # of a request: its words and its environment
PROGRAM = (sys.executable, "-m", "quintet")
TEMPORARY = tempfile.gettempdir()  # the suite's, not a test's own
# Imports next to nothing: most of what it takes is Python's own start.
HANDS_OVER = """\
#!{python} -IS
import os, sys
import _signal, _socket
words = [os.fsencode(word) for word in sys.argv[1:]]
read_at_start = {{name: value for name, value in os.environ.items() if name.startswith({names})}}
try:
    plain = not any(os.isatty(handle) or not os.fstat(handle) for handle in range(3))
except OSError:
    plain = False
if not plain or read_at_start != {read_at_start}:
    os.execv({program}[0], [*{program}, *words])
told, tells = os.pipe()
around = [name + b"=" + value for name, value in os.environb.items()]
request = b"\\0".join([b"", os.getcwdb(), b"%d" % len(words), *words, *around])
handles = b"".join(handle.to_bytes(4, sys.byteorder) for handle in (0, 1, 2, tells))
door = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM)
door.connect({door})
door.sendmsg([request], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, handles)])
for handle in (0, 1, 2, tells):
    os.close(handle)
news = open(told, "rb", buffering=0)
pid = int(news.readline())
for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT):
    _signal.signal(number, lambda number, _: os.kill(pid, number))
status = int(news.readline())
if os.WIFSIGNALED(status):
    _signal.signal(os.WTERMSIG(status), _signal.SIG_DFL)
    os.kill(os.getpid(), os.WTERMSIG(status))
os._exit(os.WEXITSTATUS(status))
"""


def at_start(variables: dict[str, str]) -> dict[str, str]:
    """Those of an environment that Python reads before any of its code."""
    return {name: value for name, value in variables.items() if name.startswith(READ_AT_START)}


class Forks:
    """The process that is forked, started once."""

    def __init__(self, env: dict[str, str]) -> None:
        self.read_at_start = at_start(env)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._folder = tempfile.TemporaryDirectory(prefix="forks-", dir=TEMPORARY)
        self._door = f"{self._folder.name}/door"
        with theirs, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as door:
            door.bind(self._door)
            handles = (theirs.fileno(), door.fileno())
            argv = [sys.executable, __file__, *map(str, handles)]
            self._process = subprocess.Popen(argv, pass_fds=handles, stdin=subprocess.DEVNULL, env=env)

    def close(self) -> None:
        self._socket.close()
        self._process.wait()
        self._folder.cleanup()

    def put_program(self, path: Path) -> None:
        """A program for lines of a shell, whose runs are forked."""
        about = {"python": sys.executable, "program": PROGRAM, "names": READ_AT_START, "door": repr(self._door)}
        path.write_text(HANDS_OVER.format(read_at_start=self.read_at_start, **about))
        path.chmod(0o755)

    def at_terminal(
        self, arguments: tuple[str, ...], *, cwd: Path, env: dict[str, str], rows: int, columns: int
    ) -> AtTerminal:
        """A run at a terminal of its own, which does not echo what is typed."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        how = termios.tcgetattr(slave)
        how[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, how)
        told, tells = os.pipe()
        self._request(arguments, cwd, env, [slave, slave, slave, tells])
        os.close(slave)
        os.close(tells)
        return AtTerminal(open(told, "rb", buffering=0), master)

    def piped(self, arguments: tuple[str, ...], *, cwd: Path, env: dict[str, str], errors: int) -> Piped:
        """A run that is spoken to by its stdin and stdout; `errors` is where its stderr goes."""
        (reads, typed), (out, writes), (told, tells) = (os.pipe() for _ in range(3))
        self._request(arguments, cwd, env, [reads, writes, errors, tells])
        for theirs in (reads, writes, tells):
            os.close(theirs)
        return Piped(open(told, "rb", buffering=0), typed, out)

    def _request(self, arguments: tuple[str, ...], cwd: Path, env: dict[str, str], handles: list[int]) -> None:
        request = json.dumps({"argv": arguments, "cwd": str(cwd), "env": env}).encode()
        socket.send_fds(self._socket, [request], handles)

    def run(
        self,
        arguments: tuple[str, ...],
        *,
        cwd: Path,
        env: dict[str, str],
        data: bytes,
        seconds: float,
        begun: Callable[[int], None] = lambda pid: None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run it to its end; `begun` is told its process id, which another one may have as soon as it has ended."""
        (reads, typed), (out, writes), (err, complains), (told, tells) = (os.pipe() for _ in range(4))
        self._request(arguments, cwd, env, [reads, writes, complains, tells])
        for theirs in (reads, writes, complains, tells):
            os.close(theirs)
        said: dict[int, bytes] = {}
        hands = [threading.Thread(target=_take, args=(said, handle), daemon=True) for handle in (out, err)]
        hands.append(threading.Thread(target=_give, args=(typed, data), daemon=True))
        for hand in hands:
            hand.start()
        with open(told, "rb", buffering=0) as news:
            pid = json.loads(news.readline())
            begun(pid)
            over = _readable(news, seconds)
            if not over:
                os.kill(pid, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(json.loads(news.readline()))
        for hand in hands:
            hand.join(HELD)
        if any(hand.is_alive() for hand in hands):
            raise RuntimeError(f"quintet {' '.join(arguments)} ended, and what it started still holds its handles")
        if not over:
            raise subprocess.TimeoutExpired(arguments, seconds, said[out], said[err])
        return subprocess.CompletedProcess(arguments, code, said[out], said[err])


class Piped:
    """A run that is no child of this process, and the ends of its pipes."""

    def __init__(self, news: Any, typed: int, out: int) -> None:
        self._news = news
        self.pid = int(news.readline())
        self.typed, self.out = typed, out
        self._code: int | None = None

    def wait(self, seconds: float) -> int:
        """Its exit code; one that does not end in time is killed."""
        if self._code is None:
            if not _readable(self._news, seconds):
                os.kill(self.pid, signal.SIGKILL)
            self._code = os.waitstatus_to_exitcode(int(self._news.readline()))
            self._news.close()
        return self._code


class AtTerminal(ptyprocess.PtyProcess):
    """A run that is no child of this process: its parent tells of its end."""

    def __init__(self, news: Any, master: int) -> None:
        self._news = news
        super().__init__(int(news.readline()), master)

    def wait(self) -> int | None:
        if not self.terminated:
            status = int(self._news.readline())
            self._news.close()
            self.status, self.terminated = status, True
            self.exitstatus = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
            self.signalstatus = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        return self.exitstatus

    def isalive(self) -> bool:
        if not self.terminated and _readable(self._news, 0):
            self.wait()
        return not self.terminated


@functools.cache
def forks() -> Forks:
    made = Forks({**os.environ, "PYTHONUNBUFFERED": ""})
    atexit.register(made.close)
    return made


def _take(said: dict[int, bytes], handle: int) -> None:
    with open(handle, "rb") as file:
        said[handle] = file.read()


def _give(handle: int, data: bytes) -> None:
    try:
        with open(handle, "wb", buffering=0) as file:
            left = memoryview(data)
            while left:
                left = left[file.write(left) :]
    except BrokenPipeError:  # it does not read
        pass


def _readable(file: BinaryIO | Any, seconds: float) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(file, selectors.EVENT_READ)
        return bool(selector.select(seconds))


# ── in the process that is forked


def serve(*doors: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Forks for each request, and tells of its end. Returns in the fork, with its request; or when no more can come."""
    for name in (*IMPORTED, *_of_features()):
        importlib.import_module(name)
    gc.freeze()
    with selectors.DefaultSelector() as selector:
        for door in doors:
            selector.register(door, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.data:
                    pid, tells = key.data
                    _, status = os.waitpid(pid, 0)
                    os.write(tells, b"%d\n" % status)
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    os.close(tells)
                    continue
                assert isinstance(key.fileobj, socket.socket)
                data, handles, _, _ = socket.recv_fds(key.fileobj, MOST_BYTES, 4)
                if not data:
                    return None
                *standard, tells = handles
                pid = os.fork()
                if not pid:
                    return _request(data), standard
                os.write(tells, b"%d\n" % pid)
                for handle in standard:
                    os.close(handle)
                selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, tells))


def _of_features() -> list[str]:
    return [
        f"quintet.features.{feature}.{name}"
        for feature, (needs, names) in OF_FEATURES.items()
        if all(map(importlib.util.find_spec, (f"quintet.features.{feature}", *needs)))
        for name in names
    ]


def _request(data: bytes) -> dict[str, Any]:
    if data[:1] == b"{":
        found: dict[str, Any] = json.loads(data)
        return found
    _, cwd, count, *rest = map(os.fsdecode, data.split(b"\0"))
    words, around = rest[: int(count)], rest[int(count) :]
    return {"cwd": cwd, "argv": words, "env": dict(one.split("=", 1) for one in around)}


def become(request: dict[str, Any], standard: list[int]) -> None:
    """As `python -m quintet …` finds itself."""
    for number, handle in enumerate(standard):
        os.dup2(handle, number)
    os.closerange(3, 1024)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests may ignore it, as nohup does
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["quintet", *request["argv"]]
    sys.path[0] = request["cwd"]
    for number, name in enumerate(("stdin", "stdout", "stderr")):  # these knew what was here before
        old = getattr(sys, name)
        how = {"encoding": old.encoding, "errors": old.errors, "line_buffering": name == "stderr"}
        raw = os.fdopen(number, "wb" if number else "rb", closefd=False)
        setattr(sys, name, io.TextIOWrapper(raw, **how))


def run_to_its_end() -> None:
    """The program, and what Python does at an end: threads, exit functions, garbage, streams.

    Only that Python takes every module apart is left out. It writes to each page of memory that the fork shares with
    this process, and to copy them all takes longer than the run.
    """
    code = 0
    try:
        runpy.run_module("quintet", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        code = end.code or 0
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()  # whoever is at fault for what was never awaited or closed says so here
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        sys.exit(code)  # Python has a message and a code for it
    os._exit(code)


if __name__ == "__main__":
    came = serve(*(socket.socket(fileno=int(handle)) for handle in sys.argv[1:]))
    if came:
        become(*came)
        if os.isatty(0):
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        run_to_its_end()
