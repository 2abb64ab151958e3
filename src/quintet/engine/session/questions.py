"""Questions a session waits on: asked as events and rows, answered by whoever answers first.

A turn waits for its answer; what a command asks has a follow-up, the events that the answer brings about.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from enum import StrEnum

from msgspec import Struct

from quintet.domain.journal.protocol import Answer, Event, QuestionAnswered, QuestionAsked, Submitted
from quintet.domain.journal.state import SessionState
from quintet.domain.permission import remote_limits
from quintet.domain.permission.answers import FEEDBACK, NO
from quintet.engine.session.journal import Journal

Follow = Callable[[QuestionAnswered], list[Event] | None]


class QuestionAbout(StrEnum):
    """What a command asks about."""

    PLAN = "plan"  # whether the one that waits is to be built
    DEEP_MODEL = "deep_model"  # whether to review with it


class FollowUp(Struct, frozen=True):
    about: QuestionAbout
    follow: Follow


class Questions:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._waiting: dict[str, asyncio.Future[QuestionAnswered]] = {}
        self._follow_ups: dict[str, FollowUp] = {}

    async def ask(self, question: QuestionAsked) -> QuestionAnswered:
        """Ask, and wait for the first answer. A cancelled wait closes the question."""
        future: asyncio.Future[QuestionAnswered] = asyncio.get_running_loop().create_future()
        self._waiting[question.question] = future
        await self._journal.append(question)
        try:
            return await future
        except asyncio.CancelledError:
            if question.question in self._journal.state.questions:
                self._journal.post(closed(question.question, "interrupted"))
            raise

    def follow(self, question: QuestionAsked, about: QuestionAbout, follow: Follow) -> None:
        """What follows from the answer; with None nothing does, and what was to begin with it does not."""
        self._follow_ups[question.question] = FollowUp(about, follow)

    def begin_with(self, question: QuestionAsked, begun: Event) -> None:
        """Begin something with the answer, unless nothing follows from it."""
        known = self._follow_ups[question.question]

        def follow(answer: QuestionAnswered) -> list[Event] | None:
            events = known.follow(answer)
            return None if events is None else [*events, begun]

        self._follow_ups[question.question] = FollowUp(known.about, follow)

    def withdrawn(self, about: QuestionAbout, why: str) -> list[Event]:
        """The end of the questions about something, where they stand: something else has decided."""
        asked = self._journal.state.questions
        return [closed(one, why) for one, known in self._follow_ups.items() if one in asked and known.about is about]

    def following(self, answer: QuestionAnswered) -> list[Event]:
        """What follows from an answer, to be put on record with it."""
        known = self._follow_ups.get(answer.question)
        return (known.follow(answer) if known else None) or []

    async def answered(self, answer: QuestionAnswered, consumed: str, events: Sequence[Event] = ()) -> None:
        """Put an answer on record with what comes of it, and let whoever waits for it go on."""
        self._follow_ups.pop(answer.question, None)
        await self._journal.append(answer, *events, consumed=consumed)
        future = self._waiting.pop(answer.question, None)
        if future and not future.done():
            future.set_result(answer)


def judge(state: SessionState, answer: Answer, submitted: Submitted) -> QuestionAnswered | str:
    """The event for an answer, or why it cannot be taken."""
    question = state.questions.get(answer.question)
    if question is None:
        return "that question is not open: it was answered, or closed when its turn ended"
    choice = answer.choice.strip().lower()
    if choice not in {c.key for c in question.choices}:
        wanted = ", ".join(f"{c.key} ({c.label})" for c in question.choices)
        return f'"{answer.choice}" is not one of the choices: {wanted}'
    chosen = next(c for c in question.choices if c.key == choice)
    if why := remote_limits.answer_refused(question.kind, chosen, submitted.highest):
        return why
    taken = NO if choice == FEEDBACK and any(c.key == NO for c in question.choices) else choice
    return QuestionAnswered(
        question=answer.question, choice=taken, note=answer.note, surface=submitted.surface, by=submitted.actor
    )


def closed(question: str, why: str) -> QuestionAnswered:
    return QuestionAnswered(question=question, choice="", by=why)
