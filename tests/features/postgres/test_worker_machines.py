"""Workers on another machine: a clone of their own, branches that come back, and who goes on when one is gone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.features.postgres.machines import Machine, until
from tests.features.workers.working import git, page, writes
from tests.postgres import Server
from tests.surfaces.program import SECONDS, Program

NORMAL = ("--permission-profile", "normal", "--json")


def planned(machine: Machine, *pages: tuple[str, str]) -> None:
    for name, text in pages:
        path = machine.root.parent / name
        path.write_text(text)
        machine.run("tasks", "add", str(path)).clean(0)


def remote(tmp_path: Path) -> Path:
    return tmp_path / "team.git"


def heads(tmp_path: Path) -> set[str]:
    return set(git(remote(tmp_path), "for-each-ref", "--format=%(refname:short)", "refs/heads").splitlines())


def test_a_worker_on_another_machine_brings_its_work_back_as_branches(
    machines: tuple[Machine, Machine], tmp_path: Path
) -> None:
    one, two = machines
    planned(one, writes("t1", "one.txt"), writes("t2", "two.txt", needs="t1"))
    before = git(remote(tmp_path), "rev-parse", "main")
    done = two.run("worker", "--repository", str(remote(tmp_path)), "--push", *NORMAL).clean(0).json()
    assert (done["done"], done["pushes"]) == (2, True)
    assert {task["status"] for task in one.run("tasks", "list", "--json").clean(0).json()} == {"done"}
    assert heads(tmp_path) == {"main", "quintet/t1", "quintet/t2"}
    assert git(remote(tmp_path), "rev-parse", "main") == before, "no branch but its own is moved"
    shown = git(remote(tmp_path), "ls-tree", "--name-only", "quintet/t2").split()
    assert {"one.txt", "two.txt"} <= set(shown), "a task begins on top of what it depends on"
    assert git(two.root, "status", "--short") == git(one.root, "status", "--short") == ""
    assert not (two.root / "one.txt").exists(), "the person's own clone on that machine is not its business"


def test_without_push_nothing_leaves_the_machine_and_what_depends_on_it_waits_there(
    machines: tuple[Machine, Machine], tmp_path: Path
) -> None:
    one, two = machines
    planned(one, writes("t1", "one.txt"))
    worker = two.start("worker", "--repository", str(remote(tmp_path)), "--wait", *NORMAL)
    until(lambda: "done" in one.run("tasks", "list").out, worker)
    status = one.run("-p", "/parallel status").out
    assert f"clone of {remote(tmp_path)}".removesuffix(".git") in status
    assert "pushes nothing" in status
    planned(one, writes("t2", "two.txt"))
    until(lambda: one.run("tasks", "list").out.count("done") == 2, worker)
    worker.terminate()
    out, err = worker.communicate(timeout=SECONDS)
    assert json.loads(out)["why"] == "stopped", err
    assert heads(tmp_path) == {"main"}
    planned(one, writes("t3", "three.txt", needs="t1"))
    other = one.run("worker", "--repository", str(remote(tmp_path)), *NORMAL).json()
    said = [news["said"] for news in other["said"] if news["task"] == "t3"]
    assert any("it depends on t1; that work is on" in one for one in said), said


def test_a_branch_of_somebody_elses_is_never_overwritten(machines: tuple[Machine, Machine], tmp_path: Path) -> None:
    one, two = machines
    git(remote(tmp_path), "branch", "quintet/t1", "main")
    at = git(remote(tmp_path), "commit-tree", "main^{tree}", "-p", "main", "-m", "theirs")
    git(remote(tmp_path), "update-ref", "refs/heads/quintet/t1", at)
    planned(one, writes("t1", "one.txt"))
    done = two.run("worker", "--repository", str(remote(tmp_path)), "--push", *NORMAL).json()
    assert git(remote(tmp_path), "rev-parse", "quintet/t1") == at
    assert any("where no worker put it" in news["said"] for news in done["said"]), done
    (task,) = one.run("tasks", "list", "--json").clean(0).json()
    assert task["status"] == "verifying", "it is done there, and pushed once the name is free"
    git(remote(tmp_path), "branch", "-m", "quintet/t1", "theirs")
    two.run("worker", "--repository", str(remote(tmp_path)), "--push", *NORMAL).clean(0)
    assert heads(tmp_path) == {"main", "theirs", "quintet/t1"}


def test_what_a_killed_worker_had_begun_is_done_on_another_machine(
    machines: tuple[Machine, Machine], tmp_path: Path
) -> None:
    one, two = machines
    started = tmp_path / "started"
    two.set(f'[hooks]\npre_tool_use = ["touch {started}; sleep 600"]\n')
    planned(one, writes("t1", "one.txt"))
    worker = two.start("worker", "--repository", str(remote(tmp_path)), "--push", *NORMAL)
    until(started.exists, worker)
    worker.kill()
    worker.communicate(timeout=SECONDS)
    one.run("worker", "--repository", str(remote(tmp_path)), "--push", *NORMAL).clean(0)
    assert heads(tmp_path) == {"main", "quintet/t1"}
    assert git(remote(tmp_path), "log", "--format=%s", "main..quintet/t1").splitlines() == ["Task t1"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--repository", "ext::sh -c true"), "not the address of a git repository"),
        (("--repository=--upload-pack=true",), "not the address of a git repository"),
        (("--repository", "/nowhere/at/all"), "/nowhere/at/all"),
        (("--push",), "--repository"),
        (("--repository", ".", "--integrate", "merge"), "remove --integrate merge"),
        (("--repository", ".", "--onto", "nowhere"), "nowhere"),
        (("--repository", ".", "--onto=--output=x"), "--output=x"),
    ],
)
def test_bad_words_are_refused_before_anything_is_done(
    machines: tuple[Machine, Machine], words: tuple[str, ...], said: str
) -> None:
    one, _ = machines
    done = one.run("worker", "--permission-profile", "normal", *words)
    assert (done.code in (1, 2), "Traceback" in done.err) == (True, False), done
    assert said in done.err, done.err


def test_a_clone_of_ones_own_needs_a_shared_database(quintet: Program) -> None:
    done = quintet.run("worker", "--permission-profile", "normal", "--repository", ".")
    assert (done.code, "--database postgresql://USER@HOST/NAME" in done.err) == (2, True), done


def test_a_worker_stops_taking_when_a_newer_quintet_has_changed_the_tables(
    machines: tuple[Machine, Machine], tmp_path: Path, postgres: Server, database: str
) -> None:
    _, two = machines
    worker = two.start("worker", "--repository", str(remote(tmp_path)), "--wait", *NORMAL)
    name = database.partition("@/")[2].partition("?")[0]
    until(lambda: postgres.execute("SELECT count(*) FROM workers WHERE state <> 'ended'", name) == [(1,)], worker)
    postgres.execute("INSERT INTO quintet_schema (version, program) VALUES (9, 'later')", name)
    out, err = worker.communicate(timeout=SECONDS)
    assert "schema version 9, this Quintet supports 3" in json.loads(out)["why"], err
    assert "Update Quintet on this machine" in json.loads(out)["why"]


def test_a_row_from_a_newer_quintet_is_said_and_no_task_is_taken(
    machines: tuple[Machine, Machine], tmp_path: Path, postgres: Server, database: str
) -> None:
    one, two = machines
    planned(one, writes("t1", "one.txt"), writes("t2", "two.txt"))
    name = database.partition("@/")[2].partition("?")[0]
    postgres.execute("UPDATE tasks SET status = 'dreaming' WHERE id = 't2'", name)
    done = two.run("worker", "--repository", str(remote(tmp_path)), *NORMAL)
    assert done.code == 1 and "Traceback" not in done.err, done
    assert "a newer Quintet" in done.err, done.err
    assert postgres.execute("SELECT status FROM tasks WHERE id = 't1'", name) == [("todo",)]


def test_two_workers_are_brought_their_tasks_and_what_waited_follows_at_once(
    machines: tuple[Machine, Machine], tmp_path: Path, postgres: Server, database: str
) -> None:
    """Dependencies and claims hold across machines; the queue is empty when all is done."""
    one, two = machines
    planned(
        one,
        writes("t1", "one.txt"),
        writes("t2", "two.txt", needs="t1"),
        page("t3", 'create the file three.txt with "x"', intent="one.txt", check="test -f three.txt"),
    )
    children = [
        machine.start("worker", "--repository", str(remote(tmp_path)), "--push", *NORMAL) for machine in (one, two)
    ]
    told = [json.loads(child.communicate(timeout=SECONDS)[0]) for child in children]
    assert sum(one["done"] for one in told) == 3, told
    assert heads(tmp_path) == {"main", "quintet/t1", "quintet/t2", "quintet/t3"}
    name = database.partition("@/")[2].partition("?")[0]
    assert postgres.execute("SELECT count(*) FROM procrastinate_jobs", name) == [(0,)]
    moves = "SELECT task_id FROM task_transitions WHERE to_status = 'running' ORDER BY task_id"
    assert postgres.execute(moves, name) == [("t1",), ("t2",), ("t3",)], "each was begun once"


def test_a_detached_checkout_or_one_without_commits_is_said(machines: tuple[Machine, Machine]) -> None:
    one, _ = machines
    git(one.root, "checkout", "-q", "--detach")
    done = one.run("worker", *NORMAL)
    assert (done.code, "on no branch" in done.err) == (2, True), done
    subprocess.run(["git", "init", "-q", str(one.root.parent / "fresh")], check=True)
    empty = one.run("worker", "--repository", str(one.root.parent / "fresh"), *NORMAL)
    assert empty.code in (1, 2) and "Traceback" not in empty.err, empty
