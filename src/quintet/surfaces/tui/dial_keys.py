"""Keys that turn dials: each is the slash command a person would type, so that it is logged like one.

Pressed twice in a row, a key goes two places on: it counts from where the last press aimed, not from what is on
screen, until the session has answered.
"""

from __future__ import annotations

from enum import StrEnum

from quintet.domain.dials.axes import AXIS_FIELDS, AXIS_WORDS, Axes, parse_axis
from quintet.domain.journal import protocol as p


class Aim:
    def __init__(self) -> None:
        self._axes: Axes | None = None
        self._waiting: set[str] = set()

    def next_value(self, axes: Axes, word: str) -> str:
        """What comes after where the dial stands, or is about to."""
        values: list[StrEnum] = list(AXIS_WORDS[word])
        here = getattr(self._axes or axes, AXIS_FIELDS[word])
        return values[(values.index(here) + 1) % len(values)]

    def aimed(self, axes: Axes, word: str, value: str, submission: str) -> None:
        self._axes = parse_axis(word, value).applied_to(self._axes or axes)
        self._waiting.add(submission)

    def heard(self, event: p.Event) -> None:
        if isinstance(event, p.CommandRan):
            self._waiting.discard(event.submission)
            if not self._waiting:
                self._axes = None
