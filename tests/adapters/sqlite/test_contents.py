"""Long texts of events are stored once, and nobody who reads the store can tell."""

import asyncio
import json
import random
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.adapters.files.paths import locate
from quintet.adapters.sqlite.contents import LONG, Contents
from quintet.adapters.sqlite.database import SQL_FOLDER, connect, connect_to_read, load_queries, migrations
from quintet.adapters.sqlite.rows import Rows
from quintet.adapters.sqlite.store import SqliteStore
from quintet.domain.base.errors import StoreDamaged
from quintet.domain.journal.protocol import Event, ToolFinished, ToolStarted, UserMessaged, encode
from quintet.domain.ports.ports import Batch, SessionRow
from quintet.domain.turn.tool_spec import CallStatus
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive

AT = "2026-01-01T00:00:00.000Z"
CONTENT = "".join(f"line {number} of a file\n" for number in range(500))
ARGUMENTS = json.dumps({"file_path": "a.py", "content": CONTENT})


def _batch(*events: Event) -> Batch:
    return Batch(None, [(type(e).__struct_config__.tag, encode(e)) for e in events], AT, b"{}")  # type: ignore[misc]


def _row(session: str, parent: str = "", forked_after: int = 0) -> SessionRow:
    return SessionRow(session, AT, AT, parent, forked_after, "", b"{}", "", 0, "", 0.0)


def _write(path: Path, sessions: dict[str, list[Event]]) -> None:
    async def run() -> None:
        store = SqliteStore(str(path))
        for session, events in sessions.items():
            await store.create(_row(session), _batch(*events))
        await store.close()

    asyncio.run(run())


def _started(arguments: str, number: int = 1) -> ToolStarted:
    return ToolStarted(call=f"call-{number}", turn="turn-1", tool="Write", arguments=arguments)


def _count(path: Path) -> int:
    return int(str(apsw.Connection(str(path)).execute("SELECT count(*) FROM contents").fetchall()[0][0]))


@given(st.lists(st.text(max_size=50) | st.text(alphabet='"\\\n\0aé🙂', min_size=LONG - 2, max_size=LONG + 90)))
def test_what_is_put_aside_and_filled_in_again_is_the_same_to_the_letter(texts: list[str]) -> None:
    connection = apsw.Connection(":memory:")
    for name in migrations():
        connection.execute(Path(SQL_FOLDER, name).read_text())
    contents = Contents(connection, load_queries())
    data = json.dumps({"texts": texts, "plain": 1}, ensure_ascii=False)
    short, places = contents.put_aside(data)
    assert json.loads(short)["plain"] == 1, "what is left is JSON still"
    assert (contents.filled_in(short, places) if places else short) == data
    assert len(short) <= len(data)


def test_a_text_that_several_events_hold_is_stored_once(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    finished = ToolFinished(call="call-1", tool="Write", status=CallStatus.OK, content=CONTENT)
    events: list[Event] = [_started(ARGUMENTS), _started(ARGUMENTS, 2), finished]
    _write(path, {"one": events, "two": events})
    assert _count(path) == 2  # the arguments, and the content as a result shows it
    connection = apsw.Connection(str(path))
    (longest,) = connection.execute("SELECT max(length(data)) FROM journal").fetchall()[0]
    assert int(str(longest)) < LONG
    rows = Rows(connect_to_read(str(path)), str(path))
    assert [one.event for one in rows.read("one")] == events
    assert [one.event for one in rows.read("two")] == events
    assert [one for _, one in rows.read_everywhere(["tool_finished"])] == [finished, finished]
    assert rows.event(3)[1].event == finished


def test_a_written_file_is_in_the_store_once_and_not_four_times(repo: Path) -> None:
    """The reply, the decision, the start and the result of a call all tell of what it writes."""
    picked = random.Random(1)
    content = "".join(f"{picked.getrandbits(256):064x}\n" for _ in range(6000))  # compresses to half, no less

    async def script(driver: Driver) -> None:
        await driver.turn("write it")

    drive(repo, script, ScriptedModel([[call("Write", file_path="long.txt", content=content)], "done"]))
    assert (repo / "long.txt").read_text() == content
    size = Path(locate(str(repo)).database).stat().st_size
    assert size < len(content)


def test_a_store_of_the_schema_before_reads_as_it_did(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    old = apsw.Connection(str(path))
    for name in migrations()[:3]:
        old.execute(Path(SQL_FOLDER, name).read_text())
    old.execute("INSERT INTO sessions (id, created, updated, summary) VALUES ('q', '', '', '{}')")
    event = _started(ARGUMENTS)
    values = (AT, encode(event).decode())
    old.execute("INSERT INTO journal (session, at, type, version, data) VALUES ('q', ?, 'tool_started', 1, ?)", values)
    old.execute("PRAGMA user_version = 3")
    old.close()
    for opened in (connect_to_read, connect, connect_to_read):  # looked at, migrated, looked at again
        rows = Rows(opened(str(path)), str(path))
        assert [one.event for one in rows.read("q")] == [event]
        rows.read_through()
        rows.connection.close()
    assert (tmp_path / "state.db.v3").exists()


@pytest.mark.parametrize(
    ("harm", "said"),
    [("DELETE FROM contents", "its content 1 is missing"), ("UPDATE contents SET data = x'00'", "its content 1: ")],
)
def test_a_text_that_is_missing_or_broken_is_said_with_its_event(tmp_path: Path, harm: str, said: str) -> None:
    path = tmp_path / "state.db"
    _write(path, {"one": [UserMessaged(call="c", text="short"), _started(ARGUMENTS)]})
    connection = connect(str(path))
    connection.execute(harm)
    with pytest.raises(StoreDamaged, match="event 2 cannot be read") as raised:
        Rows(connection, str(path)).read_through()
    assert said in str(raised.value)
