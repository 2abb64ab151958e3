"""Pages that are no tasks yet: what a person is writing, what planners left, and a task given as a file.

A task given as a file is only read: it is not copied, and never written.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Sequence
from hashlib import sha256
from shutil import rmtree

from quintet.adapters.files.paths import Places
from quintet.adapters.files.private_files import listed, private, private_folder
from quintet.adapters.files.real_path import real_path
from quintet.adapters.tasks.task_folder import MOST_BYTES, TaskFolder, unwritable
from quintet.domain.base.errors import StoreError, StoreUnwritable, UsageError
from quintet.domain.ports.tasks import DRAFT

MOST_PAGES = 1_000  # of a plan


class TaskInput:
    """What a person is writing as the next task: `.quintet/task.md`, saved as they type, given back at the next start.

    Only what was saved from here is given back: a draft that came with the folder, or that somebody else wrote, would
    put words into the person's mouth. It is the person's alone to read, and known secrets are starred out of it.
    """

    def __init__(self, folder: TaskFolder, mark: str, redacted: Callable[[str], str] = str) -> None:
        """`mark` is a file outside the project that says which draft was saved from here."""
        self._folder = folder
        self._mark = mark
        self._redacted = redacted

    def save(self, text: str) -> None:
        text = self._redacted(text)
        self._remember(text)
        self._folder.replace(DRAFT, text)

    def restore(self) -> str:
        """What was saved last; empty if there is nothing."""
        if not self._folder.exists(DRAFT):
            return ""
        text = self._folder.read(DRAFT)
        if text and _digest(text) not in self._remembered():
            raise StoreError(
                ".quintet/task.md was not saved from this prompt, so it is not put into the prompt; read it "
                "with `cat .quintet/task.md`, delete it to use drafts again"
            )
        return text

    def clear(self) -> None:
        if self._folder.exists(DRAFT):
            self._folder.remove(DRAFT)
        with contextlib.suppress(OSError):
            os.unlink(self._mark)

    def _remember(self, text: str) -> None:
        """The draft that is about to be written, and the one before: a kill may come in between."""
        digests = [_digest(text), *self._remembered()[:1]]
        temporary = f"{self._mark}.{os.getpid()}"
        try:
            private_folder(os.path.dirname(self._mark))
            with open(temporary, "w", opener=private) as file:
                file.write("\n".join(digests))
            os.replace(temporary, self._mark)
        except OSError as error:
            raise StoreUnwritable(f"{self._mark}: cannot be written ({error.strerror})") from error

    def _remembered(self) -> list[str]:
        try:
            with open(self._mark, encoding="ascii", errors="replace") as file:
                return file.read(1000).split()
        except OSError:
            return []


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_input(path: str) -> str:
    """The text of a task given as a file; a shell's own pipe (`<(…)`, /dev/stdin) counts, one in a folder not."""
    try:
        if os.path.exists(real := real_path(path)) and stat.S_ISFIFO(os.stat(real).st_mode):
            raise UsageError(f"{path}: a pipe, not a file")
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise UsageError(f"{path}: more than {MOST_BYTES:,} bytes; this is not a task")
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not text: byte {error.start} is not UTF-8") from None
    if not text.strip():
        raise UsageError(f"{path}: nothing to do: the file is empty")
    return text


class PlanFolder:
    """Port `Plans`: a folder a run in the state folder, 0700, where planners leave their pages."""

    def __init__(self, places: Places) -> None:
        self._plans = places.plans
        self._runs = places.runs

    def folder(self, run: str) -> str:
        path = os.path.join(self._plans, run)
        try:
            private_folder(path)
        except OSError as error:
            raise unwritable(path, error) from error
        return path

    def pages(self, run: str) -> list[tuple[str, str]]:
        folder = os.path.join(self._plans, run)
        names = sorted(name for name in listed(folder) if name.endswith(".md") and name[0] != ".")
        if len(names) > MOST_PAGES:
            raise UsageError(f"{folder}: {len(names)} pages; a plan has at most {MOST_PAGES}")
        return [(name, _read(os.path.join(folder, name))) for name in names]

    def keep(self, run: str, pages: Sequence[tuple[str, str]]) -> None:
        fresh = f"{run}.kept"  # beside the planner's folder: what it left there goes when all of this is written
        self.clear(fresh)
        folder = self.folder(fresh)
        for name, text in pages:
            path = os.path.join(folder, name)
            try:
                with open(path, "x", encoding="utf-8", opener=private) as file:
                    file.write(text)
            except OSError as error:
                raise unwritable(path, error) from error
        self.clear(run)
        try:
            os.rename(folder, os.path.join(self._plans, run))
        except OSError as error:
            raise unwritable(folder, error) from error

    def clear(self, run: str) -> None:
        folder = os.path.join(self._plans, run)
        for name in listed(folder):
            path = os.path.join(folder, name)
            try:
                if os.path.isdir(path) and not os.path.islink(path):
                    rmtree(path)
                else:
                    os.unlink(path)
            except OSError as error:
                raise unwritable(path, error) from error

    def output(self, run: str, call: str) -> str:
        folder = os.path.join(self._runs, run)
        try:
            private_folder(folder)
        except OSError as error:
            raise unwritable(folder, error) from error
        return os.path.join(folder, f"{call}.out")


def _read(path: str) -> str:
    """A page as a planner left it; what is no plain file of a sensible size is refused."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{os.path.basename(path)}: cannot be read ({error.strerror})") from None
    if len(data) > MOST_BYTES:
        raise UsageError(f"{os.path.basename(path)}: longer than {MOST_BYTES} bytes")
    return data.decode("utf-8-sig", "replace")
