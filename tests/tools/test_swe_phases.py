"""analyze_test_failure on a real repository with a real pytest, and the tools that move between phases."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission.gate import Verdict
from quintet.domain.turn.swe_phases import PhaseState
from quintet.domain.turn.tool_spec import CallStatus
from tests.tools.calling import Caller

COUNTS = "tests/test_count.py::Words::test_counts"
SOURCE = "tally/count.py"
PLUGINS = ("anyio", "hypothesispytest", "platformdirs", "xdist", "xdist.looponfail")  # of ours; slow to import
BROKEN = "def words(text: str) -> int:\n    return 7\n"


@pytest.fixture
def check(tools: Caller, monkeypatch: pytest.MonkeyPatch) -> Caller:
    """The tools in the regression check, with this Python, which has pytest, first on PATH."""
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable), prepend=os.pathsep)
    tools.swe = PhaseState("regression_check")
    (tools.root / ".pytest.ini").write_text(f"[pytest]\naddopts = {' '.join(f'-p no:{name}' for name in PLUGINS)}\n")
    commit(tools.root)
    return tools


def commit(root: Path) -> None:
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    subprocess.run(["git", "commit", "-qam", "Change it"], cwd=root, check=True)


def analyze(tools: Caller, test: str, baseline: bool = True) -> str:
    """The first line of what an analysis says."""
    return tools("analyze_test_failure", test_name=test, compare_baseline=baseline).content.partition("\n")[0]


def test_a_test_that_passes(check: Caller) -> None:
    result = check("analyze_test_failure", test_name=COUNTS)
    assert (result.status, result.summary) == (CallStatus.OK, "passes")
    assert "1 passed" in result.content


def test_s0_a_test_is_found_by_words_where_no_file_says_that_it_is_a_python_project(check: Caller) -> None:
    for name in ("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "conftest.py"):
        (check.root / name).unlink(missing_ok=True)
    result = check("analyze_test_failure", test_name="words")
    assert (result.status, result.summary) == (CallStatus.OK, "passes")
    for path in [*check.root.glob("*.py"), *check.root.glob("tests/*.py")]:
        path.unlink()
    assert "this is not a Python project" in check("analyze_test_failure", test_name="words").content


def test_a_failure_that_is_not_at_head_is_new(check: Caller) -> None:
    (check.root / SOURCE).write_text(BROKEN)
    result = check("analyze_test_failure", test_name=COUNTS, compare_baseline=True)
    assert (result.status, result.summary) == (CallStatus.ERROR, "new")
    assert result.content.startswith(f"{COUNTS} fails only here: it passes at HEAD")
    assert "assert" in result.content
    assert (check.root / SOURCE).read_text() == BROKEN


def test_a_failure_that_is_at_head_too_is_old(check: Caller) -> None:
    (check.root / SOURCE).write_text(BROKEN)
    commit(check.root)
    assert analyze(check, COUNTS) == f"{COUNTS} fails here and at HEAD: it failed before the changes (old)."


def test_the_baseline_is_head_even_where_the_project_is_installed_editable(check: Caller) -> None:
    """A test that adds the working tree to the path's end, as an editable install does, is not led back to it."""
    source = check.root / "src" / "deep.py"
    source.parent.mkdir()
    source.write_text("DEPTH = 1\n")
    lead = f"import sys\nsys.path.append({str(source.parent)!r})\n"
    (check.root / "tests" / "test_deep.py").write_text(
        f"{lead}from deep import DEPTH\n\n\ndef test_deep():\n    assert DEPTH == 1\n"
    )
    commit(check.root)
    source.write_text("DEPTH = 2\n")
    assert "fails only here" in analyze(check, "tests/test_deep.py::test_deep")


def test_a_test_that_head_does_not_have_is_new_itself(check: Caller) -> None:
    (check.root / "tests" / "test_more.py").write_text("def test_more():\n    assert False\n")
    assert (
        analyze(check, "tests/test_more.py")
        == "tests/test_more.py fails here and is not at HEAD: the test itself is new."
    )


