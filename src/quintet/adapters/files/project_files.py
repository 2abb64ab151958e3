"""The project's files, opened so that nothing outside the root can be reached.

`openat2` with RESOLVE_BENEATH lets the kernel hold the line, symlinks and races included; where the system call is
missing, each component is opened without following links. Writes go to a temporary file that replaces the old one; one
that a killed process left is removed by the next session. A protected file that is there is
written in place: a sandbox that runs has it covered, and the cover is on that very file.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from itertools import count

from quintet.adapters.files.real_path import real_path
from quintet.adapters.files.write_record import WriteRecord
from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.moved_folders import (
    FOREIGN,
    MOST_DEPTH,
    MOST_ENTRIES,
    FolderContents,
    MoveCheck,
    above_own,
    completes_repository,
    judged,
    stays_foreign,
)
from quintet.domain.permission.protected_paths import PROTECTION, Protection, inside, is_repository, is_write_protected
from quintet.domain.ports.files import FolderEntry, Looks

MOST_BYTES = 50_000_000
_OF_A_REPOSITORY = frozenset({"head", "objects", "refs", "commondir"})
TEMPORARY = ".quintet-"
_OPENAT2 = 437
_BENEATH_NO_MAGIC = 0x08 | 0x02  # RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS
_NO_LINKS = 0x04  # RESOLVE_NO_SYMLINKS


class OutsideProject(ToolFailed):
    """A path that names or leads to something outside the root."""


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("access", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_libc = ctypes.CDLL(None, use_errno=True)


class ProjectFiles:
    def __init__(
        self,
        root: str,
        protection: Protection = PROTECTION,
        looks: Looks | None = None,
        record: WriteRecord | None = None,
    ) -> None:
        self.root = root
        self.protection = protection
        self._looks = looks
        self._record = record
        self._numbers = count()
        self._swept: set[tuple[int, int]] = set()

    def relative(self, path: str) -> str:
        found = inside(path, self.root)
        if found is None:
            raise OutsideProject(f"{path}: outside the project")
        return found

    def read(self, path: str) -> bytes:
        with self._to_read(path) as handle:
            if self.protection.is_secret(os.readlink(f"/proc/self/fd/{handle}")):
                raise ToolFailed(f"{path}: protected: it may contain secrets")
            info = os.fstat(handle)
            if stat.S_ISDIR(info.st_mode):
                raise ToolFailed(f"{path}: a folder, not a file")
            if not stat.S_ISREG(info.st_mode):
                raise ToolFailed(f"{path}: not a regular file")
            if info.st_size > MOST_BYTES:
                raise ToolFailed(f"{path}: {info.st_size} bytes; the limit is {MOST_BYTES}")
            with open(handle, "rb", closefd=False) as file:
                return file.read(MOST_BYTES + 1)

    @contextlib.contextmanager
    def _to_read(self, path: str) -> Iterator[int]:
        """A file of the project; or one whose path says that it is outside, which the gate has then asked about."""
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        relative = inside(path, self.root)
        if relative is not None:
            with self._opened(relative, flags) as handle:
                yield handle
            return
        handle = os.open(os.path.join(self.root, path), flags)
        try:
            yield handle
        finally:
            os.close(handle)

    def leads_to(self, path: str) -> str:
        if path[:1] == "~":
            return path
        whole = os.path.normpath(os.path.join(self.root, path))
        try:
            found = real_path(os.path.join(self.root, path))
        except (OSError, ValueError):
            return "/"  # unknown, so it is not the project's
        return path if found == whole else found

    def is_there(self, path: str) -> bool:
        return os.path.lexists(os.path.join(self.root, os.path.expanduser(path)))

    def real(self, path: str) -> str:
        with self._opened(self.relative(path), os.O_PATH) as handle:
            self._refuse_secret(handle, path)
            return os.readlink(f"/proc/self/fd/{handle}")

    def _refuse_secret(self, handle: int, path: str) -> None:
        """A path is judged by its name before it is opened; here by what it turned out to be."""
        if self.protection.is_secret(os.readlink(f"/proc/self/fd/{handle}").removeprefix(f"{self.root}/")):
            raise ToolFailed(f"{path}: protected: it may contain secrets")

    def replace(self, path: str, data: bytes) -> None:
        self._first_look()
        folder, name = os.path.split(self._through_link(self.relative(path)))
        with self._folder(folder) as at:
            self._refuse_protected(at, name, path)
            if self.protection.asks(self.relative(path)) and _written_in_place(at, name, data):
                return
            access = self._access_of(name, at)
            self._sweep(at)
            if self._record:
                self._record.note(folder or ".")
            try:
                self._put(at, name, data, access)
            except OSError as error:  # of a file beside it, whose name says nothing to anybody
                raise _named(error, path, folder) from error

    def _put(self, at: int, name: str, data: bytes, access: int) -> None:
        """Write beside it and take its place, so that there is always a whole file."""
        temporary = f"{TEMPORARY}{os.getpid()}-{next(self._numbers)}"
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=at)
        try:
            with open(handle, "wb") as file:
                with contextlib.suppress(OSError):  # a file system may know no locks; then nothing is swept
                    fcntl.flock(file, fcntl.LOCK_EX)  # a lock that can be had means that the writer is gone
                file.write(data)
                file.flush()
                os.fchmod(file.fileno(), access)
                os.fsync(file.fileno())
                os.replace(temporary, name, src_dir_fd=at, dst_dir_fd=at)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=at)
            raise

    def _first_look(self) -> None:
        """What there is to protect is known before anything is written, by whatever call."""
        if self._looks:
            self._looks.before_writing()

    def _sweep(self, at: int) -> None:
        """The first time a folder is written to."""
        info = os.fstat(at)
        if (folder := (info.st_dev, info.st_ino)) in self._swept:
            return
        self._swept.add(folder)
        sweep(at)

    def sweep_left(self) -> None:
        """Remove the temporary files of processes that were killed, in the folders that they wrote to."""
        if self._record:
            self._record.sweep(self._swept_folder)

    def _swept_folder(self, folder: str) -> None:
        with contextlib.suppress(OSError, ToolFailed), self._opened(folder, os.O_RDONLY | os.O_DIRECTORY) as at:
            sweep(at)

    def entries(self, path: str) -> list[FolderEntry]:
        with self._opened(self.relative(path), os.O_RDONLY | os.O_DIRECTORY) as handle:
            self._refuse_secret(handle, path)
            return [
                _entry(name, os.stat(name, dir_fd=handle, follow_symlinks=False)) for name in sorted(os.listdir(handle))
            ]

    def info(self, path: str) -> FolderEntry:
        with self._opened(self.relative(path), os.O_PATH) as handle:
            return _entry(path, os.fstat(handle))

    def make_folder(self, path: str) -> bool:
        self._first_look()
        relative = self.relative(path)
        missing = not os.path.isdir(os.path.join(self.root, relative))
        with self._folder(relative if relative != "." else ""):
            return missing

    def delete(self, path: str) -> None:
        self._first_look()
        folder, name = os.path.split(self.relative(path))
        with self._opened(folder or ".", os.O_RDONLY | os.O_DIRECTORY) as at:
            self._refuse_protected(at, name, path)
            if refused := above_own(self._real(at, name), "", self.protection):
                raise ToolFailed(f"{path}: {refused}")
            if stat.S_ISDIR(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
                os.rmdir(name, dir_fd=at)
            else:
                os.unlink(name, dir_fd=at)

    def carried(self, source: str, destination: str) -> MoveCheck:
        folder, name = os.path.split(self.relative(source))
        above, new = os.path.split(self.relative(destination))
        to = self.relative(os.path.join(real_path(os.path.join(self.root, above)), new))
        with self._opened(folder or ".", os.O_RDONLY | os.O_DIRECTORY) as at:
            return self._carried(at, name, to)

    def _carried(self, at: int, name: str, destination: str) -> MoveCheck:
        """By where the paths really are."""
        source = self._real(at, name)
        if refused := above_own(source, destination, self.protection):
            return MoveCheck(refused)
        if not _is_folder(name, at) or stays_foreign(source, destination):
            return MoveCheck()
        return judged(_look_below(name, at), source, destination, self.protection)

    def _real(self, at: int, name: str) -> str:
        return self.relative(f"{os.readlink(f'/proc/self/fd/{at}')}/{name}")

    def move(self, source: str, destination: str) -> None:
        self._first_look()
        (folder, name), (above, new) = os.path.split(self.relative(source)), os.path.split(self.relative(destination))
        with self._opened(folder or ".", os.O_RDONLY | os.O_DIRECTORY) as at, self._folder(above) as to:
            self._refuse_protected(at, name, source)
            self._refuse_protected(to, new, destination)
            if exists_at(new, to):
                raise ToolFailed(f"{destination}: already exists")
            gone, came = self._real(at, name), self._real(to, new)
            carried = self._carried(at, name, came)
            if carried.refused:
                raise ToolFailed(f"{source}: {carried.refused}")
            os.rename(name, new, src_dir_fd=at, dst_dir_fd=to)
            if self._looks and _is_folder(new, to):
                self._looks.moved(gone, came, carried.asked)

    def _refuse_protected(self, at: int, name: str, path: str, *, making: bool = False) -> None:
        """By where a path led. What asks is asked about by the name that was given, so no other name leads there."""
        real = self._real(at, name)
        if self.protection.is_secret(real) and not self.protection.is_secret(self.relative(path)):
            raise ToolFailed(f"{path}: leads to {real}, which is protected: it may contain secrets")
        if is_write_protected(real) or self.protection.is_private(real):
            raise ToolFailed(f"{path}: protected: no call may write it")
        if not making and self.protection.asks(real) and not self.protection.asks(self.relative(path)):
            raise ToolFailed(f"{path}: leads to {real}, which needs approval: use that path")
        if repository := self._repository(os.path.dirname(real)):
            raise ToolFailed(f"{path}: protected: {repository} is a git repository, where only git writes")
        if name.lower() in _OF_A_REPOSITORY and completes_repository(os.listdir(at), name):
            raise ToolFailed(f"{path}: protected: git would treat its folder as a repository")

    def _repository(self, folder: str) -> str:
        """The folder at or above this one that git takes for a repository without a `.git`; empty if none."""
        while folder:
            whole = os.path.join(self.root, folder)
            if os.path.lexists(os.path.join(whole, "HEAD")) and is_repository(os.listdir(whole)):
                return folder
            folder = os.path.dirname(folder)
        return ""

    def _access_of(self, name: str, at: int) -> int:
        try:
            info = os.stat(name, dir_fd=at, follow_symlinks=False)
        except FileNotFoundError:
            mask = os.umask(0)
            os.umask(mask)
            return 0o666 & ~mask
        if not stat.S_ISREG(info.st_mode):
            raise ToolFailed(f"{name}: not a regular file")
        return stat.S_IMODE(info.st_mode)

    def _through_link(self, relative: str) -> str:
        """Writing to a symlink inside the project writes the file it leads to; the link stays."""
        whole = os.path.join(self.root, relative)
        if not os.path.islink(whole):
            return relative
        return self.relative(real_path(whole))

    @contextlib.contextmanager
    def _folder(self, folder: str) -> Iterator[int]:
        """A folder below the root, made if it is missing."""
        made = ""
        for part in folder.split("/") if folder else []:
            made = f"{made}/{part}" if made else part
            parent = os.path.dirname(made)
            with self._opened(parent or ".", os.O_RDONLY | os.O_DIRECTORY) as at:
                if not exists_at(part, at):
                    self._refuse_protected(at, part, made, making=True)
                    try:
                        os.mkdir(part, dir_fd=at)
                    except OSError as error:
                        raise _named(error, made, parent) from error
        with self._opened(folder or ".", os.O_RDONLY | os.O_DIRECTORY) as at:
            yield at

    @contextlib.contextmanager
    def _opened(self, relative: str, flags: int) -> Iterator[int]:
        base = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            handle = open_beneath(base, relative, flags | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in (errno.EXDEV, errno.ELOOP):
                raise OutsideProject(f"{relative}: leads outside the project") from error
            raise
        finally:
            os.close(base)
        try:
            yield handle
        finally:
            os.close(handle)


def _named(error: OSError, path: str, folder: str) -> Exception:
    """The error of a name in a folder, as it is told of the path that was asked for."""
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return ToolFailed(f"{path}: the folder {folder or '.'} cannot be written to ({error.strerror})")
    return OSError(error.errno, error.strerror, path)


def _written_in_place(at: int, name: str, data: bytes) -> bool:
    """Write a protected file without replacing it, which would take its cover off in every sandbox that runs.

    Not one that has another name too, which could lie anywhere.
    """
    try:
        handle = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
    except OSError:
        return False
    with open(handle, "wb") as file:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1:
            return False
        file.write(data)
        file.truncate()
        file.flush()
        os.fsync(handle)
    return True


def sweep(at: int) -> None:
    """Remove the temporary files of a folder whose writers are gone."""
    for name in os.listdir(at):
        if re.fullmatch(rf"{re.escape(TEMPORARY)}\d+-\d+", name):
            with contextlib.suppress(OSError):
                handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(name, dir_fd=at)
                finally:
                    os.close(handle)


def _entry(name: str, info: os.stat_result) -> FolderEntry:
    kinds = ((stat.S_ISDIR, "folder"), (stat.S_ISREG, "file"), (stat.S_ISLNK, "link"))
    kind = next((word for test, word in kinds if test(info.st_mode)), "other")
    changed = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(info.st_mtime))
    return FolderEntry(name, kind, info.st_size, stat.S_IMODE(info.st_mode), changed)


def exists_at(name: str, at: int) -> bool:
    """Whether there is anything of this name in a folder that is held open."""
    try:
        os.stat(name, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def open_beneath(base: int, relative: str, flags: int, *, links: bool = True) -> int:
    """A path below an open folder, whatever its parts become meanwhile; without `links` none of them may be one."""
    how = _How(flags, 0, _BENEATH_NO_MAGIC if links else _BENEATH_NO_MAGIC | _NO_LINKS)
    name = os.fsencode(relative)
    handle = int(_libc.syscall(_OPENAT2, base, name, ctypes.byref(how), ctypes.sizeof(how)))
    if handle >= 0:
        return handle
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EPERM):
        return _open_stepwise(base, relative, flags)
    raise OSError(number, os.strerror(number), relative)


def _open_stepwise(base: int, relative: str, flags: int) -> int:
    """The same for a kernel without openat2: no component may be a link."""
    at = os.dup(base)
    try:
        parts = relative.split("/")
        for part in parts[:-1]:
            step = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
            os.close(at)
            at = step
        return os.open(parts[-1], flags | os.O_NOFOLLOW, dir_fd=at)
    finally:
        os.close(at)


def _is_folder(name: str, at: int) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _look_below(name: str, at: int) -> FolderContents:
    """What there is below the folder `name` of the folder that `at` is open on."""
    look = _Look()
    look.into(name, at, "", 0)
    return FolderContents(tuple(look.folders), look.closed, look.more)


class _Look:
    """Goes below a folder by handles, follows no link, and ends at a bounded count."""

    def __init__(self) -> None:
        self.folders: list[tuple[str, tuple[str, ...]]] = []
        self.closed = ""
        self.more = False
        self._count = 0

    def into(self, name: str, at: int, path: str, depth: int) -> None:
        try:
            handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
        except FileNotFoundError:
            return
        except OSError:
            self.closed = path or "."
            return
        try:
            with os.scandir(handle) as entries:
                found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
            self.folders.append((path, tuple(name for name, _ in found)))
            self._count += len(found)
            for inner, folder in found:
                if self._count > MOST_ENTRIES or depth >= MOST_DEPTH:
                    self.more = True
                elif folder and inner not in FOREIGN and not self.closed:
                    self.into(inner, handle, f"{path}/{inner}" if path else inner, depth + 1)
        finally:
            os.close(handle)
