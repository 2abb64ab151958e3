"""The one place that moves a task: its row and its file together, and the claim of whoever works at it.

The row goes first and is the truth of where a task stands; whatever needs space has been written before. A crash
between the two leaves a file in the wrong folder, which the keeper of the next process puts right before it does
anything else. `mend` does the same for every kind of drift.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from math import ceil
from time import gmtime, strftime

from msgspec import structs

from quintet.domain.base.errors import NotFound, QuintetError, TaskTaken, UsageError
from quintet.domain.base.text_table import table
from quintet.domain.base.wording import counted, did_you_mean
from quintet.domain.dials.axes import Axes
from quintet.domain.dials.transitions import Scope
from quintet.domain.journal.reasons import FOUND_AS_FILE, TaskCause, task_cause_of
from quintet.domain.ports.ports import Clock
from quintet.domain.ports.tasks import DRAFT, Claim, Staged, TaskFiles, TaskStore
from quintet.domain.tasks.cycle import Board, board
from quintet.domain.tasks.drift import (
    MOVE_SECONDS,
    Drift,
    DriftKind,
    Scan,
    lasting,
    scan,
    status_in,
    summarise,
)
from quintet.domain.tasks.order import dependency_problems
from quintet.domain.tasks.page import read_page, read_pages, with_id, write_page
from quintet.domain.tasks.task import (
    AT_WORK,
    OVER,
    READY,
    Task,
    TaskMove,
    TaskStatus,
    TaskText,
    file_name,
    moved,
    place,
)
from quintet.engine.session.leases import LEASE_SECONDS, owner_lives

S = TaskStatus
MAY_HAVE_PUBLISHED = "interrupted while it published; check whether it did, then move it to todo or cancel it"
PROCESS_ENDED = "its process ended"
WAITING_FOR_A_VERDICT = (TaskStatus.VERIFYING, TaskStatus.REVIEWING)
NO_RUN = "tasks"  # the folder for what is cancelled outside a run


class TaskKeeper:
    def __init__(
        self,
        store: TaskStore,
        files: TaskFiles,
        clock: Clock,
        process_identity: Callable[[int], str],
        redacted: Callable[[str], str] = str,
    ) -> None:
        self.store = store
        self._files = files
        self._clock = clock
        self._process_identity = process_identity
        self._redacted = redacted
        self._settled = False
        self._numbers: dict[str, int] = {}  # of the claims that this process has
        self._only = self._acting = self._worktree = ""  # where the session is a worker's

    def assign(self, claim: Claim) -> None:
        """All that is done here is done for the one task of this claim, by its owner."""
        self._only, self._acting, self._worktree = claim.task, claim.owner, claim.worktree
        self._numbers[claim.task] = claim.number

    # ── looking

    def look(self) -> Scan:
        """Every task as its file says it now, and what is wrong."""
        return scan(self.store.tasks(), self._files.found(), self._files.read)

    def find(self, task: str) -> Task:
        found = self.store.task(task)
        if found is None:
            known = [row.id for row in self.store.tasks()]
            raise NotFound(
                f"there is no task {task}.{did_you_mean(task, known)}", hint="`quintet tasks list` shows them."
            )
        return found

    def moves(self, task: str) -> list[TaskMove]:
        return self.store.moves(task)

    def holder(self, task: str) -> Claim | None:
        """Whoever works at the task now, if that process lives."""
        claim = self.store.claims().get(task)
        return claim if claim and owner_lives(claim, self._clock.uptime(), self._process_identity) else None

    def board(self, milestones: tuple[str, ...] | None, owner: str, *, person: bool = True) -> Board:
        """The tasks of some milestones, or all, as far as the next step of a cycle depends on them.

        With no `person` attached, what asks one before it begins comes last.
        """
        now, live, owner = self._clock.uptime(), self._process_identity, self._acting or owner
        taken = [c.task for c in self.store.claims().values() if c.owner != owner and owner_lives(c, now, live)]
        tasks = self.look().tasks
        last = () if person else [task.id for task in tasks if task.text.asks_first and not self.units(task.id)]
        verified = {task.id for task in tasks if task.status is S.VERIFYING and not self._only}
        if verified:  # what is in a worktree is integrated from there, by a worker
            taken += verified & self.store.in_worktrees()
        return board(tasks, milestones, frozenset(taken), frozenset(last), self._only)

    def can_go_on(self) -> int:
        """How many tasks of the project wait to be begun, verified, approved, or asked about again."""
        tasks = [task for task in self.look().tasks if not self.holder(task.id)]
        return sum(task.status in (*READY, *WAITING_FOR_A_VERDICT) or self.was_refused(task) for task in tasks)

    def was_refused(self, task: Task) -> bool:
        """Whether a task is blocked because it was not allowed something; then it can be asked again."""
        return task.status is S.BLOCKED and task_cause_of(self.why(task.id)) is TaskCause.REFUSED

    def ids(self) -> set[str]:
        """Those that no new task can have: the cancelled ones' too."""
        return {task.id for task in self.store.tasks()}

    def standing(self, milestones: tuple[str, ...]) -> list[TaskText]:
        """What the tasks of a cycle say, all but the cancelled ones: a further plan of it need not say it again.

        A task of another cycle is no answer to what is asked for now, be it done or open: this one would not do it.
        """
        tasks = [task for task in self.look().tasks if task.status is not TaskStatus.CANCELLED]
        return [task.text for task in tasks if task.milestone in milestones]

    def check(self, texts: Sequence[TaskText]) -> None:
        """Raises where tasks of a plan could not be added to those that are there."""
        self._check_knots(self.store.tasks(), [Task(text) for text in texts])

    def summary(self) -> str:
        """The completed tasks, as a planner and an executor are told of them."""
        return summarise(self.look().tasks)

    def of_milestone(self, milestone: str) -> list[str]:
        return [task.id for task in self.store.tasks() if task.milestone == milestone]

    def open_list(self, milestones: tuple[str, ...] | None) -> str:
        tasks = [t for t in self._mine(milestones) if t.status not in OVER]
        return "\n".join(f"- {task.id}: {task.title} ({task.status})" for task in tasks)

    def report(self, milestones: tuple[str, ...] | None) -> str:
        """Where each task of a cycle stands, a line each."""
        tasks = sorted(self._mine(milestones), key=lambda task: (task.created, task.id))
        return "\n".join(table([(task.status, task.id, task.title) for task in tasks]))

    def _mine(self, milestones: tuple[str, ...] | None) -> list[Task]:
        every = [task for task in self.store.tasks() if not task.put_away]
        return [task for task in every if milestones is None or task.milestone in milestones]

    def units(self, task: str) -> int:
        """How often the task was begun."""
        return sum(move.after is TaskStatus.RUNNING for move in self.store.moves(task))

    def why(self, task: str) -> str:
        """The reason of its last move."""
        moves = self.store.moves(task)
        return moves[-1].reason if moves else ""

    def is_found(self, task: str) -> bool:
        """Whether the task is known by its file alone: nobody has added it."""
        moves = self.store.moves(task)
        return bool(moves) and task_cause_of(moves[0].reason) is TaskCause.FOUND_AS_FILE

    # ── making

    async def add(
        self,
        pages: Sequence[tuple[str, str]],
        axes: Axes,
        *,
        milestone: str = "",
        max_retries: int | None = None,
        reason: str = "added",
    ) -> list[Task]:
        """Tasks from pages, each with the name it is known by in messages: all of them, or none."""
        await self._settle()
        pages = [(name, self._redacted(page)) for name, page in pages]
        texts = read_pages(pages)
        at = self._clock.now()
        fresh = [Task(text, axes=axes, created=at, milestone=milestone) for text in texts]
        if max_retries is not None:
            fresh = [structs.replace(task, max_retries=max_retries) for task in fresh]
        self._check_knots(self.store.tasks(), fresh)
        staged: list[Staged] = []
        try:
            staged.extend(
                self._files.stage(f"{text.id}.md", page) for text, (_, page) in zip(texts, pages, strict=True)
            )
            fresh = [
                structs.replace(task, path=step.path, stamp=step.stamp)
                for task, step in zip(fresh, staged, strict=True)
            ]
            await self.store.add_tasks(fresh, reason)
        except BaseException:
            for step in staged:
                step.abandon()
            raise
        for step in staged:
            step.commit()
        return fresh

    def _check_knots(self, there: list[Task], fresh: list[Task]) -> None:
        ours = {task.id for task in fresh}
        if wrong := [found.problem for found in dependency_problems([*there, *fresh]) if ours & set(found.tasks)]:
            raise UsageError("nothing was added: " + "; ".join(wrong))

    async def note(self, task_id: str, cost: float, checkpoint: str) -> None:
        """Write down what a unit cost, and the point before it."""
        task = self.find(task_id)
        await self.store.amend_task(
            structs.replace(task, cost_spent=task.cost_spent + cost, checkpoint=checkpoint or task.checkpoint),
            self._numbers.get(task_id, 0),
        )

    async def due(self, task_id: str, seconds: float = 0.0) -> None:
        """Write down when something is done about the task next; without seconds, that nothing is due any more."""
        at = instant(self._clock.epoch() + seconds) if seconds else ""
        if (task := self.store.task(task_id)) and task.next_action != at:
            await self.store.amend_task(structs.replace(task, next_action=at), self._numbers.get(task_id, 0))

    # ── moving

    async def move(
        self,
        task_id: str,
        after: TaskStatus,
        reason: str,
        *,
        owner: str = "",
        scope: str = "",
        run: str = "",
        findings: str = "",
    ) -> tuple[Task, TaskMove]:
        """Move a task by one legal move, row and file. `findings` are appended to its file.

        With `owner` only the one who claimed it may; without, nobody may be at work on it.
        """
        owner = owner and (self._acting or owner)
        await self._settle()
        task = self._with_file(self.find(task_id))
        after_move = moved(task, after, self._clock.now())
        if not owner:
            await self._free(task)
        if findings:
            page = self._files.read(task.path).rstrip("\n") + f"\n\n{findings.strip()}\n"
            self._files.replace(task.path, page)
        name = file_name(os.path.basename(task.path), after, after_move.completed or self._clock.now())
        step = self._files.stage_move(task.path, place(after), run or NO_RUN, name)
        after_move = structs.replace(self._as_written(after_move, step.stamp), path=step.path)
        move = TaskMove(task.id, task.status, after, reason, self._clock.now(), scope)
        try:
            number = await self.store.move_task(after_move, move, owner, self._numbers.get(task.id, 0) if owner else 0)
        except BaseException:
            step.abandon()
            raise
        try:
            step.commit()
        except QuintetError as error:
            error.hint = f"The task is {after}, but its file was not moved; `quintet doctor fix` moves it."
            raise
        if after not in AT_WORK:
            self._numbers.pop(task.id, None)  # its claim went with the move
        return after_move, structs.replace(move, number=number)

    def _as_written(self, task: Task, stamp: str) -> Task:
        """The task as its file says it now; a page with flaws changes nothing, and is still to be seen as changed."""
        if stamp == task.stamp:
            return task
        text, _ = read_page(self._files.read(task.path))
        return structs.replace(task, text=text, stamp=stamp) if text and text.id == task.id else task

    def _with_file(self, task: Task) -> Task:
        """The task; a file that is gone is written again first, so that nothing of it is lost."""
        if not self._files.exists(task.path):
            return structs.replace(task, stamp=self._files.replace(task.path, write_page(task.text)))
        return task

    async def _free(self, task: Task) -> None:
        claim = self.store.claims().get(task.id)
        if claim is None:
            return
        if owner_lives(claim, self._clock.uptime(), self._process_identity):
            raise TaskTaken(
                f"task {task.id} is {task.status} in process {claim.owner_pid}",
                hint="Stop it there (/stop), or wait until it ends.",
            )
        await self.store.release_task(task.id, claim.owner)

    # ── beginning afresh

    def would_reset(self) -> str:
        """What `reset` would do, in words."""
        done = sum(task.status is TaskStatus.DONE and not _is_away(task) for task in self.store.tasks())
        dropped = sum(task.status in WAITING_FOR_A_VERDICT for task in self.store.tasks())
        draft = "clear task.md, " if self._files.exists(DRAFT) else ""
        cancelled = f" and cancel {dropped} that wait for verification" if dropped else ""
        return f"{draft}archive {counted(done, 'done task')}{cancelled}"

    async def reset(self, run: str) -> list[str]:
        """Clear the draft and put away what is done, out of the summaries; rows and files stay. Says what was done."""
        await self._settle()
        done = []
        for task in self.store.tasks():
            if task.status in WAITING_FOR_A_VERDICT:
                await self.move(task.id, TaskStatus.CANCELLED, "/reset", scope=Scope.NOW, run=run)
                done.append(f"cancelled {task.id}  {task.title}")
            elif task.status is TaskStatus.DONE and not _is_away(task):
                task = self._with_file(task)
                step = self._files.stage_move(task.path, None, run)
                await self.store.amend_task(structs.replace(task, path=step.path, stamp=step.stamp))
                step.commit()
                done.append(f"archived {task.id}  {task.title}")
        if self._files.exists(DRAFT):
            self._files.remove(DRAFT)
            done.append("cleared task.md")
        return done

    # ── claims

    async def claim(
        self, task_id: str, owner: str, *, worktree: str = "", model: str = "", context: float | None = None
    ) -> Claim:
        """Claim a task for this process, or raise TaskTaken; again, it is the heartbeat."""
        owner, worktree = self._acting or owner, self._worktree or worktree
        pid, now = os.getpid(), self._clock.uptime()
        until, at = now + LEASE_SECONDS, self._clock.now()
        carried = self._numbers.get(task_id, 0)
        claim = Claim(task_id, owner, pid, self._process_identity(pid), until, at, worktree, model, context, carried)
        former = self.store.claims().get(self.find(task_id).id)
        gone = former.owner if former and not owner_lives(former, now, self._process_identity) else ""
        number = await self.store.claim_task(claim, gone)
        if not number:
            raise TaskTaken(f"another process is working on task {task_id}")
        self._numbers[task_id] = number
        return structs.replace(claim, number=number)

    async def beat(self, task_id: str, owner: str, model: str, context: float | None = None) -> None:
        """Keep a claim; raises TaskTaken if it is another's by now. Nothing else depends on it."""
        await self.claim(task_id, owner, model=model, context=context)

    async def let_go(self, task: str, owner: str) -> None:
        self._numbers.pop(task, None)
        await self.store.release_task(task, self._acting or owner)

    async def recover(self, session: str, unsure: str = "") -> list[tuple[Task, TaskMove]]:
        """Put back what former processes of a session had begun and not ended: it counts as no retry.

        `unsure` is a task that may have published something: it waits for a person.
        """
        await self._settle()
        done = []
        for claim in self.stale_claims():
            if claim.owner.partition("/")[0] == session:
                if (
                    self.find(claim.task).status is TaskStatus.RUNNING
                ):  # moved first: the claim is what shows it is left
                    after, why = (S.BLOCKED, MAY_HAVE_PUBLISHED) if claim.task == unsure else (S.TODO, PROCESS_ENDED)
                    done.append(await self.move(claim.task, after, why, owner=claim.owner))
                await self.release(claim)
        return done

    async def release(self, claim: Claim) -> None:
        """Not of a task that runs: the claim is what shows that it is left, and goes with its move, in one step."""
        if self.find(claim.task).status is not S.RUNNING:
            await self.store.release_task(claim.task, claim.owner)

    def stale_claims(self) -> list[Claim]:
        """The claims of processes that are gone."""
        now = self._clock.uptime()
        return [claim for claim in self.store.claims().values() if not owner_lives(claim, now, self._process_identity)]

    # ── fixing

    async def _settle(self) -> None:
        """Finish what a crash left half done: once a process, before its first change."""
        if not self._settled:
            self._settled = True
            found = self.look()
            if any(drift.kind is DriftKind.WRONG_FOLDER for drift in found.drifts):
                await asyncio.sleep(MOVE_SECONDS)  # another process may be moving it just now
                again = self.look()
                found = structs.replace(again, drifts=lasting(found.drifts, again.drifts))
            await self.mend([drift for drift in found.drifts if drift.kind is DriftKind.WRONG_FOLDER])
            for task in found.changed:
                if not self.holder(task.id):
                    await self.store.amend_task(task)

    async def mend(self, drifts: Iterable[Drift]) -> list[str]:  # the name that recordings hold
        """Do each drift's own fix; returns what was done."""
        return [done for drift in drifts if (done := await self._mend(drift))]

    async def _mend(self, drift: Drift) -> str:
        if drift.kind is DriftKind.SECOND_FILE:
            return ""
        if drift.kind is DriftKind.FILE_WITHOUT_ROW:
            assert drift.text
            return await self._take_up(drift.text, drift.path)
        task = self.find(drift.task)
        if drift.kind is DriftKind.ROW_WITHOUT_FILE:
            stamp = self._files.replace(task.path, write_page(task.text))
            await self.store.amend_task(structs.replace(task, stamp=stamp))
            return f"wrote {task.path} again"
        if drift.kind is DriftKind.EDITED_ID:
            page = with_id(self._files.read(drift.path), task.id)
            text, _ = read_page(page)
            stamp = self._files.replace(drift.path, page)
            await self.store.amend_task(structs.replace(task, text=text or task.text, stamp=stamp))
            return f"wrote the id {task.id} into {drift.path} again"
        if (task.status is TaskStatus.CANCELLED or _is_away(task)) and self._files.exists(task.path):
            self._files.remove(drift.path)  # it was copied to another disk, and not yet removed here
            return f"removed {drift.path}, because it is in {task.path}"
        run, name = task.path.split("/")[-2:][0], os.path.basename(task.path)
        step = self._files.stage_move(drift.path, place(task.status), run, name)
        text = drift.text or task.text
        await self.store.amend_task(structs.replace(task, text=text, path=step.path, stamp=step.stamp))
        step.commit()
        return f"moved {drift.path} to {step.path}"

    async def _take_up(self, text: TaskText, path: str) -> str:
        stamp = next(file.stamp for file in self._files.found() if file.path == path)
        status, at = status_in(path), self._clock.now()
        completed = at if status is TaskStatus.DONE else ""
        task = Task(text, status, created=at, completed=completed, path=path, stamp=stamp)
        await self.store.add_tasks([task], FOUND_AS_FILE)
        return f"added {path} as task {text.id}, {status}"


def instant(epoch: float) -> str:
    """Seconds since 1970 as the clock says instants, rounded up to the second."""
    return strftime("%Y-%m-%dT%H:%M:%S.000Z", gmtime(ceil(epoch)))


def _is_away(task: Task) -> bool:
    """Whether the task's file was put away: out of the todo folder."""
    return task.path.startswith("/")
