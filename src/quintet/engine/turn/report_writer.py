"""The end of a turn that was begun by /review or /research: its answer becomes a report, checked and kept."""

from __future__ import annotations

from msgspec import structs

from quintet.domain.base.errors import QuintetError
from quintet.domain.journal.protocol import ReportMade
from quintet.domain.turn.reports import Order, Report, read_report
from quintet.engine.session.core import Core
from quintet.engine.session.journal import Journal


async def make_report(core: Core, journal: Journal, turn: str, order: Order, answer: str) -> str:
    """Keep the report of the turn; returns it as the user is shown it."""
    report = await _checked(core, read_report(order, answer), order.revision)
    text = report.as_markdown()
    path = core.turn.keep_artifact(turn, order.kind, text, report)
    journal.post(
        ReportMade(
            turn=turn,
            kind=order.kind,
            subject=order.subject,
            path=path,
            findings=report.counts(),
            unresolved=report.unresolved(),
        )
    )
    return text.rstrip("\n")


async def _checked(core: Core, report: Report, revision: str) -> Report:
    try:
        return report.checked(await core.turn.repository.line_counts(report.files(), revision))
    except (QuintetError, OSError) as error:
        return structs.replace(report, flaws=(*report.flaws, f"its places were not checked: {error}"))
