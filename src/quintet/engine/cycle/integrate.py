"""Integrates the verified work of a unit in a worktree: onto the target, verified again, then the target moves on.

What follows from each outcome is decided in `domain/workers/integration`. A conflict or a failed second verification
sends the task back with what was found, and ends the session: the next attempt begins elsewhere.
"""

from __future__ import annotations

from quintet.domain.base.wording import first_line
from quintet.domain.journal.protocol import Noticed
from quintet.domain.ports.workers import Integration
from quintet.domain.tasks.cycle import Stop
from quintet.domain.tasks.task import Task, TaskStatus
from quintet.domain.tasks.verdicts import VerifyOutcome
from quintet.domain.turn.messages import EndStatus
from quintet.domain.workers.integration import MOST_ROUNDS, AfterRebase, LandKind, Rebased, after_rebase
from quintet.engine.cycle.context import CycleContext, run_to_end
from quintet.engine.cycle.verify import Verification, VerifyStep, task_verified

BY = "integration"


class IntegrateStep:
    def __init__(self, context: CycleContext, verifier: VerifyStep, integration: Integration) -> None:
        self._context = context
        self._verifier = verifier
        self._integration = integration

    async def integrate(self, task: Task, verdict: Verification) -> Stop | None:
        context = self._context
        for _ in range(MOST_ROUNDS):
            rebased = await self._integration.rebase(task.id, task.title)
            match after_rebase(rebased):
                case AfterRebase.SEND_BACK:
                    await run_to_end(context.fail(task, BY, rebased.findings))
                    # Its next attempt begins in a worktree on top of the target, which this session cannot make.
                    return Stop(EndStatus.FAILED, f"task {task.id}: {first_line(rebased.findings)}")
                case AfterRebase.CLOSE:
                    await run_to_end(context.close_unit(task, TaskStatus.DONE, f"verified by {verdict.by}; no changes"))
                    return None
                case AfterRebase.STOP:
                    return Stop(EndStatus.BLOCKED, f"task {task.id}: {rebased.findings}")
                case AfterRebase.VERIFY:
                    again = await self._verified_again(task, rebased)
                    if isinstance(again, Stop):
                        await run_to_end(context.claims.let_go(task.id))
                        return again
                    if again:
                        await run_to_end(context.fail(task, BY, again))
                        return Stop(EndStatus.FAILED, f"task {task.id}: {first_line(again)}")
            landed = await self._integration.land(task.id)
            match landed.kind:
                case LandKind.LANDED:
                    reason = f"verified by {verdict.by}; {landed.said}"
                    await run_to_end(context.close_unit(task, TaskStatus.DONE, reason))
                    return None
                case LandKind.LATER:
                    context.journal.post(Noticed(level="warning", code="INTEGRATED_LATER", text=landed.said))
                    await run_to_end(context.release(task))
                    return Stop(EndStatus.BLOCKED, f"task {task.id}: {landed.said}")
                case LandKind.LOST:
                    return Stop(EndStatus.BLOCKED, f"task {task.id}: {landed.said}")
        await run_to_end(context.fail(task, BY, f"{rebased.target} moved {MOST_ROUNDS} times while it was verified"))
        return None

    async def _verified_again(self, task: Task, rebased: Rebased) -> str | Stop:
        """What the second verification found against it; empty if nothing."""
        context = self._context
        context.journal.post(
            Noticed(
                level="info", code="VERIFIED_AGAIN", text=f"{task.id} is on top of {rebased.target}; verifying again"
            )
        )
        verdict = await self._verifier.verify(task)
        if isinstance(verdict, Stop):
            return verdict
        await context.journal.append(task_verified(context.cycle.run, task, verdict))
        if verdict.outcome is VerifyOutcome.VERIFIED:
            return ""
        return f"on top of {rebased.target} it is not verified any more:\n\n{verdict.findings}"
