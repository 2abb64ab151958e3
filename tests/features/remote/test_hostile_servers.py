"""Servers of channels that lie, stall, drip, repeat the token or never rest: a value, or a channel that is down."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.features.remote.book import Paired, RemoteBook
from quintet.features.remote.channel import Channel, ChannelDown, Listening
from quintet.features.remote.matrix import JOIN_TRIES, Matrix
from quintet.features.remote.ntfy import MOST_UPDATES, Ntfy, as_address
from quintet.features.remote.pairing import PairingCode, digest
from quintet.features.remote.poller import Poller
from quintet.features.remote.telegram import Telegram
from quintet.features.remote.values import Account, Outgoing, UpdateBatch
from quintet.features.remote.wire import MOST_NUMBER, JsonWire, without
from quintet.testing import FrozenClock
from tests.features.remote.bot_api import OWNER, TOKEN
from tests.features.remote.ntfy_server import TOPICS
from tests.features.remote.test_other_channels import BOT, ME, ROOM, said
from tests.loopback import Answer, Asked, serving

ACCOUNTS = {
    "telegram": Account("telegram", str(OWNER), str(OWNER)),
    "matrix": Account("matrix", ME, ROOM),
    "ntfy": Account("ntfy", "me", as_address(TOPICS)),
}
MESSAGE = Outgoing("hello", "k", choices=(("y", "yes"),))
MAKERS: dict[str, Callable[[str, str], Channel]] = {"telegram": Telegram, "matrix": Matrix, "ntfy": Ntfy}


async def tried(name: str, url: str, token: str = TOKEN) -> list[str]:
    """What each way of asking a channel comes to: nothing, or why it is down. Any other error is raised."""
    found = []
    channel = MAKERS[name](url, token)
    account = ACCOUNTS[name]
    ways: list[Callable[[], Awaitable[Any]]] = [
        channel.about,
        lambda: channel.send(account, MESSAGE),
        lambda: channel.updates("5", Listening((account,), pairing=True)),
    ]
    try:
        for way in ways:
            try:
                got = await way()
                if isinstance(got, UpdateBatch):
                    assert all(0 <= one.order <= MOST_NUMBER and one.id for one in got.updates)
                    json.dumps(got.since)
            except ChannelDown as down:
                found.append(f"{down} {down.hint}")
    finally:
        await channel.close()
    return found


DEEP = b'{"ok":true,"result":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
BAD = {
    "deep": DEEP,
    "not UTF-8": b'{"ok":true,"result":"\xff\xfe"}',
    "half a pair": b'{"ok":true,"result":"\\ud800"}',
    "large": b'{"ok":true,"result":"' + b"x" * 9_000_000 + b'"}',
    "a long number": b'{"ok":true,"next_batch":' + b"9" * 6_000 + b"}",
    "two objects": b"{}{}",
    "a text": b'"ok"',
    "nothing": b"",
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_what_is_no_answer_is_a_channel_that_is_down(name: str, body: bytes) -> None:
    with serving(lambda asked: Answer(body)) as server:
        down = asyncio.run(tried(name, server.url))
        assert len(down) == 3 or (name == "ntfy" and not body and len(down) == 2)  # a stream may be empty


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("status", [204, 302, 304, 400, 403, 418, 429, 500, 599, 999])
def test_an_odd_status_is_a_channel_that_is_down(name: str, status: int) -> None:
    answer = {"ok": False, "retry_after_ms": 10**30, "parameters": {"retry_after": "soon"}, "error": ["no"]}
    with serving(lambda asked: Answer(answer if status not in (204, 304) else b"", status)) as server:
        assert len(asyncio.run(tried(name, server.url))) == 3


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**25), 10**25) | st.text(max_size=6) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
FIELDS = """
    ok result update_id message message_id chat id from text type data username parameters retry_after rooms join invite
    timeline events content body sender event_id limited prev_batch chunk end next_batch user_id joined origin_server_ts
    event topic time healthy error errcode m.relates_to
