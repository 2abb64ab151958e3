"""What stops a session's work, and how much of it is used: the limits of a turn, of the session and of its cycle."""

from __future__ import annotations

from msgspec import Struct

from quintet.domain.journal.session_summary import SessionSummary
from quintet.domain.settings.settings import Settings
from quintet.domain.tasks.board import CostLine


class LimitUse(Struct, frozen=True):
    name: str  # of the setting
    of: str  # what it limits: turn, session, cycle or task
    most: float  # 0: no limit
    used: float | None = None  # none where that is not known until it stops


def limit_uses(summary: SessionSummary, settings: Settings) -> list[LimitUse]:
    """Every limit on how far a session continues, with what it has used; a limit of 0 is none."""
    limits, cycle, brief = settings.limits, settings.cycle, summary.cycle
    tokens = brief.usage.input_tokens + brief.usage.output_tokens if brief else 0
    return [
        LimitUse("limits.max_turns", "turn", limits.max_turns, summary.steps),
        LimitUse("limits.max_calls", "turn", limits.max_calls, summary.calls),
        LimitUse("limits.max_seconds", "turn", limits.max_seconds),
        LimitUse("limits.max_cost", "session", limits.max_cost, summary.cost),
        LimitUse("cycle.max_iterations", "cycle", cycle.max_iterations, brief.iteration if brief else 0),
        LimitUse("cycle.max_units", "cycle", cycle.max_units, brief.units if brief else 0),
        LimitUse("cycle.max_tokens", "cycle", cycle.max_tokens, tokens),
        LimitUse("cycle.max_cost", "cycle", cycle.max_cost, brief.cost if brief else 0.0),
        LimitUse("cycle.max_seconds", "cycle", cycle.max_seconds, brief.seconds if brief else 0.0),
        LimitUse("cycle.max_retries", "task", cycle.max_retries),
    ]


def costs_of(summary: SessionSummary, settings: Settings) -> tuple[CostLine, ...]:
    """What a session and its cycle have cost, beside what they may."""
    spent = [CostLine("session", summary.cost, settings.limits.max_cost)]
    if summary.cycle:
        spent.append(CostLine("cycle", summary.cycle.cost, settings.cycle.max_cost))
    return tuple(one for one in spent if one.cost or one.most)


def limit_words(uses: list[LimitUse]) -> str:
    """The limits that are set, in a line: turn 3 of 50 requests · session 0.42 of 5."""
    return " · ".join(_words(use) for use in uses if use.most)


_UNITS = {
    "max_turns": "requests",
    "max_calls": "calls",
    "max_seconds": "s",
    "max_cost": "cost",
    "max_iterations": "plans",
    "max_units": "attempts",
    "max_tokens": "tokens",
    "max_retries": "retries",
}


def _words(use: LimitUse) -> str:
    unit = _UNITS[use.name.partition(".")[2]]
    used = "" if use.used is None else f"{use.used:.2f} of " if unit == "cost" else f"{use.used:g} of "
    return f"{use.of} {used}{use.most:g} {unit}"
