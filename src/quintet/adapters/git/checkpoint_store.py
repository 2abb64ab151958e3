"""Checkpoints on disk: trees in a shadow git repository, and the contents of single files beside them.

Everything here blocks on files and processes, so it happens in threads. Without git there are no trees; single files
are kept all the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TypeVar

from msgspec import structs

from quintet.adapters.files.private_files import private_folder
from quintet.adapters.files.real_path import real_path
from quintet.adapters.files.write_record import WriteRecord
from quintet.adapters.git.cover import NotCovered, Standing, Surveyor, within
from quintet.adapters.git.file_states import (
    LooseObjects,
    folders_above,
    give_access,
    missing_folders,
    put_back,
    state_of,
    take_away,
    umask,
    usual_access,
)
from quintet.adapters.git.run_git import STOP, GitStop
from quintet.adapters.git.shadow_git import ShadowGit
from quintet.adapters.git.shadow_maintenance import Roots, ShadowMaintenance
from quintet.adapters.tasks.task_folder import OWN_FOLDER, ignores_only_its_own
from quintet.domain.base.errors import QuintetError, ToolFailed
from quintet.domain.journal.file_changes import (
    FOLDER,
    FileChange,
    LeftAlone,
    Restoration,
    counted_lines,
    names_folder,
    same,
    unified,
)
from quintet.domain.permission.protected_paths import PROTECTION, Protection, inside
from quintet.domain.ports.ports import Compared, Covered, Snapshot

AT_ONCE = 200  # files whose contents are held in memory together
MOST_ALONE, MOST_ALONE_BYTES = 50, 5_000_000  # files that are kept without a snapshot
MOST_BESIDE, MOST_BESIDE_BYTES = 500, 20_000_000  # files that are kept beside one, because git ignores them
MOST_NAMED, MOST_BELOW = 200, 2_000  # paths of a line that writes, and what is looked at below each of them
LOST = "its content is no longer saved"
INTERRUPTED = "not restored: the rewind was interrupted first"
T = TypeVar("T")


class ShadowCheckpoints:
    def __init__(
        self,
        folder: str,
        root: str,
        protection: Protection = PROTECTION,
        record: WriteRecord | None = None,
        commands_run: Callable[[], bool] = lambda: True,
    ) -> None:
        """`commands_run` says whether a command may change the project now."""
        self._shadow = ShadowGit(folder, root, protection, commands_run)
        self._protection = protection
        self._record = record
        self._objects = LooseObjects(self._shadow.objects, self._shadow.project.algorithm)
        self._roots = Roots(folder)
        self._tidier = ShadowMaintenance(self._shadow, self._roots)
        self._root = root
        self._folder = folder
        self._stop = threading.Event()  # set while nothing more is to be restored
        self._first = "", ""  # the newest point, and its first tree: its ignore rules hold for all of it

    @property
    def whole(self) -> bool:
        return self._shadow.there

    @property
    def progress(self) -> tuple[int, int]:
        return self._shadow.progress

    async def snapshot(self, point: str, named: Sequence[str] = ()) -> Snapshot:
        def take() -> Snapshot:
            with self._shadow.locked() as lock:
                taken = self._take(lock, point)
                lost = self._lost(named, taken.lacking)
                return structs.replace(taken, states=self._named(lock, point, named), lost=lost) if named else taken

        return await _leavable(take)

    def _take(self, lock: int, point: str) -> Snapshot:
        tree, lacking = self._shadow.tree(lock, self._first[1] if point == self._first[0] else "")
        if point != self._first[0]:
            self._first = point, tree
        self._roots.add(point, [tree])
        return Snapshot(tree, tuple(lacking))

    async def compare(self, before: str, after: str, *, folders: bool = False) -> Compared:
        def look() -> Compared:
            with self._shadow.locked() as lock:
                found = self._shadow.difference(lock, before, after)
                new = [path for path, was, _, _, _ in found if not was] if folders else []
                made = self._made_folders(lock, before, new)
            changes = [FileChange(path, was, now or (FOLDER if path in made else "")) for path, was, now, _, _ in found]
            made -= {path for path, *_ in found}
            added, removed = sum(f[3] for f in found), sum(f[4] for f in found)
            return Compared([*changes, *(FileChange(path, "", FOLDER) for path in sorted(made))], added, removed)

        return await _leavable(look)

    async def ignored(self, tree: str, paths: Iterable[str]) -> set[str]:
        names = [os.fsencode(path) for path in paths]

        def ask() -> set[str]:
            with self._shadow.locked() as lock:
                return {os.fsdecode(name) for name in self._shadow.rules_of(lock, tree).ignored(names)}

        return await _apart(ask)

    async def hidden(self, tree: str, since: float) -> list[str]:
        def look() -> list[str]:
            with self._shadow.locked() as lock:
                files, folders = self._shadow.rules_of(lock, tree).hidden()
            new = [folder for folder in map(os.fsdecode, folders) if self._hides_since(folder, since)]
            return [*map(os.fsdecode, files), *new]

        return await _leavable(look)

    def _hides_since(self, folder: str, since: float) -> bool:
        """By when its ignore file changed, which only the kernel sets. What Quintet's own hides is Quintet's own."""
        rules = os.path.join(self._root, folder.lstrip("/"), ".gitignore")
        try:
            if folder.strip("/") == OWN_FOLDER and ignores_only_its_own(rules):
                return False
            return os.lstat(rules).st_ctime >= since
        except OSError:
            return False

    def _made_folders(self, lock: int, before: str, new: Iterable[str]) -> set[str]:
        """The folders of new files that the tree before has nothing in."""
        above = {folder for path in new for folder in folders_above(path)}
        asked = [folder for folder in sorted(above) if "\n" not in folder]
        if not asked:
            return set()
        given = os.fsencode("".join(f"{before}:{folder}\n" for folder in asked))
        said = self._shadow.run(lock, "cat-file", "--batch-check=%(objecttype)", given=given).splitlines()
        return {folder for folder, line in zip(asked, said, strict=True) if line != b"tree"}

    async def keep(self, point: str, paths: Iterable[str]) -> dict[str, str]:
        def states() -> dict[str, str]:
            kept = []

            def keep(data: bytes) -> str:
                name = self._objects.keep(data)
                kept.append(name)
                return name

            private_folder(self._folder)
            secret = self._protection.is_secret  # whose content is named, and not kept
            found = {p: state_of(self._root, p, self._objects.name if secret(p) else keep) for p in paths}
            self._roots.add(point, kept or [""])  # the point is on the list, though it keeps nothing
            return found

        return await _apart(states)

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(os.path.join(self._root, inside(path, self._root) or path))

    def touched(self, paths: Iterable[str]) -> list[str]:
        """The paths that writing to these may change: themselves, what they link to, and folders to be made."""
        found: dict[str, None] = {}
        for path in paths:
            own = inside(path, self._root)
            if own in (None, "."):
                continue
            assert own
            real = inside(real_path(os.path.join(self._root, own)), self._root)
            for one in (own, real):
                if one and one != ".":
                    found |= dict.fromkeys([*missing_folders(self._root, one), one])
        return list(found)

    async def cover(
        self, point: str, paths: Sequence[str], *, alone: bool = False, named: Sequence[str] = ()
    ) -> Covered:
        def take() -> Covered:
            try:
                found = Surveyor(self._root, self._protection).survey(paths)
                private_folder(self._folder)
                if alone and found.plain and len(found.files) <= MOST_ALONE and found.bytes <= MOST_ALONE_BYTES:
                    return Covered(states=self._beside(point, found, {}))
                if not self.whole:
                    return Covered(states=self._beside(point, found, {}))
                with self._shadow.locked() as lock:
                    taken = self._take(lock, point)
                    if lost := self._lost(named, taken.lacking):
                        raise NotCovered(lost, "would be overwritten, and is too large or not readable")
                    held = self._shadow.held(lock, found.files)
                    beside = self._named(lock, point, named)
                states = beside | self._beside(point, found, held)
                return Covered(tree=taken.tree, lacking=taken.lacking, states=states)
            except NotCovered as error:
                return Covered(str(error))

        return await _leavable(take)

    def _named(self, lock: int, point: str, paths: Sequence[str]) -> dict[str, str]:
        """The states of what stands where a call says that it writes: what a snapshot lacks of it is kept beside it.

        What cannot be kept is left out, and so is a folder of more than a line is likely to mean.
        """
        states: dict[str, str] = {}
        for path in paths[:MOST_NAMED]:
            with contextlib.suppress(NotCovered, OSError):
                found = Surveyor(self._root, self._protection, MOST_BELOW).survey((self._through_links(path),))
                few = len(found.files) <= MOST_ALONE and found.bytes <= MOST_ALONE_BYTES
                states = self._beside(point, found, {} if few else self._shadow.held(lock, found.files)) | states
        states.pop(".", None)
        return states

    def _lost(self, named: Sequence[str], lacking: Sequence[str]) -> str:
        """The first that a line writes over, by its own name, a link or a pattern, of what the snapshot lacks."""
        for path in named if lacking else ():
            own = inside(path, self._root) or path
            real = inside(real_path(os.path.join(self._root, path)), self._root)
            for one in lacking:
                if (one in (own, real) or fnmatchcase(one, own)) and not self._protection.is_secret(one):
                    return one
        return ""

    def _through_links(self, path: str) -> str:
        """A path in the folder that it really is in."""
        above, name = os.path.split(os.path.join(self._root, path))
        real = os.path.join(real_path(above), name)
        return inside(real, self._root) or path

    def _beside(self, point: str, found: Standing, held: Mapping[str, tuple[str, str, int]]) -> dict[str, str]:
        """The states of what a tree does not hold, or not with all its access bits; contents it lacks are kept."""
        mask = umask()
        states: dict[str, str] = {}
        lacking = []
        for path, info in found.files.items():
            bits, name, size = held.get(path, ("", "", -1))
            if size != info.st_size or stat.S_IFMT(int(bits, 8)) != stat.S_IFMT(info.st_mode):
                lacking.append(path)
            elif stat.S_ISREG(info.st_mode) and (
                len(found.files) <= MOST_ALONE or stat.S_IMODE(info.st_mode) != usual_access(bits == "100755", mask)
            ):
                states[path] = f"{info.st_mode:o} {name}"
        if len(lacking) > MOST_BESIDE or sum(found.files[path].st_size for path in lacking) > MOST_BESIDE_BYTES:
            why = "is ignored by git" if self.whole else "is too much to save without git"
            raise NotCovered(found.topmost(lacking[0], held), why)
        kept: list[str] = []

        def keep(data: bytes) -> str:
            kept.append(self._objects.keep(data))
            return kept[-1]

        states |= {path: state_of(self._root, path, keep) for path in lacking} | found.folders
        for path in lacking:
            if _name(states[path]) not in (*kept, ""):
                raise NotCovered(path, "cannot be read")
        for path in found.missing:
            above = [one for one in missing_folders(self._root, path) if not self._is_there(one)]
            states |= dict.fromkeys([*above, path], "")
        self._roots.add(point, kept or [""])
        return states

    def _is_there(self, path: str) -> bool:
        return os.path.lexists(os.path.join(self._root, path))

    async def below(self, point: str, folders: Sequence[str]) -> dict[str, str]:
        found = await _apart(lambda: within(self._root, folders, MOST_BESIDE, MOST_BESIDE_BYTES))
        found = [path for path in found if not self._protection.is_secret(path)]  # which nothing would bring back
        return await self.keep(point, found) if found else {}

    async def now(self, paths: Iterable[str]) -> dict[str, str]:
        wanted = list(paths)
        return await _apart(lambda: {path: state_of(self._root, path, self._objects.name) for path in wanted})

    async def lines(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[int, int]]:
        def count() -> list[tuple[int, int]]:
            counts = []
            for start in range(0, len(pairs), AT_ONCE):
                some = pairs[start : start + AT_ONCE]
                held = self._contents(state for pair in some for state in pair)
                counts += [counted_lines(held.get(_name(a), b""), held.get(_name(b), b"")) for a, b in some]
            return counts

        return await _apart(count)

    async def diffs(self, files: Sequence[tuple[str, str, str]]) -> list[str]:
        def made() -> list[str]:
            held = self._contents(state for _, *states in files for state in states)
            return [
                unified(path, held.get(_name(a), b"") if a else None, held.get(_name(b), b"") if b else None)
                for path, a, b in files
            ]

        return await _apart(made)

    async def restore(self, wanted: Sequence[Restoration]) -> list[LeftAlone]:
        """Put files back; those that could not be, with the reason."""
        stop = self._stop
        left: list[LeftAlone] = []

        def stopped(one: Restoration) -> bool:
            over = stop.is_set()
            if over:
                left.append(LeftAlone(one.path, INTERRUPTED, interrupted=True))
            return over

        def put() -> list[LeftAlone]:
            files = [one for one in wanted if not one.target and not names_folder(one.now)]
            folders = [one for one in reversed(wanted) if not one.target and names_folder(one.now)]
            rest = [one for one in wanted if one.target]
            for one in [*files, *folders]:
                if not stopped(one):
                    self._carefully(one, left, lambda one: take_away(self._root, one.path))
            for start in range(0, len(rest), AT_ONCE):
                some = rest[start : start + AT_ONCE]
                held = {} if stop.is_set() else self._contents(one.target for one in some)
                for one in some:
                    if not stopped(one):
                        self._carefully(one, left, lambda one, held=held: self._put(one, held))  # type: ignore[misc]
            not_made = {one.path for one in left}
            for one in reversed(rest):
                if names_folder(one.target) and one.target != FOLDER and one.path not in not_made:
                    self._carefully(one, left, lambda one: give_access(self._root, one.path, one.target), made=True)
            return left

        return await _apart(put)

    def stop_restoring(self, stop: bool = True) -> None:
        """Somebody interrupts: until this is taken back, what is not restored yet is left as it is, and told so."""
        if stop:
            self._stop.set()
        else:
            self._stop.clear()

    def _put(self, one: Restoration, held: Mapping[str, bytes]) -> None:
        if not names_folder(one.target) and _name(one.target) not in held:
            raise ToolFailed(LOST)
        data = held.get(_name(one.target), b"")
        if self._record:
            self._record.note(os.path.dirname(one.path) or ".")
        put_back(self._root, one.path, one.target, one.now, data, exactly=one.exactly)

    def _carefully(
        self, one: Restoration, left: list[LeftAlone], act: Callable[[Restoration], None], *, made: bool = False
    ) -> None:
        """Somebody may have saved the file since it was looked at."""
        try:
            is_now = state_of(self._root, one.path, self._objects.name)
            if not same(is_now, one.target if made else one.now) and not (names_folder(is_now) and not one.now):
                left.append(LeftAlone(one.path, "was changed by another program a moment ago"))
            else:
                act(one)
        except (OSError, QuintetError) as error:
            left.append(LeftAlone(one.path, str(getattr(error, "strerror", "") or error)))

    def _contents(self, states: Iterable[str]) -> dict[str, bytes]:
        names = {name for state in states if (name := _name(state))}
        found = {name: data for name in names if (data := self._objects.read(name)) is not None}
        if len(found) < len(names):
            with self._shadow.locked() as lock:
                found |= self._shadow.contents(lock, names - found.keys())
        return found

    async def kept(self) -> set[str]:
        return await _apart(lambda: set(self._roots.read()))

    async def tidy(self, keep: int) -> None:
        await _apart(lambda: self._tidier.run(keep))

    async def close(self) -> None:
        self._tidier.stop()


async def _apart(work: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise ToolFailed(f"{where}{error.strerror or error}") from error


async def _leavable(work: Callable[[], T]) -> T:
    """As `_apart`, of work that only looks or keeps: cancelled, its git processes are killed, and it is over."""
    stop = GitStop()
    STOP.set(stop)  # the thread gets it with the context
    working = asyncio.ensure_future(_apart(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        stop.now()
        await asyncio.wait({working})
        raise


def _name(state: str) -> str:
    return state.partition(" ")[2]
