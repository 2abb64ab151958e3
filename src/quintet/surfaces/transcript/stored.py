"""A stored session as numbered lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from quintet.domain.base.safe_text import visible
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import Line, RepeatFilter, describe, question
from quintet.surfaces.transcript.turn_view import same_words


def transcript(events: Iterable[p.Recorded]) -> Iterator[str]:
    said, without_repeats = "", RepeatFilter()
    for recorded in map(without_repeats, events):
        event = recorded.event
        said = event.text if isinstance(event, p.ModelReplied) and not event.aside else said
        for line in describe(recorded) or _spoken(event):
            yield f"{recorded.seq:>6}  {line.text}"
        if isinstance(event, p.TurnFinished) and not same_words(event.answer, said):  # of a shell line, or `complete`
            yield from (f"{recorded.seq:>6}  {visible(line)}" for line in event.answer.splitlines())


def _spoken(event: p.Event) -> list[Line]:
    match event:
        case p.TurnStarted(text=text):
            return [Line(f"› {visible(line)}") for line in text.splitlines()]
        case p.ModelReplied(text=text, aside=False):
            return [Line(f"  {visible(line)}") for line in text.splitlines()]
        case p.QuestionAsked():
            return question(event)
        case p.QuestionAnswered(choice=choice, note=note):
            return [Line(f"  {choice} {visible(note)}".rstrip())]
        case _:
            return []
