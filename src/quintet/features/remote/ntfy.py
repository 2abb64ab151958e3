"""ntfy: messages on one topic, answers on another one that only pairing knows.

A topic has no senders: whoever knows its name can write there. So the name of the answers' topic is the account's key,
is told once where you sit, and never goes out with a message.
"""

from __future__ import annotations

import asyncio
import contextlib
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from quintet.adapters.files.loose_json import as_text
from quintet.features.remote.channel import ChannelDown, Listening
from quintet.features.remote.values import MOST_TEXT, Account, Outgoing, SentMessage, Update, UpdateBatch
from quintet.features.remote.wire import JsonWire, number_of

POLL_SECONDS = 50.0
GATHER_SECONDS, LONGEST_GATHER = 0.2, 2.0  # that what was missed gets to come in one piece
MOST_UPDATES = 100  # of one look: a topic that never rests is filed all the same
MOST_ID = 100  # characters
MOST_BYTES = 3_900  # of a message; ntfy makes a file of more than 4096


class Topics(Struct, frozen=True):
    """Where messages to an account go, and where its answers come from."""

    out: str
    reply: str


def new_topics() -> Topics:
    return Topics(f"quintet-{token_urlsafe(16)}", f"quintet-{token_urlsafe(24)}")


def as_address(topics: Topics) -> str:
    return msgspec.json.encode(topics).decode()


def topics_in(address: str) -> Topics:
    return msgspec.json.decode(address, type=Topics)


def account_of(topics: Topics) -> str:
    """What the journal calls it: the name of the topic is a key, and stays out of it."""
    return sha256(topics.reply.encode()).hexdigest()[:12]


class Ntfy:
    name = "ntfy"
    answers = True
    has_buttons = False

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._wire = JsonWire(url, "remote.ntfy_url", token, {"authorization": f"Bearer {token}"} if token else {})

    async def about(self) -> str:
        status, answer = await self._wire.ask("GET", "/v1/health")
        if status != 200 or answer.get("healthy") is not True:
            raise ChannelDown(f"the ntfy server answered {status}")
        return self._url

    async def send(self, account: Account, message: Outgoing) -> SentMessage:
        links = [f"{label}: {address}" for label, address in message.links]
        body: dict[str, Any] = {
            "topic": topics_in(account.address).out,
            "title": message.title,
            "message": _cut("\n".join([message.text, *links])),
            "priority": 4 if message.urgent else 3,
        }
        status, answer = await self._wire.ask("POST", "/", body)
        if status != 200:
            said = self._wire.said(answer.get("error"))
            raise ChannelDown(f"the ntfy server answered {status}: {said}".removesuffix(": "))
        return SentMessage(as_text(answer.get("id"))[:MOST_ID], number_of(answer.get("time")))

    async def updates(self, since: str, listening: Listening) -> UpdateBatch:
        addresses = {*(one.address for one in listening.accounts), *listening.addresses}
        by_topic = {topics_in(address).reply: address for address in addresses}
        if not by_topic:
            await asyncio.sleep(POLL_SECONDS)
            return UpdateBatch((), since)
        updates: list[Update] = []
        stream = self._wire.lines(f"/{','.join(sorted(by_topic))}/json?since={quote(since, safe='') or 'all'}")
        now = asyncio.get_running_loop().time
        end = now() + POLL_SECONDS
        async with contextlib.aclosing(stream):
            try:
                while len(updates) < MOST_UPDATES and (left := end - now()) > 0:
                    async with asyncio.timeout(min(left, GATHER_SECONDS) if updates else left):
                        line = await anext(stream)
                    if update := _update(line, by_topic):
                        end = end if updates else min(end, now() + LONGEST_GATHER)
                        updates.append(update)
                        since = update.id
            except (TimeoutError, StopAsyncIteration):
                pass
            except ChannelDown:
                if not updates:  # what came before is filed first; the next look meets it again
                    raise
        return UpdateBatch(tuple(updates), since)

    async def heard(self, update: Update) -> None:
        """There are no presses."""

    async def close(self) -> None:
        await self._wire.close()


def _update(line: dict[str, Any], by_topic: dict[str, str]) -> Update | None:
    number, topic, text = as_text(line.get("id")), as_text(line.get("topic")), line.get("message")
    if line.get("event") != "message" or not 0 < len(number) <= MOST_ID or topic not in by_topic:
        return None
    address = by_topic[topic]
    return Update(
        id=number,
        account=account_of(topics_in(address)),
        address=address,
        text=as_text(text)[: MOST_TEXT + 1],
        message=number,
        name="ntfy",
        order=number_of(line.get("time")),
        fault="" if isinstance(text, str) and "attachment" not in line else "only text messages are accepted",
    )


def _cut(text: str) -> str:
    data = text.encode()
    return text if len(data) <= MOST_BYTES else data[:MOST_BYTES].decode(errors="ignore") + " …"
