"""Port `TaskFiles`: the task files below `.quintet/todo` of a project, and where cancelled ones go.

Writes are atomic and take the space they need before anything is moved. The folder brings a .gitignore, so that tasks
stay out of the project's history. Every folder is held by a handle while it is used and no link is followed on the way
to it, whoever put it there and when: a todo folder that leads elsewhere is refused.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from itertools import count

from quintet.adapters.files.private_files import private
from quintet.adapters.files.real_path import real_path
from quintet.adapters.processes.system import SystemClock, process_start
from quintet.domain.base.errors import StoreError, StoreUnwritable
from quintet.domain.ports.tasks import DRAFT, FoundFile
from quintet.domain.tasks.task import FOLDERS, done_at, has_time

OWN_FOLDER = ".quintet"
IGNORED = ("todo/", "task.md")
ITSELF = ".gitignore"  # of the file with these rules: who did not write it does not want to see it
MOST_BYTES = 1_000_000
TEMPORARY = ".staged-"


def ignores_only_its_own(path: str) -> bool:
    """Whether the folder's .gitignore has only the rules that are written here."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, encoding="utf-8", errors="surrogateescape") as file:
        return _only_ours(file.read(MOST_BYTES))


def _only_ours(rules: str) -> bool:
    return set(rules.splitlines()) <= {*IGNORED, ITSELF}


