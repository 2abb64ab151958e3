"""Sessions: resumed, forked, owned by one process and steered from another."""

import asyncio
import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quintet
from quintet.adapters.files.paths import locate
from quintet.adapters.sqlite.store import SqliteStore
from quintet.app.open import open_session
from quintet.domain.base.errors import NotFound, UsageError
from quintet.domain.dials.axes import AxesChange, PermissionProfile, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.journal.state import SessionState, fold
from quintet.domain.turn.messages import Role
from quintet.engine.session import feed as feeds
from quintet.testing import ScriptedModel, call
from tests.engine.driving import BUILD, Driver, drive


def stored(root: Path, session: str) -> list[p.Recorded]:
    store = SqliteStore(locate(str(root)).database)
    try:
        return store.read(session)
    finally:
        asyncio.run(store.close())


def test_a_resumed_session_has_its_axes_its_conversation_and_its_costs(repo: Path) -> None:
    async def first(driver: Driver) -> None:
        await driver.turn("remember 42")
        await driver.command("/mode research")
        await driver.command("/steer control manual next-milestone")

    before = drive(repo, first, ScriptedModel(["noted"])).session

    async def second(driver: Driver) -> None:
        state = driver.session.state
        assert state.axes.work_mode is WorkMode.RESEARCH and len(state.dials.pending) == 1
        assert state.spent.usage.input_tokens == 10
        await driver.turn("which number")

    model = ScriptedModel(["42"])
    after = drive(repo, second, model, resume=before.id, axes=None)
    assert [message.text for message in model.requests[0].messages[1:]] == ["remember 42", "noted", "which number"]
    assert after.session.id == before.id


def test_dials_given_with_resume_are_turned_by_the_user_and_logged(repo: Path) -> None:
    async def nothing(driver: Driver) -> None:
        await driver.turn("hi")

    session = drive(repo, nothing).session.id

    async def second(driver: Driver) -> None:
        turned = await driver.until_type(p.DialsTurned)
        assert turned.after.permission_profile is PermissionProfile.RESTRICTED

    change = AxesChange(permission_profile=PermissionProfile.RESTRICTED)
    drive(repo, second, resume=session[:8] if len(session) > 8 else session, axes=change)


