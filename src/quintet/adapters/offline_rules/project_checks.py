"""The project's own checks: which command runs its tests, found in its files, and what a run said; lint and format.

Only tools that the project has configured lint and format.
"""

from __future__ import annotations

import re

from msgspec import Struct

from quintet.adapters.offline_rules.intents import LintOrFormat, RunTests
from quintet.adapters.offline_rules.program_steps import (
    Program,
    SayStep,
    Steps,
    ask,
    ask_if_unasked,
    listed,
    read_all,
    refused,
)
from quintet.domain.base import wire_json
from quintet.domain.base.lazy_regex import regex
from quintet.domain.journal.reasons import NOT_RUN
from quintet.domain.permission.effects import Effect

TEST_MARKS = "{pyproject.toml,pytest.ini,conftest.py,package.json,Cargo.toml,go.mod,Makefile,test*/**/*.py}"
TEST_SECONDS = 600
NONE_FOUND = "no pyproject.toml, tests/, package.json, Cargo.toml, go.mod or Makefile that says how"
_COLOUR = regex(r"\x1b\[[0-9;]*m")
_FAILURE = regex(
    r"^(?:FAILED|ERROR) \S+|^(?:FAIL|ERROR): .+$"
    r"|^test \S+ \.\.\. FAILED|^\s*--- FAIL: \S+",
    re.M,
)
LINT_MARKS = (
    "{pyproject.toml,setup.cfg,tox.ini,.flake8,ruff.toml,.ruff.toml,.pylintrc,.isort.cfg,package.json,eslint.config.*,"
    ".eslintrc*,.prettierrc*,prettier.config.*,go.mod,Cargo.toml}"
)
SECTIONS = r"^\[(?:tool[.:])?(?:ruff|black|isort|flake8|pylint)\b"
LINT_SECONDS = 300
_NOT_THERE = "exit 127"
_NO_RUNNER = regex(r"^\S*python[\w.]*: No module named \S+$", re.M)
_MARKED = (
    ("ruff", r"\.?ruff\.toml"),
    ("flake8", r"\.flake8"),
    ("pylint", r"\.pylintrc"),
    ("isort", r"\.isort\.cfg"),
    ("eslint", r"eslint\.config\..*|\.eslintrc.*"),
    ("prettier", r"\.prettierrc.*|prettier\.config\..*"),
    ("go", r"go\.mod"),
    ("cargo", r"Cargo\.toml"),
)


class TestRun(Struct, frozen=True):
    command: str
    output: str

    @property
    def ran(self) -> bool:
        return not refused(self.output)

    @property
    def began(self) -> bool:
        """Whether the program that runs the tests is there."""
        return not (_NO_RUNNER.search(self.output) or self.output.rstrip().endswith(_NOT_THERE))

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
    command = yield from _command((yield from ask("glob", {"pattern": TEST_MARKS})))
    if not command:
        return SayStep(f"No tests run: found {NONE_FOUND}.", done=False)
    if runner and runner not in command:
        return SayStep(f"No tests run: this project's tests run with {command}, not with {runner}.", done=False)
    return tests_said((yield from run_command(command)))


def tests_said(run: TestRun) -> SayStep:
    if not run.ran:
        return SayStep(f"Tests not run: {run.output.removeprefix(NOT_RUN)}", done=False)
    told = "\n".join(f"  {line}" for line in run.gist)
    text = f"Tests {'passed' if run.passed else 'FAILED'}: {run.command}\n{told}"
    return SayStep(text, run.passed, failed=not run.passed)


def command_if_unasked() -> Steps[str | None]:
    """The command that runs the tests, "" if there is none; None where running it would ask."""
    marks = yield from ask_if_unasked(Effect.BUILD, "glob", {"pattern": TEST_MARKS})
    return None if marks is None else (yield from _command(marks))


def command_of(wanted: RunTests) -> Steps[str]:
    """The command that runs the tests, "" if there is none that the request can mean."""
    command = yield from _command((yield from ask("glob", {"pattern": TEST_MARKS})))
    return command if wanted.runner in command else ""


def run_command(command: str) -> Steps[TestRun]:
    output = yield from ask("bash", {"command": command, "timeout": TEST_SECONDS, "description": "run the tests"})
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
        return _unittest(tests) if not listed(uses)[0] else "python3 -m pytest -q"
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


class Tool(Struct, frozen=True):
    name: str
    lint: str = ""
    format: str = ""
    check: str = ""  # shows that formatting is done


