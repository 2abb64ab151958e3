"""A session answered from Telegram: real session, real inbox, the Bot API on loopback."""

import asyncio
import json
from pathlib import Path

import pytest

from quintet.app.open import open_session
from quintet.domain.dials.axes import PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.features.remote.book import RemoteBook
from quintet.testing import FrozenClock, ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.features.remote.bot_api import OWNER, STRANGER, TOKEN, BotApi
from tests.features.remote.sessions import ACTOR, CHAT, SECONDS, paired, remotely, seen, until_answered
from tests.replaying import loaded, recordings, replay

MAKE = call("bash", command="make a")
WRITE = call("Write", file_path="a", content="x\n")
pytestmark = pytest.mark.usefixtures("repo")


@pytest.fixture(autouse=True)
def makefile(repo: Path) -> None:
    (repo / "Makefile").write_text("a:\n\ttouch a\n")


def test_a_question_answered_from_the_phone_turns_the_dial_it_names(repo: Path, tmp_path: Path, api: BotApi) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        asked = await seen(lambda: api.said("Write a?"))
        keys = [row[0]["callback_data"] for row in asked["reply_markup"]["inline_keyboard"]]
        assert keys == ["y", "b", "n", "e"]  # nothing that makes a rule
        api.presses("b", asked["message_id"])
        answered = await until_answered(driver)
        assert answered.by == ACTOR and answered.choice == "b"
        turned = await driver.until_type(p.DialsTurned)
        assert turned.actor == ACTOR and turned.after.work_mode is WorkMode.BUILD
        await driver.until_type(p.TurnFinished)
        await seen(lambda: api.said("Done\nall of it"))
        assert api.pressed == [f"press-{asked['message_id']}-b"]

    driver = remotely(repo, api, script, [[WRITE], "all of it"], axes=CHAT)
    assert (repo / "a").exists() and not driver.of(p.RuleMade)
    assert api.said("Answered: in mode build")
    assert all(replay(loaded(path)).equal for path in recordings(tmp_path / "state"))


@pytest.mark.parametrize(
    ("line", "dial", "value"),
    [
        ("/mode review", "work_mode", WorkMode.REVIEW),
        ("/control manual", "run_control", RunControl.MANUAL),
        ("/permission-profile restricted", "permission_profile", PermissionProfile.RESTRICTED),
        ("/model-mode fast", "model_mode", "fast"),
    ],
)
def test_all_four_dials_can_be_turned(repo: Path, api: BotApi, line: str, dial: str, value: str) -> None:
    async def script(driver: Driver) -> None:
        api.says(line)
        turned = await driver.until_type(p.DialsTurned)
        assert turned.actor == ACTOR and getattr(turned.after, dial) == value
        ran = await driver.until_type(p.CommandRan)
        assert ran.actor == ACTOR
        await seen(lambda: api.said(ran.text[:20]))

    remotely(repo, api, script, [])


def test_a_request_begins_a_turn_and_its_end_is_told(repo: Path, api: BotApi) -> None:
    async def script(driver: Driver) -> None:
        api.says("what is 6 times 7?")
        received = await driver.until_type(p.InputReceived)
        assert (received.text, received.actor, received.surface) == ("what is 6 times 7?", ACTOR, "rpc")
        await seen(lambda: api.said("Done\n42"))

    remotely(repo, api, script, ["42"])


@pytest.mark.parametrize("text", ["a", "s", "always", "for this session", "p"])
def test_a_remote_text_never_makes_a_rule(repo: Path, api: BotApi, text: str) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        asked = await seen(lambda: api.said("Run: make a?"))
        api.says(text, reply_to=asked["message_id"])
        await seen(lambda: api.said("Not accepted: rules can be added"))
        api.says("yes")
        await until_answered(driver)
        await driver.until_type(p.TurnFinished)

    driver = remotely(repo, api, script, [[MAKE], "done"])
    assert not driver.of(p.RuleMade) and (repo / "a").exists()
    assert [one.choice for one in driver.of(p.QuestionAnswered)] == ["y"]


