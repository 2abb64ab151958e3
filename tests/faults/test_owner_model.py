"""Every schedule of lease and inbox keeps what is promised: one writer, each input once. A protocol that is weaker
breaks it, and is found; and the store does what the model says.
"""

from __future__ import annotations

import asyncio
from itertools import product
from pathlib import Path

import owner_model
import pytest
from owner_model import FOUR_INPUTS, NOBODY, SENT_AGAIN, Defect, End, LeaseRow, Protocol, begin, explore, weaker_worlds

from quintet.adapters.sqlite.store import SqliteStore
from quintet.domain.base.errors import LeaseLost
from quintet.domain.journal.store_rows import Batch, Lease, SessionRow


@pytest.mark.parametrize("kills", [0, 1])
def test_three_processes_with_four_inputs_keep_each_once_in_every_schedule(kills: int) -> None:
    """`scripts/faults owner-model` has lapses as well, and clients that come again."""
    assert explore(Protocol(), begin(FOUR_INPUTS, kills, 0), reduced=False) > 5_000


@pytest.mark.parametrize("clients", [((0,), (1, 2), ()), SENT_AGAIN])
@pytest.mark.parametrize(("kills", "lapses"), [(2, 0), (1, 1), (0, 2)])
def test_kills_and_lapses_together_keep_each_input_once(
    clients: tuple[tuple[int, ...], ...], kills: int, lapses: int
) -> None:
    assert explore(Protocol(), begin(clients, kills, lapses, repeated=True)) > 1_000


@pytest.mark.parametrize(("kills", "lapses"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_fewer_states_come_to_every_end(kills: int, lapses: int) -> None:
    world = begin(((0,), (1,), ()), kills, lapses, repeated=True)
    ends: dict[bool, set[End]] = {False: set(), True: set()}
    states = {reduced: explore(Protocol(), world, reduced=reduced, ends=ends[reduced]) for reduced in ends}
    assert states[True] < states[False]
    assert {_either_way(end) for end in ends[True]} == {_either_way(end) for end in ends[False]}
    assert ends[False]


def _either_way(end: End) -> tuple[object, ...]:
    """An end, whichever of the two clients is the first."""
    journal, effects = end
    return tuple(sorted(zip(journal, effects, strict=True)))


@pytest.mark.parametrize("flag", list(Protocol.__dataclass_fields__))
def test_a_weaker_protocol_is_found(flag: str) -> None:
    weaker = Protocol(**{flag: False})
    for reduced in (True, False):
        with pytest.raises(Defect):
            for world in weaker_worlds()[flag]:
                explore(weaker, world, reduced=reduced)


def test_the_store_takes_renews_and_releases_leases_as_the_model_does(tmp_path: Path) -> None:
    """Every row of two owners, two numbers and two heartbeats, against everything that can be asked of it."""
    owners, numbers, untils = (NOBODY, 1, 2), (1, 2), (0, 5)
    rows = [LeaseRow(owner, number, until) for owner, number, until in product(owners, numbers, untils)]

    def name(owner: int) -> str:
        return "" if owner == NOBODY else f"owner-{owner}"

    def stored(row: LeaseRow) -> SessionRow:
        return SessionRow("s", "", "", "", 0, "", b"{}", name(row.owner), 0, "", row.until, row.number)

    def lease(owner: int, number: int, until: int = 0) -> Lease:
        return Lease("s", name(owner), 0, "", until, number)

    async def run() -> int:
        store = SqliteStore(str(tmp_path / "state.db"))
        await store.create(stored(LeaseRow()), Batch(None, [], "", b"{}"))

        async def put(row: LeaseRow) -> None:
            values = (name(row.owner), row.number, row.until)
            sql = "UPDATE sessions SET owner = ?, lease_number = ?, lease_until = ?"
            await store.write(lambda rows: rows.connection.execute(sql, values).fetchall())

        def now() -> LeaseRow:
            found = store.session("s")
            assert found
            owner = int(found.owner.rpartition("-")[2]) if found.owner else NOBODY
            return LeaseRow(owner, found.lease_number, int(found.lease_until))

        asked = 0
        for row, seen, me in product(rows, rows, (1, 2)):
            await put(row)
            taken = owner_model.take(row, seen, me, 9)
            assert await store.take_lease(lease(me, seen.number + 1, 9), stored(seen)) is (taken is not None)
            assert now() == (taken or row)
            asked += 1
        for row, me, number in product(rows, (1, 2), numbers):
            await put(row)
            held = owner_model.holds(row, me, number)
            assert store.holds(lease(me, number)) is held
            renewed = owner_model.renew(row, me, number, 7)
            assert await store.renew_lease(lease(me, number, 7)) is held
            assert now() == (renewed or row)
            await put(row)
            try:
                await store.append("s", Batch(lease(me, number), [], "", b"{}"))
                wrote = True
            except LeaseLost:
                wrote = False
            assert wrote is held
            await store.release(lease(me, number))
            assert now() == owner_model.release(row, me, number)
            asked += 4
        await store.close()
        return asked

    assert asyncio.run(run()) == 12 * 12 * 2 + 12 * 2 * 2 * 4
