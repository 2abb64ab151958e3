"""An SQLite VFS that remembers: every write, truncate, sync and delete, in one order with what the program did.

`image(k)` is the disk after a power cut behind the first k entries: of each file the content as of its last sync, of
the folder the names as of its last sync. Given `dice`, some of the unsynced writes made it to the disk, as on a real
one. The folder is synced by a delete that says so, and by the first sync of a new journal or WAL file, which is when
SQLite's own VFS does it; the first sync of a new database makes at least its own name last.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import apsw

SECTOR = 512  # bytes a disk writes as one
_WITH_FOLDER = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL


@dataclass(frozen=True)
class Opened:
    file: str
    syncs_folder: bool  # its first sync also syncs the folder


@dataclass(frozen=True)
class Wrote:
    file: str
    offset: int
    data: bytes


@dataclass(frozen=True)
class Truncated:
    file: str
    size: int


@dataclass(frozen=True)
class Synced:
    file: str


@dataclass(frozen=True)
class Deleted:
    file: str
    syncs_folder: bool


@dataclass(frozen=True)
class Mark:
    """Something the program did, between the disk's entries."""

    what: Any


Entry = Opened | Wrote | Truncated | Synced | Deleted | Mark


class DiskLog:
    """One ordered list of what happened, filled from any thread."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._lock = threading.Lock()

    def add(self, entry: Entry) -> None:
        with self._lock:
            self.entries.append(entry)

    def mark(self, what: Any) -> None:
        self.add(Mark(what))

    def image(self, cut: int, dice: random.Random | None = None) -> dict[str, bytes]:
        """The files on the disk after a power cut behind the first `cut` entries."""
        disk = _Disk()
        for entry in self.entries[:cut]:
            disk.take(entry)
        return disk.after_power_cut(dice)


class _File:
    def __init__(self, syncs_folder: bool) -> None:
        self.syncs_folder = syncs_folder
        self.synced = b""
        self.since: list[Wrote | Truncated] = []

    def sync(self) -> None:
        self.synced = _changed(self.synced, self.since)
        self.since = []


class _Disk:
    def __init__(self) -> None:
        self._names: dict[str, _File] = {}
        self._lasting: dict[str, _File] = {}

    def take(self, entry: Entry) -> None:
        match entry:
            case Opened(name, syncs_folder):
                self._names.setdefault(name, _File(syncs_folder))
            case Wrote(name) | Truncated(name):
                self._names[name].since.append(entry)
            case Synced(name):
                file = self._names[name]
                file.sync()
                if file.syncs_folder:
                    file.syncs_folder = False
                    self._lasting = dict(self._names)
                else:
                    self._lasting[name] = file
            case Deleted(name, syncs_folder):
                self._names.pop(name, None)
                if syncs_folder:
                    self._lasting = dict(self._names)
            case Mark():
                pass

    def after_power_cut(self, dice: random.Random | None) -> dict[str, bytes]:
        if dice is None:
            return {name: file.synced for name, file in self._lasting.items()}
        return {name: _changed(file.synced, _survivors(file.since, dice)) for name, file in self._lasting.items()}


def _survivors(changes: list[Wrote | Truncated], dice: random.Random) -> list[Wrote | Truncated]:
    """Some of the changes, by chance; writes are torn at sector bounds."""
    kept: list[Wrote | Truncated] = []
    for change in changes:
        if isinstance(change, Truncated):
            kept += [change] if dice.random() < 0.5 else []
            continue
        at, end = change.offset, change.offset + len(change.data)
        while at < end:
            upto = min(end, (at // SECTOR + 1) * SECTOR)
            if dice.random() < 0.5:
                kept.append(Wrote(change.file, at, change.data[at - change.offset : upto - change.offset]))
            at = upto
    return kept


def _changed(content: bytes, changes: list[Wrote | Truncated]) -> bytes:
    if not changes:
        return content
    data = bytearray(content)
    for change in changes:
        if isinstance(change, Truncated):
            del data[change.size :]
            data.extend(bytes(change.size - len(data)))
        else:
            end = change.offset + len(change.data)
            data.extend(bytes(max(0, end - len(data))))
            data[change.offset : end] = change.data
    return bytes(data)


class CutVfs(apsw.VFS):
    """The default VFS, passing everything on and writing it down. `before_write` may raise, as a full disk does."""

    def __init__(self, name: str, log: DiskLog, before_write: Callable[[str], None] = lambda file: None) -> None:
        self.name = name
        self.log = log
        self.before_write = before_write
        super().__init__(name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _CutFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self.log.add(Deleted(os.path.basename(filename), syncdir))


class _CutFile(apsw.VFSFile):
    def __init__(self, vfs: CutVfs, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        self._vfs = vfs
        self._file = os.path.basename(path)
        super().__init__("", name, flags)
        vfs.log.add(Opened(self._file, bool(flags[0] & _WITH_FOLDER)))

    def xWrite(self, data: bytes, offset: int) -> None:
        self._vfs.before_write(self._file)
        super().xWrite(data, offset)
        self._vfs.log.add(Wrote(self._file, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:
        super().xTruncate(newsize)
        self._vfs.log.add(Truncated(self._file, newsize))

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        self._vfs.log.add(Synced(self._file))
