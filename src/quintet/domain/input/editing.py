"""How a prompt is edited beyond typing: what was killed comes back by a yank, and a line can be continued."""

from __future__ import annotations

from collections.abc import Callable

MOST_KILLS = 60


class KillRing:
    """What was killed, newest last. Kills in a row are one text, as it stood."""

    def __init__(self) -> None:
        self._kills: list[str] = []
        self._in_a_row = False
        self._at = 0  # of what was yanked last, from the newest

    def kill(self, text: str, *, before: bool) -> None:
        """Keep what was killed: `before` the cursor, or behind it."""
        if not text:
            return
        if self._in_a_row and self._kills:
            newest = self._kills.pop()
            text = text + newest if before else newest + text
        self._kills = [*self._kills, text][-MOST_KILLS:]
        self._in_a_row = True

    def other(self) -> None:
        """Something else was done: the next kill is a text of its own."""
        self._in_a_row = False

    def yank(self) -> str:
        self._at = 0
        return self._kills[-1] if self._kills else ""

    def rotate(self) -> str:
        """The kill before the one yanked last, around the end."""
        if not self._kills:
            return ""
        self._at = (self._at + 1) % len(self._kills)
        return self._kills[-1 - self._at]

    def rewrite(self, written: Callable[[str], str]) -> None:
        self._kills = [written(kill) for kill in self._kills]


def continued(line: str, *, shell: bool) -> str | None:
    """A line that ends in a backslash, as Enter continues it, or None. A shell reads its backslash itself."""
    backslashes = len(line) - len(line.rstrip("\\"))
    if backslashes % 2 == 0:
        return None
    return f"{line}\n" if shell else f"{line[:-1]}\n"
