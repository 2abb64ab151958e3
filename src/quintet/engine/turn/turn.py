"""One turn: an input, then stages until control returns to the person.

Chat is the act stage alone. An agent's turn warms up (where the user wants to see reasoning), acts until it has an
answer, is asked whether it delivered, and may be reviewed. Every decision is an event. A turn holds no dial: it reads
the axes and lets boundaries pass.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

from msgspec import structs

from quintet.domain.base import json_schema
from quintet.domain.base.errors import ModelError, UsageError
from quintet.domain.base.wording import counted
from quintet.domain.dials.axes import RunControl, Surface
from quintet.domain.journal.describe import compacted, nothing_to_compact
from quintet.domain.journal.protocol import Corrected, DeliveryChecked, ErrorInfo, TurnFinished
from quintet.domain.models.reply import Reply
from quintet.domain.settings.hooks import HookPlace
from quintet.domain.skills.use import not_shown
from quintet.domain.tasks.health import Finding, named
from quintet.domain.tasks.page import pages_in, read_pages
from quintet.domain.turn import delivery, swe_phases
from quintet.domain.turn import stage_policy as policy
from quintet.domain.turn.corrections import OF_REASONING, Correction, wrong
from quintet.domain.turn.delivery import DeliveryState, RanCall, Ruling
from quintet.domain.turn.messages import EndStatus, Finish, ToolCall, Usage
from quintet.domain.turn.reasoning import without
from quintet.domain.turn.skipped import SkippedCall, held_up
from quintet.domain.turn.stage_policy import Stage
from quintet.domain.turn.todos import SHOWN
from quintet.domain.turn.tool_menu import COMPLETE_TOOL, MESSAGE_TOOL
from quintet.domain.turn.tool_spec import CallStatus
from quintet.engine.agents.workflow_run import WorkflowRun
from quintet.engine.checkpoints.keeper import CheckpointKeeper
from quintet.engine.session.core import Core
from quintet.engine.session.hooks import Hooks
from quintet.engine.session.journal import Journal
from quintet.engine.session.questions import Questions
from quintet.engine.turn.gatekeeper import Blocked
from quintet.engine.turn.model_request import Asker, error_info
from quintet.engine.turn.prompts import NO_CALLS
from quintet.engine.turn.recall import recall
from quintet.engine.turn.reports import make_report, review
from quintet.engine.turn.tool_calls import Calls, phase_moved

REFUSED = "not completed; see the answer"
FAILED = "it was tried and failed; see the answer"
IDLE_ROUNDS = 2  # rounds in which the work is sent back and no call is made, before the turn is given up
NO_PROGRESS = f"loop_detected: the work was sent back {IDLE_ROUNDS} times, and the model made no call"
DONE_STEPS_SHOWN = 12  # of what a turn did, in what the model is told of it


class Turn:
    """Runs one turn to its end."""

    def __init__(
        self,
        core: Core,
        journal: Journal,
        questions: Questions,
        keeper: CheckpointKeeper,
        go: asyncio.Event,
        turn: str,
        text: str = "",
        still_wrong: Callable[[], Awaitable[list[Finding]]] | None = None,
    ) -> None:
        self._core = core
        self._journal = journal
        self._go = go  # clear while the run is paused
        self._turn = turn
        self._text = text
        self._still_wrong = still_wrong  # what is left of the findings that the turn is to fix
        self._workflow: WorkflowRun | None = None  # the one that its run follows
        self._asker = Asker(core, journal, turn)
        self._calls = Calls(core, journal, questions, keeper, turn)
        self._corrected: set[tuple[Correction, bool]] = set()  # of the warm-up, and of what comes after it
        self._warming_up = False
        self._outcome = ""  # of the last step, as prompts tell it
        self._rounds: list[int] = []  # how many calls had run when the work was sent back
        self._health = ""  # what the doctor found when it looked last
        self._beside = (Usage(), 0.0)  # what AI CLIs spent
        self._waits = False  # for what the user answers to its question
        self.refused = False  # by the model, or tried in vain: its answer says why

    @property
    def id(self) -> str:
        return self._turn

    def go_on_with(self, before: tuple[RanCall, ...]) -> None:
        """Count what an interrupted turn had run, which this one continues."""
        self._calls.before = before

    @property
    def ran(self) -> tuple[RanCall, ...]:
        return tuple(self._calls.ran)

    @property
    def changed(self) -> tuple[str, ...]:
        """The files that its calls changed."""
        return tuple(self._calls.changed)

    @property
    def waits(self) -> bool:
        """Whether it ended with a question to the user."""
        return self._waits

    @property
    def tool_active(self) -> bool:
        return self._calls.active

    def abort_tools(self) -> None:
        for task in self._calls.tasks:
            task.cancel()

    async def run(self) -> TurnFinished:
        """Stages until an answer or an error of the model's; a block, a limit and an interrupt are raised."""
        if move := swe_phases.due(self._journal.state.work.swe, self._core.settings.tools.swe_phases):
            self._journal.post(phase_moved(move))
        self._pass_on_review()
        if place := self._journal.state.step:
            self._workflow = WorkflowRun(self._core, self._journal, place.run)
            if self._asker.staged or not self._workflow.choose(self._text):
                self._workflow.arrive()
        try:
            await recall(self._core, self._journal, self._turn, self._text)
            await self._warm_up()
            while True:
                ending = await self._answer()
                if self._waits:
                    return ending  # nothing is delivered yet, and there is nothing to review
                if ending.status == EndStatus.DONE and not self.refused and (self._still_wrong or self._is_checked()):
                    checked = await (self._check_health() if self._still_wrong else self._check_delivery(ending))
                    if checked is None:
                        continue
                    if checked is DeliveryState.NEEDS_WORK and self._is_autonomous and not self._goes_in_circles():
                        self._correct(Correction.NEEDS_WORK, again=True)
                        continue
                    ending = self._weighed(ending, checked)
                if ending.status != EndStatus.DONE or not await self._held_back(ending):
                    return await self._reviewed(ending)
        except ModelError as error:
            return self.finished(EndStatus.FAILED, reason=error.message, error=error_info(error))

    async def run_own(self, tool: str, arguments: str, rights: Surface | None = None) -> TurnFinished:
        """A person's own call: one, through the gate, no model; with `rights`, a line that they typed at a surface."""
        call = ToolCall(self._core.ids.new("c"), tool, arguments)
        ran = await (self._calls.own_line(call, rights) if rights else self._calls.own(call))
        result = held_up(self.skipped) if self.skipped else self._journal.state.calls.last_result
        return self.finished(EndStatus.DONE, result) if ran else self.finished(EndStatus.BLOCKED, reason=result)

    async def compact(self, keep: str) -> TurnFinished:
        """The conversation made shorter, as the user asked; nothing else."""
        event = await self._asker.compact(keep)
        held = len(self._journal.state.conversation.messages)
        answer = f"compacted {compacted(event)}" if event else nothing_to_compact(held)
        return self.finished(EndStatus.DONE, answer)

    async def own_call(self, call: ToolCall) -> CallStatus | None:
        """A call that no model makes, through the gate; None if it was not run."""
        return self._calls.ran[-1].status if await self._calls.own(call) else None

    async def look(self, stage: Stage, values: dict[str, str]) -> str | None:
        """One request of a stage that only reads; its reply, or None if it wants to read on."""
        reply = await self._asker.ask(stage, values)
        if reply.calls:
            await self._calls.carry_out(reply.calls)
        return None if reply.calls else reply.text

    def finished(
        self, status: EndStatus, answer: str = "", reason: str = "", error: ErrorInfo | None = None
    ) -> TurnFinished:
        usage, cost = self._spent()
        return TurnFinished(
            turn=self._turn,
            status=status,
            answer=answer,
            reason=reason,
            error=error,
            steps=self._asker.steps,
            usage=usage,
            cost=cost,
        )

    def _spent(self) -> tuple[Usage, float]:
        """By the turn's own requests, by those that its calls made, and by AI CLIs."""
        usage, cost = self._beside
        return usage.plus(self._asker.usage).plus(self._calls.usage), cost + self._asker.cost + self._calls.cost

    def spend(self, usage: Usage, cost: float) -> None:
        self._beside = (self._beside[0].plus(usage), self._beside[1] + cost)

    def _pass_on_review(self) -> None:
        """What the review of the turn before found, if the user wants the model to know."""
        state = self._journal.state
        if self._core.settings.runs.qa_feedback and state.work.qa and not state.work.qa_told and self._asker.staged:
            self._outcome = state.work.qa.as_markdown()
            self._correct(Correction.QA_NOTES)
            self._outcome = ""

    # ── acting

    async def _warm_up(self) -> None:
        state = self._journal.state
        if not (state.dials.reasoning and policy.is_agent(state.axes) and self._asker.staged):
            return
        self._warming_up = True
        reply = await self._ask(Stage.WARMUP)
        if (flaw := self._flaw(reply, Stage.WARMUP)) and flaw in OF_REASONING and self._correct(flaw):
            await self._ask(Stage.WARMUP)
        self._warming_up = False

    async def _answer(self) -> TurnFinished:
        """An ending whose answer, if a schema is wanted of it, is JSON of that schema."""
        while True:
            ending = await self._act()
            if self._pushed(ending):
                continue
            if self._flawed_plan(ending):
                continue
            schema = self._core.turn.answer_schema
            if schema is None or ending.status != EndStatus.DONE or self.refused:
                return ending
            wrong_with_it = json_schema.flaw(ending.answer, schema)
            if not wrong_with_it:
                return ending
            self._outcome = f"{wrong_with_it}\n\nThe schema: {json.dumps(schema, ensure_ascii=False)}"
            if not (self._asker.staged and self._correct(Correction.ANSWER_SCHEMA)):
                return self.finished(EndStatus.FAILED, reason=f"the answer does not match its schema: {wrong_with_it}")

    def _flawed_plan(self, ending: TurnFinished) -> bool:
        """Whether the turn was to end with a plan that cannot be taken, and was told so."""
        order = self._journal.state.turns.order
        if not (order and order.kind == "plan" and ending.status == EndStatus.DONE and self._asker.staged):
            return False
        try:
            read_pages(pages_in(ending.answer))
        except UsageError as error:
            self._outcome = error.message
            return self._correct(Correction.PLAN_FLAWED)
        return False

    def _pushed(self, ending: TurnFinished) -> bool:
        """Whether the run goes on to another step that the model cannot say is next: the offline rules."""
        if self._workflow is None or self._asker.staged or ending.status != EndStatus.DONE or self.refused:
            return False
        return self._workflow.push(ending.answer)

    async def _act(self) -> TurnFinished:
        """Steps until the model has an answer, or a call ends the turn."""
        stage = Stage.ACT
        while True:
            await self._go.wait()
            reply = await self._ask(stage)
            if reply.calls:
                await self._calls.carry_out(reply.calls)
                if self.skipped and not self._asker.staged:  # the offline rules know no other way
                    return self._held_up(self.finished(EndStatus.BLOCKED))
                if self._workflow:
                    self._workflow.arrive()
                if ending := self._calls.take_ending():
                    if self._workflow and ending.ends == EndStatus.DONE and self._calls.ran[-1].tool == COMPLETE_TOOL:
                        self._workflow.complete(ending.answer)
                    if ending.ends != EndStatus.DONE and self.skipped:
                        return self._held_up(self.finished(EndStatus.BLOCKED, ending.answer))
                    if ending.ends != EndStatus.DONE:
                        return self._refused(EndStatus(ending.ends), ending.answer)
                    self._waits = self._calls.ran[-1].tool == MESSAGE_TOOL
                    return self.finished(EndStatus.DONE, ending.answer)
                if self._calls.failed_again and self._asker.staged:
                    self._correct(Correction.REPEATED_FAILURE)
                stage = Stage.TOOL_FOLLOWUP
                continue
            if reply.finish is Finish.STOP and (flaw := self._flaw(reply, stage)) and self._correct(flaw):
                continue
            return self._ended_with(reply)

    def _flaw(self, reply: Reply, stage: Stage) -> Correction | None:
        state = self._journal.state
        return wrong(
            reply.text,
            agent=policy.is_agent(state.axes) and self._asker.staged,
            followup=stage is Stage.TOOL_FOLLOWUP,
            reasoning=policy.reasoning_of(state.axes, stage, state.dials.reasoning),
        )

    def _correct(self, kind: Correction, *, again: bool = False) -> bool:
        """Tell the model what was wrong, once a turn for each kind; returns whether it was told."""
        if (kind, self._warming_up) in self._corrected and not again:
            return False
        self._corrected.add((kind, self._warming_up))
        text = self._core.turn.prompts.correction(kind, self._values())
        self._journal.post(Corrected(turn=self._turn, kind=kind, text=text))
        return True

    def _refused(self, status: EndStatus, answer: str) -> TurnFinished:
        self.refused = True
        return self.finished(status, answer, REFUSED)

    def _ended_with(self, reply: Reply) -> TurnFinished:
        answer = without(reply.text)
        if reply.finish is Finish.REFUSED:
            return self._refused(EndStatus.BLOCKED, answer)
        if reply.finish is Finish.FAILED:
            self.refused = True
            self._report(DeliveryState.NEEDS_WORK, FAILED)
            return structs.replace(self.finished(EndStatus.DONE, answer), delivery=DeliveryState.NEEDS_WORK)
        if reply.finish is Finish.LENGTH:
            return self.finished(EndStatus.LIMIT, answer, "the reply reached the model's length limit")
        if not answer:
            return self.finished(EndStatus.FAILED, reason="empty reply from the model (retried once)")
        return self.finished(EndStatus.DONE, answer)

    async def _ask(self, stage: Stage) -> Reply:
        reply = await self._asker.ask(stage, self._values())
        if reply.calls and stage in policy.TOOLLESS:
            # Refused one by one: a call without a result breaks the next request.
            await self._calls.carry_out(reply.calls)
        return reply

    def _values(self) -> dict[str, str]:
        ran = self._calls.ran[-DONE_STEPS_SHOWN:]
        lines = [f"- {call.tool} {call.about}: {call.status}" for call in ran]
        lines += [f"- {call.tool} {call.line}: not run, because nobody could approve it" for call in self.skipped]
        done = "\n".join(lines) or NO_CALLS
        return {"user_input": self._text, "tool_summary": done, "last_step_outcome": self._outcome}

    # ── delivery

    def _is_checked(self) -> bool:
        state = self._journal.state
        axes, checks, order = state.axes, self._core.settings.runs.delivery_check, state.turns.order
        # The end of a workflow says that it is done; a plan is delivered when its pages can be read.
        planned = bool(order and order.kind == "plan")
        if self.skipped:
            return self._asker.staged and not planned and not (state.step and state.step.done)
        return policy.is_agent(axes) and checks and self._asker.staged and not planned and self._workflow is None

    @property
    def skipped(self) -> list[SkippedCall]:
        turn = self._journal.state.turns.open
        return turn.skipped if turn else []

    def _weighed(self, ending: TurnFinished, checked: DeliveryState) -> TurnFinished:
        """The ending with what its delivery check came to."""
        ending = structs.replace(ending, delivery=checked)
        if checked is not DeliveryState.NEEDS_WORK:
            return ending
        if delivery.is_held_up(self._calls.shown, self.skipped):
            return self._held_up(ending)
        return structs.replace(ending, status=EndStatus.LIMIT, reason=NO_PROGRESS) if self._is_autonomous else ending

    def _held_up(self, ending: TurnFinished) -> TurnFinished:
        """The ending of a turn that could not do without a call that nobody could approve."""
        return structs.replace(ending, status=EndStatus.BLOCKED, reason=held_up(self.skipped))

    async def _check_delivery(self, ending: TurnFinished) -> DeliveryState | None:
        """The authoritative state, from what the turn shows, or the model's word where that does not decide.

        None if the work was sent back for want of evidence; empty where there is nothing to deliver.
        """
        state = self._journal.state
        shown = (todo.content for todo in state.work.todos.values() if todo.status in SHOWN)
        unshown = not_shown(state.skills, shown) if state.skills else ""
        judged = delivery.judge(state.axes, self._text, self._calls.shown, ending.answer, self.skipped, unshown)
        if judged.ruling is Ruling.NOT_CHECKED:
            return DeliveryState.UNCHECKED
        if judged.ruling is not Ruling.ASK:
            said, reason = DeliveryState(judged.ruling.upper()), judged.reason
        else:
            said, reason = await self._claimed()
            said_of_it = f"{ending.answer}\n{reason}"
            missing = delivery.lacking(state.axes, self._calls.shown, said_of_it, self.skipped)
            if said is DeliveryState.DONE and missing:
                if (Correction.NO_EVIDENCE, self._warming_up) not in self._corrected:
                    self._report(DeliveryState.NEEDS_WORK, missing)
                    self._correct(Correction.NO_EVIDENCE)
                    self._rounds.append(len(self._calls.ran))
                    return None
                said, reason = DeliveryState.NEEDS_WORK, missing
        self._outcome = reason
        self._report(said, reason)
        return said

    async def _check_health(self) -> DeliveryState:
        """Repair is delivered when the doctor finds nothing more; the same twice, and somebody else has to."""
        assert self._still_wrong
        left = await self._still_wrong()
        if not left:
            self._report(DeliveryState.DONE, "the doctor finds no more problems")
            return DeliveryState.DONE
        self._outcome = "\n".join(f"- {one.code}: {one.told}" for one in left)
        reason = f"the doctor still finds {counted(len(left), 'problem')}:\n{self._outcome}"
        self._report(DeliveryState.NEEDS_WORK, reason)
        known, self._health = self._health, named(left)
        if self._is_autonomous and known == self._health:
            raise Blocked(reason)
        return DeliveryState.NEEDS_WORK

    async def _claimed(self) -> tuple[DeliveryState, str]:
        """What the model says of its own work."""
        reply = await self._ask(Stage.DELIVERY_CHECK)
        said = delivery.claimed(reply.text)
        if said is None and self._correct(Correction.NO_DELIVERY_STATE):
            reply = await self._ask(Stage.DELIVERY_CHECK)
            said = delivery.claimed(reply.text)
        if said is None:
            return DeliveryState.NEEDS_WORK, "the model did not confirm that it finished"
        return said, _after_first_line(without(reply.text))

    def _report(self, state: DeliveryState, reason: str) -> None:
        shown = delivery.evidence(self._calls.shown)
        self._journal.post(DeliveryChecked(turn=self._turn, state=state, reason=reason, evidence=shown))

    @property
    def _is_autonomous(self) -> bool:
        return self._journal.state.axes.run_control is RunControl.AUTONOMOUS

    def _goes_in_circles(self) -> bool:
        """Whether the work was sent back again and again, and nothing was done about it."""
        self._rounds.append(len(self._calls.ran))
        return len(self._rounds) >= IDLE_ROUNDS and len(set(self._rounds[-IDLE_ROUNDS:])) == 1

    async def _held_back(self, ending: TurnFinished) -> bool:
        """Whether a hook sends the turn back; it may, once."""
        said = await Hooks(self._core, self._journal).run(HookPlace.STOP, answer=ending.answer)
        if not (said.blocked and self._asker.staged):
            return False
        self._outcome = said.reason
        return self._correct(Correction.STOP_HOOK)

    # ── review

    async def _reviewed(self, ending: TurnFinished) -> TurnFinished:
        """The ending, its answer as the report that was ordered, if one was.

        A review stands beside it, if the turn changed something and the user wants one.
        """
        axes, runs = self._journal.state.axes, self._core.settings.runs
        changed = bool(delivery.evidence(self._calls.shown))
        wanted = runs.reviews(axes) and self._asker.staged
        if ending.status == EndStatus.DONE and changed and wanted:
            self._outcome = ending.answer
            await review(self._core, self._journal, self._asker, self._calls, self._turn, self._values())
        order = self._journal.state.turns.order
        if ending.status == EndStatus.DONE and order and order.kind in ("review", "research"):
            answer = await make_report(self._core, self._journal, self._turn, order, ending.answer)
            ending = structs.replace(ending, answer=answer)
        usage, cost = self._spent()
        return structs.replace(ending, steps=self._asker.steps, usage=usage, cost=cost)


def _after_first_line(text: str) -> str:
    return text.strip().partition("\n")[2].strip()
