"""Finds what a sandbox has to protect inside the project: secrets, repositories, and what configures other programs.

A folder is read again only when its time of change is another, which no command can set, so that a second look at a
big project costs one `stat` a folder. A folder that a command has closed is opened again. Trees of other people's code
(virtual environments, node_modules) are not looked into. What was found once is known by its number: moved to where
no scan looks, it is searched for. A link is known by where it leads, and what it leads to in the project is found too.

A look folder by folder is exact only if nothing moves meanwhile: a command that runs could carry a folder from where
the look is going to be to where it was. So while one runs, it is looked until nothing has moved.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from errno import ENAMETOOLONG

from msgspec import Struct

from quintet.adapters.files.real_path import real_path
from quintet.adapters.protected.nofollow import OPEN, SETTLED_NS, birth_time, link_number, reopened, stat_nofollow
from quintet.domain.permission.moved_folders import FOREIGN as FOREIGN
from quintet.domain.permission.protected_paths import Protection, is_repository, leads_to_held, may_not_appear

SETTLE_SECONDS = 2.0  # how long it is waited for folders that commands keep changing
TICK_SECONDS = 0.01  # changes that lie further apart than this differ in their time stamps
DEEPEST = 1_000  # letters of a path that is looked into: all there can still be named to the kernel
SECRET, REPOSITORY, BARE, KEPT, FROM_GIT = "secret", "repository", "bare", "kept", "from git"
MADE = "made"  # may be written if it is there, and not made
Place = tuple[str, str, bool]  # what it is, its absolute path, whether it is a link


class ProtectedScan(Struct, frozen=True):
    """Absolute paths, none a link; `places` has the links too. `lost` was there once and is nowhere."""

    secrets: tuple[str, ...]
    repositories: tuple[str, ...]  # each a `.git`, folder or file
    bare: tuple[str, ...]  # folders that git takes for a repository by what is in them
    kept: tuple[str, ...]  # what configures a program of the user's
    from_git: tuple[str, ...]  # the same, but a command that commits may write it
    places: frozenset[Place]
    lost: tuple[str, ...] = ()
    moved: frozenset[Place] = frozenset()  # repositories, and what lies in unscanned folders, by number
    homes: dict[Place, tuple[int, int]] = {}  # the number of the folder that each lies in; of what is `MADE`, its own


class _Folder(Struct, frozen=True):
    number: tuple[int, int]
    stamp: int
    settled: bool
    below: tuple[str, ...]
    places: tuple[Place, ...]


class FoldersKeepChanging(Exception):
    """What stands in the project at one moment cannot be seen."""


class _Stamps:
    """The folders of one look with their times of change; whether all of these were old enough to tell the next."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[tuple[int, int], int]] = {}
        self._walked: dict[str, int] = {}
        self.settled = True
        self.vanished = False  # a folder that was listed was no longer there

    def add(self, path: str, folder: _Folder) -> None:
        self._seen[path] = folder.number, folder.stamp
        self.settled = self.settled and folder.settled

    def add_walked(self, path: str) -> None:
        try:
            self._walked[path] = stamp = os.stat(path, follow_symlinks=False).st_ctime_ns
        except OSError:
            self.vanished = True
        else:
            self.settled = self.settled and time.time_ns() - stamp > SETTLED_NS

    def same_as(self, before: _Stamps) -> bool:
        vanished = self.vanished or before.vanished
        return not vanished and self._seen == before._seen and self._walked == before._walked


