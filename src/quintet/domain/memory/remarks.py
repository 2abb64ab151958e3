"""What is known that fits an input, as the model is told it: data with its source, in a message, within a budget.

A remark is never an instruction and never stands in the head of a conversation. What the conversation already says is
not said again; after a summary, or a way back, it may be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from quintet.domain.base.safe_text import on_one_line
from quintet.domain.turn.messages import Message


class Remark(Struct, frozen=True):
    """Something that is known, and where from."""

    source: str  # what holds it, and where it was seen: `memory m3, 2026-01-02, session q5…`
    text: str
    session: str = ""  # that it was seen in

    @property
    def line(self) -> str:
        return f"- [{on_one_line(self.source)}] {on_one_line(self.text)}"


def unsaid(remarks: Iterable[Remark], session: str, messages: Sequence[Message]) -> list[Remark]:
    """Those that are neither of this session, which knows what it did, nor in its conversation."""
    others = [one for one in remarks if not one.session or one.session != session]
    return [one for one in others if not any(one.line in message.text for message in messages)]


def within(remarks: Iterable[Remark], budget: int) -> list[Remark]:
    """The first of them whose lines fit; one that is too long does not keep out those behind it."""
    kept: list[Remark] = []
    for one in remarks:
        size = len(one.line.encode()) + 1
        if size <= budget:
            kept.append(one)
            budget -= size
    return kept
