"""What a command brought by git to a protected place: into the index, into commits, and of CI files into the project.

CI files are writable for a line that is git's, so that it can switch branches. What it leaves there has to be a content
that git knew before (`known_content`), or stood there; anything else is moved aside, and what stood there is put back.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator

from quintet.adapters.protected.known_content import KnownContent
from quintet.adapters.protected.linked_git import in_tree
from quintet.adapters.protected.nofollow import make_nofollow, open_nofollow
from quintet.adapters.protected.scan import FROM_GIT, KEPT, ProtectedScan
from quintet.adapters.sandbox.host_mounts import below
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.protected_paths import Protection, is_from_git, is_held, protected_by
from quintet.domain.permission.protection_notices import path_list

MOST_BYTES = 4_000_000  # of a file that is compared
MOST_REPOSITORIES = 50
READ_BY_GIT = ("config", "config.worktree", "info/attributes")
CHANGED = "The command changed {}. Other programs run these files, and this sandbox does not protect them: check them."
FileBefore = tuple[tuple[int, ...], bytes | None, int]  # which file it was, its content if that is small, its rights


class GitChanges:
    def __init__(self, root: str, protection: Protection) -> None:
        self._root = root
        self._protection = protection
        self._memory = KnownContent(self._is_kept, self._in_project)
        self._hooks: dict[str, list[str]] = {}
        self._lifted = False
        self._covered = True
        self._before: dict[str, bytes | None] = {}  # what other programs run, where it is not covered
        self._stood: dict[str, FileBefore] = {}  # what git may write, by its path in the project

    def begin(self, guarded: ProtectedScan, grant: Grant, others: Iterable[Grant], covered: bool, lifted: bool) -> None:
        """`others` run already; `covered`: only those that commit can write git's folders; `lifted`: the line is git's
        alone, and may write every protected file of the work tree."""
        running = tuple(others)
        tops = self._tops(guarded, grant)
        self._hooks = {top: in_tree(os.path.join(top, ".git"), self._root) for top in tops}
        self._memory.begin(tops, not any(not covered or Effect.COMMIT in one.effects for one in running))
        if not any(not covered or Effect.COMMIT in one.effects for one in running):
            self._lifted, self._covered = lifted, covered
            self._before = {} if covered else dict(self._open_to_all(guarded, tops))
            self._stood = {path: _stood(self._root, path) for path in _files(self._root, guarded, lifted)}

    def settle(self, guarded: ProtectedScan, grant: Grant, aside: Callable[[str], object]) -> list[str]:
        """What is to be said; `aside` moves a path aside, and says so."""
        notes: list[str] = []
        tops = self._tops(guarded, grant)
        if Effect.COMMIT in grant.effects:
            for path in _files(self._root, guarded, self._lifted):
                notes += self._left(path, aside)
        if not self._covered:
            now = dict(self._open_to_all(guarded, tops))
            changed = sorted(path for path, data in now.items() if self._before.get(path) != data)
            notes += [CHANGED.format(path_list(changed))] if changed and Effect.COMMIT not in grant.effects else []
        return notes + self._memory.settle(tops, grant.network)

    def _open_to_all(self, guarded: ProtectedScan, tops: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """What other programs run, where nothing keeps a command from writing it."""
        for path in _files(self._root, guarded, True):
            yield path, _stood(self._root, path)[1]
        for top in tops:
            git = os.path.normpath(os.path.join(os.path.relpath(top, self._root), ".git"))
            hooks = _below(self._root, os.path.join(self._root, git, "hooks"))
            for path in (*(f"{git}/{name}" for name in READ_BY_GIT), *hooks):
                yield path, _stood(self._root, path)[1]

    def learn(self) -> None:
        """What a line that is git's alone fetched, with a network that the user approved, counts as known."""
        self._memory.learn((self._root,))

    def holds(self, place: str, guarded: ProtectedScan, *, sealed: bool) -> bool:
        """Whether all that lies at a protected place is what git held before.

        `sealed`: no command could write git's folders, so that what the index has there now is the user's.
        """
        if sealed:
            self._memory.begin((self._root,), True)
        files = list(_below(self._root, place))
        contents = [(path, _stood(self._root, path)) for path in files]
        if not files or any(data is None or not stat.S_ISREG(rights) for _, (_, data, rights) in contents):
            return False
        judge = self._memory.has_staged if sealed else self._memory.knows
        return all(judge(self._root, path, data) for path, (_, data, _) in contents if data is not None)

    def _left(self, path: str, aside: Callable[[str], object]) -> Iterator[str]:
        before, now = self._stood.get(path), _stood(self._root, path)
        if before and (before[0] == now[0] or (before[1] is not None and before[1] == now[1])):
            return
        if now[1] is not None and self._memory.knows(self._root, path, now[1]):
            return
        aside(os.path.join(self._root, path))
        for name, stood in self._stood.items():
            if below(name, path) and stood[1] is not None and _put(self._root, name, stood):
                yield f"{name}: the earlier content was restored"

    def _tops(self, guarded: ProtectedScan, grant: Grant) -> list[str]:
        gits = [git for git in guarded.repositories if any(below(git, place) for place in grant.write_roots)]
        return [os.path.dirname(git) for git in gits[:MOST_REPOSITORIES]]

    def _is_kept(self, path: str, top: str) -> bool:
        if protected_by(path) or self._protection.asks(path):
            return True
        whole = os.path.join(top, path)
        return any(below(whole, place) for place in self._hooks.get(top, ()))

    def _in_project(self, path: str, top: str) -> bytes | None:
        name = os.path.relpath(os.path.join(top, path), self._root)
        before = self._stood.get(name)
        if before or is_from_git(name) or self._lifted:
            return before[1] if before else None
        return _stood(self._root, name)[1]


