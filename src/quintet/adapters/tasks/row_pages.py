"""Port `TaskFiles` where the pages of tasks lie on another machine: what their rows say is what there is.

A page that is written here goes into its row with the next move; no file is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quintet.adapters.files.paths import Places, key_of
from quintet.adapters.tasks.task_folder import TaskFolder
from quintet.domain.base.errors import StoreError
from quintet.domain.ports.tasks import FoundFile, TaskFiles
from quintet.domain.tasks.page import write_page
from quintet.domain.tasks.task import Task, TaskStatus


def task_files(places: Places, rows: Callable[[], Sequence[Task]]) -> TaskFiles:
    """The pages of a project's tasks: files, or what their rows say."""
    return RowPages(rows) if places.pages_elsewhere else TaskFolder(places.tasks_root, places.runs)


class RowPages:
    def __init__(self, rows: Callable[[], Sequence[Task]]) -> None:
        self._rows = rows
        self._written: dict[str, str] = {}  # since then, by their places

    def found(self) -> list[FoundFile]:
        here = (task for task in self._rows() if task.status is not TaskStatus.CANCELLED)
        return [FoundFile(task.path, task.stamp) for task in here if not task.path.startswith("/")]

    def read(self, path: str) -> str:
        if path in self._written:
            return self._written[path]
        task = self._at(path)
        if task is None:
            raise StoreError(f"{path}: no task has this page")
        return write_page(task.text)

    def exists(self, path: str) -> bool:
        return path in self._written or self._at(path) is not None

    def replace(self, path: str, text: str) -> str:
        self._written[path] = text
        return _stamp(text)

    def stage(self, path: str, text: str) -> RowStep:
        raise StoreError(
            f"{path}: tasks cannot be added here", hint="Add them where their pages lie: in a clone of your own."
        )

    def stage_move(self, source: str, status_folder: str | None, run: str, name: str = "") -> RowStep:
        name = name or source.rpartition("/")[2]
        folder = f"/{run}" if status_folder is None else status_folder
        task, text = self._at(source), self._written.pop(source, None)
        path = f"{folder}/{name}" if folder else name
        if text is not None:
            self._written[source] = self._written[path] = text
        return RowStep(path, _stamp(text) if text is not None else task.stamp if task else "")

    def remove(self, path: str) -> None:
        self._written.pop(path, None)

    def _at(self, path: str) -> Task | None:
        return next((task for task in self._rows() if task.path == path), None)


class RowStep:
    """Port `Staged`: the row is all that is moved."""

    def __init__(self, path: str, stamp: str) -> None:
        self.path = path
        self.stamp = stamp

    def commit(self) -> None:
        """There is no file to move."""

    def abandon(self) -> None:
        """There is no file to take away."""


def _stamp(text: str) -> str:
    return f"row-{key_of(text)}"
