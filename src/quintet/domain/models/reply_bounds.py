"""How long a model's reply may be: its text, its reasoning, the arguments of its calls, and the bytes that carry them.

No honest reply is as long. One that goes on without an end is stopped, and the error names what was too long.
"""

from __future__ import annotations

from typing import Literal

from quintet.domain.base.errors import ModelBadResponse

Bounded = Literal["text", "reasoning", "arguments", "bytes"]
MOST_CHARACTERS = 2_000_000
MOST_BYTES = 250_000_000
_MOST: dict[Bounded, tuple[int, str]] = {
    "text": (MOST_CHARACTERS, "the text of the model's reply is longer than {most:,} characters"),
    "reasoning": (MOST_CHARACTERS, "the reasoning of the model's reply is longer than {most:,} characters"),
    "arguments": (
        MOST_CHARACTERS,
        "the arguments of the calls in the model's reply are longer than {most:,} characters",
    ),
    "bytes": (MOST_BYTES, "the model's reply is larger than {most:,} bytes"),
}
HINT = "Ask for less at a time, or use another model: it may be repeating itself."


class ReplyBounds:
    """The lengths of one reply, as it comes."""

    def __init__(self) -> None:
        self._lengths: dict[Bounded, int] = {}

    def room(self, what: Bounded) -> int:
        """How much more of it may come."""
        return max(_MOST[what][0] - self._lengths.get(what, 0), 0)

    def add(self, what: Bounded, length: int) -> None:
        """ModelBadResponse, which is not tried again, once there is too much of it."""
        total = self._lengths[what] = self._lengths.get(what, 0) + length
        most, words = _MOST[what]
        if total > most:
            raise ModelBadResponse(f"{words.format(most=most)}; it was stopped", hint=HINT)
