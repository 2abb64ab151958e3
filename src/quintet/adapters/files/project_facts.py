"""Reads what a project's files say of it: its languages, the commands its manifests name, its layout.

Nothing is run, no link is followed, and what is hidden, generated or huge is passed over.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from quintet.domain.agents.project_facts import AGENTS_MD, FoundCommand, ProjectFacts
from quintet.domain.base.lazy_regex import regex

MOST_FILES = 20_000
MOST_BYTES = 200_000  # of a manifest
MOST_SHOWN = 12  # folders
PASSED_OVER = frozenset({"node_modules", "target", "build", "dist", "vendor", "venv", "env", "__pycache__", "coverage"})
PAGES = (AGENTS_MD, "CLAUDE.md", "GEMINI.md")
LANGUAGES = {
    ".py": "Python", ".js": "JavaScript", ".jsx": "JavaScript", ".mjs": "JavaScript", ".ts": "TypeScript",
    ".tsx": "TypeScript", ".go": "Go", ".rs": "Rust", ".java": "Java", ".kt": "Kotlin", ".c": "C", ".h": "C",
    ".cc": "C++", ".cpp": "C++", ".hpp": "C++", ".cs": "C#", ".rb": "Ruby", ".php": "PHP", ".swift": "Swift",
    ".scala": "Scala", ".sh": "Shell", ".sql": "SQL", ".lua": "Lua", ".ex": "Elixir", ".hs": "Haskell",
}  # fmt: skip
USES = {
    "build": "build", "compile": "build", "test": "test", "tests": "test", "check": "check", "lint": "lint",
    "fmt": "format", "format": "format", "typecheck": "types", "types": "types", "start": "run", "dev": "run",
    "run": "run",
}  # fmt: skip
_TARGET = regex(r"^([a-z][\w-]*)\s*:(?!=)")


def look(root: str, name: str) -> ProjectFacts:
    languages: Counter[str] = Counter()
    folders: Counter[str] = Counter()
    for path in _files(root):
        top, below, _ = path.partition("/")
        if below:
            folders[top] += 1
        if language := LANGUAGES.get(os.path.splitext(path)[1].lower()):
            languages[language] += 1
    return ProjectFacts(
        name=name,
        about=_about(root),
        languages=tuple(languages.most_common(5)),
        commands=tuple({(one.use, one.line): one for one in _commands(root)}.values()),
        folders=tuple(sorted(folders.most_common(MOST_SHOWN))),
        there=tuple(page for page in PAGES if os.path.lexists(os.path.join(root, page))),
    )


def _files(root: str) -> Iterator[str]:
    seen = 0
    for folder, below, files in os.walk(root):
        below[:] = sorted(one for one in below if not one.startswith(".") and one not in PASSED_OVER)
        for name in files:
            seen += 1
            if seen > MOST_FILES:
                return
            yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")


def _text(root: str, name: str) -> str:
    """The beginning of a file of the project; empty if there is none that can be read."""
    try:
        handle = os.open(os.path.join(root, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    with suppress(OSError), open(handle, "rb") as file:
        return file.read(MOST_BYTES).decode("utf-8", "replace")
    return ""


def _about(root: str) -> str:
    """The first paragraph of the README that is prose."""
    text = next(filter(None, (_text(root, name) for name in ("README.md", "README.rst", "README"))), "")
    for block in text.split("\n\n"):
        words = " ".join(block.split())
        if words[:1].isalnum() and len(words) > 20:
            return words if len(words) <= 300 else f"{words[:299]}…"
    return ""


def _commands(root: str) -> Iterator[FoundCommand]:
    yield from _npm(root)
    yield from _python(root)
    for manifest, lines in (
        ("Cargo.toml", {"build": "cargo build", "test": "cargo test", "lint": "cargo clippy", "format": "cargo fmt"}),
        ("go.mod", {"build": "go build ./...", "test": "go test ./...", "lint": "go vet ./..."}),
        ("pom.xml", {"build": "mvn package", "test": "mvn test"}),
    ):
        if _text(root, manifest):
            yield from (FoundCommand(use, line, manifest) for use, line in lines.items())
    for line in _text(root, "Makefile").splitlines():
        if (target := _TARGET.match(line)) and (use := USES.get(target[1])):
            yield FoundCommand(use, f"make {target[1]}", "Makefile")


def _npm(root: str) -> Iterator[FoundCommand]:
    try:
        scripts = json.loads(_text(root, "package.json") or "{}").get("scripts") or {}
    except (ValueError, AttributeError, RecursionError):
        return
    locks = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn"}
    runner = next((tool for lock, tool in locks.items() if os.path.exists(os.path.join(root, lock))), "npm")
    for name in scripts if isinstance(scripts, dict) else ():
        if use := USES.get(str(name)):
            yield FoundCommand(use, f"{runner} run {name}", "package.json")


def _python(root: str) -> Iterator[FoundCommand]:
    text, source = _text(root, "pyproject.toml"), "pyproject.toml"
    tools: dict[str, Any] = {}
    with suppress(tomllib.TOMLDecodeError, AttributeError):
        tools = tomllib.loads(text).get("tool", {})
    before = "uv run " if os.path.exists(os.path.join(root, "uv.lock")) else ""
    tested = "pytest" in tools or bool(_text(root, "pytest.ini"))
    if tested or (text and os.path.isdir(os.path.join(root, "tests"))):
        yield FoundCommand("test", f"{before}python -m pytest", source if text else "pytest.ini")
    if "ruff" in tools:
        yield FoundCommand("lint", f"{before}ruff check", source)
        yield FoundCommand("format", f"{before}ruff format", source)
    if "mypy" in tools:
        yield FoundCommand("types", f"{before}mypy .", source)
