"""The transcript on the screen: folding, scrolling, finding, copying, and its bounds."""

import asyncio
import math
from pathlib import Path

from textual.events import MouseScrollDown, MouseScrollUp

from quintet.domain.journal import protocol as p
from quintet.domain.turn.messages import EndPart, Finish, TextPart, Usage
from quintet.surfaces.tui.transcript.scrollback import MOST_ROWS, SLACK
from quintet.testing import ScriptedModel, call
from tests.engine.turn.test_turn_runner import Waiting
from tests.surfaces.transcript.test_transcript import UNIT, VERIFIED
from tests.surfaces.tui.watching import A_MODEL, Person, watch

LONG = "\n".join(f"line {number}" for number in range(200))


def test_it_follows_the_end_and_stays_where_you_scroll(repo: Path) -> None:
    model = Waiting(LONG + "\n", "the end")

    async def script(person: Person) -> None:
        view = person.scrollback
        await person.type("count")
        await person.sees("line 199")
        await person.press("pageup")
        top = view.scroll_offset.y
        await person.sees("↓")
        assert top == view.max_scroll_y - (view.size.height - 1)
        await person.press("ctrl+up")
        assert view.scroll_offset.y == top - 1
        await person.press("ctrl+down")
        model.go.set()
        await person.wait(lambda: "the end" in "".join(person.transcript), "the end")
        await person.settles()
        assert view.scroll_offset.y == top
        await person.press("pagedown", "pagedown")
        await person.sees("the end")
        assert "↓" not in person.status
        await person.press("ctrl+home")
        assert view.scroll_offset.y == 0
        await person.press("ctrl+end")
        assert view.following

    watch(repo, script, model=model)


async def at_end(person: Person, *, ends: bool) -> None:
    """Until the status line says whether the view is at its end."""
    await person.wait(lambda: ("↓" not in person.status) is ends, f"at the end: {ends}")
    assert (person.scrollback.scroll_offset.y >= person.scrollback.max_scroll_y) is ends
    assert person.scrollback.following is ends


def test_the_mark_of_a_view_that_is_scrolled_up_is_true_however_it_was_moved(repo: Path) -> None:
    async def script(person: Person) -> None:
        view = person.scrollback
        await person.type("count")
        await person.sees("line 199")
        await person.rests()
        await person.press("ctrl+home")
        await at_end(person, ends=False)
        await person.press("ctrl+end")
        await at_end(person, ends=True)
        await person.pilot._post_mouse_events([MouseScrollUp], "#scrollback")
        await at_end(person, ends=False)
        for _ in range(3):
            await person.pilot._post_mouse_events([MouseScrollDown], "#scrollback")
        await at_end(person, ends=True)
        await person.press("pageup")
        await at_end(person, ends=False)
        await person.press("pagedown")
        await at_end(person, ends=True)
        view.focus()
        await person.press("home")
        await at_end(person, ends=False)
        await person.press("end")
        await at_end(person, ends=True)
        await person.press("ctrl+up")
        await at_end(person, ends=False)
        await person.pilot.resize_terminal(100, 260)  # all of it is in view
        await at_end(person, ends=True)

    watch(repo, script, LONG)


