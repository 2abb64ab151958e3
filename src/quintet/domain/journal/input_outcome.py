"""Whether an input has ended, and with what: the one answer to it, from the events of its session alone.

An input is a command, a turn or a cycle. A command may begin a turn or a cycle of its own, at once or once a question
is answered, or let one go on; then the input ends with that.
"""

from __future__ import annotations

from msgspec import Struct, structs

from quintet.domain.journal.protocol import (
    CallDecided,
    CommandRan,
    CycleStopped,
    Event,
    InputWithdrawn,
    QuestionAnswered,
    QuestionAsked,
    TurnFinished,
    TurnStarted,
)
from quintet.domain.journal.turn_state import skipped_call
from quintet.domain.permission.answers import NO
from quintet.domain.turn.messages import EndStatus
from quintet.domain.turn.skipped import SkippedCall

NOT_BEGUN = "NOT_BEGUN"  # the code of an input that a hook held back
INTERRUPTED = "INTERRUPTED"  # the code of a command that somebody stopped before it was done
OWN_TURN, NEXT_TURN = "", "next"  # what a command says of the turn that follows: its own, or the one that goes on


_FAILURES = {NOT_BEGUN: EndStatus.BLOCKED, INTERRUPTED: EndStatus.INTERRUPTED}


class InputOutcome(Struct, frozen=True):
    """What came of an input, and the event that ended it: none if the session closed first."""

    status: EndStatus
    answer: str = ""
    reason: str = ""
    event: CommandRan | TurnFinished | CycleStopped | QuestionAnswered | InputWithdrawn | None = None
    skipped: tuple[SkippedCall, ...] = ()  # that nobody could approve


class InputWatch:
    """Shown every event of a session since an input was submitted, knows when that input is over."""

    def __init__(self, submission: str) -> None:
        self.submission = submission
        self.outcome: InputOutcome | None = None  # once it is over
        self._began = submission  # the submission that what it begins is recorded with
        self._turn = ""  # the turn that it ends with
        self._cycle = ""  # the run of the cycle that it ends with
        self._asking = False  # the command is the newest event: what it asks comes right behind
        self._skipped: list[SkippedCall] = []
        self._question = ""  # whose answer begins what the command asks for

    def see(self, event: Event) -> InputOutcome | None:
        """The outcome if this event ends the input, or an earlier one did."""
        if self.outcome is None:
            self._note_skipped(event)
            ended = self._ended(event)
            self.outcome = structs.replace(ended, skipped=tuple(self._skipped)) if ended else None
        return self.outcome

    def _note_skipped(self, event: Event) -> None:
        match event:
            case TurnStarted(submission=other) if other not in ("", self._began):
                self._skipped = []  # what was skipped before is another input's
            case CallDecided() if call := skipped_call(event):
                self._skipped.append(call)

    def _ended(self, event: Event) -> InputOutcome | None:
        asking, self._asking = self._asking, False
        match event:
            case CommandRan() if event.submission == self.submission:
                return self._ran(event)
            case QuestionAsked() if asking:
                self._question = event.question
            case QuestionAnswered() if event.question == self._question and event.choice in ("", NO):
                return InputOutcome(EndStatus.CANCELLED, reason=event.note, event=event)
            case InputWithdrawn() if event.submission == self.submission:
                return InputOutcome(EndStatus.CANCELLED, reason=event.reason, event=event)
            case TurnStarted() if event.submission == self._began:
                self._turn = event.turn
            case TurnFinished() if self._turn and event.turn == self._turn:
                if event.cycle:  # a step of a cycle, which ends the input
                    self._turn, self._cycle = "", event.cycle
                    return None
                why = event.reason or (event.error.message if event.error else "")
                return InputOutcome(event.status, event.answer, why, event)
            case CycleStopped() if event.submission == self._began or event.run == self._cycle:
                return InputOutcome(event.status, event.answer, event.reason, event)
        return None

    def _ran(self, event: CommandRan) -> InputOutcome | None:
        turn = event.data.get("turn")
        if not event.ok:
            return InputOutcome(_FAILURES.get(event.code, EndStatus.FAILED), reason=event.text, event=event)
        if turn is None:
            return InputOutcome(EndStatus.DONE, event.text, event=event)
        self._asking = True
        if turn == NEXT_TURN:
            self._began = ""  # nobody submitted it
        elif turn != OWN_TURN:
            self._turn = turn
        self._cycle = event.data.get("cycle", "")
        return None
