"""Runs one trial: a fresh workspace, a session in it with nobody attached, and the grader on what it left.

The folder of the case is hidden from the session: its tools, its commands and its background shells see a copy of
`work/` and, where the arm shows one, a copy of a folder without its evals. Nothing of the case runs outside a sandbox.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time

from msgspec import structs

from quintet.adapters import sandbox
from quintet.adapters.files.paths import Places, evals_folder, locate
from quintet.adapters.files.private_files import private_folder
from quintet.adapters.files.real_path import real_path
from quintet.adapters.processes.host_programs import program
from quintet.adapters.processes.system import RandomIds
from quintet.adapters.settings.layers import LoadedSettings
from quintet.domain.base.errors import QuintetError
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.permission.effects import Sandbox
from quintet.domain.ports.ports import Model
from quintet.domain.ports.trials import TrialArm, TrialCase, TrialResult, TrialVerdict
from quintet.features.evals.settings import EvalSettings
from quintet.features.evals.trials.grader import ContainedRuns, Graded, command_of, grade
from quintet.features.evals.trials.session import TrialSession
from quintet.features.evals.trials.work_checks import check_work

SETUP_SECONDS = 60.0
LEFT_OUT = shutil.ignore_patterns("evals", ".git", "__pycache__")
NO_SANDBOX = "evals need the sandbox bwrap, so that answers stay hidden; `quintet doctor` says what is missing"
_IDENTITY = {"name": "Eval", "email": "eval@localhost"}  # of the workspace: whoever works there can commit
_GIT = {
    "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


def make_trials(places: Places, loaded: LoadedSettings) -> LocalTrials:
    own = loaded.settings.table("evals", EvalSettings)
    return LocalTrials(loaded, own.trial_seconds, own.grader_seconds)


class LocalTrials:
    """Port TrialRunner, on this machine."""

    def __init__(self, loaded: LoadedSettings, trial_seconds: float, grader_seconds: float) -> None:
        self._settings = loaded.settings
        self._trial_seconds = trial_seconds
        self._grader_seconds = grader_seconds

    async def run(self, case: TrialCase, arm: TrialArm, number: int, model: Model | None = None) -> TrialResult:
        result = TrialResult(case.name, arm.name, number, TrialVerdict.BROKEN)
        if sandbox.chosen(self._settings.sandbox.use) is not Sandbox.BWRAP:
            return structs.replace(result, reason=NO_SANDBOX)
        began = time.monotonic()
        folder = self._folder(case, arm, number)
        try:
            return structs.replace(
                await self._tried(case, arm, model, result, folder), seconds=round(time.monotonic() - began, 3)
            )
        except (OSError, QuintetError, subprocess.SubprocessError) as error:
            said = getattr(error, "message", "") or str(error)
            return structs.replace(result, reason=on_one_line(said), workspace=folder)

    async def _tried(
        self, case: TrialCase, arm: TrialArm, model: Model | None, result: TrialResult, folder: str
    ) -> TrialResult:
        work, shown = os.path.join(folder, "work"), os.path.join(folder, "shown")
        if case.work:
            shutil.copytree(case.work, work, symlinks=True)  # a link stays a link: it leads to nothing of the case
        else:
            os.mkdir(work)
        if arm.shown:
            name = os.path.basename(arm.shown.rstrip("/"))
            shutil.copytree(arm.shown, os.path.join(shown, name), symlinks=True, ignore=LEFT_OUT)
        _begin_repository(work)
        if case.setup:
            await self._set_up(case, work, os.path.join(folder, "setup"))
        session = TrialSession(case, arm, work, shown, case.seconds or self._trial_seconds)
        answer, trace, ended = await session.run(model)
        graded = await self._graded(case, work, answer, trace, os.path.join(folder, "graded"))
        for name, data in (("answer.json", answer), ("trace.jsonl", trace)):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)
        passed = graded.verdict is TrialVerdict.PASSED
        shutil.rmtree(folder if passed else os.path.join(folder, "graded"), ignore_errors=True)
        return structs.replace(
            ended,
            case=result.case,
            arm=result.arm,
            number=result.number,
            verdict=graded.verdict,
            reason=graded.reason,
            workspace="" if passed else work,
        )

    async def _graded(self, case: TrialCase, work: str, answer: bytes, trace: bytes, place: str) -> Graded:
        if case.grader:
            return await grade(
                case.grader, case.hidden, work, answer, trace, self._settings, self._grader_seconds, place
            )
        return await check_work(case, work, self._settings, self._grader_seconds, place)

    def _folder(self, case: TrialCase, arm: TrialArm, number: int) -> str:
        top = os.path.join(evals_folder(), _plain(case.suite))
        private_folder(top)
        folder = os.path.join(top, f"{_plain(case.name)}-{_plain(arm.name)}-{number}-{RandomIds().new('t')}")
        os.mkdir(folder, 0o700)
        return folder

    async def _set_up(self, case: TrialCase, work: str, place: str) -> None:
        """In the workspace's sandbox, with its repository writable; the setup itself is read from `place`, a new
        folder: the workspace may have links of any name."""
        os.mkdir(place)
        copied = os.path.join(place, os.path.basename(case.setup))
        shutil.copy(case.setup, copied)
        runs = ContainedRuns(_places(work), self._settings, commits=True)
        try:
            done = await runs.run(command_of(copied), SETUP_SECONDS, (place,))
        finally:
            await runs.close()
            shutil.rmtree(place, ignore_errors=True)
        if done.exit_code or done.timed_out:
            said = done.output.strip()[-300:] or done.exit_code
            raise QuintetError(f"{os.path.basename(case.setup)} failed: {said}")


def _begin_repository(work: str) -> None:
    """The workspace as one commit, so that what the trial changes can be told; what `work` brought as .git is gone,
    be it a folder, a link or a file that names another folder: its settings would name programs."""
    own = os.path.join(work, ".git")
    if os.path.islink(own) or os.path.isfile(own):
        os.unlink(own)
    elif os.path.lexists(own):
        shutil.rmtree(own)
    git = program("git")
    if git is None:
        raise QuintetError("git is not installed: a workspace is a repository")
    for words in (
        ["init", "-q", "-b", "main", "--template="],
        *(["config", f"user.{key}", value] for key, value in _IDENTITY.items()),
        ["add", "-A", "-f"],
        [*_COMMIT, "The workspace"],
    ):
        command = [git, "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false", *words]
        environment = {"PATH": os.defpath, "HOME": work, "GIT_DIR": own, "GIT_WORK_TREE": work, **_GIT}
        done = subprocess.run(
            command, cwd=work, env=environment, capture_output=True, timeout=SETUP_SECONDS, check=False
        )
        if done.returncode:
            raise QuintetError(f"git {words[0]}: {done.stderr.decode('utf-8', 'replace').strip()[-200:]}")


_COMMIT = ("commit", "-q", "--allow-empty", "-m")


def _places(folder: str) -> Places:
    return structs.replace(locate(folder), root=real_path(folder))


def _plain(name: str) -> str:
    return "".join(char if char.isalnum() or char in "-_." else "_" for char in name)[:60] or "_"
