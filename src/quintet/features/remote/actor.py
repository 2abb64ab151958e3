"""The session's end of remote: follows its journal and sends what happens, takes what was heard and submits it.

It is opened with the session and closed with it. Each account has an outbox of its own, so that a channel that is down
keeps nobody else waiting; a question that was answered before it could be sent is not sent.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from secrets import token_urlsafe
from typing import TYPE_CHECKING

from quintet.domain.base.errors import QuintetError, UsageError
from quintet.domain.base.safe_text import visible
from quintet.domain.dials.axes import Surface
from quintet.domain.dials.transitions import REMOTE
from quintet.domain.journal import protocol as p
from quintet.domain.tasks.board import BoardEntry, BoardKind
from quintet.engine.session.session import Session
from quintet.features.remote import answer_links
from quintet.features.remote.answer_links import AnswerLink
from quintet.features.remote.book import RemoteBook
from quintet.features.remote.channel import Channel
from quintet.features.remote.notices import (
    RemoteNotice,
    answered_notice,
    command_notice,
    event_notice,
    question_notice,
)
from quintet.features.remote.outbox import Outbox
from quintet.features.remote.poller import Poller
from quintet.features.remote.settings import RemoteSettings
from quintet.features.remote.texts import RemoteRefusal, understood
from quintet.features.remote.values import Account, InboundRow, Outgoing, RemoteSession
from quintet.features.remote.wiring import make_channel

if TYPE_CHECKING:
    from quintet.app.services import Opening

WATCH_SECONDS = 0.25  # how soon a text that another process heard is taken
CLOSE_SECONDS = 3.0  # that the last messages get to leave
AGAIN_SECONDS = 5.0
KEPT_MESSAGES = 200
TOO_EARLY = "it was sent before the current question was shown to you: answer that question again"
UNPAIRED = "no channel is paired: quintet remote pair telegram, or matrix, ntfy, apprise"


class Remote:
    """What a session holds of remote."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._settings = opening.settings.table("remote", RemoteSettings)
        self._book: RemoteBook | None = None
        self._live: RemoteSession | None = None
        self._round = ""  # tells one time that it was on from another: no message is taken for one of before
        self._channels: dict[str, Channel] = {}
        self._problems: dict[str, str] = {}  # of channels that cannot be used
        self._pollers: dict[str, Poller] = {}
        self._outboxes: dict[tuple[str, str], Outbox] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._wake = asyncio.Event()
        self._messages: dict[str, str] = {}  # submission → the message it came in
        self._following: asyncio.Task[None] | None = None

    @property
    def on(self) -> bool:
        return self._live is not None

    # ── on and off

    def turn_on(self) -> str:
        if self._live:
            return f"remote is on: {self._where()}"
        book = self._book = self._book or RemoteBook()
        if not book.accounts():
            raise UsageError(UNPAIRED)
        session = self._opening.attach(Surface.RPC)
        self._session, self._by_link = session, self._opening.attach(Surface.WEB)
        self._round = token_urlsafe(6)
        self._live = book.enlist(session.id, self._opening.places.name)
        self._start_channels(book)
        self._following = asyncio.create_task(self._follow(session))
        self._tasks += [self._following, self._kept("remote", lambda: self._take_in(book))]
        return f"remote is on: {self._where()}"

    def _start_channels(self, book: RemoteBook) -> None:
        """Open what the paired accounts need and is not open yet."""
        for account in book.accounts():
            name = account.channel
            if name not in self._channels:
                try:
                    made = make_channel(name, self._settings, self._opening.places, self._opening.vault.learn)
                except QuintetError as error:
                    self._problems[name] = error.message
                    continue
                self._problems.pop(name, None)
                self._channels[name] = made
                if made.answers:
                    poller = self._pollers[name] = Poller(made, book, self._session.clock, self._wake.set)
                    self._tasks.append(self._kept(name, poller.run))
            if (key := (name, account.account)) not in self._outboxes:
                outbox = Outbox(self._channels[name], account, book, self._session.id, self._session.clock)
                self._outboxes[key] = outbox
                self._send(
                    outbox,
                    RemoteNotice(f"Remote is on. Profile at most {self._settings.max_profile}."),
                    f"on-{self._round}",
                )
                for asked in self._session.state.questions.values():
                    self._ask_at(outbox, asked)
                self._tasks.append(self._kept(name, outbox.run))

    def _kept(self, name: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Work that goes on whatever happens to it: what remote keeps may be locked or unwritable for a while."""

        async def run() -> None:
            while True:
                try:
                    await work()
                except Exception as error:  # nothing of it may end the session
                    self._problems[name] = f"{type(error).__name__}: {error}"
                    await asyncio.sleep(AGAIN_SECONDS)
                    self._problems.pop(name, None)

        return asyncio.create_task(run())

    async def turn_off(self) -> str:
        if not self._live:
            return "remote is off"
        self._tell_all(RemoteNotice("Remote is off."), f"off-{self._round}")
        await self._stop()
        return "remote is off"

    async def _stop(self) -> None:
        if self._book and self._live:
            self._book.leave(self._live.session)
        self._live = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                for outbox in self._outboxes.values():
                    if not outbox.problem:
                        await outbox.emptied()
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for channel in self._channels.values():
            await channel.close()
        self._channels, self._pollers, self._outboxes = {}, {}, {}

    async def close(self) -> None:
        if self._following:  # the journal is closed by now: it comes to its end
            await asyncio.wait([self._following], timeout=CLOSE_SECONDS)
        await self._stop()
        if self._book:
            self._book.close()
            self._book = None

    # ── what is said about it

    def _where(self) -> str:
        live = self._live
        shown = [f"{channel}/{visible(account)}" for channel, account in self._outboxes]
        shown += [f"{name} (cannot be used: {why})" for name, why in self._problems.items()]
        return f"{', '.join(shown)}; this session is {live.tag if live else ''}"

    def status(self) -> list[str]:
        if not self._live:
            paired = self._book.accounts() if self._book else _paired()
            named = ", ".join(f"{one.channel}/{visible(one.account)}" for one in paired) or "nothing yet"
            return ["remote is off", f"paired   {named}"]
        lines = [f"remote is on as {self._live.tag}"]
        for (channel, account), outbox in self._outboxes.items():
            poller = self._pollers.get(channel)
            problem = outbox.problem or (poller.problem if poller else "")
            state = f"down: {visible(problem)}" if problem else "up"
            waits = f", {outbox.waiting} to be sent" if outbox.waiting else ""
            lines.append(f"{channel}/{visible(account)}   {state}{waits}")
        lines += [f"{name}   cannot be used: {why}" for name, why in self._problems.items()]
        lines.append(f"detail {self._settings.detail}, profile at most {self._settings.max_profile}")
        return lines

    def rows(self) -> list[BoardEntry]:
        """The questions that wait for an answer from elsewhere."""
        if not self._live:
            return []
        asked = self._session.state.questions.values()
        to = ", ".join(sorted({channel for channel, _ in self._outboxes}))
        return [BoardEntry(BoardKind.FEATURE, one.question, "?", one.text, f"sent to {to}") for one in asked]

    # ── out

    async def _follow(self, session: Session) -> None:
        with contextlib.suppress(QuintetError):
            async for recorded in session.events(session.since):
                if isinstance(recorded, p.Recorded):
                    self._tell(recorded)

    def _tell(self, recorded: p.Recorded) -> None:
        event, key = recorded.event, str(recorded.seq)
        match event:
            case p.QuestionAsked():
                self._ask(event)
            case p.QuestionAnswered():
                self._end_question(event)
            case p.CommandRan(actor=str(actor)) if actor.startswith(REMOTE):
                said = command_notice(event, self._settings.detail)
                for outbox in self._outboxes.values():
                    if outbox.account.actor == actor:
                        self._send(outbox, said, key, self._messages.pop(event.submission, ""))
            case _:
                if notice := event_notice(event, self._settings.detail):
                    self._tell_all(notice, key)

    def _tell_all(self, notice: RemoteNotice, key: str) -> None:
        for outbox in self._outboxes.values():
            self._send(outbox, notice, key)

    def _ask(self, asked: p.QuestionAsked) -> None:
        for outbox in self._outboxes.values():
            self._ask_at(outbox, asked)

    def _ask_at(self, outbox: Outbox, asked: p.QuestionAsked) -> None:
        settings = self._settings
        notice = question_notice(asked, settings.detail, settings.max_profile)
        wants = bool(settings.links_url) and not outbox.channel.has_buttons
        links = self._links(asked, notice, outbox.account) if wants else ()
        self._send(outbox, notice, asked.question, links=links)

    def _links(self, asked: p.QuestionAsked, notice: RemoteNotice, account: Account) -> tuple[tuple[str, str], ...]:
        assert self._book and self._live
        settings, made = self._settings, []
        text = self._opening.vault.text(notice.text.rpartition("\nAnswer: ")[0])
        expires = self._session.clock.epoch() + settings.link_minutes * 60
        for key, label in notice.choices:
            link = AnswerLink(
                token_urlsafe(16),
                self._live.session,
                self._live.project,
                asked.question,
                key,
                label,
                text,
                account.channel,
                account.account,
                round(expires),
            )
            self._book.keep_link(link)
            made.append((label, answer_links.address(settings.links_url, answer_links.token(link, self._book.key()))))
        return tuple(made)

    def _end_question(self, answered: p.QuestionAnswered) -> None:
        assert self._book and self._live
        how = "it is closed" if answered.closed else "it was answered"
        self._book.end_links(self._live.session, answered.question, how)
        for outbox in self._outboxes.values():
            if outbox.withdraw(answered.question):
                continue  # it had not left yet
            notice = answered_notice(answered, outbox.account.actor)
            self._send(outbox, notice, f"{answered.question}-end")

    def _send(
        self,
        outbox: Outbox,
        notice: RemoteNotice,
        key: str,
        reply_to: str = "",
        links: tuple[tuple[str, str], ...] = (),
    ) -> None:
        if not self._live:
            return
        redacted = self._opening.vault.text
        outbox.put(
            Outgoing(
                redacted(notice.text),
                f"{self._live.session}-{key}",
                f"{visible(self._live.project)} {self._live.tag}",
                tuple((key, redacted(label)) for key, label in notice.choices),
                links,
                notice.question,
                reply_to,
                notice.urgent,
            )
        )

    # ── in

    async def _take_in(self, book: RemoteBook) -> None:
        seen = -1
        while True:
            version = book.version()
            if self._wake.is_set() or version != seen:
                self._wake.clear()
                seen = version
                self._start_channels(book)
                for row in book.inbound(self._session.id):
                    await self._take(book, row)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(WATCH_SECONDS):
                    await self._wake.wait()

    async def _take(self, book: RemoteBook, row: InboundRow) -> None:
        """Submit a text; it stays on the list until it is durable in the session's own inbox."""
        account = book.account(row.link or row.channel, row.account)
        settings = self._settings
        if account:
            session = self._by_link if row.link else self._session
            questions = self._session.state.questions
            body = understood(row.text, row.question, questions, settings.max_profile, settings.detail)
            if isinstance(body, p.Answer) and not row.question and not await self._was_shown(account, body, row.order):
                body = RemoteRefusal(TOO_EARLY)
            if not isinstance(body, RemoteRefusal):
                self._messages[row.id] = row.message
                while len(self._messages) > KEPT_MESSAGES:
                    del self._messages[next(iter(self._messages))]
                try:
                    await session.submit(
                        body,
                        id=row.id,
                        actor=f"{REMOTE}link/{account.channel}/{account.account}" if row.link else account.actor,
                        highest=settings.max_profile,
                    )
                except UsageError as error:
                    body = RemoteRefusal(error.message)
            if isinstance(body, RemoteRefusal) and (outbox := self._outboxes.get((account.channel, account.account))):
                self._send(outbox, RemoteNotice(f"Not accepted: {body.why}"), row.id, row.message)
        book.taken(row.id)

    async def _was_shown(self, account: Account, answer: p.Answer, order: int) -> bool:
        """A word that was written before a question was shown is not meant for it."""
        outbox = self._outboxes.get((account.channel, account.account))
        if outbox is None:
            return False
        await outbox.settled(answer.question)  # it can be answered before its id is noted
        return outbox.shown_before(answer.question, order)


def _paired() -> list[Account]:
    with contextlib.closing(RemoteBook()) as book:
        return book.accounts()


def open_remote(opening: Opening) -> Remote:
    return Remote(opening)


def begin(opening: Opening) -> None:
    """With the session, where the settings want it; what is missing is said by the doctor and by `/remote`."""
    if opening.settings.table("remote", RemoteSettings).auto:
        with contextlib.suppress(UsageError):
            opening.services["remote"].turn_on()


def board_rows(remote: Remote) -> list[BoardEntry]:
    return remote.rows()
