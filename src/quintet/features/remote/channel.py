"""The port that every channel fills, and how one says that it cannot be reached."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from quintet.domain.base.errors import QuintetError
from quintet.features.remote.values import Account, Outgoing, SentMessage, Update, UpdateBatch

FORWARDED = "forwarded messages are not accepted: write it yourself"
NAMES = ("telegram", "matrix", "ntfy", "apprise")


class ChannelDown(QuintetError):
    """The channel cannot be reached now."""

    code = "REMOTE_DOWN"

    def __init__(self, message: str = "", *, hint: str = "", retry_after: float = 0.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after  # seconds, if the other side says so


class Listening(Struct, frozen=True):
    """Whose texts are waited for."""

    accounts: tuple[Account, ...]
    addresses: tuple[str, ...] = ()  # of pairings that wait, where the address is known
    pairing: bool = False  # somebody is being paired: rooms may be entered


class Channel(Protocol):
    """One way to a person. What goes wrong is a ChannelDown; no message names a token."""

    name: str
    answers: bool  # texts come back
    has_buttons: bool  # its messages can be answered by a press; else answer links go along, where there are any

    async def about(self) -> str:
        """Whom a person writes to there; it asks the other side, so it shows whether the token works."""

    async def send(self, account: Account, message: Outgoing) -> SentMessage: ...

    async def updates(self, since: str, listening: Listening) -> UpdateBatch:
        """What came since then; waits for a while if nothing did. With no `since`, from now on."""

    async def heard(self, update: Update) -> None:
        """The person sees that a press was taken."""

    async def close(self) -> None: ...
