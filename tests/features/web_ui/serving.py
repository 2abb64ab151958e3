"""`quintet web` as a real process, and requests to it as a browser, a script or somebody else would make them."""

from __future__ import annotations

import http.client
import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.surfaces.program import Program


class Answered:
    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.status = answer.status
        self.headers = answer.headers
        self.text = answer.read().decode()

    def json(self) -> Any:
        return json.loads(self.text)


class Web:
    """A server that runs, with what it printed."""

    def __init__(self, told: Mapping[str, str]) -> None:
        self.url = told["url"]
        self.token = told["token"]
        self.link = told["link"]
        self.viewer_token = told.get("viewer_token", "")
        self.viewer_link = told.get("viewer_link", "")
        self.upstream = told.get("upstream", "")
        self.host = urlsplit(self.url).netloc
        self.below = urlsplit(self.url).path.rstrip("/")

    def request(self, method: str, path: str, body: bytes | str | None = None, **headers: str) -> Answered:
        """`path` is below that of the pages, as they all are."""
        return self.anywhere(method, self.below + path, body, **headers)

    def anywhere(self, method: str, path: str, body: bytes | str | None = None, **headers: str) -> Answered:
        connection = http.client.HTTPConnection(self.host, timeout=60)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            return Answered(connection.getresponse())
        finally:
            connection.close()

    def get(self, path: str, token: str = "", **headers: str) -> Answered:
        return self.request("GET", path, Authorization=f"Bearer {token or self.token}", **headers)

    def post(self, path: str, token: str = "", /, **fields: str) -> Answered:
        return self.request(
            "POST",
            path,
            urlencode(fields),
            Authorization=f"Bearer {token or self.token}",
            Accept="application/json",
            Content_Type="application/x-www-form-urlencoded",
        )

    @property
    def project(self) -> str:
        """The path of the project's page."""
        after = self.get("/").text.split(f'href="{self.below}/p/')[1]
        return f"/p/{after.split('/')[0]}/"

    def new(self, text: str = "", **fields: str) -> str:
        """A new session; the path of its page."""
        begun = self.post(f"{self.project}new", text=text, **fields)
        assert begun.status == 303, begun.text
        return self.project + begun.headers["location"]


@contextmanager
def serving(quintet: Program, *flags: str) -> Iterator[Web]:
    process = quintet.start("web", "--json", *flags)
    try:
        assert process.stdout
        line = process.stdout.readline()
        assert line, process.stderr.read() if process.stderr else ""
        yield Web(json.loads(line))
    finally:
        end(process)


def end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    process.wait(60)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            stream.close()
