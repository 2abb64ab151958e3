"""From a model's call to a call that may start: asks the gate, and where the gate asks, the person.

Every decision and every refusal is on record before anything runs. An approval is for one exact call at the axes it
was asked at: tightening them, or a change of the file it is about, voids it, and it is asked again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeGuard

from msgspec import UNSET, structs

from quintet.domain.base.errors import QuintetError
from quintet.domain.base.safe_text import brief
from quintet.domain.base.wording import counted, listed
from quintet.domain.dials import badge
from quintet.domain.dials.axes import Axes, RunControl, Surface, tightens
from quintet.domain.edits.preview import preview, preview_together
from quintet.domain.journal.protocol import (
    CallDecided,
    Choice,
    DialsTurned,
    Event,
    Noticed,
    QuestionAsked,
    RuleMade,
    ToolFinished,
)
from quintet.domain.journal.reasons import declined, not_run
from quintet.domain.journal.turn_state import SHELL_ENDED
from quintet.domain.permission.answers import (
    ALWAYS,
    APPROVAL,
    EDITS,
    LASTING,
    NO,
    TURNING,
    YES,
    AskedCall,
    answers,
    answers_together,
    made_rules,
)
from quintet.domain.permission.effects import PARTIAL_LEAVES, Effect
from quintet.domain.permission.gate import EDITORS, Sandbox, Verdict, deleted, plain_words
from quintet.domain.permission.question import BELOW, BETWEEN, labelled, lost
from quintet.domain.permission.rules import Rule
from quintet.domain.settings.hooks import HookPlace
from quintet.domain.turn import skipped
from quintet.domain.turn.messages import ToolCall
from quintet.domain.turn.stage_policy import CallContext
from quintet.domain.turn.tool_spec import CallStatus, ToolResult
from quintet.engine.session.core import Core
from quintet.engine.session.hooks import Hooks
from quintet.engine.session.journal import Journal
from quintet.engine.session.questions import Questions
from quintet.engine.turn.toolbox import Prepared, deletes_only

BUSY_SHELL = "a background shell is running and could change files at any moment, so deleted files could be lost"
ASKED_COLUMNS = 200  # of a line in the question itself; a longer one is whole at the end of its details


# Keeps what a call deletes, and says why it could not, or nothing: the call, the paths, and what else it writes; None
# if it does nothing else.
Cover = Callable[[str, Sequence[str], Sequence[str] | None], Awaitable[str]]


class Blocked(Exception):
    """The run cannot go on without a person; `str` says why."""


class Gatekeeper:
    def __init__(self, core: Core, journal: Journal, questions: Questions, cover: Cover | None = None) -> None:
        self._core = core
        self._journal = journal
        self._questions = questions
        self._cover = cover
        self._unkept: dict[str, str] = {}  # of a call, why what it deletes could not be kept; empty if it was
        self._hooks = Hooks(core, journal)
        self._step_approved: dict[ToolCall, Prepared] = {}
        self._step_axes: Axes | None = None  # the axes that step was approved at

    async def admit_step(self, calls: list[ToolCall]) -> list[ToolCall]:
        """In manual, one question for the whole step; a no answers all its calls."""
        self._step_approved, again = {}, ""
        while True:
            axes = self._journal.state.axes
            if axes.run_control is not RunControl.MANUAL or not self._core.person:
                return calls
            asking = [p for p in map(self.prepare, calls) if _asks(p)]
            if not asking:
                return calls
            self._journal.post(*(self._decided(p) for p in asking))
            lines = tuple(f"{p.spec.name} {'; '.join(p.touch.lines) or p.call.arguments}" for p in asking)
            text = f"Run this request's calls ({counted(len(asking), 'call')})?"
            question = self._question(text, asking, _again(again), shown=lines)
            choice, refusal = await self._ask(question, asking)
            if choice != YES:
                for call in calls:
                    self._refuse(call, refusal)
                return []
            fresh = [self.prepare(p.call) for p in asking]
            again = self._voided(question, asking, fresh, axes)
            if not again:
                self._step_approved, self._step_axes = {p.call: p for p in asking}, axes
                return calls

    async def admit_edits(self, calls: list[ToolCall]) -> list[ToolCall]:
        """The calls that are left; for several edits that come first and need approval, one question about all."""
        again = ""
        while True:
            axes, edits = self._journal.state.axes, self._edits_to_ask(calls)
            if len(edits) < 2:
                return calls
            if not again:
                self._journal.post(*(self._decided(edit) for edit in edits))
            asked = [self._about(edit) for edit in edits]
            question = self._asking_together(edits, asked, again)
            rule = self._rule()
            choice, refusal = await self._ask(question, edits)
            if choice in TURNING:  # at the axes as they are now, they are decided anew
                again = ""
                continue
            if choice != YES and choice not in LASTING:
                for edit in edits:
                    self._refuse(edit.call, refusal)
                return calls[len(edits) :]
            again = self._voided(question, edits, [self.prepare(edit.call) for edit in edits], axes)
            if not again:
                if choice in LASTING:
                    self._keep(asked[0], choice, rule)
                self._step_approved |= {edit.call: edit for edit in edits}
                self._step_axes = axes
                return calls

    def _edits_to_ask(self, calls: list[ToolCall]) -> list[Prepared]:
        """The edits before any other call that need approval; where hooks see each first, each is asked by itself."""
        if len(calls) < 2 or not self._core.person or self._hooks.at(HookPlace.PRE_TOOL_USE):
            return []
        found: list[Prepared] = []
        for call in calls:
            if call.name not in EDITORS or call in self._step_approved:
                break
            prepared = self.prepare(call)
            if not (_asks(prepared) and self._about(prepared).accepts_edits):
                break
            follows = any(set(before.touch.writes) & set(prepared.touch.writes) for before in found)
            if not follows and self._core.turn.toolbox.unfit(prepared):  # by itself it is refused, and nobody asked
                break
            found.append(prepared)
        return found

    async def admit(self, call: ToolCall, *, own: bool = False) -> Prepared | None:
        """The call, ready to run; None if it may not, and then its result is on record.

        `own` is a person's own call: neither the model's place in the menu nor its SWE phase is theirs.
        """
        again = ""
        self._unkept.clear()
        while True:
            prepared = await self._prepared(call, own)
            if isinstance(prepared, ToolResult):
                self._journal.post(finished_call(call, prepared))
                return None
            hooked = await self._after_hooks(prepared, own)
            if hooked is None:
                return None
            prepared = hooked
            axes = self._journal.state.axes
            approved = self._step_approved.get(call)
            approved_before = approved is not None and not tightens(self._step_axes or axes, axes)
            if approved and _held_tighter(approved, prepared):
                approved_before = False
            verdict, reason = prepared.decision.verdict, prepared.decision.reason
            if not approved_before or verdict is Verdict.DENY:
                self._journal.post(self._decided(prepared))
            if verdict is Verdict.DENY:
                self._refuse(call, not_run(reason))
                return None
            if verdict is Verdict.ALLOW or approved_before:
                return prepared
            if not self._core.person:
                self._skip(call)
                return None
            if unfit := self._core.turn.toolbox.unfit(prepared):
                self._journal.post(finished_call(call, unfit))
                return None
            asked = self._about(prepared)
            rule = self._rule() if prepared.decision.lifts else None
            question = self._asking(prepared, asked, again)
            choice, refusal = await self._ask(question, [prepared])
            if choice in TURNING:  # at the axes as they are now, it is decided anew
                again = ""
                continue
            if choice != YES and choice not in LASTING:
                self._refuse(call, refusal)
                return None
            fresh = self.prepare(call, own)
            again = self._voided(question, [prepared], [fresh], axes)
            if not again and isinstance(fresh, Prepared):
                if choice in LASTING and rule:
                    self._keep(asked, choice, rule)
                return fresh

    async def _prepared(self, call: ToolCall, own: bool) -> Prepared | ToolResult:
        """The call; what it deletes is kept first, so that it is no more than an edit."""
        prepared = self.prepare(call, own)
        if isinstance(prepared, ToolResult) or self._cover is None:
            return prepared
        if not (paths := self._core.turn.toolbox.to_keep(prepared)):
            return prepared
        self._unkept[call.id] = ""
        kept = self.prepare(call, own)
        if isinstance(kept, Prepared) and Effect.DESTROY not in kept.decision.effects:
            others = self._core.turn.toolbox.outside.shells()
            named = None if deletes_only(kept) else kept.touch.writes
            covered = self._cover(call.id, paths, named) if not others else None
            self._unkept[call.id] = await covered if covered else BUSY_SHELL
            return self.prepare(call, own)
        del self._unkept[call.id]
        return prepared

    def prepare(self, call: ToolCall, own: bool = False) -> Prepared | ToolResult:
        context: CallContext = self._journal.state.call_context
        if own:
            context = structs.replace(context, toolset=self._core.turn.toolbox.home(call.name), swe=None)
            if context.axes.surface is not Surface.RPC:  # there, another agent makes them
                context = structs.replace(context, known=None)
        unkept = self._unkept.get(call.id)
        return self._core.turn.toolbox.prepare(call, context, person=self._core.person, unkept=unkept)

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
            reason = said.reason if self._core.person else f"{said.reason}; nobody can approve it in this run"
            decision = structs.replace(decision, verdict=Verdict.ASK, reason=reason, lifts=())
        return structs.replace(again, decision=decision)

    async def _ask(self, question: QuestionAsked, prepared: list[Prepared]) -> tuple[str, str]:
        """The person's choice, and the words of a refusal; a hook may refuse before the person is asked."""
        calls = [_told(one) for one in prepared]
        said = await self._hooks.run(HookPlace.PERMISSION_REQUEST, question=question.text, calls=calls)
        if said.blocked:
            return NO, not_run(said.reason)
        answer = await self._questions.ask(question)
        return answer.choice, declined(answer.note)

    def _voided(
        self, question: QuestionAsked, asked: list[Prepared], fresh: Sequence[Prepared | ToolResult], axes: Axes
    ) -> str:
        """Why a yes to what was asked is none to what would happen now; empty if it holds."""
        if tightens(axes, self._journal.state.axes):
            return "a dial was turned down while the question was open"
        now = [p for p in fresh if isinstance(p, Prepared) and p.decision.verdict is not Verdict.DENY]
        if any(_held_tighter(before, after) for before, after in zip(asked, now, strict=False)):
            return "a dial was turned down while the question was open"
        if [p.decision.grant for p in now] != [p.decision.grant for p in asked]:
            return "what the call may do changed while the question was open"
        if self._digest(now, axes) != question.digest:
            return "the files it would change were changed while the question was open"
        return ""

    def _about(self, prepared: Prepared) -> AskedCall:
        return AskedCall(
            tool=prepared.spec.name,
            subject=prepared.subject,
            decision=prepared.decision,
            axes=self._journal.state.axes,
            sandbox=prepared.terms.sandbox,
            simple=plain_words(prepared.spec, prepared.touch, prepared.terms, prepared.lines),
            line=bool(prepared.touch.lines),
            several=bool(prepared.touch.subjects),
        )

    def _rule(self) -> Rule:
        """What an answer makes its rules of."""
        ids, clock = self._core.ids, self._core.clock
        return Rule(ids.new("rule"), "allow", "", project=self._core.project, created=clock.now())

    def _keep(self, asked: AskedCall, choice: str, base: Rule) -> None:
        session = self._journal.state.session
        for rule in made_rules(asked, choice, base, session, lambda: self._core.ids.new("rule")):
            try:
                if not rule.session:
                    self._core.turn.rule_book.add(rule)
            except QuintetError as error:  # the yes stands, for this once
                text = f"the rule could not be saved, so this question will come again: {error}"
                self._journal.post(Noticed(level="error", code=error.code, text=text))
            else:
                self._journal.post(RuleMade(rule=rule))

    def _asking(self, prepared: Prepared, asked: AskedCall, again: str) -> QuestionAsked:
        """First what, then why; the choices are those that would work."""
        choices = answers(asked, lambda axes: self._core.turn.toolbox.decided_at(prepared, axes))
        if self._journal.state.helper:  # a rule or a dial of its own would be more than its parent has
            choices = APPROVAL
        about = prepared.subject or prepared.call.arguments
        text = f"Run: {_cut(about)}?" if prepared.touch.lines else f"{prepared.spec.name} {_cut(about)}?"
        detail = [
            *_again(again),
            labelled("Reason", prepared.decision.reason),
            *lost(deleted(prepared.spec, prepared.touch, prepared.lines)),
            labelled("Dials", badge.full(asked.axes)),
            *_lasting(choices),
        ]
        shown = about.splitlines() if _cut(about) != about else []
        return self._question(text, [prepared], tuple(detail), choices, shown)

    def _asking_together(self, edits: list[Prepared], asked: list[AskedCall], again: str) -> QuestionAsked:
        by_subject = {one.subject: edit for one, edit in zip(asked, edits, strict=True)}
        toolbox = self._core.turn.toolbox
        choices = answers_together(asked, lambda one, axes: toolbox.decided_at(by_subject[one.subject], axes))
        if self._journal.state.helper:
            choices = APPROVAL
        paths = list(dict.fromkeys(edit.subject for edit in edits))
        text = f"Edit {_cut(listed(paths))} ({counted(len(edits), 'change')})?"
        detail = [
            *_again(again),
            *dict.fromkeys(labelled("Reason", edit.decision.reason) for edit in edits),
            labelled("Dials", badge.full(asked[0].axes)),
            *_lasting(choices),
        ]
        return self._question(text, edits, tuple(detail), choices)

    def _digest(self, prepared: list[Prepared], axes: Axes) -> str:
        return " ".join(self._core.turn.toolbox.digest(p, axes) for p in prepared)

    def _question(
        self,
        text: str,
        prepared: list[Prepared],
        detail: tuple[str, ...],
        choices: tuple[Choice, ...] = APPROVAL,
        shown: Sequence[str] = (),
    ) -> QuestionAsked:
        """What is short and Quintet's own comes first: `shown`, which a model wrote, can be as long as it likes."""
        return QuestionAsked(
            question=self._core.ids.new("q"),
            kind="approve",
            text=text,
            choices=choices,
            digest=self._digest(prepared, self._journal.state.axes),
            detail=(
                *detail,
                labelled("Effects", ", ".join(sorted({e for p in prepared for e in p.decision.effects}))),
                *dict.fromkeys(labelled("Access", self._core.turn.toolbox.access(p)) for p in prepared),
                *_secrets(prepared),
                *self._left_open(prepared),
                BETWEEN,
                *shown,
                *self._previews(prepared),
            ),
        )

    def _left_open(self, prepared: list[Prepared]) -> list[str]:
        """What the sandbox that contains a command would leave open, beside what the command asks for."""
        terms = self._core.turn.toolbox.terms
        grants = [p.decision.grant for p in prepared if p.touch.lines and Effect.OUTSIDE not in p.decision.effects]
        said = []
        if terms.sandbox is not Sandbox.NONE and terms.loopback_open and any(grant.network for grant in grants):
            said.append(labelled("Network", "also this machine's own ports and sockets (sandbox.loopback)"))
        if terms.sandbox is Sandbox.PARTIAL and any(grant.write_roots for grant in grants):
            said.append(labelled("Sandbox", f"partial: {PARTIAL_LEAVES}"))
        return said

    def _previews(self, prepared: list[Prepared]) -> list[str]:
        """What the calls would change; edits of files as what all of them come to."""
        if len(prepared) > 1 and all(p.spec.name in EDITORS and p.touch.writes for p in prepared):
            return preview_together(
                [(p.arguments, p.touch.writes[0]) for p in prepared], self._core.turn.toolbox.content
            )
        return [line for p in prepared for line in self._preview(p)]

    def _preview(self, prepared: Prepared) -> list[str]:
        """What an edit would change, every line of it; what a server's tool would be told."""
        if prepared.touch.lines:
            return []
        path = prepared.touch.writes[0] if prepared.touch.writes else ""
        return preview(prepared.arguments, path, self._core.turn.toolbox.content)

    def _decided(self, prepared: Prepared) -> CallDecided:
        return CallDecided(
            call=prepared.call.id,
            tool=prepared.spec.name,
            arguments=prepared.call.arguments,
            verdict=prepared.decision.verdict,
            reason=prepared.decision.reason,
            effects=prepared.decision.effects,
            grant=prepared.decision.grant,
            axes=prepared.axes or self._journal.state.axes,
            person=self._core.person,
            sandbox=self._core.turn.toolbox.sandbox,
            rule=prepared.decision.rule,
            access="" if prepared.decision.verdict is Verdict.DENY else self._core.turn.toolbox.access(prepared),
        )

    def _skip(self, call: ToolCall) -> None:
        """Tell the model that nobody can approve the call, which is on record as decided."""
        turn = self._journal.state.turns.open
        assert turn
        self._refuse(call, not_run(skipped.told(turn.skipped[-1])))
        if reason := skipped.end_of_run(turn.skipped):
            raise Blocked(reason)

    def _refuse(self, call: ToolCall, text: str) -> None:
        self._journal.post(finished_call(call, ToolResult(text, CallStatus.DENIED)))


