"""The page on several machines is carried out as it is printed, against a server of the tests' own."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

import psycopg
import pytest

from tests.features.workers.working import git, writes
from tests.pages import blocks
from tests.postgres import Server, programs
from tests.surfaces.program import Program

PAGE = "docs/howto/many-machines.md"
SERVER = "postgresql://ada@db.example.org/quintet"
ADDRESS = "git@github.com:team/app.git"
TRUSTED = ("--mode", "build", "--autonomous", "--permission-profile", "trusted")


@pytest.fixture
def named(postgres: Server) -> Iterator[Server]:
    yield postgres
    postgres.execute("DROP DATABASE IF EXISTS quintet WITH (FORCE)")
    for role in ("ada", "bob", "quintet_team"):
        postgres.execute(f"DROP ROLE IF EXISTS {role}")


def test_many_machines(named: Server, quintet: Program) -> None:
    set_up, moved, worker = blocks(PAGE, "sh")
    url = named.url("quintet")
    create, export, *commands = set_up.splitlines()
    assert export == f"export QUINTET_DATABASE={SERVER}"
    words = [f"{programs()}/{create.split()[0]}", "-h", named.folder, "-U", "quintet", create.split()[1]]
    subprocess.run(words, check=True, env={"PATH": "/usr/bin:/bin"})
    for line in commands:
        quintet.run(*line.split()[1:], QUINTET_DATABASE=url).clean(0)
    quintet.run("-p", "! true", *TRUSTED).clean(0)
    for line in moved.replace('"$QUINTET_DATABASE"', url).splitlines():
        assert "counts and digests agree" in quintet.run(*line.split()[1:], QUINTET_DATABASE=url).clean(0).out

    team, added = blocks(PAGE, "sql")
    named.execute(team, "quintet")
    named.execute(added, "quintet")
    named.execute("CREATE ROLE bob LOGIN IN ROLE quintet_team", "quintet")
    own = {"QUINTET_DATABASE": named.url("quintet", "ada"), "QUINTET_DATABASE_PROJECT": "github.com/team/app"}
    quintet.run("-p", "! true", *TRUSTED, **own).clean(0)
    assert len(quintet.run("sessions", "list", "--json", **own).clean(0).json()) == 1
    assert len(quintet.run("sessions", "search", "true", "--json", **own).clean(0).json()) > 0
    (listed,) = quintet.run("database", "status", "--json", **own).clean(0).json()["projects"]
    assert listed["project"] == "github.com/team/app", "the project that was moved is another's"
    other = own | {"QUINTET_DATABASE": named.url("quintet", "bob")}
    assert quintet.run("sessions", "list", "--json", **other).clean(0).json() == []
    refused = quintet.run("-p", "! true", *TRUSTED, **other)
    assert (refused.code, "row-level security" in refused.err) == (1, True), refused
    assert "Ask whoever runs the database" in refused.err
    assert quintet.run("database", "migrate", **own).clean(0)

    page, remote = quintet.root.parent / "t1.md", quintet.root.parent / "app.git"
    page.write_text(writes("t1", "one.txt")[1])
    quintet.run("tasks", "add", str(page), **own).clean(0)
    shutil.copytree(quintet.root / ".git", remote)
    line = worker.replace(ADDRESS, str(remote)).replace(" --wait", "")
    quintet.run(*line.split()[1:], **own).clean(0)
    assert "one.txt" in git(remote, "ls-tree", "--name-only", "quintet/t1").split()
    with psycopg.connect(named.url("quintet", "bob")) as connection:
        assert connection.execute("SELECT count(*) FROM procrastinate_jobs").fetchall() == [(0,)]
