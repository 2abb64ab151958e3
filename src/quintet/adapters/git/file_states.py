"""Single files of the project: their states, their contents as git's loose objects, and putting them back.

No path is followed through a link: what a link hides is not there. Each file is put back as a whole, by a rename.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from itertools import count

from quintet.adapters.files.project_files import TEMPORARY, sweep
from quintet.domain.journal.file_changes import FOLDER, names_folder

LARGEST_READ = 500_000_000
_numbers = count(1_000_000)  # apart from those of the file tools, whose temporary names these are like


def state_of(root: str, path: str, name: Callable[[bytes], str]) -> str:
    """The state of a path; `name` names a content, and may keep it. One that cannot be read is named by its time."""
    try:
        with _parent(root, path) as (at, last):
            info = os.stat(last, dir_fd=at, follow_symlinks=False)
            if stat.S_ISLNK(info.st_mode):
                return f"120000 {name(os.fsencode(os.readlink(last, dir_fd=at)))}"
            if stat.S_ISDIR(info.st_mode):
                return FOLDER
            if not stat.S_ISREG(info.st_mode):
                return f"{info.st_mode:o}"
            if info.st_size > LARGEST_READ:
                return f"{info.st_mode:o} large:{info.st_size}:{info.st_mtime_ns}"
            try:
                handle = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
            except PermissionError:
                return f"{info.st_mode:o} unreadable:{info.st_size}:{info.st_mtime_ns}"
            with open(handle, "rb") as file:
                return f"{info.st_mode:o} {name(file.read())}"
    except (FileNotFoundError, NotADirectoryError):
        return ""


def missing_folders(root: str, path: str) -> list[str]:
    """The folders above a path that are not there, the outermost first."""
    return [folder for folder in folders_above(path) if state_of(root, folder, lambda _: "") != FOLDER]


def folders_above(path: str) -> list[str]:
    """The folders that a path lies in, the outermost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: depth + 1]) for depth in range(len(parts))]


def take_away(root: str, path: str) -> None:
    """Remove a file, or a folder that is empty."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), _parent(root, path) as (at, last):
        if stat.S_ISDIR(os.stat(last, dir_fd=at, follow_symlinks=False).st_mode):
            with contextlib.suppress(OSError):  # it holds what is not ours
                os.rmdir(last, dir_fd=at)
        else:
            os.unlink(last, dir_fd=at)


def put_back(root: str, path: str, target: str, now: str, data: bytes, *, exactly: bool = False) -> None:
    """Make a path what it was: a file with this content, a link that says it, or a folder.

    With `exactly` the access bits of the target are its own, and not what git made of them.
    """
    bits = int(target.partition(" ")[0], 8)
    with _parent(root, path, make=True) as (at, last):
        if names_folder(target):
            with contextlib.suppress(FileNotFoundError):
                if not stat.S_ISDIR(os.stat(last, dir_fd=at, follow_symlinks=False).st_mode):
                    os.unlink(last, dir_fd=at)
            with contextlib.suppress(FileExistsError):
                os.mkdir(last, dir_fd=at)
            return
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISDIR(os.stat(last, dir_fd=at, follow_symlinks=False).st_mode):
                os.rmdir(last, dir_fd=at)
        sweep(at)
        temporary = f"{TEMPORARY}{os.getpid()}-{next(_numbers)}"
        if stat.S_ISLNK(bits):
            os.symlink(os.fsdecode(data), temporary, dir_fd=at)
            os.replace(temporary, last, src_dir_fd=at, dst_dir_fd=at)
            return
        handle = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=at
        )
        with open(handle, "wb") as file:
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), stat.S_IMODE(bits) if exactly else _access(bits, now))
            os.fsync(file.fileno())
            os.replace(temporary, last, src_dir_fd=at, dst_dir_fd=at)


def _access(bits: int, now: str) -> int:
    """The access bits: as they were kept; where only git's were, those of the file there is, run or not as it was."""
    kept = stat.S_IMODE(bits)
    if kept not in (0o644, 0o755):
        return kept
    if now.startswith("100"):
        usual = stat.S_IMODE(int(now.partition(" ")[0], 8)) & ~0o111
        return usual | (usual >> 2 & 0o111) if kept & 0o100 else usual
    return usual_access(bool(kept & 0o100), umask())


def usual_access(run: bool, mask: int) -> int:
    """The access bits of a new file."""
    usual = 0o666 & ~mask
    return usual | (usual >> 2 & 0o111) if run else usual


def umask() -> int:
    """The access bits that new files and folders go without; to set it in order to read it is felt in every thread."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            return next(int(line.split()[1], 8) for line in file if line.startswith("Umask:"))
    except (OSError, StopIteration):
        mask = os.umask(0o077)
        os.umask(mask)
        return mask


def give_access(root: str, path: str, target: str) -> None:
    """Give a folder that is there again the access bits of its state."""
    with _parent(root, path) as (at, last):
        handle = os.open(last, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
        try:
            os.fchmod(handle, stat.S_IMODE(int(target, 8)))
        finally:
            os.close(handle)


@contextlib.contextmanager
def _parent(root: str, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The folder that a path is in, opened without following any link, and the path's last part."""
    *folders, last = path.split("/")
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(folder, dir_fd=at)
            try:
                step = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
            except OSError as error:
                if isinstance(error, FileNotFoundError):
                    raise
                raise NotADirectoryError(error.errno, error.strerror, folder) from error
            os.close(at)
            at = step
        yield at, last
    finally:
        os.close(at)


class LooseObjects:
    """Contents under the names git gives them, written and read without git.

    Enough to keep what a tool is about to overwrite at the price of one small file, and where there is no git at all.
    """

    def __init__(self, folder: str, algorithm: str = "sha1") -> None:
        self._folder = folder
        self._algorithm = algorithm

    def name(self, data: bytes) -> str:
        made = hashlib.new(self._algorithm, usedforsecurity=False)
        made.update(b"blob %d\0" % len(data))
        made.update(data)
        return made.hexdigest()

    def keep(self, data: bytes) -> str:
        """The name of the content, which is on disk when this returns."""
        name = self.name(data)
        path = self._path(name)
        with contextlib.suppress(FileNotFoundError):
            os.utime(path)  # maintenance leaves recent files alone
            return name
        os.makedirs(os.path.dirname(path), exist_ok=True)
        temporary = f"{path}.{os.getpid()}.{id(data)}"
        with open(temporary, "wb") as file:
            file.write(zlib.compress(b"blob %d\0" % len(data) + data, 1))
        os.chmod(temporary, 0o444)
        os.replace(temporary, path)
        return name

    def read(self, name: str) -> bytes | None:
        """The content; None if it is not loose."""
        try:
            with open(self._path(name), "rb") as file:
                return zlib.decompress(file.read()).partition(b"\0")[2]
        except (FileNotFoundError, zlib.error):
            return None

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name[:2], name[2:])
