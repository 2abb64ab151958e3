"""What a call gives and what is recorded is bounded, and what was too much is named."""

import asyncio
from pathlib import Path

import pytest

from quintet.adapters.sqlite.store import SqliteStore
from quintet.domain.base.errors import StoreError
from quintet.domain.dials.axes import INTERACTIVE
from quintet.domain.journal import protocol as p
from quintet.domain.journal.state import fold
from quintet.domain.ports.ports import Batch, Lease, SessionRow
from quintet.domain.turn.shown_output import MOST_RESULT, bounded
from quintet.domain.turn.tool_spec import CallStatus
from quintet.engine.session.feed import Feed
from quintet.engine.session.journal import MOST_EVENT, Journal
from quintet.testing import FrozenClock, ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.trusted import trust_now

TOOL = '''
"""A tool that has no measure."""
from quintet.tools.declare import tool


@tool(effects=set())
async def flood(bench, size: int):
    """Say very much.

    :size: how much
    """
    return "a" * (size // 2) + "z" * (size // 2)
'''


def test_a_result_of_any_tool_is_told_up_to_a_bound_with_its_beginning_and_its_end(repo: Path) -> None:
    (repo / ".quintet/tools").mkdir(parents=True)
    (repo / ".quintet/tools/flood.py").write_text(TOOL)
    trust_now(repo)

    async def script(driver: Driver) -> None:
        await driver.turn("say much")

    size = 3 * MOST_RESULT
    driver = drive(repo, script, ScriptedModel([[call("flood", size=size)], "done"]))
    (finished,) = driver.of(p.ToolFinished)
    assert finished.status is CallStatus.OK, finished.content[:300]
    assert f"… {size - MOST_RESULT:,} characters left out: a result has at most {MOST_RESULT:,}" in finished.content
    assert finished.content.startswith("aaa") and finished.content.endswith("zzz")
    assert len(finished.content) < MOST_RESULT + 200


def test_a_result_within_the_bound_is_told_as_it_is() -> None:
    for text in ("", "a" * MOST_RESULT):
        assert bounded(text) == text
    assert len(bounded("a" * (MOST_RESULT + 1))) < MOST_RESULT + 200


def test_an_event_that_is_too_large_is_refused_by_name_and_the_journal_goes_on(tmp_path: Path) -> None:
    async def run() -> None:
        store, clock = SqliteStore(str(tmp_path / "state.db")), FrozenClock()
        opened = p.SessionOpened(session="q", project=str(tmp_path), axes=INTERACTIVE, program="test")
        lease = Lease("q", "me", 1, "gone", clock.epoch() + 100, 1)
        row = SessionRow("q", clock.now(), clock.now(), "", 0, "", b"{}", "", 0, "", 0.0)
        await store.create(row, Batch(lease, [("session_opened", p.encode(opened))], clock.now(), b"{}"))
        journal = Journal(store, clock, fold([opened]), lease, Feed())
        with pytest.raises(StoreError, match=f"user_messaged: .* bytes are too many .* {MOST_EVENT:,} can be recorded"):
            await journal.append(p.UserMessaged(call="c", text="x" * MOST_EVENT))
        assert journal.broken is None
        await journal.append(p.UserMessaged(call="c", text="x" * 1000))
        assert [type(one.event).__name__ for one in store.read("q")] == ["SessionOpened", "UserMessaged"]
        await store.close()

    asyncio.run(run())
