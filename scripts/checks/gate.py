"""The gate before a release: Python, format, lint, types, build, tests, and the built program answers.

Usage: scripts/check gate [--no-tests] [PYTEST ARGS…]; without arguments, all tests.

Each step is a line with its time; the first that fails ends it, with what it printed, and exit code 1. The program is
the one that was built: unpacked from the wheel into a folder of its own, with a home of its own and no model.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
OLDEST = (3, 11)
SECONDS = 3600.0


def main(words: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        site, project = Path(folder, "site-packages"), Path(folder, "project")
        project.mkdir()
        around = {**os.environ, "PYTHONPATH": str(site), "HOME": folder}
        for name in ("STATE", "CONFIG", "CACHE"):
            around[f"XDG_{name}_HOME"] = str(Path(folder, name.lower()))
        program = (sys.executable, "-P", "-m", "quintet")
        tests = [word for word in words if word != "--no-tests"]
        steps: list[tuple[str, Sequence[str], Path, dict[str, str] | None, str]] = [
            ("ruff format", (str(BIN / "ruff"), "format", "--check", "."), ROOT, None, ""),
            ("ruff check", (str(BIN / "ruff"), "check", "."), ROOT, None, ""),
            ("mypy", (str(BIN / "mypy"),), ROOT, None, ""),
            ("build", (*_build(), folder), ROOT, None, ""),
            ("tests", ("scripts/test", "--fast", *tests), ROOT, None, ""),
            ("quintet --version", (*program, "--version"), project, around, "quintet "),
            ("quintet --help", (*program, "--help"), project, around, "commands:"),
            ("quintet --print ping", (*program, "--print", "ping"), project, around, "pong"),
        ]
        if sys.version_info < OLDEST:
            return _failed("python --version", f"{sys.version} is older than {'.'.join(map(str, OLDEST))}")
        _said("python --version", 0.0, sys.version.split()[0])
        for name, argv, where, variables, expected in steps:
            if name == "tests" and "--no-tests" in words:
                continue
            begun = time.monotonic()
            done = subprocess.run(argv, cwd=where, env=variables, capture_output=True, text=True, timeout=SECONDS)
            if done.returncode or expected not in done.stdout:
                return _failed(name, f"{done.stdout}{done.stderr}\nexit code {done.returncode}")
            if name == "build":
                (wheel,) = Path(folder).glob("*.whl")
                ZipFile(wheel).extractall(site)
            _said(name, time.monotonic() - begun)
    print("the gate is passed")
    return 0


def _build() -> tuple[str, ...]:
    return (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", ".", "-w")


def _said(name: str, seconds: float, more: str = "") -> None:
    print(f"{name:<22} ok {seconds:7.1f} s  {more}".rstrip(), flush=True)


def _failed(name: str, told: str) -> int:
    print(f"{name:<22} failed\n\n{told}", flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
