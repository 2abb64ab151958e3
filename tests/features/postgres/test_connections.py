"""A database that cannot be reached, lets nobody in or goes away: one line with what to do, and nothing lost."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import time
from collections.abc import Iterator
from uuid import uuid4

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.processes.system import SystemClock
from quintet.adapters.secrets.vault import Vault
from quintet.adapters.settings.layers import load
from quintet.domain.base.database_url import secrets_in, shown_url
from quintet.domain.base.errors import QuintetError, StoreUnreachable
from quintet.domain.settings.settings import Settings
from quintet.features.postgres import link as links
from quintet.features.postgres import queue as queues
from quintet.features.postgres import store as stores
from quintet.features.postgres.link import ServerLink
from quintet.features.postgres.schema import migrate
from quintet.features.postgres.store import PostgresStore
from tests.features.postgres.machines import until
from tests.features.workers.working import writes
from tests.postgres import NEEDED, Server, programs
from tests.store_contract import AT, batch, lease, row, said
from tests.surfaces.forked import PROGRAM
from tests.surfaces.program import SECONDS, Program, env

PASSWORD = "pass/word@1"
WRITTEN = "pass%2Fword%401"


@pytest.mark.parametrize(
    ("url", "shown", "secrets"),
    [
        (f"postgresql://ada:{WRITTEN}@db/team", "postgresql://ada:***@db/team", [WRITTEN, PASSWORD]),
        ("postgresql://ada@db/team?password=x%20y&sslmode=require", None, ["x%20y", "x y"]),
        ("postgresql://db/team", "postgresql://db/team", []),
        ("postgres://a:b:c@[::1]:5432/x", "postgres://a:***@[::1]:5432/x", ["b:c"]),
        ("no url with a secret", "***", []),
    ],
)
def test_a_url_is_shown_without_its_secrets(url: str, shown: str | None, secrets: list[str]) -> None:
    assert shown_url(url) == (shown or "postgresql://ada@db/team?password=***&sslmode=require")
    assert secrets_in(url) == secrets


def _locked(server: Server, password: str) -> str:
    return server.url("model", "locked").replace("locked@", f"locked:{password}@")


def test_a_password_that_is_right_lets_in_and_a_wrong_one_is_said_without_it(
    postgres: Server, quintet: Program
) -> None:
    postgres.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO locked", "model")
    link = ServerLink(_locked(postgres, WRITTEN))
    assert link.execute("SELECT 1").fetchall() == [(1,)]
    link.close()
    wrong = _locked(postgres, "wrong-secret-9")
    for words in (("sessions", "list"), ("-p", "hello"), ("database", "status"), ("doctor",)):
        done = quintet.run(*words, QUINTET_DATABASE=wrong)
        assert done.code == 1, words
        assert "Traceback" not in done.err
        assert "password authentication failed" in done.out + done.err
        assert "~/.pgpass" in done.out + done.err
        assert "wrong-secret-9" not in done.out + done.err


def test_the_password_of_the_database_is_a_secret_of_the_session(
    quintet: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = Vault(locate(str(quintet.root)), Settings(), {"QUINTET_DATABASE": f"postgresql://ada:{WRITTEN}@db/team"})
    assert PASSWORD not in vault.text(f"it is {PASSWORD}")
    assert WRITTEN not in vault.text(f"it is {WRITTEN}")


def test_a_setting_with_a_password_is_refused_and_a_projects_setting_is_left_out(quintet: Program) -> None:
    own = quintet.root / ".quintet"
    own.mkdir()
    (own / "settings.toml").write_text('[database]\nurl = "postgresql://evil/x"\n')
    loaded = load(locate(str(quintet.root)))
    assert loaded.settings.database.url == ""
    assert any("database.url is ignored" in one and "only your own" in one for one in loaded.warnings), loaded.warnings
    assert quintet.run("sessions", "list").code == 0
    done = quintet.run("status", QUINTET_DATABASE_URL="postgresql://ada:hidden-one@db/x")
    assert (done.code, "hidden-one" in done.out + done.err) == (2, False)
    assert "~/.pgpass" in done.err


@pytest.mark.parametrize(
    ("url", "code", "said"),
    [
        ("postgresql://nobody@127.0.0.1:9/x", 1, "cannot be reached"),
        ("postgresql://nobody@/x?host=/nowhere/at/all", 1, "cannot be reached"),
        ("mysql://db/x", 2, "postgresql://USER@HOST/NAME"),
        ("/some/file", 2, "postgresql://USER@HOST/NAME"),
        ("postgresql://a:b@host/x?nosuch=1", 2, "the database URL cannot be read"),
    ],
)
def test_what_is_no_database_is_said_in_a_line(quintet: Program, url: str, code: int, said: str) -> None:
    worker = ("worker", "--permission-profile", "normal", "--repository", ".")
    for words in (("sessions", "list"), ("-p", "hello"), worker):
        done = quintet.run(*words, QUINTET_DATABASE=url)
        assert done.code == code
        assert said in done.err
        assert len(done.err.strip().splitlines()) <= 3, "what is wrong, what to do, where there is more"
    assert quintet.run("sessions", "list", "--database", url).code == code


# ── a connection that is lost


def _opened(server: Server, project: str) -> PostgresStore:
    return PostgresStore(server.url("model"), project, SystemClock())


@pytest.fixture
def alone() -> Iterator[Server]:
    """A server that can be stopped."""
    if not programs():
        pytest.skip(NEEDED)
    server = Server()
    server.execute("CREATE DATABASE model")
    link = ServerLink(server.url("model"), reads_only=False)
    migrate(link, init=True)
    link.close()
    yield server
    server.close()


async def _back(server: Server) -> None:
    await asyncio.sleep(0.5)
    await asyncio.to_thread(server.start)


def test_a_server_that_restarts_or_crashes_loses_nothing_and_is_found_again(alone: Server) -> None:
    async def run() -> None:
        store = _opened(alone, "restarted")
        await store.create(row(), batch(lease("me")))
        store.data_version()
        for how in (signal.SIGINT, signal.SIGQUIT):
            before = store.count("q5-1")
            alone.stop(how)
            back = asyncio.create_task(_back(alone))
            written = [asyncio.ensure_future(store.append("q5-1", batch(lease("me")))) for _ in range(3)]
            await asyncio.gather(*written)
            await back
            assert store.count("q5-1") == before + 3
            version = store.data_version()
            await store.submit("q5-1", said(f"in-{how}"), AT)
            async with asyncio.timeout(60):
                while store.data_version() == version:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
        await store.close()

    asyncio.run(run())


def test_a_server_that_says_nothing_is_given_up(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that hangs, or is behind a network that swallows all: its own limits do not reach us then."""
    link = ServerLink(database, reads_only=False)
    link.execute("SELECT set_config('statement_timeout', '0', false)")
    monkeypatch.setattr(links, "ANSWER_SECONDS", 0.5)
    with pytest.raises(StoreUnreachable, match=r"no answer in 0\.5 s") as said:
        link.execute("SELECT pg_sleep(30)")
    assert said.value.hint.startswith("Nothing that was acknowledged is lost.")
    monkeypatch.undo()
    assert link.lost
    link.reconnect()
    assert link.execute("SELECT 1").fetchall() == [(1,)]
    link.close()


