"""The advisory review of a turn: a few steps with reading tools, a report beside the answer.

It runs after the answer and the delivery state are settled and can touch neither. What goes wrong in it is said in the
report and stops nothing.
"""

from __future__ import annotations

from quintet.domain.base.errors import ModelError
from quintet.domain.journal.protocol import QaReported
from quintet.domain.turn.reports import QaReport, read_qa_report
from quintet.domain.turn.stage_policy import Stage
from quintet.engine.session.core import Core
from quintet.engine.session.journal import Journal
from quintet.engine.turn.gatekeeper import Blocked
from quintet.engine.turn.model_request import Asker, LimitReached
from quintet.engine.turn.tool_calls import Calls

MOST_STEPS = 8


async def review(
    core: Core, journal: Journal, asker: Asker, calls: Calls, turn: str, values: dict[str, str]
) -> QaReport:
    try:
        report = await _looked(asker, calls, values)
    except (ModelError, LimitReached, Blocked) as error:
        report = QaReport(f"the review did not finish: {error}")
    path = core.turn.keep_artifact(turn, "qa", report.as_markdown(), report)
    journal.post(QaReported(turn=turn, report=report, path=path))
    return report


async def _looked(asker: Asker, calls: Calls, values: dict[str, str]) -> QaReport:
    for _ in range(MOST_STEPS):
        reply = await asker.ask(Stage.QA_REVIEW, values)
        if not reply.calls:
            return read_qa_report(reply.text)
        await calls.carry_out(reply.calls)
    return QaReport(f"the reviewer read for {MOST_STEPS} steps and came to no report")
