"""Answer sessions through a real Matrix homeserver, and tell through apprise: Synapse from PyPI on loopback.

scripts/check remote [--from FOLDER]: installs matrix-synapse and apprise into a temporary environment (or takes one in
which they are), starts Synapse with accounts for Quintet, for you and for a stranger, and pairs as the page says. Then
sessions: a question is answered and turns the dial it names; a stranger, an edit and a room with a third account do
nothing; more texts than one look shows come once each after Synapse was down, and none of those that were sent while no
session was on. It prints a line for each.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import hmac
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import quintet
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.testing import ScriptedModel, call

PACKAGES = ("matrix-synapse", "apprise")
NORMAL = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
CHAT = AxesChange(WorkMode.CHAT, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
SECONDS = 600.0  # only ends a hang
MANY = 130  # more than a look at a room shows
PLAIN = {"tools.presentation": "flat", "runs.delivery_check": False, "runs.qa_review": False}


class Homeserver:
    """Synapse on loopback."""

    def __init__(self, python: str, folder: Path) -> None:
        self._python = python
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None
        self._secret = "registration-on-loopback"
        config = {
            "server_name": "localhost",
            "report_stats": False,
            "signing_key_path": str(folder / "signing.key"),
            "media_store_path": str(folder / "media"),
            "pid_file": str(folder / "pid"),
            "registration_shared_secret": self._secret,
            "macaroon_secret_key": "m",
            "form_secret": "f",
            "trusted_key_servers": [],
            "listeners": [
                {
                    "port": self.port,
                    "type": "http",
                    "bind_addresses": ["127.0.0.1"],
                    "resources": [{"names": ["client"]}],
                }
            ],
            "database": {"name": "sqlite3", "args": {"database": str(folder / "homeserver.db")}},
            "rc_message": {"per_second": 1000, "burst_count": 1000},
            "rc_login": {"address": {"per_second": 100, "burst_count": 100}},
            "log_config": str(folder / "log.yaml"),
        }
        (folder / "log.yaml").write_text(json.dumps({"version": 1, "root": {"level": "ERROR"}}))
        (folder / "homeserver.yaml").write_text(json.dumps(config))
        subprocess.run([*self._argv(), "--generate-keys"], check=True, cwd=folder, capture_output=True)

    def _argv(self) -> list[str]:
        return [self._python, "-m", "synapse.app.homeserver", "-c", str(self._folder / "homeserver.yaml")]

    def start(self) -> None:
        with open(self._folder / "out.log", "ab") as log:
            self._process = subprocess.Popen(self._argv(), cwd=self._folder, stdout=log, stderr=log)
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            try:
                urllib.request.urlopen(f"{self.url}/_matrix/client/versions", timeout=5).read()
                return
            except OSError:
                time.sleep(0.2)
        raise SystemExit(f"Synapse did not start: {(self._folder / 'out.log').read_text()[-2000:]}")

    def stop(self) -> None:
        if self._process:
            self._process.terminate()
            self._process.wait(60)
            self._process = None

    def register(self, name: str) -> Person:
        path = "/_synapse/admin/v1/register"
        nonce = _asked("GET", self.url + path)["nonce"]
        said = "\0".join((nonce, name, "password", "notadmin")).encode()
        mac = hmac.new(self._secret.encode(), said, hashlib.sha1).hexdigest()
        body = {"nonce": nonce, "username": name, "password": "password", "admin": False, "mac": mac}
        made = _asked("POST", self.url + path, body)
        return Person(self.url, made["user_id"], made["access_token"])


class Person:
    """Somebody with a Matrix client."""

    def __init__(self, url: str, id: str, token: str) -> None:
        self.url, self.id, self.token = url, id, token
        self._number = 0

    def asks(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        return _asked(method, f"{self.url}/_matrix/client/v3{path}", body, self.token)

    def room(self, *others: str) -> str:
        made = self.asks("POST", "/createRoom", {"invite": list(others), "preset": "private_chat"})
        return str(made["room_id"])

    def says(self, room: str, text: str, **more: Any) -> str:
        self._number += 1
        body = {"msgtype": "m.text", "body": text, **more}
        sent = self.asks("PUT", f"/rooms/{quote(room)}/send/m.room.message/t{time.time_ns()}-{self._number}", body)
        return str(sent["event_id"])

    def reads(self, room: str) -> list[dict[str, Any]]:
        """The newest messages there, newest first."""
        page = self.asks("GET", f"/rooms/{quote(room)}/messages?dir=b&limit=100")
        return [one for one in page["chunk"] if one["type"] == "m.room.message"]

    def sees(self, room: str, part: str) -> dict[str, Any]:
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            for one in self.reads(room):
                if part in one["content"].get("body", ""):
                    return one
            time.sleep(0.1)
        raise SystemExit(f"{part!r} was not said: {[one['content'].get('body') for one in self.reads(room)][:5]}")


def _asked(method: str, url: str, body: Any = None, token: str = "") -> dict[str, Any]:
    headers = {"content-type": "application/json", **({"authorization": f"Bearer {token}"} if token else {})}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def paired(server: Homeserver, bot: Person, me: Person, stranger: Person, project: Path) -> str:
    """As the page says: the code on the screen, sent from the room. The stranger tries before."""
    argv = [sys.executable, "-m", "quintet", "remote", "pair", "matrix"]
    pairing = subprocess.Popen(argv, cwd=project, stdout=subprocess.PIPE, text=True)
    assert pairing.stdout
    code = next(found[1] for line in pairing.stdout if (found := re.search(r"pair ([\d-]+)", line)))
    guess = f"{(int(code[0]) + 1) % 10}{code[1:]}"
    theirs, ours = stranger.room(bot.id), me.room(bot.id)
    for person, room in ((stranger, theirs), (me, ours)):
        until = time.monotonic() + SECONDS
        while bot.id not in person.asks("GET", f"/rooms/{quote(room)}/joined_members")["joined"]:
            if time.monotonic() > until:
                pairing.kill()
                raise SystemExit("Quintet did not enter the room")
            time.sleep(0.1)
    for _ in range(4):
        stranger.says(theirs, f"pair {guess}")
    me.says(ours, f"pair {code}")
    out, _ = pairing.communicate(timeout=SECONDS)
    assert pairing.returncode == 0 and me.id in out, out
    me.sees(ours, "Paired.")
    assert not [one for one in stranger.reads(theirs) if one["sender"] == bot.id]
    done("paired by the code on the screen; a stranger's guesses got no answer")
    return ours


def done(text: str) -> None:
    print(f"ok    {text}", flush=True)


async def session(
    project: Path, replies: list[Any], script: Callable[[Any], Any], axes: AxesChange = NORMAL, **settings: Any
) -> list[p.Event]:
    wanted = {**PLAIN, "remote.auto": True, **settings}
    model = ScriptedModel(replies)
    async with quintet.open(str(project), model=model, person=True, settings=wanted, axes=axes) as opened:
        async with asyncio.timeout(SECONDS * 2):
            await script(opened)
            return [one.event for one in opened.past_events(0, 1_000_000)]


async def until(opened: Any, wanted: Callable[[p.Event], bool]) -> p.Event:
    async for item in opened.events(0):
        if isinstance(item, p.Recorded) and wanted(item.event):
            return item.event
    raise SystemExit("the session ended first")


def answered(project: Path, bot: Person, me: Person, stranger: Person, room: str) -> None:
    async def script(opened: Any) -> None:
        await opened.say("go")
        asked = await asyncio.to_thread(me.sees, room, "Write a?")
        others = await asyncio.to_thread(stranger.room, bot.id)
        await asyncio.to_thread(stranger.says, others, "y")
        edit = {
            "m.relates_to": {"rel_type": "m.replace", "event_id": asked["event_id"]},
            "m.new_content": {"body": "y"},
        }
        await asyncio.to_thread(lambda: me.says(room, "* y", **edit))
        reply = {"m.relates_to": {"m.in_reply_to": {"event_id": asked["event_id"]}}}
        await asyncio.to_thread(lambda: me.says(room, "always", **reply))
        await asyncio.to_thread(me.sees, room, "Answer y (yes) or b (continue in mode build)")
        await asyncio.to_thread(lambda: me.says(room, "b", **reply))
        await until(opened, lambda event: isinstance(event, p.TurnFinished))
        await asyncio.to_thread(me.sees, room, "Done\nwritten")

    events = asyncio.run(session(project, [[call("Write", file_path="a", content="x\n")], "written"], script, CHAT))
    (answer,) = [one for one in events if isinstance(one, p.QuestionAnswered)]
    (turned,) = [one for one in events if isinstance(one, p.DialsTurned)]
    assert answer.by == turned.actor == f"remote:matrix/{me.id}", (answer, turned)
    assert turned.after.work_mode is WorkMode.BUILD and (project / "a").exists()
    assert not [one for one in events if isinstance(one, p.RuleMade)]
    done(f"a question answered from Matrix turned the dial it names: by {answer.by}")
    done("an edit, a stranger in a room of their own and a word for a rule did nothing")


def limited(project: Path, me: Person, room: str) -> None:
    async def script(opened: Any) -> None:
        await asyncio.to_thread(me.sees, room, "@2\nRemote is on")
        await asyncio.to_thread(me.says, room, "/permission-profile trusted")
        await asyncio.to_thread(me.sees, room, "remote.max_profile")
        assert opened.state.axes.permission_profile is PermissionProfile.NORMAL
        await asyncio.to_thread(me.says, room, "/control manual")
        await until(opened, lambda event: isinstance(event, p.DialsTurned))

    asyncio.run(session(project, [], script))
    done("a profile above remote.max_profile was refused, another dial turned")


def outage(project: Path, server: Homeserver, me: Person, room: str) -> None:
    """Synapse goes away under an open session and comes back; then more texts come than one look shows."""

    async def script(opened: Any) -> None:
        await asyncio.to_thread(me.sees, room, "@3\nRemote is on")  # what is written before that is not for it
        await asyncio.to_thread(server.stop)
        await asyncio.sleep(5)
        await asyncio.to_thread(server.start)

        def many() -> None:
            for number in range(MANY):
                me.says(room, f"/rate {number % 5 + 1} text-{number}")

        await asyncio.to_thread(many)
        ran = 0
        async for item in opened.events(0):
            ran += isinstance(item, p.Recorded) and isinstance(item.event, p.CommandRan)
            if ran == MANY:
                return

    events = asyncio.run(session(project, [], script))
    lines = [one.line.split()[-1] for one in events if isinstance(one, p.CommandRan)]
    assert lines == [f"text-{number}" for number in range(MANY)], lines
    done(f"Synapse was down under an open session; {MANY} texts in one go came once each and in order")


def early(project: Path, bot: Person, me: Person, room: str) -> None:
    """What was sent while no session was on is for none, and the person is told so; what comes later counts."""
    for number in range(MANY):
        me.says(room, f"/rate {number % 5 + 1} early-{number}")

    async def script(opened: Any) -> None:
        await asyncio.to_thread(me.sees, room, "@4\nRemote is on")
        await asyncio.to_thread(me.says, room, "/rate 1 later")
        await until(opened, lambda event: isinstance(event, p.CommandRan))

    events = asyncio.run(session(project, [], script))
    assert [one.line for one in events if isinstance(one, p.CommandRan)] == ["/rate 1 later"], events
    told = [one for one in me.reads(room) if "sent before remote was turned on" in one["content"].get("body", "")]
    assert told and all(one["sender"] == bot.id for one in told)
    done(f"{MANY} texts that were sent while no session was on did nothing, and were said not to be accepted")


def newest_of(person: Person, reader: Person, room: str) -> str:
    return next((str(one["event_id"]) for one in reader.reads(room) if one["sender"] == person.id), "")


def joined_by_a_third(project: Path, bot: Person, me: Person, stranger: Person, room: str) -> None:
    me.asks("POST", f"/rooms/{quote(room)}/invite", {"user_id": stranger.id})
    stranger.asks("POST", f"/rooms/{quote(room)}/join", {})
    before = newest_of(bot, me, room)

    async def script(opened: Any) -> None:
        await asyncio.to_thread(stranger.says, room, "/mode review")
        await asyncio.to_thread(me.says, room, "/mode review")
        await asyncio.sleep(5)
        assert opened.state.axes.work_mode is WorkMode.BUILD

    events = asyncio.run(session(project, [], script))
    assert not [one for one in events if isinstance(one, p.DialsTurned | p.CommandRan)]
    assert newest_of(bot, me, room) == before
    done("with a third account in the room nothing was heard there, and nothing said")


@contextmanager
def receiver() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Takes what apprise sends to a json:// address."""
    got: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is printed."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"json://127.0.0.1:{server.server_address[1]}/hook-token", got
    finally:
        server.shutdown()


