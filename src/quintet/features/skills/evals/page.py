"""The result of evals as one HTML page that needs nothing else: rates with their intervals, then every trial."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape as e

from quintet.domain.evals.results import ArmTotals
from quintet.domain.ports.trials import TrialResult, TrialVerdict
from quintet.features.skills.evals.run import EvalReport
from quintet.surfaces.eval_page import ABOUT_BARS, data_table, framed, rate_bar

HEADING = ("Case", "Skill", "Trial", "Verdict", "Reason", "Requests", "Tokens", "Cost", "Seconds", "Workspace")


def page(report: EvalReport) -> str:
    return framed(f"Evals of {report.skill}", _pieces(report))


def _pieces(report: EvalReport) -> Iterator[str]:
    yield f"<p>Model: {e(report.model)}. {ABOUT_BARS}</p>\n"
    for arm in report.arms:
        yield _arm(arm)
    if report.skipped:
        yield "<h2>Not tried</h2>\n<ul>\n"
        yield from (f"<li>{e(name)}: {e(why)}</li>\n" for name, why in report.skipped)
        yield "</ul>\n"
    if report.trials:
        yield "<h2>Trials</h2>\n" + data_table(HEADING, map(_trial, report.trials))


def _arm(arm: ArmTotals) -> str:
    cost = f"${arm.cost:.4f}" if arm.cost else "cost unknown"
    ungraded = f", {arm.ungraded} not graded" if arm.ungraded else ""
    return (
        f"<section>\n<h2>{e(arm.arm)} the skill: {e(str(arm.rate))}{ungraded}</h2>\n{rate_bar(arm.rate)}"
        f"<p>{arm.requests} requests, {arm.tokens:,} tokens, {cost}, {arm.seconds:g} s</p>\n</section>\n"
    )


def _trial(one: TrialResult) -> Iterator[str]:
    kind = "passed" if one.verdict is TrialVerdict.PASSED else "failed"
    tokens = one.usage.input_tokens + one.usage.output_tokens
    cells = (one.reason, str(one.requests), f"{tokens:,}", f"{one.cost:.4f}", f"{one.seconds:g}", one.workspace)
    yield f'<td>{e(one.case)}</td><td>{e(one.arm)}</td><td>{one.number}</td><td class="{kind}">{e(one.verdict)}</td>'
    yield from (f"<td>{e(cell)}</td>" for cell in cells)
