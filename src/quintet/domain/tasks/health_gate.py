"""Whether a unit may be dispatched with what the doctor found: which findings stand in the way, why, and what follows.

A finding stands in the way for one of four causes. What happens then is the user's to say (`repair.auto_transition`);
every other finding lets the unit through.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from quintet.domain.tasks.health import Finding, Severity


class RepairCause(StrEnum):
    """Why work goes over to repair, as a transition says it."""

    GATE = "the health gate failed"
    DRIFT = "Quintet's own files changed"
    UNSAFE = "no task can start safely"
    CORRUPT = "the state of tasks is damaged"


class DispatchRuling(StrEnum):
    GO = "go"
    LOG = "log"  # say what is wrong, and go
    ASK = "ask"  # whether to go over to repair
    REPAIR = "repair"
    STOP = "stop"


_DRIFT = frozenset({"RUNTIME_DRIFT"})
_UNSAFE = frozenset({"DISK_FULL", "GIT_UNFINISHED", "GIT_BROKEN", "PROGRAM_MISSING"})
# Warnings that would mislead a unit; other warnings are said and hold nothing up.
_MISLEADING = frozenset({"TASK_CLAIM_STALE", "TASK_WRONG_FOLDER", "TASK_ROW_WITHOUT_FILE", "TASK_EDITED_ID"})
_STATE = ("TASK_", "STORE_")


def cause_of(finding: Finding) -> RepairCause | None:
    """Why no unit may begin with this finding; None if one may."""
    if finding.severity is not Severity.ERROR and finding.code not in _MISLEADING:
        return None
    if finding.code in _DRIFT:
        return RepairCause.DRIFT
    if finding.code in _UNSAFE:
        return RepairCause.UNSAFE
    return RepairCause.CORRUPT if finding.code.startswith(_STATE) else RepairCause.GATE


def in_the_way(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if cause_of(finding)]


def ruling(wrong: Sequence[Finding], policy: str, *, person: bool) -> DispatchRuling:
    """What becomes of a dispatch with these findings in its way."""
    if not wrong:
        return DispatchRuling.GO
    if policy == "log-only":
        errors = any(finding.severity is Severity.ERROR for finding in wrong)
        return DispatchRuling.STOP if errors else DispatchRuling.LOG
    if policy == "ask":
        return DispatchRuling.ASK if person else DispatchRuling.STOP
    return DispatchRuling.REPAIR