@pytest.mark.parametrize(
    "line",
    [
        "/permission-profile trusted",
        "/permission-profile unrestricted after-current-unit",
        "/mode build --permission-profile trusted",
        "/steer permission-profile unrestricted",
        "/repair --permission-profile trusted",
        "/implement --permission-profile trusted --autonomous",
    ],
)
def test_no_command_from_elsewhere_exceeds_max_profile(repo: Path, api: BotApi, line: str) -> None:
    async def script(driver: Driver) -> None:
        api.says(line)
        ran = await driver.until_type(p.CommandRan)
        assert not ran.ok and "remote.max_profile" in ran.text and ran.actor == ACTOR
        await seen(lambda: api.said("remote.max_profile"))
        assert driver.axes.permission_profile is PermissionProfile.NORMAL
        assert not driver.session.state.dials.pending

    driver = remotely(repo, api, script, [])
    assert not driver.of(p.DialsTurned) and not driver.of(p.TurnStarted)


def test_max_profile_can_be_raised_by_the_user(repo: Path, api: BotApi) -> None:
    async def script(driver: Driver) -> None:
        api.says("/permission-profile trusted")
        turned = await driver.until_type(p.DialsTurned)
        assert turned.after.permission_profile is PermissionProfile.TRUSTED

    remotely(repo, api, script, [], settings={"remote.max_profile": "trusted"})


def test_an_answer_that_would_turn_the_profile_too_high_is_neither_offered_nor_taken(repo: Path, api: BotApi) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        asked = await seen(lambda: api.said("Run: make a?"))
        keys = [row[0]["callback_data"] for row in asked["reply_markup"]["inline_keyboard"]]
        assert keys == ["y", "n", "e"]
        api.presses("t", asked["message_id"])
        await seen(lambda: api.said("Not accepted: profile trusted cannot be set from here"))
        api.says("no use make b", reply_to=asked["message_id"])
        assert (await until_answered(driver)).note == "use make b"
        await driver.until_type(p.TurnFinished)

    driver = remotely(repo, api, script, [[MAKE], "done"])
    assert not driver.of(p.DialsTurned) and not (repo / "a").exists()


def test_a_stranger_s_message_does_nothing(repo: Path, api: BotApi) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        asked = await seen(lambda: api.said("Run: make a?"))
        before = len(api.sent)
        api.says("y", STRANGER)
        api.says("y", STRANGER, reply_to=asked["message_id"])
        api.says("/permission-profile restricted", STRANGER)
        api.presses("y", asked["message_id"], STRANGER)
        api.says("y", OWNER, kind="group")  # others read and write there
        api.says("y", STRANGER, kind="supergroup", reply_to=asked["message_id"])
        api.edits("y", asked["message_id"])
        api.puts({"message": {"message_id": 5, "chat": {"id": OWNER, "type": "private"}, "text": "y"}})  # from nobody
        api.puts({"message": {"message_id": "x", "chat": 7, "from": [], "text": {}}})
        api.says("y", OWNER, sender_chat={"id": -5, "type": "channel"})
        assert len(api.sent) == before
        api.says("n")  # and the owner's own, behind them all
        assert (await until_answered(driver)).choice == "n"
        await driver.until_type(p.TurnFinished)
        assert api.texts(STRANGER) == [] and api.texts(-100) == []

    driver = remotely(repo, api, script, [[MAKE], "done"])
    assert [one.by for one in driver.of(p.QuestionAnswered)] == [ACTOR]
    assert not driver.of(p.DialsTurned) and not driver.of(p.CommandRan) and not (repo / "a").exists()


def test_a_question_answered_elsewhere_says_so_in_the_channel(repo: Path, api: BotApi) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        asked = await seen(lambda: api.said("Run: make a?"))
        await driver.answer("n")
        told = await seen(lambda: api.said("Answered elsewhere, on surface rpc: no"))
        assert told["reply_parameters"]["message_id"] == asked["message_id"]
        api.says("y", reply_to=asked["message_id"])
        await seen(lambda: api.said("Not accepted: that question is no longer open"))
        await driver.until_type(p.TurnFinished)

    driver = remotely(repo, api, script, [[MAKE], "done"])
    assert not (repo / "a").exists() and len(driver.of(p.QuestionAnswered)) == 1


