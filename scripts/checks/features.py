"""Takes each feature out of a copy of the project, its folder and its line in the registry, and looks whether all else
still holds: the architecture test, the types, and the tests of the core.

Usage: scripts/check features [--collect] [NAME…]; all of them if none is named. --collect only imports the tests.
A test is the core's unless it stands in tests/features, or says that it looks at everything there is
(`pytestmark = pytest.mark.everything`). Exit code 1 if anything does not hold.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHIPPED = re.compile(r"SHIPPED = \(\n(.*?)\)", re.S)
TESTS = ("tests/domain", "tests/adapters", "tests/tools", "tests/engine", "tests/cli")


def main(words: list[str]) -> int:
    collect = "--collect" in words
    named = [word for word in words if not word.startswith("-")]
    registry = ROOT / "src/quintet/features/registry.py"
    listed = re.findall(r'"(\w+)"', (SHIPPED.search(registry.read_text()) or [""])[0])
    wrong = 0
    for name in named or listed:
        if name not in listed:
            print(f"{name}: no such feature; there are {', '.join(listed)}")
            return 2
        begun = time.monotonic()
        problem = without(name, collect)
        wrong += bool(problem)
        print(f"{name:<18} {problem or 'holds'}  ({time.monotonic() - begun:.0f} s)", flush=True)
    return 1 if wrong else 0


def without(name: str, collect: bool) -> str:
    """What does not hold without a feature; empty if all does."""
    with tempfile.TemporaryDirectory(prefix="quintet-without-") as folder:
        copy = Path(folder)
        files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for file in files.splitlines():
            if (ROOT / file).is_file():
                (copy / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / file, copy / file)
        shutil.rmtree(copy / "src/quintet/features" / name)
        shutil.rmtree(copy / "tests/features" / name, ignore_errors=True)
        registry = copy / "src/quintet/features/registry.py"
        registry.write_text(registry.read_text().replace(f'    "{name}",\n', ""))
        architecture = copy / "docs/architecture.md"
        row = re.compile(rf"^\| `features/{name}/` .*\n", re.M)
        architecture.write_text(row.sub("", architecture.read_text()))
        steps = {
            "the architecture test": ("-m", "pytest", "-q", "tests/test_architecture.py"),
            "the types": ("-m", "mypy"),
            "the core's tests": ("-m", "pytest", "-q", "-n", "4", "-m", "not everything", *TESTS),
        }
        if collect:
            steps["the core's tests"] = ("-m", "pytest", "-q", "--collect-only", "-m", "not everything", *TESTS)
        for what, words in steps.items():
            done = _run(copy, words)
            if done.returncode:
                lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
                return f"{what} fail{'s' if what.endswith('test') else ''}:\n" + "\n".join(lines[-25:])
    return ""


def _run(copy: Path, words: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """In the copy, whose sources come before the ones that are installed."""
    code = (
        f"import sys, runpy; sys.path[:0] = [{str(copy / 'src')!r}, {str(copy)!r}]; "
        f"sys.argv = {[words[1], *words[2:]]!r}; runpy.run_module({words[1]!r}, run_name='__main__')"
    )
    env = {"PYTHONPATH": f"{copy / 'src'}:{copy}", "MYPYPATH": str(copy / "src")}
    import os

    return subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=copy, env={**os.environ, **env}, capture_output=True, text=True
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
