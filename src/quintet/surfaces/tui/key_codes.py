"""Keys as terminals write them, where Textual reads them otherwise or not at all; and text that comes all at once.

`ESC CR` is Alt+Enter, `CSI 27 ; modifiers ; code ~` is xterm's way to write what kitty writes as `CSI code ; modifiers
u`, and `ESC x` is Alt+X at once, whatever follows it. Lines that are read in one piece are a paste that nobody marked.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from threading import Thread
from typing import Any

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.driver import Driver
from textual.keys import Keys
from textual.message import Message

from quintet.domain.input.prompt import is_burst

ESC = "\x1b"
ALT_KEYS = {"\r": "alt+enter", "\n": "alt+enter", "\x7f": "alt+backspace", "\b": "alt+backspace", "\t": "shift+tab"}
INTRODUCERS = frozenset("[]OPX^_")  # of longer sequences
TELL_KEYS_APART, AS_BEFORE = "\x1b[>4;1m", "\x1b[>4;0m"  # xterm's modifyOtherKeys
SHIFT = 1  # of the modifiers, which are written one higher
_OTHER_KEY = re.compile(r"\x1b\[27;(\d+);(\d+)~")
_LETTER = re.compile(r"\x1b\[(\d+);(\d+)u")  # of kitty, without the text that it stands for
_EVENT_KIND = re.compile(r"(\x1b\[[\d:]*;\d+):([123])((?:;[\d:]*)?[u~A-Z])")
RELEASED = "3"  # of those kinds


class Burst(events.Paste):
    """Text that was read in one piece, faster than anybody types."""


Burst.handler_name = events.Paste.handler_name


class KeyParser(XTermParser):
    """`bursts`: whether lines that come all at once are a paste."""

    def __init__(self, debug: bool = False, *, bursts: bool = True) -> None:
        super().__init__(debug)
        self._bursts = bursts
        self._tail = ""  # the end of what came before: a mark may come in two pieces
        self._marked = False  # in a paste that the terminal marks

    def feed(self, data: str) -> Iterable[Message]:
        between_keys = not self._marked and self._awaiting.timeout is None
        if self._bursts and between_keys and is_burst(data):
            yield Burst(data)
            return
        seen = self._tail + data
        begun, ended = seen.rfind(BRACKETED_PASTE_START), seen.rfind(BRACKETED_PASTE_END)
        if begun != ended:
            self._marked = begun > ended
        self._tail = seen[1 - len(BRACKETED_PASTE_START) :]
        yield from super().feed(data)

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterator[events.Key]:
        try:
            yield from self._keys_of(sequence, alt)
        except (ValueError, OverflowError):  # a number that is no character's
            yield events.Key(Keys.Ignore, sequence)

    def _keys_of(self, sequence: str, alt: bool) -> list[events.Key]:
        if key := alt_key(sequence):
            return [events.Key(key, None)]
        if same := as_kitty(sequence):
            return list(super()._sequence_to_key_events(same, alt))
        return [events.Key(Keys.Ignore, sequence)]


def alt_key(sequence: str) -> str:
    """The key of Escape and one character; empty if it is not one, or Textual knows it."""
    if len(sequence) != 2 or sequence[0] != ESC:
        return ""
    if key := ALT_KEYS.get(sequence[1]):
        return key
    letter = sequence[1]
    if sequence in ANSI_SEQUENCES_KEYS or letter in INTRODUCERS or not (letter.isascii() and letter.isalnum()):
        return ""
    return f"alt+shift+{letter.lower()}" if letter.isupper() else f"alt+{letter}"


def as_kitty(sequence: str) -> str:
    """A key that xterm writes with its modifiers, the way kitty does; nothing for one let go, others as they are."""
    if found := _OTHER_KEY.fullmatch(sequence):
        modifiers, code = int(found[1]), int(found[2])
        if modifiers - 1 == SHIFT and chr(code).isprintable():
            return f"\x1b[{code};1;{code}u"  # a capital letter
        return f"\x1b[{ord(chr(code).lower())};{modifiers}u"
    if (found := _LETTER.fullmatch(sequence)) and chr(int(found[1])).isalpha():
        return _shifted(sequence, chr(int(found[1])), int(found[2]))
    if found := _EVENT_KIND.fullmatch(sequence):
        return "" if found[2] == RELEASED else found[1] + found[3]
    return sequence


def _shifted(sequence: str, letter: str, modifiers: int) -> str:
    """A letter with Shift among its modifiers: kitty writes the small one, tmux the capital."""
    if modifiers - 1 == SHIFT:
        return f"\x1b[{ord(letter.upper()[0])};1;{ord(letter.upper()[0])}u"
    return f"\x1b[{ord(letter.lower()[0])};{modifiers}u" if (modifiers - 1) & SHIFT else sequence


def telling_keys_apart(driver: type[Driver], *, bursts: bool) -> type[Driver]:
    """The driver, reading keys by the parser above; and what is written while it is suspended is lost, not waited for.

    A driver makes its parser by the name that its own module knows it by: nothing else can be put in its place.
    """
    module: Any = sys.modules[driver.__module__]
    if hasattr(module, "XTermParser"):
        module.XTermParser = partial(KeyParser, bursts=bursts)

    class Keyed(driver):  # type: ignore[misc, valid-type]
        def start_application_mode(self) -> None:
            super().start_application_mode()
            self.write(TELL_KEYS_APART)

        def stop_application_mode(self) -> None:
            self.write(AS_BEFORE)
            super().stop_application_mode()

        def write(self, data: str) -> None:
            writer = getattr(self, "_writer_thread", None)
            if not isinstance(writer, Thread) or writer.is_alive():
                super().write(data)

    return Keyed
