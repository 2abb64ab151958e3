"""Looks, before a unit is dispatched, whether it can be: what is wrong is fixed in work mode repair, or stops the run.

The change to repair is the user's: by their standing rule (`repair.auto_transition = auto`), by their answer (`ask`),
or not at all (`log-only`). It lowers trusted and unrestricted to normal, and is taken back when everything is well.
"""

from __future__ import annotations

from quintet.domain.dials.axes import Axes, AxesChange, PermissionProfile, WorkMode
from quintet.domain.dials.transitions import Activity, Actor, Scope
from quintet.domain.journal.protocol import DialsTurned, Noticed, QuestionAsked
from quintet.domain.permission.answers import APPROVAL, YES
from quintet.domain.tasks.cycle import Stop
from quintet.domain.tasks.health import Finding, Severity
from quintet.domain.tasks.health_gate import DispatchRuling, cause_of, in_the_way, ruling
from quintet.domain.turn.messages import EndStatus
from quintet.engine.cycle.context import CycleContext
from quintet.engine.cycle.doctor import fix
from quintet.engine.session import dials

MOST_SAID = 5


class HealthGate:
    def __init__(self, context: CycleContext) -> None:
        self._context = context
        self._said: set[str] = set()

    async def check(self) -> Stop | None:
        """None if a unit may be dispatched."""
        core = self._context.core
        found = await core.cycle.look().examined()
        wrong = in_the_way(found)
        self._say([one for one in found if one not in wrong and one.severity is not Severity.INFO], "warning")
        policy = core.settings.repair.auto_transition
        match ruling(wrong, policy, person=core.person):
            case DispatchRuling.GO:
                return None
            case DispatchRuling.LOG:
                self._say(wrong, "error")
                return None
            case DispatchRuling.REPAIR:
                return await self._repair(wrong, Actor.RULE)
            case DispatchRuling.ASK:
                return await self._repair(wrong, Actor.USER) if await self._told_to(wrong) else _blocked(wrong)
            case DispatchRuling.STOP if policy == "log-only":
                self._say(wrong, "error")
                return _blocked([finding for finding in wrong if finding.severity is Severity.ERROR])
        return _blocked(wrong)

    async def _told_to(self, wrong: list[Finding]) -> bool:
        core = self._context.core
        question = QuestionAsked(
            question=core.ids.new("q"),
            kind="approve",
            text="A problem was found before the next task: switch to repair and fix it?",
            choices=APPROVAL,
            detail=tuple(f"{finding.code}  {finding.problem}" for finding in wrong[:MOST_SAID]),
        )
        return (await self._context.questions.ask(question)).choice == YES

    async def _repair(self, wrong: list[Finding], actor: Actor) -> Stop | None:
        context, core = self._context, self._context.core
        before = context.state.axes
        self._turn(_lowered(before), f"before a task: {cause_of(wrong[0])}: {wrong[0].problem}", actor)
        for line in await fix(core.cycle.look(), context.tasks, core.store):
            context.journal.post(Noticed(level="info", code="MENDED", text=f"fixed    {line}"))
        left = in_the_way(await core.cycle.look().examined())
        if left:
            return _blocked(left)
        back = AxesChange(work_mode=before.work_mode, permission_profile=before.permission_profile)
        self._turn(back, "no problems left", actor)
        return None

    def _turn(self, change: AxesChange, reason: str, actor: Actor) -> None:
        context = self._context
        event = dials.turn(context.state, dials.new(context.core.ids, change, Scope.NOW, reason, actor), Activity())
        assert isinstance(event, DialsTurned)
        context.journal.post(event)

    def _say(self, findings: list[Finding], level: str) -> None:
        for finding in findings:
            text = f"{finding.code}: {finding.told}"
            if text not in self._said and finding.scope != "session":
                self._said.add(text)
                self._context.journal.post(Noticed(level=level, code=finding.code, text=text))


def _lowered(axes: Axes) -> AxesChange:
    lower = axes.permission_profile.rank > PermissionProfile.NORMAL.rank
    return AxesChange(work_mode=WorkMode.REPAIR, permission_profile=PermissionProfile.NORMAL if lower else None)


def _blocked(wrong: list[Finding]) -> Stop:
    said = "; ".join(f"{finding.code}: {finding.problem}" for finding in wrong[:MOST_SAID])
    return Stop(EndStatus.BLOCKED, f"no task starts: {said}")
