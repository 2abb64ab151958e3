"""The doctor's checks of what would keep work from going well: findings, and nothing is changed.

The same findings stand in `quintet doctor`, and an error among them is a reason not to dispatch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from msgspec import structs

from quintet.domain.base.errors import StoreError
from quintet.domain.journal.store_rows import Lease
from quintet.domain.ports.ports import Clock
from quintet.domain.tasks import finding_kinds as kinds
from quintet.domain.tasks.drift import MOVE_SECONDS, Scan, lasting
from quintet.domain.tasks.health import Finding, HealthProbe, Severity
from quintet.domain.tasks.order import dependency_problems
from quintet.domain.tasks.page import notes
from quintet.domain.tasks.task import OVER, TaskStatus
from quintet.engine.session.leases import owner_lives

_FIRST = tuple(reversed(Severity))


def settled_scan(scan: Callable[[], Scan]) -> Scan:
    """A scan without the drifts of tasks that another process moves just now."""
    found = scan()
    if not found.drifts:
        return found
    time.sleep(MOVE_SECONDS)
    again = scan()
    return structs.replace(again, drifts=lasting(found.drifts, again.drifts))


class DoctorChecks:
    """One look at a project and its machine."""

    def __init__(
        self, probe: HealthProbe, least_free: int, clock: Clock, process_identity: Callable[[int], str]
    ) -> None:
        self._probe = probe
        self._least_free = least_free
        self._now = clock.uptime()
        self._process_identity = process_identity

    def health(self, *, thorough: bool = False) -> list[Finding]:
        """Everything that is wrong, errors first."""
        around = [*self._runtime(), *self._parts(), *self._prompts(), *self._probe.of_rooms(thorough)]
        return self._found(around, thorough)

    def glance(self) -> list[Finding]:
        """What can be seen at once, of state, tasks, disks and git: nothing is started, no feature is asked."""
        return self._found([], thorough=False)

    def _found(self, around: list[Finding], thorough: bool) -> list[Finding]:
        found = [*self._disks(), *self._git(), *around]
        if problem := self._probe.store_problem(thorough):
            kind = kinds.STORE.get(problem.code, kinds.STORE["STORE_FAILED"])
            found.append(kind.of("state.db", problem.message, problem.hint))
        else:
            scan = settled_scan(self._probe.tasks)
            found += [*self._leases(), *self._claims(), *_pages(scan), *self._verifications(scan)]
        return sorted(found, key=lambda finding: _FIRST.index(finding.severity))

    async def examined(self, *, thorough: bool = False) -> list[Finding]:
        """The same, while the loop goes on."""
        from asyncio import to_thread  # a look needs no event loop, and starts faster without

        return await to_thread(self.health, thorough=thorough)

    async def glanced(self) -> list[Finding]:
        from asyncio import to_thread

        return await to_thread(self.glance)

    async def fixed_in_rooms(self) -> list[str]:
        """Have the rooms and features fix what can be fixed; returns what was done."""
        from asyncio import to_thread

        return await to_thread(self._probe.fix_rooms)

    def store_problem(self) -> StoreError | None:
        return self._probe.store_problem(False)

    def stale_leases(self) -> list[Lease]:
        return [
            Lease(row.id, row.owner, row.owner_pid, row.owner_started, row.lease_until, row.lease_number)
            for row in self._probe.sessions()
            if row.owner and not owner_lives(row, self._now, self._process_identity)
        ]

    def _leases(self) -> Iterator[Finding]:
        for lease in self.stale_leases():
            problem = f"session {lease.session} is still leased to process {lease.pid}, which has ended"
            yield kinds.SESSION_LEASE_STALE.of(lease.session, problem)

    def _claims(self) -> Iterator[Finding]:
        for claim in self._probe.claims().values():
            if not owner_lives(claim, self._now, self._process_identity):
                problem = f"task {claim.task} is still claimed by process {claim.owner_pid}, which has ended"
                yield kinds.TASK_CLAIM_STALE.of(claim.task, problem)

    def _disks(self) -> Iterator[Finding]:
        for place, free in self._probe.free_bytes():
            if free < self._least_free:
                problem = f"{place}: {free // 1_000_000} MB left of the {self._least_free // 1_000_000} MB required"
                yield kinds.DISK_FULL.of(place, problem)

    def _git(self) -> Iterator[Finding]:
        if doing := self._probe.unfinished_git():
            problem = f"git is in the middle of a {doing}"
            advice = f"Finish it or undo it (git {doing} --abort), then continue."
            yield kinds.GIT_UNFINISHED.of(doing, problem, advice)

    def _runtime(self) -> Iterator[Finding]:
        if path := self._probe.changed_code():
            problem = f"Quintet's own files have changed since this process started: {path}"
            yield kinds.RUNTIME_DRIFT.of(path, problem)

    def _parts(self) -> Iterator[Finding]:
        *programs, sandbox = self._probe.parts()
        for part in programs:
            if not part.ready:
                yield kinds.PROGRAM_MISSING.of(part.name, f"{part.name} is missing", part.missing)
        if not sandbox.ready:
            problem = f"commands run in sandbox {sandbox.found}: {sandbox.missing}"
            yield kinds.SANDBOX_WEAK.of(sandbox.found, problem)

    def _prompts(self) -> Iterator[Finding]:
        own = self._probe.own_prompts()
        for name, why in own.refused:
            yield kinds.PROMPT_REFUSED.of(name, why)
        for name in own.unknown:
            yield kinds.PROMPT_UNKNOWN.of(name, f"{name}: a prompt of this project that replaces no built-in prompt")
        for name in own.used:
            yield kinds.PROMPT_OVERRIDDEN.of(name, f"{name}: a prompt of this project replaces the built-in one")

    def _verifications(self, scan: Scan) -> Iterator[Finding]:
        checked: dict[str, list[str]] = {}
        for task in scan.tasks:
            line = task.text.verification
            if line and task.status not in OVER:
                if line not in checked:
                    checked[line] = self._probe.missing_programs(line)
                for program in checked[line]:
                    problem = f"task {task.id} is verified by `{line}`, and {program} is not installed"
                    yield kinds.TASK_PROGRAM_MISSING.of(task.id, problem, f"Install {program}, or edit the task.")


def _pages(scan: Scan) -> Iterator[Finding]:
    for drift in scan.drifts:
        yield kinds.TASK_DRIFT[drift.kind].of(drift.task, drift.problem)
    for bad in scan.bad_pages:
        advice = f"Fix .quintet/todo/{bad.path}; until then it is ignored."
        yield kinds.TASK_MALFORMED.of(bad.path, str(bad), advice)
    for task in scan.tasks:
        for note in notes(task.text) if task.status not in OVER else ():
            yield kinds.TASK_FIELD_UNKNOWN.of(task.id, f"task {task.id}: {note}")
    open_tasks = [task for task in scan.tasks if task.status is not TaskStatus.CANCELLED]
    for found in dependency_problems(open_tasks):
        yield kinds.TASK_ORDER[found.kind].of(", ".join(found.tasks), found.problem)