def test_the_state_is_the_fold_of_the_journal_and_folding_twice_gives_the_same(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("one")
        await driver.command("/mode chat")
        await driver.turn("two")
        await driver.command("/steer mode plan next-milestone")

    driver = drive(repo, script, ScriptedModel([[call("Read", file_path="tally/count.py")], "a", "b"]))
    events = [recorded.event for recorded in stored(repo, driver.session.id)]
    assert msgspec.to_builtins(fold(events)) == msgspec.to_builtins(driver.session.state)
    assert msgspec.to_builtins(fold(events)) == msgspec.to_builtins(fold(events))


def test_an_unfinished_turn_is_closed_on_resume_and_can_be_continued(repo: Path) -> None:
    """What a process that died left behind: a started call, an open turn."""

    async def leave_open() -> str:
        unrecorded = {"runs.record": False}  # what is written past the engine is in no recording
        async with open_session(str(repo), model=ScriptedModel([]), axes=BUILD, settings=unrecorded) as session:
            owner = session._owner
            assert owner
            await owner.journal.append(
                p.TurnStarted(turn="t", run="r", submission="", text="do it", axes=session.state.axes),
                p.ModelReplied(step="s", text="", calls=(call("bash", "c1", command="make").call,)),
                p.ToolStarted(call="c1", turn="t", tool="bash", arguments="{}"),
            )
            owner._tasks[0].cancel()
            return session.id

    session = asyncio.run(leave_open())

    async def resume(driver: Driver) -> None:
        finished = await driver.until_type(p.TurnFinished)
        assert finished.status == "interrupted"
        await driver.command("/resume")
        assert (await driver.until_type(p.TurnFinished)).answer == "continued"

    model = ScriptedModel(["continued"])
    driver = drive(repo, resume, model, resume=session, axes=None)
    assert driver.of(p.ToolStarted)[0].call == "c1" and len(driver.of(p.ToolStarted)) == 1
    last = model.requests[0].messages[-1]
    assert last.role is Role.TOOL and last.text.startswith("interrupted, outcome unknown")


def test_a_fork_begins_with_the_finished_turns_and_goes_its_own_way(repo: Path) -> None:
    async def first(driver: Driver) -> None:
        await driver.turn("shared")
        await driver.command("/mode chat")

    parent = drive(repo, first, ScriptedModel(["answer"])).session.id

    async def forked(driver: Driver) -> None:
        assert driver.session.id != parent
        await driver.turn("mine")

    model = ScriptedModel(["other"])
    fork = drive(repo, forked, model, resume=parent, fork=True, axes=None)
    assert [message.text for message in model.requests[0].messages[1:]] == ["shared", "answer", "mine"]
    assert "mine" not in str(stored(repo, parent))
    numbers = [recorded.seq for recorded in stored(repo, fork.session.id)]
    assert numbers == sorted(set(numbers))


def test_there_is_nothing_to_fork_before_a_turn_has_finished(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        ran = await driver.command("/fork")
        assert not ran.ok and "no turn has finished" in ran.text

    drive(repo, script)


def test_either_of_two_attachments_can_steer_the_session_that_one_owns(repo: Path) -> None:
    async def run() -> None:
        model = ScriptedModel(["hello"])
        async with (
            open_session(str(repo), model=model, axes=BUILD) as mine,
            open_session(str(repo), resume=mine.id) as other,
        ):
            assert mine.owned_here and not other.owned_here
            theirs = Driver(other)
            ran = await theirs.command("/mode chat")
            assert ran.ok and mine.state.axes.work_mode is WorkMode.CHAT
            finished = await theirs.turn("hi from elsewhere")
            assert finished.answer == "hello"
            assert other.state.axes == mine.state.axes

    asyncio.run(run())


def test_an_unknown_session_is_an_error_that_says_where_to_look(repo: Path) -> None:
    async def nothing(driver: Driver) -> None: ...

    with pytest.raises(NotFound, match="no session nope"):
        drive(repo, nothing, resume="nope")


def test_too_long_an_input_is_refused_before_anything_is_written(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        with pytest.raises(UsageError, match=r"the input is 2\.0 MB; the limit is 1 MB \(limits\.input_bytes\)"):
            await driver.session.say("x" * 2_000_000)
        assert (await driver.turn("short")).status == "done"

    driver = drive(repo, script)
    assert len(driver.of(p.InputReceived)) == 1


def test_the_library_opens_the_same_session(repo: Path) -> None:
    async def run() -> list[str]:
        async with quintet.open(str(repo), model=ScriptedModel(["hello"])) as session:
            await session.say("hi")
            return [
                type(item.event).__name__
                async for item in until_finished(session)
                if isinstance(item.event, p.TurnStarted | p.TurnFinished)
            ]

    async def until_finished(session: quintet.engine.session.session.Session):  # type: ignore[no-untyped-def,name-defined]
        async for item in session.events():
            yield item
            if isinstance(item.event, p.TurnFinished):
                return

    assert asyncio.run(run()) == ["TurnStarted", "TurnFinished"]


def test_the_state_folder_is_private(repo: Path) -> None:
    async def nothing(driver: Driver) -> None: ...

    drive(repo, nothing)
    places = locate(str(repo))
    assert os.stat(places.state).st_mode & 0o777 == 0o700
    assert os.stat(places.database).st_mode & 0o777 == 0o600
    assert not places.state.startswith(str(repo))


# ── readers


def test_a_slow_reader_misses_no_event(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "BUFFER", 5)

    async def run() -> None:
        model = ScriptedModel([[call("Read", file_path="tally/count.py")]] * 10 + ["end"], chunk=1)
        async with open_session(str(repo), model=model, axes=BUILD) as session:
            slow = session.events(signals=True)
            first = await anext(slow)
            fast = Driver(session)
            await fast.turn("go")
            seen = [first.event] if isinstance(first, p.Recorded) else []
            async for item in slow:
                if isinstance(item, p.Recorded):
                    seen.append(item.event)
                    if isinstance(item.event, p.TurnFinished):
                        break
            assert seen == fast.seen

    asyncio.run(run())


def test_deltas_of_one_step_coalesce_and_events_come_after_their_signals() -> None:
    async def run() -> None:
        feed = feeds.Feed()
        reader = feed.reader(signals=True)
        for letter in "hello":
            feed.signal(p.TextDelta(step="s", text=letter))
        feed.publish([p.Recorded(1, "", p.ModelReplied(step="s", text="hello"))])
        assert list(reader.items) == [
            p.TextDelta(step="s", text="hello"),
            p.Recorded(1, "", p.ModelReplied(step="s", text="hello")),
        ]

    asyncio.run(run())


@given(st.lists(st.integers(0, 3), max_size=60))
def test_a_reader_loses_signals_before_events_and_then_says_it_lags(moves: list[int]) -> None:
    async def run() -> None:
        reader = feeds.Reader(signals=True)
        sent: list[int] = []
        for number, move in enumerate(moves):
            if move == 0:
                reader.offer_signal(p.Progress(call=str(number), text="x"))
            else:
                sent.append(number)
                reader.offer_event(p.Recorded(number, "", p.RunPaused(reason="")))
        assert len(reader.items) <= feeds.BUFFER
        if not reader.lagging:
            assert [item.seq for item in reader.items if isinstance(item, p.Recorded)] == sent

    before = feeds.BUFFER
    feeds.BUFFER = 8
    try:
        asyncio.run(run())
    finally:
        feeds.BUFFER = before


def test_an_empty_fold_is_a_fresh_state() -> None:
    assert fold([]) == SessionState()
