"""What is to be sent to one account, in order; a channel that is down is tried again, later each time."""

from __future__ import annotations

import asyncio
from collections import deque

from msgspec import structs

from quintet.domain.ports.ports import Clock
from quintet.features.remote.book import RemoteBook
from quintet.features.remote.channel import Channel, ChannelDown
from quintet.features.remote.poller import SETTLE_SECONDS, SETTLE_TRIES, Backoff
from quintet.features.remote.values import Account, Outgoing, SentMessage

MOST_WAITING = 200  # while the channel is down; of what is more, the oldest goes
KEPT_QUESTIONS = 200


class Outbox:
    def __init__(self, channel: Channel, account: Account, book: RemoteBook, session: str, clock: Clock) -> None:
        self.channel = channel
        self.account = account
        self.problem = ""
        self._book = book
        self._session = session
        self._clock = clock
        self._waiting: deque[Outgoing] = deque()
        self._sent: dict[str, SentMessage] = {}  # by question
        self._begun = False  # a message has left
        self._leaving: Outgoing | None = None  # on its way: it may have arrived
        self._new = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def put(self, message: Outgoing) -> None:
        self._waiting.append(message)
        if len(self._waiting) > MOST_WAITING:
            self._waiting.popleft()
        self._empty.clear()
        self._new.set()

    def withdraw(self, question: str) -> bool:
        """Take back a question that has not left yet; False if it has, or was never here."""
        found = next((one for one in self._waiting if one.question == question and one.choices), None)
        if found is None or found is self._leaving or question in self._sent:
            return False
        self._waiting.remove(found)
        return True

    def message_of(self, question: str) -> str:
        return self._sent[question].id if question in self._sent else ""

    def shown_before(self, question: str, order: int) -> bool:
        """Whether the account was shown a question before it wrote what has this place."""
        return question in self._sent and self._sent[question].order <= order

    async def settled(self, question: str) -> None:
        """Until it is known whether a question that is on its way has arrived, or for a second."""
        for _ in range(SETTLE_TRIES):
            if self._leaving is None or self._leaving.question != question:
                return
            await asyncio.sleep(SETTLE_SECONDS)

    async def emptied(self) -> None:
        await self._empty.wait()

    async def run(self) -> None:
        backoff = Backoff()
        while True:
            if not self._waiting:
                self._empty.set()
                self._new.clear()
                await self._new.wait()
            message = self._leaving = self._waiting[0]
            account = self._book.account(self.account.channel, self.account.account)
            if account is None:  # revoked meanwhile
                self._waiting.clear()
                continue
            try:
                sent = await self.channel.send(account, self._placed(message))
            except ChannelDown as error:
                self.problem = error.message
                self._leaving = None
                await self._clock.sleep(backoff.wait(error.retry_after))
                continue
            self.problem = ""
            backoff.reset()
            self._note(message, sent)

    def _placed(self, message: Outgoing) -> Outgoing:
        """The first message says that it is; what is said of a question stands below it."""
        message = message if self._begun else structs.replace(message, first=True)
        if message.question and not message.choices and not message.reply_to:
            return structs.replace(message, reply_to=self.message_of(message.question))
        return message

    def _note(self, message: Outgoing, sent: SentMessage) -> None:
        self._leaving = None
        if message in self._waiting:
            self._waiting.remove(message)
        if not self._begun and sent.order:
            self._begun = True
            self._book.note_begun(self.account, self._session, sent.order)
        if sent.id:
            self._book.note_sent(self.account, sent.id, self._session, message.question if message.choices else "")
        if message.question and message.choices:
            self._sent[message.question] = sent
            while len(self._sent) > KEPT_QUESTIONS:
                del self._sent[next(iter(self._sent))]
