"""Telegram, by the Bot API: long polling for what comes, a plain message with buttons for what goes.

Only private chats count: in a group others read along and write too. An edited message is not heard again.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from quintet.adapters.files.loose_json import as_dict
from quintet.features.remote.channel import FORWARDED, ChannelDown, Listening
from quintet.features.remote.values import MOST_TEXT as MOST_HEARD
from quintet.features.remote.values import Account, Outgoing, SentMessage, Update, UpdateBatch
from quintet.features.remote.wire import ANSWER_SECONDS, JsonWire, number_of

POLL_SECONDS = 50
MOST_TEXT = 4096
MOST_DATA = 64  # bytes of what a button says
NO_TEXT = "only text messages are accepted"


class _Person(Struct):
    id: int
    is_bot: bool = False
    first_name: str = ""


class _Chat(Struct):
    id: int
    type: str = ""


class _Replied(Struct):
    message_id: int


class _Message(Struct):
    message_id: int
    chat: _Chat
    sender: _Person | None = field(default=None, name="from")
    text: str = ""
    reply_to_message: _Replied | None = None
    forward_origin: Any = None
    forward_date: Any = None
    forward_from: Any = None
    forward_sender_name: Any = None
    via_bot: Any = None
    sender_chat: Any = None


class _Press(Struct):
    id: str
    sender: _Person = field(name="from")
    message: _Message | None = None
    data: str = ""


class _BotUpdate(Struct):
    update_id: int
    message: _Message | None = None
    callback_query: _Press | None = None


class Telegram:
    name = "telegram"
    answers = True
    has_buttons = True

    def __init__(self, url: str, token: str) -> None:
        self._wire = JsonWire(url, "remote.telegram_url", token)
        self._token = token

    async def about(self) -> str:
        name = self._wire.said((await self._call("getMe")).get("username"))
        if not name:
            raise ChannelDown("Telegram did not give the bot's name")
        return f"@{name}"

    async def send(self, account: Account, message: Outgoing) -> SentMessage:
        links = [f"{label}: {address}" for label, address in message.links]
        body: dict[str, Any] = {
            "chat_id": int(account.address),
            "text": "\n".join([message.title, message.text, *links]).strip()[:MOST_TEXT],
            "link_preview_options": {"is_disabled": True},
        }
        if message.reply_to:
            body["reply_parameters"] = {"message_id": int(message.reply_to), "allow_sending_without_reply": True}
        if message.choices:
            body["reply_markup"] = {
                "inline_keyboard": [
                    [{"text": label[:60], "callback_data": key}]
                    for key, label in message.choices
                    if len(key.encode()) <= MOST_DATA
                ]
            }
        number = number_of((await self._call("sendMessage", body)).get("message_id"))
        return SentMessage(str(number or ""), number)

    async def updates(self, since: str, listening: Listening) -> UpdateBatch:
        body: dict[str, Any] = {"timeout": POLL_SECONDS, "allowed_updates": ["message", "callback_query"]}
        if since.isdecimal():
            body["offset"] = int(since) + 1
        found = await self._called("getUpdates", body, POLL_SECONDS + ANSWER_SECONDS)
        if not isinstance(found, list):
            raise ChannelDown("Telegram did not answer with a list of updates")
        last, updates = int(since) if since.isdecimal() else 0, []
        for one in found:
            number = number_of(as_dict(one).get("update_id"))
            if number > last:
                last = number
                if update := _update(one):
                    updates.append(update)
        return UpdateBatch(tuple(updates), str(last) if last else since)

    async def heard(self, update: Update) -> None:
        if update.callback:
            await self._call("answerCallbackQuery", {"callback_query_id": update.callback})

    async def close(self) -> None:
        await self._wire.close()

    async def _call(self, method: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        return as_dict(await self._called(method, body))

    async def _called(self, method: str, body: dict[str, Any] | None = None, seconds: float = ANSWER_SECONDS) -> Any:
        status, answer = await self._wire.ask("POST", f"/bot{self._token}/{method}", body or {}, seconds)
        if answer.get("ok") is True:
            return answer.get("result")
        if status in (401, 404):
            raise ChannelDown("Telegram does not accept the bot's token", hint="quintet secrets set TELEGRAM_BOT_TOKEN")
        if status == 409:
            raise ChannelDown("another program reads this bot's messages, or the bot has a webhook")
        wait = number_of(as_dict(answer.get("parameters")).get("retry_after"))
        said = self._wire.said(answer.get("description"))
        raise ChannelDown(f"Telegram answered {status}: {said}".removesuffix(": "), retry_after=wait)


def _update(raw: dict[str, Any]) -> Update | None:
    """A text or a press; None of whatever else there is, an edited message too."""
    try:
        found = msgspec.convert(raw, _BotUpdate)
    except (msgspec.ValidationError, RecursionError):
        return None
    if press := found.callback_query:
        if press.message is None or press.sender.is_bot:
            return None
        chat, message = press.message.chat, str(press.message.message_id)
        return Update(
            id=str(found.update_id),
            account=str(press.sender.id),
            address=str(chat.id),
            text=press.data[: MOST_HEARD + 1],
            message=message,
            reply_to=message,
            private=chat.type == "private",
            name=press.sender.first_name,
            callback=press.id,
        )
    said = found.message
    if said is None or said.sender is None or said.sender.is_bot or said.sender_chat is not None:
        return None
    elsewhere = (said.forward_origin, said.forward_date, said.forward_from, said.forward_sender_name, said.via_bot)
    forwarded = any(one is not None for one in elsewhere)
    return Update(
        id=str(found.update_id),
        account=str(said.sender.id),
        address=str(said.chat.id),
        text=said.text[: MOST_HEARD + 1],
        message=str(said.message_id),
        reply_to=str(said.reply_to_message.message_id) if said.reply_to_message else "",
        private=said.chat.type == "private",
        name=said.sender.first_name,
        fault=FORWARDED if forwarded else "" if said.text else NO_TEXT,
        order=number_of(said.message_id),
    )