TOOLS: tuple[Tool, ...] = (
    Tool("ruff", "ruff check --no-fix .", "ruff format .", "ruff format --check ."),
    Tool("black", "", "black -q .", "black --check -q ."),
    Tool("isort", "isort --check-only .", "isort -q .", "isort --check-only ."),
    Tool("flake8", "flake8 ."),
    Tool("pylint", "pylint --recursive=y ."),
    Tool("npm run lint", "npm run lint"),
    Tool("npm run format", "", "npm run format"),
    Tool("eslint", "npx --no-install eslint ."),
    Tool("prettier", "", "npx --no-install prettier --write .", "npx --no-install prettier --check ."),
    Tool("go", "go vet ./...", "go fmt ./...", "gofmt -l ."),
    Tool("cargo", "cargo clippy", "cargo fmt", "cargo fmt --check"),
)


def tidy(intent: LintOrFormat) -> Program:
    configured = yield from _configured()
    texts: list[str] = []
    for job in [job for job, wanted in (("format", intent.format), ("lint", intent.lint)) if wanted]:
        tools = [tool for tool in TOOLS if tool.name in configured and getattr(tool, job)]
        if job == "format" and "black" in configured:  # then ruff is there to lint
            tools = [tool for tool in tools if tool.name != "ruff"]
        if not tools:
            texts.append(
                f"Nothing to {job} with: the project configures no {'formatter' if job == 'format' else 'linter'}."
            )
            return SayStep("\n".join(texts), done=False)
        for tool in tools:
            said = yield from (_format(tool) if job == "format" else _lint(tool))
            texts.append(said.text)
            if not said.done:
                return SayStep("\n".join(texts), done=False, failed=said.failed)
    return SayStep("\n".join(texts))


def _lint(tool: Tool) -> Program:
    output = yield from _run(tool.lint)
    if problem := _not_run(tool, output):
        return SayStep(problem, done=False)
    clean = output.rstrip().endswith("exit 0")
    return SayStep(f"{'Clean' if clean else 'NOT clean'}: {tool.lint}\n{_gist(output)}", clean, failed=not clean)


def _format(tool: Tool) -> Program:
    output = yield from _run(tool.format)
    if problem := _not_run(tool, output):
        return SayStep(problem, done=False)
    if not output.rstrip().endswith("exit 0"):
        return SayStep(f"Formatting FAILED: {tool.format}\n{_gist(output)}", done=False, failed=True)
    checked = ""
    if tool.check:
        check = yield from _run(tool.check)
        if check.strip() != "exit 0" and not (check.endswith("exit 0") and tool.name != "go"):
            told = f"Formatted by {tool.format}, but {tool.check} still reports:\n{_gist(check)}"
            return SayStep(told, done=False, failed=True)
        checked = f"\nchecked  {tool.check}: nothing left to format"
    return SayStep(f"Formatted: {tool.format}\n{_gist(output)}{checked}")


def _run(command: str) -> Steps[str]:
    return (yield from ask("bash", {"command": command, "timeout": LINT_SECONDS, "description": "lint or format"}))


def _not_run(tool: Tool, output: str) -> str:
    if refused(output):
        return f"{tool.name} not run. {output}"
    if output.rstrip().endswith(_NOT_THERE):
        return f"The project configures {tool.name}, which is not installed."
    return ""


def _gist(output: str) -> str:
    return "\n".join(f"  {line}" for line in [line for line in output.splitlines() if line.strip()][-12:])


def _configured() -> Steps[set[str]]:
    marks = yield from ask("glob", {"pattern": LINT_MARKS})
    names = [name for name in listed(marks, "no files match")[0] if "/" not in name]
    found = {tool for tool, mark in _MARKED if any(re.fullmatch(mark, name) for name in names)}
    if {"pyproject.toml", "setup.cfg", "tox.ini"} & set(names):
        where = {"pattern": SECTIONS, "glob": "/{pyproject.toml,setup.cfg,tox.ini}", "output_mode": "content"}
        sections = yield from ask("grep", where)
        found |= set(re.findall(r"\[(?:tool[.:])?(ruff|black|isort|flake8|pylint)\b", sections))
    if "package.json" in names:
        found |= yield from _from_package()
    if "npm run lint" in found:
        found.discard("eslint")
    if "npm run format" in found:
        found.discard("prettier")
    return found


def _from_package() -> Steps[set[str]]:
    (shown,) = yield from read_all(["package.json"])
    try:
        package = wire_json.decode(shown.text)
    except ValueError:
        return set()
    if not isinstance(package, dict):
        return set()
    scripts = package.get("scripts") or ()
    found = {f"npm run {name}" for name in ("lint", "format") if name in scripts}
    return found | {tool for key, tool in (("eslintConfig", "eslint"), ("prettier", "prettier")) if key in package}
