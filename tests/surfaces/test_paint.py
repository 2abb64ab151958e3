"""Lines for a terminal: broken between words where its width is known."""

import io

import pytest

from quintet.domain.journal.describe import Line
from quintet.surfaces.paint import Painter


@pytest.mark.parametrize("room", [40, 80])
def test_a_long_line_is_broken_between_words_and_stays_as_far_in(room: int) -> None:
    text = "    waits      a task whose own command does not show it done goes back with what was found, again"
    out = io.StringIO()
    Painter(out, room=room).print([Line(text)])
    lines = out.getvalue().splitlines()
    assert len(lines) > 1 and all(len(line) <= room and line.startswith("    ") for line in lines)
    assert " ".join(line.strip() for line in lines).split() == text.split()


def test_without_a_known_width_a_line_is_left_to_the_terminal() -> None:
    out = io.StringIO()
    Painter(out).print([Line("word " * 100)])
    assert out.getvalue().count("\n") == 1
