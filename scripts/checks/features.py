"""Take each feature out of a copy of the project, folder and line in the registry, and look whether all else holds.

One copy serves for all: what is compiled and checked of the core is so once.

Usage: scripts/check features [--quick | --whole] [NAME…]; `all` is all at once, no name is each and then all at once.

Each feature alone: that nothing outside its folder names its package, that the program starts, lists its tools,
settings and findings and answers a prompt, the architecture test, the types, and those tests of the core that look at
the registry or name one of its tools or commands. Then all features at once: the same, with all of the core's tests.
What one feature's absence can break beyond that is what another's presence then still holds up, and for that the two
would have to know each other, which the architecture test rules out.

--whole runs all of the core's tests for each feature too, which takes hours. --quick takes minutes: of each feature
only what is named and that the program runs, and of all at once the architecture test and the types besides.

A test is the core's unless it stands in tests/features, or says that it looks at everything there is
(`pytestmark = pytest.mark.everything`). Exit code 1 if anything does not hold.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHIPPED = re.compile(r"SHIPPED: tuple\[str, \.\.\.\] = \(\n(.*?)\)", re.S)
CORE_TESTS = ("-m", "pytest", "-q", "-m", "not everything")
REGISTRY = ("quintet.features", "tool_registry")
AT_ONCE = "all"
ARCHITECTURE = "tests/test_architecture.py"
STARTS = (("--help",), ("tools", "list"), ("settings",), ("explain",), ("-p", "git status"))
TESTS = ("tests/domain", "tests/adapters", "tests/tools", "tests/engine", "tests/cli")


def main(words: list[str]) -> int:
    named = [word for word in words if not word.startswith("-")]
    registry = ROOT / "src/quintet/features/registry.py"
    listed = re.findall(r'"(\w+)"', (SHIPPED.search(registry.read_text()) or [""])[0])
    for name in named:
        if name not in (*listed, AT_ONCE):
            print(f"{name}: no such feature; there are {', '.join(listed)}")
            return 2
    tests = "none" if "--quick" in words else "all" if "--whole" in words else "near"
    runs = [((name,), tests) for name in named or listed if name != AT_ONCE]
    if not named or AT_ONCE in named:
        runs.append((tuple(listed), "architecture" if tests == "none" else "all"))
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="quintet-without-") as folder:
        copy = Path(folder, "copy")
        _copy(copy)
        for names, which in runs:
            begun = time.monotonic()
            with _taken_out(copy, names, Path(folder, "out")):
                problem = without(copy, names, which)
            wrong += bool(problem)
            shown = names[0] if len(names) == 1 else "all of them"
            print(f"{shown:<18} {problem or 'holds'}  ({time.monotonic() - begun:.0f} s)", flush=True)
    return 1 if wrong else 0


def without(copy: Path, names: tuple[str, ...], tests: str) -> str:
    """What does not hold in a copy; empty if all does. `tests` of the core's: none, architecture, near or all."""
    for name in names:
        if named := [str(path.relative_to(copy)) for path in _core(copy) if _named(name, path)]:
            return f"its package is named in {', '.join(named)}"
    steps = {f"quintet {' '.join(words)}": ("-m", "quintet", *words) for words in STARTS}
    if tests != "none":
        steps["the types"] = ("-m", "mypy")
        steps["the core's tests"] = (*CORE_TESTS, "-p", "no:xdist", ARCHITECTURE)
    if tests == "near":
        steps["the core's tests"] += tuple(_near(copy, names))
    if tests == "all":
        steps["the core's tests"] = (*CORE_TESTS, "-p", "no:xdist", "-n", "6", ARCHITECTURE, *TESTS)
    for what, words in steps.items():
        done = _run(copy, words)
        if done.returncode:
            lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
            return f"{what}: exit code {done.returncode}\n" + "\n".join(lines[-25:])
    return ""


def _named(name: str, path: Path) -> bool:
    return f"features.{name}" in (text := path.read_text()) and bool(re.search(rf"features\.{name}\b", text))


def _copy(copy: Path) -> None:
    """The project as it is, also what is not committed yet."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for file in files.splitlines():
        if (ROOT / file).is_file():
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, copy / file)
    subprocess.run(["git", "init", "-q"], cwd=copy, check=True)  # `git status` is asked of the program
    if (ROOT / ".mypy_cache").is_dir():  # so that only what has changed is looked at
        shutil.copytree(ROOT / ".mypy_cache", copy / ".mypy_cache")


@contextmanager
def _taken_out(copy: Path, names: tuple[str, ...], aside: Path) -> Iterator[None]:
    """The copy without these features, until the block ends."""
    registry, architecture = copy / "src/quintet/features/registry.py", copy / "docs/architecture.md"
    before = {path: path.read_text() for path in (registry, architecture)}
    moved: list[tuple[Path, Path]] = []
    for name in names:
        folders = (copy / "src/quintet/features" / name, copy / "tests/features" / name)
        moved += [(folder, aside / folder.relative_to(copy)) for folder in folders if folder.exists()]
        registry.write_text(registry.read_text().replace(f'    "{name}",\n', ""))
        row = re.compile(rf"^\| `features/{name}/` .*\n", re.M)
        architecture.write_text(row.sub("", architecture.read_text()))
    for here, there in moved:
        there.parent.mkdir(parents=True, exist_ok=True)
        here.rename(there)
    try:
        yield
    finally:
        for here, there in moved:
            shutil.rmtree(here, ignore_errors=True)  # what a step wrote there
            there.rename(here)
        for path, text in before.items():
            path.write_text(text)


def _core(copy: Path, folders: tuple[str, ...] = ("src", *TESTS)) -> list[Path]:
    return [path for folder in folders for path in sorted((copy / folder).rglob("*.py"))]


def _near(copy: Path, names: tuple[str, ...]) -> list[str]:
    """The core's tests that the absence of these features could reach without an import of theirs."""
    said = "|".join(re.escape(word) for name in names for word in _words_of(name))
    near = re.compile(rf"{'|'.join(map(re.escape, REGISTRY))}|[\"'/](?:{said})[\"' ]")
    paths = [path for path in _core(copy, TESTS) if path.name.startswith("test_")]
    return [str(path.relative_to(copy)) for path in paths if near.search(path.read_text())]


def _words_of(name: str) -> list[str]:
    """By which a test of the core could come to a feature: its name, its tools and its commands."""
    code = (
        "import sys; from importlib import import_module; f = import_module('quintet.features.' + sys.argv[1]).FEATURE;"
        "print(f.name, *(one.name for one in (*f.slash, *f.commands)), *(tool.partition(':')[2] for tool in f.tools))"
    )
    return subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True, check=True).stdout.split()


def _run(copy: Path, words: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """In the copy, whose sources come before the ones that are installed."""
    code = (
        f"import sys, runpy; sys.path[:0] = [{str(copy / 'src')!r}, {str(copy)!r}]; "
        f"sys.argv = {[words[1], *words[2:]]!r}; runpy.run_module({words[1]!r}, run_name='__main__')"
    )
    env = {"PYTHONPATH": f"{copy / 'src'}:{copy}"}
    if words[1] == "quintet":
        env |= {"HOME": str(copy), "XDG_STATE_HOME": str(copy / "state"), "XDG_CONFIG_HOME": str(copy / "config")}
    env = {**os.environ, **env}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # or every program compiles all of Quintet anew
    return subprocess.run([sys.executable, "-P", "-c", code], cwd=copy, env=env, capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
