"""Makes a task of a commit in the user's own repository: the state before it, its message, its tests as grader.

The tests have to fail on the state before and to pass on the commit, by the same checks that trials are held to; else
there is no task. Files are read from git's objects, so that nothing which the repository names is run to get them.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
from collections.abc import Iterable
from typing import Any, NamedTuple

import tomlkit
from msgspec import structs

from quintet.adapters.files.paths import evals_folder
from quintet.adapters.files.private_files import private_folder
from quintet.adapters.files.real_path import real_path
from quintet.adapters.git.run_git import RepositoryView, looking_from
from quintet.domain.base.errors import UsageError
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.evals.commits import is_test, lines_of, name_of, request_of, runs_alone
from quintet.domain.ports.trials import TrialCase, TrialCheck, TrialVerdict
from quintet.domain.settings.settings import Settings
from quintet.features.evals.tasks import TASK, Solution, TaskPage, own_suites
from quintet.features.evals.trials.grader import Graded
from quintet.features.evals.trials.work_checks import check_work

MOST_BYTES = 200_000_000  # of a repository's files
MOST_SOLUTION = 1_000_000  # bytes that a commit wrote
_FILE, _LINK, _EXECUTABLE = b"100644", b"120000", b"100755"


class CommitFiles(NamedTuple):
    """A commit, and the one before it, as files on disk."""

    commit: str
    message: str
    before: str  # a folder
    after: str
    tests: str  # a folder with the test files that the commit added or changed
    written: tuple[str, ...]  # the other files that it added or changed
    deleted: tuple[str, ...]


class MadeTask(NamedTuple):
    name: str
    folder: str
    page: TaskPage
    before: Graded  # the verdict on the state before, which is to fail


def make_task(
    root: str, commit: str, suite: str, settings: Settings, seconds: float, *, line: str = "", request: str = ""
) -> MadeTask:
    """The task in a suite of the user's; UsageError says why there can be none."""
    top = os.path.join(own_suites(), suite)
    place = os.path.join(evals_folder(), "making", str(os.getpid()))
    shutil.rmtree(place, ignore_errors=True)
    private_folder(place)
    try:
        files = _files(root, commit, place, by_line=bool(line))
        told = request_of(files.message)
        if not (request or told):
            raise UsageError(f"{commit} has no message: say what is asked for with --request TEXT")
        name = name_of(told.partition("\n")[0], files.commit)
        folder = os.path.join(top, name)
        if os.path.lexists(folder):
            raise UsageError(f"{folder} is there already")
        page, before = _checked(files, settings, seconds, place, line)
        page = structs.replace(page, request=request or told, solution=_solution(files))
        made = os.path.join(place, "made")
        os.mkdir(made)
        os.rename(files.before, os.path.join(made, "work"))
        os.rename(files.tests, os.path.join(made, "hidden"))
        with open(os.path.join(made, TASK), "w", encoding="utf-8") as file:
            file.write(as_toml(page))
        private_folder(top)
        os.rename(made, folder)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return MadeTask(name, folder, page, before)


