"""Runs: one goal until a terminal phase, over as many inputs as it takes. What they are, and how they may move.

Nothing here knows what a run works on. `failed` is no end: the next input, or /resume, tries again.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from quintet.domain.agents import run_errors as failures
from quintet.domain.agents.run_errors import ErrorInfo


class RunPhase(StrEnum):
    IDLE = "idle"
    RUNNING = "running"
    WAITING_USER = "waiting-user"
    PAUSED = "paused"  # put aside; /resume takes it up
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


TERMINAL = frozenset({RunPhase.COMPLETED, RunPhase.CANCELLED})
ASIDE = TERMINAL | {RunPhase.PAUSED}  # a run in one of these is not the active one
MOVES: dict[RunPhase, frozenset[RunPhase]] = {
    RunPhase.IDLE: frozenset({RunPhase.RUNNING, RunPhase.PAUSED, RunPhase.CANCELLED}),
    RunPhase.RUNNING: frozenset(RunPhase) - {RunPhase.IDLE, RunPhase.RUNNING},
    RunPhase.WAITING_USER: frozenset({RunPhase.RUNNING, RunPhase.PAUSED, RunPhase.CANCELLED}),
    RunPhase.PAUSED: frozenset({RunPhase.RUNNING, RunPhase.CANCELLED}),
    RunPhase.FAILED: frozenset({RunPhase.RUNNING, RunPhase.PAUSED, RunPhase.CANCELLED}),
    RunPhase.COMPLETED: frozenset(),
    RunPhase.CANCELLED: frozenset(),
}


class RunMetadata(Struct, frozen=True):
    run_id: str
    project: str
    package: str  # folder of the package it came from; empty for none
    workflow_ref: str
    agent_id: str
    phase: RunPhase
    created_at: str
    updated_at: str


def outcome(status: str, reason: str, error: ErrorInfo | None, done: bool) -> tuple[RunPhase, ErrorInfo | None]:
    """Where the end of a turn leaves its run, and the error that it tells; `done`: the run's goal is reached."""
    match status:
        case "done":
            return (RunPhase.COMPLETED if done else RunPhase.WAITING_USER), None
        case "blocked":
            return RunPhase.WAITING_USER, ErrorInfo(failures.TOOL_EXEC_FAILED, reason or "blocked")
        case "limit":
            code = failures.LOOP if reason.startswith("loop_detected") else failures.ABORTED
            code = failures.MAX_TURNS if reason.startswith("limits.max_turns") else code
            return RunPhase.FAILED, ErrorInfo(code, reason)
        case "interrupted":
            return RunPhase.WAITING_USER, ErrorInfo(failures.ABORTED, reason or "interrupted")
        case "cancelled":
            return RunPhase.CANCELLED, ErrorInfo(failures.ABORTED, reason or "stopped")
    if error is None:
        return RunPhase.FAILED, ErrorInfo(failures.UNKNOWN, reason)
    if error.code.startswith("LLM_"):
        return RunPhase.FAILED, ErrorInfo(failures.LLM_ERROR, f"{error.code}: {error.message}", error.hint)
    known = error.code if error.code in failures.CODES else failures.UNKNOWN
    return RunPhase.FAILED, ErrorInfo(known, error.message, error.hint)
