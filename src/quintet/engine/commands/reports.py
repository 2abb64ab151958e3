"""The slash commands that tell of the session, where it stands, what it did and cost, and take the user's rating.

Loaded when one of them is given: most sessions never ask.
"""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import AsyncIterator, Sequence
from functools import partial

from msgspec import to_builtins

from quintet.domain.base.errors import UsageError
from quintet.domain.base.wording import counted
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.journal.protocol import Recorded, TurnRated
from quintet.domain.journal.session_summary import summarise
from quintet.domain.models.model_facts import is_free
from quintet.engine.reports import accounts, activity_log
from quintet.engine.reports.activity_log import LogLine
from quintet.engine.reports.forensics import Examiner, allowance
from quintet.engine.reports.forensics_page import page
from quintet.engine.reports.session_report import Reporter, report_lines
from quintet.engine.session import status as session_status
from quintet.engine.session.command_context import CommandContext, CommandOutcome

LOG_LINES = 20
LOG_CELLS = 110  # of a line of it
RATINGS = ("1", "2", "3", "4", "5")
PIECE = 1000  # event numbers read at once


async def status(context: CommandContext, line: CommandLine) -> CommandOutcome:
    core, state = context.core, context.state
    told = core.commands.under_way is not None  # older recordings hold neither tasks nor health
    terms = core.turn.toolbox.terms
    answer = session_status.status(
        summarise(state),
        session=state.session,
        live=True,
        project=core.project,
        name=posixpath.basename(core.project),
        settings=core.settings,
        trusted=core.agents.trusted if told else False,
        sandbox=core.turn.toolbox.sandbox,
        loopback_open=terms.loopback_open,
        opened=terms.places,
        tasks=core.cycle.tasks().look().tasks if told else (),
        findings=await core.cycle.look().glanced() if told else (),
    )
    return CommandOutcome("\n".join(session_status.status_lines(answer)), data={"status": to_builtins(answer)})


async def cost(context: CommandContext, line: CommandLine) -> CommandOutcome:
    by = accounts.one_of("by", str(line.flags.get("by", "model")), accounts.GROUPINGS)
    free = partial(is_free, context.core.settings)
    found = accounts.costs(accounts.requests([r async for r in _journal(context, accounts.KINDS)]), by, free)
    usage = context.state.spent.usage
    told = (
        f"{context.state.spent.cost:.4f}   {usage.input_tokens} tokens in ({usage.cached_tokens} cached), "
        f"{usage.output_tokens} out, {counted(context.state.turns.count, 'turn')}"
    )
    return CommandOutcome("\n".join([told, *(accounts.cost_lines(found) if found.rows else ())]))


async def logs(context: CommandContext, line: CommandLine) -> CommandOutcome:
    chosen = activity_log.wanted(*(str(line.flags.get(name, "")) for name in ("level", "stage", "kind")))
    session, kinds = context.state.session, accounts.KINDS if chosen.requests_only else activity_log.KINDS
    last = context.core.store.last_seq(session)
    every: list[LogLine] = []
    fit: list[LogLine] = []
    for after in activity_log.pieces(last):
        every = activity_log.log_lines_of([(session, r) async for r in _between(context, after, last, kinds)])
        fit = [one for one in every if chosen(one)][-LOG_LINES:]
        if len(fit) == LOG_LINES:
            break
    lines = activity_log.log_table(fit, chosen, room=LOG_CELLS)
    return CommandOutcome("\n".join(lines) or activity_log.nothing_logged(every, chosen))


async def session_report(context: CommandContext, line: CommandLine) -> CommandOutcome:
    reporter = Reporter(partial(is_free, context.core.settings))
    async for recorded in _journal(context):
        reporter.apply(recorded)
    return CommandOutcome("\n".join(report_lines(reporter.report(), reporter.measured())))


async def forensics(context: CommandContext, line: CommandLine) -> CommandOutcome:
    session, turn = context.state.session, str(line.flags.get("turn", ""))
    if line.words or (turn and not turn.isdecimal()):
        raise UsageError("/forensics [--turn N], for example /forensics --turn 3")
    clip = allowance(0 if turn else context.core.store.count(session))
    examiner = Examiner(clip, int(turn) if turn else None, partial(is_free, context.core.settings))
    async for recorded in _journal(context):
        examiner.apply(recorded)
    found = examiner.findings()
    name = f"forensics-turn-{turn}" if turn else "forensics"
    try:
        path = await context.core.commands.keep_page(session, name, page(found))
    except OSError as error:
        raise UsageError(f"the page cannot be written: {error}") from error
    return CommandOutcome(f"the page is {path}", data={"path": path})


def rate(context: CommandContext, line: CommandLine) -> CommandOutcome:
    if not line.words or line.words[0] not in RATINGS:
        raise UsageError("/rate 1-5 [WORDS], for example /rate 4 found it at once")
    turn = context.state.turns.last
    if not turn:
        raise UsageError("there is nothing to rate yet: no turn has finished")
    note = "\n".join(part for part in (" ".join(line.words[1:]), line.details.strip()) if part)
    rating = int(line.words[0])
    return CommandOutcome(f"the last turn is rated {rating} of 5", [TurnRated(turn=turn, rating=rating, note=note)])


async def _journal(context: CommandContext, kinds: Sequence[str] = ()) -> AsyncIterator[Recorded]:
    """This session's events."""
    async for recorded in _between(context, 0, context.core.store.last_seq(context.state.session), kinds):
        yield recorded


async def _between(context: CommandContext, begin: int, last: int, kinds: Sequence[str]) -> AsyncIterator[Recorded]:
    """Read in pieces, so that a long journal holds up neither the turn nor the inbox."""
    store, session = context.core.store, context.state.session
    for after in range(begin, last, PIECE):
        for recorded in store.read(session, after, min(after + PIECE, last), kinds):
            yield recorded
        await asyncio.sleep(0)


def settings(context: CommandContext, line: CommandLine) -> CommandOutcome:
    return CommandOutcome(context.core.commands.settings_text())