def test_a_server_that_stays_away_is_said_with_what_to_do(alone: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "WRITE_AGAIN_SECONDS", 0.0)
    monkeypatch.setattr(links, "READ_AGAIN_SECONDS", 0.0)

    async def run() -> None:
        store = _opened(alone, "away")
        await store.create(row(), batch(lease("me")))
        alone.stop()
        with pytest.raises(StoreUnreachable) as raised:
            await store.append("q5-1", batch(lease("me")))
        assert "cannot be reached" in raised.value.message
        assert "quintet --resume" in raised.value.hint
        with pytest.raises(StoreUnreachable):
            store.session("q5-1")
        alone.start()
        assert store.count("q5-1") == 1
        await store.append("q5-1", batch(lease("me")))
        await store.close()

    asyncio.run(run())


def test_a_run_whose_server_goes_away_ends_with_one_line_and_is_resumed(alone: Server, quintet: Program) -> None:
    around = {"QUINTET_DATABASE": alone.url("model")}
    trusted = ("--mode", "build", "--autonomous", "--permission-profile", "trusted")
    quintet.run("-p", "! true", *trusted, **around).clean(0)
    (session,) = quintet.run("sessions", "list", "--json", **around).json()
    line = "! echo one >> ran; until [ -e go ]; do sleep 0.05; done"
    argv = [*PROGRAM, "-p", line, "--resume", session["session"]]
    owner = subprocess.Popen(argv, cwd=quintet.root, stderr=subprocess.PIPE, text=True, env=env(around))
    try:
        end = time.monotonic() + SECONDS
        while not (quintet.root / "ran").exists():
            assert owner.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        alone.stop(signal.SIGQUIT)
        _, said = owner.communicate(timeout=SECONDS)
    finally:
        owner.kill()
    assert owner.returncode == 1
    assert "Traceback" not in said
    assert "cannot be reached" in said
    assert "quintet --resume" in said
    lines = [line for line in said.splitlines() if "for /rewind" not in line]  # told where saving takes a while
    assert len(lines) <= 3, said
    alone.start()
    quintet.run("-p", "! echo two >> ran", "--resume", session["session"], **around).clean(0)
    assert (quintet.root / "ran").read_text().split() == ["one", "two"], "what had begun is not run again"
    shown = quintet.run("sessions", "show", session["session"], "--events", **around).clean(0).lines()
    assert [event["status"] for event in shown if event["type"] == "turn_finished"] == ["done", "interrupted", "done"]


