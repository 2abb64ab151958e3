"""ntfy and Matrix on loopback: sessions answered by a topic that only pairing knows, rooms that others are in."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from quintet.domain.journal import protocol as p
from quintet.features.remote.book import RemoteBook
from quintet.features.remote.channel import ChannelDown, Listening
from quintet.features.remote.matrix import Matrix
from quintet.features.remote.ntfy import MOST_BYTES, Ntfy
from quintet.features.remote.poller import place
from quintet.features.remote.telegram import Telegram
from quintet.features.remote.values import Account, Outgoing
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.features.remote.bot_api import TOKEN
from tests.features.remote.ntfy_server import TOPICS, ntfy_server
from tests.features.remote.sessions import NORMAL, paired, seen
from tests.loopback import Answer, Asked, Server, serving

MAKE = call("bash", command="make a")
BOT, ME, ROOM = "@quintet:here", "@me:here", "!room:here"
LISTENING = Listening((Account("matrix", ME, ROOM),))


@pytest.fixture
def project(repo: Path) -> Path:
    (repo / "Makefile").write_text("a:\n\ttouch a\n")
    return repo


def test_a_session_is_answered_through_ntfy_and_strangers_topics_do_nothing(project: Path) -> None:
    with ntfy_server() as ntfy:
        ntfy.pair()

        async def script(driver: Driver) -> None:
            driver.seq = driver.session.since
            await driver.session.say("go")
            asked = await seen(lambda: ntfy.said("Run: make a?"))
            assert asked["priority"] == 4 and TOPICS.reply not in json.dumps(asked)
            ntfy.says("y", TOPICS.out)
            ntfy.says("y", "some-other-topic")
            ntfy.says("", attachment={"url": "http://evil"})
            await seen(lambda: ntfy.said("Not accepted: only text messages are accepted"))
            assert driver.session.state.questions
            ntfy.says("y")
            answered = await driver.until_type(p.QuestionAnswered)
            assert answered.by == f"remote:ntfy/{ntfy.account}"
            await seen(lambda: ntfy.said("Done"))

        wanted = {"remote.ntfy_url": ntfy.url, "remote.auto": True}
        drive(project, script, ScriptedModel([[MAKE], "done"]), person=True, settings=wanted, axes=NORMAL)
        assert (project / "a").exists()
        journal = [one["message"] for one in ntfy.messages if one["topic"] == TOPICS.out]
        assert not any(TOPICS.reply in text for text in journal)


def test_what_was_published_while_no_session_was_on_is_for_none(project: Path) -> None:
    with ntfy_server() as ntfy:
        ntfy.pair()
        ntfy.says("while you were away", time=1_000_000)
        wanted = {"remote.ntfy_url": ntfy.url, "remote.auto": True}

        async def script(driver: Driver) -> None:
            await seen(lambda: ntfy.said("Not accepted: it was sent before remote was turned on"))
            ntfy.says("now")
            assert (await driver.until_type(p.InputReceived)).text == "now"
            await seen(lambda: ntfy.said("Done\none"))

        first = drive(project, script, ScriptedModel(["one"]), person=True, settings=wanted)

        before = ntfy.looks

        async def again(driver: Driver) -> None:
            driver.seq = driver.session.since
            await seen(lambda: ntfy.looks > before)  # what is said earlier is refused
            ntfy.says("and now")
            assert (await driver.until_type(p.InputReceived)).text == "and now"
            await seen(lambda: ntfy.said("Done\ntwo"))

        drive(project, again, ScriptedModel(["two"]), person=True, settings=wanted, resume=first.session.id, axes=None)


def test_a_long_message_is_cut_to_what_ntfy_takes() -> None:
    with ntfy_server() as ntfy:

        async def run() -> None:
            channel = Ntfy(ntfy.url, "")
            account = Account("ntfy", ntfy.account, json.dumps({"out": TOPICS.out, "reply": TOPICS.reply}))
            await channel.send(account, Outgoing("ä" * 10_000, "k"))
            await channel.close()

        asyncio.run(run())
        assert len(ntfy.messages[-1]["message"].encode()) <= MOST_BYTES + 4


# ── Matrix


def homeserver(timeline: list[Any], members: list[str], limited: list[Any] | None = None) -> Callable[[Asked], Answer]:
    """Just enough of one to be lied to by."""

    def answer(asked: Asked) -> Answer:
        path = unquote(asked.path)
        if asked.headers.get("authorization") != "Bearer right":
            return Answer({"errcode": "M_UNKNOWN_TOKEN", "error": "no"}, 401)
        if path.endswith("/whoami"):
            return Answer({"user_id": BOT})
        if path.endswith("/joined_members"):
            return Answer({"joined": {one: {} for one in members}})
        if path.endswith("/messages"):
            return Answer({"chunk": (limited or [])[::-1]})
        if path.endswith("/sync"):
            if "since" not in asked.query:
                return Answer({"next_batch": "s1", "rooms": {"join": {ROOM: {"timeline": {"events": timeline}}}}})
            shown = {"timeline": {"events": timeline, "limited": limited is not None, "prev_batch": "p1"}}
            return Answer({"next_batch": "s2", "rooms": {"join": {ROOM: shown}}})
        return Answer({"event_id": "$sent"})

    return answer


def said(body: Any, sender: Any = ME, id: Any = "$1", **content: Any) -> dict[str, Any]:
    about = {"msgtype": "m.text", "body": body, **content}
    return {"type": "m.room.message", "sender": sender, "event_id": id, "content": about}


def looked(server: Server, since: str = "s1", token: str = "right", listening: Listening | None = None) -> Any:
    async def run() -> Any:
        channel = Matrix(server.url, token)
        try:
            return await channel.updates(since, listening or LISTENING)
        finally:
            await channel.close()

    return asyncio.run(run())


def test_texts_of_a_room_come_with_whom_and_what_they_answer() -> None:
    reply = said(
        "> <@quintet:here> old\n> more\n\nyes", id="$2", **{"m.relates_to": {"m.in_reply_to": {"event_id": "$q"}}}
    )
    with serving(homeserver([said("hello"), reply], [BOT, ME])) as server:
        batch = looked(server)
    assert [(one.account, one.text, one.reply_to, one.private) for one in batch.updates] == [
        (ME, "hello", "", True),
        (ME, "yes", "$q", True),
    ]
    assert batch.since == "s2"


def test_hostile_events_are_passed_over() -> None:
    timeline = [
        said("edited", **{"m.relates_to": {"rel_type": "m.replace", "event_id": "$1"}}),
        said("mine", sender=BOT),
        said({"not": "a text"}),
        said("no sender", sender=None),
        said("no id", id=5),
        {"type": "m.room.message", "content": []},
        {"type": "m.room.member", "sender": ME, "event_id": "$m", "content": {"body": "y", "msgtype": "m.text"}},
        said("a notice", msgtype="m.notice"),
        "not an event",
        None,
    ]
    with serving(homeserver(timeline, [BOT, ME])) as server:
        assert looked(server).updates == ()


def test_a_room_with_a_third_account_is_neither_heard_nor_told() -> None:
    with serving(homeserver([said("y")], [BOT, ME, "@eve:here"])) as server:
        assert [one.private for one in looked(server).updates] == [False]

        async def run() -> None:
            channel = Matrix(server.url, "right")
            try:
                with pytest.raises(ChannelDown, match="other people are in the room"):
                    await channel.send(Account("matrix", ME, ROOM), Outgoing("secret", "k"))
            finally:
                await channel.close()

        asyncio.run(run())
        assert not [path for path in server.paths if "/send/" in path]


def test_the_past_is_not_heard_and_a_gap_is_filled() -> None:
    with serving(homeserver([said("old")], [BOT, ME])) as server:
        assert looked(server, since="").updates == () and looked(server, since="").since == "s1"
    missed = [said("one", id="$a"), said("two", id="$b")]
    with serving(homeserver([said("three", id="$c")], [BOT, ME], missed)) as server:
        assert [one.text for one in looked(server).updates] == ["one", "two", "three"]


def test_a_wrong_matrix_token_is_said_without_it() -> None:
    with (
        serving(homeserver([], [])) as server,
        pytest.raises(ChannelDown, match="does not accept the access token") as why,
    ):
        looked(server, token="wrong-token")
    assert "wrong-token" not in str(why.value)


# ── answers that are none


@pytest.mark.parametrize("body", [b"not json", b"[]", b"\xff\xfe", b"{", b"null"])
def test_an_answer_that_is_none_is_a_channel_that_is_down(body: bytes) -> None:
    with serving(lambda asked: Answer(body)) as server:

        async def run() -> None:
            for channel in (Telegram(server.url, TOKEN), Matrix(server.url, "t")):
                try:
                    with pytest.raises(ChannelDown, match="not with a JSON object"):
                        await channel.updates("5", Listening(()))
                finally:
                    await channel.close()

        asyncio.run(run())


def test_telegram_says_how_long_to_wait_and_forged_numbers_do_not_move_the_position() -> None:
    limited = {"ok": False, "error_code": 429, "description": "Too Many Requests", "parameters": {"retry_after": 7}}
    with serving(lambda asked: Answer(limited, 429)) as server:

        async def run() -> None:
            channel = Telegram(server.url, TOKEN)
            with pytest.raises(ChannelDown) as why:
                await channel.updates("5", Listening(()))
            assert why.value.retry_after == 7
            await channel.close()

        asyncio.run(run())
    updates = [{"update_id": "9"}, {"update_id": 3, "message": {}}, {"update_id": True}, 7, {"message": {"text": "y"}}]
    with serving(lambda asked: Answer({"ok": True, "result": updates})) as server:

        async def old() -> None:
            channel = Telegram(server.url, TOKEN)
            batch = await channel.updates("5", Listening(()))
            assert batch.updates == () and batch.since == "5"
            await channel.close()

        asyncio.run(old())


def test_one_process_looks_at_a_channel_and_another_takes_over(private: None) -> None:
    """Telegram refuses two that ask for a bot's updates: there is one place, free once its holder ends."""
    RemoteBook().close()
    with place("telegram") as first, place("telegram") as second, place("matrix") as other:
        assert (first, second, other) == (True, False, True)
    with place("telegram") as again:
        assert again


def test_a_paired_channel_that_cannot_be_used_does_not_keep_the_session_from_working(project: Path) -> None:
    paired()  # telegram, and no token

    async def script(driver: Driver) -> None:
        assert "telegram (cannot be used: telegram needs the secret" in (await driver.command("/remote on")).text
        assert (await driver.turn("hello")).answer == "hi"

    drive(project, script, ScriptedModel(["hi"]), person=True)
