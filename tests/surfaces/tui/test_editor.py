"""Ctrl+G: the prompt in an editor that has the terminal, also while a turn runs."""

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quintet.app.terminal_ui import at_hand
from quintet.surfaces.tui.chrome.host_terminal import ended_by
from tests.surfaces.tui.at_pty import screen
from tests.surfaces.tui.watching import Person, watch

EDITOR = """#!/bin/sh
trap '' INT
stty -a | grep -q ' icanon' || exit 9
cat "$1" > {seen}
until [ -e {go} ]; do sleep 0.05; done
printf 'edited\\nby hand\\n' > "$1"
"""


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "while a turn runs"])
def test_the_prompt_comes_back_as_the_editor_left_it(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, busy: bool
) -> None:
    seen, go, editor = tmp_path / "seen", tmp_path / "go", tmp_path / "an editor"
    editor.write_text(EDITOR.format(seen=seen, go=go))
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", f"'{editor}'")
    with screen(repo, tmp_path) as shown:
        shown.ready()
        if busy:
            shown.terminal.send("!for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.2; done")
            shown.sends()
            shown.terminal.until(lambda: shown.events("ToolStarted"), "a turn")
        shown.terminal.send("half a thought")
        shown.terminal.send("\x07")
        shown.terminal.until(seen.exists, "the editor")
        shown.terminal.send("\x03")  # the editor's, not the session's
        if busy:
            shown.terminal.until(lambda: shown.events("TurnFinished"), "the end of the turn")
        go.touch()
        shown.terminal.until(lambda: b"by hand" in shown.terminal.output, "the screen again")
        assert shown.sends() == "edited\nby hand"
        assert seen.read_text() == "half a thought"


def test_an_editor_that_fails_or_is_not_there_leaves_the_prompt_alone(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = tempfile.TemporaryDirectory(dir="/tmp")  # so that what is said of it stands in one row
    editor = Path(short.name, "ed")
    editor.write_text("#!/bin/sh\nprintf x > $1\nexit 3\n")
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    with screen(repo, tmp_path) as shown:
        shown.ready()
        shown.terminal.send("kept")
        shown.terminal.send("\x07")
        shown.terminal.until(lambda: b"exited 3" in shown.terminal.output, "what was wrong")
        editor.unlink()
        shown.terminal.send("\x07")
        shown.terminal.until(lambda: b"not found" in shown.terminal.output, "what is missing")
        assert shown.sends() == "kept"
    short.cleanup()


def test_ctrl_c_in_the_last_moment_of_an_editor_does_not_end_the_session(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def suspended() -> Iterator[None]:
        yield
        os.kill(os.getpid(), signal.SIGINT)  # the loop hears of it only after the editor has ended

    async def script(person: Person) -> None:
        monkeypatch.setattr(person.ui, "suspend", suspended)
        with ended_by(person.ui.told_to_end):
            person.ui.do_editor()
            await person.wait(lambda: person.ui.prompt.text == "edited", "the text")
            await person.settles()
        assert person.ui.return_code is None

    sources = at_hand(str(repo))
    sources.edited = lambda text: "edited"
    watch(repo, script, at_hand=sources)
