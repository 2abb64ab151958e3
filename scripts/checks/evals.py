"""Hold evals to what they promise: the suite on the scripted model and the offline rules, and tasks made from commits.

scripts/check evals [--part suite|commits|clis] [--from REPOSITORY] [--bin-dir DIR] [--only NAME,…] [--trials N]
                    [--workers N]

suite: every task of basics so often (3) with so many workers (4), twice with one seed. The tables have to be the same;
`script` passes all trials, `builtin` those of the tasks that are marked as the offline rules' own. Cores are CPU
seconds of everything that was started, by seconds; on a machine with nothing else to do they have to be 1.7. On a busy
one it is told how many processes of a run could have run at each moment, at most as many as there are cores.
commits: `quintet eval new --last 20` in a clone of a repository with tests, by pytest or unittest. At least 15 have to
become tasks; tried by who does nothing, each of them has to fail.
clis: the real codex, claude and gemini, on PATH or in --bin-dir, do every task of basics once. Their model is on
loopback and does what the page of the task says, by the tools that each of them offers. All have to pass but those
whose work is in .git, which Quintet keeps read-only for them: these are not tried. Then they do
one task of two, by a line that also looks for the pages of the tasks, and writes over them: one has to pass and one to
fail, the pages have to stay, and nothing of them may be found.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _solving_server import solving
from ai_clis import led, prepared

from quintet.domain.tasks.executors import AI_CLIS
from quintet.features.evals.tasks import EvalTask, find_suite, read_suite

CORES, COMMITS, FEWEST = 1.7, 20, 15
RUN_SECONDS = 3600
CANARY = "canary-of-the-answers"
PAGE = f"""
request = "Make NAME, then say DONE."
solution.run = ["LINE"]
[[checks]]
file = "RESULT"
text = "made"
[[checks]]
file = "found.txt"
lacks = ["{CANARY}"]
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/check evals", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--part", choices=("suite", "commits", "clis"), help="only this")
    parser.add_argument("--from", dest="repository", type=Path, help="a repository for the part commits")
    parser.add_argument("--bin-dir", default="", help="where the AI CLIs are, if not on PATH")
    parser.add_argument("--only", default=",".join(AI_CLIS), help="only these AI CLIs")
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--workers", type=int, default=4)
    words = parser.parse_args()
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="quintet-evals-") as place:
        os.environ |= {
            "HOME": f"{place}/home",
            "XDG_STATE_HOME": f"{place}/state",
            "XDG_CONFIG_HOME": f"{place}/config",
        }
        os.mkdir(os.environ["HOME"])
        if words.part == "clis":
            failures += clis(Path(place, "clis"), words.bin_dir, words.only.split(","), words.workers)
        elif words.part != "commits":
            failures += suite(Path(place, "project"), words.trials, words.workers)
        if words.part in (None, "commits") and words.repository:
            failures += commits(Path(place), words.repository)
        elif words.part == "commits":
            parser.error("the part commits needs --from REPOSITORY")
    for failure in failures:
        print(f"FAILED {failure}")
    return 1 if failures else 0


def quintet(folder: Path, *words: str, watch: list[int] | None = None) -> Any:
    """What a command says as JSON; to `watch` comes, ten times a second, how many of its processes can run."""
    argv = [sys.executable, "-P", "-m", "quintet", "eval", *words, "--json"]
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(argv, cwd=folder, stdout=said, stderr=errors)
        began = time.monotonic()
        while process.poll() is None:
            if watch is not None:
                watch.append(runnable(process.pid))
            if time.monotonic() - began > RUN_SECONDS:
                process.kill()
            time.sleep(0.1)
        said.seek(0)
        errors.seek(0)
        try:
            return json.loads(said.read())
        except json.JSONDecodeError:
            raise SystemExit(f"quintet eval {' '.join(words)}: {errors.read().strip()[-500:]}") from None


def runnable(root: int) -> int:
    """How many of a process and of those below it run, wait for a core or for the disk."""
    parents: dict[int, int] = {}
    states: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            pid = int(entry.name)
            state, parent, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
            parents[pid], states[pid] = int(parent), state
    found, more = {root}, True
    while more:
        new = {pid for pid, parent in parents.items() if parent in found} - found
        more = bool(new)
        found |= new
    return sum(states.get(pid, "") in ("R", "D") for pid in found)


def suite(folder: Path, trials: int, workers: int) -> list[str]:
    folder.mkdir()
    flags = ("--model", "script", "--model", "builtin", "--trials", str(trials), "--workers", str(workers))
    seen: list[int] = []
    first, second = (quintet(folder, "run", "basics", *flags, "--seed", "11", watch=seen) for _ in range(2))
    failures = [] if table(first) == table(second) else ["the same seed gives two tables"]
    offline = sum(task.page.rules for task in find_suite("basics").tasks)
    wanted = {"script": len(first["tasks"]) * trials, "builtin": offline * trials}
    for run in (first, second):
        for arm in run["arms"]:
            passed, graded = arm["rate"]["passed"], arm["rate"]["graded"]
            print(f"{run['run']} {arm['arm']}: {passed}/{graded}, {arm['ungraded']} not graded")
            if (passed, arm["ungraded"]) != (wanted[arm["arm"]], 0):
                failures.append(f"{arm['arm']}: {wanted[arm['arm']]} were to pass")
        cores = run["cpu_seconds"] / run["seconds"]
        load = os.getloadavg()[0]
        print(f"{run['run']}: {run['seconds']:.1f} s, {cores:.2f} cores of {os.cpu_count()}, load {load:.1f}")
    at_once = sum(min(one, os.cpu_count() or 1) for one in seen) / len(seen)
    print(f"processes that could run, at most {os.cpu_count()}: {at_once:.2f} on average")
    best = max(run["cpu_seconds"] / run["seconds"] for run in (first, second))
    if best < CORES and os.getloadavg()[0] < workers + 1:
        failures.append(f"{best:.2f} cores; at least {CORES}")
    return failures


