"""Forty keys as three kinds of terminals write them, read from a real terminal."""

from pathlib import Path

import pytest

from quintet.surfaces.tui.key_codes import Burst, KeyParser
from tests.surfaces.tui.at_pty import at_pty

LISTENING = """
import sys
from textual.app import App
from textual.events import Key
from quintet.surfaces.tui.key_codes import telling_keys_apart

class Listening(App):
    ENABLE_COMMAND_PALETTE = False

    def get_driver_class(self):
        return telling_keys_apart(super().get_driver_class(), bursts=True)

    async def on_event(self, event):
        if isinstance(event, Key) and not event.is_forwarded:
            self.heard(event.key)
        elif type(event).__name__ == "Paste" and not event.is_forwarded:
            self.heard("paste " + repr(event.text))
        else:
            await super().on_event(event)

    def heard(self, what):
        with open(sys.argv[1], "a") as file:
            file.write(what + "\\n")

    def on_mount(self):
        self.heard("ready")

Listening().run()
"""

# The key, as kitty's protocol writes it, as xterm does with modifyOtherKeys, and as the Linux console does.
# Nothing stands where a console cannot tell a key from another.
KEYS: list[tuple[str, str, str, str]] = [
    ("a", "\x1b[97;1;97u", "a", "a"),
    ("A", "\x1b[97;2;65u", "A", "A"),
    ("ä", "\x1b[228;1;228u", "ä", "ä"),
    ("space", "\x1b[32;1;32u", " ", " "),
    ("enter", "\x1b[13u", "\r", "\r"),
    ("shift+enter", "\x1b[13;2u", "\x1b[27;2;13~", ""),
    ("alt+enter", "\x1b[13;3u", "\x1b[27;3;13~", "\x1b\r"),
    ("ctrl+enter", "\x1b[13;5u", "\x1b[27;5;13~", ""),
    ("ctrl+j", "\x1b[106;5u", "\n", "\n"),
    ("tab", "\x1b[9u", "\t", "\t"),
    ("shift+tab", "\x1b[9;2u", "\x1b[Z", "\x1b\t"),
    ("escape", "\x1b[27u", "\x1b", "\x1b"),
    ("backspace", "\x1b[127u", "\x7f", "\x7f"),
    ("alt+backspace", "\x1b[127;3u", "\x1b\x7f", "\x1b\x7f"),
    ("delete", "\x1b[3~", "\x1b[3~", "\x1b[3~"),
    ("up", "\x1b[A", "\x1bOA", "\x1b[A"),
    ("down", "\x1b[B", "\x1bOB", "\x1b[B"),
    ("left", "\x1b[D", "\x1bOD", "\x1b[D"),
    ("right", "\x1b[C", "\x1bOC", "\x1b[C"),
    ("ctrl+left", "\x1b[1;5D", "\x1b[1;5D", ""),
    ("ctrl+right", "\x1b[1;5C", "\x1b[1;5C", ""),
    ("home", "\x1b[H", "\x1bOH", "\x1b[1~"),
    ("end", "\x1b[F", "\x1bOF", "\x1b[4~"),
    ("pageup", "\x1b[5~", "\x1b[5~", "\x1b[5~"),
    ("pagedown", "\x1b[6~", "\x1b[6~", "\x1b[6~"),
    ("ctrl+a", "\x1b[97;5u", "\x01", "\x01"),
    ("ctrl+c", "\x1b[99;5u", "\x03", "\x03"),
    ("ctrl+g", "\x1b[103;5u", "\x1b[27;5;103~", "\x07"),
    ("ctrl+k", "\x1b[107;5u", "\x0b", "\x0b"),
    ("ctrl+u", "\x1b[117;5u", "\x15", "\x15"),
    ("ctrl+w", "\x1b[119;5u", "\x17", "\x17"),
    ("ctrl+y", "\x1b[121;5u", "\x19", "\x19"),
    ("ctrl+underscore", "\x1b[95;5u", "\x1f", "\x1f"),
    ("ctrl+shift+z", "\x1b[122;6u", "\x1b[27;6;90~", ""),
    ("ctrl+shift+a", "\x1b[97;6u", "\x1b[27;6;65~", ""),
    ("alt+d", "\x1b[100;3u", "\x1bd", "\x1bd"),
    ("alt+y", "\x1b[121;3u", "\x1b[27;3;121~", "\x1by"),
    ("alt+m", "\x1b[109;3u", "\x1bm", "\x1bm"),
    ("f1", "\x1b[P", "\x1bOP", "\x1b[[A"),
    ("f7", "\x1b[18~", "\x1b[18~", "\x1b[18~"),
]


@pytest.mark.parametrize("column", [1, 2, 3], ids=["kitty", "xterm", "linux"])
def test_forty_keys_at_a_terminal_are_the_keys_that_were_pressed(tmp_path: Path, column: int) -> None:
    assert len(KEYS) == 40
    heard = tmp_path / "heard"
    rows = [(row[0], row[column]) for row in KEYS if row[column]]
    with at_pty(LISTENING, tmp_path, str(heard)) as terminal:
        terminal.until(heard.exists, "the screen")
        expected = ["ready"]
        for key, written in rows:
            terminal.send(written)
            expected.append(key)
            terminal.until(lambda n=len(expected): len(heard.read_text().splitlines()) >= n, f"{key} {written!r}")
        terminal.send("\x1b[200~two\rlines\x1b[201~")
        terminal.send("x")
        expected += ["paste 'two\\rlines'", "x"]
        terminal.until(lambda: heard.read_text().endswith("x\n"), "the last key")
    assert heard.read_text().splitlines() == expected


def read(*pieces: str) -> list[str]:
    parser = KeyParser()
    return [
        f"{'burst' if isinstance(event, Burst) else 'paste'} {event.text!r}" if hasattr(event, "text") else event.key  # type: ignore[attr-defined]
        for piece in pieces
        for event in parser.feed(piece)
    ]


@pytest.mark.parametrize(
    ("pieces", "events"),
    [
        (("hi\r",), ["h", "i", "enter"]),  # as somebody types it whose line is slow
        (("one\rtwo",), ["burst 'one\\rtwo'"]),
        (("x" * 16,), [f"burst {'x' * 16!r}"]),
        (("a\r\n", "b"), ["burst 'a\\r\\n'", "b"]),
        (("\x1b[20", "0~one\rtwo", "\rand 3\r\r", "six\x1b[201~", "y"), ["paste 'one\\rtwo\\rand 3\\r\\rsix'", "y"]),
        (("\x1b[200~a\x1b[201~a\rb", "one\rtwo"), ["paste 'a'", "a", "enter", "b", "burst 'one\\rtwo'"]),
        (("\x1b[", "13;2u"), ["shift+enter"]),
        (("\x1bdhello",), ["alt+d", *"hello"]),
        (("\x1b[65;6u", "\x1b[97;6u"), ["ctrl+shift+a", "ctrl+shift+a"]),  # as tmux writes it, and as kitty does
        (("\x1b[65;2u", "\x1b[97;2u", "\x1b[228;2u"), ["A", "A", "Ä"]),
        (("\x1b[99999999;6u", "\x1b[27;2;99999999~", "\x1b[97;1;99999999999u", "x"), ["x"]),
        (("\x1b[13;2:1u", "\x1b[13;2:3u"), ["shift+enter"]),  # pressed, and let go
    ],
)
def test_what_is_read_in_one_piece_is_a_paste_and_marks_may_come_in_two(
    pieces: tuple[str, ...], events: list[str]
) -> None:
    assert read(*pieces) == events
