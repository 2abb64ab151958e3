"""Where the refs and indexes of a repository stand, and putting entries of an index back.

git reads copies of indexes, and no link is followed: a command that still runs cannot put something else in their
place. Whether anything moved is known by stat alone, from times that no command can set.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterable, Iterator

from msgspec import Struct, structs

from quintet.adapters.git.git_folders import GitFolders, git_folders, read_plain
from quintet.adapters.git.run_git import RepositoryView
from quintet.adapters.protected.git_watch import listed
from quintet.adapters.protected.nofollow import SETTLED_NS, open_nofollow
from quintet.domain.base.errors import ToolFailed
from quintet.domain.git.protected_entries import staged

MOST_INDEX = 512_000_000  # bytes
REFS = ""  # the name of all refs among the stamps; an index has its path
_HEX = frozenset(b"0123456789abcdef")
Stamp = tuple[tuple[str, int, int, int, int], ...]


class RepositoryTrees(Struct, frozen=True):
    """The work trees of one repository that lie in the project, each with its git folders."""

    common: str
    trees: dict[str, GitFolders]

    @property
    def top(self) -> str:
        return next(iter(self.trees))

    def tree_of(self, index: str) -> str:
        """The work tree in the project that an index belongs to; empty if it is another one's."""
        return next((top for top, found in self.trees.items() if os.path.join(found.own, "index") == index), "")


class GitState(Struct, frozen=True):
    refs: dict[str, str]
    indexes: dict[str, frozenset[bytes]]
    stamps: dict[str, Stamp]


NOTHING = GitState({}, {}, {})


def repositories(tops: Iterable[str]) -> dict[str, RepositoryTrees]:
    """The repositories of these work trees that can be trusted, by their common folder."""
    made: dict[str, RepositoryTrees] = {}
    for top in tops:
        if found := git_folders(top):
            trees = made[found.common].trees if found.common in made else {}
            made[found.common] = RepositoryTrees(found.common, {**trees, top: found})
    return made


def stamps_of(repository: RepositoryTrees) -> dict[str, Stamp]:
    return {path: _stamp((path,)) for path in _indexes(repository)} | {REFS: _stamp(_ref_files(repository))}


def unmoved(before: GitState, stamps: dict[str, Stamp]) -> set[str]:
    """What is the same for sure: a second change this very moment would not show."""
    now = time.time_ns()
    return {
        name
        for name, stamp in stamps.items()
        if before.stamps.get(name) == stamp and all(now - one[4] > SETTLED_NS for one in stamp)
    }


def state_of(view: RepositoryView, repository: RepositoryTrees, before: GitState, stamps: dict[str, Stamp]) -> GitState:
    same = unmoved(before, stamps)
    refs = before.refs if REFS in same else _refs(view, repository)
    indexes = {path: before.indexes[path] if path in same else index_of(view, path) for path in stamps if path != REFS}
    return GitState(refs, indexes, stamps)


def forgetting(state: GitState, index: str) -> GitState:
    """The same, with an index to be read again."""
    return structs.replace(state, stamps={name: stamp for name, stamp in state.stamps.items() if name != index})


def fetched(repository: RepositoryTrees, refs: dict[str, str], everything: bool) -> set[str]:
    """What came from elsewhere: remote branches, what was named by an address, all of a new repository."""
    lines = [
        line.split()[:1]
        for found in repository.trees.values()
        for line in _lines(os.path.join(found.own, "FETCH_HEAD"))
    ]
    named = {words[0].decode() for words in lines if words and _is_name(words[0])}
    return named | {sha for name, sha in refs.items() if everything or name.startswith("refs/remotes/")}


def with_entries(view: RepositoryView, path: str, said: bytes) -> str:
    """Give an index these entries, by git's own lock; why not, if that cannot be done."""
    try:
        copy = _copied(view, path)
        _asked(view, copy, "update-index", "-z", "--index-info", given=said)
        _replace(path, copy)
    except ToolFailed as error:
        return str(error)
    except OSError as error:
        return str(error.strerror)
    return ""


def _indexes(repository: RepositoryTrees) -> list[str]:
    """The index of each work tree of the repository, wherever the tree is."""
    own = (found.own for found in repository.trees.values())
    trees = listed(os.path.join(repository.common, "worktrees"))
    return [os.path.join(folder, "index") for folder in dict.fromkeys((*own, repository.common, *trees))]


def _ref_files(repository: RepositoryTrees) -> Iterator[str]:
    common = repository.common
    yield from (os.path.join(common, name) for name in ("packed-refs", "logs/refs/stash"))
    yield from _heads(repository)
    for name in ("refs", "reftable"):
        for path, folders, files in os.walk(os.path.join(common, name)):
            folders.sort()
            yield from (os.path.join(path, file) for file in sorted(files))


def _heads(repository: RepositoryTrees) -> list[str]:
    return [os.path.join(os.path.dirname(path), "HEAD") for path in _indexes(repository)]


def _stamp(paths: Iterable[str]) -> Stamp:
    found = []
    for path in paths:
        with contextlib.suppress(OSError):
            about = os.lstat(path)
            found.append((path, about.st_dev, about.st_ino, about.st_size, about.st_ctime_ns))
    return tuple(found)


def _refs(view: RepositoryView, repository: RepositoryTrees) -> dict[str, str]:
    """Also where a work tree is without a branch, and every stash."""
    said = view.ask("for-each-ref", "--format=%(objectname) %(refname)").decode("utf-8", "surrogateescape")
    refs = {name: sha for sha, _, name in (line.partition(" ") for line in said.splitlines())}
    for path in _heads(repository):
        if _is_name(head := read_plain(path, 4096).strip()):
            refs[path] = head.decode()
    for line in _lines(os.path.join(repository.common, "logs/refs/stash")):
        words = line.split()
        if len(words) > 1 and _is_name(words[1]):
            refs[f"stash {words[1].decode()}"] = words[1].decode()
    return refs


def _lines(path: str) -> list[bytes]:
    return read_plain(path).splitlines()


def _is_name(word: bytes) -> bool:
    return len(word) in (40, 64) and _HEX.issuperset(word)


def index_of(view: RepositoryView, path: str) -> frozenset[bytes]:
    return (
        staged(_asked(view, _copied(view, path), "ls-files", "--stage", "-z")) if os.path.lexists(path) else staged(b"")
    )


def _copied(view: RepositoryView, path: str) -> str:
    copy = os.path.join(view.folder, "index-looked-at")
    with open(copy, "wb") as file:
        file.write(read_plain(path, MOST_INDEX))
    return copy


def _asked(view: RepositoryView, index: str, *words: str, given: bytes = b"") -> bytes:
    before = view.variables
    view.variables = {**before, "GIT_INDEX_FILE": index}
    try:
        return view.ask(*words, given=given)
    finally:
        view.variables = before


def _replace(path: str, copy: str) -> None:
    folder, name = os.path.split(path)
    at = open_nofollow(os.path.dirname(folder), os.path.basename(folder))
    try:
        rights = stat.S_IMODE(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        lock = os.open(f"{name}.lock", flags, rights, dir_fd=at)
        with os.fdopen(lock, "wb") as file, open(copy, "rb") as made:
            file.write(made.read())
        os.rename(f"{name}.lock", name, src_dir_fd=at, dst_dir_fd=at)
    finally:
        os.close(at)
