"""Work mode repair: what the doctor finds is the work.

What can be mended by rule is mended first. What is left goes to the model, in a turn that ends when the doctor finds
nothing more (`engine/turn/turn.py`); a request of the user's own stands before it, and ends the turn as any other.
"""

from __future__ import annotations

from functools import partial

from msgspec import structs

from quintet.domain.base.wording import counted
from quintet.domain.journal.protocol import Noticed
from quintet.domain.tasks.health import Finding, named, to_mend
from quintet.domain.turn.reports import Order
from quintet.engine.cycle.doctor import WELL, fix
from quintet.engine.session.core import Core
from quintet.engine.session.journal import Journal
from quintet.engine.turn.gatekeeper import Blocked
from quintet.engine.turn.turn import Turn
from quintet.engine.turn.turn_runner import StepResult, Turns, TurnWork


async def repair(core: Core, journal: Journal, turns: Turns, work: TurnWork) -> None:
    """One turn: begun by `/repair`, or by an input in that work mode."""
    left = await mended(core, journal)
    staged = core.turn.models.staged(journal.state.dials)
    if work.text or (left and staged):
        text = "\n\n".join(filter(None, (work.text, told(left) if staged else "")))
        still_wrong = None if work.text else partial(mended, core, journal)
        order = Order("repair", "" if work.text else named(left))
        await turns.run(structs.replace(work, text=text, order=order, still_wrong=still_wrong))
        return

    async def step(turn: Turn) -> StepResult[None]:
        if left:
            raise Blocked(f"the offline rules cannot fix more. {told(left)}")
        return StepResult(WELL, None)

    await turns.run_step(work, step)


async def mended(core: Core, journal: Journal) -> list[Finding]:
    """Do what can be done by rule; what is still to be mended after it."""
    found = to_mend(await core.cycle.look().examined())
    if not any(finding.fixable for finding in found):
        return found
    for line in await fix(core.cycle.look(), core.cycle.tasks(), core.store):
        journal.post(Noticed(level="info", code="MENDED", text=f"fixed    {line}"))
    return to_mend(await core.cycle.look().examined())


def told(findings: list[Finding]) -> str:
    """The findings as a turn is told of them; empty if there are none."""
    if not findings:
        return ""
    lines = [f"- {one.code} ({one.severity}, {one.scope}): {one.told}" for one in findings]
    return "\n".join([f"The doctor finds {counted(len(findings), 'problem')}:", *lines])