class ShellRevoker:
    """Ends background shells that turned dials no longer grant.

    Given every event as it is journalled, it judges the call that started each running shell again, at the new axes.
    What it ends is on record with the reason, and whoever reads that shell next is told.
    """

    def __init__(self, core: Core, journal: Journal) -> None:
        self._core = core
        self._journal = journal
        self._ending: set[asyncio.Task[None]] = set()

    def on_event(self, event: Event) -> None:
        if isinstance(event, DialsTurned):
            toolbox = self._core.turn.toolbox
            rules = self._journal.state.rules
            for shell, reason in toolbox.revoked_shells(
                event.before, event.after, person=self._core.person, rules=rules
            ):
                text = f"background shell {shell.name} was ended ({brief(shell.call.arguments)}): {reason}"
                self._journal.post(Noticed(level="warning", code=SHELL_ENDED, text=text, shell=shell.name))
                task = asyncio.ensure_future(toolbox.end_shell(shell.name, reason))
                self._ending.add(task)
                task.add_done_callback(self._ending.discard)


def finished_call(call: ToolCall, result: ToolResult, seconds: float = 0.0) -> Event:
    return ToolFinished(
        call=call.id,
        tool=call.name,
        status=result.status,
        content=result.content,
        seconds=seconds,
        changed=result.changed,
        summary=result.summary,
        images=result.images or UNSET,
        shell=result.shell or UNSET,
        page=result.page or UNSET,
        skill=result.skill or UNSET,
    )


