"""Pastes into the real screen at a real terminal, marked or not, over a fast line and a slow one: one message each."""

from pathlib import Path

import pytest

from tests.surfaces.tui.at_pty import screen

LINES = [f"line {number} with some words" for number in range(500)]
PASTED = "\r".join(LINES)  # as a terminal sends line ends
MARKED = f"\x1b[200~{PASTED}\x1b[201~"


def test_500_lines_that_nobody_marked_are_one_message_each_time(repo: Path, tmp_path: Path) -> None:
    with screen(repo, tmp_path) as shown:
        shown.terminal.send(PASTED)  # in the first second, before there is a prompt
        shown.ready()
        assert shown.sends().split("\n") == LINES
        shown.terminal.send(MARKED)
        assert shown.sends().split("\n") == LINES
        shown.terminal.send(PASTED)  # after one that was marked
        assert shown.sends().split("\n") == LINES
        shown.terminal.send("a line and its Enter, as a script sends them\r")
        shown.terminal.until(lambda: len(shown.sent) == 4, "the line")
        shown.terminal.types("!sleep 60")
        shown.sends()
        shown.terminal.until(lambda: shown.events("ToolStarted"), "a turn")
        shown.terminal.send(PASTED)  # while a turn runs
        assert shown.sends().split("\n") == LINES
        assert shown.sent[3] == "a line and its Enter, as a script sends them"
        assert len(shown.sent) == 6


@pytest.mark.parametrize("marked", [True, False], ids=["marked", "unmarked"])
def test_a_slow_line_makes_no_difference(repo: Path, tmp_path: Path, marked: bool) -> None:
    with screen(repo, tmp_path) as shown:
        shown.ready()
        shown.terminal.sends_slowly(MARKED if marked else PASTED)
        assert shown.sends().split("\n") == LINES
        shown.terminal.types("after it")
        shown.terminal.send("\x1b\r")
        shown.terminal.types("all")
        assert shown.sends() == "after it\nall"
        assert len(shown.sent) == 2