def test_a_test_that_fails_once_and_then_passes_is_flaky(check: Caller) -> None:
    (check.root / "tests" / "test_moody.py").write_text(
        "from pathlib import Path\n\n\ndef test_moody():\n"
        "    mark = Path('mark')\n    seen = mark.exists()\n    mark.touch()\n    assert seen\n"
    )
    assert "is flaky" in analyze(check, "tests/test_moody.py::test_moody")


def test_without_a_comparison_it_only_says_that_it_fails(check: Caller) -> None:
    (check.root / SOURCE).write_text(BROKEN)
    assert analyze(check, COUNTS, baseline=False) == f"{COUNTS} fails, twice in a row."


def test_a_name_without_a_path_is_looked_for_by_its_words(check: Caller) -> None:
    (check.root / "pyproject.toml").write_text("")
    result = check("analyze_test_failure", test_name="test_empty")
    assert result.summary == "passes"
    assert "1 passed, 1 deselected" in result.content


def test_nothing_is_left_behind(check: Caller) -> None:
    (check.root / SOURCE).write_text(BROKEN)

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=check.root, check=True, capture_output=True, text=True).stdout

    before = git("worktree", "list"), git("branch", "--all"), os.listdir(check.root / ".git")
    assert "fails only here" in analyze(check, COUNTS)
    assert os.listdir(tempfile.gettempdir()) == []
    assert (git("worktree", "list"), git("branch", "--all"), os.listdir(check.root / ".git")) == before


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("tests/nowhere.py", "tests/nowhere.py cannot be run:"),
        ("tests/test_count.py::nothing", "cannot be run:"),
        ("--version", "expected the name of a test"),
        ("", "expected the name of a test"),
        ("TestThing", "TestThing cannot be run:"),
    ],
)
def test_what_cannot_be_run_is_said(check: Caller, test: str, said: str) -> None:
    assert said in check.fails("analyze_test_failure", test_name=test)


def test_a_folder_without_a_commit_has_no_baseline(check: Caller) -> None:
    (check.root / SOURCE).write_text(BROKEN)
    subprocess.run(["git", "update-ref", "-d", "HEAD"], cwd=check.root, check=True)
    assert analyze(check, COUNTS) == f"{COUNTS} fails here; it could not be run at HEAD:"


def test_the_projects_own_python_is_taken_first(check: Caller) -> None:
    own = check.root / ".venv" / "bin"
    own.mkdir(parents=True)
    (own.parent / "pyvenv.cfg").write_text("")
    (own / "python").write_text('#!/bin/sh\necho own python "$@"\nexit 1\n')
    (own / "python").chmod(0o755)
    assert f"own python -m pytest -q {COUNTS}" in check.fails("analyze_test_failure", test_name=COUNTS)


def test_running_a_test_is_a_build_and_a_path_outside_asks(check: Caller) -> None:
    trusted = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)
    normal = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
    assert check.verdict("analyze_test_failure", trusted, test_name=COUNTS) is Verdict.ALLOW
    assert check.verdict("analyze_test_failure", normal, test_name=COUNTS) is Verdict.ASK
    assert check.verdict("analyze_test_failure", trusted, test_name="/elsewhere/test_a.py") is Verdict.ASK


def test_the_tools_that_move_say_where_the_run_is_now(check: Caller) -> None:
    assert "▸ regression_check          0 of 10 calls" in check.ok("get_phase_status")
    assert check.ok("advance_phase", values={"pass_to_pass_status": "1_failed"}).startswith(
        "In target_fix_verification."
    )
    assert check.ok("return_to_fix_phase", reason="one test still fails").startswith("In fix.")
    assert (
        check.fails("advance_phase", values={}) == "regression_check is not done: values is missing pass_to_pass_status"
    )
