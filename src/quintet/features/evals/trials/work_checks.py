"""Holds what a trial left to the checks of its case.

A line of a check runs in a fresh copy of the work, in a sandbox that holds nothing but this copy: not the checks, not
what they expect, not another trial. What it printed is compared here, outside. So nothing that the work runs, prints
or ends with says that it passed, and the sandbox ends what it leaves running.

Hidden tests share a process with the work, which could end it early or hide what they find. So beside the real run
there is one with tests that were changed so that they have to fail; where it passes too, the work hides failures. Both
run at once, and chance says which of them is started first: work that knows the time does not know which it is in.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import stat
from collections.abc import Iterator

from quintet.adapters.files.paths import Places
from quintet.adapters.files.real_path import real_path
from quintet.domain.base.errors import QuintetError
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.evals.checks import fault_of_file, fault_of_run
from quintet.domain.evals.controls import changed_tests, longer_tests
from quintet.domain.ports.trials import TrialCase, TrialCheck, TrialVerdict
from quintet.domain.settings.settings import Settings
from quintet.features.evals.trials.grader import MOST_REASON, ContainedRuns, Graded, not_copied

MOST_FILE = 1_000_000  # bytes of a file that is read
MOST_CONTROLS = 3  # what a test expects may not matter, as in a part that is not run here
HIDES_FAILURES = "with a test that fails, all tests pass: the work hides what they find"


def out_of_reach(case: TrialCase) -> tuple[str, ...]:
    """The folders that neither the agent nor anything that it left can see."""
    named = (case.folder, os.path.dirname(case.folder), *case.sealed)
    return tuple(dict.fromkeys(map(real_path, named)))


async def check_work(case: TrialCase, work: str, settings: Settings, seconds: float, place: str) -> Graded:
    """The verdict on a workspace; `place` is an empty folder, in which copies are made."""
    try:
        for number, check in enumerate(case.checks, 1):
            fault = await _Check(case, check, work, settings, seconds, place).fault()
            if fault:
                return Graded(TrialVerdict.FAILED, on_one_line(f"check {number}: {fault}")[:MOST_REASON])
    except (OSError, QuintetError) as error:
        return Graded(TrialVerdict.UNGRADED, f"the work could not be checked: {error}")
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return Graded(TrialVerdict.PASSED)


class _Check:
    def __init__(
        self, case: TrialCase, check: TrialCheck, work: str, settings: Settings, seconds: float, place: str
    ) -> None:
        self._case = case
        self._check = check
        self._work = work
        self._settings = settings
        self._seconds = seconds
        self._place = place

    async def fault(self) -> str:
        check = self._check
        if check.file:
            return fault_of_file(check, _read(self._work, check.file))
        if not check.hidden:
            return await self._run(self._copied({}))
        tests = _files_below(self._case.hidden)
        for controlled in _controls(tests, self._case.work):
            if not controlled:
                return await self._run(self._copied(tests))
            fault, seen = await self._both(tests, controlled)
            if fault or seen:
                return fault
        return HIDES_FAILURES

    async def _both(self, tests: dict[str, bytes], controlled: dict[str, bytes]) -> tuple[str, str]:
        """What is wrong with a run with the real tests, and with one beside it with those that have to fail."""
        real, other = self._copied(tests), self._copied(controlled)
        order = (real, other) if secrets.randbelow(2) else (other, real)
        found = await asyncio.gather(*map(self._run, order), return_exceptions=True)
        for one in found:
            if isinstance(one, BaseException):
                raise one
        faults = dict(zip(order, map(str, found), strict=True))
        return faults[real], faults[other]

    def _copied(self, tests: dict[str, bytes]) -> str:
        """A copy of the work with these tests, at a place whose name says nothing."""
        copy = os.path.join(real_path(self._place), secrets.token_hex(6), "work")
        os.makedirs(os.path.dirname(copy))
        shutil.copytree(self._work, copy, symlinks=True, ignore=not_copied)
        _lay_over(copy, {path: text.encode() for path, text in self._check.files.items()})
        _lay_over(copy, tests)
        return copy

    async def _run(self, copy: str) -> str:
        """What is wrong with a run in a copy, which is gone then."""
        above = os.path.dirname(copy)
        places = Places(copy, f"{above}.state", f"{above}.config")
        runs = ContainedRuns(places, self._settings, hidden=out_of_reach(self._case))
        try:
            done = await runs.run(["sh", "-c", self._check.run], self._seconds, errors_apart=True)
        finally:
            await runs.close()
            for folder in (above, f"{above}.state"):
                shutil.rmtree(folder, ignore_errors=True)
        if done.timed_out:
            return f"it took more than {self._seconds:g} s"
        return fault_of_run(self._check, done.exit_code, done.output, done.errors)


def _files_below(folder: str) -> dict[str, bytes]:
    found = {}
    for top, _, names in os.walk(folder):
        for path in (os.path.join(top, name) for name in sorted(names)):
            if not os.path.islink(path):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder)] = file.read()
    return found


def _controls(tests: dict[str, bytes], work: str) -> Iterator[dict[str, bytes]]:
    """The tests, changed so that they have to fail; nothing for a language that has no control. `work` is a folder."""
    before = {path: text.encode() for path in tests if work and (text := _read(work, path)) is not None}
    changed = [found for _ in range(MOST_CONTROLS) if (found := changed_tests(tests, secrets.randbelow, before))]
    yield from changed
    if not changed:
        yield longer_tests(tests, f"t{secrets.token_hex(6)}", secrets.randbelow(10**6))


def _lay_over(copy: str, files: dict[str, bytes]) -> None:
    """Write files into a copy, through no link that the work has left there."""
    for path, data in files.items():
        folder = copy
        for part in os.path.dirname(path).split(os.sep):
            folder = os.path.join(folder, part)
            if os.path.islink(folder) or (os.path.lexists(folder) and not os.path.isdir(folder)):
                os.unlink(folder)
            os.makedirs(folder, exist_ok=True)
        whole = os.path.join(copy, path)
        if os.path.isdir(whole) and not os.path.islink(whole):
            shutil.rmtree(whole)
        elif os.path.lexists(whole):
            os.unlink(whole)
        with open(whole, "xb") as file:
            file.write(data)


def _read(work: str, path: str) -> str | None:
    """A file of the work, if it is one: nothing that a link leads to."""
    whole = os.path.join(work, path)
    if real_path(whole) != os.path.join(real_path(work), os.path.normpath(path)):
        return None
    try:
        handle = os.open(whole, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        return file.read(MOST_FILE).decode("utf-8", "replace")