def _files(root: str, guarded: ProtectedScan, lifted: bool) -> Iterator[str]:
    """Every file of a kept place that git may write, relative to the root; a link is one."""
    for kind, place, _ in sorted(guarded.places):
        name = os.path.relpath(place, root)
        # It may not be on the list: a number that was used again.
        if (kind == FROM_GIT and is_from_git(name)) or (kind == KEPT and lifted and is_held(*os.path.split(name))):
            yield from _below(root, place)


def _below(root: str, place: str) -> Iterator[str]:
    if os.path.islink(place) or not os.path.isdir(place):
        yield os.path.relpath(place, root)
        return
    for path, folders, files in os.walk(place):
        links = [name for name in folders if os.path.islink(os.path.join(path, name))]
        yield from (os.path.relpath(os.path.join(path, name), root) for name in (*files, *links))


def _stood(root: str, path: str) -> FileBefore:
    """What a file is now; of a link the path it holds."""
    folder, name = os.path.split(path)
    try:
        at = open_nofollow(root, folder or ".")
    except OSError:
        return (), None, 0
    try:
        about = os.stat(name, dir_fd=at, follow_symlinks=False)
        number = (about.st_dev, about.st_ino, about.st_size, about.st_ctime_ns)
        rights = about.st_mode
        if stat.S_ISLNK(rights):
            return number, os.readlink(os.fsencode(name), dir_fd=at), rights
        if not stat.S_ISREG(rights) or about.st_size > MOST_BYTES:
            return number, None, rights
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
        with os.fdopen(handle, "rb") as file:
            return number, file.read(MOST_BYTES), rights
    except OSError:
        return (), None, 0
    finally:
        os.close(at)


def _put(root: str, path: str, before: FileBefore) -> bool:
    folder, name = os.path.split(path)
    content, rights = before[1] or b"", before[2]
    try:
        at = make_nofollow(root, folder)
    except OSError:
        return False
    try:
        if stat.S_ISLNK(rights):
            os.symlink(content, os.fsencode(name), dir_fd=at)
            return True
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, stat.S_IMODE(rights), dir_fd=at), "wb") as file:
            file.write(content)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(at)
