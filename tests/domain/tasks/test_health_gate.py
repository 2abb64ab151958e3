"""Which findings stand in the way of a dispatch, for which cause, and what each policy makes of it."""

import pytest

from quintet.domain.tasks import finding_kinds
from quintet.domain.tasks.health import Finding, FindingKind, Severity, compared, to_fix
from quintet.domain.tasks.health_gate import DispatchRuling, RepairCause, cause_of, in_the_way, ruling

EACH = {
    RepairCause.DRIFT: finding_kinds.RUNTIME_DRIFT,
    RepairCause.UNSAFE: finding_kinds.GIT_UNFINISHED,
    RepairCause.CORRUPT: finding_kinds.TASK_ORDER["cycle"],
    RepairCause.GATE: finding_kinds.PROMPT_REFUSED,
}
MISLEADING = finding_kinds.TASK_CLAIM_STALE


def one(kind: FindingKind) -> Finding:
    return kind.of("x", "something is wrong")


@pytest.mark.parametrize("cause", RepairCause)
@pytest.mark.parametrize(
    ("policy", "person", "wanted"),
    [
        ("auto", True, DispatchRuling.REPAIR),
        ("auto", False, DispatchRuling.REPAIR),
        ("ask", True, DispatchRuling.ASK),
        ("ask", False, DispatchRuling.STOP),
        ("log-only", True, DispatchRuling.STOP),
        ("log-only", False, DispatchRuling.STOP),
    ],
)
def test_s3_3_5_each_cause_under_each_policy(
    cause: RepairCause, policy: str, person: bool, wanted: DispatchRuling
) -> None:
    finding = one(EACH[cause])
    assert cause_of(finding) is cause
    assert ruling(in_the_way([finding]), policy, person=person) is wanted


@pytest.mark.parametrize("policy", ["auto", "ask", "log-only"])
def test_s3_3_5_every_other_finding_lets_a_dispatch_through(policy: str) -> None:
    kinds = [kind for kind in finding_kinds.KINDS if kind.severity is not Severity.ERROR]
    others = [one(kind) for kind in kinds if cause_of(one(kind)) is None]
    assert len(others) > 5
    assert ruling(in_the_way(others), policy, person=False) is DispatchRuling.GO


def test_a_warning_that_would_mislead_a_unit_is_said_and_let_through_by_log_only() -> None:
    assert cause_of(one(MISLEADING)) is RepairCause.CORRUPT
    assert ruling([one(MISLEADING)], "log-only", person=False) is DispatchRuling.LOG


def test_every_error_stands_in_the_way() -> None:
    errors = [one(kind) for kind in finding_kinds.KINDS if kind.severity is Severity.ERROR]
    assert in_the_way(errors) == errors


def test_repair_is_about_what_it_can_change() -> None:
    kinds = [finding_kinds.SANDBOX_WEAK, finding_kinds.PROMPT_OVERRIDDEN, finding_kinds.TASK_MALFORMED, MISLEADING]
    assert [finding.code for finding in to_fix(map(one, kinds))] == ["TASK_MALFORMED", "TASK_CLAIM_STALE"]
    assert (
        compared([one(MISLEADING), one(finding_kinds.DISK_FULL)], [])
        == "before: 1 error, 1 warning; after: no problems"
    )
