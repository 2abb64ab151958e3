"""What a turn shows of its delivery, case by case."""

import pytest

from quintet.domain.dials.axes import Axes, RunControl, WorkMode
from quintet.domain.permission.effects import Effect
from quintet.domain.turn.delivery import RanCall, Ruling, evidence, failed_check, is_held_up, judge, lacking
from quintet.domain.turn.skipped import SkippedCall
from quintet.domain.turn.tool_spec import CallStatus

BUILD = Axes(WorkMode.BUILD, RunControl.ASSISTED)
OK, ERROR = CallStatus.OK, CallStatus.ERROR
EDIT = RanCall("Edit", "a.py", (Effect.EDIT,), OK)
LOST_EDIT = RanCall("Edit", "a.py", (Effect.EDIT,), ERROR)
READ = RanCall("Read", "a.py", (Effect.READ,), OK)
RAN = RanCall("bash", "./tool", (Effect.EXECUTE,), OK)
LOOKED = RanCall("bash", "echo step", (Effect.READ,), OK)
PASSED = RanCall("bash", "pytest -q", (Effect.BUILD,), OK)
FAILED = RanCall("bash", "pytest -q", (Effect.BUILD,), ERROR)
OTHER = RanCall("bash", "pytest -q other.py", (Effect.BUILD,), OK)
INTO_A_FILE = RanCall("bash", "pytest -q > log.txt", (Effect.BUILD, Effect.EDIT), ERROR)
MASKED = RanCall("bash", "pytest -q | tail -3", (Effect.BUILD,), OK)
BEHIND = RanCall("bash", "pytest -q", (Effect.BUILD,), OK, background=True)
SERVER = RanCall("bash", "./serve", (Effect.EXECUTE,), OK, background=True)
SAME = RanCall("Write", "a.py", (Effect.EDIT,), OK, idle=True)
OWN_FAILED = RanCall("bash", "sh check.sh", (Effect.EXECUTE,), ERROR)
OWN_PASSED = RanCall("bash", "sh check.sh", (Effect.EXECUTE,), OK)
BUILT_AND_CHANGED = RanCall("bash", "make format", (Effect.BUILD, Effect.EDIT), ERROR)


@pytest.mark.parametrize(
    ("text", "calls", "answer", "ruling"),
    [
        ("fix it", [READ, EDIT], "Fixed.", Ruling.DONE),
        ("fix it", [READ, EDIT, PASSED], "Fixed.", Ruling.DONE),
        ("fix it", [EDIT, FAILED], "All tests pass.", Ruling.NEEDS_WORK),
        ("fix it", [EDIT, FAILED, READ], "All tests pass.", Ruling.NEEDS_WORK),
        ("fix it", [EDIT, FAILED, PASSED], "Fixed.", Ruling.DONE),
        ("fix it", [FAILED, EDIT], "Fixed.", Ruling.ASK),
        ("fix it", [EDIT, FAILED, OTHER], "Fixed.", Ruling.NEEDS_WORK),
        ("fix it", [EDIT, INTO_A_FILE], "Fixed.", Ruling.NEEDS_WORK),
        ("fix it", [EDIT, MASKED], "Fixed.", Ruling.ASK),
        ("fix it", [FAILED, EDIT, PASSED], "Fixed.", Ruling.DONE),
        ("fix it", [EDIT, BUILT_AND_CHANGED], "Fixed.", Ruling.DONE),
        ("fix it", [EDIT, BEHIND], "Tests pass.", Ruling.ASK),
        ("fix it", [EDIT, FAILED, BEHIND], "Tests pass.", Ruling.NEEDS_WORK),
        ("fix it", [EDIT, SERVER], "Fixed.", Ruling.DONE),
        ("start the server", [SERVER], "It runs.", Ruling.DONE),
        ("fix it", [EDIT, OWN_FAILED], "Fixed.", Ruling.ASK),
        ("fix it", [EDIT, OWN_FAILED, OWN_PASSED], "Fixed.", Ruling.DONE),
        ("fix it", [EDIT, FAILED, OWN_PASSED], "Fixed.", Ruling.NEEDS_WORK),
        ("fix it", [SAME], "Fixed.", Ruling.ASK),
        ("fix it", [EDIT, FAILED, SAME], "Fixed.", Ruling.NEEDS_WORK),
        ("fix it", [READ], "Fixed.", Ruling.ASK),
        ("fix it", [], "Fixed.", Ruling.ASK),
        ("fix it", [RAN], "Fixed.", Ruling.ASK),
        ("fix it", [LOST_EDIT], "Fixed.", Ruling.ASK),
        ("fix it", [EDIT], "Done so far. Now I will add a test.", Ruling.ASK),
        ("fix it", [EDIT], "Please share the contents of b.py.", Ruling.ASK),
        ("run the tests", [PASSED], "They pass.", Ruling.DONE),
        ("run the tests", [FAILED], "Two fail.", Ruling.ASK),
        ("run the tests", [], "They pass.", Ruling.ASK),
        ("run the steps", [LOOKED], "Done.", Ruling.DONE),
        ("fix it", [LOOKED], "Done.", Ruling.ASK),
        ("what does it do?", [READ], "It counts.", Ruling.NOT_CHECKED),
        ("what does it do?", [], "It counts.", Ruling.NOT_CHECKED),
        ("what does it do?", [READ], "I will look.", Ruling.ASK),
        ("what does it do?", [EDIT, FAILED], "It counts.", Ruling.NEEDS_WORK),
        ("hello", [], "Hello.", Ruling.ASK),
    ],
)
def test_the_evidence_of_a_turn(text: str, calls: list[RanCall], answer: str, ruling: Ruling) -> None:
    assert judge(BUILD, text, calls, answer).ruling is ruling


