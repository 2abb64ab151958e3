"""Questions about a project that need no Session: plain functions over what is stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from quintet.domain.base.safe_text import on_one_line
from quintet.domain.base.wording import counted
from quintet.domain.dials import badge
from quintet.domain.journal.session_summary import AT_WORK, SessionStatus, SessionSummary
from quintet.domain.journal.store_rows import SessionRow
from quintet.domain.permission.effects import PARTIAL_LEAVES, Sandbox
from quintet.domain.settings.settings import Settings
from quintet.domain.tasks.board import by_status
from quintet.domain.tasks.cycle_phases import WORDS as PHASE_WORDS
from quintet.domain.tasks.cycle_phases import CyclePhase
from quintet.domain.tasks.health import Finding, by_severity
from quintet.domain.tasks.limits import LimitUse, limit_uses, limit_words
from quintet.domain.tasks.order import next_task
from quintet.domain.tasks.task import Task

_decode_summary = msgspec.json.Decoder(SessionSummary).decode


def summary_of(row: SessionRow) -> SessionSummary:
    return _decode_summary(row.summary)


def status_of(summary: SessionSummary, live: bool) -> SessionStatus:
    """A session's status; one that was at work and whose process is gone was interrupted."""
    return SessionStatus.INTERRUPTED if summary.status in AT_WORK and not live else summary.status


def foremost(rows: Sequence[SessionRow], owner_lives: Callable[[SessionRow], bool]) -> SessionRow | None:
    """The session that a look at the project is about, of some that come newest first.

    One that a process owns, and of those one at work; else one that waits for an answer; else as `latest` says.
    """

    def rank(row: SessionRow) -> int:
        summary = summary_of(row)
        if owner_lives(row):
            return 0 if summary.status in AT_WORK else 1
        return 2 if summary.waiting else 3 if summary.used else 4

    return min(rows, key=rank, default=None)


def latest(rows: Sequence[SessionRow]) -> SessionRow | None:
    """The newest of some sessions that come newest first; one that was only looked into hides none that was used."""
    return next((row for row in rows if summary_of(row).used), rows[0] if rows else None)


def status(
    summary: SessionSummary,
    *,
    session: str | None,
    live: bool,
    project: str,
    name: str,
    settings: Settings,
    trusted: bool,
    sandbox: str,
    loopback_open: bool,
    tasks: Sequence[Task],
    findings: Sequence[Finding],
) -> dict[str, Any]:
    """What `quintet status` and `/status` say of a session and its project."""
    state = status_of(summary, live) if session else summary.status
    routing, cycle = settings.routing, summary.cycle
    following = next_task(tasks)
    return {
        "project": project,
        "name": name,
        "session": session,
        "status": state,
        "live": live,
        "axes": msgspec.to_builtins(summary.axes),
        "badge": badge.full(summary.axes, paused=summary.paused),
        "model": {
            "in_use": routing.model(summary.axes.model_mode, summary.model),
            "fast": routing.model("fast"),
            "smart": routing.smart,
            "deep": routing.model("deep"),
        },
        "sandbox": sandbox,
        "loopback": "open" if loopback_open else "closed",
        "trust": trusted,
        "trust_changes": [],
        "agent": summary.agent or None,
        "run": {
            "turns": summary.turns,
            "steps": summary.steps,
            "paused": summary.paused,
            "active": msgspec.to_builtins(summary.run),
        },
        "cycle": msgspec.to_builtins(cycle),
        "roles": {
            "planner": cycle.planner if cycle else settings.cycle.planner,
            "executor": cycle.executor if cycle else settings.cycle.executor,
            "verifier": cycle.verifier if cycle else settings.cycle.verifier or settings.cycle.planner,
        },
        "tasks": {
            "counts": by_status(tasks),
            "next": {"id": following.id, "title": following.title} if following else None,
        },
        "pending": [msgspec.to_builtins(transition) for transition in summary.pending],
        "limits": {
            **msgspec.to_builtins(settings.limits),
            "used": {use.name: msgspec.to_builtins(use) for use in limit_uses(summary, settings)},
        },
        "health": by_severity(findings),
        "checkpoint": {"enabled": settings.checkpoints.enabled, "last": summary.checkpoint or None},
        "cost": summary.cost,
        "usage": msgspec.to_builtins(summary.usage),
        "waiting": list(summary.waiting),
        "skipped": summary.skipped,
    }


