"""The prompt as an editor: newlines, kills and yanks, undo and redo, vi keys."""

import asyncio
from pathlib import Path

import pytest

from quintet.domain.input.provenance import TextSource
from tests.surfaces.tui.typing import at_prompt


def run(coroutine: object) -> None:
    asyncio.run(coroutine)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("one\\", "one\n"),
        ("one\\\\", None),  # a backslash that is meant
        ("one\\\\\\", "one\\\\\n"),
        ("!echo \\", "!echo \\\n"),  # the shell's own
    ],
)
def test_a_backslash_at_the_end_of_a_line_continues_it(repo: Path, typed: str, text: str | None) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types(typed, apart=1.0)
            await typist.press("enter")
            if text is None:
                assert typist.app.submitted == [typed]
                return
            assert (typist.area.text, typist.app.submitted) == (text, [])
            assert typist.area.provenance.typed
            await typist.types("two")
            await typist.press("enter")
            assert typist.app.submitted == [f"{text}two"]

    run(scenario())


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (("ctrl+w", "ctrl+y"), "one two three"),
        (("ctrl+w", "ctrl+w", "ctrl+y", "ctrl+y"), "one two threetwo three"),  # kills in a row are one
        (("ctrl+w", "left", "ctrl+w", "ctrl+y"), "one two "),
        (("ctrl+w", "left", "ctrl+w", "end", "ctrl+y", "alt+y"), "one  three"),
        (("ctrl+w", "left", "ctrl+w", "end", "ctrl+y", "alt+y", "alt+y"), "one  two"),
        (("ctrl+u", "ctrl+y"), "one two three"),
        (("home", "ctrl+k", "ctrl+y"), "one two three"),
        (("home", "alt+d", "end", "ctrl+y"), " two threeone"),
        (("alt+backspace", "home", "ctrl+y"), "threeone two "),
        (("ctrl+y",), "one two three"),
        (("ctrl+w", "alt+y"), "one two "),  # nothing was yanked
    ],
)
def test_what_is_killed_is_yanked(repo: Path, keys: tuple[str, ...], text: str) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types("one two three")
            await typist.press(*keys)
            assert typist.area.text == text

    run(scenario())


def test_what_was_killed_is_there_for_the_next_input_and_does_not_count_as_typed(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.pastes("\n".join(f"line {number}" for number in range(20)))
            await typist.press("ctrl+u")
            await typist.types("other")
            await typist.press("enter", "ctrl+y")
            assert typist.prompt.text.startswith("line 0\nline 1\n")  # not the words that stood for it
            assert typist.area.provenance.others == {TextSource.RECALLED}

    run(scenario())


@pytest.mark.parametrize("undo", ["ctrl+underscore", "ctrl+minus", "ctrl+slash"])
@pytest.mark.parametrize("redo", ["ctrl+shift+z", "alt+z"])
def test_undo_and_redo(repo: Path, undo: str, redo: str) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types("one two")
            await typist.press("ctrl+w", undo)
            assert typist.area.text == "one two"
            await typist.press(redo)
            assert typist.area.text == "one "
            typist.prompt.text = ""  # as Ctrl+C does
            await typist.press(undo)
            assert typist.area.text == "one "
            assert not typist.area.provenance.typed

    run(scenario())


def test_a_folded_paste_is_whole_after_undo_and_after_a_walk_through_the_history(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            pasted = "\n".join(f"line {number}" for number in range(20))
            await typist.types("old")
            await typist.press("enter")
            await typist.pastes(pasted)
            await typist.press("up", "down")
            assert typist.prompt.text == pasted
            await typist.press("ctrl+u", "ctrl+underscore", "enter")
            assert typist.app.submitted == ["old", pasted]
            await typist.press("ctrl+underscore")
            assert typist.prompt.text == ""  # what is sent is sent

    run(scenario())


# ── vi keys


def test_vi_keys_have_two_modes_and_the_prompt_shows_which(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo, keys="vi") as typist:
            await typist.types("one two")
            assert any(row.startswith(" › one two") for row in typist.rows())
            await typist.press("escape")
            assert any(row.startswith(" N one two") for row in typist.rows())
            await typist.press("b", "c", "w")
            await typist.types("six")
            assert typist.area.text == "one six"
            await typist.press("escape", "d", "d", "u", "0", "x", "p")
            assert typist.area.text == "noe six"
            assert not typist.area.provenance.typed  # undone, and put
            await typist.press("enter")
            assert typist.app.submitted == ["noe six"]
            await typist.types("typed")  # a new input begins with typing
            assert typist.area.text == "typed"

    run(scenario())


def test_vi_deletions_leave_a_line_typed_and_j_and_k_walk_past_inputs(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo, keys="vi") as typist:
            await typist.types("old")
            await typist.press("enter")
            await typist.types("!ls -l", apart=1.0)
            await typist.press("escape", "x", "x")
            assert (typist.area.text, typist.area.provenance.typed) == ("!ls ", True)
            await typist.press("k")
            assert typist.prompt.text == "old"

    run(scenario())


def test_escape_and_a_letter_typed_fast_come_as_alt_and_it(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo, keys="vi") as typist:
            await typist.types("one two")
            await typist.press("alt+b", "x")
            assert typist.area.text == "one wo"

    run(scenario())
