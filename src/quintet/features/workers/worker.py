"""One worker: takes a task that can begin, does it in a worktree, integrates it, and takes the next, until none can.

Each attempt is a session of its own, opened on the worktree with the project's store, tasks and settings. What a dead
worker had begun goes back first; its worktree is where the next attempt goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from shutil import rmtree

from msgspec import Struct, structs

from quintet.adapters.git.worktrees import branch_for
from quintet.adapters.processes.system import RandomIds, process_identity
from quintet.app.open import open_session
from quintet.app.session_orders import TaskOrder
from quintet.domain.base.errors import QuintetError, StoreError, TaskTaken, ToolFailed
from quintet.domain.base.wording import first_line
from quintet.domain.dials.axes import RunControl, Surface, WorkMode
from quintet.domain.journal.protocol import Noticed
from quintet.domain.ports.tasks import Claim
from quintet.domain.ports.workers import BranchState, TaskBranch, TaskQueue, TaskWait, Worker, WorkerState
from quintet.domain.tasks.page import findings_page
from quintet.domain.tasks.task import ID_FORM, Task, TaskStatus, after_failure
from quintet.domain.workers.claims import PathClaims
from quintet.domain.workers.dispatch import Budgets, Dispatch, Waiting, can_begin, place_of, spent_budget
from quintet.domain.workers.integration import IntegrateWay
from quintet.engine.cycle.doctor import may_have_published
from quintet.engine.cycle.task_keeper import MAY_HAVE_PUBLISHED, PROCESS_ENDED, instant
from quintet.engine.session.leases import LEASE_SECONDS
from quintet.features.workers.integrator import Integrator, fresh_branch, locked, settle, unsaved_in_the_way
from quintet.features.workers.shop import Rights, Shop

POLL_SECONDS = 0.2
BROUGHT_SECONDS = 0.5  # between two looks at what somebody told this worker, where tasks are brought to it
LOOK_SECONDS = 5.0  # between two looks for what the queue may have forgotten
NOTHING_LEFT, STOPPED = "nothing is left that can start", "stopped"
MOST_PUT_BACK = 2  # attempts of one worker at a task that end without a verdict
MOST_LATER = 4  # attempts of one worker to integrate a task, for whatever reasons they fail
SECONDS_KEPT = 30 * 86_400.0  # that a worker is known after it began, once it has ended
CRASHED = "crashed"
WITHOUT_VERDICT = (TaskStatus.TODO, TaskStatus.VERIFYING)
UNTOLD = (*WITHOUT_VERDICT, TaskStatus.RETRYING)


class WorkerNews(Struct, frozen=True):
    """Something that a worker tells."""

    worker: str
    task: str
    said: str


class TakenTask(Struct, frozen=True):
    task: Task
    claim: Claim
    session: str
    waited: tuple[TaskWait, ...] = ()


class WorkerLoop:
    def __init__(
        self,
        shop: Shop,
        rights: Rights,
        run: str,
        tell: Callable[[WorkerNews], None],
        parent: tuple[int, str] = (0, ""),
        *,
        stays: bool = False,
    ) -> None:
        self._shop = shop
        self._rights = rights
        self._tell = tell
        self._stays = stays  # where nothing can start it waits for something
        self._doing: asyncio.Task[None] | None = None  # what the queue has brought
        self._broken: StoreError | None = None  # why this worker cannot go on
        self._parent = parent  # who started it: when that ends, the worker takes no more tasks
        self._ids = RandomIds()
        pid, now = os.getpid(), shop.clock.now()
        about = shop.clone.about if shop.clone else ""
        self._row = Worker(self._ids.new("w"), run, pid, process_identity(pid), 0.0, now, now, said=about)
        self._put_back: dict[str, int] = {}
        self._later: dict[str, int] = {}
        self.tried: set[str] = set()
        self.stopping = asyncio.Event()

    @property
    def row(self) -> Worker:
        return self._row

    async def run(self) -> str:
        """Until nothing can be begun any more; why it ended."""
        await self._state(WorkerState.IDLE)
        beats = asyncio.create_task(self._beat())
        why = ""
        try:
            await self._shop.workers.forget_workers(instant(self._shop.clock.epoch() - SECONDS_KEPT))
            async with locked(self._shop):
                if done := await self._shop.git(settle, self._shop):
                    self._say("", done)
            queue = self._shop.store.task_queue()
            why = await (self._brought_to(queue) if queue else self._looking())
        except asyncio.CancelledError:
            why = "interrupted"
            raise
        except Exception as error:
            why = f"{CRASHED}: {_told(error)}"
            raise
        finally:
            beats.cancel()
            await asyncio.gather(beats, return_exceptions=True)
            self._row = structs.replace(self._row, task="", said=why)
            await self._state(WorkerState.ENDED)
        return why

    async def _looking(self) -> str:
        """Take what can begin, one after the other; why it ended."""
        while not self._told_to_stop():
            await self._recover()
            if held := self._takes_no_more():
                return held
            if taken := await self._take():
                await self._attempt(taken)
            elif self._stays or self._others_at_work():
                await asyncio.sleep(POLL_SECONDS)
            else:
                return NOTHING_LEFT
        return STOPPED

    async def _brought_to(self, queue: TaskQueue) -> str:
        """Do what the queue brings; why it ended. What it has forgotten is looked for now and then."""
        serving = asyncio.create_task(queue.serve(self._brought))
        looked = -LOOK_SECONDS
        try:
            while not self._told_to_stop():
                if self._broken:
                    raise self._broken
                if serving.done():
                    serving.result()
                quiet = self._doing is None and not self._stays and not self._others_at_work()
                if quiet or self._shop.clock.monotonic() - looked >= LOOK_SECONDS:
                    looked = self._shop.clock.monotonic()
                    if held := self._takes_no_more():
                        return held
                    await self._recover()
                    await queue.recover()
                    dispatch, _ = await self._dispatched()
                    can_begin = list(iter(dispatch.next, None))
                    await queue.bring(can_begin)
                    if quiet and not can_begin and self._doing is None:
                        return NOTHING_LEFT
                await asyncio.sleep(BROUGHT_SECONDS)
            return STOPPED
        except asyncio.CancelledError:
            if self._doing:
                self._doing.cancel()
            raise
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

    async def _brought(self, task: str) -> None:
        """Of the queue: this task may be able to begin. Its row and its claim decide."""
        if self.stopping.is_set() or self._broken or self._takes_no_more():
            return
        self._doing = asyncio.current_task()
        try:
            if taken := await self._take(task):
                await self._attempt(taken)
        except StoreError as error:  # what it has of the task can only be put back when this process is gone
            self._broken = error
        except QuintetError as error:
            self._say(task, f"was not begun: {error.message}")
        finally:
            self._doing = None

    def _takes_no_more(self) -> str:
        limited = self._shop.settings.max_cost_run or self._shop.settings.max_cost_day
        return self._shop.store.outdated() or (spent_budget(self._budgets()) if limited else "")

    # ── where it stands

    async def _state(self, state: WorkerState, **more: object) -> None:
        clock = self._shop.clock
        self._row = structs.replace(
            self._row, state=state, heartbeat=clock.now(), lease_until=clock.uptime() + LEASE_SECONDS, **more
        )
        await self._shop.workers.put_worker(self._row)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._shop.settings.heartbeat)
            with contextlib.suppress(QuintetError):
                await self._state(self._row.state)

    def _told_to_stop(self) -> bool:
        pid, identity = self._parent
        if pid and process_identity(pid) != identity:
            return True
        mine = next((one for one in self._shop.workers.workers() if one.id == self._row.id), None)
        return self.stopping.is_set() or (mine is not None and mine.state is WorkerState.STOPPING)

    def _others_at_work(self) -> bool:
        """Whether somebody works at a task: what waits for it may be begun after it."""
        return any(one.task and one.id != self._row.id and self._shop.live(one) for one in self._shop.workers.workers())

    def _budgets(self) -> Budgets:
        settings, today = self._shop.settings, self._shop.clock.now()[:10]
        known = self._shop.workers.workers()
        return Budgets(
            settings.max_cost_run,
            settings.max_cost_day,
            sum(one.cost for one in known if one.run == self._row.run),
            sum(one.cost for one in known if one.heartbeat[:10] == today),
        )

    def _say(self, task: str, said: str) -> None:
        self._tell(WorkerNews(self._row.id, task, said))

    # ── taking

    async def _recover(self) -> None:
        await put_back(self._shop, self._say)

    async def _take(self, only: str = "") -> TakenTask | None:
        """The first in the plan that can begin, or none; with `only`, that one or none."""
        shop = self._shop
        dispatch, tasks = await self._dispatched()
        waited = shop.workers.waits()
        found = None
        while found is None and (id := dispatch.next()):
            if only in ("", id):
                found = await self._claimed(tasks[id], waited)
        for one in dispatch.waiting.values():
            known = {wait.waits_for for wait in waited if wait.task == one.task}
            if known != {other.task for other in one.others}:
                self._say(one.task, str(one).removeprefix(f"{one.task} "))
                await shop.workers.wait(one.task, one.others, shop.clock.now())
        return found

    async def _dispatched(self) -> tuple[Dispatch, dict[str, Task]]:
        """Every task that may be able to begin, in the order of the plan."""
        shop, keeper = self._shop, self._shop.keeper
        tasks = {task.id: task for task in keeper.look().tasks if ID_FORM.fullmatch(task.id)}
        busy = [claim.task for claim in keeper.store.claims().values()]
        rows = shop.workers.branches()
        branches = shop.branches(rows)
        held_back = [task for task, times in self._put_back.items() if times >= MOST_PUT_BACK]
        later = [one for one in branches.values() if one.state is BranchState.LATER and one.task not in busy]
        held_back += [one.task for one in later if await self._still_later(one)]
        held_back += self._left_to_others(tasks, rows)
        dispatch = Dispatch(PathClaims(shop.workers.path_claims()))
        for task in can_begin(list(tasks.values()), busy, held_back):
            begun = task.id in branches and branches[task.id].base
            if task.status is not TaskStatus.VERIFYING or begun:  # else it was done in the checkout
                dispatch.ready(task.id, place_of(task), await shop.wanted(task))
        return dispatch, tasks

    def _left_to_others(self, tasks: dict[str, Task], rows: dict[str, TaskBranch]) -> list[str]:
        """What is done and lies in another clone: it is verified there, as long as somebody works on that machine."""
        shop = self._shop
        there = {
            id: row
            for id, row in shop.elsewhere(rows).items()
            if id in tasks and tasks[id].status is TaskStatus.VERIFYING
        }
        if not there:
            return []
        known = [one.machine for one in shop.workers.workers() if one.id != self._row.id and shop.live(one)]
        return [
            id
            for id, row in there.items()
            if row.state is BranchState.LATER or row.target != shop.target or row.machine in known
        ]

    async def _still_later(self, branch: TaskBranch) -> bool:
        shop = self._shop
        try:
            head = await shop.git(shop.trees.commit_of, f"refs/heads/{branch.branch}")
            return bool(head) and bool(await shop.git(unsaved_in_the_way, shop, branch, head))
        except QuintetError:
            return True

    async def _claimed(self, task: Task, waited: list[TaskWait]) -> TakenTask | None:
        """The task with its claim, or nothing if somebody else was quicker."""
        shop, session = self._shop, self._ids.new("q5")
        places = shop.places.worktree(task.id)
        try:
            owner = f"{session}/{self._row.id}"
            claim = await shop.keeper.claim(task.id, owner, worktree=places.root)
        except QuintetError:
            return None
        now = shop.keeper.find(task.id)  # somebody may have done it since it was looked at
        if now.status is not task.status:
            await shop.keeper.let_go(task.id, owner)
            return None
        try:
            wanted = await shop.wanted(task)
            others = await shop.workers.claim_paths(task.id, claim.number, wanted, shop.clock.now())
        except Exception as error:  # one task that cannot be claimed stops no other
            await self._set_aside(claim, error)
            return None
        if others:
            await shop.keeper.let_go(task.id, owner)
            await shop.workers.wait(task.id, others, shop.clock.now())
            self._say(task.id, str(Waiting(task.id, others)).removeprefix(f"{task.id} "))
            return None
        mine = tuple(one for one in waited if one.task == task.id)
        return TakenTask(now, claim, session, mine)

    async def _set_aside(self, claim: Claim, error: Exception) -> None:
        """A task that this worker can do nothing with: it says why, and is not taken again."""
        shop, id = self._shop, claim.task
        why = f"cannot be begun: {_told(error)}"
        self._put_back[id] = MOST_PUT_BACK
        self.tried.add(id)
        with contextlib.suppress(QuintetError):
            path = shop.places.worktree(id).root
            row = shop.branches().get(id) or fresh_branch(id, path, shop.target, "")
            await shop.workers.put_branch(structs.replace(row, said=why), claim.number)
        await shop.keeper.let_go(id, claim.owner)
        self._say(id, why)

    # ── an attempt

    async def _attempt(self, taken: TakenTask) -> None:
        shop, id = self._shop, taken.task.id
        self.tried.add(id)
        self._say(id, f"begins{_waited(taken)}")
        await self._state(WorkerState.WORKING, task=id)
        why = ""
        former = shop.branches().get(id)
        try:
            if shop.clone:
                await shop.git(shop.clone.update, shop.target)
            await self._own_branch(taken, former)
            begun = await shop.git(self._prepared, taken)
            await shop.workers.put_branch(begun, taken.claim.number)
            why = await self._carried_out(taken, begun)
        except TaskTaken as error:
            why = error.message
        except QuintetError as error:
            why = error.message
            await self._failed(taken, error.message)
        except Exception as error:  # one task stops no worker
            why = _told(error)
            self._put_back[id] = MOST_PUT_BACK
        finally:
            await self._told_why(taken, why)
            with contextlib.suppress(TaskTaken):
                await _back_to_todo(shop, taken.claim, first_line(why) or "interrupted", self._say)
            await shop.keeper.let_go(id, taken.claim.owner)
            after = shop.keeper.find(id)
            spent = self._row.cost + max(0.0, after.cost_spent - taken.task.cost_spent)
            done = self._row.done + (after.status is TaskStatus.DONE)
            await self._state(WorkerState.IDLE, task="", cost=spent, done=done)
        await self._afterwards(after, why, former.said if former else "")

    async def _own_branch(self, taken: TakenTask, former: TaskBranch | None) -> None:
        """Store that the task's branch is ours before it is made; raises if it is not, or cannot be."""
        shop, id = self._shop, taken.task.id
        path = shop.places.worktree(id).root
        known = former is not None and bool(former.base)
        refused = await shop.git(lambda: shop.trees.refusal(id, path, shop.target, known=known))
        if refused:
            self._put_back[id] = MOST_PUT_BACK
            if former is None:
                await shop.workers.put_branch(fresh_branch(id, path, shop.target, ""), taken.claim.number)
            raise ToolFailed(refused)
        if not known:
            onto = await shop.git(self._base, taken.task)
            await shop.workers.put_branch(fresh_branch(id, path, shop.target, onto), taken.claim.number)

    async def _told_why(self, taken: TakenTask, why: str) -> None:
        """An attempt that came to no verdict says why, for who asks later."""
        branch = self._shop.branches().get(taken.task.id)
        stands = self._shop.keeper.find(taken.task.id).status
        if not why and stands in WITHOUT_VERDICT:
            why = "the attempt ended without a verdict"
        branch = branch or fresh_branch(taken.task.id, taken.claim.worktree, self._shop.target, "")
        if why and branch.state is BranchState.WORKING and stands in UNTOLD:
            with contextlib.suppress(TaskTaken):
                said = structs.replace(branch, said=f"{stands}: {first_line(why)}")
                await self._shop.workers.put_branch(said, taken.claim.number)

    async def _afterwards(self, task: Task, why: str, former: str) -> None:
        """What follows from where the attempt left its task; `former` is what the attempt before said."""
        shop, id = self._shop, task.id
        branch = shop.branches().get(id)
        if task.status in (TaskStatus.DONE, TaskStatus.CANCELLED):
            if branch:
                merged = shop.way is IntegrateWay.MERGE
                await shop.git(lambda: shop.trees.remove(id, branch.worktree, branch=merged))
                rmtree(os.path.join(shop.places.state, "worktrees", id), ignore_errors=True)
                if merged:
                    await shop.workers.drop_branch(id)
            self._say(id, f"{task.status}: {shop.keeper.why(id)}")
            return
        later = branch is not None and branch.state is BranchState.LATER
        if branch and branch.said and branch.said == former:  # as it ended before, perhaps for another worker
            self._put_back[id] = MOST_PUT_BACK
        if later and branch:
            self._later[id] = self._later.get(id, 0) + 1
            if self._later[id] >= MOST_LATER:
                self._put_back[id] = MOST_PUT_BACK
        elif task.status in UNTOLD:
            refused = self._put_back.get(id, 0) >= MOST_PUT_BACK
            counted = task.status is TaskStatus.RETRYING and not refused
            self._put_back[id] = 0 if counted else self._put_back.get(id, 0) + 1
        unsaid = task.status in WITHOUT_VERDICT and first_line(why)
        said = branch.said if later and branch else unsaid or shop.keeper.why(id)
        self._say(id, f"{task.status}: {said}")

    async def _failed(self, taken: TakenTask, why: str) -> None:
        """What lay in its worktree is gone: a task that waited for its verification begins anew."""
        task = self._shop.keeper.find(taken.task.id)
        lost = not await self._shop.git(self._shop.trees.is_whole, task.id, self._shop.places.worktree(task.id).root)
        if task.status is TaskStatus.VERIFYING and lost:
            findings = findings_page(task.retries + 1, "worker", why)
            with contextlib.suppress(TaskTaken):
                reason = f"its worktree was lost: {first_line(why)}"
                owner = taken.claim.owner
                await self._shop.keeper.move(task.id, after_failure(task), reason, owner=owner, findings=findings)

    def _prepared(self, taken: TakenTask) -> TaskBranch:
        """The task's worktree, at its newest work on top of the target. Blocks."""
        shop, trees, task = self._shop, self._shop.trees, taken.task
        path = shop.places.worktree(task.id).root
        onto = self._base(task)
        former = shop.branches().get(task.id)
        if former is None or not trees.is_whole(task.id, path):
            rmtree(path, ignore_errors=True)
            head = trees.commit_of(f"refs/heads/{branch_for(task.id)}") if former else ""
            kept = head if former and head not in ("", former.base) else ""
            trees.make(task.id, path, kept or onto)
            if not former or not kept:
                if task.status is TaskStatus.VERIFYING:
                    raise QuintetError(f"{path} no longer exists; uncommitted work there is lost")
                return self._fresh(task, path, onto, former)
        if task.status is TaskStatus.VERIFYING:
            return structs.replace(former, worktree=path, state=BranchState.WORKING, said="")
        head = trees.keep(task.id, path, task.title, finished=False)
        put = trees.replay(task.id, former.base, head, onto)
        if put.conflict:
            trees.begin_anew(task.id, path, onto)
        else:
            trees.move(task.id, path, head, put.commit)
        return self._fresh(task, path, onto, former)

    def _fresh(self, task: Task, path: str, onto: str, former: TaskBranch | None) -> TaskBranch:
        fresh = fresh_branch(task.id, path, self._shop.target, onto)
        return structs.replace(fresh, pushed=former.pushed if former else "")

    def _base(self, task: Task) -> str:
        """Where a task begins: at the target; where branches are kept, on top of those that it depends on."""
        shop = self._shop
        onto = shop.trees.commit_of(f"refs/heads/{shop.target}")
        if not onto:
            raise QuintetError(f"the branch {shop.target} no longer exists")
        if shop.way is IntegrateWay.MERGE:
            return onto
        return shop.trees.merged(onto, [one for one in map(self._needed, task.depends_on) if one])

    def _needed(self, task: str) -> str:
        """The work of a task that another one depends on; empty if it is in the target."""
        shop, branch = self._shop, branch_for(task)
        found: str = shop.trees.left_at(task)
        if shop.clone:
            found = shop.clone.fetched(branch) or found
        kept = shop.elsewhere().get(task)
        if not found and kept and kept.state is BranchState.KEPT:
            raise ToolFailed(f"it depends on {task}; that work is on {kept.machine} and was not pushed")
        return found

    async def _carried_out(self, taken: TakenTask, begun: TaskBranch) -> str:
        shop, rights = self._shop, self._rights
        places = shop.places.worktree(taken.task.id)
        integrator = Integrator(shop, taken.claim, begun, self._state)
        notes = [
            Noticed(level="info", code="WAITED_FOR_CLAIM", text=f"{one.task} waited for {one.waits_for} ({one.path})")
            for one in taken.waited
        ]
        order = TaskOrder(shop.places, places, taken.session, taken.claim, integrator, tuple(notes))
        axes = structs.replace(rights.axes, work_mode=WorkMode.BUILD, run_control=RunControl.AUTONOMOUS)
        flags = {**rights.flags, "cycle.max_units": 1}
        if shop.settings.max_cost_task:
            flags["cycle.max_cost"] = shop.settings.max_cost_task
        async with open_session(surface=Surface.HEADLESS, axes=axes, settings=flags, order=order) as session:
            followed = session.follow(await session.say("/implement"))
            async for _ in followed:
                pass
            return followed.outcome.reason


