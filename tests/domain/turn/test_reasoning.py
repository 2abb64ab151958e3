"""Visible reasoning, delivery, corrections and circles: values in, values out."""

import pytest

from quintet.domain.dials.axes import Axes, WorkMode
from quintet.domain.permission.effects import Effect
from quintet.domain.turn.corrections import Correction, going_in_circles, wrong
from quintet.domain.turn.delivery import DeliveryState, RanCall, claimed, evidence, lacking
from quintet.domain.turn.reasoning import ReasoningOutcome, outcome, problem, with_outcome, without
from quintet.domain.turn.reports import QaReport, QaSeverity, read_qa_report
from quintet.domain.turn.stage_policy import Reasoning
from quintet.domain.turn.tool_spec import CallStatus

MACRO = """<ide_reasoning>
Analyze: the user wants the parser to accept tabs
Research: look at parser.py and its tests
Plan: read, change one line, run the tests
Reflect: tabs inside strings must stay as they are
Action: Read parser.py
Delivery: NEEDS_WORK
</ide_reasoning>
I read the parser first."""
MICRO = """<ide_reasoning>
**Reflect:** the test fails because of a missing import
**Action:** add the import and run it again
**Delivery:** NEEDS_WORK
</ide_reasoning>"""


def test_s1_4_3_only_the_outcome_of_reasoning_stays() -> None:
    assert outcome(MACRO) == ReasoningOutcome(
        plan_delta="read, change one line, run the tests",
        next_action="Read parser.py",
        known_risks="tabs inside strings must stay as they are",
        delivery_state="NEEDS_WORK",
    )
    left = with_outcome(MACRO)
    assert left.startswith("I read the parser first.")
    assert "ide_reasoning" not in left
    assert "Analyze" not in left
    assert "delivery: NEEDS_WORK" in left


def test_done_counts_after_the_warm_up_only() -> None:
    done = MACRO.replace("NEEDS_WORK", "DONE")
    early, late = outcome(done, warm_up=True), outcome(done)
    assert early and late
    assert (early.delivery_state, late.delivery_state) == ("NEEDS_WORK", "DONE")
    assert "delivery: NEEDS_WORK" in with_outcome(done, warm_up=True)


@pytest.mark.parametrize(
    ("lines", "plan", "risks"),
    [
        ("Plan: the import goes first\nRisks: the name may be taken", "the import goes first", "the name may be taken"),
        ("Plan: unchanged\nRisks: none", "", ""),
        ("Plan: Unchanged.\nRisks: None.", "", ""),
        ("Plan: no changes\nRisks: no risks", "", ""),
        ("Plan: as before\nRisks: n/a", "", ""),
        ("**Plan:** read it, then\nchange it\n**Risks:** -", "read it, then change it", ""),
        ("Risks: none of the tests covers tabs", "", "none of the tests covers tabs"),
        ("Plan: unchanged but for the docs", "unchanged but for the docs", ""),
        ("", "", ""),
    ],
)
def test_short_reasoning_leaves_the_change_of_the_plan_and_its_risks(lines: str, plan: str, risks: str) -> None:
    text = f"<ide_reasoning>\nReflect: the test fails for want of an import\n{lines}\nAction: add it\n</ide_reasoning>"
    found = outcome(text)
    assert found == ReasoningOutcome(plan_delta=plan, next_action="add it", known_risks=risks)
    assert ("plan: " in found.as_text()) is bool(plan) and ("risks: " in found.as_text()) is bool(risks)


def test_what_just_happened_is_no_risk_in_short_reasoning_and_is_one_in_the_whole_plan() -> None:
    short, whole = outcome(MICRO), outcome(MACRO)
    assert short and short.known_risks == ""
    assert whole and whole.known_risks == "tabs inside strings must stay as they are"


