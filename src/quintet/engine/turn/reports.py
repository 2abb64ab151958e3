"""The reports that a turn leaves beside its answer.

The answer of a turn begun by /review or /research becomes a report, checked and kept. The advisory review of a turn is
a few steps with reading tools: it runs after the answer and the delivery state are settled and can touch neither, and
what goes wrong in it is said in its report and stops nothing.
"""

from __future__ import annotations

from msgspec import structs

from quintet.domain.base.errors import ModelError, QuintetError
from quintet.domain.journal.protocol import QaReported, ReportMade
from quintet.domain.turn.reports import Order, QaReport, Report, read_qa_report, read_report
from quintet.domain.turn.stage_policy import Stage
from quintet.engine.session.core import Core
from quintet.engine.session.journal import Journal
from quintet.engine.turn.gatekeeper import Blocked
from quintet.engine.turn.model_request import Asker
from quintet.engine.turn.time_limit import LimitReached
from quintet.engine.turn.tool_calls import Calls

MOST_STEPS = 8


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
        return structs.replace(report, flaws=(*report.flaws, f"its locations were not checked: {error}"))


async def review(
    core: Core, journal: Journal, asker: Asker, calls: Calls, turn: str, values: dict[str, str]
) -> QaReport:
    try:
        report = await _look(asker, calls, values)
    except (ModelError, LimitReached, Blocked) as error:
        report = QaReport(f"the review did not finish: {error}")
    path = core.turn.keep_artifact(turn, "qa", report.as_markdown(), report)
    journal.post(QaReported(turn=turn, report=report, path=path))
    return report


async def _look(asker: Asker, calls: Calls, values: dict[str, str]) -> QaReport:
    for _ in range(MOST_STEPS):
        reply = await asker.ask(Stage.QA_REVIEW, values)
        if not reply.calls:
            return read_qa_report(reply.text)
        await calls.carry_out(reply.calls)
    return QaReport(f"the reviewer made {MOST_STEPS} requests and wrote no report")
