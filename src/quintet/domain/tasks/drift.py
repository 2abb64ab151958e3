"""Rows and files of tasks, side by side: the tasks as their files say them now, and where the two have drifted apart.

A file that has not changed since its row was written (by its stamp) is not read. Each drift has one deterministic
fix; a file that cannot be read as a task is reported and left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

from msgspec import Struct, field, structs

from quintet.domain.base.errors import QuintetError
from quintet.domain.ports.tasks import FoundFile
from quintet.domain.tasks.page import Flaw, read_page
from quintet.domain.tasks.task import DONE_FOLDER, VERIFIED_FOLDER, Task, TaskStatus, TaskText, file_name

SUMMARY_LINES = 5
MOVE_SECONDS = 0.1  # that a process may take from a task's row to its file
_STATUS_OF = {DONE_FOLDER: TaskStatus.VERIFYING, VERIFIED_FOLDER: TaskStatus.DONE}


class DriftKind(StrEnum):
    FILE_WITHOUT_ROW = "file_without_row"
    ROW_WITHOUT_FILE = "row_without_file"
    WRONG_FOLDER = "wrong_folder"
    EDITED_ID = "edited_id"
    SECOND_FILE = "second_file"


class Drift(Struct, frozen=True):
    """A row and a file that do not agree; `path` is that of the file."""

    kind: DriftKind
    task: str
    path: str
    problem: str
    text: TaskText | None = None  # what the file says, if it was read


def lasting(first: Sequence[Drift], second: Sequence[Drift]) -> list[Drift]:
    """Those that were there both times: a drift that goes away is another process that moves a task."""
    before = {(one.kind, one.task, one.path) for one in first}
    return [one for one in second if (one.kind, one.task, one.path) in before]


class BadPage(Struct, frozen=True):
    path: str
    flaws: tuple[Flaw, ...]

    def __str__(self) -> str:
        return "; ".join(f"{self.path}: {flaw}" for flaw in self.flaws)


class Scan(Struct):
    tasks: list[Task] = field(default_factory=list)  # every row, with what its file says now
    changed: list[Task] = field(default_factory=list)  # those of them whose file was edited since its row was written
    drifts: list[Drift] = field(default_factory=list)
    bad_pages: list[BadPage] = field(default_factory=list)


def scan(rows: Sequence[Task], files: Iterable[FoundFile], read: Callable[[str], str]) -> Scan:
    """`read` gives a file's text; what it raises of ours is a flaw of that file."""
    found = Scan()
    left = {file.path: file for file in files}
    missing: dict[str, Task] = {}
    for row in rows:
        if row.status is TaskStatus.CANCELLED or row.path.startswith("/"):  # its file is with the run that ended it
            found.tasks.append(row)
            continue
        file = left.pop(row.path, None)
        if file is None:
            missing[row.id] = row
            found.tasks.append(row)
        elif file.stamp == row.stamp:
            found.tasks.append(row)
        else:
            found.tasks.append(_read_again(row, file, read, found))
    known = {row.id: row for row in rows} if left else {}
    unmoved = {row.stamp: row.text for row in missing.values()}
    for path in sorted(left):
        text = unmoved.get(left[path].stamp) or _text(path, read, found)
        if text is not None:
            found.drifts.append(_stray(text, path, missing, known))
    for row in missing.values():
        problem = f"{row.path}, the file of task {row.id}, no longer exists"
        found.drifts.append(Drift(DriftKind.ROW_WITHOUT_FILE, row.id, row.path, problem))
    return found


def _read_again(row: Task, file: FoundFile, read: Callable[[str], str], found: Scan) -> Task:
    text = _text(file.path, read, found)
    if text is None:
        return row
    if text.id != row.id:
        problem = f"{file.path} is the file of task {row.id}, but now has the id {text.id}"
        found.drifts.append(Drift(DriftKind.EDITED_ID, row.id, file.path, problem, text))
        return row
    edited = structs.replace(row, text=text, stamp=file.stamp)
    found.changed.append(edited)
    return edited


def _stray(text: TaskText, path: str, missing: dict[str, Task], known: dict[str, Task]) -> Drift:
    if row := missing.pop(text.id, None):
        problem = f"task {text.id} is {row.status}, but its file is {path} instead of {row.path}"
        return Drift(DriftKind.WRONG_FOLDER, text.id, path, problem, text)
    if (row := known.get(text.id)) and row.path.startswith("/") and row.text == text:
        problem = f"task {text.id} is {row.status} and archived, but its file is still {path}"
        return Drift(DriftKind.WRONG_FOLDER, text.id, path, problem, text)
    if row:
        problem = f"{path} has the id {text.id}, but that task has another file; give it another id, or delete it"
        return Drift(DriftKind.SECOND_FILE, text.id, path, problem, text)
    known[text.id] = Task(text)  # a second one that says the same is that: a second one
    problem = f"{path} describes a task {text.id} that was not added"
    return Drift(DriftKind.FILE_WITHOUT_ROW, text.id, path, problem, text)


def _text(path: str, read: Callable[[str], str], found: Scan) -> TaskText | None:
    try:
        text, flaws = read_page(read(path))
    except QuintetError as error:
        text, flaws = None, [Flaw(1, "", error.message)]
    if flaws:
        found.bad_pages.append(BadPage(path, tuple(flaws)))
    return text


def status_in(path: str) -> TaskStatus:
    """The status of a task that is known by its file alone."""
    return _STATUS_OF.get(path.rpartition("/")[0], TaskStatus.TODO)


def summarise(tasks: Iterable[Task]) -> str:
    """The completed tasks as the planner and the executor are told of them: oldest first, a few lines each."""
    finished = [task for task in tasks if task.path.startswith(f"{DONE_FOLDER}/")]
    finished.sort(key=lambda task: (task.created, task.path))
    return "\n\n".join(_snippet(task) for task in finished)


def _snippet(task: Task) -> str:
    lines = (task.text.body.strip() or task.title).splitlines()
    more = ["..."] if len(lines) > SUMMARY_LINES else []
    name = file_name(task.path.rpartition("/")[2], TaskStatus.TODO, "")
    return "\n".join([f"- {name}:", *lines[:SUMMARY_LINES], *more])
