"""Verifies a task whose unit is done: by its own command, through the gate, and by the verifier. Both have to say yes.

What is only said is not taken: `domain/verdicts` wants something that shows it. The offline rules judge nothing beyond
that, and say what they did not check; a unit of their own is done only with its evidence.
"""

from __future__ import annotations

from msgspec import UNSET, Struct, json

from quintet.domain.journal.cycle_state import CycleUnit
from quintet.domain.journal.protocol import TaskVerified
from quintet.domain.journal.reasons import feedback_in
from quintet.domain.tasks.brief import brief
from quintet.domain.tasks.cycle import Stop
from quintet.domain.tasks.page import request_of
from quintet.domain.tasks.roles import NATIVE, ExecutorRole
from quintet.domain.tasks.task import Task
from quintet.domain.tasks.verdicts import DoneEvidence, VerifyOutcome, files_named, unchecked, verdict
from quintet.domain.turn import delivery
from quintet.domain.turn.delivery import DeliveryState
from quintet.domain.turn.messages import ToolCall
from quintet.domain.turn.reasoning import without
from quintet.domain.turn.reports import Order
from quintet.domain.turn.skipped import held_up
from quintet.domain.turn.stage_policy import Stage
from quintet.domain.turn.tool_spec import CallStatus
from quintet.engine.cycle.context import CycleContext, rest_after
from quintet.engine.cycle.executor import ExecutorStart
from quintet.engine.turn.gatekeeper import Blocked
from quintet.engine.turn.turn import Turn
from quintet.engine.turn.turn_runner import StepResult, TurnWork

VERIFY_PAGE = "cycle/verify.md"
MOST_STEPS = 12  # of a model that looks
EVIDENCE_LINES = 30
BY_USER = "the user"
MOST_UNCLEAR = 300  # characters of what is no verdict


class Verification(Struct, frozen=True):
    outcome: VerifyOutcome
    by: str
    command: str = ""
    evidence: str = ""
    findings: str = ""
    unchecked: str = ""  # what nobody looked at


class VerifierReply(Struct, frozen=True):
    """What a verifier came to; without a judgement there is none."""

    done: bool | None = None
    findings: str = ""
    looked: bool = False  # at something itself, before it said so
    unclear: str = ""  # what it said instead of a verdict


