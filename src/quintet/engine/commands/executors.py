"""The slash commands that choose who plans, executes and verifies in this session: native, an AI CLI, an ACP agent.

A choice holds from the next plan, unit or verification on, of a cycle that is under way too. Loaded when one is given.
"""

from __future__ import annotations

import asyncio

from quintet.domain.base.errors import QuintetError, UsageError
from quintet.domain.base.text_table import table
from quintet.domain.base.wording import did_you_mean
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.journal.protocol import ExecutorChosen
from quintet.domain.journal.state import SessionState
from quintet.domain.tasks.executors import ACP, Availability
from quintet.domain.tasks.roles import NATIVE, ROLE_NAMES, CycleRoles, ExecutorRole, roles_in_use
from quintet.engine.session.command_context import CommandContext, CommandOutcome
from quintet.engine.session.core import Core

AUTO = "auto"
HERE = "▸"
_ROLES = {name: role for role, name in ROLE_NAMES.items()}


def in_use(core: Core, state: SessionState) -> CycleRoles:
    """Who plans, executes and verifies now: as the cycle that can go on has it, else as the next one would."""
    cycle = state.live_cycle
    return cycle.roles if cycle else roles_in_use(state.executors, core.settings.cycle)


async def choose(context: CommandContext, line: CommandLine) -> CommandOutcome:
    """`/planner`, `/executor` and `/verifier`, by the name of the line."""
    if not line.words:
        return await _listed(context, line.name)
    name = " ".join(line.words)  # the command line of an agent may have several
    if len(line.words) > 1 and not name.startswith(ACP):
        raise UsageError(f"/{line.name} takes one name, or {AUTO} for the one in your settings")
    if name not in (AUTO, NATIVE):
        await _check(context, name)
    return _chosen(context, _ROLES[line.name], "" if name == AUTO else name)


def _chosen(context: CommandContext, role: ExecutorRole, name: str) -> CommandOutcome:
    core, state = context.core, context.state
    word = ROLE_NAMES[role]
    before = {each: getattr(state.executors, each) for each in CycleRoles.__struct_fields__}
    roles = roles_in_use(CycleRoles(**{**before, word: name}), core.settings.cycle)
    event = ExecutorChosen(
        role=role, name=name, planner=roles.planner, executor=roles.executor, verifier=roles.verifier
    )
    used = getattr(roles, word)
    said = f"{word} {used}" if name else f"{word} from your settings: {used}"
    if role is ExecutorRole.PLAN and roles.verifier != in_use(core, state).verifier:
        said += f"; verifier {roles.verifier}"
    return CommandOutcome(said, [event], data={word: used})


async def _check(context: CommandContext, name: str) -> None:
    """Raises where there is no such executor, or it cannot be started here."""
    if problem := (await context.core.cycle.executors().look(name)).problem:
        own = did_you_mean(name, (NATIVE, AUTO))  # which the AI CLIs know nothing of
        raise UsageError(f"{problem}{own}")


async def _listed(context: CommandContext, word: str) -> CommandOutcome:
    used = getattr(in_use(context.core, context.state), word)
    found = [Availability(NATIVE), *await _found(context, used)]
    rows = [
        (HERE if one.name == used else " ", one.name, one.version or "-", one.problem or one.path or "Quintet itself")
        for one in found
    ]
    chosen = "chosen for this session" if getattr(context.state.executors, word) else "from your settings"
    lines = [f"{word} {used}, {chosen}", *table(rows), f"/{word} NAME chooses one; acp:COMMAND starts an ACP agent"]
    installed = [one.name for one in found if not one.problem]
    return CommandOutcome("\n".join(lines), data={word: used, "installed": installed})


async def _found(context: CommandContext, used: str) -> list[Availability]:
    """Every executor that is known, and the one in use; none where AI CLIs are not there."""
    try:
        executors = context.core.cycle.executors()
    except QuintetError:
        return []
    others = [used] if used not in (NATIVE, *executors.names()) else []
    return list(await asyncio.gather(*(executors.look(name) for name in (*executors.names(), *others))))
