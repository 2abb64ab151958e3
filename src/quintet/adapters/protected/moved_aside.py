"""What to do about something protected that appeared while a command ran: moved aside, unless git itself made it.

Everything here is done on handles, without following a link: the command made these names.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Mapping, Set
from hashlib import sha256

from quintet.adapters.protected.git_links import links_in
from quintet.adapters.protected.git_watch import modules_in
from quintet.adapters.protected.linked_git import settings_of
from quintet.adapters.protected.nofollow import add_rights, looked, opened, text_of
from quintet.adapters.protected.scan import BARE, SECRET, Guarded, Place

LONGEST_LABEL = 200  # bytes
STORES = "aside"
# What `git init`, `clone`, `worktree add` and `submodule add` write into a configuration: nothing that names a program.
_PLAIN = re.compile(
    r"core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|worktree)"
    r"|extensions\.(objectformat|refstorage|relativeworktrees)|remote\.[^\n]*\.(url|fetch|tagopt)"
    r"|branch\.[^\n]*\.(remote|merge|rebase)|submodule\.active|submodule\.[^\n]*\.(url|active)"
)
MOST_PATH = 1000  # bytes of a path among what was moved aside; a longer one is put there by its name alone
_STRANGE = ("commondir", "gitdir", "config.worktree", "info/attributes", "objects/info/alternates")


def new_places(
    seen: Set[Place], homes: Mapping[Place, tuple[int, int]], guarded: Guarded, now: Mapping[Place, tuple[int, int]]
) -> list[Place]:
    """What is new since `seen`, and what was known but lies in another folder of the same name now.

    What is mounted in a folder stays what it is, but the folder can be renamed, and another made in its place.
    """
    homeless = {place for place in seen & guarded.places if now.get(place) != homes.get(place)}
    new = (guarded.places - seen | homeless) - guarded.moved
    return sorted(new, key=lambda place: place[1])


def unwanted(place: Place) -> str:
    """What is to be moved aside because of something new; empty if it may stay."""
    kind, path, _ = place
    if kind == SECRET:
        return ""
    return os.path.join(path, "HEAD") if kind == BARE else path


def new_store(scratch: str, number: int = 0) -> str:
    """The folder for what is moved aside now: all of one command, which is the process's `number`-th."""
    return os.path.join(scratch, STORES, f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{number}")


def put_aside(root: str, path: str, store: str, to_name: str = "") -> str:
    """Move what is at `path` into the folder `store`, and say where it is now; empty if it is gone.

    `to_name` is its path in there, if that is free and leads through nothing that was moved there as a link.

    Where it cannot be moved there, to another file system for one, it gets another name where it is. OSError if not
    even that can be done.
    """
    folder, name = os.path.split(os.path.relpath(path, root))
    label = f"{time.time_ns()}-{_short(name)}"
    stored = os.path.normpath(os.path.join(store, to_name or label))
    straight = os.path.join(os.path.realpath(store), os.path.relpath(stored, store))
    fits = os.path.relpath(stored, store)[:2] != ".." and len(os.fsencode(stored)) < MOST_PATH
    if not fits or os.path.realpath(stored) != straight or os.path.lexists(stored):
        stored = os.path.join(store, label)
    os.makedirs(os.path.dirname(stored), mode=0o700, exist_ok=True)
    try:
        at = opened(root, folder or ".")
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


def put_back(root: str, name: str, store: str) -> None:
    """Move what `put_aside` put into `store` under `name` back to where it was; folders on the way are made.

    FileNotFoundError if it is not there, FileExistsError if something stands where it was, OSError if a link is on
    either way.
    """
    folder, last = os.path.split(name)
    at = opened(store, folder or ".")
    try:
        os.stat(last, dir_fd=at, follow_symlinks=False)
        to = _folder(root, folder)
        try:
            if _stands(last, to):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
            os.rename(last, last, src_dir_fd=at, dst_dir_fd=to)
        finally:
            os.close(to)
    finally:
        os.close(at)


def _folder(root: str, folder: str) -> int:
    """A handle on a folder below the root, made if it is missing."""
    made = ""
    for part in folder.split("/") if folder else ():
        at = opened(root, made or ".")
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=at)
        finally:
            os.close(at)
        made = os.path.join(made, part)
    return opened(root, folder or ".")


def _stands(name: str, at: int) -> bool:
    try:
        os.stat(name, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


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


def as_git_makes(root: str, repository: str) -> bool:
    """Whether a `.git` that appeared is one that git made: no hook, no setting that names a program, no way elsewhere.

    A `.git` file leads to a folder that an older repository of this project keeps for it, and that one leads back.
    """
    found = looked(root, os.path.relpath(repository, root))
    if found is None:
        return False
    if stat.S_ISDIR(found.st_mode):
        return is_as_git_makes(repository) and not os.path.lexists(os.path.join(repository, "worktrees"))
    words = text_of(os.path.dirname(repository), ".git", 4096).strip()
    if not words.startswith("gitdir:"):
        return False
    own = os.path.normpath(os.path.join(os.path.dirname(repository), words.removeprefix("gitdir:").strip()))
    if not own.startswith(root + "/") or looked(root, os.path.relpath(own, root)) is None:
        return False
    above, kind = os.path.split(os.path.dirname(own))
    if kind == "worktrees":
        back = text_of(own, "gitdir", 4096).strip()
        return os.path.normpath(os.path.join(own, back)) == repository and is_worktree_as_git_makes(own)
    if "/.git/modules/" not in own or not above:
        return False
    trees = [value for name, value in settings_of(own) or () if name == "core.worktree"]
    same = [os.path.normpath(os.path.join(own, tree)) == os.path.dirname(repository) for tree in trees]
    return same == [True] and is_as_git_makes(own, submodule=True)


def is_as_git_makes(git: str, *, submodule: bool = False) -> bool:
    """Whether a git folder, with those of its submodules, holds nothing that names a program or another folder."""
    if any(os.path.lexists(os.path.join(git, name)) for name in _STRANGE):
        return False
    hooks = os.path.join(git, "hooks")
    if os.path.islink(hooks) or (os.path.isdir(hooks) and any(name[-7:] != ".sample" for name in os.listdir(hooks))):
        return False
    settings = settings_of(git)
    if settings is None or any(links_in(git)):
        return False
    for name, value in settings:
        if not _PLAIN.fullmatch(name) or value.startswith("ext::") or (name == "core.worktree" and not submodule):
            return False
    return all(is_as_git_makes(module, submodule=True) for module in modules_in(git))


def is_worktree_as_git_makes(own: str) -> bool:
    """The same for what `git worktree add` makes in the folder of its repository."""
    return text_of(own, "commondir", 4096).strip() == "../.." and not os.path.lexists(
        os.path.join(own, "config.worktree")
    )