def test_reasoning_cut_off_in_the_middle_is_not_kept_either() -> None:
    assert without("before <ide_reasoning>\nAnalyze: half") == "before"
    assert without("no reasoning") == "no reasoning"


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        (MACRO, Reasoning.MACRO, ""),
        (MICRO, Reasoning.MICRO, ""),
        (MACRO, Reasoning.MICRO, ""),
        (MICRO, Reasoning.MACRO, "malformed"),
        ("an answer", Reasoning.MICRO, "missing"),
        ("an answer", Reasoning.NONE, ""),
        ("<ide_reasoning>\nReflect: x", Reasoning.MICRO, "malformed"),
        ("<ide_reasoning>\nReflect: ok\nAction: ok\n</ide_reasoning>x", Reasoning.MICRO, "empty"),
        ("<ide_reasoning></ide_reasoning>x", Reasoning.MICRO, "malformed"),
    ],
)
def test_what_is_wrong_with_reasoning(text: str, kind: Reasoning, found: str) -> None:
    assert problem(text, kind) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", Correction.EMPTY_REPLY),
        ("  \n", Correction.EMPTY_REPLY),
        ("Please provide the contents of parser.py.", Correction.ASKS_FOR_FILES),
        ("Could you share the full stack trace and the relevant code?", Correction.ASKS_FOR_FILES),
        ("I looked at it.\n\nLet me run the tests now.", Correction.PROMISE_WITHOUT_ACTION),
        ("The cause is clear. I'll fix the import.", Correction.PROMISE_WITHOUT_ACTION),
        ("Next, I will read the file.", Correction.PROMISE_WITHOUT_ACTION),
        ("I changed the import; the tests pass.", None),
        ("The file provides the code that sends logs.", None),
        ("Which of the two did you mean?", None),
    ],
)
def test_s1_10_replies_that_will_not_do(text: str, found: Correction | None) -> None:
    assert wrong(text, agent=True, followup=False, reasoning=Reasoning.NONE) is found


def test_in_chat_only_an_empty_reply_is_sent_back() -> None:
    text = "Please share the file with me. Let me know!"
    assert wrong(text, agent=False, followup=False, reasoning=Reasoning.NONE) is None
    assert wrong("", agent=False, followup=True, reasoning=Reasoning.NONE) is Correction.NO_TOOL_FOLLOWUP


def test_reasoning_alone_is_no_answer() -> None:
    assert wrong(MICRO, agent=True, followup=True, reasoning=Reasoning.MICRO) is Correction.REASONING_WITHOUT_ANSWER


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("DONE\nall tests pass", DeliveryState.DONE),
        ("**DONE**", DeliveryState.DONE),
        ("done.", DeliveryState.DONE),
        ("NEEDS_WORK\nno test yet", DeliveryState.NEEDS_WORK),
        ("needs work: the docs", DeliveryState.NEEDS_WORK),
        (f"{MICRO}\nDONE\nit passes", DeliveryState.DONE),
        ("It is DONE", None),
        ("", None),
    ],
)
def test_s1_the_first_line_of_a_delivery_check_counts(text: str, state: DeliveryState | None) -> None:
    assert claimed(text) is state


def ran(*effects: Effect, status: CallStatus = CallStatus.OK) -> RanCall:
    return RanCall("bash", "pytest -q", effects, status)


def test_done_needs_evidence_in_build_and_repair() -> None:
    for work_mode in WorkMode:
        needed = work_mode in (WorkMode.BUILD, WorkMode.REPAIR)
        axes = Axes(work_mode)
        assert bool(lacking(axes, [], "it is done")) is needed
        assert bool(lacking(axes, [ran(Effect.READ)], "it is done")) is needed
        assert bool(lacking(axes, [ran(Effect.BUILD, status=CallStatus.ERROR)], "it is done")) is needed
        assert lacking(axes, [ran(Effect.BUILD)], "it is done") == ""
        assert lacking(axes, [], "No change was needed: it is so already.") == ""
    assert evidence([ran(Effect.READ), ran(Effect.EDIT)]) == ("bash pytest -q",)


def test_circles_are_seen() -> None:
    a, b, c = ("Read", "{1}", "x"), ("grep", "{2}", "y"), ("Read", "{1}", "changed")
    assert "three times" in going_in_circles([b, a, a, a])
    assert "alternately" in going_in_circles([a, b, a, b])
    assert going_in_circles([a, a, c]) == ""
    assert going_in_circles([a, b, a]) == ""
    assert going_in_circles([a, b, c, b]) == ""


def test_s1_2_3_a_report_is_read_and_a_reply_that_is_none_becomes_its_summary() -> None:
    text = 'Here:\n{"summary": "fine", "severity": "low", "issues": [{"text": "no test", "file": "a.py", "line": 3}]}'
    report = read_qa_report(text)
    assert (report.summary, report.severity, report.issues[0].file) == ("fine", QaSeverity.LOW, "a.py")
    assert "- low: a.py:3 — no test" in report.as_markdown()
    assert read_qa_report("looks good") == QaReport("looks good")
    assert read_qa_report('{"summary": 3}').severity is QaSeverity.NONE
    assert read_qa_report("").summary == "the reviewer's reply was empty"
