"""`-n N`: the tests are collected once, and N processes forked from there run them.

A worker asks for one test at a time, and for the next before it runs the one it has, so that what both use stays. It is
given the tests of a file in their order; when no file is left, the later half of what another still has before it.
Files come in the order of their rooms in `FIRST`: long tests early, so that the last to be run are short ones. A worker
that dies fails the test it was at, and another one takes its place. So does one that has been at a test for too long:
it is asked where it is, and ended with all that it started.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import faulthandler
import importlib
import json
import os
import selectors
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import IO, Any

import pytest

from tests.surfaces.forked import forks

ROOT = Path(__file__).parents[1]
FIRST = ("features", "attacks", "faults", "scenarios", "surfaces", "cli", "engine", "adapters", "tools")
MANY_TESTS = 1000
MANY = 20  # test files not compiled yet: more than one process compiles them
PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
PIECE = 1 << 16  # of what is read at once
LONGEST = 400.0  # seconds for one test, in which a busy machine has done the longest one many times over
LOOK = 5.0  # seconds between looks for one that hangs


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    if pluginmanager.hasplugin("xdist"):  # has a flag of this name, and workers that each collect
        return
    group = parser.getgroup("workers")
    group._addoption("-n", "--workers", type=int, default=0, metavar="N", help="run the tests in N processes")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    option = session.config.option
    if (
        not getattr(option, "workers", 0)
        or option.collectonly
        or option.usepdb
        or session.testsfailed
        or not session.items
    ):
        return None
    Loop(session).run(min(option.workers, len(session.items)))
    return True


class Queue:
    """Which test is whose: of each file a run of tests, by their places in the collection."""

    def __init__(self, items: list[pytest.Item]) -> None:
        of_file = [list(places) for _, places in groupby(range(len(items)), lambda place: items[place].path)]
        self._files = sorted(of_file, key=lambda places: _rank(items[places[0]].path))
        self._files.reverse()  # taken from the end
        self._taken: dict[int, list[int]] = {}

    def next(self, worker: int) -> int | None:
        mine = self._taken.get(worker)
        if not mine:
            mine = self._taken[worker] = self._files.pop() if self._files else self._half()
        return mine.pop(0) if mine else None

    def _half(self) -> list[int]:
        longest = max(self._taken.values(), key=len)
        half = longest[(len(longest) + 1) // 2 :] or longest[:]
        del longest[len(longest) - len(half) :]
        return half


def _rank(path: Path) -> int:
    room = path.relative_to(ROOT / "tests").parts[0] if path.is_relative_to(ROOT / "tests") else ""
    return FIRST.index(room) if room in FIRST else len(FIRST)


class Loop:
    """The process that collected: it forks the workers, gives them tests, and tells of what came of them."""

    def __init__(self, session: pytest.Session) -> None:
        self.session = session
        self.config = session.config
        self.queue = Queue(session.items)
        self._workers: dict[int, Worker] = {}
        self._base: Path = self.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        self._longest = float(os.environ.get("QUINTET_TEST_SECONDS", LONGEST))
        self._all_phases = self.config.option.durations is not None or self.config.option.xmlpath

    def run(self, count: int) -> None:
        if len(self.session.items) > MANY_TESTS:
            forks()  # one that all workers ask for runs of the program
        try:
            with selectors.DefaultSelector() as selector:
                for number in range(count):
                    self._start(number, selector)
                while self._workers:
                    for key, _ in selector.select(min(LOOK, self._longest)):
                        self._hear(key.data, selector)
                    for worker in self._workers.values():
                        if worker.at and time.monotonic() - worker.since > self._longest:
                            worker.is_stuck(self._longest)
        finally:
            for worker in self._workers.values():
                worker.end()
        if self.session.shouldfail:
            raise self.session.Failed(self.session.shouldfail)
        if self.session.shouldstop:
            raise self.session.Interrupted(self.session.shouldstop)

    def _start(self, number: int, selector: selectors.BaseSelector) -> None:
        mine, theirs = socket.socketpair()
        where = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115  # as long as the worker
        pid = os.fork()
        if not pid:
            selector.close()
            mine.close()
            for other in self._workers.values():
                other.socket.close()
            faulthandler.register(signal.SIGUSR2, where)
            _work(self.session, theirs, self._base / f"w{number}-{os.getpid()}")
        theirs.close()
        self._workers[number] = Worker(pid, mine, where)
        selector.register(mine, selectors.EVENT_READ, number)

    def _hear(self, number: int, selector: selectors.BaseSelector) -> None:
        worker = self._workers[number]
        messages = worker.hears()
        for kind, *what in messages or ():
            if kind == "next":
                worker.says(self._next(number, worker))
            elif kind == "ended":
                worker.at.remove(what[0])
            else:
                self._tell(kind, *what)
        if messages is None:  # it has left
            selector.unregister(worker.socket)
            del self._workers[number]
            code = os.waitstatus_to_exitcode(worker.left())
            if worker.at and not self._over():
                self._lost(worker.at[0], worker.stuck or f"The worker that ran it ended: exit code {code}")
                self._start(number, selector)
                self._workers[number].first = worker.at[1:]

    def _next(self, number: int, worker: Worker) -> int | None:
        if self._over():
            return None
        place = worker.first.pop() if worker.first else self.queue.next(number)
        if place is not None:
            worker.at.append(place)
        return place

    def _over(self) -> bool:
        return bool(self.session.shouldfail or self.session.shouldstop)

    def _tell(self, kind: str, what: Any, *rest: Any) -> None:
        if kind == "report":
            report = self.config.hook.pytest_report_from_serializable(config=self.config, data=what)
            if isinstance(report.longrepr, list):  # where and why it was skipped
                report.longrepr = tuple(report.longrepr)
        elif rest[0] == "call" or self._all_phases:
            item = self.session.items[what]
            when, start, seconds = rest
            report = pytest.TestReport(
                item.nodeid, item.location, {}, "passed", None, when, (), seconds, start, start + seconds
            )
        else:
            return
        self._log(report)

    def _lost(self, place: int, how: str) -> None:
        item = self.session.items[place]
        self._log(pytest.TestReport(item.nodeid, item.location, {}, "failed", how, "call"))

    def _log(self, report: pytest.TestReport) -> None:
        """A failure is named at once: of a run that is cut short there is no summary."""
        self.config.hook.pytest_runtest_logreport(report=report)
        terminal = self.config.pluginmanager.getplugin("terminalreporter")
        if report.failed and terminal:
            terminal.ensure_newline()
            terminal.write_line(f"{report.nodeid} failed ({report.when})")


class Worker:
    """A worker as the loop knows it: what it is `at` and `since` when, and what it is to do `first`."""

    def __init__(self, pid: int, connection: socket.socket, where: IO[str]) -> None:
        self.pid = pid
        self.socket = connection
        self.since = time.monotonic()
        self.stuck = ""
        self._where = where
        self.at: list[int] = []
        self.first: list[int] = []
        self._begun = b""

    def hears(self) -> list[list[Any]] | None:
        """What it has said by now; nothing if it has left."""
        try:
            piece = self.socket.recv(PIECE)
        except ConnectionResetError:
            piece = b""
        if not piece:
            return None
        self.since = time.monotonic()
        *lines, self._begun = (self._begun + piece).split(b"\n")
        return [json.loads(line) for line in lines]

    def says(self, place: int | None) -> None:
        with contextlib.suppress(BrokenPipeError):  # it has left, which is heard next
            self.socket.sendall(json.dumps(place).encode() + b"\n")

    def is_stuck(self, seconds: float) -> None:
        """Asks it where it is, and ends it with all that it started; that it left is heard next."""
        os.kill(self.pid, signal.SIGUSR2)
        time.sleep(1)
        self._where.seek(0)
        started = dict(_started(self.pid))
        lines = (f"  {pid} {line}" for pid, line in started.items())
        running = "\n".join(["", "Started by it and still running:", *lines]) if started else ""
        self.stuck = f"It did not end in {seconds:g} s.\n{self._where.read()}{running}"
        for pid in (self.pid, *started):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.since = time.monotonic()

    def left(self) -> int:
        self.socket.close()
        self._where.close()
        return os.waitpid(self.pid, 0)[1]

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.left()


def _started(pid: int) -> Iterator[tuple[int, str]]:
    """The processes below one, with their command lines."""
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            with contextlib.suppress(OSError):
                yield child, Path(f"/proc/{child}/cmdline").read_text(errors="replace").replace("\0", " ")
                yield from _started(child)


# ── in a worker


def _work(session: pytest.Session, loop: socket.socket, base: Path) -> None:
    """Runs what it is given, and ends as a process does; never returns."""
    code = 1
    try:
        _dies_with(os.getppid())
        atexit._clear()
        base.mkdir(mode=0o700)
        session.config._tmp_path_factory._basetemp = base  # type: ignore[attr-defined]
        manager = session.config.pluginmanager
        manager.unregister(name="terminalreporter")
        _print_apart(manager.getplugin("capturemanager"))
        manager.register(Teller(session, loop))
        _run(session, loop)
        atexit._run_exitfuncs()
        code = 0
    except KeyboardInterrupt:
        pass
    finally:
        os._exit(code)


def _print_apart(capture: Any) -> None:
    """Gives what is printed here a file of its own, under the objects that modules may have kept since they began."""
    captured = capture._global_capturing
    for one in (captured.out, captured.err) if captured else ():
        if handle := getattr(one, "targetfd", None):
            with tempfile.TemporaryFile(buffering=0) as own:
                os.dup2(own.fileno(), one.tmpfile.fileno())
                os.dup2(own.fileno(), handle)


def _dies_with(parent: int) -> None:
    """A loop that was killed leaves no worker behind, wherever the system can be asked for that."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _run(session: pytest.Session, loop: socket.socket) -> None:
    answers = loop.makefile("rb")

    def ask() -> int | None:
        _send(loop, "next")
        place: int | None = json.loads(answers.readline())
        return place

    place = ask()
    while place is not None:
        following = ask()
        item = session.items[place]
        item.config.hook.pytest_runtest_protocol(
            item=item, nextitem=None if following is None else session.items[following]
        )
        _send(loop, "ended", place)
        place = following


