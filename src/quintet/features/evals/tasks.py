"""Tasks of evals: what is asked for, in which repository, what is checked afterwards, and one way to do it.

A task is a file NAME.toml, or a folder NAME with task.toml and, beside it, the repository as `work/` and tests as
`hidden/`. A suite is a folder of them, at any depth: one that comes with Quintet, one that `quintet eval new` made, or
one at a path. Nothing of a task is seen by who does it but the request and the files it begins with.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator

import msgspec
from msgspec import Struct, structs

from quintet.adapters.files.paths import evals_folder
from quintet.domain.base.errors import UsageError
from quintet.domain.base.wording import did_you_mean
from quintet.domain.evals import checks as rules
from quintet.domain.ports.trials import TrialCase, TrialCheck
from quintet.package import FOLDER

SHIPPED = os.path.join(FOLDER, "features", "evals", "suites")
TASK = "task.toml"


class Solution(Struct, frozen=True, forbid_unknown_fields=True):
    """One way to do a task: it shows that its checks can be met, and is what the scripted model does."""

    first: tuple[str, ...] = ()  # shell lines
    files: dict[str, str] = {}  # then these are written
    run: tuple[str, ...] = ()  # and then more lines


class TaskPage(Struct, frozen=True, forbid_unknown_fields=True):
    """A task as its file has it."""

    request: str
    kind: str = "other"
    checks: tuple[TrialCheck, ...] = ()
    files: dict[str, str] = {}  # the repository
    setup: str = ""  # shell lines that are run in it first, as for its history
    needs: tuple[str, ...] = ()  # programs
    rules: bool = False  # whether the offline rules can do it
    commits: bool = False  # whether git's own files are to change
    solution: Solution = Solution()
    source: str = ""  # the commit that it was made from


class EvalTask(Struct, frozen=True):
    suite: str
    name: str
    file: str  # of its page
    page: TaskPage

    def beside(self, name: str) -> str:
        """A folder beside its page; empty if there is none. A link is none: what it leads to is not the task's."""
        path = os.path.join(os.path.dirname(self.file), name)
        there = os.path.isdir(path) and not os.path.islink(path)
        return path if os.path.basename(self.file) == TASK and there else ""


class Suite(Struct, frozen=True):
    name: str
    folder: str
    tasks: tuple[EvalTask, ...]


def own_suites() -> str:
    """Where the suites are that were made here."""
    return os.path.join(evals_folder(), "suites")


def suites() -> list[Suite]:
    """Those that come with Quintet, then the user's own."""
    found: dict[str, Suite] = {}
    for top in (SHIPPED, own_suites()):
        for name in _folders(top):
            found.setdefault(name, read_suite(os.path.join(top, name), name))
    return list(found.values())


def find_suite(name: str) -> Suite:
    """By its name or by the path of its folder; UsageError says which there are."""
    if os.sep in name and os.path.isdir(name):
        return read_suite(os.path.abspath(name), os.path.basename(os.path.abspath(name)))
    for top in (SHIPPED, own_suites()):
        if name in _folders(top):
            return read_suite(os.path.join(top, name), name)
    known = [*_folders(SHIPPED), *_folders(own_suites())]
    close = did_you_mean(name, known)
    raise UsageError(f'no suite "{name}".{close}', hint=f"There are {', '.join(known)}; or give the path of a folder.")


def read_suite(folder: str, name: str) -> Suite:
    tasks = sorted((_read(path, name) for path in _pages(folder)), key=lambda task: (task.page.kind, task.name))
    names = [task.name for task in tasks]
    if twice := {one for one in names if names.count(one) > 1}:
        raise UsageError(f"{folder}: two tasks are named {min(twice)}")
    return Suite(name, folder, tuple(tasks))


def _folders(top: str) -> list[str]:
    try:
        names = sorted(os.listdir(top))
    except OSError:
        return []
    return [name for name in names if not name.startswith(".") and os.path.isdir(os.path.join(top, name))]


def _pages(folder: str) -> Iterator[str]:
    """The pages of tasks below a folder; what lies beside one is its own."""
    own = os.path.join(folder, TASK)
    if os.path.isfile(own):
        yield own
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be read ({error.strerror})") from error
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _pages(entry.path)
        elif entry.name.endswith(".toml") and entry.is_file():
            yield entry.path


def _read(path: str, suite: str) -> EvalTask:
    try:
        with open(path, "rb") as file:
            page = msgspec.convert(tomllib.load(file), TaskPage)
    except (OSError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"{path}: {error}") from error
    named = os.path.dirname(path) if os.path.basename(path) == TASK else path.removesuffix(".toml")
    if not page.checks:
        raise UsageError(f"{path}: it has no checks, so nothing would be graded")
    for check in page.checks:
        if why := rules.problem(check):
            raise UsageError(f"{path}: {why}")
    if any(os.path.isabs(name) or ".." in name.split("/") for name in (*page.files, *page.solution.files)):
        raise UsageError(f"{path}: its files are in the workspace: give relative paths")
    return EvalTask(suite, os.path.basename(named), path, page)


def laid_out(task: EvalTask, place: str) -> TrialCase:
    """The task as a case of trials, with the files that it begins with in a folder of its own below `place`."""
    folder = os.path.join(place, task.name)
    work = os.path.join(folder, "work")
    os.makedirs(work)
    for path, text in task.page.files.items():
        write(os.path.join(work, path), text)
    setup = ""
    if task.page.setup:
        setup = os.path.join(folder, "setup.sh")
        write(setup, f"set -e\n{task.page.setup}")
    return TrialCase(
        suite=task.suite,
        name=task.name,
        task=task.page.request.strip(),
        folder=folder,
        work=task.beside("work") or work,
        hidden=task.beside("hidden"),
        setup=setup,
        checks=task.page.checks,
        sealed=(SHIPPED, own_suites(), os.path.dirname(task.file)),
    )


def write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def chosen(suite: Suite, names: list[str], kinds: list[str]) -> Suite:
    """A suite with these tasks alone; UsageError names what is not there."""
    known, there = {task.name for task in suite.tasks}, {task.page.kind for task in suite.tasks}
    for wanted, have, what in ((names, known, "task"), (kinds, there, "kind")):
        if missing := [name for name in wanted if name not in have]:
            close = did_you_mean(missing[0], sorted(have))
            raise UsageError(f"{suite.name} has no {what} {missing[0]}.{close}")
    kept = [one for one in suite.tasks if (not names or one.name in names) and (not kinds or one.page.kind in kinds)]
    return structs.replace(suite, tasks=tuple(kept))
