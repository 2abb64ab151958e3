"""The memory's file: what is written stays, is found by its words, and survives a kill."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from quintet.domain.base.errors import NotFound, StoreDamaged, StoreNewer
from quintet.features.memory.finding import match_any, near, words_of
from quintet.features.memory.store import MemoryStore
from quintet.features.memory.values import NewMemory, PathCheck, Tier

AT = "2026-01-01T00:00:00.000Z"
FACT, DECISION, OUTCOME = Tier.FACT, Tier.DECISION, Tier.OUTCOME


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    made = MemoryStore(str(tmp_path / "state" / "memory.db"))
    yield made
    made.close()


def test_what_is_written_is_read_back(store: MemoryStore) -> None:
    (one,) = store.add([NewMemory(FACT, "`make test` tests it", "bash make test", PathCheck("Makefile"))], "you", AT)
    assert store.entry("m1") == store.entry("M1") == store.entries()[0] == one
    assert (one.id, one.check, one.source, one.at) == ("m1", PathCheck("Makefile"), "you", AT)
    assert os.stat(store.path).st_mode & 0o777 == 0o600
    for wrong in ("m2", "", "m", "x", "m-1", "m1; drop", "9" * 30):
        with pytest.raises(NotFound):
            store.entry(wrong)


def test_words_follow_what_is_changed_and_forgotten(store: MemoryStore) -> None:
    store.add([NewMemory(DECISION, "colours are named in British English")], "you", AT)
    assert [one.id for one in store.search(match_any(["colour"]), 5)] == ["m1"]
    store.change("m1", "dates are written as ISO 8601", None, "you", AT)
    assert store.search(match_any(["colour"]), 5) == []
    assert [one.text for one in store.search(match_any(["dates"]), 5)] == ["dates are written as ISO 8601"]
    store.forget("m1")
    assert store.search(match_any(["dates"]), 5) == store.entries() == []
    assert store.damage() == []


def test_ids_are_not_used_again(store: MemoryStore) -> None:
    store.add([NewMemory(DECISION, "one")], "you", AT)
    store.forget("m1")
    assert store.add([NewMemory(DECISION, "two")], "you", AT)[0].id == "m2"


def test_a_text_that_becomes_another_ones_is_one_with_it(store: MemoryStore) -> None:
    store.add([NewMemory(DECISION, "one"), NewMemory(DECISION, "two")], "you", AT)
    store.change("m2", "one", None, "you", AT)
    assert [(one.id, one.text) for one in store.entries()] == [("m2", "one")]


def test_old_outcomes_go_and_the_rest_stays(store: MemoryStore) -> None:
    store.learn([NewMemory(FACT, "a fact"), *(NewMemory(OUTCOME, f"run {n}") for n in range(5))], "s", AT, 2)
    assert [one.text for one in store.entries()] == ["a fact", "run 3", "run 4"]


def test_what_the_user_adds_comes_back_after_they_forgot_it(store: MemoryStore) -> None:
    new = NewMemory(FACT, "`make test` tests the project")
    store.learn([new], "s", AT, 9)
    store.forget("m1")
    assert store.learn([new], "s", AT, 9) == [] and store.entries() == []
    store.add([new], "you", AT)
    assert len(store.entries()) == 1


def test_a_newer_file_is_left_alone(store: MemoryStore) -> None:
    with apsw.Connection(store.path) as other:
        other.pragma("user_version", 99)
    with pytest.raises(StoreNewer):
        MemoryStore(store.path)


@pytest.mark.parametrize("row", ["'no tier', 'x', '{}'", "'fact', 'x', 'no json'"])
def test_a_row_that_is_no_memory_is_damage(store: MemoryStore, row: str) -> None:
    with apsw.Connection(store.path) as other:
        other.execute(f"INSERT INTO memories (tier, text, held_by, source, at, evidence) VALUES ({row}, '', '', '')")
    with pytest.raises(StoreDamaged, match="m1"):
        store.entries()


KILLED = """
import sys
from quintet.features.memory.store import MemoryStore
from quintet.features.memory.values import NewMemory, Tier
store = MemoryStore(sys.argv[1])
for number in range(100000):
    pair = [NewMemory(Tier.FACT, f"left {number}"), NewMemory(Tier.FACT, f"right {number}")]
    store.learn(pair, "s", "2026-01-01T00:00:00.000Z", 9)
    print(number, flush=True)
"""


def test_a_kill_in_the_middle_leaves_whole_transactions(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    for round in range(3):
        with subprocess.Popen([sys.executable, "-c", KILLED, path], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout
            told = [int(child.stdout.readline()) for _ in range(round + 1)]
            child.send_signal(signal.SIGKILL)
        store = MemoryStore(path)
        texts = {one.text for one in store.entries()}
        assert {f"{side} {number}" for number in told for side in ("left", "right")} <= texts
        assert {text.split()[1] for text in texts if text.startswith("left")} == {
            text.split()[1] for text in texts if text.startswith("right")
        }
        assert store.damage() == [] and len(store.search('"left"', 9999)) * 2 == len(texts)
        store.close()


FITS = [
    ("fix the failing test of the parser", FACT, "`pytest -q` tests the project", True),
    ("how does the tally count its words?", DECISION, "the tally counts words by spaces", True),
    ("where is src/app.py used", DECISION, "src/app.py is generated", True),
    ("hello", DECISION, "the tally counts words by spaces", False),
    ("what does the page say?", DECISION, "the page of the tally is short", False),
    ("database", DECISION, "the database is SQLite", True),
    ("", DECISION, "anything", False),
    ('"; DROP TABLE memories; --', DECISION, "tables are dropped at night", True),
    ("NEAR(a b) AND col:x * ^", DECISION, "nothing to do with it", False),
]


@pytest.mark.parametrize(("text", "tier", "known", "told"), FITS)
def test_what_is_told_unasked(store: MemoryStore, text: str, tier: Tier, known: str, told: bool) -> None:
    store.add([NewMemory(tier, known)], "you", AT)
    words = words_of(text)
    assert bool(near(words, store.search(match_any(words), 5))) is told
