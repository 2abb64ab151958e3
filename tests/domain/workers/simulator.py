"""Workers, a store and a target branch in simulated time, from a seed: every decision about who may write is the
program's own.

Workers crash, are suspended and cut off, their clocks differ, and what they send arrives late, twice or never. The
store is one place, as a database is; it decides by `Rules`, which tests replace one by one to see that each is needed.
When a lease lapses is a model, stricter than a store with one clock for all: each worker goes by a clock of its own.
Checked all the while, by means of the simulator's own: no task is lost or done twice, no two workers act for one task,
nothing is written with an old number, nobody works at what another has claimed, and what does not fit never lands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import Any

from msgspec import Struct, field

from quintet.domain.tasks.task import Intent
from quintet.domain.workers import claims as claiming
from quintet.domain.workers import fencing, integration
from quintet.domain.workers.dispatch import Dependencies, Dispatch
from quintet.domain.workers.fencing import Holder
from quintet.domain.workers.integration import AfterRebase, Rebased, RebaseKind

LEASE, SKEW, BEAT = 15.0, 2.0, 5.0
TURN = 1.0  # that one who is to integrate is waited for


class TimedHolder(Holder, frozen=True):
    until: float = 0.0  # on the store's clock: after it the lease has lapsed


def may_be_taken(held: TimedHolder, now: float, skew: float) -> bool:
    """Whether a lease has lapsed for one whose clock may be ahead of the holder's by `skew` seconds."""
    return now > held.until + skew


def must_stop(until: float, now: float, skew: float) -> bool:
    """Whether a holder that could not renew its lease stops by itself: before anybody may take it."""
    return now >= until - skew


class Rules(Struct):
    """What decides; the program's own, unless a test says otherwise."""

    number_for: Callable[..., int] = fencing.number_for
    holds: Callable[..., bool] = fencing.holds
    may_write: Callable[[int, int], bool] = fencing.may_write
    may_be_taken: Callable[[TimedHolder, float, float], bool] = may_be_taken
    must_stop: Callable[[float, float, float], bool] = must_stop
    in_the_way: Callable[..., Any] = claiming.PathClaims.in_the_way
    gives_way: Callable[..., bool] = claiming.gives_way
    after_rebase: Callable[[Rebased], AfterRebase] = integration.after_rebase
    goes_first: Callable[..., bool] = integration.goes_first
    newly_ready: Callable[[Dependencies, str], list[str]] = Dependencies.done


class Faults(Struct):
    """How often something goes wrong, a worker and second."""

    crash: float = 0.004
    pause: float = 0.004
    cut: float = 0.004
    lost: float = 0.01  # a message
    twice: float = 0.05
    late: float = 0.03
    user_commit: float = 0.05  # a second
    tangled: float = 0.05  # tasks that write what another one near them has claimed


class SimulatedTask(Struct):
    id: str
    needs: tuple[str, ...]
    wants: tuple[Intent, ...]
    extra: str  # a file that it writes and did not claim; empty: none
    seconds: float


class SimulatedWorker(Struct):
    id: int
    offset: float  # of its clock
    epoch: int = 0  # what was planned in an earlier one does not happen
    down: float = 0.0  # until when it is suspended
    cut: float = 0.0  # until when nothing gets through
    task: str = ""
    owner: str = ""
    number: int = 0
    until: float = 0.0  # of its lease, by its own clock
    left: float = 0.0  # of the work
    base: int = 0
    sent: float = 0.0
    idle: float = 0.5  # seconds until it asks again


