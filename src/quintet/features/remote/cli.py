"""`quintet remote`: pairs an account, lists and revokes those there are, and sends a test message."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable
from secrets import randbelow

import msgspec

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.processes.system import SystemClock
from quintet.adapters.settings import layers as config
from quintet.cli.parsing import actions, lookup
from quintet.domain.base.errors import NotFound, QuintetError, UsageError
from quintet.domain.base.safe_text import visible
from quintet.features.remote.book import RemoteBook
from quintet.features.remote.channel import NAMES, Channel
from quintet.features.remote.ntfy import as_address, new_topics
from quintet.features.remote.pairing import DIGITS, MINUTES, PairingCode, digest, shown
from quintet.features.remote.poller import Poller
from quintet.features.remote.settings import RemoteSettings
from quintet.features.remote.values import Account, Outgoing
from quintet.features.remote.wiring import make_channel
from quintet.surfaces.tables import complain, say, say_json, say_table

LOOK_SECONDS = 0.2
NEXT = "Type /remote on in a session, or set remote.auto = true to turn it on in every session."


def pair(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    settings = config.load(places).settings.table("remote", RemoteSettings)
    return asyncio.run(_with_channel(arguments.channel, places, settings, lambda one, book: _pair(one, book, settings)))


async def _with_channel(
    name: str,
    places: Places,
    settings: RemoteSettings,
    work: Callable[[Channel, RemoteBook], Awaitable[int]],
) -> int:
    book = RemoteBook()
    try:
        channel = make_channel(name, settings, places, lambda secret: None)
        try:
            return await work(channel, book)
        finally:
            await channel.close()
    finally:
        book.close()


async def _pair(channel: Channel, book: RemoteBook, settings: RemoteSettings) -> int:
    clock = SystemClock()
    about = visible(await channel.about())
    if not channel.answers:
        account = Account(channel.name, "all", "", about, clock.now())
        await channel.send(
            account, Outgoing("Paired. This channel only sends messages; it accepts no answers.", "paired")
        )
        book.pair(account)
        say([f"Paired with {about}: a test message was sent.", NEXT])
        return 0
    before = {one.account: one.paired for one in book.accounts(channel.name)}
    code = f"{randbelow(10**DIGITS):0{DIGITS}}"
    address, where = "", f"Send this to {about} in a private chat, within {MINUTES} minutes:"
    if channel.name == "ntfy":
        topics = new_topics()
        address = as_address(topics)
        say([f"In the ntfy app, subscribe to {settings.ntfy_url.rstrip('/')}/{topics.out}: messages arrive there."])
        where = f"Then publish this to {settings.ntfy_url.rstrip('/')}/{topics.reply}, within {MINUTES} minutes:"
    elif channel.name == "matrix":
        where = f"Invite {about} to a room without encryption, and send this there, within {MINUTES} minutes:"
    expires = clock.epoch() + MINUTES * 60
    book.begin_pairing(PairingCode(channel.name, digest(code, book.key()), expires, address))
    say([where, "", f"    pair {shown(code)}", ""])
    sys.stdout.flush()
    if channel.name == "ntfy":
        complain("Keep the second address secret: anyone who knows it can answer for you.")
    poller = Poller(channel, book, clock)
    looking = asyncio.create_task(poller.run())
    try:
        account = await _paired(book, channel.name, before, clock.epoch, poller)
        await poller.told()
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        book.end_pairing(channel.name)
    say([f"Paired with {visible(account.name)} ({channel.name}/{visible(account.account)}).", NEXT])
    return 0


async def _paired(
    book: RemoteBook, channel: str, before: dict[str, str], now: Callable[[], float], poller: Poller
) -> Account:
    """The account that was paired, by this process or by one whose session looks at the channel."""
    told = ""
    while True:
        for account in book.accounts(channel):
            if before.get(account.account) != account.paired:
                return account
        if book.waits(channel, now()) is None:
            raise QuintetError("Not paired: the code has expired", hint="Try again.")
        if poller.problem and poller.problem != told:
            told = poller.problem
            complain(f"{visible(told)}; trying again")
        await asyncio.sleep(LOOK_SECONDS)


def accounts(arguments: Namespace) -> int:
    with contextlib.closing(RemoteBook()) as book:
        found, live = book.accounts(), book.live()
    if arguments.json:
        listed = [
            {"channel": one.channel, "account": one.account, "name": one.name, "paired": one.paired} for one in found
        ]
        say_json({"accounts": listed, "sessions": [msgspec.to_builtins(one) for one in live]})
        return 0
    if not found:
        say([f"no channel is paired: quintet remote pair {'|'.join(NAMES)}"])
        return 0
    rows = [(f"{one.channel}/{visible(one.account)}", visible(one.name), one.paired[:10]) for one in found]
    say_table(rows, heading=("ACCOUNT", "NAME", "PAIRED"))
    if live:
        say(["", *(f"{one.tag} {visible(one.project)}: remote is on ({one.session})" for one in live)])
    return 0


def revoke(arguments: Namespace) -> int:
    channel, slash, account = arguments.account.partition("/")
    with contextlib.closing(RemoteBook()) as book:
        named = [one.account for one in book.accounts(channel)]
        if not slash and len(named) == 1:
            account = named[0]
        if not book.revoke(channel, account):
            raise NotFound(f"{arguments.account} is not paired", hint="quintet remote list shows the paired accounts.")
    say([f"revoked {channel}/{visible(account)}: its messages are ignored, and nothing is sent to it"])
    return 0


def test(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    settings = config.load(places).settings.table("remote", RemoteSettings)
    with contextlib.closing(RemoteBook()) as book:
        found = [one for one in book.accounts() if arguments.channel in ("", one.channel)]
    if not found:
        on, names = (f" on {arguments.channel}", arguments.channel) if arguments.channel else ("", "|".join(NAMES))
        raise UsageError(f"nothing is paired{on}", hint=f"quintet remote pair {names}")
    failed = 0
    for account in found:
        name = f"{account.channel}/{visible(account.account)}"

        async def send(channel: Channel, book: RemoteBook, account: Account = account) -> int:
            key = f"test-{SystemClock().epoch():.3f}"
            await channel.send(account, Outgoing("A test message. No answer is needed.", key, "Quintet"))
            return 0

        try:
            asyncio.run(_with_channel(account.channel, places, settings, send))
            say([f"{name}   sent"])
        except QuintetError as error:
            failed += 1
            say([f"{name}   failed: {visible(str(error))}"])
    return 1 if failed else 0


def _channel(parser: ArgumentParser) -> None:
    parser.add_argument("channel", metavar="CHANNEL", help=", ".join(NAMES))


def _maybe_channel(parser: ArgumentParser) -> None:
    parser.add_argument(
        "channel", metavar="CHANNEL", nargs="?", default="", help=f"{', '.join(NAMES)}; default: all of them"
    )


def _account(parser: ArgumentParser) -> None:
    parser.add_argument("account", metavar="CHANNEL/ACCOUNT", help="as `quintet remote list` shows it")


REMOTE = actions(
    "remote",
    {
        "pair": lookup(
            "remote pair", "Pair an account: it gets questions, and its messages are answers.", pair, _channel
        ),
        "list": lookup("remote list", "List the paired accounts, and the sessions with remote on.", accounts),
        "revoke": lookup(
            "remote revoke", "Unpair an account: its messages are ignored, and nothing is sent to it.", revoke, _account
        ),
        "test": lookup("remote test", "Send a test message to every paired account.", test, _maybe_channel),
    },
)
