"""What the browser may reach: pages, redirects, parts of pages, sockets; each judged like a page that is fetched."""

import re
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.features.browser.browser_site import Site, serving
from tests.features.browser.browsing import LOOPBACK, Browsing, browsing

pytestmark = pytest.mark.system("chromium")

NAMES = {"outside.test": "127.0.0.1", "rebound.test": "127.0.0.1", "inside.test": "10.0.0.1"}
KEEPS_FROM_LOOPBACK = 142  # the version of Chromium from which on it does


async def resolve(host: str, port: int) -> Sequence[str]:
    if host not in NAMES:
        raise OSError("no such name")
    return [NAMES[host]]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serving() as site:
        yield site


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browsing]:
    """`outside.test` is everybody's, as far as the browser knows."""
    with browsing(tmp_path_factory.mktemp("web"), allow=(*LOOPBACK, "outside.test"), resolve=resolve) as tools:
        yield tools


def fetching(url: str, options: str = "") -> str:
    return f"fetch('{url}', {{{options}}}).then(() => 'came', () => 'did not come')"


def test_a_redirect_into_a_private_network_is_refused_and_said(web: Browsing, site: Site) -> None:
    said = web.fails("navigate", url=site("/away-inside"))
    assert said == (
        f"{site('/away-inside')}: inside.test leads to 10.0.0.1, which is a private address: not fetched\n"
        'to allow it, put it into your settings: [web] allow_hosts = ["inside.test:80"]'
    )
    assert "inside.test" not in web.ok("navigate", url=site("/form")), "it is said once"


def test_a_name_that_leads_to_loopback_is_refused_and_one_that_is_allowed_is_not(web: Browsing, site: Site) -> None:
    said = web.fails("navigate", url=f"http://rebound.test:{site.port}/")
    assert "rebound.test leads to 127.0.0.1, which is a loopback address: not fetched" in said
    assert "# Welcome" in web.ok("navigate", url=f"http://outside.test:{site.port}/")
    assert "# Welcome" in web.ok("navigate", url=f"http://localhost:{site.port}/")


PARTS = {
    "fetch": fetching("http://inside.test/"),
    "socket": """new Promise((done) => {
        new WebSocket("ws://inside.test/").onerror = () => done("did not come") })""",
    "image": """new Promise((done) => {
        Object.assign(new Image(), { src: "http://inside.test/", onerror: () => done("did not come") }) })""",
    "worker": """new Promise((done) => {
        const script = "fetch('http://inside.test/').catch(() => postMessage('did not come'))";
        new Worker(URL.createObjectURL(new Blob([script]))).onmessage = (event) => done(event.data) })""",
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS.keys())
def test_a_part_of_a_page_is_judged_as_the_page_is_and_told(web: Browsing, site: Site, part: str) -> None:
    web.ok("navigate", url=site("/form"))
    said = web.lines("console", content=part)
    assert said[0] == "did not come"
    assert any(line.startswith("(inside.test leads to 10.0.0.1, which is a private address") for line in said)


def test_a_page_from_elsewhere_cannot_send_anything_to_loopback(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=f"http://outside.test:{site.port}/form")
    running = web.browser._tabs.running
    assert running and running.browser
    if int(running.browser.version.partition(".")[0]) < KEEPS_FROM_LOOPBACK:
        pytest.skip("this Chromium does not tell networks apart")
    post = fetching(site("/posted"), "mode: 'no-cors', method: 'POST', body: 'x'")
    assert web.lines("console", content=post)[0] == "did not come"
    assert "/posted" not in [path for _, path, _ in site.asked]
    web.ok("navigate", url=f"http://localhost:{site.port}/form")
    assert web.lines("console", content=post)[0] == "came"


def test_no_packet_leaves_beside_the_way_out(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=f"http://outside.test:{site.port}/form")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.setblocking(False)
        candidates = web.ok("console", content=CALL.replace("PORT", str(server.getsockname()[1])))
        assert candidates.splitlines()[0] == "[]"
        with pytest.raises(BlockingIOError):
            server.recv(1000)


# Gathers the ways by which another browser could reach this one, which asks a server for its own address.
CALL = """(async () => {
  const call = new RTCPeerConnection({ iceServers: [{ urls: "stun:127.0.0.1:PORT" }] });
  const ways = [];
  call.createDataChannel("any");
  const all = new Promise((done) => {
    call.onicecandidate = ({ candidate }) => (candidate ? ways.push(candidate.candidate) : done());
  });
  await call.setLocalDescription(await call.createOffer());
  await all;
  return ways;
})()"""


def test_a_tab_that_goes_to_a_page_of_the_project_and_back_goes_on_as_it_was(web: Browsing, site: Site) -> None:
    (web.root / "page.html").write_text("<title>Mine</title><button>press</button><script>console.log('hi')</script>")
    web.ok("navigate", url=site("/form"))
    old = re.search(r"\[(\d+) textbox", web.last)
    assert old
    web.ok("set_mobile", enabled=True)
    before = len(web.browser._tabs._tabs)
    assert "No such file" in web.fails("navigate", url="nowhere.html")
    assert "A form" in web.ok("view"), "what cannot be opened leaves the tab as it is"
    shown = web.ok("navigate", url="page.html")
    assert "tab 0 · Mine · file://" in shown and len(web.browser._tabs._tabs) == before
    assert "is not on the page now" in web.fails("click", element_id=old[1]), "no id is given twice"
    assert web.ok("console", content="screen.width < 500 && navigator.userAgent.includes('Mobile')") == "true"
    assert "log: hi" in web.ok("console")
    assert "A form" in web.ok("navigate", url=site("/form"))
    assert web.ok("console", content="screen.width < 500") == "true"
    web.ok("set_mobile", enabled=False)
    web.ok("navigate", url="page.html")
    assert web.ok("console", content="screen.width > 1000") == "true"


def test_nothing_of_it_is_left_open_after_the_end(tmp_path: Path, site: Site) -> None:
    with browsing(tmp_path, resolve=resolve) as web:
        web.ok("navigate", url=site("/form"))
        ports = [server.sockets[0].getsockname()[1] for server in web.browser._tabs._way_out._servers]
        assert len(ports) == 3
    for port in ports:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