def test_a_channel_that_is_down_for_an_hour_loses_no_answer_and_doubles_none(repo: Path, api: BotApi) -> None:
    clock = FrozenClock()

    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        asked = await seen(lambda: api.said("Run: make a?"))
        api.goes_down()
        api.says("yes", reply_to=asked["message_id"])
        begun = clock.epoch()
        await seen(lambda: clock.epoch() - begun > 3600)
        assert driver.session.state.questions and api.asked >= 5
        api.resend = True  # and every look brings it once more
        api.down = False
        assert (await until_answered(driver)).choice == "y"
        await seen(lambda: api.said("Done\nsecond"))
        api.says("now something else")
        await seen(lambda: api.said("Done\nthird"))
        await driver.until(lambda event: isinstance(event, p.TurnFinished) and event.answer == "third")

    driver = remotely(repo, api, script, [[MAKE], "second", "third"], clock=clock)
    assert len(driver.of(p.QuestionAnswered)) == 1 and (repo / "a").exists()
    assert [text.count("second") for text in api.texts() if "Done" in text] == [1, 0]
    book = RemoteBook()
    assert book.inbound(driver.session.id) == []
    book.close()


def test_what_was_heard_before_a_crash_is_submitted_once_after_it(repo: Path, api: BotApi) -> None:
    """The row is there, the submission too, and then the process ends: the next one finds the row again."""

    async def script(driver: Driver) -> None:
        api.says("first")
        await seen(lambda: api.said("Done\none"))
        book = RemoteBook()
        submission = driver.of(p.InputReceived) or [await driver.until_type(p.InputReceived)]
        about = {"channel": "telegram", "account": str(OWNER), "text": "first"}
        row = json.dumps({**about, "id": submission[0].submission, "session": driver.session.id})
        book._db.execute("INSERT INTO inbound VALUES (?, ?, ?)", (submission[0].submission, driver.session.id, row))
        await seen(lambda: not book.inbound(driver.session.id))
        api.says("second")
        await seen(lambda: api.said("Done\ntwo"))
        book.close()

    remotely(repo, api, script, ["one", "two", "three"])
    assert len([text for text in api.texts() if "Done" in text]) == 2


def test_what_was_written_while_no_session_was_on_is_for_none(repo: Path, api: BotApi) -> None:
    api.says("delete everything")
    api.says("/permission-profile restricted")

    async def script(driver: Driver) -> None:
        await seen(lambda: len([text for text in api.texts() if "before remote was turned on" in text]) == 2)
        api.says("what is 6 times 7?")
        assert (await driver.until_type(p.InputReceived)).text == "what is 6 times 7?"
        await seen(lambda: api.said("Done\n42"))

    driver = remotely(repo, api, script, ["42"])
    assert not driver.of(p.CommandRan) and not driver.of(p.DialsTurned)


def test_an_account_that_is_paired_while_a_session_is_on_is_told_and_heard(repo: Path, api: BotApi) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        await seen(lambda: api.said("Run: make a?"))
        paired(account="43", address="43")
        await seen(lambda: [text for text in api.texts(43) if "Run: make a?" in text])
        api.says("/status", 43)
        assert (await driver.until_type(p.CommandRan)).actor == "remote:telegram/43"
        api.says("n", 43)
        assert (await until_answered(driver)).by == "remote:telegram/43"
        await driver.until_type(p.TurnFinished)

    remotely(repo, api, script, [[MAKE], "done"])


@pytest.mark.parametrize("detail", ["none", "summary", "full"])
def test_secrets_and_diffs_obey_the_detail(
    repo: Path, api: BotApi, detail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "hunter2-is-the-secret")
    edit = call("Write", file_path="config.py", content="password_line = 1\nhunter2-is-the-secret\n")

    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        await seen(lambda: api.said("Needs your input." if detail == "none" else "Write config.py?"))
        await driver.answer("n")
        await driver.until_type(p.TurnFinished)
        await seen(lambda: api.said("Done"))
        api.says("/permission-profile restricted")
        await driver.until_type(p.CommandRan)

    answer = "see\n```diff\n-old_line\n+new_line\n```\nwith hunter2-is-the-secret"
    driver = remotely(repo, api, script, [[edit], answer], axes=CHAT, settings={"remote.detail": detail})
    everything = "\n".join(api.texts())
    assert "hunter2" not in everything and TOKEN not in everything
    assert ("config.py" in everything) is (detail != "none")
    assert ("password_line" in everything) is (detail == "full")
    assert ("new_line" in everything) is (detail == "full")
    assert ("+1 −1" in everything) is (detail == "summary")
    assert len(driver.of(p.QuestionAnswered)) == 1


