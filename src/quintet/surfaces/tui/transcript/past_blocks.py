"""What has left the transcript, loaded again from the journal: spans of events, each made into blocks by itself.

A span begins where a turn or a unit does, so that it reads as it did when it was new. Spans lie side by side in the
order of the journal; one is added or let go at either end, and none is read twice while it is held.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from quintet.domain.journal import protocol as p
from quintet.surfaces.tui.transcript.blocks import RowsBlock, ScreenTranscript

Read = Callable[[int, int], Sequence[p.Recorded]]  # the events above a number, up to another


class _Span(NamedTuple):
    begin: int
    end: int  # the number after its last event
    blocks: list[RowsBlock]


class PastBlocks:
    """The events from `begin` to before `end`, both marks of the transcript; 0 is the first of all."""

    def __init__(self, read: Read, marks: Sequence[int], at: int) -> None:
        self._read = read
        self._marks = marks
        self._spans: list[_Span] = []
        self.begin = self.end = at

    @property
    def blocks(self) -> list[RowsBlock]:
        return [block for span in self._spans for block in span.blocks]

    def earlier(self) -> list[RowsBlock]:
        """The blocks of one more span before."""
        place = bisect_left(self._marks, self.begin)
        span = self._load(self._marks[place - 1] if place > 1 else 0, self.begin)
        self._spans.insert(0, span)
        self.begin = span.begin
        return span.blocks

    def later(self) -> list[RowsBlock]:
        """The blocks of one more span after; there is a mark to end it."""
        span = self._load(self.end, self._marks[max(bisect_right(self._marks, self.end), 1)])
        self._spans.append(span)
        self.end = span.end
        return span.blocks

    def drop_first(self) -> list[RowsBlock]:
        self.begin = self._spans[0].end
        return self._spans.pop(0).blocks

    def drop_last(self) -> list[RowsBlock]:
        self.end = self._spans[-1].begin
        return self._spans.pop().blocks

    @property
    def first(self) -> list[RowsBlock]:
        return self._spans[0].blocks

    @property
    def last(self) -> list[RowsBlock]:
        return self._spans[-1].blocks

    @property
    def spans(self) -> int:
        return len(self._spans)

    def _load(self, begin: int, end: int) -> _Span:
        transcript = ScreenTranscript(continues=begin > 0)
        for recorded in self._read(max(begin - 1, 0), end - 1):
            transcript.apply(recorded)
        return _Span(begin, end, transcript.blocks)
