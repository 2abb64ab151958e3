"""The protocol of lease and inbox as a model, and every schedule of it.

Processes step one at a time: each read and each transaction is a step, so all interleavings are all orders of steps. A
process that is suspended is one that the schedule leaves alone. It may be killed before any step, and sent again with
the same id or not. Where processes cannot see each other, a step of a clock or a suspend may make a live owner look
gone, at any look: a lapse; where they can, nothing does.

`take`, `renew`, `holds` and `release` are the store's own rules (`test_owner_model.py` compares them with the SQL).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

NOBODY = -1
WAITING, STARTED, DONE, INTERRUPTED = "waiting", "started", "done", "interrupted"
OVER = (DONE, INTERRUPTED)
PART_BITS = 20  # of a number that stands for a part of a state


class LeaseRow(NamedTuple):
    owner: int = NOBODY
    number: int = 0
    until: int = 0


def take(row: LeaseRow, seen: LeaseRow, owner: int, until: int = 0) -> LeaseRow | None:
    """The row after a taking, if it stands as it was seen."""
    return LeaseRow(owner, seen.number + 1, until) if row == seen else None


def holds(row: LeaseRow, owner: int, number: int) -> bool:
    return (row.owner, row.number) == (owner, number)


def renew(row: LeaseRow, owner: int, number: int, until: int) -> LeaseRow | None:
    return row._replace(until=until) if holds(row, owner, number) else None


def release(row: LeaseRow, owner: int, number: int) -> LeaseRow:
    return LeaseRow(NOBODY, row.number, 0) if holds(row, owner, number) else row


@dataclass(frozen=True)
class Protocol:
    """How the processes behave; every flag that is off is a defect that the exploration has to find."""

    fenced: bool = True  # a write carries the number of its lease
    compared: bool = True  # a session is taken only as it was seen
    own_release: bool = True  # one lets go of one's own lease only
    together: bool = True  # a submission is consumed with the event that it becomes
    accepted_once: bool = True  # an id that was accepted is not accepted again
    takes_over: bool = True  # who waits for an input goes on in the place of an owner that is gone
    drains: bool = True  # an owner runs what is queued before it leaves
    settles: bool = True  # what a former owner had begun is closed, not begun again
    started_first: bool = True  # on record before the effect


class Process(NamedTuple):
    at: str  # the step that comes next
    inputs: tuple[int, ...]  # that it sends, one run of the program each
    number: int = 0  # of its lease; 0 if it has none
    seen: LeaseRow = LeaseRow()
    queue: tuple[int, ...] = ()  # what an owner knows to wait
    running: int = NOBODY
    taken: int = NOBODY  # an input that was consumed, and is not on record yet: only where the two are not together


class World(NamedTuple):
    row: LeaseRow
    inbox: tuple[int, ...]
    accepted: frozenset[int]
    journal: tuple[tuple[str, ...], ...]  # what is on record of each input, in order
    effects: tuple[int, ...]
    processes: tuple[Process, ...]
    kills: int  # that may still happen
    lapses: int  # how often a live owner may still look gone
    repeated: bool  # whether a client that was killed may be started again, with the same id
    robbed: int = 0  # how often a lapse happened, and the owner has not noticed yet


def begin(clients: tuple[tuple[int, ...], ...], kills: int, lapses: int, *, repeated: bool = False) -> World:
    count = 1 + max(one for inputs in clients for one in inputs)
    processes = tuple(Process("look", inputs) for inputs in clients)
    return World(LeaseRow(), (), frozenset(), ((),) * count, (0,) * count, processes, kills, lapses, repeated)


# What each process sends, one input a run; the last one comes when the others are gone, and finds what they left.
FOUR_INPUTS = ((0,), (1,), (2, 3), ())
SENT_AGAIN = ((0, 0), (1,), ())


def weaker_worlds() -> dict[str, list[World]]:
    """Of each flag of a protocol, where its lack shows, in the order of their size."""
    own = {"own_release": ((0,), (1,), (2,), ())}
    faults = ((0, 0), (1, 0), (0, 1), (1, 1))
    return {flag: [begin(own.get(flag, SENT_AGAIN), *one) for one in faults] for flag in Protocol.__dataclass_fields__}


class Defect(Exception):
    """A schedule that breaks what is promised."""


End = tuple[tuple[tuple[str, ...], ...], tuple[int, ...]]  # what is on record of each input, and its effects


class Seen:
    """The states that were met, each as one number: their parts are counted as they come, so two are never confused.

    What may still happen to a state is kept apart from it. With more kills and lapses left everything can happen that
    can with fewer, so a state that was met with at least as many of both is not new.
    """

    def __init__(self) -> None:
        self._parts: dict[object, int] = {}
        self._met: dict[int, tuple[tuple[int, int], ...]] = {}  # the kills and lapses that were left
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, world: World) -> bool:
        """Whether it is new."""
        state, parts = 0, self._parts
        for part in (*world[:5], *world.processes, world.robbed):
            state = state << PART_BITS | parts.setdefault(part, len(parts))
        assert len(parts) < 1 << PART_BITS
        met = self._met.get(state, ())
        if any(kills >= world.kills and lapses >= world.lapses for kills, lapses in met):
            return False
        self._met[state] = (*met, (world.kills, world.lapses))
        self._count += 1
        return True


def explore(protocol: Protocol, world: World, *, reduced: bool = True, ends: set[End] | None = None) -> int:
    """Walk through every schedule; returns how many states there are. Raises Defect at the first that is wrong.

    States that only differ in a way that changes nothing are one: the numbers of leases (`_renumbered`), and if it is
    reduced, which of two clients that send one input each is which (`_swapped`). Worlds in which less has gone wrong
    come first, so that those in which more has are met as known ones. `ends` takes how each schedule may end.
    """
    seen = Seen()
    seen.add(world)
    worlds: dict[int, list[World]] = {world.kills + world.lapses: [world]}  # by what may still go wrong
    alike = reduced and [one.inputs for one in world.processes[:2]] == [(0,), (1,)]
    alike = alike and not any({0, 1} & set(one.inputs) for one in world.processes[2:])
    for left in range(world.kills + world.lapses, -1, -1):
        while worlds.get(left):
            world = worlds[left].pop()
            following = list(_following(protocol, world, reduced=reduced))
            if not following:
                _check_end(world)
                if ends is not None:
                    ends.add((world.journal, world.effects))
            for after in following:
                same = _renumbered(after)
                if alike:
                    same = _swapped(same)
                if seen.add(same):
                    _check(same)
                    worlds.setdefault(same.kills + same.lapses, []).append(same)
    return len(seen)


_OTHER = {0: 1, 1: 0}


def _swapped(world: World) -> World:
    """The same state with the first two clients and their inputs in a fixed order, as far as that is soon told."""
    first, second, *rest = world.processes
    if (first.at, first.number, len(first.queue)) <= (second.at, second.number, len(second.queue)):
        return world
    other = _OTHER

    def swapped(one: Process) -> Process:
        seen = one.seen._replace(owner=other.get(one.seen.owner, one.seen.owner))
        inputs, queue = _others(one.inputs), _others(one.queue)
        return Process(
            one.at,
            inputs,
            one.number,
            seen,
            queue,
            other.get(one.running, one.running),
            other.get(one.taken, one.taken),
        )

    zero, one, *journal = world.journal
    none, single, *effects = world.effects
    return world._replace(
        row=world.row._replace(owner=other.get(world.row.owner, world.row.owner)),
        inbox=_others(world.inbox),
        accepted=frozenset(_others(tuple(world.accepted))),
        journal=(one, zero, *journal),
        effects=(single, none, *effects),
        processes=(swapped(second), swapped(first), *(swapped(process) for process in rest)),
    )


def _others(inputs: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(_OTHER.get(number, number) for number in inputs)


def _renumbered(world: World) -> World:
    """The same state with the lowest numbers of leases: a new one is above all, and else they are only compared."""
    row, processes = world.row, world.processes
    numbers = {row.number, *(one.number for one in processes), *(one.seen.number for one in processes)} - {0}
    if not numbers or max(numbers) == len(numbers):
        return world
    rank = {0: 0} | {number: place for place, number in enumerate(sorted(numbers), 1)}
    return world._replace(
        row=row._replace(number=rank[row.number]),
        processes=tuple(
            one._replace(number=rank[one.number], seen=one.seen._replace(number=rank[one.seen.number]))
            for one in processes
        ),
    )


def _check(world: World) -> None:
    for number, record in enumerate(world.journal):
        for kind in (WAITING, STARTED):
            if record.count(kind) > 1:
                raise Defect(f"input {number} is {kind} twice: {record}")
        if sum(record.count(kind) for kind in OVER) > 1:
            raise Defect(f"input {number} ended twice: {record}")
        if world.effects[number] > 1:
            raise Defect(f"input {number} has its effect twice")
        if record and record[-1] == DONE and world.effects[number] != 1:
            raise Defect(f"input {number} is done, without its effect")
        if world.effects[number] and STARTED not in record:
            raise Defect(f"input {number} had its effect before it was on record")


def _check_end(world: World) -> None:
    """Nothing moves any more: everybody has left or was killed."""
    for process in world.processes:
        if process.at not in ("left", "killed"):
            raise Defect(f"stuck: {process}")
    for number in world.accepted:
        if not set(world.journal[number]) & set(OVER):
            raise Defect(f"input {number} was accepted and never ended: {world.journal[number]}")


def _following(protocol: Protocol, world: World, *, reduced: bool) -> Iterator[World]:
    if reduced and not world.kills:
        # an effect is seen by nobody, and nothing takes it back: it may as well come before what others do
        for me, process in enumerate(world.processes):
            if process.at == "effect":
                yield _affected(world, me, process)
                return
    for me, process in enumerate(world.processes):
        if process.at in ("left", "killed"):
            continue
        if me == len(world.processes) - 1 and any(other.at not in ("left", "killed") for other in world.processes[:-1]):
            continue  # the last one comes when the others have gone, and finds what they left
        if world.kills and me < len(world.processes) - 1:
            killed = world._replace(kills=world.kills - 1)
            yield _with(killed, me, Process("killed", ()))
            if world.repeated:
                yield _with(killed, me, Process("look", process.inputs))
        yield from _steps(protocol, world, me, process)


def _with(world: World, me: int, process: Process) -> World:
    return world._replace(processes=(*world.processes[:me], process, *world.processes[me + 1 :]))


def _looks(world: World, me: int) -> Iterator[tuple[bool, World]]:
    """Whether the owner lives, as it may look from a process."""
    owner = world.row.owner
    lives = owner != NOBODY and world.processes[owner].number == world.row.number
    yield lives, world
    if lives and owner != me and world.lapses:
        yield False, world._replace(lapses=world.lapses - 1, robbed=world.robbed + 1)


def _wrote(protocol: Protocol, world: World, me: int, process: Process) -> bool:
    return not protocol.fenced or holds(world.row, me, process.number)


def _noted(world: World, number: int, *kinds: str) -> World:
    record = (*world.journal[number], *kinds)
    return world._replace(journal=(*world.journal[:number], record, *world.journal[number + 1 :]))


def _ended(world: World, number: int) -> str:
    return next((kind for kind in world.journal[number] if kind in OVER), "")


def _left(world: World, me: int, process: Process, said: str) -> World:
    """A run of the program ends with what it says of its input; the next one sends the next."""
    number, *rest = process.inputs or (NOBODY,)
    if said == "lost":
        if not world.robbed:
            raise Defect(f"a live owner that nobody took for gone lost the session: {process}")
        world = world._replace(robbed=world.robbed - 1)
    elif number != NOBODY and said not in world.journal[number]:
        raise Defect(f"a client says that input {number} is {said}: {world.journal[number]}")
    return _with(world, me, Process("look" if rest else "left", tuple(rest)))


def _steps(protocol: Protocol, world: World, me: int, process: Process) -> Iterator[World]:
    mine = process.inputs[0] if process.inputs else NOBODY
    row = world.row
    match process.at:
        case "look":
            for lives, after in _looks(world, me):
                seen = LeaseRow() if lives else row
                yield _with(after, me, process._replace(at="send" if lives else "take", seen=seen))
        case "take":
            got = take(row if protocol.compared else process.seen, process.seen, me)
            if got:
                if not protocol.compared:
                    got = LeaseRow(me, row.number + 1)
                yield _with(
                    world._replace(row=got), me, process._replace(at="settle", number=got.number, seen=LeaseRow())
                )
            else:
                at = "watch" if mine in world.accepted else "send"
                yield _with(world, me, process._replace(at=at, seen=LeaseRow()))
        case "settle":
            if not _wrote(protocol, world, me, process):
                yield _left(world, me, process, "lost")
                return
            queue = []
            for number, record in enumerate(world.journal):
                if record and record[-1] == STARTED and protocol.settles:
                    world = _noted(world, number, INTERRUPTED)
                elif record and record[-1] in (WAITING, STARTED):
                    queue.append(number)
            at = "own" if mine == NOBODY else "send"
            yield _with(world, me, process._replace(at=at, queue=tuple(queue)))
        case "send":
            if mine not in world.accepted or not protocol.accepted_once:
                world = world._replace(inbox=(*world.inbox, mine), accepted=world.accepted | {mine})
            yield _with(world, me, process._replace(at="own" if process.number else "watch"))
        case "watch":
            if said := _ended(world, mine):
                yield _left(world, me, process, said)
                return
            for lives, after in _looks(world, me):
                if not lives and protocol.takes_over:
                    yield _with(after, me, process._replace(at="take", seen=row))
                elif not lives:
                    yield _left(after, me, process, "gone")
        case "own" | "effect" | "finish" | "close":
            yield from _owning(protocol, world, me, process, mine)
        case "release":
            freed = release(row, me, process.number) if protocol.own_release else LeaseRow(NOBODY, row.number)
            said = _ended(world, mine) if mine != NOBODY else ""
            if not holds(row, me, process.number):  # too late to matter to it
                world = world._replace(robbed=world.robbed - 1)
            yield _left(world._replace(row=freed), me, process, said or "unsaid")


def _owning(protocol: Protocol, world: World, me: int, process: Process, mine: int) -> Iterator[World]:
    wrote = _wrote(protocol, world, me, process)
    running = process.running
    if process.taken != NOBODY:  # consumed by a transaction of its own
        if not wrote:
            yield _left(world, me, process, "lost")
        else:
            after = _noted(world, process.taken, WAITING)
            yield _with(after, me, process._replace(queue=(*process.queue, process.taken), taken=NOBODY))
        return
    if not wrote and process.at == "own":  # it looks whenever somebody has written
        yield _left(world, me, process, "lost")
        return
    if world.inbox and wrote:
        first, *rest = world.inbox
        if protocol.together:
            after = _noted(world._replace(inbox=tuple(rest)), first, WAITING)
            yield _with(after, me, process._replace(queue=(*process.queue, first)))
        else:
            yield _with(world._replace(inbox=tuple(rest)), me, process._replace(taken=first))
    match process.at:
        case "own" if process.queue and running == NOBODY and (protocol.drains or not _ended(world, mine)):
            first = process.queue[0]
            begun = process._replace(at="effect", running=first, queue=process.queue[1:])
            if not protocol.started_first:
                yield _with(world, me, begun)
            else:
                yield _with(_noted(world, first, STARTED), me, begun)
        case "own" if running == NOBODY and (mine == NOBODY or _ended(world, mine)):
            if not world.inbox or not protocol.drains:
                yield _with(world, me, process._replace(at="close"))
        case "effect":
            yield _affected(world, me, process)
        case "finish":
            if not wrote:
                yield _left(world, me, process, "lost")
                return
            kinds = (DONE,) if protocol.started_first else (STARTED, DONE)
            yield _with(_noted(world, running, *kinds), me, process._replace(at="own", running=NOBODY))
        case "close" if not world.inbox or not wrote:
            yield _with(world, me, process._replace(at="release"))


def _affected(world: World, me: int, process: Process) -> World:
    running = process.running
    effects = (*world.effects[:running], world.effects[running] + 1, *world.effects[running + 1 :])
    return _with(world._replace(effects=effects), me, process._replace(at="finish"))
