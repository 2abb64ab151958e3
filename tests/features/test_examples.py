"""Examples that are scripts are run as they are; test_docs.py runs library.py, test_plugins.py the plugin."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.adapters.model_server import Reply
from tests.features.postgres.machines import Machine, machines  # noqa: F401  (a fixture)
from tests.features.workers.working import git
from tests.places import ROOT
from tests.surfaces.forked import forks
from tests.surfaces.program import SECONDS, Model, Program, call, env

EXAMPLES = ROOT / "examples"


def run(script: str, folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    programs = folder.parent / "programs"
    if not programs.exists():
        programs.mkdir()
        forks().put_program(programs / "quintet")
    own = env({"PATH": f"{programs}:{os.environ['PATH']}", "NO_COLOR": "1", **variables})
    return subprocess.run(
        [EXAMPLES / script, *words], cwd=folder, env=own, capture_output=True, text=True, timeout=SECONDS
    )


def report(severity: str) -> str:
    found = {"severity": severity, "title": "f returns another number", "file": "f.py", "line": 2, "detail": "Tell."}
    return json.dumps({"summary": "One change.", "findings": [found], "not_looked_at": []})


@pytest.mark.parametrize(("severity", "code"), [("high", 1), ("low", 0)])
def test_a_pull_request_is_reviewed(quintet: Program, model: Model, severity: str, code: int) -> None:
    git(quintet.root, "switch", "-q", "-c", "topic")
    (quintet.root / "f.py").write_text("def f():\n    return 2\n")
    git(quintet.root, "add", "f.py")
    git(quintet.root, "commit", "-q", "-m", "Change f")
    model(call("git_diff", target="main"), Reply(text=report(severity)), Reply(text="DONE"))
    done = run("review-pull-request/review.sh", quintet.root, BASE="main")
    assert done.returncode == code, done.stdout + done.stderr
    written = (quintet.root / "review.md").read_text()
    assert written.startswith("# Review of main..HEAD") and f"| {severity} | f.py:2 |" in written
    assert done.stdout == written


def test_the_review_says_what_it_needs(repo: Path) -> None:
    done = run("review-pull-request/review.sh", repo)
    assert done.returncode == 1 and "set BASE to the branch" in done.stderr


def test_a_nightly_run_is_scheduled_and_does_what_it_says(quintet: Program) -> None:
    done = run("nightly/nightly.sh", quintet.root)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "build · autonomous · trusted · smart" in done.stdout
    (listed,) = json.loads(quintet.run("schedule", "list", "--json").clean(0).out)
    assert (listed["name"], listed["when"]) == ("nightly", "daily 02:30")


def test_a_team_works_on_one_database(machines: tuple[Machine, Machine], tmp_path: Path) -> None:  # noqa: F811
    one, two = machines
    planned = run("team/plan.sh", one.root, **one.own)
    assert planned.returncode == 0, planned.stdout + planned.stderr
    worked = run("team/work.sh", two.root, str(tmp_path / "team.git"), **two.own)
    assert worked.returncode == 0, worked.stdout + worked.stderr
    tasks = json.loads(one.run("tasks", "list", "--json").clean(0).out)
    assert {task["id"]: task["status"] for task in tasks} == {"notes": "done", "owners": "done"}
    branch = git(tmp_path / "team.git", "ls-tree", "--name-only", "quintet/owners").split()
    assert {"NOTES.md", "OWNERS.md"} <= set(branch), "a task begins on top of what it depends on"


def test_every_example_is_listed() -> None:
    page = (EXAMPLES / "README.md").read_text()
    assert [path.name for path in EXAMPLES.iterdir() if f"({path.name}" not in page] == ["README.md"]
