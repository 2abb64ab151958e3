"""Twelve tasks with dependencies and overlapping files: four workers beside one, by the clock on the wall.

python bench/parallel.py [--workers 4] [--seconds 2] [--json]. Each task's edit takes --seconds (a hook that sleeps
before it), the rest is Quintet's own. The result of both runs has to be the same files, and the journal has to show
that tasks waited for the claims of others.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic
from typing import Any

from _table import say, table, verdict

MOST_RATIO = 0.45
GIT = ("git", "-c", "user.name=Bench", "-c", "user.email=bench@example.org")
TASKS = (
    ("t01", 'create the file a1.txt with "one"', "", "a1.txt"),
    ("t02", 'create the file a2.txt with "two"', "", "a2.txt"),
    ("t03", 'replace "alpha" with "ALPHA" in shared.txt', "", "shared.txt"),
    ("t04", 'replace "omega" with "OMEGA" in shared.txt', "", "shared.txt"),
    ("t05", 'create the file docs/guide.md with "guide"', "", "docs/"),
    ("t06", 'create the file docs/faq.md with "faq"', "", "docs/faq.md"),
    ("t07", 'create the file b1.txt with "after a1"', "t01", "b1.txt"),
    ("t08", 'replace "two" with "zwei" in a2.txt', "t02", "a2.txt"),
    ("t09", 'create the file b3.txt with "after both"', "t01, t02", "b3.txt"),
    ("t10", 'create the file c1.txt with "alone"', "", "c1.txt"),
    ("t11", 'create the file c2.txt with "alone too"', "", "c2.txt"),
    ("t12", 'create the file d1.txt with "last"', "t07", "d1.txt"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workers", type=int, default=4, metavar="N", help="beside one (4)")
    parser.add_argument("--seconds", type=float, default=2.0, metavar="S", help="that each edit takes (2)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args()
    one, several = measure(1, wanted.seconds), measure(wanted.workers, wanted.seconds)
    ratio = several["seconds"] / one["seconds"]
    summary = {
        "tasks": len(TASKS),
        "one": one,
        "several": several,
        "ratio": round(ratio, 3),
        "met": ratio <= MOST_RATIO,
        "same_result": one["files"] == several["files"],
        "all_done": one["done"] == several["done"] == len(TASKS),
    }
    rows = [
        (str(run["workers"]), f"{run['seconds']:.1f}", str(run["done"]), str(len(run["waited"])))
        for run in (one, several)
    ]
    text = [
        table(("workers", "seconds", "done", "waits"), rows),
        "",
        f"ratio {ratio:.2f}, most {MOST_RATIO}: {verdict(bool(summary['met']))}",
        f"the same files: {verdict(bool(summary['same_result']))}; all done: {verdict(bool(summary['all_done']))}",
    ]
    say("\n".join(text), summary, wanted.json)
    return 0


def measure(workers: int, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="quintet-bench-") as folder:
        root, around = project(Path(os.path.realpath(folder)), seconds)
        words = ("parallel", str(workers), "--permission-profile", "normal", "--json")
        began = monotonic()
        said = json.loads(quintet(root, around, *words))
        taken = monotonic() - began
        return {
            "workers": workers,
            "seconds": round(taken, 2),
            "done": sum(status == "done" for status in said["tasks"].values()),
            "left": said["left"],
            "waited": waited(root, around),
            "files": files(root),
        }


def project(folder: Path, seconds: float) -> tuple[Path, dict[str, str]]:
    """A repository with the tasks, and the environment that it is worked on in."""
    root, config = folder / "project", folder / "config" / "quintet"
    for path in (root / "docs", config, folder / "home"):
        path.mkdir(parents=True)
    around = {**os.environ, "HOME": str(folder / "home"), "XDG_CONFIG_HOME": str(config.parent)}
    around |= {"XDG_STATE_HOME": str(folder / "state"), "XDG_CACHE_HOME": str(folder / "cache")}
    (root / "shared.txt").write_text("alpha\n" + "between\n" * 20 + "omega\n")
    (root / "docs/index.md").write_text("index\n")
    hook = f'grep -Eq \'"tool_name": *"(Write|Edit)"\' && sleep {seconds:g}; true'
    (config / "settings.toml").write_text(f"[hooks]\npre_tool_use = [{json.dumps(hook)}]\n")
    for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "Begin")):
        subprocess.run([*GIT, *words], cwd=root, check=True)
    pages = folder / "pages"
    pages.mkdir()
    for id, body, needs, intent in TASKS:
        head = f"---\nid: {id}\ntitle: {body}\ndepends_on: [{needs}]\nintent: [{intent}]\n"
        named = body.split(" with ")[0].split()[-1] if body.startswith("create") else body.split()[-1]
        (pages / f"{id}.md").write_text(f"{head}verification: test -f {named}\n---\n{body}\n")
    quintet(root, around, "tasks", "add", *(str(pages / f"{id}.md") for id, *_ in TASKS))
    return root, around


def quintet(root: Path, around: dict[str, str], *words: str) -> str:
    argv = [sys.executable, "-m", "quintet", *words]
    done = subprocess.run(argv, cwd=root, env=around, capture_output=True, text=True, timeout=600)
    if not done.stdout:
        raise SystemExit(f"quintet {' '.join(words)}: {done.stderr}")
    return done.stdout


def waited(root: Path, around: dict[str, str]) -> list[str]:
    """What the journals say of waiting for a claim."""
    found = []
    for session in json.loads(quintet(root, around, "sessions", "list", "--json")):
        lines = quintet(root, around, "sessions", "show", session["session"], "--events").splitlines()
        found += [json.loads(line).get("text", line) for line in lines if '"WAITED_FOR_CLAIM"' in line]
    return sorted(found)


def files(root: Path) -> dict[str, str]:
    listed = subprocess.run(["git", "ls-tree", "-r", "HEAD"], cwd=root, capture_output=True, text=True, check=True)
    return {line.partition("\t")[2]: line.split()[2] for line in listed.stdout.splitlines()}


if __name__ == "__main__":
    sys.exit(main())
