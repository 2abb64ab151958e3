"""What stands behind an answer link: a look says what it would do, taking it does that, once and in time.

A link that is forged, used or too old does nothing, and says so; a forged one and an unknown one look the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from quintet.domain.base.safe_text import visible
from quintet.domain.dials.axes import Surface
from quintet.domain.ports.offers import AnswerPage
from quintet.features.remote.answer_links import AnswerLink, LinkState, id_in, is_signed
from quintet.features.remote.book import RemoteBook
from quintet.features.remote.values import InboundRow, submission_id

UNKNOWN = AnswerPage("Unknown link", ("It is not a link of Quintet, or it was deleted.",), status=404)
GONE = {
    LinkState.USED: "This link was already used, or its question is closed. Nothing was done.",
    LinkState.EXPIRED: "This link has expired. Nothing was done: answer at the computer.",
}


class RemoteAnswerPages:
    def __init__(self, book: RemoteBook, now: Callable[[], float]) -> None:
        self._book = book
        self._now = now

    def look(self, token: str) -> AnswerPage:
        link = self._link(token)
        if link is None:
            return UNKNOWN
        if gone := self._gone(link):
            return gone
        lines = (f"Project {visible(link.project)} asks:", *visible(link.text).split("\n"))
        return AnswerPage("Answer a question", lines, visible(link.label))

    def take(self, token: str) -> AnswerPage:
        link = self._link(token)
        if link is None:
            return UNKNOWN
        if gone := self._gone(link):
            return gone
        row = InboundRow(
            id=submission_id("link", link.account, link.id),
            session=link.session,
            channel="link",
            account=link.account,
            text=link.choice,
            question=link.question,
            surface=Surface.WEB,
            link=link.channel,
        )
        if not self._book.use_link(link, row):
            return AnswerPage("Nothing was done", (GONE[LinkState.USED],), status=410)
        return AnswerPage("Answered", (f"Sent to the session: {visible(link.label)}",))

    def _link(self, token: str) -> AnswerLink | None:
        link = self._book.link(id_in(token)) if id_in(token) else None
        return link if link and is_signed(token, link, self._book.key()) else None

    def _gone(self, link: AnswerLink) -> AnswerPage | None:
        state = link.state(self._now())
        if state is LinkState.OPEN and self._book.account(link.channel, link.account) is None:
            state = LinkState.USED  # the account that it was sent to is revoked
        return AnswerPage("Nothing was done", (GONE[state],), status=410) if state in GONE else None

    def close(self) -> None:
        self._book.close()


def open_pages() -> RemoteAnswerPages:
    return RemoteAnswerPages(RemoteBook(), time.time)