class Scanner:
    def __init__(self, root: str, protection: Protection, closed: Iterable[str] | None = None) -> None:
        self._root = root
        self._protection = protection
        self._known: dict[str, _Folder] = {}
        self._numbers: dict[tuple[int, int], Place] = {}
        self._missing = frozenset[tuple[int, int]]()  # of these, what was nowhere at the last look
        self._before = frozenset[tuple[int, int]]()  # of these, what may be moved about and was known before this scan
        self._births: dict[tuple[int, int], int] = {}  # of these: a number is given again once its file is gone
        # The folders that were closed before any command ran; found by the first look if they are not given.
        self._closed = None if closed is None else set(closed)
        self._stamps = _Stamps()

    @property
    def closed(self) -> frozenset[str]:
        return frozenset(self._closed or ())

    def scan(self, commands_run: Callable[[], bool] = lambda: False) -> ProtectedScan:
        """What stands here now; FoldersKeepChanging if commands never leave them alone. What is lost is not searched
        for any more."""
        self._before = frozenset(number for number, (kind, _, _) in self._numbers.items() if kind in _MOVING)
        begun = commands_run()
        found = self._look_everywhere()
        if begun or commands_run():
            found = self._at_one_moment()
        for number in self._missing:
            del self._numbers[number]
        self._missing = frozenset()
        return found

    def _at_one_moment(self) -> ProtectedScan:
        """Look until no folder changed between two looks: then each was as it was found at the moment between them.

        A second change in the same tick of the clock does not show, so the first of the two comes a tick after the
        newest change.
        """
        until = time.monotonic() + SETTLE_SECONDS
        before, unchanged = self._stamps, False
        while time.monotonic() < until:
            telling = before.settled or unchanged
            if not telling:
                time.sleep(2 * TICK_SECONDS)
            found = self._look_everywhere()
            unchanged = self._stamps.same_as(before)
            if unchanged and telling:
                return found
            before = self._stamps
        raise FoldersKeepChanging

    def _look_everywhere(self) -> ProtectedScan:
        self._stamps = _Stamps()
        known: dict[str, _Folder] = {}
        found: set[Place] = set()
        fresh: set[Place] = set()
        homes: dict[Place, tuple[int, int]] = {}
        closed: set[str] = set()
        waiting = [self._root]
        while waiting:
            path = waiting.pop()
            try:
                folder = self._look(path)
            except PermissionError:  # its owner can open it again, and a command runs as the owner
                if self._closed is not None and path not in self._closed and reopened(self._root, path):
                    waiting.append(path)
                    continue
                closed.add(path)
                found.add((SECRET, path, False))
                continue
            except (FileNotFoundError, NotADirectoryError):  # gone, or elsewhere
                self._stamps.vanished = True
                continue
            except OSError:  # what cannot be looked at is closed, not gone
                found.add((SECRET, path, False))
                continue
            if folder is not self._known.get(path):
                fresh.update(folder.places)
            known[path] = folder
            self._stamps.add(path, folder)
            found.update(folder.places)
            homes.update(dict.fromkeys(folder.places, folder.number))
            homes.update((place, self._number(place[1]) or (0, 0)) for place in folder.places if place[0] == MADE)
            waiting += folder.below
        self._follow(found, homes)
        self._known = known
        self._closed = closed if self._closed is None else self._closed
        lost, moved = self._missed(found, fresh)
        of = {
            wanted: tuple(sorted(path for kind, path, link in found if kind == wanted and not link))
            for wanted in _KINDS
        }
        return ProtectedScan(
            of[SECRET], of[REPOSITORY], of[BARE], of[KEPT], of[FROM_GIT], frozenset(found), lost, moved, homes
        )

    def _follow(self, found: set[Place], homes: dict[Place, tuple[int, int]]) -> None:
        """Add what protected links lead to; a link that leads elsewhere than before counts as one in another folder."""
        for kind, path, _ in [place for place in found if place[2]]:
            try:
                device, number = homes[kind, path, True]
                homes[kind, path, True] = link_number(device, number, os.readlink(path))
            except OSError:
                continue
            real = real_path(path)
            home = self._number(os.path.dirname(real)) if real.startswith(self._root + "/") else None
            if home and os.path.exists(real):
                found.add((kind, real, False))
                homes.setdefault((kind, real, False), home)

    def _missed(self, found: set[Place], fresh: set[Place]) -> tuple[tuple[str, ...], frozenset[Place]]:
        """What was known by its number and is no longer where it was: searched for everywhere, and added if found.

        `fresh` are those in folders that were read again."""
        now: dict[tuple[int, int], Place] = {}
        for place in found:
            if not place[2] and (number := self._number(place[1])):
                now[number] = place
        moved = {place for number, place in now.items() if number in self._before and place[0] in _MOVING}
        missing = {number: place for number, place in self._numbers.items() if number not in now}
        for number, (kind, path, _) in list(missing.items()):
            if self._number(path) == number and birth_time(self._root, path) == self._births[number]:
                now[number] = (kind, path, False)
                moved.add(now[number])
                del missing[number]
        if missing:
            for path in self._everything():
                number = self._number(path)
                if number in missing and birth_time(self._root, path) == self._births[number]:
                    now[number] = (missing.pop(number)[0], path, False)
                    moved.add(now[number])
        found.update(now.values())
        births = {
            number: self._births[number]
            if number in self._births and place not in fresh
            else birth_time(self._root, place[1])
            for number, place in now.items()
        }
        self._births = {number: self._births[number] for number in missing} | births
        self._numbers, self._missing = missing | now, frozenset(missing)
        return tuple(sorted(path for _, path, _ in missing.values())), frozenset(moved)

    def _number(self, path: str) -> tuple[int, int] | None:
        seen = stat_nofollow(self._root, os.path.relpath(path, self._root))
        return (seen.st_dev, seen.st_ino) if seen else None

    def _everything(self) -> Iterable[str]:
        """Every path of the project, in folders of other people's code too."""
        for path, folders, files in os.walk(self._root):
            if len(path) > DEEPEST:
                folders.clear()
            self._stamps.add_walked(path)
            for name in (*folders, *files):
                yield os.path.join(path, name)

    def forget(self, paths: Iterable[str]) -> None:
        """These were moved aside: they are not searched for."""
        gone = tuple(paths)
        self._numbers = {
            number: place
            for number, place in self._numbers.items()
            if not any(place[1] == path or place[1].startswith(path + "/") for path in gone)
        }
        self._missing &= self._numbers.keys()

    def _look(self, path: str) -> _Folder:
        now = time.time_ns()
        if len(path) > DEEPEST:
            raise OSError(ENAMETOOLONG, "too deep", path)
        info = os.stat(path, follow_symlinks=False)
        number, stamp = (info.st_dev, info.st_ino), info.st_ctime_ns
        if info.st_mode & OPEN != OPEN:  # root sees through it, and the command, which is not root inside, would not
            raise PermissionError(path)
        before = self._known.get(path)
        if before and before.settled and before.stamp == stamp and before.number == number:
            return before
        relative = "" if path == self._root else os.path.relpath(path, self._root)
        below, names = [], []
        places: list[Place] = []
        with os.scandir(path) as entries:
            for entry in entries:
                name, link = entry.name, entry.is_symlink()
                names.append(name)
                folder = entry.is_dir(follow_symlinks=False)
                if name == ".git":
                    places.append((REPOSITORY, entry.path, link))
                    continue
                inner = entry.path[len(self._root) :]
                if folder and self._protection.is_secret_folder(inner):
                    places.append((SECRET, entry.path, False))
                    if self._protection.is_held(relative, name) or self._protection.is_private(inner):
                        places.append((KEPT, entry.path, False))
                    continue
                secret = not folder and self._protection.is_secret(inner)
                if secret and (real := self._real(entry)):
                    places.append((SECRET, real, False))
                if self._protection.is_held(relative, name) or (secret and self._protection.is_private(inner)):
                    whatever = secret or self._protection.is_held(relative, name, committing=True)
                    places.append((KEPT if whatever else FROM_GIT, entry.path, link))
                elif link and leads_to_held(name):
                    places.append((KEPT if leads_to_held(name, committing=True) else FROM_GIT, entry.path, link))
                elif may_not_appear(name):
                    places.append((MADE, entry.path, link))
                if folder and name not in FOREIGN:
                    below.append(entry.path)
        if is_repository(names):
            places.append((BARE, path, False))
        return _Folder(number, stamp, now - stamp > SETTLED_NS, tuple(below), tuple(places))

    def _real(self, entry: os.DirEntry[str]) -> str:
        """The file itself; a link that leads out of the project leads nowhere in the sandbox."""
        if not entry.is_symlink():
            return entry.path
        real = real_path(entry.path)
        return real if real.startswith(self._root + "/") and os.path.isfile(real) else ""


_MOVING = (REPOSITORY, BARE, MADE)  # may be moved about by a command
_KINDS = (SECRET, REPOSITORY, BARE, KEPT, FROM_GIT)


def folders_to_pin(root: str, protection: Protection, secrets: Iterable[str]) -> set[str]:
    """Folders that a command may write but not rename: those above Quintet's own, and those by whose names alone a
    file in them is known for a secret."""
    found: set[str] = set()
    for path in protection.private:
        while path.startswith(root + "/") and (path := os.path.dirname(path)) != root:
            found.add(path)
    for path in secrets:
        folder, name = os.path.split(path)
        if folder != root and not protection.is_secret(name):
            found.add(folder)
    return found
