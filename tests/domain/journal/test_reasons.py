"""What a recorded reason stands for: as it is written now, and as it stands in journals and rows from before."""

import pytest

from quintet.domain.journal import reasons
from quintet.domain.journal.reasons import EndCause, Refuser, TaskCause


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("interrupted", EndCause.INTERRUPTED),
        ("its process ended", EndCause.OTHER),
        ("loop_detected: read the same file 5 times", EndCause.LOOP),
        ("limits.max_turns = 3", EndCause.MAX_TURNS),
        ("limits.max_cost = 1, spent 1.2000", EndCause.OTHER),
        ("stopped by /stop", EndCause.OTHER),
        ("", EndCause.OTHER),
    ],
)
def test_why_a_turn_ended(reason: str, cause: EndCause) -> None:
    assert reasons.cause_of(reason) is cause


@pytest.mark.parametrize(
    ("content", "refuser", "why"),
    [
        ("not run: the user said no", Refuser.USER, "the user said no"),
        ("not run: the user said no: not yet", Refuser.USER, "the user said no: not yet"),
        ("not run: .env is protected", Refuser.POLICY, ".env is protected"),
        ("not run: your hook `x`: not on Fridays", Refuser.POLICY, "your hook `x`: not on Fridays"),
    ],
)
def test_who_refused_a_call(content: str, refuser: Refuser, why: str) -> None:
    assert (reasons.refuser_of(content), reasons.refusal_of(content)) == (refuser, why)


def test_refusals_are_read_as_they_are_written() -> None:
    assert reasons.not_run(".env is protected") == "not run: .env is protected"
    assert reasons.declined("") == "not run: the user said no"
    assert reasons.declined("not yet") == "not run: the user said no: not yet"


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("found as a file without a row", TaskCause.FOUND_AS_FILE),
        ("not verified: nothing changed", TaskCause.NOT_VERIFIED),
        (reasons.not_verified("nothing changed"), TaskCause.NOT_VERIFIED),
        ("verified; needs approval", TaskCause.OTHER),
        ("added", TaskCause.OTHER),
    ],
)
def test_why_a_task_was_moved(reason: str, cause: TaskCause) -> None:
    assert reasons.task_cause_of(reason) is cause
