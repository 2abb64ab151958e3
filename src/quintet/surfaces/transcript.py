"""A stored session as numbered lines, and what of a turn any surface shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from quintet.domain.base.safe_text import visible
from quintet.domain.input.slash_line import own_call
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import Line, RepeatFilter, describe, question
from quintet.domain.turn.reasoning import without
from quintet.domain.turn.reports import is_step


class TurnView:
    """What of the turn that runs is for the person to see."""

    def __init__(self) -> None:
        self.said = ""  # its newest reply
        self.reports = False  # it ends with a report: that is what is shown, not what it is made from
        self.step = False  # it is a step of a cycle, whose events say what came of it
        self.own_call = False  # it is a call of the person's own: its answer is the call's result

    def apply(self, event: p.Event) -> None:
        match event:
            case p.TurnStarted():
                self.said, self.reports, self.step = "", event.order is not None, is_step(event.order)
                self.own_call = own_call(event.text) is not None
            case p.ModelReplied() if self.shows(event):
                self.said = event.text

    def shows(self, reply: p.ModelReplied) -> bool:
        return not (reply.aside or (self.reports and not reply.calls))

    def unsaid(self, finished: p.TurnFinished) -> list[str]:
        """The lines of an answer that no reply has said: of a shell line, or of `complete`."""
        return [] if self.step or same_words(finished.answer, self.said) else finished.answer.splitlines()


def how_far(work: p.Working) -> str:
    """Long work, and how much of it is done, where that is known."""
    return f"{visible(work.what)}: {work.done:,} of {work.total:,}" if work.total else f"{visible(work.what)} …"


def same_words(answer: str, said: str) -> bool:
    """Whether an answer is what a reply said; the space and the reasoning around it are no part of it."""
    return answer.strip() == without(said)


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
