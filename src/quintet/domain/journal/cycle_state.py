"""How far a cycle has come: a part of the session's state, folded from its events."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, convert, structs, to_builtins

from quintet.domain.journal import cycle_events as c
from quintet.domain.journal.call_events import CallDecided, FilesChanged, ToolFinished
from quintet.domain.journal.reasons import is_plain_no, names_a_dial, refusal_of
from quintet.domain.journal.run_events import CycleRecord
from quintet.domain.journal.turn_state import skipped_call
from quintet.domain.permission.gate import Verdict
from quintet.domain.tasks.cycle_phases import CyclePhase
from quintet.domain.tasks.roles import CycleRoles
from quintet.domain.turn.messages import Usage

MOST_SAID = 500  # characters of what a unit ended with
MOST_CHANGED = 200  # files of one task that are remembered by name
_AT_UNIT = (CyclePhase.PROCESSING, CyclePhase.EXECUTING, CyclePhase.MOVING_COMPLETED)


class CyclePlans(Struct, frozen=True):
    """The plans of a cycle: how many there were, and the one that waits."""

    planned: int = 0
    added_nothing: bool = False  # the last of them had no tasks
    pending: str = ""  # the milestone of a plan that waits to be accepted
    accepted: bool = False  # by the user, who gave control back with it
    milestones: tuple[str, ...] = ()


class CycleUnit(Struct, frozen=True):
    """The unit that a cycle is at, and what the units of its task left behind."""

    task: str = ""
    title: str = ""
    attempt: int = 0
    current: int = 0
    total: int = 0
    changed: tuple[str, ...] = ()  # by the units of the task named below, the first of the files
    changed_by: str = ""
    begun: str = ""  # the task of the newest unit
    done_by: str = ""  # who carries that unit out, or did
    said: str = ""  # what it ended with, in the words of who did it
    reads_only: bool = False  # its task changes nothing
    cost_budget: float = 0.0  # of its task, 0 for none
    cost_spent: float = 0.0  # by the units of its task before
    cost_from: float = 0.0  # what the cycle had spent when it began
    unsure: str = ""  # a task in whose unit something was being published when it was cut short
    refusal: str = ""  # why a call of it was not allowed, where that can be why it is not done


class CycleSpending(Struct, frozen=True):
    """What a cycle has done and used."""

    units: int = 0
    units_since: int = 0  # since control was last given
    steps_since: int = 0
    usage: Usage = Usage()
    cost: float = 0.0
    seconds: float = 0.0


class CycleState(Struct, frozen=True):
    run: str
    text: str = ""
    submission: str = ""  # what the end of the current stretch answers
    plans: bool = True  # without: it does the tasks that are there
    at_work: bool = False  # false: control is with the person
    phase: CyclePhase = CyclePhase.IDLE
    iteration: int = 0
    status: str = ""  # how it stopped last
    reason: str = ""
    roles: CycleRoles = CycleRoles()
    plan: CyclePlans = CyclePlans()
    unit: CycleUnit = CycleUnit()
    spent: CycleSpending = CycleSpending()

    @property
    def executing(self) -> bool:
        """Whether a unit is under way."""
        return self.at_work and self.phase is CyclePhase.EXECUTING

    def over_budget(self, more: float = 0.0) -> str:
        """The budget of the task that a unit is at, in words, once that and `more` have spent it; empty if not."""
        unit = self.unit
        spent = unit.cost_spent + self.spent.cost - unit.cost_from + more
        if not (self.executing and unit.cost_budget) or spent < unit.cost_budget:
            return ""
        return budget_spent(unit.begun, unit.cost_budget, spent)

    @property
    def scope(self) -> tuple[str, ...] | None:
        """The milestones whose tasks are its own; none: those of the whole project."""
        return self.plan.milestones if self.plans else None


_PARTS: dict[str, type[Struct]] = {"roles": CycleRoles, "plan": CyclePlans, "unit": CycleUnit, "spent": CycleSpending}


_LATER = {field.name for field in structs.fields(CycleRecord) if field.default is UNSET}  # left out while empty


def budget_spent(task: str, budget: float, spent: float) -> str:
    return f"task {task}: cost_budget = {budget:g}, spent {spent:.4f}; raise it in the task's page to continue"


def recorded(cycle: CycleState) -> CycleRecord:
    """A cycle as an event keeps it."""
    plain = to_builtins(cycle)
    for part in _PARTS:
        plain |= plain.pop(part)
    return convert({name: value for name, value in plain.items() if value or name not in _LATER}, CycleRecord)


def from_record(record: CycleRecord) -> CycleState:
    plain = to_builtins(record)
    return convert(plain | dict.fromkeys(_PARTS, plain), CycleState)  # each takes the fields that are its own


def began(event: c.CycleBegan) -> CycleState:
    return CycleState(
        run=event.run,
        text=event.text,
        submission=event.submission,
        plans=event.plans,
        at_work=True,
        roles=CycleRoles(event.planner, event.executor, event.verifier),
        plan=CyclePlans(accepted=not event.plans),
    )


def after(cycle: CycleState, event: Any) -> CycleState:
    """The cycle after one of its own events."""
    plan, unit, spent = cycle.plan, cycle.unit, cycle.spent
    match event:
        case c.CycleResumed():
            return structs.replace(
                cycle,
                submission=event.submission,
                at_work=True,
                status="",
                reason="",
                plan=structs.replace(plan, accepted=bool(plan.pending)),
                unit=structs.replace(unit, unsure=""),
                spent=structs.replace(spent, units_since=0, steps_since=0),
            )
        case c.CycleMoved():
            return _moved(cycle, event)
        case c.PlanMade(milestone=milestone) if milestone == plan.pending:  # the user changed the plan that waits
            return cycle
        case c.PlanMade():
            made = bool(event.tasks)
            plan = structs.replace(
                plan,
                planned=plan.planned + 1,
                added_nothing=not made,
                pending=event.milestone if made else "",
                accepted=False,
            )
            return structs.replace(cycle, plan=plan, spent=_step_done(spent))
        case c.PlanAccepted():
            owned = (*plan.milestones, event.milestone)
            return structs.replace(cycle, plan=structs.replace(plan, milestones=owned, pending="", accepted=False))
        case c.TaskVerified():
            return structs.replace(cycle, spent=_step_done(spent))
        case c.CycleStopped():
            return structs.replace(
                cycle,
                at_work=False,
                status=event.status,
                reason=event.reason,
                phase=event.phase,
                plan=structs.replace(plan, accepted=False),
                unit=structs.replace(unit, task="", title=""),
                spent=structs.replace(spent, seconds=event.seconds),
            )
    return cycle


def _step_done(spent: CycleSpending) -> CycleSpending:
    return structs.replace(spent, steps_since=spent.steps_since + 1)


def _moved(cycle: CycleState, event: c.CycleMoved) -> CycleState:
    unit = structs.replace(
        cycle.unit,
        task=event.task,
        title=event.title,
        attempt=event.attempt,
        current=event.current or cycle.unit.current,
        total=event.total or cycle.unit.total,
    )
    spent = cycle.spent
    if event.phase is CyclePhase.EXECUTING:
        unit = structs.replace(
            unit,
            begun=event.task,
            done_by=event.by,
            said="",
            reads_only=event.reads_only is True,
            cost_budget=event.cost_budget or 0.0,
            cost_spent=event.cost_spent or 0.0,
            cost_from=spent.cost,
            refusal="",
        )
        spent = _step_done(structs.replace(spent, units=spent.units + 1, units_since=spent.units_since + 1))
    return structs.replace(cycle, phase=event.phase, iteration=event.iteration, unit=unit, spent=spent)


def with_roles(cycle: CycleState, roles: CycleRoles) -> CycleState:
    """The cycle with others in those roles that name one."""
    named = {name: chosen for name in CycleRoles.__struct_fields__ if (chosen := getattr(roles, name))}
    return structs.replace(cycle, roles=structs.replace(cycle.roles, **named)) if named else cycle


def having_said(cycle: CycleState, answer: str) -> CycleState:
    """What the unit that is under way ended with."""
    if not cycle.executing:
        return cycle
    return structs.replace(cycle, unit=structs.replace(cycle.unit, said=answer.strip()[:MOST_SAID]))


def having_spent(cycle: CycleState, usage: Usage, cost: float) -> CycleState:
    spent = structs.replace(cycle.spent, usage=cycle.spent.usage.plus(usage), cost=cycle.spent.cost + cost)
    return structs.replace(cycle, spent=spent)


def left_unsure(cycle: CycleState) -> CycleState:
    """A call that publishes was cut short: nobody knows whether it did, and its unit is not done again unasked."""
    if not (cycle.at_work and cycle.unit.task):
        return cycle
    return structs.replace(cycle, unit=structs.replace(cycle.unit, unsure=cycle.unit.task))


def having_refused(cycle: CycleState, event: CallDecided) -> CycleState:
    """A call of a unit, or of its verification, was not allowed: for where a dial stands, or wherever it stands.

    What is refused wherever the dials stand is no reason once the unit has changed something: it found another way.
    """
    if not (cycle.at_work and cycle.unit.task) or (event.verdict is not Verdict.DENY and skipped_call(event) is None):
        return cycle
    if cycle.unit.changed_by == cycle.unit.task and cycle.unit.changed and not names_a_dial(event.reason, event.axes):
        return cycle
    return structs.replace(cycle, unit=structs.replace(cycle.unit, refusal=event.reason))


def having_declined(cycle: CycleState, event: ToolFinished) -> CycleState:
    """The user said no to a call of a unit, or of its verification: a unit that is not done then is not tried again."""
    if not (cycle.at_work and cycle.unit.task and is_plain_no(event.content)):
        return cycle
    return structs.replace(cycle, unit=structs.replace(cycle.unit, refusal=refusal_of(event.content)))


def having_changed(cycle: CycleState, event: FilesChanged) -> CycleState:
    """What the units of one task changed; another task's begin anew."""
    unit = cycle.unit
    if not (cycle.at_work and unit.task and cycle.phase in _AT_UNIT):
        return cycle
    known = unit.changed if unit.changed_by == unit.task else ()
    paths = tuple(dict.fromkeys((*known, *event.paths)))[:MOST_CHANGED]
    return structs.replace(cycle, unit=structs.replace(unit, changed=paths, changed_by=unit.task))
