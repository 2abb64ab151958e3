"""The tools of the SWE phases: going on, going back, where a run stands, and what is behind a failing test."""

from __future__ import annotations

from typing import Any

from quintet.domain.base.errors import ToolFailed
from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.effects import Effect
from quintet.domain.ports.files import FolderEntry
from quintet.domain.ports.ports import Finished, Workbench
from quintet.domain.turn import swe_phases
from quintet.domain.turn.swe_phases import PhaseMove
from quintet.domain.turn.tool_spec import CallStatus, ToolResult, Touch
from quintet.tools.declare import tool

TEST_SECONDS = 300.0
TESTS_IN = (".", "tests", "test")
PYTHON_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "conftest.py")
OWN_PYTHON = (".venv", "venv")  # folders the project may keep one in
PASSED, FAILED, NOT_THERE = 0, (1, 2), (4, 5)  # pytest's exit codes; 2 is a file that cannot be collected
SHOWN_LINES = 30

# A clone that borrows the project's objects writes nothing into its .git. PYTHONPATH goes before an editable install,
# which would lead back to the files as they are now.
BASELINE = """
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT
commit=$(git rev-parse --verify HEAD) &&
    git clone --quiet --shared --no-checkout -- "$(git rev-parse --show-toplevel)" "$folder/tree" &&
    cd "$folder/tree" &&
    git -c core.hooksPath=/dev/null checkout --quiet --detach "$commit" || exit 99
export PYTHONPATH="$PWD/src:$PWD"
"$@"
"""


@tool(effects=set())
async def advance_phase(bench: Workbench, values: dict[str, Any]) -> ToolResult:
    """Continue with the next SWE phase, with the results of the current one.

    A status is all_passed or, say, 2_failed; all_passed needs a test run that exited 0 with nothing changed after it.

    :values: by phase: suspect_files, hypothesis; root_cause; modified_files; pass_to_pass_status; fail_to_pass_status
    """
    return _moved(bench, swe_phases.advance(bench.turn.swe, values))


@tool(effects=set())
async def return_to_fix_phase(bench: Workbench, reason: str) -> ToolResult:
    """Go back from regression_check or target_fix_verification to fix, with a new budget for it.

    :reason: what the fix does not do yet
    """
    return _moved(bench, swe_phases.return_to_fix(bench.turn.swe, reason))


@tool(effects=set())
async def get_phase_status(bench: Workbench) -> ToolResult:
    """Show the SWE phases: where you are, calls spent, what is needed to advance, what is known."""
    return ToolResult(swe_phases.status(bench.turn.swe), summary=bench.turn.swe.phase)


def _moved(bench: Workbench, move: PhaseMove) -> ToolResult:
    after = swe_phases.moved(bench.turn.swe, move)
    assert after
    return ToolResult(f"In {move.after}.\n{swe_phases.status(after)}", summary=move.after, phase=move)


def _runs_test(arguments: dict[str, Any]) -> Touch:
    path = arguments["test_name"].partition("::")[0]
    return Touch(frozenset({Effect.BUILD}), reads=(path,) if _is_path(path) else (), why="pytest: build")


@tool(effects={Effect.BUILD}, profile=PermissionProfile.NORMAL, touch=_runs_test, needs=("pytest", "git", "bash"))
async def analyze_test_failure(bench: Workbench, test_name: str, compare_baseline: bool = False) -> ToolResult:
    """Run one pytest test and say what is behind its failure: whether it is flaky and, compared, whether it is new.

    :test_name: as pytest takes it: tests/test_a.py::test_b, or words of a test's name
    :compare_baseline: run it on a clean checkout of HEAD too
    """
    pytest = _pytest(bench, test_name)
    here = await _run(bench, pytest)
    if here.exit_code == PASSED:
        return ToolResult(f"{test_name} passes.\n{_tail(here)}", summary="passes")
    if here.exit_code not in FAILED or "No module named pytest" in here.output:
        raise ToolFailed(f"{test_name} cannot be run:\n{_tail(here)}")
    again = await _run(bench, pytest)
    if again.exit_code == PASSED:
        return _says(f"{test_name} is flaky: it failed, and passed when run again.", here, "flaky")
    if not compare_baseline:
        return _says(f"{test_name} fails, twice in a row.", here, "fails")
    there = await _run(bench, ("bash", "-c", BASELINE, "baseline", *pytest))
    if there.exit_code == PASSED:
        return _says(
            f"{test_name} fails only here: it passes at HEAD, so the changes since broke it (new).", here, "new"
        )
    if there.exit_code in NOT_THERE:
        return _says(f"{test_name} fails here and is not at HEAD: the test itself is new.", here, "new test")
    if there.exit_code in FAILED:
        return _says(f"{test_name} fails here and at HEAD: it failed before the changes (old).", here, "old")
    return _says(f"{test_name} fails here; it could not be run at HEAD:\n{_tail(there)}\n\nHere:", here, "not compared")


def _pytest(bench: Workbench, test_name: str) -> tuple[str, ...]:
    path, joint, rest = test_name.partition("::")
    if not path.strip() or path.startswith("-"):
        raise ToolFailed(f'"{test_name}": expected the name of a test, for example tests/test_a.py::test_b')
    if not path.endswith(".py") and not _is_python(bench):
        raise ToolFailed(
            "this is not a Python project: only pytest is supported here. Run the test with bash, and "
            "its baseline in a clean checkout"
        )
    own = (name for name in OWN_PYTHON if _is_there(bench, f"{name}/pyvenv.cfg"))
    python = next((f"{bench.root}/{name}/bin/python" for name in own), "python3")
    if _is_path(path):
        return (python, "-m", "pytest", "-q", f"{bench.files.relative(path)}{joint}{rest}")
    return (python, "-m", "pytest", "-q", "-k", test_name)


def _is_python(bench: Workbench) -> bool:
    """Whether a file says that it is a Python project, or the root or a folder of tests holds Python."""
    if any(_is_there(bench, name) for name in PYTHON_PROJECT):
        return True
    return any(entry.name.endswith(".py") for folder in TESTS_IN for entry in _entries(bench, folder))


def _entries(bench: Workbench, folder: str) -> list[FolderEntry]:
    try:
        return bench.files.entries(folder)
    except (OSError, ToolFailed):
        return []


def _is_path(name: str) -> bool:
    return name.endswith(".py") or "/" in name


def _is_there(bench: Workbench, path: str) -> bool:
    try:
        bench.files.info(path)
    except (OSError, ToolFailed):
        return False
    return True


async def _run(bench: Workbench, argv: tuple[str, ...]) -> Finished:
    done = await bench.processes.run(
        argv, cwd=bench.root, grant=bench.grant, timeout=TEST_SECONDS, on_output=bench.progress
    )
    if done.timed_out:
        raise ToolFailed(f"killed after {TEST_SECONDS:g} s:\n{_tail(done)}")
    return done


def _tail(done: Finished) -> str:
    return "\n".join(done.output.rstrip().splitlines()[-SHOWN_LINES:])


def _says(text: str, done: Finished, summary: str) -> ToolResult:
    return ToolResult(f"{text}\n{_tail(done)}", CallStatus.ERROR, summary=summary)