class VerifyStep:
    def __init__(self, context: CycleContext) -> None:
        self._context = context

    async def verify(self, task: Task) -> Verification | Stop:
        """The verdict; or why there is none yet."""
        context, cycle = self._context, self._context.cycle

        async def step(turn: Turn) -> StepResult[Verification]:
            verdict = await self._judged(turn, task)
            return StepResult(verdict.findings or "verified", verdict)

        order = Order("verify", task.id)
        work = TurnWork("", context.state.axes.surface, order=order, run=cycle.run, alone=False)
        result = await context.turns.run_step(work, step)
        return rest_after(result) if result.value is None else result.value

    async def _judged(self, turn: Turn, task: Task) -> Verification:
        cycle, staged = self._context.cycle, self._context.staged
        by, line = cycle.roles.verifier, task.text.verification
        changed = cycle.unit.changed if cycle.unit.changed_by == task.id else ()
        evidence = ""
        if line and self._may_run(task):
            passed, evidence = await self._ran(turn, line)
            if passed is None:
                return Verification(VerifyOutcome.FAILED, BY_USER, findings=f"Instead of `{line}`: {evidence}")
            if not passed:
                return Verification(
                    VerifyOutcome.FAILED, f"`{line}`", line, evidence, f"`{line}` failed:\n\n{evidence}"
                )
        else:
            line = ""
        judged = VerifierReply()
        if by != NATIVE:
            judged = await self._by_cli(turn, task, evidence, by)
        elif staged:
            judged = await self._by_model(turn, task, evidence)
            if not judged.done and turn.skipped:  # of what was not looked at nothing is known
                raise Blocked(held_up(turn.skipped))
        unit = cycle.unit if cycle.unit.begun == task.id else CycleUnit()
        native = unit.done_by == NATIVE
        shown = DoneEvidence(
            command=bool(line),
            changed=changed,
            looked=judged.looked,
            native=native,
            by_rules=native and by == NATIVE and not staged,
            missing=self._missing(task) if judged.done is None else (),
            unclear=judged.unclear,
        )
        outcome, why = verdict(judged.done, task.text, shown)
        if outcome is VerifyOutcome.NOT_VERIFIED and unit.said and not native:
            why += f"; {unit.done_by} said: {_in_one_line(unit.said)}"
        left = unchecked(judged.done, shown) if outcome is VerifyOutcome.VERIFIED else ""
        return Verification(outcome, by, line, evidence, why or judged.findings, left)

    def _missing(self, task: Task) -> tuple[str, ...]:
        """The files that a task names and that are not there."""
        there = self._context.core.turn.toolbox.outside.is_there
        return tuple(name for name in files_named(task.text) if not there(name))

    def _may_run(self, task: Task) -> bool:
        """A page that came with an untrusted folder runs nothing."""
        return self._context.core.agents.trusted or not self._context.tasks.is_found(task.id)

    async def _ran(self, turn: Turn, line: str) -> tuple[bool | None, str]:
        """Whether it passed, and what it printed; None, and what the user wants done first."""
        seconds = self._context.core.settings.cycle.verify_seconds
        arguments = {"command": line, "timeout": seconds, "description": "verify the task"}
        call = ToolCall(self._context.core.ids.new("c"), "bash", json.encode(arguments).decode())
        status = await turn.own_call(call)
        said = self._context.state.calls.last_result
        if status is None and (wanted := feedback_in(said)):
            return None, wanted
        if status is None:
            raise Blocked(held_up(turn.skipped) if turn.skipped else f"`{line}`: {said}")
        return status is CallStatus.OK, "\n".join(said.strip().splitlines()[-EVIDENCE_LINES:])

    async def _by_model(self, turn: Turn, task: Task, evidence: str) -> VerifierReply:
        values = {"user_input": _asked(task), "tool_summary": "", "last_step_outcome": evidence}
        for step in range(MOST_STEPS):
            reply = await turn.look(Stage.VERIFICATION, values)
            if reply is not None:
                return _verdict(reply, looked=step > 0)
        return VerifierReply(unclear=f"it made {MOST_STEPS} requests and gave no verdict", looked=True)

    async def _by_cli(self, turn: Turn, task: Task, evidence: str, name: str) -> VerifierReply:
        context = self._context
        folder = context.core.cycle.plans.folder(context.cycle.run)
        values = {
            "project_root": context.core.project,
            "user_input": _asked(task),
            "last_step_outcome": evidence,
            "tool_summary": context.tasks.summary(),
        }
        start = ExecutorStart(context, name, ExecutorRole.VERIFY, turn, folder)
        answer = (await start.run(context.core.turn.prompts.filled(VERIFY_PAGE, values))).answer
        return _verdict(answer, looked=start.acted > 0)


def task_verified(run: str, task: Task, verdict: Verification) -> TaskVerified:
    """The event of a verdict."""
    return TaskVerified(
        run=run,
        task=task.id,
        title=task.title,
        passed=verdict.outcome is VerifyOutcome.VERIFIED,
        by=verdict.by,
        command=verdict.command,
        evidence=verdict.evidence,
        findings=verdict.findings,
        unverified=verdict.outcome is VerifyOutcome.NOT_VERIFIED,
        unchecked=verdict.unchecked or UNSET,
    )


def _in_one_line(words: str) -> str:
    return " ".join(words.split())


def _asked(task: Task) -> str:
    return brief(task.text, request_of(task.text.body))


def _verdict(reply: str, *, looked: bool) -> VerifierReply:
    state = delivery.claimed(reply)
    rest = without(reply).strip().partition("\n")[2].strip()
    if state is None:
        return VerifierReply(unclear=_in_one_line(without(reply))[:MOST_UNCLEAR] or "nothing", looked=looked)
    if state is DeliveryState.DONE:
        return VerifierReply(True, looked=looked)
    return VerifierReply(False, rest or "it is not done", looked)
