"""Hostile texts to a session that is on: what they say is a text, and who they are is who sent them."""

from pathlib import Path

import pytest
from msgspec import UNSET

from quintet.domain.dials.axes import WorkMode
from quintet.domain.journal import protocol as p
from quintet.features.remote.book import RemoteBook
from quintet.features.remote.texts import MOST_TEXT
from quintet.features.remote.values import Account, Update, UpdateBatch
from quintet.testing import FrozenClock, call
from tests.engine.driving import Driver
from tests.features.remote.bot_api import OWNER, STRANGER, TOKEN, BotApi
from tests.features.remote.sessions import ACTOR, paired, remotely, seen

MAKE = call("bash", command="make a")


def test_escape_sequences_arrive_as_what_can_be_seen(repo: Path, api: BotApi) -> None:
    async def script(driver: Driver) -> None:
        api.says("look \x1b]0;owned\x07\x1b[2J\u202e\r\nthere\x00")
        received = await driver.until_type(p.InputReceived)
        assert not any(char in received.text for char in "\x1b\x07\x00\u202e\r")
        await seen(lambda: api.said("Done"))

    remotely(repo, api, script, ["ok"])


def test_a_huge_text_is_refused_and_the_next_is_heard(repo: Path, api: BotApi) -> None:
    async def script(driver: Driver) -> None:
        api.says("x" * (MOST_TEXT + 1))
        api.says("/mode review " + "y" * 4000)
        await seen(lambda: api.said("Not accepted: the text is too long"))
        ran = await driver.until_type(p.CommandRan)
        assert not ran.ok
        assert all(len(text) <= 4096 for text in api.texts())

    driver = remotely(repo, api, script, [])
    assert not driver.of(p.InputReceived) and driver.axes.work_mode is WorkMode.BUILD


@pytest.mark.parametrize(
    "more",
    [{"forward_origin": {"type": "user"}}, {"forward_date": 5}, {"via_bot": {"id": 9}}],
    ids=["forwarded", "forwarded long ago", "by another bot"],
)
def test_somebody_else_s_words_are_not_the_account_s(repo: Path, api: BotApi, more: dict[str, object]) -> None:
    async def script(driver: Driver) -> None:
        api.says("/permission-profile restricted", OWNER, **more)
        await seen(lambda: api.said("Not accepted: forwarded messages are not accepted"))

    driver = remotely(repo, api, script, [])
    assert not driver.of(p.CommandRan) and not driver.of(p.DialsTurned)


def test_a_reply_to_a_message_that_was_never_sent_answers_no_other_question(repo: Path, api: BotApi) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        asked = await seen(lambda: api.said("Run: make a?"))
        api.presses("y", asked["message_id"] + 500)  # the only session and the only question: but not by that press
        api.presses("q-1; /mode review", asked["message_id"])
        await seen(lambda: api.said("Not accepted: this is a reply to a message of no session"))
        await seen(lambda: api.said("Not accepted: Answer y (yes)"))
        api.says("n")
        await driver.until_type(p.TurnFinished)

    driver = remotely(repo, api, script, [[MAKE], "done"])
    assert [one.choice for one in driver.of(p.QuestionAnswered)] == ["n"] and not driver.of(p.DialsTurned)


def test_a_second_account_s_reply_does_not_reach_the_first_one_s_message(private: None) -> None:
    """Telegram numbers messages by chat: the same number in another chat is another message."""
    paired()
    book = RemoteBook()
    book.pair(Account("telegram", "43", "43"))
    book.enlist("q5-1", "shop")
    for account in (str(OWNER), "43"):
        book.note_begun(Account("telegram", account, account), "q5-1", 1)
    book.note_sent(Account("telegram", str(OWNER), str(OWNER)), "7", "q5-1", "q-1")
    for number, account in (("1", str(OWNER)), ("2", "43")):
        book.file("telegram", UpdateBatch((Update(number, account, account, "y", reply_to="7"),), number), 0.0, "")
    assert [(row.account, row.question) for row in book.inbound("q5-1")] == [(str(OWNER), "q-1")]
    book.close()


def test_an_account_that_names_itself_as_the_owner_is_a_stranger(repo: Path, api: BotApi) -> None:
    async def script(driver: Driver) -> None:
        api.puts(
            {
                "message": {
                    "message_id": 77,
                    "from": {"id": STRANGER, "is_bot": False, "first_name": "me", "username": ACTOR},
                    "chat": {"id": OWNER, "type": "private"},
                    "text": "/mode review",
                }
            }
        )
        api.says("/mode plan")
        assert (await driver.until_type(p.DialsTurned)).after.work_mode is WorkMode.PLAN

    driver = remotely(repo, api, script, [])
    assert len(driver.of(p.DialsTurned)) == 1


def test_a_shell_line_from_elsewhere_has_the_gate_s_rights_and_not_the_user_s(repo: Path, api: BotApi) -> None:
    async def script(driver: Driver) -> None:
        api.says("!touch b; touch /tmp/../outside-of-the-project")
        asked = await seen(lambda: api.said("Answer:") or api.said("Done"))
        if "Answer:" in asked["text"]:
            api.says("n")
        await driver.until_type(p.TurnFinished)

    driver = remotely(repo, api, script, [], settings={"prompt.own_lines": "direct"})
    assert all(one.rights is UNSET for one in driver.of(p.ToolStarted))
    assert not Path("/outside-of-the-project").exists()


def test_the_token_is_in_no_file_of_quintet_s(repo: Path, api: BotApi, tmp_path: Path) -> None:
    async def script(driver: Driver) -> None:
        api.goes_down()
        await seen(lambda: api.asked > 1)
        assert TOKEN not in (await driver.command("/remote status")).text
        await driver.turn(f"my token is {TOKEN}")

    remotely(repo, api, script, [f"it is {TOKEN}"])
    files = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert files and not [path for path in files if TOKEN.encode() in path.read_bytes()]


def test_a_word_that_was_written_before_a_question_was_shown_does_not_answer_it(repo: Path, api: BotApi) -> None:
    (repo / "Makefile").write_text("a:\n\ttouch a\nb:\n\ttouch b\n")

    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        await seen(lambda: api.said("Run: make a?"))
        api.goes_down()
        api.says("yes")  # to the first
        await driver.answer("n")  # which is answered here
        second = await driver.until_type(p.QuestionAsked)
        assert second.text == "Run: make b?"
        api.down = False
        await seen(lambda: api.said("Not accepted: it was sent before the current question was shown"))
        assert second.question in driver.session.state.questions
        await seen(lambda: api.said("Run: make b?"))
        api.says("yes", reply_to=api.said("Run: make b?")["message_id"])
        await driver.until_type(p.TurnFinished)

    driver = remotely(repo, api, script, [[MAKE], [call("bash", command="make b")], "done"], clock=FrozenClock())
    assert [one.by for one in driver.of(p.QuestionAnswered)] == ["user", ACTOR]
    assert (repo / "b").exists() and not (repo / "a").exists()
