"""From a model's call to a call that may start: asks the gate, and where the gate asks, the person.

Every decision and every refusal is on record before anything runs. An approval is for one exact call at the axes it
was asked at: tightening them voids it.
"""

from __future__ import annotations

from typing import Any

from msgspec import structs

from quintet.domain import badge
from quintet.domain.axes import Axes, RunControl, tightens
from quintet.domain.gate import Verdict
from quintet.domain.hook_places import HookPlace
from quintet.domain.messages import ToolCall
from quintet.domain.protocol import CallDecided, Event, QuestionAsked, RuleMade, ToolFinished
from quintet.domain.rules import ANY, Rule, exactly, subject_of
from quintet.domain.standing import Standing
from quintet.domain.toolspec import CallStatus, ToolResult
from quintet.engine.core import Core
from quintet.engine.hooks import Hooks
from quintet.engine.journal import Journal
from quintet.engine.questions import ALWAYS, APPROVAL, APPROVAL_OR_RULE, NO, YES, Questions
from quintet.engine.toolbox import Prepared

PREVIEW_LINES = 20  # of a change that is asked about


class Blocked(Exception):
    """The run cannot go on without a person; `str` says why."""


class Gatekeeper:
    def __init__(self, core: Core, journal: Journal, questions: Questions) -> None:
        self._core = core
        self._journal = journal
        self._questions = questions
        self._hooks = Hooks(core, journal)
        self._step_approved: set[str] = set()
        self._step_axes: Axes | None = None  # the axes that step was approved at

    async def admit_step(self, calls: list[ToolCall]) -> list[ToolCall]:
        """In manual, one question for the whole step; a no answers all its calls."""
        axes = self._journal.state.axes
        if axes.run_control is not RunControl.MANUAL or not self._core.person:
            return calls
        prepared = [self.prepare(call) for call in calls]
        runnable = [p for p in prepared if isinstance(p, Prepared) and p.decision.verdict is Verdict.ASK]
        if not runnable:
            return calls
        self._journal.post(*(self._decided(p) for p in runnable))
        lines = tuple(f"{p.spec.name} {'; '.join(p.touch.lines) or p.call.arguments}" for p in runnable)
        text = f"run this step ({len(runnable)} call{'s'[: len(runnable) > 1]})?"
        choice, refusal = await self._ask(self._question(text, runnable, lines), runnable)
        if choice == YES:
            self._step_approved, self._step_axes = {p.call.id for p in runnable}, axes
            return calls
        for call in calls:
            self._refuse(call, refusal)
        return []

    async def admit(self, call: ToolCall, *, own: bool = False) -> Prepared | None:
        """The call, ready to run; None if it may not, and then its result is on record.

        `own` is a person's own call: neither the model's place in the menu nor its SWE phase is theirs.
        """
        prepared = self.prepare(call, own)
        if isinstance(prepared, ToolResult):
            self._journal.post(finished_call(call, prepared))
            return None
        hooked = await self._after_hooks(prepared, own)
        return await self._permitted(hooked, own) if hooked else None

    def prepare(self, call: ToolCall, own: bool = False) -> Prepared | ToolResult:
        standing: Standing = self._journal.state.standing
        if own:
            standing = structs.replace(standing, toolset=self._core.toolbox.home(call.name), swe=None)
        return self._core.toolbox.prepare(call, standing, person=self._core.person)

    async def _after_hooks(self, prepared: Prepared, own: bool) -> Prepared | None:
        """The call as the user's hooks leave it: as it was, asked, or denied. None if it may no longer be made."""
        if prepared.decision.verdict is Verdict.DENY or not self._hooks.at(HookPlace.PRE_TOOL_USE):
            return prepared
        said = await self._hooks.run(HookPlace.PRE_TOOL_USE, **_told(prepared))
        again = self.prepare(prepared.call, own)  # a dial may have been turned while they ran
        if isinstance(again, ToolResult):
            self._journal.post(finished_call(prepared.call, again))
            return None
        decision = again.decision
        if decision.verdict is not Verdict.DENY and said.blocked:
            decision = structs.replace(decision, verdict=Verdict.DENY, reason=said.reason)
        elif decision.verdict is not Verdict.DENY and said.asks:
            reason = said.reason if self._core.person else f"{said.reason}; nobody is attached to ask"
            decision = structs.replace(decision, verdict=Verdict.ASK, reason=reason, lifts=())
        return structs.replace(again, decision=decision)

    async def _ask(self, question: QuestionAsked, prepared: list[Prepared]) -> tuple[str, str]:
        """The person's choice, and the words of a refusal; a hook may refuse before the person is asked."""
        calls = [_told(one) for one in prepared]
        said = await self._hooks.run(HookPlace.PERMISSION_REQUEST, question=question.text, calls=calls)
        if said.blocked:
            return NO, f"not run: {said.reason}"
        answer = await self._questions.ask(question)
        return answer.choice, _declined(answer.note)

    async def _permitted(self, prepared: Prepared, own: bool) -> Prepared | None:
        while True:
            now = self._journal.state.axes
            approved_before = prepared.call.id in self._step_approved and not tightens(self._step_axes or now, now)
            verdict, reason = prepared.decision.verdict, prepared.decision.reason
            if not approved_before or verdict is Verdict.DENY:
                self._journal.post(self._decided(prepared))
            if verdict is Verdict.DENY:
                self._refuse(prepared.call, f"not run: {reason}")
                return None
            if verdict is Verdict.ALLOW or approved_before:
                return prepared
            if not self._core.person:
                self._refuse(prepared.call, f"not run: {reason}")
                raise Blocked(f"{prepared.spec.name}: {reason}")
            asked_at = self._journal.state.axes
            text = f"{prepared.spec.name} wants: {_brief(prepared)}"
            why = (f"why asked  {reason}", f"axes       {badge.full(asked_at)}")
            question = self._question(text, [prepared], why)
            choice, refusal = await self._ask(question, [prepared])
            if choice not in (YES, ALWAYS):
                self._refuse(prepared.call, refusal)
                return None
            now = self._journal.state.axes
            if not tightens(asked_at, now) and self._core.toolbox.digest(prepared, asked_at) == question.digest:
                if choice == ALWAYS:
                    self._make_rule(prepared)
                return prepared
            again = self.prepare(prepared.call, own)
            if isinstance(again, ToolResult):
                self._journal.post(finished_call(prepared.call, again))
                return None
            hooked = await self._after_hooks(again, own)
            if hooked is None:
                return None
            prepared = hooked  # the axes were tightened, or the file changed, while the question stood: the yes is void

    def _make_rule(self, prepared: Prepared) -> None:
        """The user said always: this very call proceeds unasked from now on, in this project."""
        rule = Rule(
            id=self._core.ids.new("rule"),
            verdict="allow",
            tool=prepared.spec.name,
            pattern=exactly(subject_of(prepared.arguments, prepared.touch.lines)) or ANY,
            effects=prepared.decision.lifts,
            project=self._core.project,
            created=self._core.clock.now(),
        )
        self._core.rule_book.add(rule)
        self._journal.post(RuleMade(rule=rule))

    def _question(self, text: str, prepared: list[Prepared], detail: tuple[str, ...]) -> QuestionAsked:
        axes = self._journal.state.axes
        return QuestionAsked(
            question=self._core.ids.new("q"),
            kind="approve",
            text=text,
            choices=APPROVAL_OR_RULE if all(p.decision.lifts for p in prepared) else APPROVAL,
            digest=" ".join(self._core.toolbox.digest(p, axes) for p in prepared),
            detail=(
                *detail,
                f"effects    {', '.join(sorted({e for p in prepared for e in p.decision.effects}))}",
                *(line for p in prepared for line in _preview(p)),
            ),
        )

    def _decided(self, prepared: Prepared) -> CallDecided:
        return CallDecided(
            call=prepared.call.id,
            tool=prepared.spec.name,
            arguments=prepared.call.arguments,
            verdict=prepared.decision.verdict,
            reason=prepared.decision.reason,
            effects=prepared.decision.effects,
            grant=prepared.decision.grant,
            axes=self._journal.state.axes,
            person=self._core.person,
            sandbox=self._core.toolbox.sandbox,
            rule=prepared.decision.rule,
        )

    def _refuse(self, call: ToolCall, text: str) -> None:
        self._journal.post(finished_call(call, ToolResult(text, CallStatus.DENIED)))


def finished_call(call: ToolCall, result: ToolResult, seconds: float = 0.0) -> Event:
    return ToolFinished(
        call=call.id,
        tool=call.name,
        status=result.status,
        content=result.content,
        seconds=seconds,
        changed=result.changed,
        summary=result.summary,
    )


def _declined(note: str) -> str:
    return f"not run: the user said no: {note}" if note else "not run: the user said no"


def _told(prepared: Prepared) -> dict[str, Any]:
    return {"tool_name": prepared.spec.name, "tool_input": prepared.arguments}


def _brief(prepared: Prepared) -> str:
    return subject_of(prepared.arguments, prepared.touch.lines) or prepared.call.arguments


def _preview(prepared: Prepared) -> list[str]:
    """What an edit would change, as the first lines of a diff."""
    values = prepared.arguments
    old, new = str(values.get("old_string", "")), str(values.get("new_string", values.get("content", "")))
    lines = [f"- {line}" for line in old.splitlines()] + [f"+ {line}" for line in new.splitlines()]
    more = [f"… {len(lines) - PREVIEW_LINES} more lines"] if len(lines) > PREVIEW_LINES else []
    return lines[:PREVIEW_LINES] + more