class Simulation:
    def __init__(
        self, seed: int, workers: int, tasks: int, rules: Rules | None = None, faults: Faults | None = None
    ) -> None:
        self.random = Random(seed)
        self.rules = rules or Rules()
        self.faults = faults or Faults()
        self.now = 0.0
        self.events = 0
        self.wrong: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()  # what happened, to see that the faults were met
        self._queue: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._made = 0
        self.tasks = {task.id: task for task in _made_tasks(self.random, tasks, self.faults.tangled)}
        self._place = {id: (False, "", id) for id in self.tasks}
        # the store
        self._holders: dict[str, TimedHolder] = {}
        self._newest: dict[str, int] = dict.fromkeys(self.tasks, 0)
        self._of_owner: dict[str, str] = {}
        self._leases: list[tuple[float, str, int]] = []
        self._claims = _Claims(self.rules)
        self._dispatch = Dispatch(self._claims)
        self._dependencies = Dependencies({task.id: task.needs for task in self.tasks.values()})
        self._done: set[str] = set()
        self._landed: Counter[str] = Counter()
        self._integrating: dict[str, tuple[str, str]] = {}
        self._first: list[tuple[tuple[str, str], str]] = []
        self._heard: dict[str, float] = {}
        self._queued: dict[str, tuple[SimulatedWorker, int]] = {}
        self._waits: dict[str, tuple[str, ...]] = {}
        self._target = 0
        self._touched: dict[str, int] = {}  # by the user: which folder, at which version
        # the check of claims, by other means: who holds what, by the first folder of its path
        self._held: dict[str, dict[str, set[Intent]]] = {}
        for id in self._dependencies.ready():
            self._dispatch.ready(id, self._place[id], self.tasks[id].wants)
        self.workers = [SimulatedWorker(number, self.random.uniform(-SKEW / 2, SKEW / 2)) for number in range(workers)]
        for worker in self.workers:
            self._at(self.random.random(), self._seek, worker, 0)
            self._trouble(worker)
        self._at(1.0, self._sweep)
        self._at(1.0, self._user)

    # ── time

    def _at(self, after: float, what: Callable[..., None], *words: Any) -> None:
        self._made += 1
        heappush(self._queue, (self.now + after, self._made, what, words))

    def run(self, most: float = 1e9) -> Simulation:
        """Until every task is done, or that many seconds have passed."""
        while self._queue and len(self._done) < len(self.tasks) and self.now < most:
            self.now, _, what, words = heappop(self._queue)
            self.events += 1
            what(*words)
        for id in self.tasks:
            if id not in self._done:
                self.wrong["lost"] += 1
            elif self._landed[id] != 1:
                self.wrong["landed more than once"] += 1
        return self

    # ── trouble

    def _trouble(self, worker: SimulatedWorker) -> None:
        faults = self.faults
        whole = faults.crash + faults.pause + faults.cut
        if whole:
            self._at(self.random.expovariate(whole), self._hit, worker)

    def _hit(self, worker: SimulatedWorker) -> None:
        faults, dice = self.faults, self.random.random()
        whole = faults.crash + faults.pause + faults.cut
        longest = self.random.choice((2.0, 8.0, 40.0))
        if dice < faults.crash / whole:
            self.seen["crash"] += 1
            self._forget(worker)
            self._at(self.random.uniform(0.0, longest), self._seek, worker, worker.epoch)
        elif dice < (faults.crash + faults.pause) / whole:
            self.seen["pause"] += 1
            worker.down = self.now + self.random.uniform(0.0, longest)
        else:
            self.seen["cut"] += 1
            worker.cut = self.now + self.random.uniform(0.0, longest)
        self._trouble(worker)

    def _forget(self, worker: SimulatedWorker) -> None:
        worker.epoch += 1
        worker.task = worker.owner = ""
        worker.number = 0

    def _send(self, worker: SimulatedWorker, what: Callable[..., None], *words: Any) -> None:
        """A message to the store, or from it."""
        faults, random = self.faults, self.random
        for _ in range(2 if random.random() < faults.twice else 1):
            if random.random() < faults.lost:
                self.seen["lost"] += 1
                continue
            delay = random.uniform(0.0005, 0.006)
            if random.random() < faults.late:
                self.seen["late"] += 1
                delay = random.uniform(1.0, 60.0)
            self._at(max(0.0, worker.cut - self.now) + delay, what, *words)

    def _later(self, worker: SimulatedWorker, what: Callable[..., None], *words: Any) -> bool:
        """Whether a suspended worker does this when it goes on."""
        if worker.down > self.now:
            self._at(worker.down - self.now, what, *words)
            return True
        return False

    # ── a worker

    def _seek(self, worker: SimulatedWorker, epoch: int) -> None:
        if epoch != worker.epoch or worker.task or self._later(worker, self._seek, worker, epoch):
            return
        worker.epoch += 1
        worker.owner = f"w{worker.id}.{worker.epoch}"
        worker.sent = self.now + worker.offset
        self._send(worker, self._take, worker, worker.owner, worker.epoch)
        self._at(3.0 + self.random.random(), self._unheard, worker, worker.epoch)

    def _unheard(self, worker: SimulatedWorker, epoch: int) -> None:
        """No answer came: ask again, as the same owner; what was given is given again."""
        if epoch != worker.epoch or worker.task or self._later(worker, self._unheard, worker, epoch):
            return
        self._at(self.random.random(), self._seek, worker, epoch)

    def _got(self, worker: SimulatedWorker, epoch: int, task: str, number: int) -> None:
        if epoch != worker.epoch or worker.task or self._later(worker, self._got, worker, epoch, task, number):
            return
        if not task:
            worker.idle = min(16.0, worker.idle * 2)
            self._at(worker.idle * self.random.random(), self._seek, worker, epoch)
            return
        worker.idle = 0.5
        worker.task, worker.number, worker.base = task, number, self._target
        worker.until = worker.sent + LEASE
        worker.left = self.tasks[task].seconds
        self._at(BEAT, self._beat, worker, epoch)
        self._step(worker, epoch)

    def _stopped(self, worker: SimulatedWorker) -> bool:
        """Whether the worker gives up by itself, because it could not renew its lease."""
        if self.rules.must_stop(worker.until, self.now + worker.offset, SKEW):
            self.seen["gave up"] += 1
            self._forget(worker)
            self._at(self.random.random(), self._seek, worker, worker.epoch)
            return True
        return False

    def _acts(self, worker: SimulatedWorker) -> None:
        """Something is done for the task, outside the store."""
        if self._newest[worker.task] != worker.number:
            self.wrong["two at one task"] += 1

    def _step(self, worker: SimulatedWorker, epoch: int) -> None:
        if epoch != worker.epoch or self._later(worker, self._step, worker, epoch) or self._stopped(worker):
            return
        self._acts(worker)
        worker.left -= 2.0
        if worker.left > 0:
            self._at(2.0, self._step, worker, epoch)
            return
        task = self.tasks[worker.task]
        if task.extra:
            self._send(worker, self._widen, worker, epoch, task.id, worker.owner, worker.number)
        else:
            self._offer(worker, epoch)

    def _offer(self, worker: SimulatedWorker, epoch: int) -> None:
        if epoch != worker.epoch or self._later(worker, self._offer, worker, epoch) or self._stopped(worker):
            return
        self._send(worker, self._land, worker, epoch, worker.task, worker.owner, worker.number, worker.base)
        self._at(8.0, self._offer, worker, epoch)  # until an answer comes

    def _verify(self, worker: SimulatedWorker, epoch: int, base: int) -> None:
        if epoch != worker.epoch or self._later(worker, self._verify, worker, epoch, base) or self._stopped(worker):
            return
        self._acts(worker)
        worker.base = base
        self._at(self.random.uniform(0.002, 0.01), self._again, worker, epoch)

    def _again(self, worker: SimulatedWorker, epoch: int) -> None:
        if epoch != worker.epoch or self._later(worker, self._again, worker, epoch) or self._stopped(worker):
            return
        self._send(worker, self._land, worker, epoch, worker.task, worker.owner, worker.number, worker.base)

    def _over(self, worker: SimulatedWorker, epoch: int) -> None:
        """The attempt is over for the worker, however it ended."""
        if epoch != worker.epoch:
            return
        self._forget(worker)
        self._at(self.random.random() * 0.1, self._seek, worker, worker.epoch)

    def _beat(self, worker: SimulatedWorker, epoch: int) -> None:
        if epoch != worker.epoch or not worker.task or self._later(worker, self._beat, worker, epoch):
            return
        sent = self.now + worker.offset
        self._send(worker, self._renew, worker, epoch, worker.task, worker.owner, worker.number, sent)
        self._at(BEAT, self._beat, worker, epoch)

    def _renewed(self, worker: SimulatedWorker, epoch: int, sent: float) -> None:
        if epoch == worker.epoch and not self._later(worker, self._renewed, worker, epoch, sent):
            worker.until = max(worker.until, sent + LEASE)

    # ── the store

    def _take(self, worker: SimulatedWorker, owner: str, epoch: int) -> None:
        task = self._of_owner.get(owner, "")
        held = self._holders.get(task)
        if not (held and held.owner == owner):  # else it asks again: it gets the same
            task = self._dispatch.next() or ""
            if task and not self._granted(task, owner):
                task = ""
        number = self._holders[task].number if task else 0
        self._send(worker, self._got, worker, epoch, task, number)

    def _granted(self, task: str, owner: str) -> bool:
        number = self.rules.number_for(self._holders.get(task), owner, self._newest[task])
        if not number:
            self.wrong["a free task was refused"] += 1
            return False
        if number <= self._newest[task]:
            self.wrong["a number was given twice"] += 1
        if any(one not in self._done for one in self.tasks[task].needs):
            self.wrong["begun before what it depends on"] += 1
        if task in self._done:
            self.wrong["begun again"] += 1
        self._newest[task] = number
        self._hold(task, owner, number)
        self._claim(task, self.tasks[task].wants)
        self._of_owner[owner] = task
        return True

    def _hold(self, task: str, owner: str, number: int) -> None:
        self._holders[task] = TimedHolder(owner, number, self.now + LEASE)
        heappush(self._leases, (self.now + LEASE, task, number))

    def _claim(self, task: str, wants: tuple[Intent, ...]) -> None:
        self._claims.add(task, wants)
        for want in wants:
            near = self._held.setdefault(want.path.partition("/")[0], {})
            for other, claimed in near.items():
                if other != task and any(want.meets(one) for one in claimed):
                    self.wrong["two at one file"] += 1
            near.setdefault(task, set()).add(want)

    def _let_go(self, task: str) -> None:
        for want in self._claims.of(task):
            near = self._held[want.path.partition("/")[0]]
            near.pop(task, None)
        self._claims.drop(task)
        self._waits.pop(task, None)
        if self._integrating.pop(task, None):
            self._wake()
        self._dispatch.freed(task)

    def _wake(self) -> None:
        """Tell the one that integrates next."""
        if told := self._queued.pop(self._head()[1], None):
            self._send(told[0], self._again, *told)

    def _head(self) -> tuple[tuple[str, str], str]:
        """Who integrates next, of those that were heard of lately."""
        while self._first:
            place, task = self._first[0]
            if task in self._integrating and self.now - self._heard[task] < TURN:
                return place, task
            heappop(self._first)
            self._integrating.pop(task, None)
            if told := self._queued.pop(task, None):
                self._send(told[0], self._again, *told)  # if it is there, it asks again
        return ("", ""), ""

    def _put_back(self, task: str, failed: bool = False) -> None:
        self._let_go(task)
        if failed:
            self._place[task] = (True, "", task)
        self._dispatch.ready(task, self._place[task], self.tasks[task].wants)

    def _mine(self, task: str, owner: str, number: int) -> bool:
        """Whether a write is made, as a transaction of the store decides it."""
        held = self._holders.get(task)
        if not self.rules.holds(held, owner) or not self.rules.may_write(self._newest[task], number):
            self.seen["refused"] += 1
            return False
        if self._newest[task] != number or held is None or held.owner != owner:
            self.wrong["written after it was taken"] += 1
        return True

    def _renew(self, worker: SimulatedWorker, epoch: int, task: str, owner: str, number: int, sent: float) -> None:
        held = self._holders.get(task)
        if self.rules.number_for(held, owner, self._newest[task], carried=number):
            self._hold(task, owner, number)
            self._send(worker, self._renewed, worker, epoch, sent)
        else:
            self._send(worker, self._over, worker, epoch)

    def _widen(self, worker: SimulatedWorker, epoch: int, task: str, owner: str, number: int) -> None:
        if not self._mine(task, owner, number):
            self._send(worker, self._over, worker, epoch)
            return
        wanted = claiming.widening(self._claims, task, [self.tasks[task].extra])
        others = self._claims.in_the_way(task, wanted)
        if not others:
            self._claim(task, wanted)
            self._waits.pop(task, None)
            self._send(worker, self._offer, worker, epoch)
            return
        self.seen["waited"] += 1
        self._waits[task] = tuple(one.task for one in others)
        if self.rules.gives_way(task, lambda one: self._waits.get(one, ()), lambda one: ("", one)):
            self.seen["gave way"] += 1
            self._holders.pop(task, None)
            self._put_back(task, failed=True)
            self._send(worker, self._over, worker, epoch)
            return
        self._at(1.0, self._widen, worker, epoch, task, owner, number)

    def _land(self, worker: SimulatedWorker, epoch: int, task: str, owner: str, number: int, base: int) -> None:
        if not self._mine(task, owner, number):
            self._send(worker, self._over, worker, epoch)
            return
        place = ("", task)
        self._heard[task] = self.now
        if task not in self._integrating:
            self._integrating[task] = place
            heappush(self._first, (place, task))
        first, other = self._head()
        if not self.rules.goes_first(task, {other: first, task: place}):
            self._queued[task] = (worker, epoch)  # it is told when it comes first; and it asks again
            return
        if first < place:
            self.wrong["out of order"] += 1
        fits = all(self._touched.get(one.path.partition("/")[0], 0) <= base for one in self.tasks[task].wants)
        kind = RebaseKind.SAME if base == self._target else RebaseKind.MOVED if fits else RebaseKind.CONFLICT
        match self.rules.after_rebase(Rebased(kind)):
            case AfterRebase.VERIFY:
                self._send(worker, self._verify, worker, epoch, self._target)
            case AfterRebase.SEND_BACK:
                self.seen["sent back"] += 1
                self._holders.pop(task, None)
                self._put_back(task, failed=True)
                self._send(worker, self._over, worker, epoch)
            case _:
                if kind is not RebaseKind.SAME:
                    self.wrong["landed what was not verified"] += 1
                self._finish(task)
                self._send(worker, self._over, worker, epoch)

    def _finish(self, task: str) -> None:
        self._target += 1
        self._landed[task] += 1
        self._done.add(task)
        self._holders.pop(task, None)
        self._let_go(task)
        for one in self.rules.newly_ready(self._dependencies, task):
            self._dispatch.ready(one, self._place[one], self.tasks[one].wants)

    def _sweep(self) -> None:
        """Some worker looks for leases that have lapsed, by its own clock."""
        now = self.now + self.random.choice(self.workers).offset
        while self._leases:
            until, task, number = self._leases[0]
            held = self._holders.get(task)
            if held is None or held.number != number or held.until != until:
                heappop(self._leases)
            elif self.rules.may_be_taken(held, now, SKEW):
                heappop(self._leases)
                self.seen["taken from a lost worker"] += 1
                if self.random.random() < 0.2:
                    self._take_over(task, held)
                else:
                    del self._holders[task]
                    self._put_back(task)
            else:
                break
        self._at(1.0, self._sweep)

    def _take_over(self, task: str, held: TimedHolder) -> None:
        """Somebody takes the task as it is, and then is not heard of either."""
        number = self.rules.number_for(held, f"heir of {held.owner}", self._newest[task], gone=held.owner)
        if not number:
            self.wrong["a free task was refused"] += 1
        elif number <= self._newest[task]:
            self.wrong["a number was given twice"] += 1
        self._newest[task] = number
        self._hold(task, f"heir of {held.owner}", number)

    def _user(self) -> None:
        if self.random.random() < self.faults.user_commit:
            self._target += 1
            self._touched[f"d{self.random.randrange(max(1, len(self.tasks) // 4))}"] = self._target
        self._at(1.0, self._user)