async def put_back(shop: Shop, say: Callable[[str, str], None]) -> None:
    """Put back what processes that have ended had begun; its worktree stays, and so does what is in it."""
    for claim in shop.keeper.stale_claims():
        with contextlib.suppress(TaskTaken):
            await _back_to_todo(shop, claim, PROCESS_ENDED, say)
            await shop.keeper.release(claim)


async def _back_to_todo(shop: Shop, claim: Claim, why: str, say: Callable[[str, str], None]) -> None:
    """Of a task that is left running; one that may have published something waits for a person."""
    if shop.keeper.find(claim.task).status is TaskStatus.RUNNING:
        unsure = may_have_published(shop.store, claim)
        after, why = (TaskStatus.BLOCKED, MAY_HAVE_PUBLISHED) if unsure else (TaskStatus.TODO, why)
        await shop.keeper.move(claim.task, after, why, owner=claim.owner)
        say(claim.task, f"moved back to {after}: {why}")


def _told(error: Exception) -> str:
    return error.message if isinstance(error, QuintetError) else f"{type(error).__name__}: {first_line(str(error))}"


def _waited(taken: TakenTask) -> str:
    others = ", ".join(sorted(f"{one.waits_for} ({one.path})" for one in taken.waited))
    return f", after it waited for {others}" if others else ""
