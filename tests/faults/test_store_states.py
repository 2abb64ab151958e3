"""Whatever state the store is in, a command that looks says so in a line with what to do; nothing is half made."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from pathlib import Path

import apsw
import pytest
from tests.adapters.model_server import Reply
from tests.surfaces.program import PROGRAM, SECONDS, Model, Program, env

from quintet.adapters.files.paths import locate
from quintet.adapters.sqlite.database import SQL_FOLDER, connect, migrations

LOOKS = (
    ("status",),
    ("sessions", "list"),
    ("sessions", "show", "q5"),
    ("doctor",),
    ("doctor", "fix"),
    ("report", "show"),
    ("cost",),
    ("logs",),
    ("why", "1"),
    ("replay", "q5"),
    ("sessions", "purge", "q5", "--yes"),
    ("sessions", "search", "word"),
    ("tasks",),
)


def _database(quintet: Program) -> Path:
    path = Path(locate(str(quintet.root)).database)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.parametrize("state", ["absent", "empty", "begun", "garbage", "newer"])
def test_every_look_says_how_the_store_is(quintet: Program, state: str) -> None:
    path = _database(quintet)
    match state:
        case "empty":
            path.touch()
        case "begun":  # a kill right behind SQLite's first page
            apsw.Connection(str(path)).execute("PRAGMA journal_mode = WAL")
        case "garbage":
            path.write_bytes(b"no database " * 1000)
        case "newer":
            connect(str(path)).execute("PRAGMA user_version = 99")
    for words in LOOKS:
        done = quintet.run(*words)
        assert "Traceback" not in done.err + done.out, (words, done)
        assert done.code in (0, 1, 2), (words, done)
        if state in ("garbage", "newer") and words[0] in ("status", "sessions"):
            assert done.code != 0, words
            assert ("damaged" if state == "garbage" else "Update Quintet") in done.err, (words, done)


def test_a_first_run_without_room_leaves_no_store(quintet: Program) -> None:
    path = _database(quintet)

    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    done = subprocess.run(
        [*PROGRAM, "-p", "! true", "--output-format", "json"],
        cwd=quintet.root,
        env=env({}),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        preexec_fn=no_room,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert json.loads(done.stdout)["error"]["code"] == "STORE_UNWRITABLE"
    assert not list(path.parent.glob("state.db*"))
    quintet.run("-p", "! true").clean(0)


@pytest.mark.parametrize("output", ["json", "stream-json"])
def test_a_store_that_fails_in_a_run_is_one_result_with_its_session(
    quintet: Program, model: Model, output: str
) -> None:
    """From the model's answer on nothing more can be written."""
    server = model(Reply(text="hello", held=True))
    child = quintet.start("-p", "do it", "--output-format", output)
    server.asked()
    resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (0, 0))
    server.goes_on()
    out, err = child.communicate(timeout=SECONDS)
    assert "Traceback" not in err
    results = [line for line in map(json.loads, out.splitlines()) if line["type"] == "result"]
    assert [(one["status"], one["error"]["code"], one["exit_code"]) for one in results] == [
        ("failed", "STORE_UNWRITABLE", 1)
    ]
    assert child.returncode == 1
    assert results[0]["session"] == quintet.sessions()[0]["session"]
    assert results[0]["error"]["hint"]


def test_a_store_is_copied_before_its_schema_changes(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    old = apsw.Connection(str(path))
    for name in migrations()[:2]:
        old.execute(Path(SQL_FOLDER, name).read_text())
    old.execute(
        "PRAGMA user_version = 2; INSERT INTO sessions (id, created, updated, summary) VALUES ('q', '', '', '{}')"
    )
    old.close()
    connect(str(path)).close()
    kept = apsw.Connection(str(tmp_path / "state.db.v2"))
    assert kept.pragma("user_version") == 2
    assert kept.execute("SELECT id FROM sessions").fetchall() == [("q",)]
    assert sorted(one.name for one in tmp_path.glob("state.db*")) == ["state.db", "state.db.v2"]
    assert (tmp_path / "state.db.v2").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("version = 99", "was written by a newer Quintet (event version 99"),
        ("data = replace(data, 'session_opened', 'of_another_time')", "was written by a newer Quintet (Invalid value"),
        ("data = substr(data, 2)", "cannot be read"),
    ],
)
def test_an_event_of_a_newer_quintet_is_no_damage_and_the_doctor_finds_both(
    quintet: Program, change: str, said: str
) -> None:
    quintet.run("-p", "! true").clean(0)
    path = _database(quintet)
    session = quintet.sessions()[0]["session"]
    apsw.Connection(str(path)).execute(f"UPDATE journal SET {change} WHERE seq = 1")
    found = quintet.run("doctor").clean(1)
    assert said in found.out
    refused = quintet.run("-p", "hello", "--resume", session).clean(1)
    assert said in refused.err
    assert (path.parent / "damaged").exists() is (said == "cannot be read")


def test_a_project_whose_path_is_not_utf_8_is_refused_in_one_line_with_what_to_do(quintet: Program) -> None:
    folder = Path(os.fsdecode(os.fsencode(quintet.root) + b"/pro\xffject"))
    folder.mkdir()
    (folder / ".git").mkdir()
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
    inside = Program(folder)
    for words in (("-p", "! true"), ("status",), ("sessions", "list")):
        done = inside.run(*words).clean(2)
        assert "pro\\xffject: the name of the project's folder is not UTF-8\nRename it" in done.err, words
    told = inside.run("-p", "! true", "--output-format", "json").clean(2).json()
    assert (told["error"]["code"], told["exit_code"]) == ("USAGE", 2)
