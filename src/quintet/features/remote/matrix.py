"""Matrix, by the client-server API: an account of Quintet's own on your homeserver, in a room with you alone.

A room that a third account is in is not heard and gets nothing. Rooms are not encrypted: the homeserver can read them.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any
from urllib.parse import quote

import msgspec

from quintet.adapters.files.loose_json import as_dict, as_list, as_text
from quintet.features.remote.channel import FORWARDED, ChannelDown, Listening
from quintet.features.remote.values import MOST_TEXT as MOST_HEARD
from quintet.features.remote.values import Account, Outgoing, SentMessage, Update, UpdateBatch
from quintet.features.remote.wire import ANSWER_SECONDS, JsonWire, number_of

POLL_SECONDS = 30
MOST_TEXT = 20_000
TIMELINE = 100  # events of a room at once
MOST_PAGES = 20  # of what a room missed
MOST_JOINS, JOIN_TRIES, JOIN_SECONDS = 20, 3, 10.0  # rooms entered at once, and how often and long each is tried
MOST_INVITES = 1_000
MOST_ID = 500  # characters of an event's or a room's id
MOST_POSITION = 4_000
_FORWARD_MARKS = ("m.forwarded", "org.matrix.msc2723.forwarded")
_BASE = "/_matrix/client/v3"


class RoomRefused(ChannelDown):
    """The homeserver does not let us do something in one room; the others are as they were."""


class Matrix:
    name = "matrix"
    answers = True
    has_buttons = False

    def __init__(self, url: str, token: str) -> None:
        self._wire = JsonWire(url, "remote.matrix_url", token, {"authorization": f"Bearer {token}"})
        self._self = ""
        self._invites: dict[str, int] = {}  # rooms to enter, and how often that was tried

    async def about(self) -> str:
        return self._wire.said(await self._me())

    async def send(self, account: Account, message: Outgoing) -> SentMessage:
        room = account.address
        if not await self._alone(room, account.account):
            raise ChannelDown(f"other people are in the room with {account.account}: nothing is sent there")
        links = [f"{label}: {address}" for label, address in message.links]
        content: dict[str, Any] = {
            "msgtype": "m.text",
            "body": "\n".join([message.title, message.text, *links]).strip()[:MOST_TEXT],
        }
        if message.reply_to:
            content["m.relates_to"] = {"m.in_reply_to": {"event_id": message.reply_to}}
        path = f"{_BASE}/rooms/{_part(room)}/send/m.room.message/{_part(message.key)}"
        event = as_text((await self._call("PUT", path, content)).get("event_id"))
        if not event:
            raise ChannelDown("the homeserver accepted the message but gave no event id")
        if not (message.choices or message.first):
            return SentMessage(event)
        found = await self._call("GET", f"{_BASE}/rooms/{_part(room)}/event/{_part(event)}")
        return SentMessage(event, number_of(found.get("origin_server_ts")))

    async def updates(self, since: str, listening: Listening) -> UpdateBatch:
        me = await self._me()
        filters = {
            "presence": {"types": []},
            "account_data": {"types": []},
            "room": {
                "ephemeral": {"types": []},
                "account_data": {"types": []},
                "state": {"types": [], "lazy_load_members": True},
                "timeline": {"types": ["m.room.message"], "limit": TIMELINE},
            },
        }
        wait = POLL_SECONDS if since and not (listening.pairing and self._invites) else 0
        asked = f"{_BASE}/sync?timeout={wait * 1000}&filter={quote(msgspec.json.encode(filters).decode(), safe='')}"
        if since:
            asked += f"&since={_part(since)}"
        synced = await self._call("GET", asked, seconds=wait + ANSWER_SECONDS)
        position = as_text(synced.get("next_batch"))
        if not 0 < len(position) <= MOST_POSITION:
            raise ChannelDown("the homeserver's sync gave no next_batch")
        rooms = as_dict(synced.get("rooms"))
        if listening.pairing:
            await self._enter(as_dict(rooms.get("invite")))
        updates: list[Update] = []
        paired = {one.address for one in listening.accounts}
        for room, found in as_dict(rooms.get("join")).items() if since else ():
            if room in paired or listening.pairing:
                updates += await self._heard(room, as_dict(found), since, me, missed=room in paired)
        return UpdateBatch(tuple(updates), position)

    async def heard(self, update: Update) -> None:
        """There are no presses."""

    async def close(self) -> None:
        await self._wire.close()

    async def _enter(self, invites: dict[str, Any]) -> None:
        """Enter the rooms we are invited to, the newest first. Anybody can invite: no room keeps us from another."""
        new = {room: 0 for room in invites if room not in self._invites and len(room) <= MOST_ID}
        self._invites = dict(list({**new, **self._invites}.items())[:MOST_INVITES])

        async def enter(room: str) -> None:
            self._invites[room] += 1
            with contextlib.suppress(ChannelDown):
                await self._call("POST", f"{_BASE}/rooms/{_part(room)}/join", {}, JOIN_SECONDS)
                del self._invites[room]

        await asyncio.gather(*(enter(room) for room in list(self._invites)[:MOST_JOINS]))
        again = {room: tries for room, tries in self._invites.items() if 0 < tries < JOIN_TRIES}
        self._invites = {room: tries for room, tries in self._invites.items() if not tries} | again

    async def _heard(self, room: str, found: dict[str, Any], since: str, me: str, *, missed: bool) -> list[Update]:
        """The texts of a room; none of one that we may not look into."""
        timeline = as_dict(found.get("timeline"))
        events = as_list(timeline.get("events"))
        try:
            if timeline.get("limited") is True and missed:
                events = [*await self._missed(room, as_text(timeline.get("prev_batch")), since), *events]
            said = [update for event in events if (update := _update(event, room, me))]
            private = len(await self._members(room)) == 2 if said else True
        except RoomRefused:
            return []
        return [msgspec.structs.replace(one, private=private) for one in said]

    async def _missed(self, room: str, begin: str, since: str) -> list[Any]:
        """What a room holds between two looks beyond what one look shows, oldest first."""
        found: list[Any] = []
        for _ in range(MOST_PAGES):
            path = f"{_BASE}/rooms/{_part(room)}/messages?dir=b&limit={TIMELINE}&from={_part(begin)}&to={_part(since)}"
            page = await self._call("GET", path)
            events = as_list(page.get("chunk"))
            found += events[:TIMELINE]
            begin = as_text(page.get("end"))
            if not begin or not events:
                break
        return found[::-1]

    async def _me(self) -> str:
        if not self._self:
            self._self = as_text((await self._call("GET", f"{_BASE}/account/whoami")).get("user_id"))
            if not self._self:
                raise ChannelDown("the homeserver did not say which account the access token is for")
        return self._self

    async def _members(self, room: str) -> set[str]:
        found = await self._call("GET", f"{_BASE}/rooms/{_part(room)}/joined_members")
        return set(as_dict(found.get("joined")))

    async def _alone(self, room: str, account: str) -> bool:
        return await self._members(room) <= {account, await self._me()}

    async def _call(
        self, method: str, path: str, body: dict[str, Any] | None = None, seconds: float = ANSWER_SECONDS
    ) -> dict[str, Any]:
        status, answer = await self._wire.ask(method, path, body, seconds)
        if status == 200:
            return answer
        if status == 401:
            raise ChannelDown(
                "the homeserver does not accept the access token", hint="quintet secrets set MATRIX_ACCESS_TOKEN"
            )
        said = " ".join(filter(None, (self._wire.said(answer.get("errcode")), self._wire.said(answer.get("error")))))
        problem = f"the homeserver answered {status}: {said}".removesuffix(": ")
        if status in (403, 404):
            raise RoomRefused(problem)
        raise ChannelDown(problem, retry_after=number_of(answer.get("retry_after_ms")) / 1000)


def _update(event: Any, room: str, me: str) -> Update | None:
    """A text of somebody's; None of whatever else there is, an edit too."""
    event = as_dict(event)
    content = as_dict(event.get("content"))
    relation = as_dict(content.get("m.relates_to"))
    texts = (event.get("sender"), event.get("event_id"), content.get("body"))
    if event.get("type") != "m.room.message" or content.get("msgtype") != "m.text" or event.get("sender") == me:
        return None
    if relation.get("rel_type") == "m.replace" or not all(isinstance(text, str) and text for text in texts):
        return None
    sender, number, body = map(str, texts)
    if max(len(sender), len(number)) > MOST_ID:
        return None
    reply = as_text(as_dict(relation.get("m.in_reply_to")).get("event_id"))[:MOST_ID]
    return Update(
        id=number,
        account=sender,
        address=room,
        text=(_without_quote(body) if reply else body)[: MOST_HEARD + 1],
        message=number,
        reply_to=reply,
        name=sender,
        fault=FORWARDED if any(mark in content for mark in _FORWARD_MARKS) else "",
        order=number_of(event.get("origin_server_ts")),
    )


def _without_quote(body: str) -> str:
    """A reply without the lines that older clients quote before it."""
    lines = body.split("\n")
    while lines and lines[0].startswith("> "):
        lines.pop(0)
    return "\n".join(lines).strip()


def _part(text: str) -> str:
    return quote(text, safe="")
