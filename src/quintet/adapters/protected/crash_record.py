"""What stood in a project's protected places while commands ran, on disk, so that it outlives a process that is killed.

One file for each containment that runs commands which may write, 0600, in Quintet's own state. It is locked as long as
its process lives, and its first byte says whether commands run. A record of running commands that nobody holds was
left by a process that was killed: `abandoned_records` finds it, `AbandonedRecord.found` says what is there now and was
not then.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from quintet.adapters.files.paths import key_of
from quintet.adapters.files.private_files import private_folder
from quintet.adapters.protected.git_watch import GitWatch, appeared_in, as_git_makes
from quintet.adapters.protected.moved_aside import move_aside, new_places, path_to_move
from quintet.adapters.protected.scan import FROM_GIT, REPOSITORY, SECRET, Place, Scanner
from quintet.adapters.sandbox.host_mounts import below
from quintet.domain.permission.protected_paths import Protection

RUNNING, OVER = b"+", b"-"
UNFINISHED = ".new"
OLD_SECONDS = 86_400.0
MOST_BYTES = 64_000_000
Number = tuple[int, int]


class PlacesBefore(Struct, frozen=True):
    """The protected places before a command, with what they are known by."""

    places: frozenset[Place]
    homes: Mapping[Place, Number]
    closed: frozenset[str]  # folders that could not be looked into
    watched: tuple[GitWatch, ...] = ()
    committing: bool = False


_NOTHING = PlacesBefore(frozenset(), {}, frozenset())


class CrashRecord:
    """The record of one containment. If it cannot be written, `problem` says why, and commands run all the same."""

    def __init__(self, folder: str, root: str) -> None:
        self._folder = folder
        self._root = root
        self._path = os.path.join(folder, f"{key_of(root)}-{os.getpid()}-{time.time_ns()}")
        self._handle = -1
        self._stood: PlacesBefore | None = None
        self._state = OVER
        self.problem = ""

    def commands_run(self, stood: PlacesBefore) -> None:
        """Commands run, and must leave this as it is."""
        before = self._stood
        if before and self._state == RUNNING:  # others run on: what they may not touch is still watched
            watched = (*before.watched, *(one for one in stood.watched if one not in before.watched))
            stood = msgspec.structs.replace(stood, watched=watched, committing=stood.committing or before.committing)
        try:
            if stood != before:
                self._write(stood)
            elif self._state != RUNNING:
                os.pwrite(self._handle, RUNNING, 0)
            self._stood, self._state, self.problem = stood, RUNNING, ""
        except OSError as error:
            self.problem = f"{self._folder}: {error.strerror}; files that a killed session leaves would not be noticed"

    def commands_are_over(self) -> None:
        """No command runs any more, and what they left was judged."""
        if self._state == RUNNING:
            self._state = OVER
            with contextlib.suppress(OSError):
                os.pwrite(self._handle, OVER, 0)

    def close(self) -> None:
        """The end of the process: a record of what is not settled stays for the next one."""
        if self._handle >= 0:
            if self._state == OVER:
                with contextlib.suppress(OSError):
                    os.unlink(self._path)
            os.close(self._handle)
            self._handle, self._stood = -1, None

    def others_running(self) -> bool:
        """Whether commands of another session run in this project: its record says so, and its process holds it."""
        prefix, own = f"{key_of(self._root)}-", os.path.basename(self._path)
        try:
            names = [name for name in os.listdir(self._folder) if name.startswith(prefix) and name != own]
        except OSError:
            return False
        return any(_is_running(os.path.join(self._folder, name)) for name in names)

    def _write(self, stood: PlacesBefore) -> None:
        """As another file that takes the place of the one before: at no moment is there half of one."""
        private_folder(self._folder)
        new = self._path + UNFINISHED
        handle = os.open(new, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            data = memoryview(RUNNING + _encoded(self._root, stood))
            while data:
                data = data[os.write(handle, data) :]
            os.rename(new, self._path)
        except BaseException:
            os.close(handle)
            with contextlib.suppress(OSError):
                os.unlink(new)
            raise
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = handle


def _is_running(path: str) -> bool:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if os.pread(handle, 1, 0) != RUNNING:
            return False
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # held: its process lives
        return True
    finally:
        os.close(handle)
    return False


def _encoded(root: str, stood: PlacesBefore) -> bytes:
    """JSON by the standard library, which writes a name that is not UTF-8 as well."""
    at = _status(root)
    places = [
        (kind, path, link, *_known_by(stood.homes.get((kind, path, link)), at)) for kind, path, link in stood.places
    ]
    said = {
        "root": root,
        "number": _known_by((at.st_dev, at.st_ino), at) if at else (0, 0),
        "places": [place for place in places if place[0] != SECRET],
        "closed": sorted(stood.closed),
        "watched": msgspec.to_builtins(stood.watched),
        "committing": stood.committing,
    }
    return json.dumps(said).encode()


def _known_by(number: Number | None, at: os.stat_result | None) -> Number:
    """Numbers of devices are others after a restart: the project's own is called 0."""
    if number is None:
        return (0, 0)
    return (0 if at and number[0] == at.st_dev else number[0], number[1])


