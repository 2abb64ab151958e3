"""Runs: one goal until a terminal phase, over as many inputs as it takes. What they are, how they move, why they fail.

Nothing here knows what a run works on. `failed` is no end: the next input, or /resume, tries again.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from quintet.domain.journal.reasons import EndCause, cause_of
from quintet.domain.turn.messages import EndStatus


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


class RunErrorCode(StrEnum):
    """Why a command or a run failed: the codes of the agent-session contract, each with its meaning.

    A failed command changes nothing; a failed run stays where it was.
    """

    meaning: str

    def __new__(cls, code: str, meaning: str) -> RunErrorCode:
        member = str.__new__(cls, code)
        member._value_, member.meaning = code, meaning
        return member

    PROJECT_ROOT_INVALID = "PROJECT_ROOT_INVALID", "the project's folder does not exist or cannot be read"
    PACKAGE_NOT_FOUND = "PACKAGE_NOT_FOUND", "the agent's folder no longer exists"
    MANIFEST_INVALID = "MANIFEST_INVALID", "the package's bmad.json cannot be read"
    AGENT_NOT_FOUND = "AGENT_NOT_FOUND", "there is no such agent, or a step's agent is not in the package"
    UNKNOWN_WORKFLOW = (
        "UNKNOWN_WORKFLOW",
        "the menu names a workflow that is neither in the package nor a file of it or the project",
    )
    CLASSIC = "NOT_SUPPORTED_CLASSIC_WORKFLOW", "a classic workflow (.yaml, .yml, .xml) in an unknown format"
    UNKNOWN_PROMPT_ID = "UNKNOWN_PROMPT_ID", "the menu names a prompt the agent does not have"
    DATA_LOAD_FAILED = (
        "DATA_LOAD_FAILED",
        "an item's data is missing, too large, or not in the format of its file ending",
    )
    PERMISSION_DENIED = (
        "PERMISSION_DENIED",
        ("a path leads out of the package and the project, or to a secret; or a program is from an untrusted folder"),
    )
    VALIDATION_FAILED = "VALIDATION_FAILED", "a workflow's files are malformed"
    WORKFLOW_REF_REQUIRED = "WORKFLOW_REF_REQUIRED", "a workflow is needed, but none is named"
    WORKFLOW_REF_UNKNOWN = "WORKFLOW_REF_UNKNOWN", "a workflow calls another that is not in its package"
    WORKFLOW_FILE_NOT_FOUND = (
        "WORKFLOW_FILE_NOT_FOUND",
        "the package lists a workflow, but its workflow.md does not exist",
    )
    GRAPH_FILE_NOT_FOUND = "GRAPH_FILE_NOT_FOUND", "the package lists a workflow, but its graph does not exist"
    STATE_INIT_FAILED = "STATE_INIT_FAILED", "the run's folder cannot be created"
    RUNS_INDEX_INVALID = "RUNS_INDEX_INVALID", "the record of earlier runs cannot be read"
    ABORTED = "ENGINE_ABORTED", "the run was interrupted, stopped, or reached a limit on calls, money or time"
    MAX_TURNS = (
        "ENGINE_MAX_TURNS_EXCEEDED",
        "the run reached the limit of model requests in one turn (limits.max_turns)",
    )
    LOOP = "ENGINE_LOOP_DETECTED", "the run repeats itself"
    PRECONDITION = (
        "ENGINE_PRECONDITION_FAILED",
        "the run cannot continue: it has ended, is in use elsewhere, or a step's file is missing",
    )
    LLM_ERROR = "LLM_ERROR", "the model could not answer; the message names its own code"
    TOOL_EXEC_FAILED = "TOOL_EXEC_FAILED", "a call needed approval that nobody could give"
    UNKNOWN = "UNKNOWN", "an unexpected error; see the log"


RUN_ERROR_CODES: frozenset[str] = frozenset(RunErrorCode)
_LIMIT_CODES = {EndCause.LOOP: RunErrorCode.LOOP, EndCause.MAX_TURNS: RunErrorCode.MAX_TURNS}


class ErrorInfo(Struct, frozen=True, gc=False):
    code: str
    message: str
    hint: str = ""


def outcome(status: EndStatus, reason: str, error: ErrorInfo | None, done: bool) -> tuple[RunPhase, ErrorInfo | None]:
    """Where the end of a turn leaves its run, and the error that it tells; `done`: the run's goal is reached."""
    match status:
        case EndStatus.DONE:
            return (RunPhase.COMPLETED if done else RunPhase.WAITING_USER), None
        case EndStatus.BLOCKED:
            return RunPhase.WAITING_USER, ErrorInfo(RunErrorCode.TOOL_EXEC_FAILED, reason or "blocked")
        case EndStatus.LIMIT:
            return RunPhase.FAILED, ErrorInfo(_LIMIT_CODES.get(cause_of(reason), RunErrorCode.ABORTED), reason)
        case EndStatus.INTERRUPTED:
            return RunPhase.WAITING_USER, ErrorInfo(RunErrorCode.ABORTED, reason or "interrupted")
        case EndStatus.CANCELLED:
            return RunPhase.CANCELLED, ErrorInfo(RunErrorCode.ABORTED, reason or "stopped")
    if error is None:
        return RunPhase.FAILED, ErrorInfo(RunErrorCode.UNKNOWN, reason)
    if error.code.startswith("LLM_"):
        return RunPhase.FAILED, ErrorInfo(RunErrorCode.LLM_ERROR, f"{error.code}: {error.message}", error.hint)
    known = error.code if error.code in RUN_ERROR_CODES else RunErrorCode.UNKNOWN
    return RunPhase.FAILED, ErrorInfo(known, error.message, error.hint)
