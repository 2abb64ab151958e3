"""What a person sees of a cycle: each event as lines with a colour role, in columns that stand below each other."""

from __future__ import annotations

from msgspec import UNSET

from quintet.domain.base.text_table import table
from quintet.domain.base.wording import counted
from quintet.domain.journal import cycle_events as c
from quintet.domain.journal.cycle_events import TaskMoved
from quintet.domain.tasks.cycle_phases import CyclePhase
from quintet.domain.tasks.executors import with_name
from quintet.domain.tasks.roles import NATIVE
from quintet.domain.tasks.task import TaskStatus

MOST_FINDINGS = 12  # lines
AFRESH = "         /reset archives the done tasks, to start again"
_STATUS_ROLES = {"done": "success", "failed": "error", "waiting": "accent", "paused": "accent"}

Words = list[tuple[str, str]]


def words(event: object) -> Words:
    """Text and role of each line; nothing for what only matters to the journal."""
    match event:
        case c.CycleBegan():
            used = {event.planner, event.executor, event.verifier}
            who = f"planner {event.planner} · executor {event.executor} · verifier {event.verifier}"
            return [(f"cycle    {who}", "dim")] if used != {NATIVE} else []
        case c.CycleMoved():
            return _moved(event)
        case c.PlanMade():
            return _plan(event)
        case c.PlanAccepted():
            return [(f"accepted {counted(len(event.tasks), 'task')}, by {event.by}", "success")]
        case c.TaskVerified():
            return _verified(event)
        case TaskMoved(before=TaskStatus.RUNNING, after=TaskStatus.RETRYING):
            return [(f"retry    {event.title}, {event.reason}", "warning")]
        case TaskMoved(after=TaskStatus.FAILED):
            return [(f"failed   {event.title}, {event.reason}", "error")]
        case TaskMoved(after=TaskStatus.BLOCKED):
            return [(f"blocked  {event.title}, {event.reason}", "warning")]
        case c.CycleStopped():
            role = _STATUS_ROLES.get(event.status, "warning")
            return [(line, role) for line in stopped(event).split("\n")]
        case c.ExecutorSaid():
            return [(line, "dim" if event.reasoning else "") for line in event.text.splitlines()]
        case c.ExecutorActed():
            return [(f"▸ {event.tool} {event.summary}".rstrip(), "accent" if event.ok else "error")]
        case c.ExecutorEnded():
            return _ended(event)
    return []


def _moved(event: c.CycleMoved) -> Words:
    by = f" · {event.by}" if event.by not in ("", NATIVE) else ""
    match event.phase:
        case CyclePhase.PLANNING:
            again = f" again, iteration {event.iteration}" if event.iteration > 1 else ""
            return [(f"plan     in progress{again}{by}", "dim")] if again or by else []
        case CyclePhase.EXECUTING:
            again = f" · attempt {event.attempt}" if event.attempt > 1 else ""
            place = f"{event.current}/{event.total}" if event.total else event.task
            return [(f"task {place:<3} {event.title}{again}{by}", "info")]
        case CyclePhase.VERIFYING if by:
            return [(f"verify   {event.title}{by}", "dim")]
    return []


def _plan(event: c.PlanMade) -> Words:
    if not event.tasks:
        said: Words = [(line, "") for line in event.words.strip().splitlines()] if event.words is not UNSET else []
        return said or [("plan     nothing to add", "dim")]
    rows = []
    for task in event.tasks:
        after = f"after {', '.join(task.depends_on)}" if task.depends_on else ""
        verified = f"verified by `{task.verification}`" if task.verification else ""
        rows.append((task.id, task.title, " · ".join(filter(None, (after, verified)))))
    head = (f"plan     {counted(len(event.tasks), 'task')}", "info")
    return [head, *((f"         {line}".rstrip(), "") for line in table(rows))]


def _verified(event: c.TaskVerified) -> Words:
    shown = event.evidence.strip().splitlines()[-1:] if event.command else []
    how = " · ".join(filter(None, (f"`{event.command}`" if event.command else "", *shown)))
    if event.unverified:
        return [(f"not verified {event.title}, by {event.by}: {event.findings}", "warning")]
    if event.passed:
        left = [(f"         not checked: {event.unchecked}", "dim")] if event.unchecked else []
        return [(f"verified {event.title}{f' · {how}' if how else ''}", "success"), *left]
    lines = [line for line in event.findings.splitlines() if line.strip()]
    more = [(f"         … {len(lines) - MOST_FINDINGS} more lines", "dim")] if len(lines) > MOST_FINDINGS else []
    said = [(f"         {line}", "warning") for line in lines[:MOST_FINDINGS]]
    return [(f"failed verification: {event.title}, by {event.by}", "warning"), *said, *more]


def stopped(event: c.CycleStopped) -> str:
    """How a stretch of a cycle ended."""
    count = [f"{event.done} of {counted(event.done + event.failed + event.left, 'task')} done"]
    count += [f"{event.failed} failed"] if event.failed else []
    count += [counted(event.units, "attempt")] if event.units else []
    count += [f"{event.cost:.4f}"] if event.cost else []
    counts = " · ".join(count) if event.done + event.failed + event.left else ""
    why, _, more = event.reason.partition("\n")
    head = f"{event.status:<8} {'   '.join(filter(None, (why, counts)))}".rstrip()
    over = AFRESH if event.done and event.phase is CyclePhase.COMPLETED else ""
    return "\n".join(filter(None, (head, more, over)))


def _ended(event: c.ExecutorEnded) -> Words:
    notes: Words = [(f"         {line}", "warning") for note in event.notes for line in note.split("\n")]
    if event.ok or event.retry_in is None:  # how its task or the cycle continues from there says why
        return notes
    said = with_name(event.executor, event.reason).rstrip(".")
    return [*notes, (f"{event.failure or 'failed'}: {said}; retrying in {event.retry_in:g} s", "warning")]
