"""The forensics page in a real browser: it draws, it reports no error, and it asks nobody for anything."""

import os
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer

import pytest

from quintet.engine.reports.forensics import allowance, examine
from quintet.engine.reports.forensics_page import page
from tests.made_sessions import Made, with_output

SECONDS = 60
PLANTED = '<img src="http://planted.invalid/a.png"><link rel="stylesheet" href="http://planted.invalid/b.css">'
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--enable-logging=stderr",
    "--proxy-bypass-list=<-loopback>",
    "--virtual-time-budget=3000",
    "--dump-dom",
)


class Proxy:
    """Takes every connection a browser would make, notes what it wants, and answers nothing."""

    def __init__(self) -> None:
        wanted: list[str] = []

        class Handler(BaseRequestHandler):
            def handle(self) -> None:
                wanted.append(self.request.recv(4096).decode(errors="replace"))

        self.wanted = wanted
        self.server = ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    made = Proxy()
    yield made
    made.server.shutdown()
    made.server.server_close()


def looked_at(path: Path, proxy: Proxy) -> tuple[str, list[str]]:
    """The page as it stands once its script has run, and what the console said."""
    profile = path.parent / "profile"
    command = ["chromium", *QUIET, f"--user-data-dir={profile}", f"--proxy-server={proxy.address}", path.as_uri()]
    short = {**os.environ, "TMPDIR": "/tmp"}  # it puts a socket there, whose path may not be long
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=short)
    assert done.stdout, done.stderr[-2000:]
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


def written(folder: Path, steps: int) -> Path:
    events = with_output(list(Made().events(steps)), PLANTED)
    path = folder / "page.html"
    path.write_text("".join(page(examine(events, allowance(len(events))))))
    return path


@pytest.mark.system("chromium")
@pytest.mark.parametrize("steps", [3, 3000])
def test_a_browser_draws_the_page_and_asks_for_nothing(tmp_path: Path, proxy: Proxy, steps: int) -> None:
    shown, said = looked_at(written(tmp_path, steps), proxy)
    assert said == []
    assert not [words for words in proxy.wanted if "planted.invalid" in words]
    assert '<div class="tools">' in shown, "the script ran and put the filter there"
    lanes = re.findall(r'<div class="lane"><span>([^<]+)</span><svg[^>]*>(.*?)</svg></div>', shown, re.S)
    names = [name.partition(",")[0] for name, _ in lanes]
    assert names[:5] == ["turns", "work mode", "run control", "permission profile", "model mode"]
    assert {"act", "tools", "cost"} <= set(names)
    assert all("<rect" in body or "<path" in body for _, body in lanes)
    assert shown.count('<svg class="bar"') >= 4
    assert "planted.invalid" in shown


@pytest.mark.system("chromium")
def test_the_page_lets_no_other_script_run_and_nothing_load(tmp_path: Path, proxy: Proxy) -> None:
    path = written(tmp_path, 3)
    slipped = '<script>document.title = "slipped"</script><img src="http://planted.invalid/c.png">'
    path.write_text(path.read_text().replace("<footer>", f"{slipped}<footer>"))
    shown, said = looked_at(path, proxy)
    assert "<title>slipped" not in shown
    assert len([line for line in said if "Content Security Policy" in line]) == 2
    assert not [words for words in proxy.wanted if "planted.invalid" in words]
