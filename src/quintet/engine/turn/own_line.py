"""From the user's own line to a call that may start with their rights: their deny rules and hooks can hold it back.

The decision is on record before anything runs, as with every other call.
"""

from __future__ import annotations

from msgspec import structs

from quintet.domain.dials.axes import Surface
from quintet.domain.journal.protocol import CallDecided
from quintet.domain.journal.reasons import not_run
from quintet.domain.permission.gate import Verdict
from quintet.domain.settings.hooks import HookPlace
from quintet.domain.turn.messages import ToolCall
from quintet.domain.turn.tool_spec import CallStatus, ToolResult
from quintet.engine.session.core import Core
from quintet.engine.session.hooks import Hooks
from quintet.engine.session.journal import Journal
from quintet.engine.turn.gatekeeper import finished_call
from quintet.engine.turn.toolbox import Prepared


async def admit(core: Core, journal: Journal, call: ToolCall, surface: Surface) -> Prepared | None:
    """The line, ready to run; its verdict is ASK if a hook wants it asked. None if it may not, which is on record."""
    toolbox, hooks = core.turn.toolbox, Hooks(core, journal)
    prepared = toolbox.own_line(call, surface)
    if isinstance(prepared, ToolResult):
        journal.post(finished_call(call, prepared))
        return None
    decision = prepared.decision
    if decision.verdict is not Verdict.DENY and hooks.at(HookPlace.PRE_TOOL_USE):
        said = await hooks.run(HookPlace.PRE_TOOL_USE, tool_name=prepared.spec.name, tool_input=prepared.arguments)
        if said.blocked:
            decision = structs.replace(decision, verdict=Verdict.DENY, reason=said.reason)
        elif said.asks:
            return structs.replace(prepared, decision=structs.replace(decision, verdict=Verdict.ASK))
    denied = decision.verdict is Verdict.DENY
    journal.post(
        CallDecided(
            call=call.id,
            tool=prepared.spec.name,
            arguments=call.arguments,
            verdict=decision.verdict,
            reason=decision.reason,
            effects=decision.effects,
            grant=decision.grant,
            axes=journal.state.axes,
            person=core.person,
            sandbox=toolbox.sandbox,
            rule=decision.rule,
            access="" if denied else toolbox.access(prepared),
        )
    )
    if denied:
        journal.post(finished_call(call, ToolResult(not_run(decision.reason), CallStatus.DENIED)))
        return None
    return prepared