def test_at_detail_none_nothing_is_approved_unseen(repo: Path, api: BotApi) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        asked = await seen(lambda: api.said("Needs your input."))
        assert "make" not in asked["text"]
        api.says("y", reply_to=asked["message_id"])
        await seen(lambda: api.said("Not accepted: you were not shown everything"))
        api.says("n")
        await until_answered(driver)
        await driver.until_type(p.TurnFinished)

    remotely(repo, api, script, [[MAKE], "done"], settings={"remote.detail": "none"})
    assert not (repo / "a").exists()


def test_a_revoked_account_is_heard_no_more(repo: Path, api: BotApi) -> None:
    async def script(driver: Driver) -> None:
        book = RemoteBook()
        assert book.revoke("telegram", str(OWNER))
        api.says("/mode review")
        await seen(lambda: not api.updates or book.since("telegram") == str(api.updates[-1]["update_id"]))
        assert not driver.session.state.dials.pending and driver.axes.work_mode is WorkMode.BUILD
        book.close()

    driver = remotely(repo, api, script, [])
    assert not driver.of(p.DialsTurned) and len(api.sent) == 1


def test_remote_is_turned_on_and_off_in_the_session(repo: Path, api: BotApi) -> None:
    async def script(driver: Driver) -> None:
        assert "remote is off\npaired   telegram/42" in (await driver.command("/remote")).text
        assert (await driver.command("/remote on")).text.startswith("remote is on: telegram/42; this session is @")
        await seen(lambda: api.said("Remote is on"))
        assert "telegram/42   up" in (await driver.command("/remote status")).text
        assert (await driver.command("/remote off")).text == "remote is off"
        await seen(lambda: api.said("Remote is off"))
        await driver.turn("hello")
        assert not (await driver.command("/remote maybe")).ok

    drive(repo, script, person=True, settings={"remote.telegram_url": api.url})
    assert not api.said("Done")


def test_two_sessions_on_one_account_say_which_and_answers_go_to_the_one_replied_to(repo: Path, api: BotApi) -> None:
    async def script(first: Driver) -> None:
        wanted = {"remote.telegram_url": api.url, "remote.auto": True, "tools.presentation": "flat"}
        more = {"runs.delivery_check": False, "runs.qa_review": False, **wanted}
        model = ScriptedModel(["from the second"])
        async with open_session(str(repo), model=model, person=True, settings=more) as other:
            second = Driver(other)
            await seen(lambda: len([text for text in api.texts() if "Remote is on" in text]) == 2)
            one, two = (message for message in api.sent if "Remote is on" in message["text"])
            assert one["text"].split("\n")[0] != two["text"].split("\n")[0]
            api.says("to nobody")
            await seen(lambda: api.said("remote is on in 2 sessions: reply to a message of the right one"))
            api.says("to the second", reply_to=two["message_id"])
            assert (await second.until_type(p.InputReceived)).text == "to the second"
            tag = one["text"].split("\n")[0].split()[-1]
            api.says(f"{tag} to the first")
            assert (await first.until_type(p.InputReceived)).text == "to the first"
            await seen(lambda: api.said("from the first"))

    remotely(repo, api, script, ["from the first"])


def test_the_last_end_is_told_before_the_session_closes(repo: Path, api: BotApi) -> None:
    async def script(driver: Driver) -> None:
        assert (await driver.turn("what is 6 times 7?")).answer == "42, at last"

    remotely(repo, api, script, ["42, at last"])
    assert api.said("Done\n42, at last")


def test_what_remote_keeps_may_fail_and_the_session_goes_on(repo: Path, api: BotApi) -> None:
    async def script(driver: Driver) -> None:
        book = RemoteBook()
        book._db.execute("ALTER TABLE inbound RENAME TO away")
        api.says("hello")
        async with asyncio.timeout(SECONDS):
            while "cannot be used: OperationalError" not in (await driver.command("/remote status")).text:
                pass
        assert (await driver.turn("and here?")).answer == "here"
        book._db.execute("ALTER TABLE away RENAME TO inbound")
        book.close()

    remotely(repo, api, script, ["here"])


def test_the_board_shows_the_questions_that_wait_elsewhere(repo: Path, api: BotApi) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        await seen(lambda: api.said("Run: make a?"))
        (row,) = driver.session.board_rows()
        assert (row.text, row.about) == ("Run: make a?", "sent to telegram")
        api.says("n")
        await driver.until_type(p.TurnFinished)

    remotely(repo, api, script, [[MAKE], "done"])