def _status(root: str) -> os.stat_result | None:
    try:
        return os.lstat(root)
    except OSError:
        return None


class AbandonedRecord(Struct, frozen=True):
    """A record that a killed process left; `legible` if it can be read. When it was killed is not known."""

    path: str
    root: str
    stood: PlacesBefore
    number: Number = (0, 0)
    legible: bool = True

    def found(self, protection: Protection, *, reopening: bool = False) -> list[str]:
        """What is there now, was not then, and is none of git's plain doing; folders that were closed since, as well,
        unless they are opened again to look into them."""
        at = _status(self.root)
        if at is None:
            return []
        scanner = Scanner(self.root, protection, closed=self.stood.closed if reopening else None)
        guarded = scanner.scan()
        same = self.number == (0, at.st_ino)  # else the whole folder is another one, and no number means anything
        now = {place: _known_by(number, at) for place, number in guarded.homes.items()}
        homes = self.stood.homes if same else {place: now.get(place, (0, 0)) for place in self.stood.places}
        new = new_places(self.stood.places, homes, guarded, now)
        found = [] if reopening else sorted(scanner.closed - self.stood.closed)
        for place in new:
            stays = self.stood.committing and place[0] == FROM_GIT
            plain = place[0] == REPOSITORY and as_git_makes(self.root, place[1])
            if not stays and not plain and (path := path_to_move(place)):
                found.append(path)
        for watched in self.stood.watched:
            found += appeared_in(watched)
        return sorted(dict.fromkeys(found))

    def forget(self) -> None:
        """Delete the record: its findings were handled."""
        with contextlib.suppress(OSError):
            os.unlink(self.path)


def abandoned_records(folder: str, root: str) -> list[AbandonedRecord]:
    """The records that killed processes left of this project, of one in it, and of one that it is in."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    found = [_left(os.path.join(folder, name), root) for name in names]
    return [one for one in found if one]


def _left(path: str, root: str) -> AbandonedRecord | None:
    try:
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # its process lives, if this cannot be done
        opened, there = os.fstat(handle), os.lstat(path)
        if (opened.st_dev, opened.st_ino) != (there.st_dev, there.st_ino):
            return None
        if path.endswith(UNFINISHED):
            if time.time() - there.st_mtime > OLD_SECONDS:
                os.unlink(path)
            return None
        state, said = os.pread(handle, 1, 0), os.pread(handle, min(opened.st_size, MOST_BYTES), 1)
        if state == OVER:
            os.unlink(path)
            return None
    except OSError:
        return None
    finally:
        os.close(handle)
    left = _decoded(path, said)
    if left is None:
        mine = os.path.basename(path).partition("-")[0] == key_of(root)
        return AbandonedRecord(path, root, _NOTHING, legible=False) if mine else None
    return left if below(left.root, root) or below(root, left.root) else None


def _decoded(path: str, said: bytes) -> AbandonedRecord | None:
    try:
        record = json.loads(said)
        listed = msgspec.convert(record["places"], list[tuple[str, str, bool, int, int]])
        places = {(kind, where, link): (device, number) for kind, where, link, device, number in listed}
        watched = msgspec.convert(record["watched"], tuple[GitWatch, ...])
        closed = frozenset(msgspec.convert(record["closed"], list[str]))
        stood = PlacesBefore(frozenset(places), places, closed, watched, bool(record["committing"]))
        return AbandonedRecord(path, str(record["root"]), stood, msgspec.convert(record["number"], Number))
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


def move_all_aside(root: str, paths: Iterable[str], store: str) -> list[str]:
    """Move these aside; a line for each."""
    said = []
    for path in paths:
        inside = below(path, root)
        try:
            moved = (
                move_aside(root, path, store, os.path.relpath(path, root))
                if inside
                else move_aside(os.path.dirname(path), path, store)
            )
        except OSError as error:
            said.append(f"{path} could not be moved ({error.strerror}): remove it")
        else:
            said += [f"{path} was moved to {moved}"] if moved else []
    return said