class Torn(PostgresStore):
    """A store whose connection breaks at a commit: before the server gets it, or before it can answer."""

    after = False
    torn = 0

    def _ending(self) -> str:
        ending = super()._ending()
        if self.torn:
            self.torn -= 1
            if self.after:
                self._link.execute(ending)
            self._link.close()
        return ending


@pytest.mark.parametrize("after", [False, True])
def test_a_write_whose_commit_was_cut_off_is_stored_exactly_once(postgres: Server, after: bool) -> None:
    async def run() -> None:
        store = Torn(postgres.url("model"), uuid4().hex, SystemClock())
        await store.create(row(), batch(lease("me")))
        await store.submit("q5-1", said("in-1"), AT)
        store.after, store.torn = after, 1
        assert await store.append("q5-1", batch(lease("me"), consumed="in-1")) == [2]
        store.torn = 2
        assert await store.append("q5-1", batch(lease("me"))) == [3]
        assert [one.seq for one in store.read("q5-1")] == [1, 2, 3]
        assert store.inbox("q5-1") == []
        await store.close()

    asyncio.run(run())


def test_a_reader_whose_connection_was_cut_reads_on(postgres: Server) -> None:
    async def run() -> None:
        store = _opened(postgres, uuid4().hex)
        await store.create(row(), batch(lease("me")))
        await asyncio.to_thread(store._read.connection._connection.close)
        assert store.count("q5-1") == 1
        store._link.close()
        await store.append("q5-1", batch(lease("me")))
        assert store.count("q5-1") == 2
        await store.close()

    asyncio.run(run())


def test_a_statement_that_takes_too_long_is_stopped(postgres: Server) -> None:
    link = ServerLink(postgres.url("model"))
    link.execute("SET statement_timeout = '50ms'")
    with pytest.raises(QuintetError, match="took too long"):
        link.execute("SELECT pg_sleep(30)")
    assert link.execute("SHOW lock_timeout").fetchall() == [("10s",)]
    link.reconnect()
    assert link.execute("SHOW statement_timeout").fetchall() == [("30s",)]
    link.close()


def test_a_worker_whose_server_restarts_goes_on_with_what_comes_after(alone: Server, quintet: Program) -> None:
    own = {"QUINTET_DATABASE": alone.url("model"), "QUINTET_DATABASE_PROJECT": "workers"}
    done = "SELECT count(*) FROM tasks WHERE status = 'done'"
    worker = subprocess.Popen(
        [*PROGRAM, "worker", "--wait", "--permission-profile", "normal"],
        cwd=quintet.root,
        env=env(own),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for number, how in enumerate((signal.SIGINT, signal.SIGQUIT), 1):
            page = quintet.root.parent / f"t{number}.md"
            page.write_text(writes(f"t{number}", f"{number}.txt")[1])
            quintet.run("tasks", "add", str(page), **own).clean(0)
            until(lambda number=number: alone.execute(done, "model") == [(number,)], worker)  # type: ignore[misc]
            alone.stop(how)
            alone.start()
        worker.terminate()
        _, err = worker.communicate(timeout=SECONDS)
        assert "Traceback" not in err, err
    finally:
        worker.kill()
        worker.wait()


def test_a_worker_that_has_to_end_while_the_server_is_away_ends(alone: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "LEASE_SECONDS", 2.0)  # that a connection is waited for

    async def run() -> None:
        store = _opened(alone, uuid4().hex)
        queue = store.task_queue()
        begun, go = asyncio.Event(), asyncio.Event()

        async def do(task: str) -> None:
            begun.set()
            await go.wait()

        serving = asyncio.create_task(queue.serve(do))
        await queue.bring(["t1"])
        async with asyncio.timeout(SECONDS):
            await begun.wait()
        await asyncio.to_thread(alone.stop, signal.SIGQUIT)
        serving.cancel()
        await asyncio.sleep(0)
        go.set()
        await asyncio.wait({serving}, timeout=SECONDS)
        assert serving.cancelled()
        await store.close()

    asyncio.run(run())