class _Claims(claiming.PathClaims):
    def __init__(self, rules: Rules) -> None:
        super().__init__()
        self._rules = rules

    def in_the_way(self, task: str, wanted: Any) -> Any:
        return self._rules.in_the_way(self, task, wanted)


class Summary(Struct):
    seed: int
    workers: int
    tasks: int
    events: int
    seconds: float  # simulated
    wrong: dict[str, int] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)


def summary(seed: int, made: Simulation) -> Summary:
    return Summary(
        seed, len(made.workers), len(made.tasks), made.events, round(made.now, 1), dict(made.wrong), dict(made.seen)
    )


def _made_tasks(random: Random, number: int, tangled: float) -> list[SimulatedTask]:
    found = []
    for place in range(number):
        near = range(max(0, place - max(50, number // 10)), place)
        needs = random.sample(near, min(len(near), random.choice((0, 0, 1, 2))))
        folder = f"d{random.randrange(max(1, number // 4))}"
        wants = random.choice(
            (
                (Intent(f"{folder}/a.py"),),
                (Intent(f"{folder}/a.py", 1, 40), Intent(f"{folder}/b.py")),
                (Intent(f"{folder}/a.py", 41, 80),),
                (Intent(f"{folder}/a.py", 1, 30, "f", "old"),),
                (Intent(f"{folder}/a.py", 51, 70, "g", "old"),),
                (Intent(f"{folder}/a.py", 41, 60, "g", "new"),),
                (Intent(f"{folder}/"),),
                (),
            )
        )
        extra = f"{folder}/x{random.randrange(2)}.py" if random.random() < 0.2 else ""
        if random.random() < tangled:
            one = random.randrange(2)
            needs, wants, extra = [], (Intent(f"{folder}/y{one}.py"),), f"{folder}/y{1 - one}.py"
        ids = tuple(f"t{one:06d}" for one in sorted(needs))
        found.append(SimulatedTask(f"t{place:06d}", ids, wants, extra, random.uniform(1.0, 20.0)))
    return found
