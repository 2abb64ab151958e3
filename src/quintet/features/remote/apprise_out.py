"""Outgoing only, to any service that apprise knows: the extra `remote`, imported when the channel is used."""

from __future__ import annotations

import asyncio
import logging

import apprise

from quintet.features.remote.channel import ChannelDown, Listening
from quintet.features.remote.values import Account, Outgoing, SentMessage, Update, UpdateBatch

ACCOUNT = "all"  # its one account: whatever addresses the secret holds


class Apprise:
    name = "apprise"
    answers = False
    has_buttons = False

    def __init__(self, addresses: str) -> None:
        logging.getLogger("apprise").disabled = True  # its lines name addresses, and those hold tokens
        self._out = apprise.Apprise()
        wrong = sum(not self._out.add(one) for one in addresses.split())
        self._count = len(self._out)
        self._wrong = wrong

    async def about(self) -> str:
        if self._wrong or not self._count:
            raise ChannelDown(
                f"{self._wrong} of {self._wrong + self._count} apprise addresses cannot be read",
                hint="quintet secrets set APPRISE_URLS_SECRET",
            )
        return f"{self._count} apprise {'address' if self._count == 1 else 'addresses'}"

    async def send(self, account: Account, message: Outgoing) -> SentMessage:
        links = [f"{label}: {address}" for label, address in message.links]
        sent = await asyncio.to_thread(
            self._out.notify, body="\n".join([message.text, *links]), title=message.title, body_format="text"
        )
        if not sent:
            raise ChannelDown("not every apprise address accepted the message")
        return SentMessage("")

    async def updates(self, since: str, listening: Listening) -> UpdateBatch:
        return UpdateBatch((), since)

    async def heard(self, update: Update) -> None:
        """Nothing comes back."""

    async def close(self) -> None:
        """Nothing is held open."""
