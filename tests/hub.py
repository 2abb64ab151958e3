"""A forge on loopback that speaks GitHub's REST shapes: pages, rate limits, errors, and a record of what was asked."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.loopback import Answer, Asked, Server, serving

HEAD, BASE = "a" * 40, "b" * 40
TOKEN = "hub-token-0123456789"


def user(name: str) -> dict[str, str]:
    return {"login": name}


def pull(number: int = 7, **more: Any) -> dict[str, Any]:
    return {
        "number": number,
        "title": "Brew stronger tea",
        "state": "open",
        "draft": False,
        "merged": False,
        "mergeable": True,
        "user": user("ada"),
        "body": "It was too weak.",
        "head": {"ref": "tea", "sha": HEAD, "label": "ada:tea"},
        "base": {"ref": "main", "sha": BASE, "label": "shop:main"},
        "additions": 2,
        "deletions": 1,
        "changed_files": 1,
        "html_url": f"https://hub.example/ada/tea/pull/{number}",
        **more,
    }


@dataclass
class Hub:
    """What the forge holds; `first` answers the first requests instead, one each."""

    server: Server
    pulls: dict[int, dict[str, Any]] = field(default_factory=lambda: {7: pull()})
    files: list[dict[str, Any]] = field(
        default_factory=lambda: [
            {
                "filename": "tea.py",
                "status": "modified",
                "additions": 2,
                "deletions": 1,
                "patch": "@@ -1 +1,2 @@\n-weak = 1\n+strong = 2\n+hot = 3",
            }
        ]
    )
    comments: list[dict[str, Any]] = field(default_factory=list)
    remarks: list[dict[str, Any]] = field(default_factory=list)
    reviews: list[dict[str, Any]] = field(default_factory=list)
    repos: list[dict[str, Any]] = field(default_factory=list)
    contents: dict[str, str] = field(default_factory=lambda: {"tea.py": "strong = 2\nhot = 3\n"})
    runs: Callable[[], list[dict[str, Any]]] = list
    log: str = "log of the job\n"
    first: list[Answer] = field(default_factory=list)
    made: list[tuple[str, str, Any]] = field(default_factory=list)  # method, path, body of each write

    def answer(self, asked: Asked) -> Answer:
        if self.first:
            return self.first.pop(0)
        if asked.path == "/blob/log":
            return Answer(self.log, headers={"content-type": "text/plain"})
        if asked.method != "GET":
            if asked.headers.get("authorization") != f"Bearer {TOKEN}":
                return Answer({"message": "Bad credentials"}, 401)
            self.made.append((asked.method, asked.path, asked.json))
            return Answer({"id": 99, "number": 8, "html_url": "https://hub.example/made"}, 201)
        for pattern, give in self.paths().items():
            if found := re.fullmatch(pattern, asked.path):
                return give(asked, *found.groups())
        return Answer({"message": "Not Found"}, 404)

    def paths(self) -> dict[str, Callable[..., Answer]]:
        one = r"/repos/ada/tea/pulls/(\d+)"
        return {
            one: lambda asked, number: self._pull(int(number)),
            f"{one}/files": lambda asked, number: self._page(asked, self.files),
            f"{one}/reviews": lambda asked, number: self._page(asked, self.reviews),
            f"{one}/comments": lambda asked, number: self._page(asked, self.remarks),
            r"/repos/ada/tea/issues/\d+/comments": lambda asked: self._page(asked, self.comments),
            rf"/repos/ada/tea/commits/{HEAD}/check-runs": lambda asked: Answer({"check_runs": self.runs()}),
            rf"/repos/ada/tea/commits/{HEAD}/status": lambda asked: Answer(
                {"statuses": [{"context": "lint", "state": "success", "target_url": None}]}
            ),
            r"/repos/ada/tea/actions/jobs/\d+/logs": lambda asked: Answer(
                status=302, headers={"location": f"http://localhost:{self.server.port}/blob/log"}
            ),
            r"/repos/ada/tea/contents/(.+)": lambda asked, path: (
                Answer(self.contents[path]) if path in self.contents else Answer({"message": "Not Found"}, 404)
            ),
            "/user/repos": lambda asked: self._page(asked, self.repos),
        }

    def _pull(self, number: int) -> Answer:
        return Answer(self.pulls[number]) if number in self.pulls else Answer({"message": "Not Found"}, 404)

    def _page(self, asked: Asked, items: list[Any]) -> Answer:
        size, page = int(asked.query["per_page"][0]), int(asked.query.get("page", ["1"])[0])
        first = (page - 1) * size
        rest = {k: v[0] for k, v in asked.query.items() if k != "page"}
        query = "&".join(f"{name}={value}" for name, value in rest.items())
        link = f'<{self.server.url}{asked.path}?{query}&page={page + 1}>; rel="next", <{self.server.url}>; rel="last"'
        return Answer(items[first : first + size], headers={"link": link} if len(items) > first + size else {})


def limited(seconds: int = 0, *, secondary: bool = False) -> Answer:
    """GitHub's answer to too many requests."""
    headers = (
        {"retry-after": str(seconds)}
        if secondary
        else {
            "x-ratelimit-remaining": "0",
            "x-ratelimit-reset": str(int(time.time()) + seconds),
        }
    )
    return Answer(
        {"message": "You have exceeded a secondary rate limit" if secondary else "API rate limit exceeded"},
        403,
        headers,
    )


@contextmanager
def hub() -> Iterator[Hub]:
    made: list[Hub] = []
    with serving(lambda asked: made[0].answer(asked)) as server:
        made.append(Hub(server))
        yield made[0]
