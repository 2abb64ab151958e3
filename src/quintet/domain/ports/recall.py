"""What is known beyond the conversation: what fits an input, and what a run leaves to be known later."""

from __future__ import annotations

from typing import Protocol

from quintet.domain.memory.remarks import Remark
from quintet.domain.memory.shown import Lesson, RunShown

__all__ = ["Lesson", "Lessons", "Recollection", "Remark", "RunShown"]


class Recollection(Protocol):
    async def relevant(self, text: str, budget: int) -> tuple[Remark, ...]:
        """What fits an input, the best first, in at most so many bytes."""


class Lessons(Protocol):
    async def learn(self, shown: RunShown) -> tuple[Lesson, ...]:
        """Keep what may be kept of a run; what is new of it."""
