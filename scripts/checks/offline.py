"""The offline rules on real packages: renames proved by a package's own tests, refusals, and requests that run nothing.

scripts/check offline FOLDER, where FOLDER holds source distributions (`pip download --no-binary :all: --no-deps NAME`).
Each is unpacked into a temporary git repository. Functions that both the package and its tests use are renamed, one
after the other; after each rename the tests must say what they said before, and every changed line must differ by that
name alone. What is refused must leave every file as it was.
"""

from __future__ import annotations

import ast
import collections
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

BIN = Path(sys.executable).parent
RENAMES = 12  # tried in each package
UNMATCHED = ("make it faster", "fix the bug and then run the tests", "rename everything to lowercase")


class Project:
    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        self.env = {**os.environ, "HOME": str(home), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
        for name in ("state", "config", "cache"):
            self.env[f"XDG_{name.upper()}_HOME"] = str(home / name)
        identity = ("-c", "user.name=check", "-c", "user.email=check@localhost")
        self.git("init", "-q")
        Path(root, ".git/info/exclude").write_text("__pycache__/\n.pytest_cache/\n")
        self.git("add", "-A")
        self.git(*identity, "commit", "-q", "-m", "as it came")

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.root, env=self.env, check=True, capture_output=True, text=True)
        return done.stdout

    def ask(self, request: str) -> tuple[int, str, int]:
        """Exit code, answer, and how many tools ran."""
        flags = ("--mode", "build", "--permission-profile", "trusted", "--output-format", "stream-json")
        command = [str(BIN / "quintet"), "-p", request, *flags]
        done = subprocess.run(command, cwd=self.root, env=self.env, capture_output=True, text=True, timeout=900)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return done.returncode, lines[-1]["answer"], sum(line.get("type") == "tool_started" for line in lines)

    def tests(self) -> str:
        """What the tests say, times left out."""
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no"]
        done = subprocess.run(command, cwd=self.root, env=self.env, capture_output=True, text=True, timeout=900)
        return re.sub(r" in [\d.]+s.*", "", (done.stdout.strip().splitlines() or ["nothing"])[-1])

    def shared_functions(self) -> list[str]:
        """Functions at the top of the package's modules that its tests use too."""
        defined: collections.Counter[str] = collections.Counter()
        used: set[str] = set()
        for path in sorted(self.root.rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            if "test" in str(path.relative_to(self.root)):
                used |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
                used |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            else:
                defined.update(node.name for node in tree.body if isinstance(node, ast.FunctionDef))
        return [name for name in defined if name in used and not name.startswith("__")]


def check(project: Project) -> tuple[collections.Counter[str], list[str]]:
    counts: collections.Counter[str] = collections.Counter()
    wrong: list[str] = []
    before = project.tests()
    names = project.shared_functions()[:RENAMES]
    for name in names:
        code, answer, _ = project.ask(f"rename {name} to {name}_renamed")
        changed = project.git("diff", "--unified=0")
        if code == 0:
            counts["renamed"] += 1
            counts["places"] += int(re.findall(r"(\d+) places?\b", answer)[0])
            if (after := project.tests()) != before:
                wrong.append(f"{name}: tests said {before!r}, now {after!r}, and yet: {answer}")
            if not _only_renames(changed, name):
                wrong.append(f"{name}: the diff holds more than the rename")
        else:
            counts["rolled back" if "Rolled back" in answer else "refused"] += 1
            if changed:
                wrong.append(f"{name}: refused, but files changed")
            if "Rolled back" not in answer and not re.search(r"^  \S+:\d+:", answer, re.M):
                wrong.append(f"{name}: refused without its places: {answer}")
        project.git("checkout", "-q", ".")
    wrong += _ambiguous(project, names, counts) + _unmatched(project, counts)
    print(f"{project.root.name}: tests {before}; {', '.join(f'{what} {count}' for what, count in counts.items())}")
    return counts, wrong


def _only_renames(diff: str, name: str) -> bool:
    removed = [line[1:] for line in diff.splitlines() if line.startswith("-") and not line.startswith("---")]
    added = [line[1:] for line in diff.splitlines() if line.startswith("+") and not line.startswith("+++")]
    return bool(added) and [re.sub(rf"\b{name}_renamed\b", name, line) for line in added] == removed


def _ambiguous(project: Project, names: list[str], counts: collections.Counter[str]) -> list[str]:
    """A second definition makes a name ambiguous: it is refused with both places."""
    wrong = []
    second = project.root / "second_definition.py"
    for name in names[:3]:
        second.write_text(f"def {name}():\n    return None\n")
        code, answer, _ = project.ask(f"rename {name} to {name}_renamed")
        places = re.findall(r"^  (\S+:\d+): function ", answer, re.M)
        counts["ambiguous refused"] += code == 3
        if code != 3 or "second_definition.py:1" not in places or len(places) < 2 or project.git("diff"):
            wrong.append(f"{name}: ambiguous, and yet: {answer}")
    second.unlink()
    return wrong


def _unmatched(project: Project, counts: collections.Counter[str]) -> list[str]:
    wrong = []
    for request in UNMATCHED:
        code, answer, ran = project.ask(request)
        counts["unmatched, nothing run"] += code == 3 and not ran
        if code != 3 or ran or "Nothing was run" not in answer or project.git("status", "--short"):
            wrong.append(f"{request}: {ran} tools ran, exit {code}")
    return wrong


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    archives = sorted(Path(sys.argv[1]).glob("*.tar.gz"))
    if not archives:
        print(f"{sys.argv[1]}: no *.tar.gz there")
        return 2
    wrong: list[str] = []
    for archive in archives:
        with tempfile.TemporaryDirectory(prefix="quintet-offline-") as folder:
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
            (root,) = (path for path in Path(folder).iterdir() if path.is_dir())
            for package in (root / "src").glob("*"):  # beside the tests, or they would be about what is installed
                package.rename(root / package.name)
            home = Path(folder, "home")
            home.mkdir()
            wrong += [f"{root.name}: {line}" for line in check(Project(root, home))[1]]
    print("\n".join(wrong) or "nothing wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
