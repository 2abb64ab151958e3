"""The queue at a real terminal: changed there, held by Esc, and in its order after a kill."""

import os
import signal
from pathlib import Path

from tests.surfaces.tui.at_pty import Screen, screen

UP, CTRL_X, ESC = "\x1b[A", "\x18", "\x1b"


def queued(shown: Screen) -> list[str]:
    return [text for text, _ in shown.events("InputReceived")]


def test_five_queued_one_dropped_one_changed_and_after_esc_and_a_kill_the_rest_runs_in_order(
    repo: Path, tmp_path: Path
) -> None:
    with screen(repo, tmp_path, all_run=True) as shown:
        shown.ready()
        shown.terminal.send("!sleep 600")
        shown.sends()
        shown.terminal.until(lambda: shown.events("ToolStarted"), "a turn")
        for number in range(1, 6):
            shown.terminal.send(f"find word{number}")
            shown.sends()
            shown.terminal.until(lambda n=number: len(queued(shown)) == n + 1, "the queue")
        shown.terminal.types(3 * [UP])
        shown.terminal.send(CTRL_X)
        shown.terminal.until(lambda: shown.events("InputWithdrawn"), "one less")
        shown.terminal.types(2 * [UP])
        shown.terminal.send("again")
        shown.sends()
        shown.terminal.until(lambda: shown.events("InputRevised"), "the change")
        assert shown.events("InputRevised")[0][0] == "find word4again"
        shown.terminal.send(ESC)
        shown.terminal.until(lambda: shown.events("InputsHeld"), "the hold")
        shown.terminal.until(lambda: shown.events("TurnFinished"), "the end")
        assert len(shown.events("TurnStarted")) == 1
        session = shown.events("TurnFinished")[0][1]
        os.kill(shown.terminal.process.pid, signal.SIGKILL)
        shown.terminal.process.wait()
    with screen(repo, tmp_path, all_run=True, resume=session) as shown:
        shown.ready()
        shown.terminal.until(lambda: b"held" in shown.terminal.output, "the queue")
        assert len(shown.events("TurnStarted")) == 1
        shown.terminal.send("/queued run")
        shown.sends()
        shown.terminal.until(lambda: len(shown.events("TurnFinished")) == 5, "the rest")
        ran = [text for text, _ in shown.events("TurnStarted")][1:]
        assert ran == ["find word1", "find word2", "find word4again", "find word5"]
