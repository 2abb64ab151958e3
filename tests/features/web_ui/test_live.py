"""What pages follow: a session that is let go, opened again or opened many times over at once misses nothing."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import structs

from quintet.adapters.files.paths import locate
from quintet.app.open import open_session
from quintet.domain.dials.axes import Surface
from quintet.domain.journal import protocol as p
from quintet.features.web_ui.live import LiveSession, LiveSessions

SECONDS = 60.0
EDIT = "replace words with terms in tally/count.py"


@asynccontextmanager
async def lives() -> AsyncIterator[LiveSessions]:
    found = LiveSessions(time.monotonic)
    try:
        yield found
    finally:
        await found.close()


async def shows(live: LiveSession, part: str, word: str) -> None:
    await until(lambda: word in live.page()["parts"][part])


async def until(there: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not there():  # noqa: ASYNC110  pages ask, nothing tells them
            await asyncio.sleep(0.02)


def test_a_session_that_was_let_go_is_followed_further(repo: Path) -> None:
    async def script() -> None:
        async with lives() as found:
            live = await found.begin(locate(str(repo)))
            await live.submit(p.Say(text="/mode plan"))
            await shows(live, "dials", "Mode: plan")
            await live._let_go(live._session)
            await live.submit(p.Say(text="/mode build"))
            await shows(live, "dials", "Mode: build")

    asyncio.run(script())


def test_who_finds_a_session_gone_does_not_close_the_one_that_was_opened_in_its_place(repo: Path) -> None:
    async def script() -> None:
        async with lives() as found:
            live = await found.begin(locate(str(repo)))
            former = live._session
            await live._let_go(former)
            now = await live.opened()
            await live._let_go(former)
            assert await live.opened() is now
            await live.submit(p.Say(text=EDIT))
            await shows(live, "question", "Edit")

    asyncio.run(script())


def test_a_session_that_another_process_runs_shows_a_question_that_was_asked_before_it_is_looked_at(
    repo: Path,
) -> None:
    async def script() -> None:
        async with open_session(str(repo), surface=Surface.TUI, person=True) as session, lives() as found:
            await session.say(EDIT)
            await until(lambda: bool(session.state.questions))
            live = await found.get(locate(str(repo)), session.id)
            await shows(live, "question", "Edit")
            (question,) = session.state.questions
            await live.submit(p.Answer(question=question, choice="n"))
            await until(lambda: "data-answered" in live.page()["parts"]["question"])
            assert "in a browser" in live.page()["parts"]["question"]

    asyncio.run(script())


def test_many_that_begin_at_once_all_ask(repo: Path) -> None:
    async def script() -> None:
        async with lives() as found:
            places = locate(str(repo))

            async def one() -> None:
                live = await found.begin(places)
                await asyncio.gather(live.submit(p.Say(text=EDIT)), found.get(places, live.id))
                await shows(live, "question", "Edit")

            await asyncio.gather(*(one() for _ in range(6)))

    asyncio.run(script())


def test_a_part_that_cannot_be_made_is_said_once_and_the_rest_goes_on(repo: Path) -> None:
    async def script() -> None:
        async with lives() as found:
            live = await found.begin(locate(str(repo)))
            around = live._around
            live._around = structs.replace(around, settings=None)
            await live.submit(p.Say(text="/mode build"))
            await until(lambda: "AttributeError" in live.page()["transcript"])
            live._around = around
            await live.submit(p.Say(text="/mode plan"))
            await shows(live, "dials", "Mode: plan")
            assert live.page()["transcript"].count("AttributeError") == 1

    asyncio.run(script())
