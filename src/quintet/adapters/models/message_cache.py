"""The messages of a conversation in a wire's own spelling, each made once.

A request holds the whole conversation; only its newest messages are new. A message is known by its identity, so one
that was replaced is made anew, and what the conversation has dropped is let go of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from quintet.domain.turn.messages import Message

Made = TypeVar("Made")
SPARE = 64  # messages kept beyond those in use before the old ones are looked for


class WrittenOnce(Generic[Made]):
    def __init__(self, write: Callable[[Message], Made]) -> None:
        self._write = write
        self._made: dict[int, tuple[Message, Made]] = {}

    def __call__(self, message: Message) -> Made:
        known = self._made.get(id(message))
        if known is None:  # the message is kept beside what was made of it, so its identity is nobody else's
            known = self._made[id(message)] = message, self._write(message)
        return known[1]

    def keep_to(self, conversation: Sequence[Message]) -> None:
        if len(self._made) > len(conversation) + SPARE:
            in_use = {id(message) for message in conversation}
            self._made = {key: made for key, made in self._made.items() if key in in_use}