def _send(loop: socket.socket, *message: Any) -> None:
    loop.sendall(json.dumps(message, default=str).encode() + b"\n")


class Teller:
    """Sends each report to the loop; of what passed and said nothing, only that."""

    def __init__(self, session: pytest.Session, loop: socket.socket) -> None:
        self._loop = loop
        self._config = session.config
        self._places = {item.nodeid: place for place, item in enumerate(session.items)}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.passed and not hasattr(report, "wasxfail"):
            _send(self._loop, "passed", self._places[report.nodeid], report.when, report.start, report.duration)
        else:
            data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
            _send(self._loop, "report", data)


# ── compiled by several


def pytest_sessionstart(session: pytest.Session) -> None:
    """In a fresh checkout the test files are compiled by several processes before one collects them."""
    workers = getattr(session.config.option, "workers", 0)
    files = list(_not_compiled(session.config)) if workers else []
    if len(files) < MANY:
        return
    children = []
    for number in range(workers):
        pid = os.fork()
        if not pid:
            for path in files[number::workers]:
                with contextlib.suppress(BaseException):  # collection says what is wrong with it
                    importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
            os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)


def _not_compiled(config: pytest.Config) -> Iterator[Path]:
    for word in config.args:
        for path in sorted(Path(word).resolve().rglob("test_*.py")):
            if not any((path.parent / "__pycache__").glob(f"{path.stem}.*-pytest-*.pyc")):
                yield path
