"""Answer links: pages for whoever has the link, and no token. A look shows what it would do; the button does it.

A message is opened from anywhere, so to look is allowed from another site; to answer, only from the page itself. Links
that are guessed count as wrong tokens do.
"""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from quintet.domain.ports.offers import ANSWER_PATH, AnswerPage, AnswerPages
from quintet.features.registry import answer_pages
from quintet.features.web_ui import pages
from quintet.features.web_ui.access import Attempts, Doors, Knock
from quintet.features.web_ui.html import e

LATER = "Too many wrong links. Try again in a minute."


class AnswerDoor:
    def __init__(self, doors: Doors, attempts: Attempts) -> None:
        self._doors = doors
        self._attempts = attempts
        self._found: AnswerPages | None = None

    async def answer(self, request: Request, knock: Knock) -> Response:
        found = self._pages()
        token = request.url.path.removeprefix(f"/{ANSWER_PATH}/")
        if found is None or request.method not in ("GET", "HEAD", "POST"):
            return HTMLResponse(pages.problem(404, "There is no such page."), 404)
        if request.method == "POST":
            if knock.origin.lower() not in self._doors.origins or knock.site == "cross-site":
                return HTMLResponse(pages.problem(403, "Answer on the page that the link opens."), 403)
            shown = found.take(token)
        else:
            shown = found.look(token)
        address = request.client.host if request.client else ""
        if shown.status == 404 and self._attempts.wrong(address, time.monotonic()):
            return PlainTextResponse(LATER, 429)
        return HTMLResponse(_page(shown), shown.status)

    def _pages(self) -> AnswerPages | None:
        self._found = self._found or answer_pages()
        return self._found


def _page(shown: AnswerPage) -> str:
    lines = "".join(f"<p>{e(line)}</p>" for line in shown.lines)
    button = f'<form method="post"><button>Answer: {e(shown.answer)}</button></form>' if shown.answer else ""
    body = f'<main id="main" class="page"><h1>{e(shown.title)}</h1>{lines}{button}</main>'
    return pages.document("Quintet", body, role=None)
