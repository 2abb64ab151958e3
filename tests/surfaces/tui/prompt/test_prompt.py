"""The prompt: its keys, its history, pastes, shell lines, how it grows, and the draft."""

import asyncio
from pathlib import Path
from time import monotonic, sleep

import pytest

from quintet.app.terminal_ui import at_hand
from quintet.domain.input.prompt import SEND_SECONDS
from quintet.surfaces.tui.key_codes import KeyParser
from quintet.surfaces.tui.prompt.prompt_area import LATE_SECONDS
from tests.surfaces.tui.typing import at_prompt


def run(coroutine: object) -> None:
    asyncio.run(coroutine)  # type: ignore[arg-type]


def test_enter_submits_and_leaves_the_prompt_empty(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types("add a flag")
            await typist.press("enter")
            assert typist.app.submitted == ["add a flag"]
            assert typist.prompt.text == ""
            await typist.press("enter")
            assert typist.app.submitted == ["add a flag"]

    run(scenario())


def test_keys_behind_enter_belong_to_the_next_input_however_fast_they_come(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            from textual.events import Key

            for key in (*"one", "enter", *"two", "enter", *"/model", "enter", *"x"):
                typist.area.post_message(Key(key, "\r" if key == "enter" else key))
            await typist.settles()
            assert typist.app.submitted == ["one", "two", "/model"]
            assert typist.prompt.text == "x"

    run(scenario())


@pytest.mark.parametrize("key", ["shift+enter", "alt+enter", "ctrl+j"])
def test_these_begin_a_line(repo: Path, key: str) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.press("a", key, "b", "enter")
            assert typist.app.submitted == ["a\nb"]

    run(scenario())


@pytest.mark.parametrize("key", ["ctrl+enter", "ctrl+d"])
def test_s4_enter_begins_a_line_and_these_submit_by_setting(repo: Path, key: str) -> None:
    async def scenario() -> None:
        async with at_prompt(repo, enter="newline") as typist:
            await typist.press("a", "enter", "b")
            assert typist.app.submitted == []
            await typist.press(key)
            assert typist.app.submitted == ["a\nb"]

    run(scenario())


def test_up_and_down_walk_through_past_inputs_and_back_to_the_draft(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            for text in ("first", "second", "second"):
                await typist.types(text)
                await typist.press("enter")
            await typist.types("draft")
            shown = []
            for key in ("up", "up", "up", "down", "down", "down"):
                await typist.press(key)
                shown.append(typist.prompt.text)
            assert shown == ["second", "first", "first", "second", "draft", "draft"]

    run(scenario())


def test_inside_a_text_up_and_down_move_the_cursor(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types("old")
            await typist.press("enter")
            await typist.types("one\ntwo")
            await typist.press("up")
            assert typist.prompt.text == "one\ntwo"
            assert typist.area.cursor_location == (0, 3)
            await typist.press("up")
            assert typist.prompt.text == "old"

    run(scenario())


def test_past_inputs_are_there_again_at_the_next_start(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types("remember me")
            await typist.press("enter")
            past = at_hand(str(repo)).past
            await typist.until(lambda: past.all() == ["remember me"])
        async with at_prompt(repo) as typist:
            await typist.until(lambda: typist.prompt._recall.past)
            await typist.press("up")
            assert typist.prompt.text == "remember me"
            await typist.press("ctrl+r")
            assert [search.past for search in typist.app.searches] == [["remember me"]]

    run(scenario())


def test_a_shell_line_is_marked_and_goes_out_as_it_is(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types("!git status")
            assert typist.prompt.has_class("-shell")
            assert any(row.startswith(" › !git status") for row in typist.rows()), typist.rows()
            await typist.press("enter")
            assert typist.app.submitted == ["!git status"]
            assert not typist.prompt.has_class("-shell")

    run(scenario())


def test_it_grows_to_a_third_of_the_screen(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo, size=(60, 24)) as typist:
            heights = []
            for _ in range(4):
                assert typist.prompt.size.height == typist.area.size.height  # no room is left over
                heights.append(typist.area.size.height)
                await typist.types("line\nline\nline\n")
            assert heights == [1, 4, 7, 7]

    run(scenario())


# ── pastes


def test_a_long_paste_is_folded_and_submitted_whole(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            pasted = "\r\n".join(f"line {number}" for number in range(120))
            await typist.types("see ")
            await typist.pastes(pasted)
            assert typist.area.text == "see [pasted 120 lines]"
            assert typist.prompt.text == "see " + pasted.replace("\r\n", "\n")
            await typist.press("enter")
            assert typist.app.submitted == ["see " + pasted.replace("\r\n", "\n")]

    run(scenario())


def test_backspace_behind_a_folded_paste_takes_all_of_it(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types("see ")
            await typist.pastes("x\n" * 50)
            await typist.press("backspace")
            assert typist.prompt.text == "see "

    run(scenario())


def test_a_paste_shows_its_control_characters_and_runs_none(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.pastes("a\x1b[2Jb\rc\x00")
            assert typist.prompt.text == "a␛[2Jb\nc␀"
            assert typist.app.submitted == []

    run(scenario())


def test_s4_keys_too_fast_to_be_typed_are_a_paste_and_submit_nothing(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo, rapid_paste=True) as typist:
            from textual.events import Key

            at = monotonic()
            for number, key in enumerate((*"one", "enter", *"@two", "tab", *"x", "enter")):
                event = Key(key, {"enter": "\r", "tab": "\t"}.get(key, key))
                event.time = at + number / 1000  # however long it takes to say so
                typist.area.post_message(event)
            await typist.settles()
            assert typist.app.submitted == []
            assert typist.prompt.text == "one\n@two\tx\n"
            await typist.until(lambda: _rested(typist.area._speed._last))
            await typist.press("enter")
            assert len(typist.app.submitted) == 1

    run(scenario())


MARK, END = "\x1b[200~", "\x1b[201~"
ELEVEN = "line\r" * 11
RAPID = [  # what comes, in pieces; a number is a pause. What is sent of it, and what is left in the prompt
    (["say it", "\r"], ["say it"], ""),
    (["the whole of it at once\r"], ["the whole of it at once"], ""),
    (["one\rtwo\r"], [], "one\ntwo\n"),
    (["one\r", "two\r"], [], "one\ntwo\n"),
    (["first a line, then\r", "another\r"], [], "first a line, then\nanother\n"),
    (["it continues \\", "\r"], [], "it continues \\\n"),
    (["/permission-profile unrestricted\r"], [], "/permission-profile unrestricted\n"),
    ([" /permission-profile unrestricted", "\r"], [], " /permission-profile unrestricted\n"),
    (["as Windows ends a line\r\n"], [], "as Windows ends a line\n"),
    ([f"{MARK}one line\r{END}"], [], "one line\n"),
    ([f"{MARK}one", f" line\r{END}"], [], "one line\n"),
    ([f"{MARK}its own end{END} and more\r"], [], "its own end and more\n"),
    ([f"{MARK}x{END}", "and a burst behind it\r"], [], "xand a burst behind it\n"),
    ([f"{MARK}a script{END}\r"], ["a script"], ""),
    ([f"{MARK}a script{END}", "\r"], ["a script"], ""),
    ([f"{MARK}pasted {END}", 0.3, "then typed over a slow line\r"], ["pasted then typed over a slow line"], ""),
    ([f"{MARK}{ELEVEN}{END}", "more\r"], [], "line\n" * 11 + "more\n"),
]


def test_one_rapid_line_and_enter_are_sent_and_a_paste_is_not(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo, rapid_paste=True) as typist:
            now = 0.0
            for pieces, sent, left in RAPID:
                parser = KeyParser()
                now += 1.0
                for piece in pieces:
                    if isinstance(piece, float):
                        now += piece
                        continue
                    for event in parser.feed(piece):
                        event.time = now  # however long it takes to read them
                        typist.area.post_message(event)
                await typist.settles()
                await typist.until(lambda: typist.area._rapid_end is None)
                assert (typist.app.submitted, typist.prompt.text) == (sent, left), pieces
                typist.app.submitted.clear()
                typist.area.begin_anew()

    run(scenario())


def stand_still(seconds: float) -> None:
    sleep(seconds)


def test_a_rapid_line_is_not_sent_over_what_came_while_everything_stood_still(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo, rapid_paste=True) as typist:
            parser = KeyParser()

            def comes(piece: str) -> None:
                for event in parser.feed(piece):
                    event.time = 0.0
                    typist.area.post_message(event)

            comes("the first of two lines\r")
            await typist.settles()
            stand_still(SEND_SECONDS + 2 * LATE_SECONDS)  # the machine does, or the program is suspended
            await asyncio.sleep(0.02)  # then what waited at the terminal is read, and the timers are looked at
            comes("and the second of them\r")
            await typist.settles()
            await typist.until(lambda: typist.area._rapid_end is None)
            assert typist.app.submitted == []
            assert typist.prompt.text == "the first of two lines\nand the second of them\n"

    run(scenario())


def _rested(last: float) -> bool:
    return monotonic() - last > 0.21


# ── the draft


def draft(repo: Path) -> Path:
    return repo / ".quintet" / "task.md"


def test_s4_a_draft_is_saved_and_there_again_and_cleared_when_submitted(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types("half a thou")
            await typist.until(lambda: draft(repo).exists() and draft(repo).read_text() == "half a thou")
            await typist.types("ght")
        assert draft(repo).read_text() == "half a thought"  # leaving saves what the clock had not yet
        ignored = (repo / ".quintet" / ".gitignore").read_text().splitlines()
        assert "task.md" in ignored
        async with at_prompt(repo) as typist:
            await typist.until(lambda: typist.prompt.text)
            assert typist.prompt.text == "half a thought"
            await typist.press("enter")
            assert typist.app.submitted == ["half a thought"]
            await typist.until(lambda: not draft(repo).exists())

    run(scenario())


def test_a_draft_that_cannot_be_read_is_left_alone_and_said(repo: Path) -> None:
    async def scenario() -> None:
        draft(repo).parent.mkdir()
        draft(repo).write_bytes(b"\xff\xfe not text")
        async with at_prompt(repo) as typist:
            await typist.until(lambda: typist.app._notifications)
            assert "not UTF-8" in next(iter(typist.app._notifications)).message
            await typist.types("something else")
        assert draft(repo).read_bytes() == b"\xff\xfe not text"

    run(scenario())


def test_a_folder_that_cannot_be_written_is_said_once_and_nothing_is_lost(repo: Path) -> None:
    async def scenario() -> None:
        (repo / ".quintet").write_text("a file where the folder belongs")
        async with at_prompt(repo) as typist:
            await typist.types("a draft")
            await typist.until(lambda: typist.app._notifications)
            assert "cannot be written" in next(iter(typist.app._notifications)).message
            await typist.types(" goes on")
            assert typist.prompt.text == "a draft goes on"
        assert len(typist.app._notifications) == 1

    run(scenario())


def test_the_prompt_can_be_drawn_before_its_styles_are_there() -> None:
    """What was just mounted has none, if a busy machine draws the screen first."""
    from textual.geometry import Region

    from quintet.surfaces.tui.prompt.prompt_area import PromptArea

    area = PromptArea(lambda event: False, lambda: None)
    assert [strip.text for strip in area.render_lines(Region(0, 0, 8, 2))] == [" " * 8] * 2