def _files(root: str, commit: str, place: str, *, by_line: bool) -> CommitFiles:
    """`by_line`: the user says how the tests are run, so they may be of any language."""
    with looking_from(root) as view:
        said = view.ask("rev-list", "--parents", "--max-count=1", "--end-of-options", commit, accept=(0, 128, 129))
        ids = said.decode("ascii", "replace").split()
        if not ids:
            raise UsageError(f"{commit}: no such commit")
        if len(ids) != 2:
            raise UsageError(f"{commit} has {'no parent' if len(ids) == 1 else 'several parents'}: name another commit")
        own, parent = ids
        message = view.ask("show", "-s", "--format=%B", own).decode("utf-8", "replace")
        listed = view.ask("diff-tree", "-r", "-z", "--no-renames", "--name-status", parent, own)
        words = [os.fsdecode(word) for word in listed.split(b"\0") if word]
        changed = dict(zip(words[1::2], words[::2], strict=True))
        tests = [_path(path) for path, how in changed.items() if is_test(path) and how != "D"]
        if not tests or not (by_line or any(map(runs_alone, tests))):
            raise UsageError(f"{commit} changes no tests that can be run: name another commit, or give --run LINE")
        if all(map(is_test, changed)):
            raise UsageError(f"{commit} changes nothing but tests: there would be nothing to do")
        before, after, hidden = (os.path.join(place, name) for name in ("before", "after", "hidden"))
        _write_out(view, parent, before)
        _write_out(view, own, after)
    for path in tests:
        target = os.path.join(hidden, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(os.path.join(after, path), target, follow_symlinks=False)
    others = {_path(path): how for path, how in changed.items() if not is_test(path)}
    written = tuple(path for path, how in others.items() if how != "D")
    deleted = tuple(path for path, how in others.items() if how == "D")
    return CommitFiles(own, message, before, after, hidden, written, deleted)


def _solution(files: CommitFiles) -> Solution:
    """What the commit did, as far as it can be written down: of text files, by their contents."""
    found: dict[str, str] = {}
    for path in files.written:
        place = os.path.join(files.after, path)
        if os.path.islink(place) or not os.path.isfile(place) or os.path.getsize(place) > MOST_SOLUTION:
            return Solution()
        with open(place, "rb") as file:
            data = file.read()
        try:
            found[path] = data.decode("utf-8")
        except UnicodeDecodeError:
            return Solution()
    if sum(map(len, found.values())) > MOST_SOLUTION:
        return Solution()
    return Solution(files=found, run=tuple(f"rm -- {shlex.quote(path)}" for path in files.deleted))


def _write_out(view: RepositoryView, commit: str, folder: str) -> None:
    """The files of a commit as its objects hold them; links stay links, other repositories are left out.

    Objects may hold what git itself would not check out: names that lead up, and a link and a folder of one name. So
    links are made last, when nothing can be written through them any more.
    """
    os.makedirs(folder)
    top = real_path(folder)
    entries = []
    for entry in view.ask("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
        about, _, path = entry.partition(b"\t")
        if about[:6] in (_FILE, _LINK, _EXECUTABLE):
            entries.append((about[:6], about.split()[2], _path(os.fsdecode(path))))
    entries.sort(key=lambda entry: entry[0] == _LINK)
    wanted = b"".join(id + b"\n" for _, id, _ in entries)
    sizes = view.ask("cat-file", "--batch-check=%(objectsize)", given=wanted).split()
    if sum(int(size) for size in sizes if size.isdigit()) > MOST_BYTES:
        raise UsageError(f"{commit[:12]}: its files are too large for a task (more than {MOST_BYTES:,} bytes)")
    data, at = view.ask("cat-file", "--batch=%(objectsize)", given=wanted), 0
    for kind, _, name in entries:
        end = data.index(b"\n", at)
        size = int(data[at:end])
        content, at = data[end + 1 : end + 1 + size], end + size + 2
        target = os.path.join(top, name)
        try:
            if real_path(os.path.dirname(target)) != os.path.dirname(target):
                raise FileExistsError
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if kind == _LINK:
                os.symlink(os.fsdecode(content), target)
                continue
            with open(target, "xb") as file:
                file.write(content)
        except (FileExistsError, NotADirectoryError):
            raise UsageError(f"{commit[:12]}: two of its entries are named {name}") from None
        if kind == _EXECUTABLE:
            os.chmod(target, 0o755)


def _path(name: str) -> str:
    if any(part.lower() in ("", ".", "..", ".git") for part in name.split("/")):
        raise UsageError(f"{on_one_line(name)}: git checks out no file of this name")
    return name


def _checked(files: CommitFiles, settings: Settings, seconds: float, place: str, line: str) -> tuple[TaskPage, Graded]:
    """The page whose checks fail on the state before and pass on the commit, and how they fail."""
    tests = [os.path.relpath(path, files.tests) for path in _paths(files.tests)]
    there = [os.path.relpath(path, files.after) for path in _paths(files.after)]
    why = "no line is known that runs them: give one with --run LINE"
    for each in [line] if line else lines_of(tests, there):
        check = TrialCheck(run=each, hidden=True)
        graded = [_graded(files, folder, check, settings, seconds, place) for folder in (files.after, files.before)]
        if graded[0].verdict is not TrialVerdict.PASSED:
            why = f"on the commit itself `{each}` does not pass: {graded[0].reason}"
        elif graded[1].verdict is not TrialVerdict.FAILED:
            why = f"before the commit `{each}` passes already, so there is nothing to tell them apart"
        else:
            return TaskPage("", "commit", (check,), source=files.commit), graded[1]
    raise UsageError(f"{files.commit[:12]}: {why}")


def _graded(files: CommitFiles, work: str, check: TrialCheck, settings: Settings, seconds: float, place: str) -> Graded:
    case = TrialCase("", "", "", files.tests, work=files.before, hidden=files.tests, checks=(check,))
    copies = os.path.join(f"{place}-graded", "copy")  # beside the place, which nothing that is run can see
    try:
        return asyncio.run(check_work(case, work, settings, seconds, copies))
    finally:
        shutil.rmtree(os.path.dirname(copies), ignore_errors=True)


def _paths(folder: str) -> Iterable[str]:
    for top, _, names in os.walk(folder):
        yield from (os.path.join(top, name) for name in names)


def as_toml(page: TaskPage) -> str:
    """The page of a task that a commit gave."""
    found: dict[str, Any] = {"kind": page.kind, "source": page.source, "request": page.request}
    solution = {"files": page.solution.files, "run": list(page.solution.run)}
    if solved := {name: said for name, said in solution.items() if said}:
        found["solution"] = solved
    return tomlkit.dumps({**found, "checks": [{"run": check.run, "hidden": True} for check in page.checks]})


def newest(root: str, number: int) -> list[str]:
    """The last commits that are no merges and change tests, newest first."""
    found: list[str] = []
    with looking_from(root) as view:
        said = view.ask("log", "--no-merges", "--no-renames", "--name-only", "-z", "--format=%x01%H", "HEAD")
    for block in said.decode("utf-8", "surrogateescape").split("\x01")[1:]:
        id, *paths = [word.strip("\n") for word in block.split("\0")]
        if any(map(runs_alone, paths)) and not all(is_test(path) for path in paths if path):
            found.append(id)
            if len(found) == number:
                break
    return found
