"""Lint and format with the tools the project has configured, and with no others."""

from __future__ import annotations

import re

from msgspec import Struct

from quintet.adapters.offline_rules.intents import Tidy
from quintet.adapters.offline_rules.program_steps import Program, SayStep, Steps, ask, listed, read_all, refused
from quintet.domain.base import wire_json

MARKS = (
    "{pyproject.toml,setup.cfg,tox.ini,.flake8,ruff.toml,.ruff.toml,.pylintrc,.isort.cfg,package.json,eslint.config.*,"
    ".eslintrc*,.prettierrc*,prettier.config.*,go.mod,Cargo.toml}"
)
SECTIONS = r"^\[(?:tool[.:])?(?:ruff|black|isort|flake8|pylint)\b"
SECONDS = 300
_NOT_THERE = "exit 127"


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


def tidy(intent: Tidy) -> Program:
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
                return SayStep("\n".join(texts), done=False)
    return SayStep("\n".join(texts))


def _lint(tool: Tool) -> Program:
    output = yield from _run(tool.lint)
    if problem := _not_run(tool, output):
        return SayStep(problem, done=False)
    clean = output.rstrip().endswith("exit 0")
    return SayStep(f"{'Clean' if clean else 'NOT clean'}: {tool.lint}\n{_gist(output)}", clean)


def _format(tool: Tool) -> Program:
    output = yield from _run(tool.format)
    if problem := _not_run(tool, output):
        return SayStep(problem, done=False)
    if not output.rstrip().endswith("exit 0"):
        return SayStep(f"Formatting FAILED: {tool.format}\n{_gist(output)}", done=False)
    checked = ""
    if tool.check:
        check = yield from _run(tool.check)
        if check.strip() != "exit 0" and not (check.endswith("exit 0") and tool.name != "go"):
            return SayStep(f"Formatted by {tool.format}, but {tool.check} does not agree:\n{_gist(check)}", done=False)
        checked = f"\nchecked  {tool.check}: nothing left to format"
    return SayStep(f"Formatted: {tool.format}\n{_gist(output)}{checked}")


def _run(command: str) -> Steps[str]:
    return (yield from ask("bash", {"command": command, "timeout": SECONDS, "description": "lint or format"}))


def _not_run(tool: Tool, output: str) -> str:
    if refused(output):
        return f"{tool.name} not run. {output}"
    if output.rstrip().endswith(_NOT_THERE):
        return f"The project configures {tool.name}, which is not installed here."
    return ""


def _gist(output: str) -> str:
    return "\n".join(f"  {line}" for line in [line for line in output.splitlines() if line.strip()][-12:])


def _configured() -> Steps[set[str]]:
    marks = yield from ask("glob", {"pattern": MARKS})
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
