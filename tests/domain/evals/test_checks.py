"""Checks: what is said of work that is not as it should be, and which checks decide nothing."""

import pytest

from quintet.domain.evals.checks import control, fault_of_file, fault_of_run, problem
from quintet.domain.ports.trials import TrialCheck

PRINTS = TrialCheck(run="sh a.sh", output="1\n2\n")
HAS = TrialCheck(run="sh a.sh", has=("two", "one"), lacks=("three",))
FILE = TrialCheck(file="a.txt", text="tea\n")


@pytest.mark.parametrize(
    ("check", "code", "output", "errors", "fault"),
    [
        (PRINTS, 0, "1\n2", "", ""),
        (PRINTS, 0, "1\n2\n\n", "a warning", ""),
        (PRINTS, 0, "PASS\n1\n2\n", "", 'it gives "PASS\n1\n2"'),
        (PRINTS, 1, "1\n2", "x\nTypeError: no\nNode 20", 'it ends with 1 instead of 0: "TypeError: no"'),
        (PRINTS, 0, "", "1\n2\n", 'it gives ""'),
        (HAS, 0, "one two", "", ""),
        (HAS, 0, "one", "", 'it lacks "two"'),
        (HAS, 0, "one two three", "", 'it has "three"'),
        (TrialCheck(run="x", exit=2, output=""), 2, "", "usage", ""),
    ],
)
def test_a_run_is_held_to_its_exit_code_and_output(
    check: TrialCheck, code: int, output: str, errors: str, fault: str
) -> None:
    assert fault_of_run(check, code, output, errors) == fault


@pytest.mark.parametrize(
    ("check", "content", "fault"),
    [
        (FILE, "tea", ""),
        (FILE, "coffee", 'a.txt gives "coffee"'),
        (FILE, None, "a.txt is not there"),
        (TrialCheck(file="a.txt", gone=True), None, ""),
        (TrialCheck(file="a.txt", gone=True), "", "a.txt is still there"),
        (TrialCheck(file="a.txt", has=("x",), lacks=("y",)), "xy", 'a.txt has "y"'),
    ],
)
def test_a_file_is_held_to_what_it_holds(check: TrialCheck, content: str | None, fault: str) -> None:
    assert fault_of_file(check, content) == fault


@pytest.mark.parametrize(
    ("check", "why"),
    [
        (TrialCheck(), "either"),
        (TrialCheck(run="true", file="a"), "either"),
        (TrialCheck(run="true"), "an exit code alone"),
        (TrialCheck(file="a"), "say what it has to hold"),
        (TrialCheck(file="/etc/passwd", text=""), "relative paths"),
        (TrialCheck(run="a", output="", files={"../a": ""}), "relative paths"),
    ],
)
def test_a_check_that_decides_nothing_is_refused(check: TrialCheck, why: str) -> None:
    assert why in problem(check)


def test_checks_that_decide_something_are_taken() -> None:
    assert [problem(one) for one in (PRINTS, HAS, FILE, TrialCheck(run="pytest", hidden=True))] == [""] * 4


@pytest.mark.parametrize("path", ["a/test_x.py", "x.test.js", "x.mjs", "x.cjs", "x_test.go"])
def test_a_control_names_itself_by_a_word_that_nobody_knows_before(path: str) -> None:
    assert control(path, "tabc", 7).count("tabc") >= 1
    assert control("x.unknown", "tabc", 7) == ""
