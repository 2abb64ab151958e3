"""The real program in a real terminal: given back after a kill, a crash, a suspend; no colours; two at one session."""

import os
import re
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.tmux import QUINTET, SANE, Tmux

pytestmark = pytest.mark.system("tmux")


@pytest.fixture
def tmux(tmp_path: Path, repo: Path) -> Iterator[Tmux]:
    settings = Path(os.environ["XDG_CONFIG_HOME"], "quintet", "settings.toml")
    settings.parent.mkdir()
    settings.write_text("[prompt]\nrapid_paste = false\n")  # keys sent by a program come as fast as a paste
    server = Tmux(tmp_path, repo)
    yield server
    server.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_killed_it_gives_the_terminal_back_and_the_session_can_be_resumed(tmux: Tmux, number: signal.Signals) -> None:
    tmux.open("a")
    tmux.type("a", f"{QUINTET}; echo over $?", "Enter")
    tmux.sees("a", "? keys")
    tmux.enter("a", "/mode build")
    tmux.sees("a", "chat → build")
    tmux.enter("a", "git status")
    tmux.sees("a", "git_status")
    tmux.sees("a", "ready")
    (pid,) = tmux.children("a")
    for _ in range(2 if number is signal.SIGINT else 1):  # a second one, before it has left, changes nothing
        os.kill(pid, number)
    shown = tmux.given_back("a", f"over {128 + number}")
    assert "Traceback" not in shown
    tmux.type("a", f"clear; {QUINTET} --resume", "Enter")
    shown = tmux.sees("a", "git_status")
    assert "build │ assisted │ normal │ smart" in tmux.sees("a", "? keys")


def test_suspended_and_taken_up_again_it_is_drawn_whole(tmux: Tmux) -> None:
    tmux.open("a")
    tmux.type("a", QUINTET, "Enter")
    tmux.sees("a", "? keys")
    tmux.type("a", "C-z")
    tmux.sees("a", "Stopped")
    assert tmux.state("a") == SANE
    tmux.type("a", "fg", "Enter")
    tmux.sees("a", "QUINTET  chat │ assisted │ normal │ smart")
    tmux.sees("a", "? keys")
    tmux.type("a", "C-c", "C-c")
    tmux.sees("a", "Stopped")
    tmux.is_sane("a")


CRASHING = """
import asyncio, sys
from quintet.surfaces.tui import app
from quintet.app.terminal_ui import surroundings

class Fragile(app.TerminalUi):
    def do_fold(self):
        raise RuntimeError("a defect of ours")

app.TerminalUi = Fragile
asyncio.run(app.run(surroundings(".", {})))
"""


def test_a_defect_gives_the_terminal_back_before_it_is_told(tmux: Tmux, tmp_path: Path) -> None:
    program = tmp_path / "crashing.py"
    program.write_text(CRASHING)
    tmux.open("a", rows=50)
    tmux.type("a", f"{shlex.quote(sys.executable)} {program}; echo over $?", "Enter")
    tmux.sees("a", "? keys")
    tmux.type("a", "C-o")
    assert "RuntimeError: a defect of ours" in tmux.given_back("a", "over 1")


TOURING = """
import asyncio
from msgspec import structs
from quintet.surfaces.tui import app
from quintet.app.terminal_ui import surroundings

tour = ("sh", "-c", "echo on tour; sleep 60")
asyncio.run(app.run(structs.replace(surroundings(".", {}), tour=tour)))
"""


def test_ctrl_c_ends_the_tour_and_not_the_session(tmux: Tmux, tmp_path: Path) -> None:
    program = tmp_path / "touring.py"
    program.write_text(TOURING)
    tmux.open("a")
    tmux.type("a", f"{shlex.quote(sys.executable)} {program}; echo is o''ver", "Enter")
    tmux.sees("a", "? keys")
    tmux.sees("a", "ready")
    tmux.type("a", "F12")
    tmux.sees("a", "on tour")
    tmux.type("a", "C-c")
    tmux.sees("a", "? keys")
    tmux.enter("a", "/mode plan")
    tmux.sees("a", "chat → plan")


def test_without_colours_none_are_written(tmux: Tmux) -> None:
    tmux.open("a", NO_COLOR="1")
    tmux.type("a", QUINTET, "Enter")
    tmux.sees("a", "? keys")
    tmux.type("a", "BTab")
    tmux.sees("a", "chat → plan")
    shown = tmux.screen("a", "-e")
    codes = {code for sequence in re.findall(r"\x1b\[([0-9;]*)m", shown) for code in sequence.split(";") if code}
    assert codes <= {"0", "1", "2", "3", "4", "7", "9", "22", "27", "39", "49"}, codes


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_cannot_show_a_screen_gets_lines(tmux: Tmux, term: str) -> None:
    tmux.open("a")
    tmux.type("a", f"TERM={term} {QUINTET}; echo is o''ver", "Enter")
    tmux.sees("a", "QUINTET  chat │ assisted │ normal │ smart   offline rules")
    tmux.type("a", "/quit", "Enter")
    tmux.sees("a", "is over")


def test_a_second_screen_follows_the_first_and_takes_the_session_over_when_it_is_gone(tmux: Tmux) -> None:
    tmux.open("a")
    tmux.type("a", QUINTET, "Enter")
    tmux.sees("a", "? keys")
    tmux.enter("a", "/mode plan")
    tmux.sees("a", "chat → plan")
    tmux.open("b")
    tmux.type("b", f"{QUINTET} --resume", "Enter")
    tmux.sees("b", "plan │ assisted │ normal │ smart")
    tmux.enter("b", "/mode build")
    tmux.sees("a", "build │ assisted │ normal │ smart")
    tmux.sees("b", "build │ assisted │ normal │ smart")
    (pid,) = tmux.children("a")
    os.kill(pid, signal.SIGKILL)
    tmux.sees("b", "the session continues here")
    tmux.enter("b", "/control manual")
    tmux.sees("b", "build │ manual │ normal │ smart")