def apprised(python: str, project: Path) -> None:
    """In a process of the environment that has apprise."""
    with receiver() as (address, got):
        path = os.pathsep.join(one for one in sys.path if one)
        around = {**os.environ, "APPRISE_URLS_SECRET": address, "PYTHONPATH": path}
        argv = [python, "-m", "quintet", "remote", "pair", "apprise"]
        ran = subprocess.run(argv, cwd=project, env=around, capture_output=True, text=True, timeout=SECONDS)
        assert ran.returncode == 0, ran.stderr
        assert "hook-token" not in ran.stdout + ran.stderr
        assert len(got) == 1 and "This channel only sends messages" in got[0]["message"], got
    done("apprise: a json:// address got the message, and its token was printed nowhere")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="folder", default="", help="an environment that has matrix-synapse and apprise")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="quintet-remote-") as work:
        folder = Path(work)
        environment = Path(given.folder or folder / "environment")
        if not given.folder:
            subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
            subprocess.run([str(environment / "bin/pip"), "install", "-q", *PACKAGES], check=True)
        python = str(environment / "bin/python")
        for name in ("home", "config", "state", "cache", "project", "synapse"):
            (folder / name).mkdir()
        os.environ.update(
            HOME=str(folder / "home"),
            XDG_CONFIG_HOME=str(folder / "config"),
            XDG_STATE_HOME=str(folder / "state"),
            XDG_CACHE_HOME=str(folder / "cache"),
        )
        project = folder / "project"
        subprocess.run(["git", "init", "-q", str(project)], check=True)
        server = Homeserver(python, folder / "synapse")
        server.start()
        try:
            bot, me, stranger = (server.register(name) for name in ("quintet", "ada", "eve"))
            os.environ["MATRIX_ACCESS_TOKEN"] = bot.token
            (folder / "config/quintet").mkdir()
            (folder / "config/quintet/settings.toml").write_text(f'[remote]\nmatrix_url = "{server.url}"\n')
            room = paired(server, bot, me, stranger, project)
            answered(project, bot, me, stranger, room)
            limited(project, me, room)
            outage(project, server, me, room)
            early(project, bot, me, room)
            joined_by_a_third(project, bot, me, stranger, room)
            logs = "".join(path.read_text(errors="replace") for path in (folder / "state").rglob("*.log"))
            kept = b"".join(path.read_bytes() for path in (folder / "state").rglob("*") if path.is_file())
            assert bot.token not in logs and bot.token.encode() not in kept
            done("the access token is in no file below the state folder")
        finally:
            server.stop()
        apprised(python, project)


if __name__ == "__main__":
    main()
