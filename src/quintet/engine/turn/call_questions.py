"""What a running call asks, put to the person as any other question; nobody attached means that nobody answers.

A call that would spend is refused once the money is spent. The words of the question come from the call's tool; who
asks is said by Quintet.
"""

from __future__ import annotations

from quintet.domain.journal.protocol import Choice, QuestionAsked
from quintet.domain.turn.tool_spec import CallQuestion, CallReply
from quintet.engine.session.core import Core
from quintet.engine.session.journal import Journal
from quintet.engine.session.questions import Questions

NOBODY = "nobody can approve it in this run"


class CallQuestions:
    def __init__(self, core: Core, journal: Journal, questions: Questions) -> None:
        self._core = core
        self._journal = journal
        self._questions = questions

    async def reply(self, question: CallQuestion) -> CallReply:
        if question.spends and (spent := self._spent()):
            return CallReply(refused=spent)
        if not question.choices:
            return CallReply()
        if not self._core.person:
            return CallReply(refused=NOBODY)
        choices = tuple(
            Choice(one.key, one.label, takes_text=True) if one.takes_text else Choice(one.key, one.label)
            for one in question.choices
        )
        asked = QuestionAsked(
            question=self._core.ids.new("q"),
            kind="approve" if question.approves else "choose",
            text=question.text,
            choices=choices,
            detail=question.detail,
        )
        answer = await self._questions.ask(asked)
        return CallReply(answer.choice, answer.note, "" if answer.choice else answer.by)

    def _spent(self) -> str:
        most, spent = self._core.settings.limits.max_cost, self._journal.state.spent.cost
        return f"limits.max_cost = {most:g}, spent {spent:.4f}" if most and spent >= most else ""
