"""What a prompt remembers while somebody types: what was typed before, and long pastes.

A long paste is folded and put back when the prompt is submitted. A terminal that brackets what is pasted says so
itself. Any other gives itself away by its speed: keys that come closer together than anybody types are a paste, and so
are lines that are read in one piece. An Enter among them is a line's end; one behind a single line sends it, as soon
as it is clear that nothing follows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.safe_text import visible


class Recall:
    def __init__(self, past: Sequence[str] = ()) -> None:
        self._past = list(past)
        self._at = len(self._past)
        self._draft = ""

    @property
    def past(self) -> list[str]:
        return list(self._past)

    def add(self, text: str) -> None:
        """Something was submitted: it is the newest now, and the walk begins anew."""
        if text and self._past[-1:] != [text]:
            self._past.append(text)
        self._at, self._draft = len(self._past), ""

    def fill(self, past: Sequence[str]) -> None:
        """What was typed before this program began, found only now."""
        typed_since = self._past
        self._past = list(past)
        for text in typed_since:
            self.add(text)
        self._at = len(self._past)

    def older(self, current: str) -> str | None:
        """The input before the one that is shown; None at the oldest. What was not submitted is kept."""
        if self._at == len(self._past):
            self._draft = current
        if self._at == 0:
            return None
        self._at -= 1
        return self._past[self._at]

    def newer(self) -> str | None:
        if self._at >= len(self._past):
            return None
        self._at += 1
        return self._draft if self._at == len(self._past) else self._past[self._at]


FOLD_LINES = 10  # a paste of more lines than this is folded
FOLD_CHARACTERS = 2_000  # and so is one of more characters
RAPID_SECONDS = 0.05  # keys closer together than this come rapidly
RAPID_KEYS = 3  # so many of them are a paste
RAPID_RESET_SECONDS = 0.2  # after so long without a key it is over
SEND_SECONDS = 0.5  # a rapid line and its end are sent after so long: the rest of a paste may come over a slow line
BURST_CHARACTERS = 16  # so many of them, read in one piece, are a paste even without a line's end

_LINE_ENDS = regex("\r\n?|[\x85\u2028\u2029]")
_UNSEEN = regex("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")


def cleaned(text: str) -> str:
    """One kind of line end, and control characters as signs that can be seen.

    So are those that turn the direction of writing around: they can make a line read otherwise than it is.
    """
    return _UNSEEN.sub(lambda found: visible(found[0]), _LINE_ENDS.sub("\n", text))


def is_long(text: str) -> bool:
    return len(text) > FOLD_CHARACTERS or text.rstrip("\n").count("\n") >= FOLD_LINES


class Pastes:
    """The long pastes of one prompt, each under the words that stand for it there."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, text: str, around: str) -> str:
        """What to put into a prompt that reads `around`: the paste itself, or the words that stand for a long one.

        One that reads like such words itself is folded too, or it would be taken for what they stand for.
        """
        if not is_long(text) and not any(name in text for name in self._texts):
            return text
        lines = len(text.removesuffix("\n").split("\n"))
        what = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
        name, number = f"[pasted {what}]", 1
        while name in around or name in self._texts:
            number += 1
            name = f"[pasted {what} #{number}]"
        self._texts[name] = text
        return name

    def unfolded(self, text: str) -> str:
        """The text with every paste in its place. What looks like a placeholder inside a paste is just its text."""
        if not self._texts:
            return text
        names = "|".join(re.escape(name) for name in self._texts)
        return re.sub(names, lambda found: self._texts[found[0]], text)

    def before(self, text: str) -> str:
        """The placeholder that a text ends with; empty if it ends otherwise."""
        return next((name for name in self._texts if text.endswith(name)), "")

    def clear(self) -> None:
        self._texts.clear()


def is_burst(text: str) -> bool:
    """Whether what was read in one piece is too much to be keys: more lines than one, or very long. No controls."""
    if len(text) < RAPID_KEYS or not text.translate(_TYPED_SPACE).isprintable():
        return False
    return len(text) >= BURST_CHARACTERS or any(end in text[:-1] for end in "\r\n")


def is_one_line(text: str) -> bool:
    """Whether a prompt that rapid keys have filled is one line and its end: sent by a program, and no paste of lines.

    A backslash at its end continues it. A command is none: it may turn a dial or make a rule, and what somebody else
    put into a paste, its line's end included, does neither.
    """
    line = text.removesuffix("\n")
    whole = line != text and "\n" not in line and not line.endswith("\\")
    return whole and line.strip()[:1] not in ("", "/")


_TYPED_SPACE = str.maketrans(dict.fromkeys("\r\n\t", " "))


class RapidKeys:
    """Tells keys that come as fast as a paste from those that somebody types."""

    def __init__(self) -> None:
        self._last = float("-inf")
        self._close = 0  # keys in a row, each close behind the one before
        self._on = False
        self.behind_mark = False  # nothing has paused since a paste that was marked: it may have held its own end mark

    def key(self, now: float) -> bool:
        """A key came at `now`, in seconds; whether it belongs to a paste."""
        apart = self._apart(now)
        self._close = self._close + 1 if apart <= RAPID_SECONDS else 1
        if self._close >= RAPID_KEYS:
            self._on = True
        return self._on

    def burst(self, now: float) -> None:
        """A burst came at `now`: keys close behind it belong to it."""
        self._apart(now)
        self._close, self._on = RAPID_KEYS, True

    def marked(self, now: float) -> None:
        """A paste that the terminal marked came at `now`; an Enter alone behind it may still be a script's."""
        self._apart(now)
        self._close, self.behind_mark = 0, True

    def _apart(self, now: float) -> float:
        """How long after what came before; a paste is over once nothing came for a while."""
        apart = now - self._last
        self._last = now
        if apart > RAPID_RESET_SECONDS:
            self._on = self.behind_mark = False
        return apart