def _trust_words(answer: dict[str, Any]) -> str:
    changed = len(answer["trust_changes"])
    return f"yes, but for {changed} new or changed" if changed else "yes" if answer["trust"] else "no"


def status_lines(answer: dict[str, Any]) -> list[str]:
    limits, model, usage = answer["limits"], answer["model"], answer["usage"]
    budget = f" of {limits['max_cost']:g}" if limits["max_cost"] else ""
    session = f"{answer['session']}  {answer['status']}" if answer["session"] else "none yet"
    session += " (live)" if answer["live"] else ""
    rows = [
        ("session", f"{session}  turns {answer['run']['turns']}"),
        (
            "model",
            f"{_model_words(model['in_use'])}   fast {model['fast']} · smart {model['smart']} · deep {model['deep']}",
        ),
        ("roles", " · ".join(f"{role} {who}" for role, who in answer["roles"].items())),
        ("cost", f"{answer['cost']:.4f}{budget}   {usage['input_tokens']} tokens in, {usage['output_tokens']} out"),
        ("limits", limit_words([msgspec.convert(use, LimitUse) for use in limits["used"].values()])),
        ("tasks", _task_words(answer["tasks"])),
        ("health", _health_words(answer["health"])),
        ("sandbox", f"{sandbox_words(answer['sandbox'])}   trust {_trust_words(answer)}"),
        ("network", network_words(answer["loopback"] == "open")),
        ("waiting", "; ".join(answer["waiting"]) or "nothing"),
    ]
    if answer["skipped"]:
        many = counted(answer["skipped"], "call")
        rows.append(("skipped", f"{many} that nobody could approve; quintet sessions show {answer['session']}"))
    if answer["agent"]:
        run = answer["run"]["active"]
        following = f"   run {run['run_id']}, {run['workflow_ref']}, {run['phase']}" if run else ""
        rows.append(("agent", f"{answer['agent']}{following}"))
    if cycle := answer["cycle"]:
        rows.append(("cycle", cycle_line(cycle)))
    rows += [("pending", f"{', '.join(t['change'].values())}  {t['scope']}") for t in answer["pending"]]
    head = f"{on_one_line(answer['name'])}  {on_one_line(answer['project'])}   {answer['badge']}"
    return [head, *(f"{name:<10}{value}" for name, value in rows)]


def _task_words(tasks: dict[str, Any]) -> str:
    counts = " · ".join(f"{number} {status}" for status, number in tasks["counts"].items())
    following = tasks["next"]
    return (counts or "none") + (f"   next {following['id']} {following['title']}" if following else "")


def _health_words(health: dict[str, int]) -> str:
    found = [
        counted(number, severity) if severity != "info" else f"{number} to know"
        for severity, number in health.items()
        if number
    ]
    return f"{', '.join(found)} · quintet doctor" if found else "nothing found at a glance · quintet doctor"


def sandbox_words(kind: str) -> str:
    """Which one, and what it leaves open to a command that was approved."""
    return f"{kind} ({PARTIAL_LEAVES})" if kind == Sandbox.PARTIAL else kind


def network_words(loopback_open: bool) -> str:
    """What a command that may use the network reaches here."""
    state = "open" if loopback_open else "closed"
    return f"this machine's own ports (localhost) are {state} to commands with a network"


def cycle_line(cycle: dict[str, Any]) -> str:
    """Where a cycle stands, in a line."""
    unit = f"unit {cycle['current']}/{cycle['total']} {cycle['title']}" if cycle["task"] else ""
    phase = f", {PHASE_WORDS[CyclePhase(cycle['phase'])]}" if cycle["status"] == "running" else ""
    state = f"{cycle['status']}{phase}, iteration {cycle['iteration']}"
    why = cycle["reason"].partition("\n")[0]
    return "   ".join(part for part in (state, unit, f"units {cycle['units']}", why) if part)


def _model_words(name: str) -> str:
    return "offline rules (builtin)" if name == "builtin" else name
