"""A PostgreSQL server of the tests' own: one for the run, on a Unix socket in a temporary folder, gone with the run.

It is started before the workers are forked, if a test wants it; every such test gets a database of its own. The
programs of the server run as an ordinary user, whoever runs the tests.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from glob import glob
from importlib.util import find_spec
from pathlib import Path

import pytest

SECONDS = 120.0  # a limit, not a measure
DURABLE = ("listen_addresses=", "log_min_messages=panic", "max_connections=60", "shared_buffers=16MB")
QUICK = (
    *DURABLE,
    *("fsync=off", "full_page_writes=off", "synchronous_commit=off", "autovacuum=off", "max_wal_size=256MB", "jit=off"),
)
RULES = "local all locked scram-sha-256\nlocal all all trust\n"
WANTS = {"postgres", "database", "stores"}
NEEDED = "needs postgresql (scripts/test --system installs it)"


def programs() -> str:
    """The folder of the server's programs; Debian keeps them off PATH."""
    found = shutil.which("initdb")
    folders = [os.path.dirname(os.path.realpath(found))] if found else sorted(glob("/usr/lib/postgresql/*/bin"))
    return folders[-1] if folders else ""


class Server:
    """A cluster in a folder of its own."""

    def __init__(self, *, durable: bool = False, folder: str = "", more: tuple[str, ...] = ()) -> None:
        self._options = (*(DURABLE if durable else QUICK), *more)
        self._as = _ordinary_user()
        self.folder = tempfile.mkdtemp(prefix="pg.", dir=folder or _open_folder())
        self._child: subprocess.Popen[bytes] | None = None
        if self._as:
            os.chown(self.folder, self._as.pw_uid, self._as.pw_gid)
        self.data = os.path.join(self.folder, "data")
        self._run("initdb", "-D", self.data, "-U", "quintet", "-E", "UTF8", "--no-locale", "--no-sync", "-A", "trust")
        Path(self.data, "pg_hba.conf").write_text(RULES)
        self.start()

    def url(self, name: str = "postgres", user: str = "quintet") -> str:
        return f"postgresql://{user}@/{name}?host={self.folder}"

    def start(self) -> None:
        options = itertools.chain.from_iterable(("-c", one) for one in self._options)
        argv = [f"{programs()}/postgres", "-D", self.data, "-k", self.folder, *options]
        self._child = subprocess.Popen(
            argv,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            env=_around(),
            preexec_fn=_end_with_parent,
            **self._user(),  # type: ignore[call-overload]
        )
        self._run("pg_ctl", "status", "-D", self.data, check=False)
        self._wait()

    def _wait(self) -> None:
        ready = ["-h", self.folder, "-U", "quintet", "-d", "postgres", "-t", "1", "-q"]
        for _ in range(int(SECONDS * 10)):
            if subprocess.run([f"{programs()}/pg_isready", *ready], env=_around()).returncode == 0:
                return
            assert self._child
            try:
                self._child.wait(0.1)
                raise AssertionError("the server did not start")
            except subprocess.TimeoutExpired:
                continue
        raise AssertionError("the server is not ready")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT: connections are cut; SIGQUIT: as a crash."""
        if self._child:
            self._child.send_signal(how)
            self._child.wait(SECONDS)
            self._child = None

    def close(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def execute(self, sql: str, name: str = "postgres") -> list[tuple[object, ...]]:
        import psycopg

        with psycopg.connect(self.url(name), autocommit=True) as connection:
            done = connection.execute(sql.encode())
            return done.fetchall() if done.description else []

    def _run(self, program: str, *words: str, check: bool = True) -> None:
        subprocess.run(
            [f"{programs()}/{program}", *words],
            check=check,
            capture_output=True,
            timeout=SECONDS,
            cwd=self.folder,
            env=_around(),
            **self._user(),  # type: ignore[call-overload]
        )

    def _user(self) -> dict[str, object]:
        return {"user": self._as.pw_uid, "group": self._as.pw_gid, "extra_groups": []} if self._as else {}


def _ordinary_user() -> pwd.struct_passwd | None:
    """The server refuses to run as root."""
    if os.geteuid():
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise AssertionError("there is no ordinary user to run the server as")


def _open_folder() -> str:
    """A temporary folder that an ordinary user gets into."""
    for folder in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
        above = [Path(folder), *Path(folder).parents]
        if os.geteuid() != 0 or all(one.stat().st_mode & 0o001 for one in above):
            return folder
    return "/tmp"


def _around() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGQUIT)


class Run:
    server: Server | None = None
    made = itertools.count(1)


def pytest_collection_finish(session: pytest.Session) -> None:
    wanted = any(WANTS & set(getattr(item, "fixturenames", ())) for item in session.items)
    if not wanted or not programs() or session.config.option.collectonly:
        return
    if find_spec("quintet.features.postgres") is None:  # a copy without it: scripts/check features
        return
    from quintet.features.postgres.link import ServerLink
    from quintet.features.postgres.schema import migrate

    Run.server = Server()
    Run.server.execute("CREATE DATABASE model")
    link = ServerLink(Run.server.url("model"), reads_only=False)
    migrate(link, init=True)
    link.close()
    # What is connected to a template keeps it from being copied, and a connection takes a moment to end.
    Run.server.execute("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = 'model'")
    Run.server.execute("CREATE DATABASE tables TEMPLATE model")  # which nobody writes to
    Run.server.execute("CREATE ROLE locked LOGIN PASSWORD 'pass/word@1'")


def pytest_unconfigure() -> None:
    if Run.server:
        Run.server.close()
        Run.server = None


@pytest.fixture
def postgres() -> Server:
    """The server of the run."""
    if Run.server is None:
        pytest.skip(NEEDED)
    return Run.server


@pytest.fixture
def database(postgres: Server) -> Iterator[str]:
    """The URL of a database with Quintet's tables, of this test's own."""
    name = f"t{os.getpid()}_{next(Run.made)}"
    postgres.execute(f"CREATE DATABASE {name} TEMPLATE tables")
    yield postgres.url(name)
    postgres.execute(f"DROP DATABASE {name} WITH (FORCE)")
