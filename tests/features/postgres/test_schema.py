"""The tables: made and brought up by command, never by a look; and in step with SQLite's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from quintet.adapters.sqlite import database as sqlite
from quintet.features.postgres import link as links
from quintet.features.postgres.link import ServerLink, statements
from quintet.features.postgres.move import TABLES
from tests.postgres import Server
from tests.surfaces.program import Program
from tests.test_architecture import loaded_by

OWN = {"project", "machine", "pushed"}  # columns that SQLite does without
OWN_TABLES = {
    *("quintet_schema", "projects", "writes", "words", "indexed", "queue_schema"),
    *("schedules", "due_runs", "clocks"),  # of one machine they are in a file of their own
}
NOT_MOVED = {"journal", "contents", "task_runtime", "workers", "path_claims", "task_waits"}


@pytest.fixture
def name(postgres: Server) -> Iterator[str]:
    made = f"empty{os.getpid()}"
    postgres.execute(f"CREATE DATABASE {made}")
    yield made
    postgres.execute(f"DROP DATABASE {made} WITH (FORCE)")


@pytest.fixture
def empty(postgres: Server, name: str) -> str:
    """A database without tables."""
    return postgres.url(name)


def test_tables_are_made_by_init_alone_and_a_second_time_changes_nothing(quintet: Program, empty: str) -> None:
    for words in (("sessions", "list"), ("-p", "hello"), ("database", "migrate")):
        done = quintet.run(*words, QUINTET_DATABASE=empty)
        assert (done.code, "quintet database init" in done.err) == (1, True), done
    assert quintet.run("database", "init", "--json", "--database", empty).json()["before"] == 0
    done = quintet.run("database", "init", QUINTET_DATABASE=empty).clean(0)
    assert "is current (schema version 3)" in done.out
    assert quintet.run("sessions", "list", QUINTET_DATABASE=empty).clean(0)
    assert quintet.run("database", "migrate", QUINTET_DATABASE=empty).clean(0)


def test_a_newer_schema_is_refused_and_an_older_one_waits_for_migrate(
    quintet: Program, empty: str, name: str, postgres: Server
) -> None:
    quintet.run("database", "init", QUINTET_DATABASE=empty).clean(0)
    postgres.execute("INSERT INTO quintet_schema (version, program) VALUES (7, 'later')", name)
    for words in (("sessions", "list"), ("-p", "hello"), ("database", "migrate"), ("database", "init"), ("doctor",)):
        done = quintet.run(*words, QUINTET_DATABASE=empty)
        assert done.code == 1, done
        assert "schema version 7, this Quintet supports 3; it was not changed" in done.out + done.err
    status = quintet.run("database", "status", "--json", QUINTET_DATABASE=empty)
    assert (status.code, status.json()["version"], status.json()["code"]) == (1, 7, "STORE_NEWER")
    assert postgres.execute("SELECT count(*) FROM projects", name) == [(0,)]


def test_an_older_schema_is_brought_up_when_nobody_is_at_work(
    postgres: Server, empty: str, quintet: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from quintet.domain.base.errors import StoreError, StoreOlder
    from quintet.features.postgres import schema

    quintet.run("database", "init", QUINTET_DATABASE=empty).clean(0)
    for file in Path(links.SQL_FOLDER).iterdir():
        (tmp_path / file.name).write_text(file.read_text())
    (tmp_path / "0004_more.sql").write_text("ALTER TABLE projects ADD COLUMN note text;")
    monkeypatch.setattr(schema, "SQL_FOLDER", str(tmp_path))
    link = ServerLink(empty, reads_only=False)
    with pytest.raises(StoreOlder, match="schema version 3, this Quintet needs 4") as raised:
        schema.checked(link)
    assert "quintet database migrate" in raised.value.hint
    project = schema.project_number(link, "p", make=True)
    link.execute(
        "INSERT INTO sessions (project, id, created, updated, summary, owner, lease_until, machine, owner_pid) "
        f"VALUES ({project}, 's', '', '', '{{}}', 'me', extract(epoch FROM now()) + 900, 'build-7', 4711)"
    )
    with pytest.raises(StoreError, match="session s of p is still open on build-7"):
        schema.migrate(link, init=False)
    assert schema.version_of(link) == 3
    link.execute("UPDATE sessions SET lease_until = 0")
    assert schema.migrate(link, init=False) == (3, 4)
    assert schema.checked(link).execute("SELECT note FROM projects").fetchall() == [(None,)]
    link.close()


def test_both_databases_have_the_same_tables_columns_and_statements(postgres: Server) -> None:
    own = apsw.Connection(":memory:")
    for name in sqlite.migrations():
        own.execute(Path(sqlite.SQL_FOLDER, name).read_text())
    tables = [str(name) for (name,) in own.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    theirs = {name: {str(one[1]) for one in own.execute(f"PRAGMA table_info({name})")} for name in tables}
    theirs = {name: columns for name, columns in theirs.items() if not name.startswith("sqlite_")}
    ours: dict[str, set[str]] = {}
    found = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
    for table, column in postgres.execute(found, "model"):
        if str(table).startswith("procrastinate_"):
            continue
        ours.setdefault(str(table), set()).add(str(column))
    assert {name: columns - OWN for name, columns in ours.items() if name not in OWN_TABLES} == theirs
    assert set(TABLES) | NOT_MOVED == set(theirs)
    for table, (_, columns) in TABLES.items():
        leases = {"owner", "owner_pid", "owner_started", "lease_until", "place"}
        if table == "task_transitions":
            leases |= {"id"}
        assert set(columns) == theirs[table] - leases, table
    for name in ("queries.sql", "tasks.sql", "workers.sql"):
        assert set(statements(name)) == set(sqlite.load_queries(name)), name


def test_every_statement_is_of_its_project_alone() -> None:
    """A statement that forgot it would show one team's sessions to another."""
    for name in ("queries.sql", "tasks.sql", "workers.sql", "search.sql", "move.sql"):
        for title, sql in statements(name).items():
            tables = len(re.findall(r"\b(?:FROM|INTO|UPDATE|JOIN) (?!next\b|decided\b|\()[a-z_]+\b(?!\()", sql))
            assert sql.count("%(project)s") >= min(1, tables), (name, title)


def test_a_start_without_a_database_url_loads_no_driver() -> None:
    loaded = loaded_by("import quintet.app.open, quintet.cli.sessions, quintet.features.postgres.cli")
    assert not [name for name in loaded if name.startswith("psycopg")]
