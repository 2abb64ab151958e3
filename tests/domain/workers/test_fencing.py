"""Who gets a task, with which number, and whose writes are made."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.workers.fencing import Holder, holds, may_write, number_for
from quintet.domain.workers.integration import AfterRebase, Rebased, RebaseKind, after_rebase

A3 = Holder("a", 3)


@pytest.mark.parametrize(
    ("held", "owner", "newest", "more", "number"),
    [
        (None, "a", 0, {}, 1),
        (None, "b", 3, {}, 4),
        (None, "a", 3, {"carried": 3}, 0),  # what was let go of is not kept
        (A3, "a", 3, {}, 3),
        (A3, "a", 3, {"carried": 3}, 3),
        (A3, "a", 3, {"carried": 2}, 0),
        (A3, "b", 3, {}, 0),
        (A3, "b", 3, {"gone": "a"}, 4),
        (A3, "b", 3, {"gone": "c"}, 0),  # another one was seen to be gone
        (A3, "b", 3, {"gone": "a", "carried": 2}, 0),
    ],
)
def test_the_number_of_a_lease(
    held: Holder | None, owner: str, newest: int, more: dict[str, object], number: int
) -> None:
    assert number_for(held, owner, newest, **more) == number  # type: ignore[arg-type]


def test_a_task_that_is_anothers_by_now_is_neither_landed_nor_sent_back() -> None:
    assert after_rebase(Rebased(RebaseKind.LOST)) is AfterRebase.STOP


STEPS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(("take", "keep", "drop", "lose", "write"))))


@given(STEPS)
def test_numbers_rise_and_only_the_newest_holder_writes(steps: list[tuple[str, str]]) -> None:
    held: Holder | None = None
    newest, gone = 0, ""
    carried: dict[str, int] = {}
    for owner, what in steps:
        match what:
            case "take":
                if number := number_for(held, owner, newest, gone=gone):
                    assert number > newest or (held and held.owner == owner and number == held.number)
                    held, newest, carried[owner] = Holder(owner, number), max(newest, number), number
            case "keep":
                kept = number_for(held, owner, newest, carried=carried.get(owner, 0) or -1)
                assert not kept or (held is not None and held.owner == owner and kept == carried[owner])
            case "drop":
                held = None if held and held.owner == owner else held
            case "lose":
                gone = held.owner if held else ""
            case "write":
                if may_write(newest, carried.get(owner, 0) or -1) and holds(held, owner):
                    assert held and held.owner == owner and held.number == newest
