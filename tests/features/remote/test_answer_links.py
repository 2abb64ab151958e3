"""Answer links: one question, once, in time, and said before it is done."""

import asyncio
from pathlib import Path

import pytest

from quintet.domain.journal import protocol as p
from quintet.features.remote.answer_links import AnswerLink, LinkState, id_in, is_signed, token
from quintet.features.remote.answer_pages import RemoteAnswerPages
from quintet.features.remote.book import RemoteBook
from quintet.features.remote.values import Account
from quintet.testing import FrozenClock, ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.features.remote.ntfy_server import ntfy_server
from tests.features.remote.sessions import NORMAL, seen
from tests.features.web_ui.serving import serving as web_serving
from tests.surfaces.program import Program

KEY = b"k" * 32
LINK = AnswerLink("a" * 22, "q5-1", "shop", "q-1", "y", "yes", "Run: make a?", "ntfy", "me", 1000.0)


def book_with(*links: AnswerLink) -> RemoteBook:
    book = RemoteBook()
    book.pair(Account("ntfy", "me", "{}", "me", "2026"))
    for link in links:
        book.keep_link(link)
    return book


def test_a_token_is_signed_over_all_that_the_link_does() -> None:
    given = token(LINK, KEY)
    assert id_in(given) == LINK.id and is_signed(given, LINK, KEY)
    for field, value in (
        ("choice", "n"),
        ("question", "q-2"),
        ("session", "q5-2"),
        ("expires", 2000.0),
        ("account", "x"),
    ):
        other = AnswerLink(**{**{name: getattr(LINK, name) for name in LINK.__struct_fields__}, field: value})
        assert not is_signed(given, other, KEY)
    assert not is_signed(given, LINK, b"x" * 32)


@pytest.mark.parametrize(
    "given", ["", "x", f"{'a' * 22}.", f"{'a' * 22}.zz", "../../etc/passwd", "a" * 9000, "a\x1b[2J.0"]
)
def test_what_is_no_token_names_no_link(given: str) -> None:
    assert id_in(given) == ""


def test_a_look_changes_nothing_taking_does_it_once_and_a_replay_does_nothing() -> None:
    other = AnswerLink("b" * 22, "q5-1", "shop", "q-1", "n", "no", "Run: make a?", "ntfy", "me", 1000.0)
    book = book_with(LINK, other)
    pages = RemoteAnswerPages(book, lambda: 999.0)
    yes, no = token(LINK, book.key()), token(other, book.key())
    for _ in range(3):
        assert pages.look(yes).answer == "yes" and "Run: make a?" in pages.look(yes).lines
        assert book.inbound("q5-1") == []
    assert pages.take(yes).status == 200
    (row,) = book.inbound("q5-1")
    assert (row.text, row.question, row.link, row.account) == ("y", "q-1", "ntfy", "me")
    for given in (yes, no):
        assert pages.take(given).status == 410 and not pages.look(given).answer
    assert book.inbound("q5-1") == [row]
    book.close()


@pytest.mark.parametrize("why", ["expired", "forged", "question over", "account revoked"])
def test_a_link_that_no_longer_holds_does_nothing(why: str) -> None:
    book = book_with(LINK)
    given, now = token(LINK, book.key()), 999.0
    if why == "expired":
        now = 1000.0
        assert LINK.state(now) is LinkState.EXPIRED
    elif why == "forged":
        given = token(LINK, b"another key")
    elif why == "question over":
        book.end_links("q5-1", "q-1", "it was answered")
    else:
        assert book.revoke("ntfy", "me")
    pages = RemoteAnswerPages(book, lambda: now)
    assert pages.look(given).status in (404, 410) and pages.take(given).status in (404, 410)
    assert not pages.look(given).answer and book.inbound("q5-1") == []
    book.close()


def test_a_link_from_a_message_answers_the_session_through_the_web_surface(quintet: Program, repo: Path) -> None:
    """The whole way: a question leaves by ntfy with links, a browser without a token opens one, the session goes on."""
    with ntfy_server() as ntfy, web_serving(quintet) as web:
        ntfy.pair()
        (repo / "Makefile").write_text("a:\n\ttouch a\n")
        links_url = f"http://{web.host}"

        async def script(driver: Driver) -> None:
            driver.seq = driver.session.since
            await driver.session.say("go")
            message = await seen(lambda: ntfy.said("Run: make a?"))
            linked = [line for line in message["message"].split("\n") if "/answer/" in line]
            yes, no, feedback = (line.split(": ", 1)[1] for line in linked)
            assert yes.startswith(f"{links_url}/answer/")
            path = yes.removeprefix(links_url)
            get = await asyncio.to_thread(web.anywhere, "GET", path, Sec_Fetch_Site="cross-site")
            assert get.status == 200 and "Run: make a?" in get.text and "Answer: yes" in get.text
            assert "<script" not in get.text.split("<main")[1] and get.headers["content-security-policy"]
            foreign = await asyncio.to_thread(web.anywhere, "POST", path, "", Origin="http://evil.example")
            nowhere = await asyncio.to_thread(web.anywhere, "POST", path, "")
            assert (foreign.status, nowhere.status) == (403, 403) and driver.session.state.questions
            post = await asyncio.to_thread(web.anywhere, "POST", path, "", Origin=links_url)
            assert post.status == 200 and "Sent to the session: yes" in post.text
            answered = await driver.until_type(p.QuestionAnswered)
            assert (answered.choice, answered.surface) == ("y", "web")
            assert answered.by == f"remote:link/ntfy/{ntfy.account}"
            for one in (path, no.removeprefix(links_url), feedback.removeprefix(links_url)):
                again = await asyncio.to_thread(web.anywhere, "POST", one, "", Origin=links_url)
                assert again.status == 410 and "Nothing was done" in again.text
            assert (await asyncio.to_thread(web.anywhere, "GET", f"{path[:-1]}x")).status == 404
            assert (await asyncio.to_thread(web.anywhere, "GET", "/p/")).status == 401  # and nothing else is open
            await driver.until_type(p.TurnFinished)

        wanted = {"remote.ntfy_url": ntfy.url, "remote.auto": True, "remote.links_url": links_url}
        model = ScriptedModel([[call("bash", command="make a")], "done"])
        drive(repo, script, model, person=True, settings=wanted, axes=NORMAL)
    assert (repo / "a").exists()


def test_links_are_as_old_as_the_setting_says(repo: Path) -> None:
    with ntfy_server() as ntfy:
        ntfy.pair()
        clock = FrozenClock()

        async def script(driver: Driver) -> None:
            await driver.session.say("go")
            message = await seen(lambda: ntfy.said("Run: make a?"))
            given = next(word for word in message["message"].split() if "/answer/" in word).rpartition("/")[2]
            book = RemoteBook()
            link = book.link(id_in(given))
            assert link and link.expires == round(clock.epoch() + 300) and link.channel == "ntfy"
            assert RemoteAnswerPages(book, lambda: link.expires).take(given).status == 410
            book.close()
            await driver.answer("n")
            await driver.until_type(p.TurnFinished)

        wanted = {
            "remote.ntfy_url": ntfy.url,
            "remote.auto": True,
            "remote.links_url": "http://x",
            "remote.link_minutes": 5,
        }
        model = ScriptedModel([[call("bash", command="make a")], "done"])
        drive(repo, script, model, person=True, settings=wanted, axes=NORMAL, clock=clock)
