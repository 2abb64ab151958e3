"""What is asked can be read: why and what it does first, whatever the command; nothing in it hides or passes for us."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.base.safe_text import exactly
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import question
from quintet.domain.permission.question import BETWEEN, LABELS, MARK, split_detail
from quintet.testing import call
from tests.surfaces.tui.watching import Person, watch

LONG = "rm -rf build\n" + "# nothing to see here\n" * 116 + "effects    read"
OWN = (
    "Reason     doing something that cannot be undone always needs approval (rm: deletes)",
    "Dials      [BUILD]",
    "Effects    destroy",
    "Secrets    GH_TOKEN",
)


@pytest.mark.parametrize("size", [(80, 24), (60, 24), (60, 18)])
def test_a_long_command_hides_neither_why_nor_effects_nor_the_choices(repo: Path, size: tuple[int, int]) -> None:
    async def script(person: Person) -> None:
        await person.type("go")
        await person.asked()
        words = ("╭─ Run: rm", "Reason", "Effects", "Access", "rm -rf", "more lines · [d]", "[y] yes")
        await person.wait(lambda: all(word in person.text for word in words), "all of it at once")
        text = person.text
        box = text[text.index("╭─ Run: rm") :]
        places = [box.rindex(word) for word in ("Run:", "Reason", "Effects", "Access", "rm -rf", "[y] yes")]
        assert places == sorted(places)
        await person.press("d")
        await person.sees("fewer details", "Reason")
        await person.press("n")
        await person.rests()

    watch(repo, script, [call("bash", command=LONG)], "ok", size=size)


@pytest.mark.parametrize("size", [(80, 24), (60, 24)])
def test_one_endless_line_pushes_nothing_out_of_sight(repo: Path, size: tuple[int, int]) -> None:
    async def script(person: Person) -> None:
        await person.type("go")
        await person.asked()
        words = ("[y] yes", "Reason", "Effects", "Access", "[n] no")
        await person.wait(lambda: all(word in person.text for word in words), "all of it at once")
        await person.press("n")
        await person.rests()

    watch(repo, script, [call("bash", command=f"rm {'x' * 30_000}")], "ok", size=size)


def test_in_plain_it_stands_before_a_long_command_and_again_beside_the_choices() -> None:
    asked = p.QuestionAsked(
        question="q", kind="approve", text="Run: rm?", choices=(), detail=(*OWN, BETWEEN, *LONG.split("\n"))
    )
    lines = [line.text for line in question(asked)]
    own = [f"  {line}" for line in OWN]
    assert lines[1:5] == own and lines[-5:-1] == own
    assert f"  {MARK}effects    read" in lines


@pytest.mark.parametrize("first", [f"{label:<11}nothing of note" for label in LABELS] + ["effects", "why asked  "])
def test_a_command_cannot_begin_with_words_of_ours(first: str) -> None:
    own, rest = split_detail((*OWN, BETWEEN, first, "rm x"))
    assert own == list(OWN)
    assert rest[0] == f"{MARK}{first}"


HIDDEN = {
    "right to left": "\u202e",
    "isolate": "\u2066",
    "zero width space": "\u200b",
    "joiner": "\u200d",
    "word joiner": "\u2060",
    "soft hyphen": "\u00ad",
    "byte order mark": "\ufeff",
    "no-break space": "\u00a0",
    "wide space": "\u3000",
    "thin space": "\u2009",
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "Hangul filler": "\u3164",
    "half-width filler": "\uffa0",
    "grapheme joiner": "\u034f",
    "variant": "\ufe0f",
    "tag letter": "\U000e0061",
    "Braille blank": "\u2800",
    "escape": "\x1b",
    "bell": "\x07",
    "delete": "\x7f",
    "next line": "\x85",
    "control sequence": "\x9b",
    "carriage return": "\r",
    "vertical tab": "\x0b",
    "half a character": "\udc80",
    "private": "\ue000",
}


@pytest.mark.parametrize("char", HIDDEN.values(), ids=HIDDEN)
def test_what_the_eye_would_miss_is_spelled_out(char: str) -> None:
    shown = exactly(f"ls{char}x")
    assert char not in shown and len(shown) > len("lsx")


@given(st.text())
def test_whatever_is_asked_about_can_be_seen_and_breaks_no_line(text: str) -> None:
    own, rest = split_detail((*OWN, BETWEEN, text))
    assert own == list(OWN) and len(rest) == text.count("\n") + 1
    for line in rest:
        assert line.isprintable() or set(line) & {"\t", "\n"}
        assert line.splitlines() in ([line], [])


def test_usual_text_stays_as_it_is() -> None:
    for text in ("grep -rn 'größe' src", "echo 日本語 ✓ → é", "a\tb\nc"):
        assert exactly(text) == text
