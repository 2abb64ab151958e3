"""Answer links: each is one choice of one question, signed, for a while and once. Pure.

The address holds an id and its signature; what the link would do is stored under the id, and signed with it.
"""

from __future__ import annotations

import hmac
import re
from enum import StrEnum
from hashlib import sha256

from msgspec import Struct

from quintet.domain.ports.offers import ANSWER_PATH

_TOKEN = re.compile(r"([A-Za-z0-9_-]{16,64})\.([0-9a-f]{64})")


class LinkState(StrEnum):
    OPEN = "open"
    USED = "used"
    EXPIRED = "expired"


class AnswerLink(Struct, frozen=True):
    id: str
    session: str
    project: str
    question: str
    choice: str
    label: str
    text: str  # what is asked, as far as it may leave
    channel: str  # that the link was sent on
    account: str
    expires: float
    used: str = ""  # how the question ended, once it has

    def state(self, now: float) -> LinkState:
        if self.used:
            return LinkState.USED
        return LinkState.OPEN if now < self.expires else LinkState.EXPIRED


def token(link: AnswerLink, key: bytes) -> str:
    return f"{link.id}.{_signature(link, key)}"


def id_in(given: str) -> str:
    """The id that a token names; empty if it is none."""
    found = _TOKEN.fullmatch(given)
    return found[1] if found else ""


def is_signed(given: str, link: AnswerLink, key: bytes) -> bool:
    return hmac.compare_digest(given.rpartition(".")[2], _signature(link, key))


def address(links_url: str, given: str) -> str:
    return f"{links_url.rstrip('/')}/{ANSWER_PATH}/{given}"


def _signature(link: AnswerLink, key: bytes) -> str:
    said = (link.id, link.session, link.question, link.choice, link.channel, link.account, f"{link.expires:.0f}")
    return hmac.new(key, "\n".join(("link", *said)).encode(), sha256).hexdigest()
