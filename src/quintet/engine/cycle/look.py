"""A look for what would keep work from going well: findings, and nothing is changed.

The same findings stand in `quintet doctor`, and an error among them is a reason not to dispatch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from quintet.domain.base.errors import StoreError
from quintet.domain.journal.store_rows import Lease
from quintet.domain.ports.ports import Clock
from quintet.domain.tasks.drift import Scan
from quintet.domain.tasks.health import Finding, HealthProbe, HealthScope, Severity
from quintet.domain.tasks.order import dependency_problems
from quintet.domain.tasks.page import notes
from quintet.domain.tasks.task import OVER, TaskStatus
from quintet.engine.session.leases import owner_lives

I, W, E = Severity  # noqa: E741
STATE, SESSION, TASK, PROJECT, MACHINE = HealthScope
_FIRST = (E, W, I)


class Look:
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
        around = [*self._runtime(), *self._parts(), *self._prompts(), *self._probe.of_features(thorough)]
        return self._found(around, thorough)

    def glance(self) -> list[Finding]:
        """What can be seen at once, of state, tasks, disks and git: nothing is started, no feature is asked."""
        return self._found([], thorough=False)

    def _found(self, around: list[Finding], thorough: bool) -> list[Finding]:
        found = [*self._disks(), *self._git(), *around]
        if problem := self._probe.store_problem(thorough):
            found.append(Finding(problem.code, E, STATE, "state.db", problem.message, problem.hint))
        else:
            scan = self._probe.tasks()
            found += [*self._leases(), *self._claims(), *_pages(scan), *self._verifications(scan)]
        return sorted(found, key=lambda finding: _FIRST.index(finding.severity))

    async def examined(self) -> list[Finding]:
        """The same, while the loop goes on."""
        from asyncio import to_thread  # a look needs no event loop, and starts faster without

        return await to_thread(self.health)

    async def glanced(self) -> list[Finding]:
        from asyncio import to_thread

        return await to_thread(self.glance)

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
            yield Finding("SESSION_LEASE_STALE", W, SESSION, lease.session, problem, "release the lease", True)

    def _claims(self) -> Iterator[Finding]:
        for claim in self._probe.claims().values():
            if not owner_lives(claim, self._now, self._process_identity):
                problem = f"task {claim.task} is still claimed by process {claim.owner_pid}, which has ended"
                advice = "release the claim; a task that was running is tried again"
                yield Finding("TASK_CLAIM_STALE", W, TASK, claim.task, problem, advice, True)

    def _disks(self) -> Iterator[Finding]:
        for place, free in self._probe.free_bytes():
            if free < self._least_free:
                problem = f"{place}: {free // 1_000_000} MB left of the {self._least_free // 1_000_000} MB required"
                advice = "Free some space; doctor.free_bytes sets how much is required."
                yield Finding("DISK_FULL", E, MACHINE, place, problem, advice)

    def _git(self) -> Iterator[Finding]:
        if doing := self._probe.unfinished_git():
            problem = f"git is in the middle of a {doing}"
            advice = f"Finish it or undo it (git {doing} --abort), then continue."
            yield Finding("GIT_UNFINISHED", E, PROJECT, doing, problem, advice)

    def _runtime(self) -> Iterator[Finding]:
        if path := self._probe.changed_code():
            problem = f"Quintet's own files have changed since this process started: {path}"
            advice = "Leave and run `quintet --resume`, so that everything runs the same version."
            yield Finding("RUNTIME_DRIFT", E, MACHINE, path, problem, advice)

    def _parts(self) -> Iterator[Finding]:
        *programs, sandbox = self._probe.parts()
        for part in programs:
            if not part.ready:
                yield Finding("PROGRAM_MISSING", E, MACHINE, part.name, f"{part.name} is missing", part.missing)
        if not sandbox.ready:
            problem = f"commands run in sandbox {sandbox.found}: {sandbox.missing}"
            yield Finding(
                "SANDBOX_WEAK", W, MACHINE, sandbox.found, problem, "Install bubblewrap, or allow it to start."
            )

    def _prompts(self) -> Iterator[Finding]:
        own = self._probe.own_prompts()
        for name, why in own.refused:
            advice = "Change the page, or delete it: until then no session can start here."
            yield Finding("PROMPT_REFUSED", E, PROJECT, name, why, advice)
        for name in own.unknown:
            problem = f"{name}: a prompt of this project that replaces no built-in prompt"
            advice = "Give it the name of a built-in page, or delete it."
            yield Finding("PROMPT_UNKNOWN", W, PROJECT, name, problem, advice)
        for name in own.used:
            problem = f"{name}: a prompt of this project replaces the built-in one"
            advice = "This is not an error: delete it to use the built-in one again."
            yield Finding("PROMPT_OVERRIDDEN", I, PROJECT, name, problem, advice)

    def _verifications(self, scan: Scan) -> Iterator[Finding]:
        checked: dict[str, list[str]] = {}
        for task in scan.tasks:
            line = task.text.verification
            if line and task.status not in OVER:
                if line not in checked:
                    checked[line] = self._probe.missing_programs(line)
                for program in checked[line]:
                    problem = f"task {task.id} is verified by `{line}`, and {program} is not installed"
                    yield Finding("PROGRAM_MISSING", W, TASK, task.id, problem, f"Install {program}, or edit the task.")


def _pages(scan: Scan) -> Iterator[Finding]:
    for drift in scan.drifts:
        code = f"TASK_{drift.kind.upper()}"
        advice = drift.fix or "Give it another id, or delete it."
        yield Finding(code, W, TASK, drift.task, drift.problem, advice, bool(drift.fix))
    for bad in scan.bad_pages:
        yield Finding("TASK_MALFORMED", W, TASK, bad.path, str(bad), "Fix the page; until then it is ignored.")
    for task in scan.tasks:
        for note in notes(task.text) if task.status not in OVER else ():
            yield Finding("TASK_FIELD_UNKNOWN", I, TASK, task.id, f"task {task.id}: {note}", "Nothing to do.")
    open_tasks = [task for task in scan.tasks if task.status is not TaskStatus.CANCELLED]
    for found in dependency_problems(open_tasks):
        subject = ", ".join(found.tasks)
        yield Finding(f"TASK_{found.kind.upper()}", E, TASK, subject, found.problem, "Edit depends_on in its file.")