@pytest.mark.parametrize("work_mode", [WorkMode.PLAN, WorkMode.REVIEW, WorkMode.RESEARCH])
def test_work_that_changes_nothing_ends_with_its_answer(work_mode: WorkMode) -> None:
    assert judge(Axes(work_mode), "look at it", [READ], "It is sound.").ruling is Ruling.NOT_CHECKED


def test_a_check_that_failed_after_the_last_change_is_named_and_no_word_lifts_it() -> None:
    assert failed_check([EDIT, FAILED]) == "pytest -q failed after the last change"
    assert lacking(BUILD, [EDIT, FAILED], "no change was needed") == "pytest -q failed after the last change"
    assert failed_check([EDIT, FAILED, PASSED]) == failed_check([FAILED]) == failed_check([FAILED, EDIT]) == ""


def test_what_was_changed_last_is_named_first() -> None:
    other = RanCall("Write", "b.py", (Effect.EDIT,), OK)
    assert judge(BUILD, "fix it", [EDIT, other, PASSED], "Fixed.").reason == "bash pytest -q, Write b.py, Edit a.py"


PUSH = SkippedCall("bash", "git push", "publishing always needs approval", (Effect.PUBLISH,))
WRITE = SkippedCall("Write", "a.py", "in chat every change needs approval", (Effect.EDIT,))


@pytest.mark.parametrize("work_mode", list(WorkMode))
@pytest.mark.parametrize(
    ("text", "calls", "ruling"),
    [
        ("fix it", [EDIT], Ruling.ASK),
        ("fix it", [EDIT, PASSED], Ruling.ASK),
        ("run the tests", [PASSED], Ruling.ASK),
        ("what does it do?", [READ], Ruling.ASK),
        ("fix it", [], Ruling.ASK),
        ("fix it", [EDIT, FAILED], Ruling.NEEDS_WORK),
    ],
)
def test_a1_with_a_skipped_call_evidence_alone_never_decides_done(
    work_mode: WorkMode, text: str, calls: list[RanCall], ruling: Ruling
) -> None:
    axes = Axes(work_mode, RunControl.AUTONOMOUS)
    assert judge(axes, text, calls, "Fixed.", [PUSH]).ruling is ruling


def test_done_is_not_believed_where_the_change_itself_was_skipped() -> None:
    chat = Axes(WorkMode.CHAT, RunControl.AUTONOMOUS)
    assert lacking(chat, [READ], "Renamed.", [WRITE])
    assert not lacking(chat, [READ], "Renamed.")
    assert not lacking(chat, [READ], "It counts.", [PUSH])
    assert not lacking(chat, [EDIT], "Renamed.", [WRITE])
    assert not lacking(chat, [READ], "No change was needed.", [WRITE])


def test_work_is_held_up_by_skipped_calls_unless_a_check_failed_after_the_last_change() -> None:
    assert is_held_up([EDIT], [PUSH])
    assert not is_held_up([EDIT], [])
    assert not is_held_up([EDIT, FAILED], [PUSH])


def test_what_changed_nothing_or_was_left_to_run_is_no_evidence() -> None:
    assert evidence([SAME, BEHIND, EDIT, SERVER]) == ("Edit a.py", "bash ./serve")
    assert lacking(BUILD, [SAME, BEHIND], "Fixed.").startswith("nothing was changed or run")