class TaskFolder:
    def __init__(self, project: str, runs: str) -> None:
        self._project = project
        self._own = os.path.join(project, OWN_FOLDER)
        self._todo = os.path.join(self._own, "todo")
        self._runs = runs
        self._numbers = count()
        self._tidied: set[str] = set()

    # ── looking

    def found(self) -> list[FoundFile]:
        found: list[FoundFile] = []
        for folder in FOLDERS:
            above = f"{folder}/" if folder else ""
            missing = contextlib.suppress(FileNotFoundError, FileExistsError)
            with missing, self.held(os.path.join(self._todo, folder)) as at, os.scandir(at) as entries:
                found += [
                    FoundFile(above + entry.name, _stamp(entry.stat(follow_symlinks=False)))
                    for entry in entries
                    if entry.name.endswith(".md") and entry.name[0] != "." and entry.is_file(follow_symlinks=False)
                ]
        return found

    def read(self, path: str) -> str:
        folder, name = os.path.split(self._whole(path))
        try:
            with self.held(folder) as at:
                handle = os.open(f"{at}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(handle, "rb") as file:
                info = os.fstat(handle)
                if not stat.S_ISREG(info.st_mode) or info.st_size > MOST_BYTES:
                    raise StoreError(f"{path}: not a regular file, or larger than {MOST_BYTES} bytes")
                return file.read(MOST_BYTES).decode("utf-8-sig")
        except OSError as error:
            raise StoreError(f"{path}: cannot be read ({error.strerror})") from error
        except UnicodeDecodeError as error:
            raise StoreError(f"{path}: byte {error.start} is not UTF-8") from error

    def exists(self, path: str) -> bool:
        try:
            return os.path.lexists(self._whole(path))
        except StoreError:
            return False

    # ── writing

    def replace(self, path: str, text: str) -> str:
        folder, name = os.path.split(self._whole(path))
        with self._writing(path), self._made(folder) as at:
            temporary = self._written(at, text.encode())
            os.replace(f"{at}/{temporary}", f"{at}/{name}")
            return _stamp(os.stat(f"{at}/{name}", follow_symlinks=False))

    def stage(self, path: str, text: str) -> FileStep:
        whole = self._free(self._whole(path))
        folder = os.path.dirname(whole)
        with self._writing(path), self._made(folder) as at:
            temporary = self._written(at, text.encode())
            stamp = _stamp(os.stat(f"{at}/{temporary}"))
            return FileStep(self, self._relative(whole), stamp, os.path.join(folder, temporary), whole, "")

    def stage_move(self, source: str, status_folder: str | None, run: str, name: str = "") -> FileStep:
        whole = self._whole(source)
        above = os.path.join(self._runs, run) if status_folder is None else os.path.join(self._todo, status_folder)
        target = os.path.join(above, name or os.path.basename(whole))
        with self._writing(source), self.held(os.path.dirname(whole)) as at:
            here = f"{at}/{os.path.basename(whole)}"
            stamp = _stamp(os.stat(here, follow_symlinks=False))
            if target == whole:
                return FileStep(self, source, stamp, "", "", "")
            with self._made(above) as there:
                target = self._free(target)
                if status_folder is not None:
                    return FileStep(self, self._relative(target), stamp, whole, target, "")
                # A run's folder may lie on another disk: what it needs is taken first.
                with open(os.open(here, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
                    temporary = self._written(there, file.read())
            return FileStep(self, target, stamp, os.path.join(above, temporary), target, whole)

    def remove(self, path: str) -> None:
        folder, name = os.path.split(self._whole(path))
        with self._writing(path), self.held(folder) as at:
            os.unlink(f"{at}/{name}")

    def _written(self, at: str, data: bytes) -> str:
        """The name of a new file in a held folder."""
        name = f"{TEMPORARY}{os.getpid()}-{next(self._numbers)}"
        try:
            with open(f"{at}/{name}", "xb", opener=private) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{at}/{name}")
            raise
        return name

    @contextlib.contextmanager
    def held(self, folder: str, *, make: bool = False) -> Iterator[str]:
        """A path to the folder by a handle: below the project no link is followed, and it cannot be led elsewhere."""
        base = self._project if f"{folder}/".startswith(f"{self._own}/") else folder
        if make and base == folder:
            os.makedirs(folder, exist_ok=True)
        at = os.open(base, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in os.path.relpath(folder, base).split("/") if base != folder else ():
                at = self._step(at, part, folder, make)
            yield f"/proc/self/fd/{at}"
        finally:
            os.close(at)

    def _step(self, at: int, part: str, folder: str, make: bool) -> int:
        if make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=at)
        try:
            step = os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=at)
        except NotADirectoryError:
            if stat.S_ISLNK(os.stat(part, dir_fd=at, follow_symlinks=False).st_mode):
                elsewhere = real_path(folder)
                raise StoreError(
                    f"{folder}: leads elsewhere ({elsewhere}); task files cannot be stored there"
                ) from None
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), folder) from None
        os.close(at)
        return step

    @contextlib.contextmanager
    def _made(self, folder: str) -> Iterator[str]:
        with self.held(folder, make=True) as at:
            if folder not in self._tidied:
                if folder.startswith(self._own):
                    self._ignore()
                _tidy(at)
                self._tidied.add(folder)
            yield at

    def _ignore(self) -> None:
        with self.held(self._own) as at:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = os.open(f"{at}/.gitignore", flags, 0o666)  # no program: the umask takes off what it will
        with open(handle, "a+", encoding="utf-8", errors="surrogateescape") as file:
            file.seek(0)
            there = file.read()
            wanted = (*IGNORED, ITSELF) if _only_ours(there) else IGNORED
            missing = [line for line in wanted if line not in there.splitlines()]
            if missing:
                file.write(("\n" if there and not there.endswith("\n") else "") + "".join(f"{m}\n" for m in missing))

    def _free(self, path: str) -> str:
        """The path, or if it is taken the same with the time as a suffix."""
        if not os.path.lexists(path):
            return path
        stem = path.removesuffix(".md")
        if not has_time(path):
            stem += done_at(SystemClock().now())
        path, more = f"{stem}.md", count(2)
        while os.path.lexists(path):
            path = f"{stem}-{next(more)}.md"
        return path

    def _whole(self, path: str) -> str:
        """Where a page lies; what a row says of it leads nowhere else, whoever wrote the row."""
        whole = os.path.normpath(os.path.join(self._todo, path))
        draft = os.path.normpath(os.path.join(self._todo, DRAFT))
        if whole != draft and not whole.startswith((f"{self._todo}/", f"{self._runs}/")):
            raise StoreError(f"{path}: not a place of task pages", hint="`quintet doctor` shows what is wrong.")
        return whole

    def _relative(self, whole: str) -> str:
        return whole.removeprefix(self._todo + "/")

    @contextlib.contextmanager
    def _writing(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise unwritable(self._whole(path), error) from error


class FileStep:
    """A file written, or a move made ready, and not yet in its place."""

    def __init__(self, folder: TaskFolder, path: str, stamp: str, source: str, target: str, leftover: str) -> None:
        self._folder = folder
        self.path = path
        self.stamp = stamp
        self._source = source  # empty: it lies there already
        self._target = target
        self._leftover = leftover  # what the source is a copy of

    def commit(self) -> None:
        if not self._source:
            return
        source, target, leftover = map(os.path.split, (self._source, self._target, self._leftover))
        try:
            with self._folder.held(source[0]) as before, self._folder.held(target[0]) as after:
                os.rename(f"{before}/{source[1]}", f"{after}/{target[1]}")
            if self._leftover:
                with self._folder.held(leftover[0]) as before:
                    os.unlink(f"{before}/{leftover[1]}")
        except OSError as error:
            raise unwritable(self._target, error) from error

    def abandon(self) -> None:
        folder, name = os.path.split(self._source)
        if name.startswith(TEMPORARY):
            with contextlib.suppress(OSError, StoreError), self._folder.held(folder) as at:
                os.unlink(f"{at}/{name}")


def _tidy(at: str) -> None:
    """Remove what a killed process had written and not yet put in its place."""
    for name in os.listdir(at):
        pid = name.removeprefix(TEMPORARY).partition("-")[0]
        if name.startswith(TEMPORARY) and pid.isdigit() and not process_start(int(pid)):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{at}/{name}")


def unwritable(path: str, error: OSError) -> StoreUnwritable:
    return StoreUnwritable(
        f"{path}: cannot be written ({error.strerror})",
        hint="Free some space or make the folder writable; then `quintet doctor` shows what is left to fix.",
    )


def _stamp(info: os.stat_result) -> str:
    return f"{info.st_mtime_ns}-{info.st_size}-{info.st_ino}"
