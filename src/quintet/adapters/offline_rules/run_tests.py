"""The project's own tests: which command runs them, told from its files, and what a run said."""

from __future__ import annotations

import re

from msgspec import Struct

from quintet.adapters.offline_rules.program_steps import Program, SayStep, Steps, ask, ask_if_unasked, read_all, refused
from quintet.domain.base import wire_json
from quintet.domain.base.lazy_regex import regex
from quintet.domain.permission.effects import Effect

MARKS = "{pyproject.toml,pytest.ini,conftest.py,package.json,Cargo.toml,go.mod,Makefile,test*/**/*.py}"
SECONDS = 600
NONE_FOUND = "no pyproject.toml, tests/, package.json, Cargo.toml, go.mod or Makefile that says how"
_COLOUR = regex(r"\x1b\[[0-9;]*m")
_FAILURE = regex(
    r"^(?:FAILED|ERROR) \S+|^(?:FAIL|ERROR): .+$"
    r"|^test \S+ \.\.\. FAILED|^\s*--- FAIL: \S+",
    re.M,
)


class TestRun(Struct, frozen=True):
    command: str
    output: str

    @property
    def ran(self) -> bool:
        return not refused(self.output)

    @property
    def passed(self) -> bool:
        return self.output.rstrip().endswith("exit 0")

    @property
    def gist(self) -> list[str]:
        plain = _COLOUR.sub("", self.output)
        lines = [line for line in plain.splitlines() if line.strip() and set(line) - set("-=. ")]
        return lines[-6:]

    @property
    def last_word(self) -> str:
        """The runner's own summary line, which stands before the exit code."""
        return self.gist[-2].strip("= ") if len(self.gist) > 1 else self.gist[-1]

    def failures(self) -> frozenset[str]:
        return frozenset(found[0].strip() for found in _FAILURE.finditer(_COLOUR.sub("", self.output)))


def no_worse(after: TestRun, before: TestRun) -> bool:
    """Whether a failing run fails no more than an earlier one did."""
    if after.failures() or before.failures():
        return bool(after.failures()) and after.failures() <= before.failures()
    return [_without_numbers(line) for line in after.gist] == [_without_numbers(line) for line in before.gist]


def _without_numbers(line: str) -> str:
    return re.sub(r"\d+(?:\.\d+)?", "0", line)


def run_tests(runner: str = "") -> Program:
    command = yield from _command((yield from ask("glob", {"pattern": MARKS})))
    if not command:
        return SayStep(f"No tests run: found {NONE_FOUND}.", done=False)
    if runner and runner not in command:
        return SayStep(f"No tests run: this project's tests run with {command}, not with {runner}.", done=False)
    run = yield from run_command(command)
    if not run.ran:
        return SayStep(f"Tests not run. {run.output}", done=False)
    told = "\n".join(f"  {line}" for line in run.gist)
    return SayStep(f"Tests {'passed' if run.passed else 'FAILED'}: {command}\n{told}", run.passed)


def command_if_unasked() -> Steps[str | None]:
    """The command that runs the tests, "" if there is none; None where running it would ask."""
    marks = yield from ask_if_unasked(Effect.BUILD, "glob", {"pattern": MARKS})
    return None if marks is None else (yield from _command(marks))


def run_command(command: str) -> Steps[TestRun]:
    output = yield from ask("bash", {"command": command, "timeout": SECONDS, "description": "run the tests"})
    return TestRun(command, output)


def _command(marks: str) -> Steps[str]:
    names = marks.splitlines()
    if "Cargo.toml" in names:
        return "cargo test"
    if "go.mod" in names:
        return "go test ./..."
    if "package.json" in names and (yield from _npm_has_tests()):
        return "npm test"
    if "pytest.ini" in names or any(name.endswith("conftest.py") for name in names):
        return "python3 -m pytest -q"
    tests = [name for name in names if name.endswith(".py")]
    if not tests:
        found = yield from ask("glob", {"pattern": "{test_*.py,*_test.py}"})
        tests = [name for name in found.splitlines() if name.endswith(".py")]
    if tests:
        uses = yield from ask("grep", {"pattern": r"^\s*(?:import|from) pytest\b|^def test_", "glob": "*.py"})
        return _unittest(tests) if uses == "no matches" else "python3 -m pytest -q"
    if "Makefile" in names:
        target = yield from ask("grep", {"pattern": "^test:", "path": "Makefile"})
        return "make test" if target.strip() == "Makefile" else ""
    return ""


def _npm_has_tests() -> Steps[bool]:
    (shown,) = yield from read_all(["package.json"])
    try:
        scripts = wire_json.decode(shown.text).get("scripts", {})
        return bool(scripts.get("test")) and "no test specified" not in scripts["test"]
    except (ValueError, AttributeError, TypeError):
        return False


def _unittest(tests: list[str]) -> str:
    tops = {name.partition("/")[0] for name in tests if "/" in name}
    top = tops.pop() if len(tops) == 1 else ""
    below = all(name.startswith(f"{top}/") for name in tests)
    folder = f" -s {top}" if below and re.fullmatch(r"test[\w.]*", top) else ""
    return f"python3 -m unittest discover{folder}"
