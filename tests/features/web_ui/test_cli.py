"""`quintet web` at the command line: what it prints, what it opens, and what it refuses before it serves."""

import json
import os
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.features.web_ui.serving import Web, end, serving
from tests.surfaces.program import Program

OPENER = """#!/bin/sh
printf '%s\\n' "$@" >"$HERE/told.new" && mv "$HERE/told.new" "$HERE/told"
"""


def test_open_shows_the_page_without_the_token_among_the_processes(
    quintet: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opener = tmp_path / "programs" / "xdg-open"
    opener.parent.mkdir()
    opener.write_text(OPENER)
    opener.chmod(0o755)
    monkeypatch.setenv("HERE", str(tmp_path))
    monkeypatch.setenv("PATH", f"{opener.parent}{os.pathsep}{os.environ['PATH']}")
    process = quintet.start("web", "--open")
    try:
        assert process.stdout
        link = process.stdout.readline().removeprefix("Open ").strip()
        told, until = tmp_path / "told", time.monotonic() + 60
        while not told.exists() and time.monotonic() < until:
            time.sleep(0.05)
        (shown,) = told.read_text().splitlines()
        assert link.partition("token=")[2] not in shown
        page = Path(shown.removeprefix("file://"))
        assert f"url={link}" in page.read_text()
        assert page.stat().st_mode & 0o777 == 0o600
    finally:
        end(process)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--port", "70000"), "not a port"),
        (("--host", "0.0.0.0"), "without TLS"),
        (("--tls-cert", "x.pem"), "go together"),
        (("--tls-cert", "none.pem", "--tls-key", "none.pem"), "no such file"),
        (("--behind-proxy",), "needs --name"),
        (("--host", "0.0.0.0", "--tls-cert", "one.md", "--tls-key", "one.md"), "needs --name"),
    ],
)
def test_what_would_be_open_or_cannot_be_served_is_refused(quintet: Program, flags: tuple[str, ...], said: str) -> None:
    (quintet.root / "one.md").touch()
    assert said in quintet.run("web", *flags).clean(2).err


def test_a_token_is_in_no_log_and_in_one_file_of_the_users_own(quintet: Program, tmp_path: Path) -> None:
    process = quintet.start("web", "--json")
    assert process.stdout and process.stderr
    web = Web(json.loads(process.stdout.readline()))
    for path in (f"/?token={web.token}", f"/p/none/?token={web.token}", "/?token=wrong"):
        web.request("GET", path)
    assert web.get("/").status == 200
    process.terminate()
    said = process.stdout.read() + process.stderr.read()
    end(process)
    assert web.token not in said
    holding = [one for one in tmp_path.rglob("*") if one.is_file() and web.token.encode() in one.read_bytes()]
    assert [one.name for one in holding] == ["owner"]
    assert holding[0].stat().st_mode & 0o777 == 0o600


def test_a_proxy_is_told_where_the_server_is(quintet: Program) -> None:
    with serving(quintet, "--behind-proxy", "--name", "quintet.example") as web:
        assert web.link.startswith("https://quintet.example/")
        there = urlsplit(web.upstream)
        assert (there.scheme, there.hostname) == ("http", "127.0.0.1")
        web.host = there.netloc
        for name, status in (("quintet.example", 200), ("other.example", 421)):
            assert web.get("/", Host=name).status == status
