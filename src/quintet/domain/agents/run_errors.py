"""Why an agent's command or a run failed: a stable code each, with what it means, and how it is told.

The codes are those of the agent-session contract. A failed command changes nothing; a failed run stays where it was.
"""

from __future__ import annotations

from msgspec import Struct

PROJECT_ROOT_INVALID, PACKAGE_NOT_FOUND, MANIFEST_INVALID = (
    "PROJECT_ROOT_INVALID",
    "PACKAGE_NOT_FOUND",
    "MANIFEST_INVALID",
)
AGENT_NOT_FOUND, UNKNOWN_WORKFLOW, UNKNOWN_PROMPT_ID = "AGENT_NOT_FOUND", "UNKNOWN_WORKFLOW", "UNKNOWN_PROMPT_ID"
CLASSIC, DATA_LOAD_FAILED = "NOT_SUPPORTED_CLASSIC_WORKFLOW", "DATA_LOAD_FAILED"
PERMISSION_DENIED, VALIDATION_FAILED = "PERMISSION_DENIED", "VALIDATION_FAILED"
WORKFLOW_REF_REQUIRED, WORKFLOW_REF_UNKNOWN = "WORKFLOW_REF_REQUIRED", "WORKFLOW_REF_UNKNOWN"
WORKFLOW_FILE_NOT_FOUND, GRAPH_FILE_NOT_FOUND = "WORKFLOW_FILE_NOT_FOUND", "GRAPH_FILE_NOT_FOUND"
STATE_INIT_FAILED, RUNS_INDEX_INVALID = "STATE_INIT_FAILED", "RUNS_INDEX_INVALID"
ABORTED, MAX_TURNS, LOOP = "ENGINE_ABORTED", "ENGINE_MAX_TURNS_EXCEEDED", "ENGINE_LOOP_DETECTED"
PRECONDITION, LLM_ERROR, TOOL_EXEC_FAILED = "ENGINE_PRECONDITION_FAILED", "LLM_ERROR", "TOOL_EXEC_FAILED"
UNKNOWN = "UNKNOWN"

CODES = {
    PROJECT_ROOT_INVALID: "the project's folder is gone or cannot be read",
    PACKAGE_NOT_FOUND: "the folder the agent came from is gone",
    MANIFEST_INVALID: "the package's bmad.json cannot be read",
    AGENT_NOT_FOUND: "there is no such agent, or a step's agent is not in the package",
    UNKNOWN_WORKFLOW: "the menu names a workflow that is neither in the package nor a file of it or the project",
    CLASSIC: "a classic workflow (.yaml, .yml, .xml)",
    UNKNOWN_PROMPT_ID: "the menu names a prompt the agent does not have",
    DATA_LOAD_FAILED: "an item's data is missing, too large, or not what its ending says",
    PERMISSION_DENIED: "a path leads out of package and project, or to a secret; or a program of an untrusted folder",
    VALIDATION_FAILED: "a workflow's files are malformed",
    WORKFLOW_REF_REQUIRED: "a workflow is called for, and none is named",
    WORKFLOW_REF_UNKNOWN: "a workflow calls another that is not in its package",
    WORKFLOW_FILE_NOT_FOUND: "the package lists a workflow whose workflow.md is not there",
    GRAPH_FILE_NOT_FOUND: "the package lists a workflow whose graph is not there",
    STATE_INIT_FAILED: "the run's folder cannot be made",
    RUNS_INDEX_INVALID: "the record of earlier runs cannot be read",
    ABORTED: "the run was interrupted, stopped, or reached a limit on calls, money or time",
    MAX_TURNS: "the run made as many model requests in one turn as limits.max_turns lets it",
    LOOP: "the run goes in circles",
    PRECONDITION: "the run cannot go on as it stands: over, in use elsewhere, or a step's file is missing",
    LLM_ERROR: "the model could not answer; the message names its own code",
    TOOL_EXEC_FAILED: "a call was needed that nobody could allow",
    UNKNOWN: "something unforeseen; the log has its trace",
}


class ErrorInfo(Struct, frozen=True, gc=False):
    code: str
    message: str
    hint: str = ""
