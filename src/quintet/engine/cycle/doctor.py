"""Fixes what can be fixed by rule, of what a look found, and says each; and the findings as text.

It never touches what only a person can decide.
"""

from __future__ import annotations

from collections.abc import Callable

from quintet.domain.base.text_table import table
from quintet.domain.journal.state import fold
from quintet.domain.permission.effects import Effect
from quintet.domain.ports.ports import Store
from quintet.domain.ports.tasks import Claim
from quintet.domain.tasks.health import Finding, preview
from quintet.domain.tasks.task import TaskStatus, after_failure
from quintet.engine.cycle.doctor_checks import DoctorChecks
from quintet.engine.cycle.task_keeper import MAY_HAVE_PUBLISHED, TaskKeeper

WELL = "nothing is wrong"


async def fix(look: DoctorChecks, keeper: TaskKeeper, store: Store) -> list[str]:
    """Fix what can be fixed; returns what was done."""
    done = []
    for lease in look.stale_leases():
        await store.release(lease)
        done.append(f"released session {lease.session}")
    for claim in keeper.stale_claims():
        task = keeper.find(claim.task)
        await keeper.release(claim)
        if task.status is TaskStatus.RUNNING:
            after, why = after_failure(task), f"process {claim.owner_pid} has ended"
            if may_have_published(store, claim):
                after, why = TaskStatus.BLOCKED, MAY_HAVE_PUBLISHED
            task, _ = await keeper.move(task.id, after, why, owner=claim.owner)
        done.append(f"released task {task.id}, which is {task.status}")
    return done + await keeper.mend(keeper.look().drifts)


async def fix_all(
    look: Callable[[], DoctorChecks], keeper: TaskKeeper, store: Store
) -> tuple[list[str], list[Finding]]:
    """Fix what can be fixed, of tasks and leases first, then of rooms and features; what was done, and what is left."""
    done = await fix(look(), keeper, store)
    left = await look().examined(thorough=True)
    if preview(left):
        done += await look().fixed_in_rooms()
        left = await look().examined(thorough=True)
    return done, left


def may_have_published(store: Store, claim: Claim) -> bool:
    """Whether the unit was cut short in a call that publishes: then it is not begun again unasked."""
    events = [recorded.event for recorded in store.read(claim.owner.partition("/")[0])]
    state = fold(events) if events else None
    if state is None or state.cycle is None or claim.task not in (state.cycle.unit.task, state.cycle.unit.unsure):
        return False
    return bool(state.cycle.unit.unsure) or any(
        Effect.PUBLISH in state.calls.effects.get(call, ()) for call in state.calls.running
    )


def health_lines(findings: list[Finding]) -> list[str]:
    if not findings:
        return [WELL]
    rows = [(f.severity, f.code, f.scope, f.problem) for f in findings]
    heads = table(rows, heading=("SEVERITY", "CODE", "SCOPE", "PROBLEM"))
    fixable = len(preview(findings))
    lines = [heads[0]]
    for head, finding in zip(heads[1:], findings, strict=True):
        lines += [head, f"          {'fix: ' if finding.fixable else ''}{finding.advice}"]
    return [*lines, "", f"`quintet doctor fix` can fix {fixable} of {len(findings)}"] if fixable else lines


def preview_lines(findings: list[Finding]) -> list[str]:
    """What a fix would change: how it is, and what would be done."""
    would = preview(findings)
    if not would:
        return ["nothing can be fixed by rule"]
    rows = [(one.code, one.subject, one.problem, one.advice) for one in would]
    lines = table(rows, heading=("CODE", "SUBJECT", "BEFORE", "WOULD"))
    return [*lines, "", f"`quintet doctor fix` would fix {len(would)} of {len(findings)}; nothing was changed"]
