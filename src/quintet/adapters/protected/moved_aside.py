"""Moves aside what appeared in a protected place while a command ran, and back again.

Everything here is done on handles, without following a link: the command made these names.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Mapping, Set
from hashlib import sha256
from itertools import count

from quintet.adapters.files.project_files import exists_at
from quintet.adapters.files.real_path import real_path
from quintet.adapters.protected.nofollow import add_rights, make_nofollow, open_nofollow
from quintet.adapters.protected.scan import BARE, SECRET, Place, ProtectedScan
from quintet.adapters.sandbox.host_mounts import below
from quintet.domain.permission.protection_notices import MovedAside

LONGEST_LABEL = 200  # bytes
STORES = "aside"
MOST_PATH = 1000  # bytes of a path among what was moved aside; a longer one is put there by its name alone


def new_places(
    seen: Set[Place],
    homes: Mapping[Place, tuple[int, int]],
    guarded: ProtectedScan,
    now: Mapping[Place, tuple[int, int]],
) -> list[Place]:
    """What is new since `seen`, and what was known but lies in another folder of the same name now.

    What is mounted in a folder stays what it is, but the folder can be renamed, and another made in its place.
    """
    homeless = {place for place in seen & guarded.places if now.get(place) != homes.get(place)}
    new = (guarded.places - seen | homeless) - guarded.moved
    return sorted(new, key=lambda place: place[1])


def path_to_move(place: Place) -> str:
    """What is to be moved aside because of something new; empty if it may stay."""
    kind, path, _ = place
    if kind == SECRET:
        return ""
    return os.path.join(path, "HEAD") if kind == BARE else path


class AsideFolder:
    """Where what appeared in a project is moved: one folder below `scratch` for all of one command."""

    def __init__(self, root: str, scratch: str) -> None:
        self._root = root
        self._scratch = scratch
        self._store = ""
        self._numbers = count(1)

    def next(self) -> None:
        """Another command: what is moved now goes to another folder."""
        self._store = ""

    def put(self, path: str, base: str = "") -> MovedAside | None:
        """Move a path aside; what there is to tell, without a new place if it could not be moved. None: it is gone.

        `base` is the folder below which a command may have made links; else the project.
        """
        inside = below(path, self._root)
        name = os.path.relpath(path, self._root) if inside else path
        self._store = self._store or new_store(self._scratch, next(self._numbers))
        try:
            moved = move_aside(base or self._root, path, self._store, name if inside else "")
        except OSError as error:
            return MovedAside(name, wrong=error.strerror or str(error))
        return MovedAside(name, moved) if moved else None


def new_store(scratch: str, number: int = 0) -> str:
    """The folder for what is moved aside now: all of one command, which is the process's `number`-th."""
    return os.path.join(scratch, STORES, f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{number}")


def move_aside(root: str, path: str, store: str, to_name: str = "") -> str:
    """Move what is at `path` into the folder `store`, and say where it is now; empty if it is gone.

    `to_name` is its path in there, if that is free and leads through nothing that was moved there as a link.

    Where it cannot be moved there, to another file system for one, it gets another name where it is. OSError if not
    even that can be done.
    """
    folder, name = os.path.split(os.path.relpath(path, root))
    label = f"{time.time_ns()}-{_short(name)}"
    stored = os.path.normpath(os.path.join(store, to_name or label))
    straight = os.path.join(real_path(store), os.path.relpath(stored, store))
    fits = os.path.relpath(stored, store)[:2] != ".." and len(os.fsencode(stored)) < MOST_PATH
    if not fits or real_path(stored) != straight or os.path.lexists(stored):
        stored = os.path.join(store, label)
    os.makedirs(os.path.dirname(stored), mode=0o700, exist_ok=True)
    try:
        at = open_nofollow(root, folder or ".")
    except FileNotFoundError:
        return ""
    try:
        for to, place in ((stored, None), (f"aside-{label.replace('.', '-')}", at)):
            try:
                _renamed(at, name, to, place)
            except FileNotFoundError:
                return ""
            except OSError:
                if place is not None:
                    raise
            else:
                return to if place is None else os.path.join(root, folder, to)
        return ""
    finally:
        os.close(at)


def move_back(root: str, name: str, store: str) -> None:
    """Move what `move_aside` put into `store` under `name` back to where it was; folders on the way are made.

    FileNotFoundError if it is not there, FileExistsError if something stands where it was, OSError if a link is on
    either way.
    """
    folder, last = os.path.split(name)
    at = open_nofollow(store, folder or ".")
    try:
        os.stat(last, dir_fd=at, follow_symlinks=False)
        to = make_nofollow(root, folder)
        try:
            if exists_at(last, to):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
            os.rename(last, last, src_dir_fd=at, dst_dir_fd=to)
        finally:
            os.close(to)
    finally:
        os.close(at)


def _short(name: str) -> str:
    """A name that more can be put before: file systems take 255 bytes, and what is as long must not stay for that."""
    whole = os.fsencode(name)
    return name if len(whole) <= LONGEST_LABEL else sha256(whole).hexdigest()[:32]


def _renamed(at: int, name: str, to: str, place: int | None) -> None:
    """A command may have taken rights away from what it made, and from the folder it made it in."""
    try:
        os.rename(name, to, src_dir_fd=at, dst_dir_fd=place)
        return
    except PermissionError:
        pass
    before = stat.S_IMODE(os.fstat(at).st_mode)
    changed = add_rights(at, stat.S_IRWXU)
    try:
        handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
        try:
            add_rights(handle, stat.S_IRWXU)
        finally:
            os.close(handle)
        os.rename(name, to, src_dir_fd=at, dst_dir_fd=place)
    finally:
        if changed:
            os.chmod(f"/proc/self/fd/{at}", before)