def test_rows_that_only_a_narrower_screen_makes_are_not_called_new(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("count")
        await person.sees("the last paragraph")
        await person.rests()
        await person.press("pageup")
        await person.sees("scrolled up")
        rows = len(person.scrollback.shown)
        await person.pilot.resize_terminal(60, 20)
        await person.wait(lambda: len(person.scrollback.shown) > rows, "more rows")
        await person.drawn()
        assert (person.scrollback.behind, "scrolled up" in person.text) == (0, True)

    paragraphs = [" ".join(["some words of a long paragraph"] * 10)] * 12
    watch(repo, script, "\n\n".join([*paragraphs, "the last paragraph"]), size=(100, 20))


def test_resizing_while_it_streams_wraps_anew_and_loses_nothing(repo: Path) -> None:
    words = " ".join(f"word{number}" for number in range(120))
    model = Waiting(words, " last")

    async def script(person: Person) -> None:
        await person.type("go")
        await person.sees("word119")
        for width in (60, 140, 45):
            await person.pilot.resize_terminal(width, 30)
            await person.wait(lambda width=width: person.scrollback.widest <= width, "the new width")
            await person.sees("word119")
            joined = " ".join(" ".join(person.transcript).split())
            assert words in joined
        model.go.set()
        await person.rests()
        await person.sees("last")

    watch(repo, script, model=model)


def test_a_view_that_is_scrolled_up_stays_while_rows_above_it_come_and_go(repo: Path) -> None:
    async def script(person: Person) -> None:
        view = person.scrollback
        for event in UNIT:
            person.ui.receive(p.Recorded(9_000, "2026-01-01T00:00:00.000Z", event))
        person.ui.note(LONG)
        await person.wait(lambda: any("line 199" in row for row in person.transcript), "the end")
        view.move_to(view.max_scroll_y - 30)
        at_top = view.shown[view.scroll_offset.y]
        person.ui.receive(p.Recorded(9_001, "2026-01-01T00:00:00.000Z", VERIFIED))
        await person.wait(lambda: any("Read a.py (1 line) · bash" in row for row in person.transcript), "one row")
        assert view.shown[view.scroll_offset.y] == at_top
        await person.pilot.resize_terminal(60, 30)
        await person.settles()
        assert view.shown[view.scroll_offset.y] == at_top

    watch(repo, script)


def test_words_are_found_and_the_bar_closes(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("count")
        await person.sees("line 199")
        await person.rests()
        await person.press("ctrl+f")
        await person.press(*"line 15", "enter")
        await person.sees("of 11")
        await person.sees("line 158")
        assert person.scrollback.found == "line 15"
        await person.press("escape")
        assert person.scrollback.found == ""
        await person.press("x")
        assert person.ui.typed == "x"

    watch(repo, script, LONG)


def test_folds_open_by_key_and_by_mouse(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("look")
        await person.sees("▸ Read", "Three lines.")
        await person.rests()
        await person.press("tab")
        assert person.ui.focused is person.scrollback
        await person.press("enter")
        await person.sees("▾ Read", "How many words")
        await person.press("space")
        await person.wait(lambda: "How many words" not in person.text, "the fold to close")
        row = person.text.split("\n").index(next(line for line in person.text.split("\n") if "▸ Read" in line))
        await person.pilot.click("#scrollback", offset=(5, row - 2))
        await person.sees("▾ Read")
        await person.press("ctrl+o")
        await person.wait(lambda: "▾" not in person.text, "all folds to close")
        await person.press("escape")
        await person.press("x")
        assert person.ui.typed == "x"

    watch(repo, script, [call("Read", file_path="tally/count.py")], "Three lines.")


def test_the_last_answer_and_what_is_selected_are_copied(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("hello")
        await person.sees("Good **day**".replace("*", ""))
        await person.rests()
        await person.press("f9")
        assert person.ui.clipboard == "Good **day**"
        await person.sees("copied 12 characters")
        row = next(n for n, line in enumerate(person.text.split("\n")) if "Good day" in line) - 2
        await person.pilot.mouse_down("#scrollback", offset=(3, row))
        await person.pilot.hover("#scrollback", offset=(7, row))
        await person.pilot.mouse_up("#scrollback", offset=(7, row))
        await person.settles()
        await person.press("f9")
        assert person.ui.clipboard.strip() == "Good"

    watch(repo, script, "Good **day**", settings=A_MODEL)


def test_the_buffer_is_bounded_and_keeps_the_newest(repo: Path) -> None:
    pages = ["\n".join(f"page {page} row {row}" for row in range(1500)) for page in range(5)]

    async def script(person: Person) -> None:
        for page in range(5):
            await person.type("next")
            await person.sees(f"page {page} row 1499")
            await person.rests()
        rows = person.transcript
        assert len(rows) <= MOST_ROWS + SLACK
        assert "page 0 row 0" not in "\n".join(rows)
        assert rows[0] == "… earlier rows are in the journal: scroll up to load them"
        await person.pilot.resize_terminal(90, 30)
        await person.settles()
        assert person.transcript[0] == rows[0]
        rows = person.transcript
        assert rows[-1].strip() == "page 4 row 1499"
        await person.press("pageup")
        await person.sees("page 4 row 1470")

    watch(repo, script, *pages)


def test_ctrl_c_interrupts_what_streams_and_what_came_stays(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("go")
        await person.sees("thinking about")
        await person.press("ctrl+c")
        await person.rests()
        assert person.ui.state.turns.interrupted
        await person.sees("thinking about", "interrupted")

    watch(repo, script, model=Waiting())


def test_esc_interrupts_and_twice_on_an_empty_prompt_rewinds(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("go")
        await person.sees("thinking about")
        await person.press("escape")
        await person.rests()
        assert person.ui.state.turns.interrupted
        person.ui._pressed.clear()
        await person.press("escape")
        person.ui._pressed["escape"] = math.inf  # this moment, however slow the machine is
        await person.press("escape")
        await person.sees("rewind to before a turn")

    watch(repo, script, model=Waiting())


def test_a_resumed_session_shows_what_was_said_and_goes_on(repo: Path) -> None:
    async def first(person: Person) -> None:
        await person.type("remember the word heron")
        await person.sees("I will.")
        await person.rests()

    async def second(person: Person) -> None:
        await person.sees("remember the word heron", "I will.")
        assert "No model" not in person.text
        await person.type("which word?")
        await person.sees("Heron.")

    watch(repo, first, "I will.")
    watch(repo, second, "Heron.", resume="latest")


def test_a_broken_stream_leaves_the_screen_whole(repo: Path) -> None:
    class Hasty(ScriptedModel):
        async def stream(self, request):  # type: ignore[no-untyped-def]
            for number in range(400):
                yield TextPart(f"{number} ```\n| a |\n**")
                if number % 50 == 0:
                    await asyncio.sleep(0)
            yield EndPart(Finish.STOP, Usage(1, 1))

    async def script(person: Person) -> None:
        await person.type("go")
        await person.wait(lambda: "399" in "".join(person.transcript), "the end")
        await person.rests()
        assert person.scrollback.widest <= 100

    watch(repo, script, model=Hasty([]), settings=A_MODEL)


def test_a_typed_dial_stands_above_its_transition_and_a_pressed_one_is_the_transition_alone(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("/mode build")
        await person.rests()
        lines = [line.strip() for line in person.transcript if line.strip()]
        at = lines.index("› /mode build")
        assert "chat → build" in lines[at + 1]
        await person.press("f6")
        await person.sees("smart → deep")
        await person.rests()
        assert not any("› /model-mode" in line for line in person.transcript)

    watch(repo, script)
