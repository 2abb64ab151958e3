"""A question of the screen's own, however long what it is about: the choices stay in sight."""

import asyncio
import time

import pytest
from textual.app import App

from quintet.domain.journal.protocol import Choice
from quintet.surfaces.tui.dialogs.ask import AskScreen
from tests.surfaces.tui.settling import Arrivals

CHOICES = (Choice("y", "trust this folder"), Choice("n", "not now"))
ABOUT = (
    "/home/somebody/project: You trusted this folder.\n"
    "This is not loaded until you say yes; the rest is loaded. Changed since then:"
)
LISTED = tuple(f"  .quintet/tools/tool{number}.py  new" for number in range(40))
CHANGED = tuple(f"+line {number} {'x' * (number * 7 % 300)}" for number in range(300))


def shown(app: App[None]) -> str:
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())


@pytest.mark.parametrize("size", [(100, 30), (80, 24), (60, 24), (60, 12), (40, 10)])
@pytest.mark.parametrize(
    ("listed", "changed"), [(LISTED, CHANGED), (LISTED[:1], CHANGED), (LISTED, ()), (LISTED[:2], CHANGED[:2])]
)
def test_what_is_asked_and_the_choices_are_in_sight_and_the_rest_is_a_key_away(
    size: tuple[int, int], listed: tuple[str, ...], changed: tuple[str, ...]
) -> None:
    answers: list[str | None] = []

    async def use() -> None:
        app = App[None]()
        arrivals = Arrivals()

        async def press(*keys: str) -> None:
            for key in keys:
                await app._press_keys((key,))
                await arrivals.settle(app)

        async with app.run_test(size=size, message_hook=arrivals):
            await app.push_screen(AskScreen("trust", ABOUT, CHOICES, listed, changed), answers.append)
            await arrivals.settle(app)
            text = shown(app)
            assert (
                "trusted this folder" in " ".join(text.replace("│", "").split())
                and "[y] trust this folder" in text
                and "[n] not now" in text
            )
            assert "tool0.py" in text or size[1] < 20
            cut = [line for line in text.splitlines() if "more" in line]
            assert cut or len(listed) + len(changed) <= 4
            if len(changed) > 100 and size[1] > 20:
                assert f"more lines of {len(changed)} · [d]" in text and "+line 0" in text
            for _ in range(2):  # all of it, scrolled to its end, and folded again
                await press("d", "up", "pagedown", "end")
                text = shown(app)
                assert "[y] trust this folder" in text and "[n] not now" in text
                if cut:
                    assert "x│" in text.replace(" ", "") or "new│" in text.replace(" ", "") or "[d] all lines" in text
            screen = app.screen
            assert isinstance(screen, AskScreen)
            screen._since = time.monotonic()  # this moment, however slow the machine is
            await press("y")
            assert answers == []
            screen._since = 0.0
            await press("y")

    asyncio.run(use())
    assert answers == ["y"]


def test_a_short_question_has_nothing_to_unfold() -> None:
    async def use() -> None:
        app = App[None]()
        arrivals = Arrivals()
        async with app.run_test(size=(80, 24), message_hook=arrivals):
            await app.push_screen(AskScreen("trust", "/p has settings of its own.", CHOICES))
            await arrivals.settle(app)
            assert "[d]" not in shown(app) and "[n] not now" in shown(app)

    asyncio.run(use())


@pytest.mark.parametrize("width", [60, 80])
def test_a_line_that_is_too_long_for_the_screen_is_whole_where_there_is_room(width: int) -> None:
    """The host that a key is sent to is at the end of such a line."""
    line = "  1  Anthropic: ANTHROPIC_API_KEY is set; sends your key to a-proxy.of-your-company.example.org:8443"

    async def use() -> None:
        app = App[None]()
        arrivals = Arrivals()
        async with app.run_test(size=(width, 24), message_hook=arrivals):
            await app.push_screen(AskScreen("model", "Found here:", CHOICES, [line]))
            await arrivals.settle(app)
            said = " ".join(shown(app).replace("│", "").split())
            assert line.split(maxsplit=1)[1] in said and "[d]" not in said

    asyncio.run(use())
