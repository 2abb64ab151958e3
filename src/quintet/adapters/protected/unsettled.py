"""What stood in a project's protected places while commands ran, on disk, so that it outlives a process that is killed.

One file for each containment that runs commands which may write, 0600, in Quintet's own state. It is locked as long as
its process lives, and its first byte says whether commands are under way. A record of commands under way that nobody
holds was left by a process that was killed: `left_in` finds it, `Left.found` says what is there now and was not then.
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
from quintet.adapters.protected.moved_aside import new_places, put_aside, unwanted
from quintet.adapters.protected.scan import FROM_GIT, REPOSITORY, SECRET, Place, Scanner
from quintet.adapters.sandbox.host_mounts import below
from quintet.domain.permission.protected_paths import Protection

UNDER_WAY, SETTLED = b"+", b"-"
UNFINISHED = ".new"
OLD_SECONDS = 86_400.0
MOST_BYTES = 64_000_000
Number = tuple[int, int]


class Stood(Struct, frozen=True):
    """The protected places before a command, with what they are known by."""

    places: frozenset[Place]
    homes: Mapping[Place, Number]
    closed: frozenset[str]  # folders that could not be looked into
    watched: tuple[GitWatch, ...] = ()
    committing: bool = False


_NOTHING = Stood(frozenset(), {}, frozenset())


class Record:
    """The record of one containment. What cannot be written is said by `problem`; commands run all the same."""

    def __init__(self, folder: str, root: str) -> None:
        self._folder = folder
        self._root = root
        self._path = os.path.join(folder, f"{key_of(root)}-{os.getpid()}-{time.time_ns()}")
        self._handle = -1
        self._stood: Stood | None = None
        self._state = SETTLED
        self.problem = ""

    def under_way(self, stood: Stood) -> None:
        """Commands run, and this is what is theirs to leave alone."""
        before = self._stood
        if before and self._state == UNDER_WAY:  # others run on: what they may not touch is still watched
            watched = (*before.watched, *(one for one in stood.watched if one not in before.watched))
            stood = msgspec.structs.replace(stood, watched=watched, committing=stood.committing or before.committing)
        try:
            if stood != before:
                self._write(stood)
            elif self._state != UNDER_WAY:
                os.pwrite(self._handle, UNDER_WAY, 0)
            self._stood, self._state, self.problem = stood, UNDER_WAY, ""
        except OSError as error:
            self.problem = f"{self._folder}: {error.strerror}; what a killed session leaves would not be noticed"

    def settled(self) -> None:
        """No command runs any more, and what they left was judged."""
        if self._state == UNDER_WAY:
            self._state = SETTLED
            with contextlib.suppress(OSError):
                os.pwrite(self._handle, SETTLED, 0)

    def close(self) -> None:
        """The end of the process: a record of what is not settled stays for the next one."""
        if self._handle >= 0:
            if self._state == SETTLED:
                with contextlib.suppress(OSError):
                    os.unlink(self._path)
            os.close(self._handle)
            self._handle, self._stood = -1, None

    def others_under_way(self) -> bool:
        """Whether commands of another session run in this project: its record says so, and its process holds it."""
        prefix, own = f"{key_of(self._root)}-", os.path.basename(self._path)
        try:
            names = [name for name in os.listdir(self._folder) if name.startswith(prefix) and name != own]
        except OSError:
            return False
        return any(_is_under_way(os.path.join(self._folder, name)) for name in names)

    def _write(self, stood: Stood) -> None:
        """As another file that takes the place of the one before: at no moment is there half of one."""
        private_folder(self._folder)
        new = self._path + UNFINISHED
        handle = os.open(new, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            data = memoryview(UNDER_WAY + _encoded(self._root, stood))
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


def _is_under_way(path: str) -> bool:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if os.pread(handle, 1, 0) != UNDER_WAY:
            return False
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # held: its process lives
        return True
    finally:
        os.close(handle)
    return False


def _encoded(root: str, stood: Stood) -> bytes:
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


class Left(Struct, frozen=True):
    """A record that a killed process left; `legible` if it can be read. When it was killed is not known."""

    path: str
    root: str
    stood: Stood
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
            if not stays and not plain and (path := unwanted(place)):
                found.append(path)
        for watched in self.stood.watched:
            found += appeared_in(watched)
        return sorted(dict.fromkeys(found))

    def forget(self) -> None:
        """It was seen to."""
        with contextlib.suppress(OSError):
            os.unlink(self.path)


def left_in(folder: str, root: str) -> list[Left]:
    """The records that killed processes left of this project, of one in it, and of one that it is in."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    found = [_left(os.path.join(folder, name), root) for name in names]
    return [one for one in found if one]


def _left(path: str, root: str) -> Left | None:
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
        if state == SETTLED:
            os.unlink(path)
            return None
    except OSError:
        return None
    finally:
        os.close(handle)
    left = _decoded(path, said)
    if left is None:
        mine = os.path.basename(path).partition("-")[0] == key_of(root)
        return Left(path, root, _NOTHING, legible=False) if mine else None
    return left if below(left.root, root) or below(root, left.root) else None


def _decoded(path: str, said: bytes) -> Left | None:
    try:
        record = json.loads(said)
        listed = msgspec.convert(record["places"], list[tuple[str, str, bool, int, int]])
        places = {(kind, where, link): (device, number) for kind, where, link, device, number in listed}
        watched = msgspec.convert(record["watched"], tuple[GitWatch, ...])
        closed = frozenset(msgspec.convert(record["closed"], list[str]))
        stood = Stood(frozenset(places), places, closed, watched, bool(record["committing"]))
        return Left(path, str(record["root"]), stood, msgspec.convert(record["number"], Number))
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


def put_all_aside(root: str, paths: Iterable[str], store: str) -> list[str]:
    """Move these aside; a line for each."""
    said = []
    for path in paths:
        inside = below(path, root)
        try:
            moved = (
                put_aside(root, path, store, os.path.relpath(path, root))
                if inside
                else put_aside(os.path.dirname(path), path, store)
            )
        except OSError as error:
            said.append(f"{path} could not be moved ({error.strerror}): remove it")
        else:
            said += [f"{path} was moved to {moved}"] if moved else []
    return said
