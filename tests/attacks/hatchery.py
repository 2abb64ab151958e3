"""Runs of the real program, each forked from a process that has imported it, as this user or as one without rights.

`Hatchery.start` gives a run its arguments, folder, environment and three handles; it is a session of its own, at a
terminal if its input is one. What a run leaves behind becomes a child of the hatchery, so `leftovers` can name it.
Each worker of the tests has hatcheries of its own; where `share` was called before, they are forked too.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import functools
import importlib
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.surfaces.forked import IMPORTED, become, run_to_its_end, serve

ROOT = Path(__file__).parents[2]
NOBODY = 65534
PATH = "/usr/local/bin:/usr/bin:/bin"
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
SETTLING_SECONDS = 20.0  # a limit: what was killed may take its time to go
# setpriv can start a program that the user cannot start again
RUNNABLE = "import apsw, quintet.app.open, ssl, subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"
ALSO_IMPORTED = (
    "ssl",
    "quintet.features.mcp.serving.command",
    "quintet.surfaces.tui.app",
    "quintet.app.terminal_ui",
)


@dataclass
class Run:
    """A run of the program: its process, and word of its end."""

    pid: int
    _news: Any
    code: int | None = None

    def wait(self, seconds: float) -> int | None:
        """Its exit code; nothing if it has not ended by then."""
        if self.code is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._news, selectors.EVENT_READ)
                if not selector.select(seconds):
                    return None
            self.code = os.waitstatus_to_exitcode(json.loads(self._news.readline()))
            self._news.close()
        return self.code

    def end(self) -> int:
        """Ends it, if it has not."""
        if self.wait(0) is None:
            with contextlib.suppress(ProcessLookupError):  # it has just ended, and word of it is on its way
                os.kill(self.pid, signal.SIGKILL)
        code = self.wait(60)
        assert code is not None
        return code


@dataclass(frozen=True)
class User:
    """Whose rights a run has, and the Python that this user can start."""

    name: str
    uid: int
    python: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)


class First:
    """A process that has imported the program, and that hatcheries are forked from."""

    def __init__(self, user: User) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        env = {"PATH": PATH, "HOME": "/nonexistent", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", **user.env}
        with theirs:
            self._process = subprocess.Popen(
                [*user.python, "-m", "tests.attacks.hatchery", str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                cwd=ROOT,
                env=env,
            )

    def fork(self) -> tuple[socket.socket, int]:
        """Another hatchery: where to ask it for runs, and its process."""
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            socket.send_fds(self._socket, [b"one"], [theirs.fileno()])
        return mine, int(mine.recv(32))

    def close(self) -> None:
        self._socket.close()
        self._process.wait()


class Hatchery:
    def __init__(self, user: User, shared: First | None = None) -> None:
        self.user = user
        self._own = None if shared else First(user)
        self._socket, self._pid = (shared or self._own).fork()  # type: ignore[union-attr]

    def start(self, arguments: Sequence[str], cwd: Path, env: dict[str, str], handles: Sequence[int]) -> Run:
        told, tells = os.pipe()
        request = {"argv": list(arguments), "cwd": str(cwd), "env": {"LANG": "C.UTF-8", **self.user.env, **env}}
        socket.send_fds(self._socket, [json.dumps(request).encode()], [*handles, tells])
        os.close(tells)
        news = open(told, "rb", buffering=0)  # noqa: SIM115  closed by the run
        return Run(int(news.readline()), news)

    def leftovers(self) -> list[str]:
        """What a run left running, ended here; call it when no run is under way."""
        until = time.monotonic() + SETTLING_SECONDS
        while (left := self._children()) and time.monotonic() < until:
            time.sleep(0.02)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return [f"{pid}: {line}" for pid, line in left.items()]

    def _children(self) -> dict[int, str]:
        pid = self._pid
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return {int(child): line for child in found if (line := _line(int(child)))}

    def close(self) -> None:
        self._socket.close()
        if self._own:
            self._own.close()


def _line(pid: int) -> str:
    """The command line of a process that lives."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""
    return "" if state in "ZX" else words.strip() or "?"


def me() -> User:
    return User("root" if os.getuid() == 0 else "user", os.getuid(), (sys.executable,))


@functools.cache
def somebody() -> User | str:
    """A user without rights, or why there can be none here."""
    if os.getuid() != 0:
        return me()
    setpriv = shutil.which("setpriv")
    if not setpriv:
        return "needs setpriv"
    become = (setpriv, "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups")
    packages = [entry for entry in sys.path if entry.endswith("site-packages")]
    env = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *packages])}
    minor = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/bin/{minor}", f"/usr/local/bin/{minor}"):
        command = (*become, python)
        try:
            done = subprocess.run([*command, "-c", RUNNABLE], env=env, capture_output=True)
        except OSError:
            continue
        if done.returncode == 0:
            return User("user", NOBODY, command, env)
    return f"needs a {minor} that user {NOBODY} may run"


@functools.cache
def first(user_name: str) -> First:
    """The one process of a user that hatcheries are forked from."""
    user = me() if user_name == me().name else somebody()
    assert isinstance(user, User), user
    made = First(user)
    atexit.register(made.close)
    return made


@functools.cache
def hatchery(user_name: str) -> Hatchery:
    """The one hatchery of a user, for all tests of a process."""
    user = me() if user_name == me().name else somebody()
    assert isinstance(user, User), user
    made = Hatchery(user, first(user_name))
    atexit.register(made.close)
    return made


def share() -> None:
    """Before processes are forked that each want hatcheries: what these are forked from is started once."""
    for user in (me(), somebody()):
        if isinstance(user, User):
            first(user.name)


# ── in the process that is forked


def main() -> None:
    for name in (*IMPORTED, *ALSO_IMPORTED):
        importlib.import_module(name)
    wanted = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a hatchery
    while True:
        data, handles, _, _ = socket.recv_fds(wanted, 16, 1)
        if not data:
            return
        if not os.fork():
            break
        os.close(handles[0])
    wanted.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    ctypes.CDLL(None, use_errno=True).prctl(SUBREAPER, 1, 0, 0, 0)
    requests = socket.socket(fileno=handles[0])
    requests.send(str(os.getpid()).encode())
    came = serve(requests)
    if not came:
        return
    os.setsid()
    become(*came)
    sys.path[0] = str(ROOT)  # an installed program does not look for its modules in the folder it is started in
    if os.isatty(0):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    run_to_its_end()


if __name__ == "__main__":
    main()
