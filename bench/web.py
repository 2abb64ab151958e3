"""The pages of `quintet web`: a long session opened, keys while a model streams, and 200 pages that follow one session.

python bench/web.py [--seconds 8] [--clients 200] [--json]. Needs Chromium. Opened means: from the request to the first
paint of the transcript, beside an empty page of the same server. Echo is from the key to the frame that shows it, while
2,000 tokens a second stream; in the reference nothing streams. A view is blank if none of nine places down its middle
shows a block, while the wheel turns back through the long session. Clients are plain streams; the cores are the
server's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from _table import say, table, verdict
from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.made_sessions import Made, store

LONG, EVENTS = "q5-long", 20_000
PAINT_MS, ECHO_MS, CORES = 1500.0, 50.0, 1.0
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
WATCH_KEYS = """() => {
  window.echoes = [];
  document.getElementById('text').addEventListener('keydown', (event) => {
    const begun = event.timeStamp;
    requestAnimationFrame(() => {
      const painted = new MessageChannel();
      painted.port1.onmessage = () => echoes.push(performance.now() - begun);
      painted.port2.postMessage(0);
    });
  });
}"""


SHOWN = """() => {
  const box = document.getElementById('scroll').getBoundingClientRect();
  const shows = (share) => {
    const block = document.elementFromPoint(box.x + box.width / 2, box.y + box.height * share)?.closest('.b');
    return Boolean(block?.textContent.trim());
  };
  return [.1, .2, .3, .4, .5, .6, .7, .8, .9].some(shows);
}"""
TURNS = 150  # of the wheel


class Streamer:
    """A model that says 2,000 tokens a second for as long as it is told to."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ready = threading.Event()
        self.port = 0
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._run, daemon=True).start()
        self._ready.wait()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._answer, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        await reader.readexactly(int(lines[0][15:]) if lines else 0)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        begun, sent = time.monotonic(), 0
        while (now := time.monotonic() - begun) < self._seconds:
            due = int(now * 2000)
            for number in range(sent, due):
                word = "word " if number % 12 else "**end** `of` a line\n\n"
                writer.write(b"data: %s\n\n" % json.dumps({"choices": [{"delta": {"content": word}}]}).encode())
            sent = max(sent, due)
            await writer.drain()
            await asyncio.sleep(0.004)
        writer.write(b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
        await writer.drain()
        writer.close()


class Server:
    def __init__(self, folder: Path, model_port: int) -> None:
        self.repo = folder / "repo"
        self.repo.mkdir()
        config = folder / "home/.config/quintet"
        config.mkdir(parents=True)
        (config / "settings.toml").write_text(
            f'[models.fast]\nwire = "openai"\nbase_url = "http://127.0.0.1:{model_port}/v1"\nmodel = "m"\n'
            '[routing]\nsmart = "fast"\n[runs]\ndelivery_check = false\nqa_review = false\n'
        )
        self.environment = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}

    def start(self) -> dict[str, str]:
        words = [sys.executable, "-m", "quintet", "web", "--json"]
        self.process = subprocess.Popen(words, cwd=self.repo, env=self.environment, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        told: dict[str, str] = json.loads(self.process.stdout.readline())
        return told

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        self.process.terminate()
        self.process.wait()


def painted(page: Page, url: str) -> float:
    page.goto(url, wait_until="commit")
    for _ in range(600):
        if found := page.evaluate(PAINTED):
            return float(found)
        time.sleep(0.01)
    return 60_000.0


def echoes(page: Page, count: int) -> list[float]:
    page.evaluate(WATCH_KEYS)
    for number in range(count):
        page.keyboard.press("abcdefgh"[number % 8])
        time.sleep(0.05)
    found: list[float] = page.evaluate("echoes")
    page.fill("#text", "")
    return found


def blanks(page: Page) -> tuple[int, int]:
    """Of so many views while the wheel turns back as fast as the browser takes it, those that show nothing; and how
    many blocks were loaded in the end."""
    page.wait_for_selector("#transcript .b")
    page.locator("#scroll").hover()
    blank = 0
    for _ in range(TURNS):
        page.mouse.wheel(0, -900)
        blank += not page.evaluate(SHOWN)
    return blank, page.locator("#transcript > .b").count()


async def follow(host: str, path: str, token: str, count: int, seconds: float) -> tuple[int, int]:
    """So many streams at once; how many bytes they got, and how many of them got frames."""
    name, port = host.split(":")

    async def one() -> int:
        reader, writer = await asyncio.open_connection(name, int(port))
        head = f"GET {path}events?after={{}} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n"
        writer.write(head.format(EPOCH).encode())
        got, end = 0, time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                piece = await asyncio.wait_for(reader.read(65536), left)
            except TimeoutError:
                break
            if not piece:
                break
            got += len(piece)
        writer.close()
        return got

    found = await asyncio.gather(*(one() for _ in range(count)))
    return sum(found), sum(size > 2000 for size in found)


EPOCH = ""


def main() -> None:
    global EPOCH
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="q-web-"))
    streamer = Streamer(options.seconds)
    server = Server(folder, streamer.port)
    os.environ["HOME"] = str(folder / "home")
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        os.environ.pop(name, None)
    store(server.repo, list(islice(Made(LONG).events(5_000), EVENTS)))
    told = server.start()
    figures: dict[str, Any] = {}
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page()
            page.goto(told["link"])
            project = page.locator(".rows a").first.get_attribute("href")
            base = "/".join(told["url"].split("/")[:3])
            empty = median(painted(page, f"{base}{project}agents") for _ in range(3))
            idle = server.cpu()
            first = painted(page, f"{base}{project}s/{LONG}/")
            opened = (server.cpu() - idle) * 1000
            again = median(painted(page, f"{base}{project}s/{LONG}/") for _ in range(3))
            blank, loaded = blanks(page)
            page.goto(f"{base}{project}")
            page.click("text=Begin")
            page.wait_for_selector("#text")
            still = echoes(page, 60)
            path = page.url.removeprefix(base)
            whole = page.evaluate("fetch('page').then((answer) => answer.json())")
            EPOCH = f"{whole['epoch']}.{whole['frame']}"
            page.fill("#text", "say something")
            page.keyboard.press("Enter")
            page.wait_for_selector(".answer")
            moving = echoes(page, 60)
            page.locator("#status", has_text="ready").wait_for(timeout=60_000)
            whole = page.evaluate("fetch('page').then((answer) => answer.json())")
            EPOCH = f"{whole['epoch']}.{whole['frame']}"
            page.fill("#text", "say it again")
            page.keyboard.press("Enter")
            browser.close()
            before, begun = server.cpu(), time.monotonic()
            host = told["url"].split("/")[2]
            following = follow(host, path, told["token"], options.clients, options.seconds)
            with ThreadPoolExecutor(1) as pool:  # this thread has the browser's loop
                got, served = pool.submit(asyncio.run, following).result()
            used = (server.cpu() - before) / (time.monotonic() - begun)
    finally:
        server.end()
        shutil.rmtree(folder, ignore_errors=True)
    p95 = {name: quantiles(values, n=20)[-1] for name, values in (("still", still), ("moving", moving))}
    figures = {
        "paint_empty_ms": empty,
        "paint_long_first_ms": first,
        "paint_long_first_cpu_ms": opened,
        "paint_long_ms": again,
        "blank_views": blank,
        "blocks_loaded": loaded,
        "echo_still_p95_ms": p95["still"],
        "echo_streaming_p95_ms": p95["moving"],
        "clients": served,
        "client_bytes": got,
        "server_cores": used,
    }
    rows = [
        ("first paint, an empty page", f"{empty:.0f} ms", "", ""),
        (f"{EVENTS:,} events, opened first", f"{first:.0f} ms", f"{first / empty:.1f} ×", verdict(first <= PAINT_MS)),
        ("of that, the server's CPU", f"{opened:.0f} ms", "", ""),
        (f"{EVENTS:,} events, opened again", f"{again:.0f} ms", f"{again / empty:.1f} ×", verdict(again <= PAINT_MS)),
        (f"blank views, {TURNS} turns of the wheel", f"{blank}", f"{loaded:,} blocks", verdict(not blank)),
        ("key echo p95, nothing streams", f"{p95['still']:.0f} ms", "", ""),
        (
            "key echo p95, 2,000 tokens/s",
            f"{p95['moving']:.0f} ms",
            f"{p95['moving'] / max(p95['still'], 0.1):.1f} ×",
            verdict(p95["moving"] < ECHO_MS),
        ),
        (
            f"{options.clients} pages follow the stream",
            f"{used:.2f} cores",
            f"{served} served",
            verdict(used < CORES and served == options.clients),
        ),
    ]
    say(table(("", "measured", "ratio", "target"), rows), figures, options.json)


if __name__ == "__main__":
    main()
