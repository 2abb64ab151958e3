"""What to do about something protected that appeared while a command ran: moved aside, unless git itself made it.

Everything here is done on handles, without following a link: the command made these names.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time

from quintet.adapters.sandbox.linked_git import settings_of
from quintet.adapters.sandbox.nofollow import looked, opened, text_of

# What `git init`, `clone`, `worktree add` and `submodule add` write into a configuration: nothing that names a program.
_PLAIN = re.compile(
    r"core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|worktree)"
    r'|extensions\.(objectformat|refstorage|partialclone|relativeworktrees)|remote ".*"\.(url|fetch|tagopt)'
    r'|branch ".*"\.(remote|merge|rebase)|submodule\.active|submodule ".*"\.(url|active)'
)
_STRANGE = ("commondir", "gitdir", "config.worktree", "info/attributes", "objects/info/alternates")


def put_aside(root: str, path: str, store: str) -> str:
    """Move what is at `path` into the folder `store`, and say where it is now; empty if it is gone, or out of reach."""
    folder, name = os.path.split(os.path.relpath(path, root))
    aside = os.path.join(store, f"{time.time_ns()}-{name}")
    os.makedirs(store, mode=0o700, exist_ok=True)
    try:
        at = opened(root, folder or ".")
    except OSError:
        return ""
    try:
        try:
            os.rename(name, aside, src_dir_fd=at)
        except OSError as error:
            if error.errno != errno.EXDEV:
                return ""
            _copied(at, name, aside)
    finally:
        os.close(at)
    return aside


def _copied(at: int, name: str, aside: str) -> None:
    """To another file system."""
    import shutil

    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
    try:
        found = os.fstat(handle).st_mode
        if stat.S_ISLNK(found):
            os.symlink(os.readlink(name, dir_fd=at), aside)
        elif stat.S_ISDIR(found):
            shutil.copytree(f"/proc/self/fd/{handle}", aside, symlinks=True, ignore_dangling_symlinks=True)
        elif stat.S_ISREG(found):
            shutil.copyfile(f"/proc/self/fd/{handle}", aside)
    finally:
        os.close(handle)
    if stat.S_ISDIR(found):
        shutil.rmtree(name, dir_fd=at)
    else:
        os.unlink(name, dir_fd=at)


def as_git_makes(root: str, repository: str) -> bool:
    """Whether a `.git` that appeared is one that git made: no hook, no setting that names a program, no way elsewhere.

    A `.git` file leads to a folder that an older repository of this project keeps for it, and that one leads back.
    """
    found = looked(root, os.path.relpath(repository, root))
    if found is None:
        return False
    if stat.S_ISDIR(found.st_mode):
        return _plain(repository)
    words = text_of(os.path.dirname(repository), ".git", 4096).strip()
    if not words.startswith("gitdir:"):
        return False
    own = os.path.normpath(os.path.join(os.path.dirname(repository), words.removeprefix("gitdir:").strip()))
    if not own.startswith(root + "/") or looked(root, os.path.relpath(own, root)) is None:
        return False
    above, kind = os.path.split(os.path.dirname(own))
    if kind == "worktrees":
        back = text_of(own, "gitdir", 4096).strip()
        common = text_of(own, "commondir", 4096).strip()
        leads_back = os.path.normpath(os.path.join(own, back)) == repository
        return leads_back and common == "../.." and not os.path.lexists(os.path.join(own, "config.worktree"))
    if "/.git/modules/" not in own or not above:
        return False
    trees = [value for name, value in settings_of(own) if name == "core.worktree"]
    same = [os.path.normpath(os.path.join(own, tree)) == os.path.dirname(repository) for tree in trees]
    return same == [True] and _plain(own, submodule=True)


def _plain(git: str, *, submodule: bool = False) -> bool:
    if any(os.path.lexists(os.path.join(git, name)) for name in _STRANGE):
        return False
    folder = os.path.join(git, "hooks")
    if os.path.islink(folder):
        return False
    hooks = os.listdir(folder) if os.path.isdir(folder) else []
    if any(not name.endswith(".sample") for name in hooks) or os.path.islink(os.path.join(git, "config")):
        return False
    for name, value in settings_of(git):
        if not _PLAIN.fullmatch(name) or value.startswith("ext::"):
            return False
        if name == "core.worktree" and not submodule:
            return False
    return True
