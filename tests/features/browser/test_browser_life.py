"""The browser's own life: starting, ending, crashing, hanging; recordings; what is missing."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from quintet.domain.journal.protocol import ToolFinished
from quintet.features.browser.downloads import Downloads
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.features.browser.browser_site import Site, serving
from tests.features.browser.browsing import LOOPBACK, Browsing, browsing

pytestmark = pytest.mark.system("chromium")


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serving() as site:
        yield site


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browsing]:
    """One browser for all that do not look at its start or its end: to start one takes longer than most tests."""
    with browsing(tmp_path_factory.mktemp("browser")) as tools:
        yield tools


@pytest.fixture
def web(one: Browsing, monkeypatch: pytest.MonkeyPatch) -> Browsing:
    """The one browser, whose programs know nothing of this test's environment."""
    for name in ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(one.outputs.parent))
    return one


def test_nothing_runs_before_the_first_call_and_nothing_after_the_last(tmp_path: Path, site: Site) -> None:
    with browsing(tmp_path) as web:
        assert web.running() == []
        web.ok("navigate", url=site("/"))
        assert web.running()
        folder = web.browser._tabs.running.folder  # type: ignore[union-attr]
    assert web.running() == []
    assert not os.path.exists(folder)


def test_a_secret_of_the_environment_stays_here(tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_TOKEN", "hunter2-hunter2")
    with browsing(tmp_path) as web:
        web.ok("navigate", url=site("/"))
        found = web.environments()
    assert found and not [one for one in found if b"hunter2" in one]


@pytest.mark.parametrize("configured", [False, True], ids=["by HOME alone", "by XDG_CONFIG_HOME too"])
def test_a_browser_leaves_nothing_in_the_users_home_and_knows_no_other_than_its_own(
    tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch, configured: bool
) -> None:
    home = tmp_path / "home of a user"
    home.mkdir()
    for name in [name for name in os.environ if name.startswith(("XDG_", "DBUS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    if configured:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    with browsing(tmp_path) as web:
        web.ok("navigate", url=site("/"))
        found = web.environments()
        assert found and not [one for one in found if os.fsencode(home) in one]
    assert list(home.rglob("*")) == []


def test_a_call_that_is_interrupted_while_the_browser_starts_leaves_nothing_behind(tmp_path: Path, site: Site) -> None:
    with browsing(tmp_path) as web:

        async def interrupted() -> None:
            calling = asyncio.ensure_future(web.call("browser_navigate", url=site("/")))
            while True:
                await asyncio.sleep(0)
                if web.running():
                    break
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling

        web.loop.run_until_complete(asyncio.wait_for(interrupted(), 300))
    assert web.running() == []


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo '[1:1:FATAL:zygote_host_impl_linux.cc] No usable sandbox!' >&2; exit 1", "cannot make its own sandbox"),
        ("echo 'error while loading shared libraries: libnss3.so' >&2; exit 127", "libraries: libnss3.so"),
        (None, "no program exists there"),
    ],
)
def test_a_browser_that_does_not_start_says_why(tmp_path: Path, script: str | None, said: str) -> None:
    program = tmp_path / "chromium"
    if script:
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    with browsing(tmp_path, path=str(program)) as web:
        assert said in web.fails("navigate", url="about:blank")
        assert web.running() == []


def test_a_browser_that_was_killed_is_started_anew_and_that_is_said(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/form"))
    send = web.id('button "Send"')
    kill(web)
    said = web.fails("click", element_id=send)
    assert said == (
        f"the browser had crashed and was restarted; {site('/form')} was opened again. "
        "Nothing was done, and ids are new: browser_view shows the page"
    )
    assert 'button "Send"' in web.ok("view")
    kill(web)
    said = web.ok("view")
    assert "(the browser had crashed and was restarted)" in said and 'button "Send"' in said
    kill(web)
    assert "# Welcome" in web.ok("navigate", url=site("/"))
    assert "restarted" in web.last


def kill(web: Browsing) -> None:
    """Kill the browser's first process, as the system does when memory is short, and wait until it is known."""
    running = web.browser._tabs.running
    assert running and running.browser
    gone = asyncio.Event()
    running.browser.on("disconnected", lambda _: gone.set())
    programs = {pid: os.path.basename(os.readlink(f"/proc/{pid}/exe")) for pid in web.running("chrom")}
    os.kill(
        next(pid for pid, name in programs.items() if name.startswith("chrom")), signal.SIGKILL
    )  # no shell before it
    web.loop.run_until_complete(asyncio.wait_for(gone.wait(), 60))


def test_a_tab_that_crashes_is_opened_anew(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/form"))
    at = web.browser._tabs._tabs[0]
    web.loop.run_until_complete(crash(at.page))
    said = web.ok("view")
    assert "(tab 0 had crashed and was reopened)" in said and 'button "Send"' in said


async def crash(page: Any) -> None:
    """Have the tab's own process end."""
    session = await page.context.new_cdp_session(page)
    gone = asyncio.Event()
    page.on("crash", lambda _: gone.set())
    crashing = asyncio.ensure_future(session.send("Page.crash"))
    await asyncio.wait_for(gone.wait(), 60)
    crashing.cancel()


def test_a_script_that_does_not_end_is_ended(web: Browsing, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    web.ok("navigate", url=site("/form"))
    with monkeypatch.context() as patched:
        patched.setattr("quintet.features.browser.browser.EVALUATE_SECONDS", 1.0)
        assert "took more than 1 s" in web.fails("console", content="while (true) {}")
    assert web.ok("console", content="1 + 1") == "2"


def test_a_page_may_not_open_tabs_without_end(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/flood"))
    told = "\n".join(web.click('button "Flood"'))
    while "the new one was closed" not in told:  # a slow machine may tell it with a later call
        told += web.ok("console")
    assert web.ok("view").partition("(other tabs: ")[2].partition(")")[0].count(", ") == 18


def test_restart_forgets_cookies_and_tabs(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/form"))
    web.ok("console", content="document.cookie = 'a=1'")
    web.ok("navigate", url=site("/"), tab_idx=1)
    assert web.ok("console", content="document.cookie") == "a=1"
    assert "# Welcome" in web.ok("restart", url=site("/"))
    assert "other tabs" not in web.last
    assert web.ok("console", content="document.cookie") == ""
    assert "refused" in web.fails("restart", url="chrome://gpu")


def test_slow_pages_are_waited_for_only_so_long(tmp_path: Path, site: Site) -> None:
    for seconds in (1, 5, 25):  # the first is enough, unless the machine is very busy
        with browsing(tmp_path, browser_seconds=seconds) as web:
            said = web.fails("navigate", url=site("/never"))
            assert (
                said == f"{site('/never')}: no answer within {seconds} s; is the server running, and is this its port?"
            )
            said = web("navigate", url=site("/slow-parts")).content
        if "text is here" in said:
            break
    assert "text is here" in said, "what has come is shown"
    assert "the page has not finished loading; use browser_view again" in said


@pytest.fixture
def bounded(web: Browsing, site: Site, tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """`bounded(most)` is a folder for downloads, none of which may have more bytes than that."""
    web.ok("navigate", url=site("/"))
    tabs = web.browser._tabs
    usual = tabs.downloads

    def bound(most_bytes: int) -> Path:
        folder = tmp_path / "downloads"
        tabs.downloads = Downloads(str(folder), tabs.tell, most_bytes=most_bytes)
        return folder

    yield bound
    tabs.downloads = usual


def test_a_download_without_end_is_given_up(web: Browsing, site: Site, bounded: Callable[[int], Path]) -> None:
    folder = bounded(1_000_000)
    said = web.ok("navigate", url=site("/endless"))
    assert "(the download of endless.bin was stopped: it has more than 1,000,000 bytes)" in said
    assert not list(folder.glob("endless*"))


def test_each_download_is_bounded_by_itself_and_nothing_of_a_failed_one_is_left(
    web: Browsing, site: Site, bounded: Callable[[int], Path]
) -> None:
    folder = bounded(10_000)
    for _ in range(3):  # of 6,000 bytes each
        assert "(downloaded _re port.csv, 6,000 bytes" in web.ok("navigate", url=site("/download"))
    web.browser._tabs.downloads._kept = 40_001
    assert "was refused: the downloads of this session already have 40,001 bytes" in web.ok(
        "navigate", url=site("/download")
    )
    assert len(list(folder.iterdir())) == 3


def test_a_trusted_projects_pages_may_use_its_files(tmp_path: Path) -> None:
    with browsing(tmp_path, own_code=True) as web:
        (web.root / "index.html").write_text("<title>Own</title>")
        (web.root / "data.json").write_text('{"a": 1}')
        (web.root / ".env").write_text("KEY=1")
        web.ok("navigate", url=str(web.root / "index.html"))
        assert web.ok("console", content="fetch('data.json').then((r) => r.json())") == '{\n "a": 1\n}'
        assert web.ok("console", content="fetch('.env').then((r) => r.status)").startswith("404")


# ── recordings


def test_a_recording_is_a_video_that_plays_to_its_end(web: Browsing, site: Site) -> None:
    assert web.fails("recording_stop") == "no recording is running; recording_start starts one"
    web.ok("navigate", url=site("/pictures"))
    blue = web.id('button "Blue"')
    web.ok("recording_start")
    assert web.fails("recording_start") == "a recording is running; recording_stop ends it"
    web.ok("console", content="new Promise((done) => setTimeout(done, 300))")
    while not web.browser._screencast._pictures:  # type: ignore[union-attr]
        web.loop.run_until_complete(asyncio.sleep(0.02))
    web.ok("click", element_id=blue)
    web.ok("console", content="new Promise((done) => setTimeout(done, 300))")
    path, about = web.ok("recording_stop").split(" ", 1)
    assert Path(path).parent == web.outputs and path.endswith(".webm")
    site.files["/video.webm"] = Path(path).read_bytes()
    assert f"{len(site.files['/video.webm']):,} bytes" in about
    web.ok("navigate", url=site("/"))
    played = web.ok("console", content=PLAY)
    width, height, length, *colors = played.split(" ")
    assert (width, height) == ("1280", "800")
    assert 0.6 <= float(length) <= 30
    assert colors == ["red", "blue", "red"]


# Decodes the whole video: plays it to its end, and looks at its first picture, its last, and the first again.
PLAY = """(async () => {
  const video = document.createElement("video");
  video.muted = true;
  document.body.replaceChildren(video);
  const happens = (name) => new Promise((done, failed) => {
    video.addEventListener(name, done, { once: true });
    video.addEventListener("error", () => failed(new Error(video.error.message)), { once: true });
  });
  const color = () => {
    const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
    const pen = canvas.getContext("2d");
    pen.drawImage(video, 0, 0);
    const [red, , blue] = pen.getImageData(600, 600, 1, 1).data;
    return red > 200 && blue < 60 ? "red" : blue > 200 && red < 60 ? "blue" : `${red}/${blue}`;
  };
  const drawn = () => new Promise((done) => video.requestVideoFrameCallback(done));
  const loaded = happens("loadeddata");
  const first = drawn();
  video.src = "/video.webm";
  await loaded;
  await first; // the picture can be drawn only now
  const colors = [color()];
  const ended = happens("ended");
  await video.play();
  await ended;
  colors.push(color());
  const again = drawn();
  video.currentTime = 0;
  await again;
  colors.push(color());
  return [video.videoWidth, video.videoHeight, video.duration, ...colors].join(" ");
})()"""


def test_a_recording_outlives_the_browser_and_follows_the_tab_in_use(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/pictures"))
    web.ok("recording_start")
    web.ok("navigate", url=site("/form"), tab_idx=1)
    kill(web)
    said = web.ok("recording_stop")
    assert "restarted" in said
    assert Path(said.split(" ")[0]).stat().st_size > 1000


# ── in a session


def test_a_session_drives_the_browser_and_leaves_none_behind(repo: Path, site: Site, replays: None) -> None:
    model = ScriptedModel(
        [
            [call("browser_navigate", url=site("/form"))],
            [call("browser_screenshot")],
            "seen",
        ]
    )

    async def script(driver: Driver) -> None:
        await driver.turn("look at the form")

    driver = drive(repo, script, model, settings={"web.allow_hosts": LOOPBACK})
    first, second = (event.content for event in driver.of(ToolFinished))
    assert 'textbox "User name"' in first
    assert "screenshot.png (1280×800)" in second
