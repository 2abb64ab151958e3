"""Runs a grader: any program, in the sandbox, on a copy of what the trial left, with the answers beside it.

Its exit code is the verdict: 0 passed, 1 to 125 failed. What it prints is a reason and decides nothing. A grader that
hangs, is killed or cannot start has not graded. It writes to its own copy alone and has no network.
"""

from __future__ import annotations

import os
import shutil
import stat

import msgspec
from msgspec import Struct

from quintet.adapters.files.paths import Places
from quintet.adapters.files.real_path import real_path
from quintet.adapters.processes.processes import LocalProcesses
from quintet.adapters.sandbox.containment import Containment
from quintet.adapters.secrets.vault import Vault
from quintet.adapters.settings.gate_terms import make_terms
from quintet.app.open import make_containment
from quintet.domain.base.errors import QuintetError
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.ports.ports import Finished
from quintet.domain.ports.trials import TrialVerdict
from quintet.domain.settings.settings import Settings

MOST_OUTPUT = 20_000  # bytes of a grader's output that are kept
MOST_REASON = 500
MOST_GRADER_EXIT = 125  # above, a shell says that a program could not be started, or was killed
INTERPRETERS = {
    ".py": "python3",
    ".js": "node",
    ".mjs": "node",
    ".sh": "sh",
    ".bash": "bash",
    ".rb": "ruby",
    ".pl": "perl",
}
GRANT = (Effect.READ, Effect.EDIT, Effect.EXECUTE)


class Graded(Struct, frozen=True):
    verdict: TrialVerdict
    reason: str = ""


class ContainedRuns:
    """Runs programs in the sandbox of one folder, which they may write, and nothing else."""

    def __init__(
        self, places: Places, settings: Settings, *, commits: bool = False, hidden: tuple[str, ...] = ()
    ) -> None:
        self._root = places.root
        self._effects = (*GRANT, Effect.COMMIT) if commits else GRANT
        self._containment: Containment = make_containment(places, settings, make_terms(places, settings), hidden)
        self._processes = LocalProcesses(self._containment, Vault(places, settings))

    async def run(
        self, argv: list[str], seconds: float, reads: tuple[str, ...] = (), *, errors_apart: bool = False
    ) -> Finished:
        """`reads` are folders outside it that the program may read."""
        grant = Grant(self._effects, (self._root,), read_roots=reads)
        return await self._processes.run(
            argv, cwd=self._root, grant=grant, timeout=seconds, keep=MOST_OUTPUT, errors_apart=errors_apart
        )

    async def close(self) -> None:
        await self._processes.close()
        await self._containment.close()


def command_of(program: str) -> list[str]:
    """How a program is started: by itself where it can be, else by what its ending names."""
    if os.stat(program).st_mode & stat.S_IXUSR:
        return [program]
    ending = os.path.splitext(program)[1]
    return [INTERPRETERS.get(ending, "sh"), program]


async def grade(
    grader: str, hidden: str, work: str, answer: bytes, trace: bytes, settings: Settings, seconds: float, place: str
) -> Graded:
    """The verdict on a workspace; `place` is an empty folder, in which the grader gets its copy."""
    try:
        copied = _laid_out(grader, hidden, work, answer, trace, place)
        places = Places(real_path(place), f"{place}.state", f"{place}.config")
        runs = ContainedRuns(places, settings)
    except (OSError, QuintetError) as error:
        return Graded(TrialVerdict.UNGRADED, f"the grader could not be prepared: {error}")
    try:
        done = await runs.run(command_of(copied), seconds)
    except (OSError, QuintetError) as error:
        return Graded(TrialVerdict.UNGRADED, f"the grader could not be started: {error}")
    finally:
        await runs.close()
        shutil.rmtree(f"{place}.state", ignore_errors=True)
    said, code = _said(done.output), done.exit_code
    if done.timed_out:
        return Graded(TrialVerdict.UNGRADED, f"the grader took more than {seconds:g} s and was stopped")
    if code == 0:
        return Graded(TrialVerdict.PASSED, said)
    if 0 < code <= MOST_GRADER_EXIT:
        return Graded(TrialVerdict.FAILED, said or f"the grader ended with {code}")
    return Graded(TrialVerdict.UNGRADED, f"the grader could not be run or was killed (exit code {code}): {said}")


def _laid_out(grader: str, hidden: str, work: str, answer: bytes, trace: bytes, place: str) -> str:
    """The files of a grader: work/, hidden/, answer.json, trace.jsonl and itself. Returns where it lies."""
    os.makedirs(place, exist_ok=True)
    shutil.copytree(work, os.path.join(place, "work"), symlinks=True, ignore=not_copied)
    if hidden and os.path.isdir(hidden):
        shutil.copytree(hidden, os.path.join(place, "hidden"), symlinks=True)
    for name, data in (("answer.json", answer), ("trace.jsonl", trace)):
        with open(os.path.join(place, name), "wb") as file:
            file.write(data)
    copied = os.path.join(place, os.path.basename(grader))
    shutil.copy(grader, copied)
    return copied


def not_copied(folder: str, names: list[str]) -> list[str]:
    """What is neither file, folder nor link cannot be copied, and would wait for ever."""
    kinds = (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK)
    return [name for name in names if not any(kind(os.lstat(os.path.join(folder, name)).st_mode) for kind in kinds)]


def _said(output: str) -> str:
    """The reason that a grader gives: of JSON on its last line the reason, else the line itself."""
    lines = [line for line in output.splitlines() if line.strip()]
    if not lines:
        return ""
    try:
        value = msgspec.json.decode(lines[-1])
    except msgspec.DecodeError:
        value = None
    reason = value.get("reason") if isinstance(value, dict) else None
    return on_one_line(str(reason) if reason else lines[-1])[:MOST_REASON]
