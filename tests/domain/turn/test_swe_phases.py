"""The SWE phases: their order, tools and budgets, and which way they move."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.effects import Effect
from quintet.domain.turn import swe_phases
from quintet.domain.turn.swe_phases import FINISHED, PHASES, PhaseMove, PhaseState, Proof
from quintet.domain.turn.tool_menu import META_TOOLS, TOOL_MODES, validate_tool_coverage

TABLE = {
    "localization": (15, ["suspect_files", "hypothesis"], ["grep", "glob", "web_search", "Read", "lsp_tool"]),
    "understanding": (20, ["root_cause"], ["Read", "lsp_tool", "web_get_contents", "grep", "glob"]),
    "fix": (15, ["modified_files"], ["Edit", "Write", "Read"]),
    "regression_check": (10, ["pass_to_pass_status"], ["bash", "Read", "analyze_test_failure"]),
    "target_fix_verification": (5, ["fail_to_pass_status"], ["bash", "complete"]),
}
EVERY = {tool for toolset in TOOL_MODES.values() for tool in toolset.tool_list} | set(META_TOOLS)
OWN = {"get_phase_status", "advance_phase", "return_to_fix_phase"}
VALUES: dict[str, Any] = {
    "suspect_files": ["a.py"],
    "hypothesis": "off by one",
    "root_cause": "the loop",
    "modified_files": ["a.py"],
    "pass_to_pass_status": "2_failed",
    "fail_to_pass_status": "1_failed",
}
BUILD = (Effect.BUILD,)


def bash(state: PhaseState, line: str, *, exit_code: int = 0, effects: tuple[Effect, ...] = BUILD) -> PhaseState:
    arguments = json.dumps({"command": line})
    return swe_phases.after_call(state, "bash", arguments, effects, ok=exit_code == 0, changed=False)


def edited(state: PhaseState) -> PhaseState:
    return swe_phases.after_call(state, "Edit", "{}", (Effect.EDIT,), ok=True, changed=True)


def test_s0_phases_budgets_needs_and_tools_are_the_seeds() -> None:
    assert {p.name: (p.calls, list(p.needs), list(p.tools)) for p in PHASES.values()} == TABLE
    assert {tool for _, _, tools in TABLE.values() for tool in tools} <= EVERY
    assert validate_tool_coverage(EVERY) == (True, [])


@pytest.mark.parametrize("phase", TABLE)
def test_s0_a_phase_shows_its_tools_the_neutral_ones_and_in_the_end_complete(phase: str) -> None:
    shown = swe_phases.within(PhaseState(phase), EVERY)
    always = (set(META_TOOLS) | OWN) - {"complete"}
    assert shown == always | set(TABLE[phase][2])
    assert ("complete" in shown) is (phase == "target_fix_verification")


@pytest.mark.parametrize("phase", [*TABLE, FINISHED])
def test_the_mask_that_shows_tools_is_the_one_that_refuses_calls(phase: str) -> None:
    state = PhaseState(phase)
    assert {tool for tool in EVERY if not swe_phases.refusal(state, tool)} == swe_phases.within(state, EVERY)


def test_without_phases_nothing_is_masked_and_their_four_tools_say_so() -> None:
    assert swe_phases.within(None, EVERY) == EVERY
    refused = {tool: text for tool in EVERY if (text := swe_phases.refusal(None, tool))}
    assert set(refused) == OWN | {"analyze_test_failure"}
    assert all("off in this run" in text and "--swe" in text for text in refused.values())


@pytest.mark.parametrize(
    ("phase", "tool", "said"),
    [
        (
            "localization",
            "bash",
            "bash is not available in SWE phase localization; it is in: regression_check, target_fix_veri",
        ),
        (
            "localization",
            "Edit",
            "Call advance_phase with suspect_files and hypothesis to continue with understanding.",
        ),
        ("fix", "complete", "complete is not available in SWE phase fix; it is in: target_fix_verification."),
        ("fix", "git_commit", "it is in no phase. Call advance_phase with modified_files"),
        (
            "regression_check",
            "Edit",
            "it is in: fix. Call advance_phase with pass_to_pass_status to continue with target_fix_ve",
        ),
        ("regression_check", "Edit", "return_to_fix_phase returns to the fix"),
        (FINISHED, "Edit", "The SWE phases are finished: call complete to end the task"),
    ],
)
def test_a_masked_tool_is_answered_with_its_phase_and_the_way_on(phase: str, tool: str, said: str) -> None:
    assert said in swe_phases.refusal(PhaseState(phase), tool)


@pytest.mark.parametrize("phase", TABLE)
def test_a_spent_budget_stops_what_spends_and_nothing_else(phase: str) -> None:
    calls = TABLE[phase][0]
    almost, spent = PhaseState(phase, {phase: calls - 1}), PhaseState(phase, {phase: calls})
    spending = [tool for tool in TABLE[phase][2] if tool != "complete"]
    for tool in spending:
        assert swe_phases.refusal(almost, tool) == ""
        assert f"the budget of phase {phase} is used up ({calls} calls)." in swe_phases.refusal(spent, tool)
        assert "advance_phase with" in swe_phases.refusal(spent, tool)
    for tool in swe_phases.within(spent, EVERY) - set(spending):
        assert swe_phases.refusal(spent, tool) == ""


def test_only_calls_that_are_not_neutral_are_counted_each_in_its_phase() -> None:
    state = PhaseState("localization")
    for tool in ("Read", "think", "get_phase_status", "menu_list", "message_user", "grep"):
        state = swe_phases.after_call(state, tool, "{}", (), ok=True, changed=False)
    assert state.used == {"localization": 2}


def test_a_run_goes_through_all_phases_and_keeps_what_it_found() -> None:
    state: PhaseState | None = PhaseState()
    seen = []
    while state and state.phase in PHASES:
        seen.append(state.phase)
        state = swe_phases.moved(state, swe_phases.advance(state, VALUES))
    assert state
    assert (seen, state.phase, state.values) == (list(TABLE), FINISHED, VALUES)
    with pytest.raises(ToolFailed, match="finished"):
        swe_phases.advance(state, VALUES)


@pytest.mark.parametrize("phase", TABLE)
def test_a_phase_is_not_left_without_what_it_needs(phase: str) -> None:
    for key in TABLE[phase][1]:
        for empty in ({}, {key: ""}, {key: []}, {key: None}):
            values = {name: value for name, value in VALUES.items() if name != key} | empty
            with pytest.raises(ToolFailed, match=f"{phase} is not done: values is missing {key}"):
                swe_phases.advance(PhaseState(phase), values)


@pytest.mark.parametrize("phase", TABLE)
def test_going_back_to_fix_works_from_the_two_checks_and_renews_its_budget(phase: str) -> None:
    state = PhaseState(phase, {"fix": 15, "regression_check": 4})
    if phase in ("regression_check", "target_fix_verification"):
        after = swe_phases.moved(state, swe_phases.return_to_fix(state, "one test still fails"))
        assert after and (after.phase, after.used) == ("fix", {"fix": 0, "regression_check": 4})
        with pytest.raises(ToolFailed, match="reason is empty"):
            swe_phases.return_to_fix(state, " ")
    else:
        with pytest.raises(ToolFailed, match=f"in regression_check and target_fix_verification; this is {phase}"):
            swe_phases.return_to_fix(state, "why not")


@pytest.mark.parametrize("key", ["pass_to_pass_status", "fail_to_pass_status"])
@pytest.mark.parametrize("status", ["passed", "0_failed", "some_failed", "2 failed", "all_passed!", 2, ["all_passed"]])
def test_a_status_is_all_passed_or_a_number_of_failures(key: str, status: Any) -> None:
    phase = next(p.name for p in PHASES.values() if key in p.needs)
    with pytest.raises(ToolFailed, match="expected all_passed, or the number of failed tests, for example 2_failed"):
        swe_phases.advance(PhaseState(phase, proof=Proof.PASSED), {key: status})
    assert swe_phases.advance(PhaseState(phase), {key: "12_failed"}).values == {key: "12_failed"}


@pytest.mark.parametrize("key", ["pass_to_pass_status", "fail_to_pass_status"])
@pytest.mark.parametrize("proof", Proof)
def test_all_passed_is_accepted_only_when_the_latest_test_shows_it(key: str, proof: Proof) -> None:
    phase = next(p.name for p in PHASES.values() if key in p.needs)
    state = PhaseState(phase, proof=proof)
    if proof is Proof.PASSED:
        assert swe_phases.advance(state, {key: "all_passed"}).values == {key: "all_passed"}
    else:
        with pytest.raises(ToolFailed, match=f"{key} = all_passed is not accepted: "):
            swe_phases.advance(state, {key: "all_passed"})


@pytest.mark.parametrize(
    "line",
    [
        "pytest",
        "python -m pytest tests/test_a.py::test_b -q 2>&1",
        ".venv/bin/pytest -q",
        "python -m unittest",
        "cd sub && npm test",
        "npm run test:unit",
        "cargo test",
        "go test ./...",
        "make -j 2 check",
        "tox -e py311",
        "./run_tests.sh",
        "scripts/test --fast",
        "PYTHONPATH=src pytest",
        "python manage.py test app",
    ],
)
def test_a_line_that_runs_tests_proves_by_its_exit_code(line: str) -> None:
    for effects in ((Effect.BUILD,), (Effect.EXECUTE,)):
        assert bash(PhaseState(), line, effects=effects).proof is Proof.PASSED
        assert bash(PhaseState(), line, effects=effects, exit_code=1).proof is Proof.FAILED


@pytest.mark.parametrize("line", ["pytest | tail -3", "pytest; true", "pytest || true", "pytest &", "pytest\necho ok"])
def test_a_line_whose_exit_code_is_another_commands_proves_nothing(line: str) -> None:
    assert bash(PhaseState(), line).proof is Proof.UNCLEAR
    assert bash(bash(PhaseState(), "pytest"), line).proof is Proof.UNCLEAR


@pytest.mark.parametrize(
    ("line", "effects"),
    [
        ("ruff check tests", BUILD),
        ("make", BUILD),
        ("pytest --collect-only", BUILD),
        ("pytest --version", BUILD),
        ("cat test", (Effect.READ,)),
        ("echo pytest", (Effect.READ,)),
        ("rm -r test", (Effect.DESTROY,)),
        ("git commit -m test", (Effect.COMMIT,)),
        ("! pytest", BUILD),
    ],
)
def test_a_line_that_runs_no_test_proves_nothing(line: str, effects: tuple[Effect, ...]) -> None:
    assert bash(PhaseState(), line, effects=effects).proof is Proof.NONE


def test_a_change_after_the_test_makes_it_stale_until_it_runs_again() -> None:
    passed = bash(PhaseState(), "pytest")
    assert edited(passed).proof is Proof.STALE
    assert bash(passed, "sed -i s/a/b/ a.py", effects=(Effect.EDIT,)).proof is Proof.STALE
    assert bash(passed, "./tool", effects=(Effect.EXECUTE,)).proof is Proof.STALE
    assert bash(passed, "sed -i s/a/b/ a.py && pytest", effects=(Effect.EDIT, Effect.BUILD)).proof is Proof.STALE
    assert bash(edited(passed), "pytest").proof is Proof.PASSED
    assert bash(passed, "git status", effects=(Effect.READ,)).proof is Proof.PASSED
    assert bash(passed, "pytest tests/test_b.py", exit_code=1).proof is Proof.FAILED


def test_the_status_tells_place_budget_way_on_values_and_proof() -> None:
    state = PhaseState("understanding", {"localization": 3, "understanding": 7}, {"hypothesis": "off by one"})
    text = swe_phases.status(state)
    assert "  localization              3 of 15 calls" in text
    assert "▸ understanding             7 of 20 calls" in text
    assert "tools: Read, lsp_tool, web_get_contents, grep, glob" in text
    assert "Call advance_phase with root_cause to continue with fix." in text
    assert "hypothesis: off by one" in text
    assert "tests: no test command has run yet" in text


def test_a_turn_begins_the_phases_where_they_are_asked_for_and_leaves_them_where_not() -> None:
    begin = swe_phases.due(None, True)
    assert begin and (begin.before, begin.after) == ("", "localization")
    assert swe_phases.due(PhaseState("fix"), True) is None
    worn = PhaseState(FINISHED, {"fix": 15}, VALUES, Proof.PASSED)
    again = swe_phases.due(worn, True)
    assert again and swe_phases.moved(worn, again) == PhaseState()
    leave = swe_phases.due(PhaseState("fix"), False)
    assert leave and (leave.before, leave.after) == ("fix", "")
    assert swe_phases.moved(PhaseState("fix"), leave) is None
    assert swe_phases.due(None, False) is None


def test_completing_finishes_the_last_phase_only() -> None:
    assert [swe_phases.finish(PhaseState(phase)) is not None for phase in TABLE] == [False] * 4 + [True]


MOVES = st.sampled_from(["advance", "advance with nothing", "return", "test", "edit", "claim all passed"])


@given(st.lists(MOVES, max_size=40))
def test_whatever_is_called_no_phase_is_ever_skipped(steps: list[str]) -> None:
    names = [*TABLE, FINISHED]
    state = PhaseState()
    for step in steps:
        move: PhaseMove | None = None
        with contextlib.suppress(ToolFailed):
            match step:
                case "advance":
                    move = swe_phases.advance(state, VALUES)
                case "advance with nothing":
                    move = swe_phases.advance(state, {})
                case "claim all passed":
                    proven = state.proof is Proof.PASSED or state.phase not in names[3:5]
                    claims = dict.fromkeys(("pass_to_pass_status", "fail_to_pass_status"), "all_passed")
                    move = swe_phases.advance(state, VALUES | claims)
                    assert proven
                case "return":
                    move = swe_phases.return_to_fix(state, "not yet")
                case "test":
                    state = bash(state, "pytest")
                case _:
                    state = edited(state)
        if move:
            here, there = names.index(move.before), names.index(move.after)
            assert there == here + 1 or (move.after == "fix" and here in (3, 4))
            after = swe_phases.moved(state, move)
            assert after
            state = after
