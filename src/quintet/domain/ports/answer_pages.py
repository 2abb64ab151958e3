"""Answer links, as the web surface serves them: whoever has the link needs no token, and can do one thing once."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

PATH = "answer"  # that the links lie below


class AnswerPage(Struct, frozen=True):
    """What a link shows. `answer` is what it would do if it were taken; empty if nothing can be done any more."""

    title: str
    lines: tuple[str, ...] = ()
    answer: str = ""
    status: int = 200  # of HTTP


class AnswerPages(Protocol):
    """To look at a link changes nothing; to take it does what the look said, once."""

    def look(self, token: str) -> AnswerPage: ...

    def take(self, token: str) -> AnswerPage: ...

    def close(self) -> None: ...
