"""What has left the transcript is loaded from the journal as the view comes there, and reads as it did."""

import asyncio
from functools import cache
from pathlib import Path

from textual.events import MouseScrollUp

from quintet.app.open import open_session
from quintet.domain.dials.axes import INTERACTIVE
from quintet.domain.journal import protocol as p
from quintet.domain.turn.tool_spec import CallStatus
from quintet.surfaces.tui.transcript.blocks import ScreenTranscript
from quintet.surfaces.tui.transcript.past_blocks import PastBlocks
from quintet.surfaces.tui.transcript.rows import plain
from quintet.surfaces.tui.transcript.scrollback import EARLIER, LATER, MOST_BACK, MOST_ROWS, SLACK
from quintet.testing import ScriptedModel
from tests.surfaces.tui.watching import PLAIN, Person, watch

TURNS, ROWS = 20, 1000  # as many as fit a model's window, so that no summary is made of them


def page(turn: int) -> str:
    return "\n".join(f"page {turn} row {row}" for row in range(ROWS))


def said(repo: Path) -> None:
    """A session of many rows."""

    async def go() -> None:
        model = ScriptedModel([page(turn) for turn in range(TURNS)])
        async with open_session(str(repo), model=model, settings=PLAIN) as session:
            for turn in range(TURNS):
                async for _ in session.follow(await session.say(f"turn {turn}")):
                    pass

    asyncio.run(go())


def content(rows: list[str]) -> list[str]:
    return [row.strip() for row in rows if row.strip() and row not in (plain(EARLIER), plain(LATER))]


@cache
def whole() -> list[str]:
    return [
        line for turn in range(TURNS) for line in (f"› turn {turn}", *(f"page {turn} row {row}" for row in range(ROWS)))
    ]


@cache
def places() -> dict[str, int]:
    return {row: place for place, row in enumerate(whole())}


def in_order(rows: list[str]) -> bool:
    """Whether they stand in the session like this, without a gap."""
    there, shown = whole(), content(rows)
    begin = places()[shown[0]]
    return there[begin : begin + len(shown)] == shown


def top(person: Person) -> str:
    return person.transcript[person.scrollback.scroll_offset.y].strip()


def test_what_left_the_buffer_is_loaded_as_the_view_comes_there_and_the_end_shows_the_newest(repo: Path) -> None:
    said(repo)

    async def script(person: Person) -> None:
        await person.sees(f"page {TURNS - 1} row {ROWS - 1}")
        assert len(person.transcript) <= MOST_ROWS + SLACK
        view = person.scrollback
        view.move_to(3)
        await person.settles()
        there = top(person)
        await person.press("pageup")
        assert person.transcript[0] == plain(EARLIER), "there is more"
        rows = person.transcript
        y = next(number for number, row in enumerate(rows) if row.strip() == there)
        assert view.scroll_offset.y == y - 3, "what was in view is where it was"
        assert in_order(rows)
        while top(person) != "› turn 0":
            await person.press("pageup")
            rows = person.transcript
            assert len(rows) <= MOST_BACK + SLACK
            await asyncio.sleep(0)  # the looks of a test are not the screen's work
            assert in_order(rows)
            await asyncio.sleep(0)
            if rows[0] == plain(EARLIER):
                view.move_to(view.page)  # the rows between are seen by the next test
                await person.settles()
        assert person.transcript[-1] == plain(LATER)
        await person.press("ctrl+end")
        await person.sees(f"page {TURNS - 1} row {ROWS - 1}")
        assert view.following
        assert len(person.transcript) <= MOST_ROWS + SLACK
        await person.type("one more")
        await person.sees("the newest")

    watch(repo, script, *["the newest"] * 3, resume="latest")  # a summary may be asked for first


def test_the_wheel_loads_too_and_down_again_every_row_comes_until_the_end(repo: Path) -> None:
    said(repo)

    async def script(person: Person) -> None:
        await person.sees(f"page {TURNS - 1} row {ROWS - 1}")
        view = person.scrollback
        view.move_to(1)
        await person.settles()
        before = content(person.transcript)[0]
        view.post_message(MouseScrollUp(view, 5, 5, 0, -1, 0, False, False, False))
        await person.wait(lambda: content(person.transcript)[0] != before, "earlier rows")
        await person.press("ctrl+home")
        await person.sees("› turn 0", "page 0 row 0")
        seen = content(person.transcript)
        while not view.following:
            view.move_to(view.max_scroll_y - 1)
            await person.press("pagedown")
            rows = person.transcript
            await asyncio.sleep(0)
            shown = content(rows)
            await asyncio.sleep(0)
            assert in_order(shown)
            assert len(rows) <= MOST_BACK + SLACK
            if not view.following:
                seen += shown[shown.index(seen[-1]) + 1 :]
        assert seen == whole()
        assert content(person.transcript)[-1] == whole()[-1]

    watch(repo, script, resume="latest")


def test_what_comes_while_one_looks_back_does_not_move_the_view(repo: Path) -> None:
    said(repo)

    async def script(person: Person) -> None:
        await person.sees(f"page {TURNS - 1} row {ROWS - 1}")
        view = person.scrollback
        view.move_to(0)
        await person.wait(lambda: view.scroll_offset.y, "earlier rows")
        there = top(person)
        await person.ui.send("one more")
        await person.rests()
        assert person.transcript[-1].strip() == "the newest"
        assert top(person) == there
        assert view.behind > 0
        await person.press("ctrl+end")
        await person.sees("the newest")

    watch(repo, script, *["the newest"] * 3, resume="latest")  # a summary may be asked for first


def test_spans_read_as_the_whole_does_and_none_is_read_twice() -> None:
    events: list[p.Event] = []
    for turn in range(6):
        events += [
            p.TurnStarted(run="r", axes=INTERACTIVE, turn=str(turn), text=f"turn {turn}", submission=str(turn)),
            p.ToolStarted(turn=str(turn), call=str(turn), tool="bash", arguments='{"command": "ls"}'),
            p.ToolFinished(call=str(turn), tool="bash", status=CallStatus.OK, content="a\nb"),
            p.ModelReplied(step=str(turn), text=f"answer {turn}"),
            p.TurnFinished(turn=str(turn), status="done", answer=f"answer {turn}"),
        ]
    journal = [p.Recorded(number + 1, "", event) for number, event in enumerate(events)]
    transcript, read = ScreenTranscript(), []
    for recorded in journal:
        transcript.apply(recorded)

    def between(after: int, before: int) -> list[p.Recorded]:
        read.append((after, before))
        return journal[after:before]

    past = PastBlocks(between, transcript.marks, transcript.marks[-1])
    while past.begin:
        past.earlier()
    last = [block for block in transcript.blocks if block.mark == transcript.marks[-1]]
    made = [(plain(row), block.spaced) for block in [*past.blocks, *last] for row in block.rows(80)]
    assert made == [(plain(row), block.spaced) for block in transcript.blocks for row in block.rows(80)]
    assert sorted(read) == [(begin, begin + 5) for begin in range(0, 25, 5)]