""".split()  # noqa: SIM905  a list would be forty lines
ANSWERS = st.recursive(
    VALUES,
    lambda inner: st.dictionaries(st.sampled_from(FIELDS), inner, max_size=6) | st.lists(inner, max_size=2),
    max_leaves=20,
)


def test_fields_of_any_kind_raise_nothing_else() -> None:
    now: list[dict[str, Any]] = []
    with serving(lambda asked: Answer(json.dumps(now[-1]))) as server:

        @settings(max_examples=20, deadline=None)
        @given(st.dictionaries(st.sampled_from(FIELDS), ANSWERS, max_size=8))
        def answered(answer: dict[str, Any]) -> None:
            now.append({"ok": True, "next_batch": "s2", "user_id": BOT, **answer})
            for name in MAKERS:
                asyncio.run(tried(name, server.url))

        answered()


@pytest.mark.parametrize("name", ["telegram", "matrix"])
@pytest.mark.parametrize(
    "result",
    [
        [{"update_id": 10**25, "message": {"message_id": 10**25, "chat": {"id": 1}, "from": {"id": 1}, "text": "y"}}],
        [{"update_id": 7, "message": {"message_id": -3, "chat": {"id": 1}, "from": {"id": 1}, "text": "y" * 99_999}}],
        {"a": []},
        5,
        [[], 1, None, "x"],
    ],
)
def test_updates_of_any_kind_raise_nothing_else(name: str, result: Any) -> None:
    room = {"timeline": {"events": result, "limited": True, "prev_batch": {}}}
    answer = {"ok": True, "result": result, "next_batch": "s", "user_id": BOT, "rooms": {"join": {ROOM: room}}}
    with serving(lambda asked: Answer(answer)) as server:
        asyncio.run(tried(name, server.url))


# ── the token


@pytest.mark.parametrize("before", [0, 150, 170, 190, 199])
@pytest.mark.parametrize("name", MAKERS)
def test_a_server_that_repeats_the_token_gets_no_piece_of_it_shown(name: str, before: int) -> None:
    text = "x" * before + TOKEN
    fields = {"description": text, "error": text, "errcode": text, "username": text, "user_id": text}
    for status in (200, 400, 500):
        answer = {"ok": status == 200, "result": {"username": text}, **fields}
        with serving(lambda asked, answer=answer, status=status: Answer(answer, status)) as server:
            shown = "\n".join(asyncio.run(tried(name, server.url)))
        assert not any(TOKEN[start : start + 6] in shown for start in range(len(TOKEN) - 5))


def test_the_first_bytes_of_what_is_no_http_are_shown_without_the_token() -> None:
    async def run() -> None:
        async with raw([TOKEN.encode() * 3]) as url:
            for name in MAKERS:
                shown = "\n".join(await tried(name, url))
                assert "HTTP" in shown and TOKEN[:6] not in shown and "base_url" not in shown

    asyncio.run(run())


@given(st.text(max_size=30), st.text(min_size=8, max_size=20), st.integers(0, 8), st.text(max_size=30))
def test_no_piece_of_a_secret_is_left_in_a_text(before: str, secret: str, cut: int, after: str) -> None:
    shown = without(before + secret[cut:] + after, secret)
    assert not any(secret[start : start + 6] in shown for start in range(len(secret) - 5))


@pytest.mark.parametrize("token", ["two\nlines", "ä token", "a\x00b"])
def test_a_token_that_http_does_not_carry_is_a_channel_that_is_down(token: str) -> None:
    with serving(lambda asked: Answer({})) as server:
        for name in ("telegram", "matrix"):
            shown = asyncio.run(tried(name, server.url, token))
            assert len(shown) == 3 and not any(token in text for text in shown)


# ── time


@asynccontextmanager
async def raw(pieces: list[bytes], again: bytes = b"", hold: bool = False) -> AsyncIterator[str]:
    """A server that answers every request with these bytes, and then with `again` for ever."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            while again:
                writer.write(again)
                await writer.drain()
                await asyncio.sleep(0.001)
            if hold:
                await asyncio.sleep(3600)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


