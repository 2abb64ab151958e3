"""A run as one HTML page that needs nothing else: rates by arm and by kind, each task, what it took, every trial."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from html import escape as e

from quintet.domain.evals.rates import PassRate, pass_rate
from quintet.domain.evals.results import EvalRun, totals
from quintet.domain.ports.trials import TrialResult, TrialVerdict
from quintet.features.evals.tables import about
from quintet.surfaces.eval_page import ABOUT_BARS, BAR, WIDTH, data_table, framed, rate_bar

CELL, NAMES, LABEL = 26, 190, 160  # pixels of a row or a cell, of the names beside it, and of what is said behind
HEADING = ("Task", "Arm", "Trial", "Verdict", "Reason", "Requests", "Bytes", "Tokens", "Cost", "Seconds", "Workspace")


def page(run: EvalRun) -> str:
    return framed(f"Evals of {run.suite}", _pieces(run))


def _pieces(run: EvalRun) -> Iterator[str]:
    yield f"<p>{e(about(run))}. {ABOUT_BARS}</p>\n"
    for arm in run.arms:
        one = totals(arm, run.results)
        ungraded = f", {one.ungraded} not graded" if one.ungraded else ""
        yield f"<section>\n<h2>{e(arm)}: {e(str(one.rate))}{ungraded}</h2>\n{rate_bar(one.rate)}</section>\n"
    yield "<h2>By kind</h2>\n"
    for kind in dict.fromkeys(task.kind for task in run.tasks):
        names = {task.name for task in run.tasks if task.kind == kind}
        rates = {arm: pass_rate(one for one in run.of(arm) if one.case in names) for arm in run.arms}
        yield f"<h3>{e(kind)}</h3>\n{_rates(rates)}"
    yield "<h2>By task</h2>\n" + _grid(run)
    for what, of in _TAKEN.items():
        yield f"<h2>{e(what)}</h2>\n" + _taken(run, of)
    if run.skipped:
        yield "<h2>Not tried</h2>\n<ul>\n"
        yield from (f"<li>{e(one.task)}, {e(one.arm)}: {e(one.reason)}</li>\n" for one in run.skipped)
        yield "</ul>\n"
    yield "<h2>Trials</h2>\n" + data_table(HEADING, map(_trial, run.results))


def _rates(rates: dict[str, PassRate]) -> str:
    """A row for each, with its bar and its interval."""
    pieces = []
    for row, (arm, rate) in enumerate(rates.items()):
        top, share = row * CELL, rate.passed / rate.graded if rate.graded else 0.0
        middle = top + 4 + BAR / 2
        pieces.append(
            f'<text x="0" y="{top + 17}">{e(arm)}</text>'
            f'<rect class="whole" x="{NAMES}" y="{top + 4}" width="{WIDTH}" height="{BAR}"/>'
            f'<rect class="passed" x="{NAMES}" y="{top + 4}" width="{share * WIDTH:.1f}" height="{BAR}"/>'
            f'<line class="interval" x1="{NAMES + rate.low * WIDTH:.1f}" x2="{NAMES + rate.high * WIDTH:.1f}" '
            f'y1="{middle:.1f}" y2="{middle:.1f}"/>'
            f'<text x="{NAMES + WIDTH + 6}" y="{top + 17}">{e(str(rate))}</text>'
        )
    return _drawn(NAMES + WIDTH + LABEL, CELL * len(rates), pieces, "How many trials passed")


def _drawn(width: int, height: int, pieces: Iterable[str], about: str) -> str:
    return f'<svg width="{width}" height="{height}" role="img" aria-label="{e(about)}">{"".join(pieces)}</svg>\n'


def _grid(run: EvalRun) -> str:
    """A row for each task and a column for each arm: the greener, the more of its trials passed."""
    pieces = []
    for row, task in enumerate(run.tasks):
        pieces.append(f'<text x="0" y="{row * CELL + 17}">{e(task.name)}</text>')
        for column, arm in enumerate(run.arms):
            rate = pass_rate(run.of_task(arm, task.name))
            share = rate.passed / rate.graded if rate.graded else 0.0
            kind = "passed" if rate.graded else "whole"
            at = f'x="{NAMES + column * CELL}" y="{row * CELL + 3}" width="{CELL - 4}" height="{CELL - 4}"'
            pieces.append(
                f'<g><title>{e(task.name)}, {e(arm)}: {e(str(rate))}</title><rect class="missed" {at}/>'
                f'<rect class="{kind}" fill-opacity="{share if rate.graded else 1:.2f}" {at}/></g>'
            )
    named = ", ".join(f"{number}. {e(arm)}" for number, arm in enumerate(run.arms, 1))
    drawn = _drawn(NAMES + CELL * len(run.arms), CELL * len(run.tasks), pieces, "How often each task passed")
    return f"<p>Columns: {named}</p>\n{drawn}"


def _tokens(one: TrialResult) -> float:
    return one.usage.input_tokens + one.usage.output_tokens


_TAKEN: dict[str, Callable[[TrialResult], float]] = {
    "Requests of a trial, on average": lambda one: one.requests,
    "Bytes of the requests of a trial, on average": lambda one: one.sent,
    "Tokens of a trial, on average": _tokens,
    "Cost of a trial, on average": lambda one: one.cost,
    "Seconds of a trial, on average": lambda one: one.seconds,
}


def _taken(run: EvalRun, of: Callable[[TrialResult], float]) -> str:
    means = {arm: sum(map(of, mine)) / len(mine) if (mine := run.of(arm)) else 0.0 for arm in run.arms}
    most = max(means.values(), default=0.0) or 1.0
    rows = [
        f'<text x="0" y="{row * CELL + 17}">{e(arm)}</text>'
        f'<rect class="amount" x="{NAMES}" y="{row * CELL + 4}" height="{BAR}" width="{mean / most * WIDTH:.1f}"/>'
        f'<text x="{NAMES + mean / most * WIDTH + 6:.1f}" y="{row * CELL + 17}">{mean:,.4g}</text>'
        for row, (arm, mean) in enumerate(means.items())
    ]
    return _drawn(NAMES + WIDTH + LABEL, CELL * len(rows), rows, "What a trial took")


def _trial(one: TrialResult) -> Iterator[str]:
    kind = "passed" if one.verdict is TrialVerdict.PASSED else "failed"
    tokens = f"{_tokens(one):,.0f}"
    taken = (str(one.requests), f"{one.sent:,}", tokens, f"{one.cost:.4f}", f"{one.seconds:g}")
    cells = (one.reason, *taken, one.workspace)
    yield f'<td>{e(one.case)}</td><td>{e(one.arm)}</td><td>{one.number}</td><td class="{kind}">{e(one.verdict)}</td>'
    yield from (f"<td>{e(cell)}</td>" for cell in cells)
