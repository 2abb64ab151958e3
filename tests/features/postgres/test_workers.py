"""Workers claim, do and integrate the tasks of a project whose state is in PostgreSQL."""

from __future__ import annotations

from tests.features.workers.working import git, writes
from tests.surfaces.program import Program


def test_two_workers_do_the_tasks_of_a_shared_database(quintet: Program, database: str) -> None:
    around = {"QUINTET_DATABASE": database, "QUINTET_DATABASE_PROJECT": "workers"}
    for name, page in (writes("t1", "one.txt"), writes("t2", "two.txt"), writes("t3", "three.txt", needs="t1")):
        path = quintet.root.parent / name
        path.write_text(page)
        quintet.run("tasks", "add", str(path), **around).clean(0)
    done = quintet.run("parallel", "2", "--permission-profile", "normal", "--json", **around).clean(0).json()
    assert set(done["tasks"].values()) == {"done"}
    assert sum(one["done"] for one in done["workers"]) == 3
    assert git(quintet.root, "status", "--short") == ""
    assert (quintet.root / "three.txt").read_text().strip() == "t3"
    assert quintet.run("tasks", "list", "--json").json() == [], "nothing of it is in the project's own file"
    assert "no worker runs" in quintet.run("-p", "/parallel status", **around).out