@pytest.mark.parametrize(
    ("pieces", "again"),
    [
        ([HEAD + b"content-length: 1000000\r\n\r\n{"], b" "),
        ([HEAD + b"transfer-encoding: chunked\r\n\r\n"], b"1\r\n \r\n"),
        ([b"HTTP/1.1 200 OK\r\nx-a: "], b"b"),
        ([], b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
    ids=["body", "chunks", "head", "continue"],
)
def test_an_answer_that_drips_for_ever_is_given_up(pieces: list[bytes], again: bytes) -> None:
    async def run() -> None:
        async with raw(pieces, again) as url, asyncio.timeout(60):
            wire = JsonWire(url, "remote.x", "")
            with pytest.raises(ChannelDown):
                await wire.ask("GET", "/", seconds=0.3)
            await wire.close()

    asyncio.run(run())


def test_an_ntfy_topic_that_never_rests_is_filed_all_the_same(private: None) -> None:
    line = json.dumps({"id": "m1", "time": 5, "event": "message", "topic": TOPICS.reply, "message": "y"}) + "\n"
    chunk = b"%x\r\n%s\r\n" % (len(line), line.encode())

    async def run() -> None:
        async with raw([HEAD + b"transfer-encoding: chunked\r\n\r\n"], chunk) as url, asyncio.timeout(60):
            channel = Ntfy(url, "")
            batch = await channel.updates("", Listening((ACCOUNTS["ntfy"],)))
            assert 0 < len(batch.updates) <= MOST_UPDATES and batch.since == "m1"
            await channel.close()

    asyncio.run(run())


def test_what_came_before_a_line_that_is_none_is_filed() -> None:
    line = json.dumps({"id": "m/1 &x", "time": 5, "event": "message", "topic": TOPICS.reply, "message": "y"})
    answers = iter([f"{line}\nnot json\n", "not json\n"])
    with serving(lambda asked: Answer(next(answers))) as server:

        async def run() -> None:
            channel = Ntfy(server.url, "")
            listening = Listening((ACCOUNTS["ntfy"],))
            batch = await channel.updates("", listening)
            assert [one.text for one in batch.updates] == ["y"]
            with pytest.raises(ChannelDown, match="not with a JSON object"):
                await channel.updates(batch.since, listening)
            await channel.close()

        asyncio.run(run())
        assert server.asked[1].query["since"] == ["m/1 &x"]


# ── pairing among strangers


def crowd(timeline: dict[str, list[Any]], joinable: set[str], invited: list[str]) -> Callable[[Asked], Answer]:
    """A homeserver with rooms that others invite to; one that cannot be joined is refused, or its server is gone."""
    joined = {room: {"timeline": {"events": events}} for room, events in timeline.items()}

    def answer(asked: Asked) -> Answer:
        path = unquote(asked.path)
        room = path.split("/rooms/")[-1].split("/")[0]
        if path.endswith("/whoami"):
            return Answer({"user_id": BOT})
        if path.endswith("/join"):
            return Answer({"room_id": room}) if room in joinable else Answer({"errcode": "M_UNKNOWN"}, 502)
        if path.endswith("/joined_members"):
            return (
                Answer({"joined": {BOT: {}, ME: {}}}) if room in joinable else Answer({"errcode": "M_FORBIDDEN"}, 403)
            )
        if path.endswith("/sync"):
            new = "since" not in asked.query
            return Answer(
                {"next_batch": "s1", "rooms": {"invite": {one: {} for one in invited}} if new else {"join": joined}}
            )
        return Answer({"event_id": "$sent"})

    return answer


def test_invites_and_rooms_of_strangers_keep_nobody_from_pairing(private: None) -> None:
    strangers = [f"!stranger{number}:there" for number in range(30)]
    code = "123456789012"
    rooms = {strangers[0]: [said("pair 000", sender="@eve:there")], ROOM: [said(f"pair {code}", id="$p")]}
    with serving(crowd(rooms, {ROOM}, [*strangers[:25], ROOM, *strangers[25:]])) as server:

        async def run() -> None:
            book, clock = RemoteBook(), FrozenClock()
            book.begin_pairing(PairingCode("matrix", digest(code, book.key()), clock.epoch() + 600))
            channel = Matrix(server.url, "right")
            poller = Poller(channel, book, clock)
            for _ in range(4 * JOIN_TRIES):
                await poller.once()
            assert [one.account for one in book.accounts()] == [ME]
            await channel.close()
            book.close()

        asyncio.run(run())
    joins = [unquote(path) for path in server.paths if path.endswith("/join")]
    assert any(ROOM in path for path in joins)
    assert max(joins.count(path) for path in joins) <= JOIN_TRIES  # nobody is asked for ever


def test_a_code_that_is_forwarded_in_matrix_does_not_pair(private: None) -> None:
    code = "123456789012"
    forwarded = said(f"pair {code}", **{"m.forwarded": {"event_id": "$x", "room_id": "!y", "sender": ME}})
    with serving(crowd({ROOM: [forwarded]}, {ROOM}, [ROOM])) as server:

        async def run() -> None:
            book, clock = RemoteBook(), FrozenClock()
            book.begin_pairing(PairingCode("matrix", digest(code, book.key()), clock.epoch() + 600))
            channel = Matrix(server.url, "right")
            batch = await channel.updates("s1", Listening((), pairing=True))
            (verdict,) = [found for _, found in book.file("matrix", batch, clock.epoch(), "")]
            assert not isinstance(verdict, Paired) and book.accounts() == []
            await channel.close()
            book.close()

        asyncio.run(run())
