"""A question in line: what answers it, and that one Ctrl+C ends it whenever it comes."""

import io
import os
import subprocess
import sys

import pytest

from quintet.surfaces.typed_line import typed_key

# The signal comes where Python no longer looks and does not yet read: within the call that begins to wait.
BETWEEN = """
import ctypes, functools, types
from quintet.surfaces.typed_line import ended_by_ctrl_c
comes = functools.partial(ctypes.CDLL(None)["raise"], 2)  # returns 0, the handle that is then waited for
try:
    with ended_by_ctrl_c() as wait_for:
        wait_for(types.SimpleNamespace(fileno=comes))
except KeyboardInterrupt:
    print("ended")
"""


class Screen(io.StringIO):
    """A terminal's output, and a person who presses a key when the question stands there."""

    def __init__(self, keyboard: int) -> None:
        super().__init__()
        self._keyboard = keyboard

    def write(self, text: str) -> int:
        if "Use it?" in text:
            os.write(self._keyboard, b"n")
        return super().write(text)


def test_a_key_that_was_typed_before_the_question_answers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    keyboard, terminal = os.openpty()
    with open(terminal, closefd=True) as stdin:
        os.write(keyboard, b"1. fix the bug\n")
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stdout", Screen(keyboard))
        assert typed_key("Use it? ") == "n"
    os.close(keyboard)


def test_ctrl_c_between_the_question_and_the_wait_ends_it() -> None:
    reads, writes = os.pipe()
    try:
        done = subprocess.run([sys.executable, "-c", BETWEEN], stdin=reads, capture_output=True, text=True, timeout=120)
    finally:
        os.close(reads)
        os.close(writes)
    assert (done.stdout, done.stderr) == ("ended\n", "")