def _asks(prepared: Prepared | ToolResult) -> TypeGuard[Prepared]:
    return isinstance(prepared, Prepared) and prepared.decision.verdict is Verdict.ASK


def _held_tighter(before: Prepared, after: Prepared) -> bool:
    """Whether a helper's call is held to tighter dials than it was: its parent's were turned."""
    return bool(before.axes and after.axes and tightens(before.axes, after.axes))


def _secrets(prepared: list[Prepared]) -> tuple[str, ...]:
    names = sorted({name for p in prepared for name in p.decision.grant.secrets})
    return (labelled("Secrets", f"{', '.join(names)}, in its environment"),) if names else ()


def _again(why: str) -> tuple[str, ...]:
    return (labelled("Again", why),) if why else ()


def _lasting(choices: Sequence[Choice]) -> tuple[str, ...]:
    """Where and how long the rules hold that the choices make."""
    keys = {choice.key for choice in choices}
    if ALWAYS in keys:
        return (labelled("Always", "in this project, until you run `quintet rules revoke`"),)
    return (labelled("Session", "“accept edits” allows Edit and Write in this project only"),) if EDITS in keys else ()


def _cut(about: str) -> str:
    """The first of a long or many-lined text; the whole is shown further down."""
    first = about.partition("\n")[0]
    if first == about and len(about) <= ASKED_COLUMNS:
        return about
    return f"{first[:ASKED_COLUMNS].rstrip()} … ({len(about)} characters, {BELOW})"


def _told(prepared: Prepared) -> dict[str, Any]:
    return {"tool_name": prepared.spec.name, "tool_input": prepared.arguments}
