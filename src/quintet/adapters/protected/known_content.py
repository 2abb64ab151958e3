"""What git holds of protected paths: remembered, so that content which a command brought in by git does not count.

Known are the commits that were there when no command ran, what a call with a network fetched, and commits of the
session's own that hold nothing protected but what is known, staged before, or stands in the project, where only file
tools write it. After a command, entries of the index that are none of that are put back, and commits are named.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct, field

from quintet.adapters.git.run_git import RepositoryView, repository_view
from quintet.adapters.protected.git_state import (
    NOTHING,
    GitState,
    RepositoryTrees,
    fetched,
    forgetting,
    index_of,
    repositories,
    stamps_of,
    state_of,
    unmoved,
    with_entries,
)
from quintet.domain.base.errors import ToolFailed
from quintet.domain.git.protected_entries import (
    GitEntry,
    about_commit,
    about_index,
    about_replaced,
    blobs_of,
    changes,
    contents,
    entries,
    put_back,
    root_of,
)

MOST_TIPS = 20  # that are looked at one by one
LOG = (
    *("-c", "core.commitGraph=false", "log", "--stdin", "--ignore-missing", "-z", "--raw", "--no-abbrev"),
    *("--no-renames", "-c", "--root", "--full-history", "--format=%H"),
)
UNSEEN = "git's current content could not be checked ({}): check it before you check out, merge or push"


class LastLook(Struct):
    """One repository, as it was at the last look."""

    state: GitState = NOTHING
    known: set[str] = field(default_factory=set)  # commits; all that they lead to is known
    told: set[str] = field(default_factory=set)  # commits that were reported
    unread: bool = False  # it could not be read before the first command: nothing can be compared


class KnownContent:
    """`is_kept(path, top)`: whether a path of the work tree at `top` is protected.

    `in_tree(path, top)` is what stands there, as it was when it was last certain that no command had written it.
    """

    def __init__(self, is_kept: Callable[[str, str], bool], in_tree: Callable[[str, str], bytes | None]) -> None:
        self._is_kept = is_kept
        self._in_tree = in_tree
        self._memories: dict[str, LastLook] = {}  # by the common git folder
        self._tops: set[str] = set()  # the work trees that were looked at

    def begin(self, tops: Iterable[str], alone: bool) -> None:
        """Before a command. `alone`: no other one that may write git's folders runs, so what moved is the user's."""
        for common, repository in repositories(tops).items():
            self._tops |= repository.trees.keys()
            memory = self._memories.get(common)
            if memory is None or alone or memory.unread:
                memory = self._memories.setdefault(common, LastLook())
                try:
                    with _moved(repository, memory) as moved:
                        if moved:
                            before, memory.state = memory.state.refs, moved[1]
                            memory.known |= {sha for ref, sha in moved[1].refs.items() if before.get(ref) != sha}
                    memory.unread = False
                except ToolFailed:
                    memory.unread = True

    def settle(self, tops: Iterable[str], networked: bool) -> list[str]:
        """After a command: what is to be said. `networked`: remote branches came from elsewhere."""
        notes: list[str] = []
        now = repositories(places := tuple(tops))
        lost = self._tops & (set(places) - {top for repository in now.values() for top in repository.trees})
        notes += [UNSEEN.format(f"{top} has no repository that can be trusted") for top in sorted(lost)]
        self._tops -= lost
        for common, repository in now.items():
            new = common not in self._memories
            memory = self._memories.setdefault(common, LastLook())
            self._tops |= repository.trees.keys()
            if memory.unread:
                continue
            try:
                with _moved(repository, memory) as moved:
                    if moved:
                        view, state = moved
                        memory.known |= fetched(repository, state.refs, new) if networked else set()
                        notes += self._compared(_Search(view, memory, self._at(repository)), repository, state)
            except ToolFailed as error:
                notes.append(UNSEEN.format(error))
        return notes

    def learn(self, tops: Iterable[str]) -> None:
        """After a fetch that the user approved: what it brought is known, before anything is compared."""
        for common, repository in repositories(tops).items():
            memory = self._memories.get(common)
            if memory and not memory.unread:
                with contextlib.suppress(ToolFailed), _moved(repository, memory) as moved:
                    memory.known |= fetched(repository, moved[1].refs, False) if moved else set()

    def has_staged(self, top: str, path: str, content: bytes) -> bool:
        """Whether the index had this content at this path at the last look."""
        for common in repositories((top,)):
            if memory := self._memories.get(common):
                held = contents(line for lines in memory.state.indexes.values() for line in lines)
                return any((path, blob) in held for blob in blobs_of(content, next(iter(memory.known), "")))
        return False

    def knows(self, top: str, path: str, content: bytes) -> bool:
        """Whether git held this content at this path before any command could have brought it."""
        for common, repository in repositories((top,)).items():
            memory = self._memories.get(common)
            if memory and memory.known:
                with contextlib.suppress(ToolFailed), _look(repository) as view:
                    search = _Search(view, memory, self._at(repository)) if view else None
                    blobs = blobs_of(content, next(iter(memory.known)))
                    return search is not None and any(search.in_history(path, blob) for blob in blobs)
        return False

    def _at(self, repository: RepositoryTrees) -> _Places:
        return _Places(tuple(repository.trees), self._is_kept, self._in_tree)

    def _compared(self, search: _Search, repository: RepositoryTrees, state: GitState) -> list[str]:
        memory, notes = search.memory, []
        for index, lines in state.indexes.items():
            before = memory.state.indexes.get(index, frozenset())
            unknown = search.staged(lines - before)
            if unknown and repository.tree_of(index):
                wrong = with_entries(search.view, index, put_back(before, unknown))
                notes.append(about_index(unknown, wrong))
                state = forgetting(state, index)
                state.indexes[index] = index_of(search.view, index)
            elif unknown:
                notes.append(about_index(unknown, where=os.path.relpath(index, repository.common)))
        notes += [
            about_replaced(name) for name in sorted(state.refs.keys() - memory.state.refs.keys()) if _is_other(name)
        ]
        tips = sorted({sha for sha in state.refs.values() if sha not in memory.known})
        for group in [[tip] for tip in tips] if len(tips) <= MOST_TIPS else [tips]:
            bad = search.committed(group)
            notes += [about_commit(commit, paths) for commit, paths in bad.items() if commit not in memory.told]
            memory.told |= bad.keys()
            if not bad:
                memory.known |= set(group)
        memory.state = state
        return notes


def _is_other(ref: str) -> bool:
    return ref.startswith("refs/replace/")


@contextlib.contextmanager
def _look(repository: RepositoryTrees) -> Iterator[RepositoryView | None]:
    with repository_view(repository.top) as view:
        if view:
            view.variables["GIT_NO_REPLACE_OBJECTS"] = "1"  # a ref could show another commit in place of a known one
        yield view


@contextlib.contextmanager
def _moved(repository: RepositoryTrees, memory: LastLook) -> Iterator[tuple[RepositoryView, GitState] | None]:
    """A look, with everything as it is now; None if nothing moved."""
    stamps = stamps_of(repository)
    if stamps == memory.state.stamps and len(unmoved(memory.state, stamps)) == len(stamps):
        yield None
        return
    with _look(repository) as view:
        yield (view, state_of(view, repository, memory.state, stamps)) if view else None


class _Places(Struct, frozen=True):
    """The work trees of a repository, and what is protected and stands in them."""

    tops: tuple[str, ...]
    is_kept: Callable[[str, str], bool]
    in_tree: Callable[[str, str], bytes | None]

    def kept(self, path: str) -> bool:
        return any(self.is_kept(path, top) for top in self.tops)

    def stands(self, one: GitEntry) -> bool:
        there = (self.in_tree(one.path, top) for top in self.tops)
        return any(one.blob in blobs_of(content, one.blob) for content in there if content is not None)


class _Search:
    """Whether contents are known, by one look."""

    def __init__(self, view: RepositoryView, memory: LastLook, places: _Places) -> None:
        self.view = view
        self.memory = memory
        self._places = places
        self._staged: frozenset[tuple[str, str]] | None = None
        self._histories: dict[str, set[str]] = {}

    def staged(self, lines: Iterable[bytes]) -> list[str]:
        """Of lines that are new in an index, the protected paths with an unknown content."""
        return sorted({one.path for one in entries(lines, self._places.kept) if not self._is_known(one)})

    def committed(self, tips: list[str]) -> dict[str, list[str]]:
        """The commits not known that lead to these, and the protected paths with an unknown content in each."""
        found: dict[str, list[str]] = {}
        for commit, one in changes(self._log(tips, self.memory.known)):
            if self._places.kept(one.path) and not self._is_known(one) and one.path not in found.get(commit, ()):
                found.setdefault(commit, []).append(one.path)
        return found

    def _is_known(self, one: GitEntry) -> bool:
        if self._staged is None:
            self._staged = contents(line for lines in self.memory.state.indexes.values() for line in lines)
        return (one.path, one.blob) in self._staged or self._places.stands(one) or self.in_history(one.path, one.blob)

    def in_history(self, path: str, blob: str) -> bool:
        """Whether a known commit has this content here, or one before it had it in the same protected place."""
        known = sorted(self.memory.known)
        if known and "\n" not in path:
            asked = "".join(f"{commit}:{path}\n" for commit in known).encode("utf-8", "surrogateescape")
            if f"{blob} blob ".encode() in self.view.ask("cat-file", "--batch-check", given=asked):
                return True
        root = root_of(path)
        if known and root not in self._histories:
            said = self._log(known, (), f":(top,literal){root}")
            self._histories[root] = {one.blob for _, one in changes(said)}
        return blob in self._histories.get(root, ())

    def _log(self, tips: Iterable[str], without: Iterable[str], path: str = "") -> bytes:
        words = [*tips, *(f"^{commit}" for commit in without)]
        given = "\n".join(words) + "\n" + (f"--\n{path}\n" if path else "")
        return self.view.ask(*LOG, given=given.encode("utf-8", "surrogateescape")) if "\n" not in path else b""
