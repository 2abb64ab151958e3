"""The shell lines that were typed at the terminal of this process, until their turn comes. In memory alone.

No row of the inbox and no event says that a line was typed: whoever can write there could say so of a line of theirs.
"""

from __future__ import annotations

from quintet.domain.journal.protocol import InputReceived


class TypedLines:
    def __init__(self) -> None:
        self._texts: dict[str, str] = {}  # by their submissions

    def add(self, submission: str, text: str) -> None:
        self._texts[submission] = text

    def take(self, received: InputReceived) -> bool:
        """Whether an input is exactly what was typed; once."""
        return self._texts.pop(received.submission, None) == received.text
