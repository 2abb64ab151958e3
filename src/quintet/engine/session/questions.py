"""Questions a session waits on: asked as events and rows, answered by whoever answers first."""

from __future__ import annotations

import asyncio

from quintet.domain.dials.axes import Surface
from quintet.domain.journal.protocol import Answer, Choice, Event, QuestionAnswered, QuestionAsked
from quintet.domain.journal.state import SessionState
from quintet.engine.session.journal import Journal

YES, ALWAYS, NO = "y", "a", "n"
APPROVAL = (Choice(YES, "once"), Choice(NO, "no"))
APPROVAL_OR_RULE = (Choice(YES, "once"), Choice(ALWAYS, "always here"), Choice(NO, "no"))


class Questions:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._waiting: dict[str, asyncio.Future[QuestionAnswered]] = {}

    async def ask(self, question: QuestionAsked) -> QuestionAnswered:
        """Ask, and wait for the first answer. A cancelled wait closes the question."""
        future = self.expect(question)
        await self._journal.append(question)
        try:
            return await future
        except asyncio.CancelledError:
            if question.question in self._journal.state.questions:
                self._journal.post(closed(question.question, "interrupted"))
            raise

    def expect(self, question: QuestionAsked) -> asyncio.Future[QuestionAnswered]:
        """Make ready for the answer to a question that another event batch will ask."""
        future = asyncio.get_running_loop().create_future()
        self._waiting[question.question] = future
        return future

    def answered(self, event: QuestionAnswered) -> None:
        future = self._waiting.pop(event.question, None)
        if future and not future.done():
            future.set_result(event)


def judge(state: SessionState, answer: Answer, surface: Surface) -> Event | str:
    """The event for an answer, or why it cannot be taken."""
    question = state.questions.get(answer.question)
    if question is None:
        return "that question is not open: it was answered, or closed when its turn ended"
    choice = answer.choice.strip().lower()
    if choice not in {c.key for c in question.choices}:
        wanted = ", ".join(f"{c.key} ({c.label})" for c in question.choices)
        return f'"{answer.choice}" is not one of the choices: {wanted}'
    return QuestionAnswered(question=answer.question, choice=choice, note=answer.note, surface=surface)


def closed(question: str, why: str) -> QuestionAnswered:
    return QuestionAnswered(question=question, choice="", by=why)