def table(run: Any) -> list[Any]:
    """What the same seed gives again."""
    kept = ("case", "arm", "number", "verdict", "reason", "requests", "calls", "usage", "cost")
    return [[one[key] for key in kept] for one in run["results"]]


def commits(place: Path, repository: Path) -> list[str]:
    clone = place / "clone"
    subprocess.run(["git", "clone", "-q", str(repository), str(clone)], check=True, timeout=RUN_SECONDS)
    made = quintet(clone, "new", "--last", str(COMMITS))
    for one in made["made"]:
        print(f"{one['task']}: fails before ({one['fails_before'][:100]}), passes on the commit")
    for one in made["failed"]:
        print(f"not made: {one['reason'][:160]}")
    print(f"{len(made['made'])} tasks of {COMMITS} commits")
    failures = [] if len(made["made"]) >= FEWEST else [f"{len(made['made'])} tasks; at least {FEWEST}"]
    tried = quintet(clone, "run", made["suite"], "--model", "script:0")
    (rate,) = (arm["rate"] for arm in tried["arms"])
    print(f"by who does nothing: {rate['passed']} of {rate['graded']} passed")
    if rate["passed"] or rate["graded"] != len(made["made"]):
        failures.append("a task passes without work, or is not graded")
    return failures


def clis(place: Path, folder: str, names: list[str], workers: int) -> list[str]:
    place.mkdir()
    if folder:
        os.environ["PATH"] = f"{os.path.abspath(folder)}:{os.environ['PATH']}"
    if missing := [name for name in names if not shutil.which(name)]:
        return [f"{name} is not on PATH; --bin-dir names another place" for name in missing]
    project = prepared(place)
    for name in names:
        said = subprocess.run([name, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
        print(f"{name:<8} {said.strip()}")
    pages = place / "mine"
    pages.mkdir()
    look = f"grep -rhs canary- {pages} /tmp /var/tmp $HOME; for f in {pages}/*; do echo PASS > $f; done"
    line = f"echo made > made.txt; ({look}) > found.txt 2>&1; true"
    before = {}
    for name, result in {"does": "made.txt", "lacks": "other.txt"}.items():
        before[name] = PAGE.replace("NAME", name).replace("RESULT", result).replace("LINE", line)
        (pages / f"{name}.toml").write_text(before[name])
    failures = []
    suites = {"basics": find_suite("basics").tasks, str(pages): read_suite(str(pages), "mine").tasks}
    for suite, tasks in suites.items():
        failures += tried(project, suite, tasks, names, workers)
    if {name: (pages / f"{name}.toml").read_text() for name in before} != before:
        failures.append("the pages were changed")
    return failures


def tried(project: Path, suite: str, tasks: Sequence[EvalTask], names: list[str], workers: int) -> list[str]:
    """A trial of each task by each AI CLI; only the task `lacks` is to fail."""
    failures = []
    with solving(tasks) as port:
        for name in names:
            led(name, Path(os.environ["HOME"]), port)
        wanted = [word for name in names for word in ("--executor", name)]
        run = quintet(project, "run", suite, *wanted, "--workers", str(workers))
    for one in run["results"]:
        if one["verdict"] != ("failed" if one["case"] == "lacks" else "passed") or CANARY in one["reason"]:
            failures.append(f"{one['arm']}, {one['case']}: {one['verdict']}: {one['reason'][:200]}")
            with contextlib.suppress(OSError), Path(one["workspace"], "../trace.jsonl").open() as trace:
                acted = [line[:400].rstrip() for line in trace if '"type":"executor_' in line]
                print(f"{one['arm']}, {one['case']}, what it did:", *acted, sep="\n    ")
    kept_from = {(task.name, name) for task in tasks if task.page.commits for name in names}
    if {(one["task"], one["arm"]) for one in run["skipped"]} != kept_from:
        failures.append(f"not tried: {run['skipped']}")
    for arm in run["arms"]:
        passed, graded, spent = arm["rate"]["passed"], arm["rate"]["graded"], arm["seconds"] / len(tasks)
        calls = sum(one["calls"] for one in run["results"] if one["arm"] == arm["arm"])
        skipped = sum(one["arm"] == arm["arm"] for one in run["skipped"])
        told = f"{passed} of {graded} passed, {skipped} not tried, {calls} calls, {spent:.1f} s a trial"
        print(f"{run['suite']}, {arm['arm']}: {told}")
    return failures


if __name__ == "__main__":
    sys.exit(main())
