"""What a person is writing as the next task: `.quintet/task.md`, saved as they type and given back at the next start.

A task given as a file is only read: it is not copied here, and never written.
"""

from __future__ import annotations

from quintet.adapters.task_folder import TaskFolder
from quintet.domain.errors import UsageError
from quintet.domain.task_ports import DRAFT


class TaskInput:
    def __init__(self, folder: TaskFolder) -> None:
        self._folder = folder

    def save(self, text: str) -> None:
        self._folder.replace(DRAFT, text)

    def restore(self) -> str:
        """What was saved last; empty if there is nothing."""
        return self._folder.read(DRAFT) if self._folder.exists(DRAFT) else ""

    def clear(self) -> None:
        if self._folder.exists(DRAFT):
            self._folder.remove(DRAFT)


def read_input(path: str) -> str:
    """The text of a task given as a file."""
    try:
        with open(path, "rb") as file:
            text = file.read().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not text: byte {error.start} is not UTF-8") from None
    if not text.strip():
        raise UsageError(f"{path}: nothing to do: the file is empty")
    return text
