"""Port `TaskFiles`: the task files below `.quintet/todo` of a project, and where cancelled ones go.

Writes are atomic and take the space they need before anything is moved. The folder brings a .gitignore, so that tasks
stay out of the project's history. A todo folder that leads out of the project is refused.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from itertools import count

from quintet.adapters.clock import SystemClock
from quintet.adapters.private_files import private
from quintet.adapters.proc import process_start
from quintet.domain.errors import StoreError, StoreUnwritable
from quintet.domain.task_ports import FoundFile
from quintet.domain.tasks import FOLDERS

IGNORED = ("todo/", "task.md")
MOST_BYTES = 1_000_000
TEMPORARY = ".staged-"


class TaskFolder:
    def __init__(self, project: str, runs: str) -> None:
        self._project = project
        self._own = os.path.join(project, ".quintet")
        self._todo = os.path.join(self._own, "todo")
        self._runs = runs
        self._numbers = count()
        self._tidied: set[str] = set()

    # ── looking

    def found(self) -> list[FoundFile]:
        self._refuse_outside()
        found: list[FoundFile] = []
        for folder in FOLDERS:
            above = f"{folder}/" if folder else ""
            missing = contextlib.suppress(FileNotFoundError, NotADirectoryError)
            with missing, os.scandir(self._todo + "/" + folder) as entries:
                found += [
                    FoundFile(above + entry.name, _stamp(entry.stat(follow_symlinks=False)))
                    for entry in entries
                    if entry.name.endswith(".md") and entry.name[0] != "." and entry.is_file(follow_symlinks=False)
                ]
        return found

    def read(self, path: str) -> str:
        self._refuse_outside()
        try:
            handle = os.open(self._whole(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(handle, "rb") as file:
                info = os.fstat(handle)
                if not stat.S_ISREG(info.st_mode) or info.st_size > MOST_BYTES:
                    raise StoreError(f"{path}: not a file of at most {MOST_BYTES} bytes")
                return file.read(MOST_BYTES).decode("utf-8-sig")
        except OSError as error:
            raise StoreError(f"{path}: cannot be read ({error.strerror})") from error
        except UnicodeDecodeError as error:
            raise StoreError(f"{path}: byte {error.start} is not UTF-8") from error

    def exists(self, path: str) -> bool:
        return os.path.lexists(self._whole(path))

    # ── writing

    def replace(self, path: str, text: str) -> str:
        whole = self._whole(path)
        with self._writing(path):
            self._make(os.path.dirname(whole))
            temporary = self._written(os.path.dirname(whole), text.encode())
            os.replace(temporary, whole)
            return _stamp(os.stat(whole))

    def stage(self, path: str, text: str) -> Step:
        whole = self._free(self._whole(path))
        with self._writing(path):
            self._make(os.path.dirname(whole))
            temporary = self._written(os.path.dirname(whole), text.encode())
            return Step(self._relative(whole), _stamp(os.stat(temporary)), temporary, whole, "")

    def stage_move(self, source: str, status_folder: str | None, run: str) -> Step:
        whole = self._whole(source)
        above = os.path.join(self._runs, run) if status_folder is None else os.path.join(self._todo, status_folder)
        target = os.path.join(above, os.path.basename(whole))
        with self._writing(source):
            if target == whole:
                return Step(source, _stamp(os.stat(whole)), "", "", "")
            self._make(above)
            target = self._free(target)
            stamp = _stamp(os.stat(whole))
            if status_folder is not None:
                return Step(self._relative(target), stamp, whole, target, "")
            with open(whole, "rb") as file:  # a run's folder may lie on another disk: what it needs is taken first
                temporary = self._written(above, file.read())
            return Step(target, stamp, temporary, target, whole)

    def remove(self, path: str) -> None:
        with self._writing(path):
            os.unlink(self._whole(path))

    def _written(self, folder: str, data: bytes) -> str:
        temporary = os.path.join(folder, f"{TEMPORARY}{os.getpid()}-{next(self._numbers)}")
        try:
            with open(temporary, "xb", opener=private) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
        return temporary

    def _make(self, folder: str) -> None:
        self._refuse_outside()
        if folder in self._tidied:
            return
        os.makedirs(folder, exist_ok=True)
        if folder.startswith(self._own):
            self._ignore()
        for name in os.listdir(folder):  # what a killed process had written and not yet put in its place
            pid = name.removeprefix(TEMPORARY).partition("-")[0]
            if name.startswith(TEMPORARY) and pid.isdigit() and not process_start(int(pid)):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(folder, name))
        self._tidied.add(folder)

    def _ignore(self) -> None:
        path = os.path.join(self._own, ".gitignore")
        with open(path, "a+", encoding="utf-8") as file:
            file.seek(0)
            there = file.read()
            missing = [line for line in IGNORED if line not in there.splitlines()]
            if missing:
                file.write(("\n" if there and not there.endswith("\n") else "") + "".join(f"{m}\n" for m in missing))

    def _free(self, path: str) -> str:
        """The path, or if it is taken the same with the time as a suffix."""
        if not os.path.lexists(path):
            return path
        stem = path.removesuffix(".md")
        when = "".join(sign for sign in SystemClock().now()[:19] if sign.isdigit())
        path = f"{stem}_{when[:8]}_{when[8:]}.md"
        more = count(2)
        while os.path.lexists(path):
            path = f"{stem}_{when[:8]}_{when[8:]}-{next(more)}.md"
        return path

    def _whole(self, path: str) -> str:
        return os.path.normpath(os.path.join(self._todo, path))

    def _relative(self, whole: str) -> str:
        return whole.removeprefix(self._todo + "/")

    def _refuse_outside(self) -> None:
        if os.path.realpath(self._todo) != self._todo:
            raise StoreError(
                f"{self._todo}: leads elsewhere ({os.path.realpath(self._todo)}); task files are not kept so"
            )

    @contextlib.contextmanager
    def _writing(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise unwritable(self._whole(path), error) from error


class Step:
    """A file written, or a move made ready, and not yet in its place."""

    def __init__(self, path: str, stamp: str, source: str, target: str, leftover: str) -> None:
        self.path = path
        self.stamp = stamp
        self._source = source  # empty: it lies there already
        self._target = target
        self._leftover = leftover  # what the source is a copy of

    def commit(self) -> None:
        if not self._source:
            return
        try:
            os.rename(self._source, self._target)
            if self._leftover:
                os.unlink(self._leftover)
        except OSError as error:
            raise unwritable(self._target, error) from error

    def abandon(self) -> None:
        if os.path.basename(self._source).startswith(TEMPORARY):
            with contextlib.suppress(OSError):
                os.unlink(self._source)


def unwritable(path: str, error: OSError) -> StoreUnwritable:
    return StoreUnwritable(
        f"{path}: cannot be written ({error.strerror})",
        hint="Free some space or make the folder writable; `quintet doctor` then says what is left to mend.",
    )


def _stamp(info: os.stat_result) -> str:
    return f"{info.st_mtime_ns}-{info.st_size}-{info.st_ino}"
