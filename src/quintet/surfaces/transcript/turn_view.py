"""What of a turn any surface shows."""

from __future__ import annotations

from quintet.domain.base.safe_text import visible
from quintet.domain.input.slash_line import own_call
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import Line
from quintet.domain.turn.reasoning import without
from quintet.domain.turn.reports import is_step

OFFLINE_RULES = "builtin"  # what they say is laid out in columns, and no Markdown


class TurnView:
    """What of the turn that runs is for the person to see."""

    def __init__(self) -> None:
        self.said = ""  # its newest reply
        self.reports = False  # it ends with a report: that is what is shown, not what it is made from
        self.step = False  # it is a step of a cycle, whose events say what came of it
        self.own_call = False  # it is a call of the person's own: its answer is the call's result
        self.plain = False  # what is said is no Markdown

    def apply(self, event: p.Event) -> None:
        match event:
            case p.TurnStarted():
                self.said, self.reports, self.step = "", event.order is not None, is_step(event.order)
                self.plain = self.own_call = own_call(event.text) is not None
            case p.ModelRequested():
                self.plain = event.model == OFFLINE_RULES
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


def step_lines(progress: p.Progress) -> list[Line]:
    """How far a call is that says so, one line each."""
    return [Line(f"  {visible(line)}", "dim") for line in progress.text.splitlines()]


def same_words(answer: str, said: str) -> bool:
    """Whether an answer is what a reply said; the space and the reasoning around it are no part of it."""
    return answer.strip() == without(said)
