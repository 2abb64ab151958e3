"""A crash loses nothing that was acknowledged and repeats nothing that was begun. A handful of moments each;
`scripts/faults crash` tries hundreds."""

import random
from collections import Counter
from pathlib import Path

import pytest
from crash_checks import events_of, read_state
from crash_runs import Recording, cut, kill, record
from crash_session import ReportingStore

from quintet.adapters.files.paths import locate
from quintet.domain.journal import protocol as p
from quintet.domain.journal.state import SessionState

CUTS = 8
KILLS = (0.03, 0.2, 0.35, 0.5, 0.7, 0.9)  # parts of the time the whole session takes


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    folder = tmp_path_factory.mktemp("recording")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        return record(str(folder / "run"))


def test_no_acknowledged_event_is_lost_when_unsynced_writes_vanish(recording: Recording, tmp_path: Path) -> None:
    for at in recording.cuts(CUTS, random.Random(1)):
        assert cut(recording, at, str(tmp_path / f"cut-{at}")) == [], f"cut behind entry {at}"


def test_no_acknowledged_event_is_lost_when_unsynced_writes_are_torn(recording: Recording, tmp_path: Path) -> None:
    dice = random.Random(2)
    for at in recording.cuts(CUTS, dice):
        assert cut(recording, at, str(tmp_path / f"cut-{at}"), dice) == [], f"cut behind entry {at}"


def test_a_call_is_on_record_as_started_before_it_has_any_effect(recording: Recording, tmp_path: Path) -> None:
    for call_id in ("m3.1", "g4.2"):
        at = recording.cut_behind({"began": call_id}.__eq__)
        assert recording.witness(at).running() == {call_id}
        assert cut(recording, at, str(tmp_path / call_id)) == []


def test_a_dial_lent_for_one_unit_is_not_lent_to_a_second_one(recording: Recording, tmp_path: Path) -> None:
    """The power goes right behind the end of the unit."""
    finished = [data for _, data in recording.whole if '"turn_finished"' in data][1]  # of the second unit
    at = recording.cut_behind(lambda report: finished in report.get("event", ()))
    assert _units_lent_to(_recovered(recording, at, tmp_path)) == [1]


def test_a_dial_lent_for_one_unit_goes_back_when_a_crash_ends_it(recording: Recording, tmp_path: Path) -> None:
    """As an interrupt gives it back: the power goes in the middle of the unit."""
    at = recording.cut_behind({"began": "m2.1"}.__eq__)
    assert _units_lent_to(_recovered(recording, at, tmp_path)) == [1]


def _units_lent_to(events: list[p.Event]) -> list[int]:
    """For each dial that was lent, how many units began with it."""
    lent: Counter[str] = Counter()
    state = SessionState()
    for event in events:
        if isinstance(event, p.TurnStarted):
            lent.update(loan.transition.id for loan in state.dials.loans)
        state.apply(event)
    return list(lent.values())


def test_an_acknowledged_answer_is_carried_out(recording: Recording, tmp_path: Path) -> None:
    """The power goes right behind the answer to "go deep?", before the dial has turned."""
    answered = next(data for _, data in recording.whole if '"question_answered"' in data and '"choice":"d"' in data)
    events = _recovered(recording, recording.cut_behind(lambda r: answered in r.get("event", ())), tmp_path)
    turned = [event.after.model_mode for event in events if isinstance(event, p.DialsTurned)]
    assert "deep" in turned[-2:]


def _recovered(recording: Recording, at: int, folder: Path) -> list[p.Event]:
    assert cut(recording, at, str(folder / "cut")) == []
    left = read_state(locate(str(folder / "cut" / "project")).database, recording.witness(at).session)
    return events_of(left.rows)


def test_a_store_that_does_not_sync_is_caught(tmp_path: Path) -> None:
    """The checks bite: with synchronous off, a power cut shows as lost events."""

    def spoil(store: ReportingStore) -> None:
        store._write.connection.execute("PRAGMA synchronous = OFF")

    spoiled = record(str(tmp_path / "run"), spoil)
    middle = len(spoiled.log.entries) // 2
    broken = cut(spoiled, middle, str(tmp_path / "cut"))
    assert any("acknowledged events are lost" in line for line in broken)


@pytest.fixture(scope="module")
def whole_seconds(tmp_path_factory: pytest.TempPathFactory) -> float:
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        left_alone = kill(str(folder / "run"), None)
    assert not left_alone.alive
    assert left_alone.broken == []
    return left_alone.seconds


@pytest.mark.parametrize("part", KILLS)
def test_a_started_call_is_never_run_twice_after_kill_9(part: float, whole_seconds: float, tmp_path: Path) -> None:
    killed = kill(str(tmp_path / "run"), part * whole_seconds)
    assert killed.broken == []
