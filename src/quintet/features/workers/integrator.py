"""Port `Integration`: claims what a unit writes, puts its work onto the target, and moves the target forward.

One task integrates at a time, by a lock that ends with its holder, and the first in the plan goes first. Before the
target moves, an intent is written down; `settle` finishes what a crash left between the files and the branch.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from msgspec import structs

from quintet.adapters.files import private_files
from quintet.adapters.git.worktrees import branch_for
from quintet.domain.base.errors import TaskTaken, ToolFailed
from quintet.domain.ports.tasks import Claim
from quintet.domain.ports.workers import BranchState, TaskBranch, Widened, WorkerState
from quintet.domain.workers.claims import PathClaims, gives_way, widening
from quintet.domain.workers.dispatch import plan_place
from quintet.domain.workers.integration import (
    IntegrateWay,
    Landed,
    LandKind,
    Rebased,
    RebaseKind,
    goes_first,
    in_unsaved_work,
    later,
)
from quintet.features.workers.shop import Shop

POLL_SECONDS = 0.1
MOST_PUSHED = 4  # commits that are remembered of a task
INTENT = "integrating.json"
LOST = "another worker has taken over this task; nothing more is written here"


class Integrator:
    """Of one attempt at one task."""

    def __init__(
        self, shop: Shop, claim: Claim, begun: TaskBranch, state: Callable[[WorkerState], Awaitable[None]]
    ) -> None:
        self._shop = shop
        self._claim = claim
        self._begun = begun
        self._state = state
        self._head = ""  # what was kept of the work: nothing else lands, wherever a call has moved the branch

    # ── claims

    @property
    def _number(self) -> int:
        """Of the claim that this attempt has: a task that was sent back is claimed anew, by the same owner."""
        held = self._shop.keeper.store.claims().get(self._claim.task)
        return held.number if held and held.owner == self._claim.owner else self._claim.number

    async def widen(self, paths: Sequence[str]) -> Widened:
        root = self._begun.worktree
        inside = [os.path.relpath(os.path.join(root, path), root) for path in paths]
        inside = [path for path in inside if path != ".." and not path.startswith("../")]
        return await self._claimed(inside)

    async def _claimed(self, paths: Sequence[str]) -> Widened:
        shop, task = self._shop, self._claim.task
        wanted = widening(PathClaims(shop.workers.path_claims()), task, paths)
        if not wanted:
            return Widened()
        until, told = shop.clock.monotonic() + shop.settings.wait_seconds, ""
        while True:
            try:
                others = await shop.workers.claim_paths(task, self._number, wanted, shop.clock.now())
            except TaskTaken:
                return Widened(LOST, told)
            if not others:
                return Widened(waited=told)
            told = ", ".join(f"{one.task} ({one.path})" for one in others)
            if gives_way(task, self._waits_for, self._place):
                return Widened(
                    f"this task and others wait for each other: {told}. Stop here; it is retried later", told
                )
            if shop.clock.monotonic() > until:
                return Widened(f"other tasks are still changing it: {told}; workers.wait_seconds has passed", told)
            await asyncio.sleep(POLL_SECONDS)

    def _waits_for(self, task: str) -> list[str]:
        return [one.waits_for for one in self._shop.workers.waits() if one.task == task]

    def _place(self, task: str) -> tuple[str, str]:
        found = self._shop.keeper.store.task(task)
        return plan_place(found) if found else ("", task)

    # ── onto the target

    async def rebase(self, task: str, title: str) -> Rebased:
        shop, begun = self._shop, self._begun
        await self._state(WorkerState.INTEGRATING)
        await self._turn(task)
        head = await shop.git(shop.trees.keep, task, begun.worktree, title)
        self._head = head
        if head == begun.base:
            return Rebased(RebaseKind.EMPTY, target=begun.target)
        changed = await shop.git(shop.trees.changed, begun.base, head)
        if refused := (await self._claimed(changed)).refused:
            kind = RebaseKind.LOST if refused == LOST else RebaseKind.CONFLICT
            return Rebased(kind, refused, begun.target)
        if shop.way is not IntegrateWay.MERGE:
            return Rebased(RebaseKind.SAME, target=begun.target)
        onto = await self._at_target()
        put = await shop.git(shop.trees.replay, task, begun.base, head, onto)
        if put.conflict:
            said = f"it conflicts with {begun.target}:\n\n{put.conflict}"
            return Rebased(RebaseKind.CONFLICT, said, begun.target)
        await shop.git(shop.trees.move, task, begun.worktree, head, put.commit)
        self._head = put.commit
        moved = onto != begun.base
        self._begun = structs.replace(begun, base=onto)
        await shop.workers.put_branch(self._begun, self._number)
        if put.commit == onto:  # its work is there already
            return Rebased(RebaseKind.EMPTY, target=begun.target)
        return Rebased(RebaseKind.MOVED if moved else RebaseKind.SAME, target=begun.target)

    async def _turn(self, task: str) -> None:
        """Wait for those that integrate and come before in the plan, unless they wait for this one."""
        shop = self._shop
        while True:
            at_it = [one.task for one in shop.workers.workers() if _integrates(one.state) and shop.live(one)]
            at_it = [one for one in at_it if task not in self._waits_for(one)]
            if goes_first(task, {one: self._place(one) for one in {*at_it, task} if one}):
                return
            await asyncio.sleep(POLL_SECONDS)

    async def _at_target(self) -> str:
        at: str = await self._shop.git(self._shop.trees.commit_of, f"refs/heads/{self._begun.target}")
        if not at:
            raise ToolFailed(
                f"the branch {self._begun.target} no longer exists; the work stays on {self._begun.branch}"
            )
        return at

    async def land(self, task: str) -> Landed:
        try:
            async with locked(self._shop):
                return await self._landed(task)
        except TaskTaken:
            return Landed(LandKind.LOST, LOST)
        finally:
            await self._state(WorkerState.WORKING)

    async def _landed(self, task: str) -> Landed:
        shop, begun, number = self._shop, self._begun, self._number
        await shop.workers.put_branch(begun, number)  # refused if the lease is lost
        head = await shop.git(shop.trees.commit_of, f"refs/heads/{begun.branch}")
        if head != self._head:
            return Landed(LandKind.AGAIN)
        if shop.way is not IntegrateWay.MERGE:
            if why := await self._pushed(head):
                put_off = structs.replace(self._begun, state=BranchState.LATER, said=why)
                await shop.workers.put_branch(put_off, number)
                return Landed(LandKind.LATER, why)
            await shop.workers.put_branch(structs.replace(self._begun, state=BranchState.KEPT), number)
            return Landed(LandKind.LANDED, f"on branch {begun.branch}")
        if await self._at_target() != begun.base:
            return Landed(LandKind.AGAIN)
        if why := await shop.git(unsaved_in_the_way, shop, begun, head):
            await shop.workers.put_branch(structs.replace(begun, state=BranchState.LATER, said=why), number)
            return Landed(LandKind.LATER, why)
        intent = os.path.join(shop.places.state, INTENT)
        private_files.write_text(intent, json.dumps([begun.target, begun.base, head]))
        try:
            await shop.git(shop.trees.forward, begun.target, begun.base, head, task)
        except ToolFailed as error:
            if await self._at_target() != begun.base:
                return Landed(LandKind.AGAIN)
            why = f"verified; not yet integrated into {begun.target}: {error.message}"
            await shop.workers.put_branch(structs.replace(begun, state=BranchState.LATER, said=why), number)
            return Landed(LandKind.LATER, why)
        finally:
            with contextlib.suppress(OSError):
                os.remove(intent)
        return Landed(LandKind.LANDED, f"integrated into {begun.target}")

    async def _pushed(self, head: str) -> str:
        """Publish the task's branch, where the worker was started for that; why it could not, empty if it could.

        What is to be pushed is stored before, with the number of the claim: whoever takes the task over knows what may
        have come there from here.
        """
        shop, begun = self._shop, self._begun
        if shop.clone is None or not shop.clone.pushes:
            return ""
        ours = [*begun.pushed.split(), head]
        self._begun = structs.replace(begun, pushed=" ".join(ours[-MOST_PUSHED:]))
        await shop.workers.put_branch(self._begun, self._number)
        try:
            await shop.git(shop.clone.push, begun.branch, head, ours)
        except ToolFailed as error:
            return f"verified; pushed later: {error.message}"
        return ""


def unsaved_in_the_way(shop: Shop, branch: TaskBranch, head: str) -> str:
    """Why the target cannot move to a commit without touching what somebody has not saved; empty if it can."""
    if shop.trees.current() == branch.target:
        changed = shop.trees.changed(branch.base, head)
        at = shop.trees.commit_of(f"refs/heads/{branch.target}")
        hit = {*in_unsaved_work(changed, shop.trees.unsaved()), *shop.trees.in_the_way(branch.base, head, at)}
        return later(sorted(hit), branch.target) if hit else ""
    if place := shop.trees.elsewhere(branch.target):
        return f"verified; not yet integrated into {branch.target}: {branch.target} is checked out in {place}"
    return ""


def settle(shop: Shop) -> str:
    """Finish a move of the target that was cut short; what was done."""
    path = os.path.join(shop.places.state, INTENT)
    try:
        with open(path, encoding="utf-8") as file:
            target, before, after = json.load(file)
    except (OSError, ValueError):
        return ""
    done = shop.trees.settle(target, before, after)
    with contextlib.suppress(OSError):
        os.remove(path)
    return f"moved {target} to the integrated work when a worker ended" if done else ""


@contextlib.asynccontextmanager
async def locked(shop: Shop) -> AsyncIterator[None]:
    """Nobody else moves the target meanwhile; the lock ends with its holder."""
    handle = os.open(os.path.join(shop.places.state, "integrate.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(POLL_SECONDS / 2)
        yield
    finally:
        os.close(handle)


def _integrates(state: WorkerState) -> bool:
    return state is WorkerState.INTEGRATING


def fresh_branch(task: str, worktree: str, target: str, base: str) -> TaskBranch:
    return TaskBranch(task, branch_for(task), worktree, target, base)
