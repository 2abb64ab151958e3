"""Looks over the protected places of a project before and after each command, and moves aside what appeared there.

Before a command it is known what stands in protected places; afterwards what is new is moved aside, what git brought is
judged, and what was done is told. While commands run, what stood there is on disk too, should this process be killed.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from quintet.adapters.protected.crash_record import CrashRecord, PlacesBefore
from quintet.adapters.protected.git_watch import (
    GitWatch,
    appeared_in,
    as_git_makes,
    put_head_back,
    watch,
    watch_held,
    watch_taken,
)
from quintet.adapters.protected.linked_git import in_tree, linked
from quintet.adapters.protected.moved_aside import AsideFolder, new_places, path_to_move
from quintet.adapters.protected.scan import (
    FROM_GIT,
    KEPT,
    REPOSITORY,
    FoldersKeepChanging,
    Place,
    ProtectedScan,
    Scanner,
)
from quintet.adapters.sandbox.host_mounts import below, home
from quintet.domain.base.errors import ToolFailed
from quintet.domain.git.sandboxed_git import brings_by_git
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.protected_paths import Protection
from quintet.domain.permission.protection_notices import KeptFromGit, Note, notices

if TYPE_CHECKING:
    from quintet.adapters.protected.git_changes import GitChanges


class BeforeRun(Struct, frozen=True):
    """What stands before a command: what is there to protect, the command's number, the git folders it may write."""

    guarded: ProtectedScan
    number: int  # 0: it may not write the project
    watched: tuple[GitWatch, ...]
    lifted: bool = False  # the command is git's alone, and finds protected files of the work tree writable


class KnownPlaces(Struct, frozen=True):
    """The protected places as they stood at the last look, and the folders that they lie in, by number."""

    places: frozenset[Place] = frozenset()
    homes: dict[Place, tuple[int, int]] = {}


class ProjectWatch:
    """`scratch` is the folder below which things are moved aside; `records` the one for what stands here while
    commands run, none: it is not written down. `covers_git`: only a command that commits can write git's folders.
    """

    def __init__(
        self,
        root: str,
        protection: Protection,
        scratch: str,
        scanner: Scanner | None = None,
        records: str = "",
        *,
        covers_git: bool = False,
    ) -> None:
        self._root = root
        self._protection = protection
        self._scanner = scanner or Scanner(root, protection)
        self._covers_git = covers_git
        self._running: dict[int, Grant] = {}  # the commands that may write the project now
        self._known: KnownPlaces | None = None  # None before the first look
        self._stuck: frozenset[Place] = frozenset()  # appeared, and could not be moved: tried again after each command
        self._notes: list[Note] = []  # not reported yet
        self._told: list[str] = []  # reports of what was put back, not collected yet
        self._aside = AsideFolder(root, scratch)
        self._record = CrashRecord(records, root) if records else None
        self._lifted = False  # the newest command is git's alone
        self._brought: GitChanges | None = None
        self._numbers = itertools.count(1)
        self._lock = threading.RLock()

    def begin(self, grant: Grant, held: Sequence[str] = (), command: Sequence[str] = ()) -> BeforeRun:
        """Before a command. What appeared since the last look while another one ran is that one's: moved aside."""
        with self._lock:
            guarded = self._scan_to_begin()
            if self._known is not None and self._running:
                before, lost = self._known.places, guarded.lost
                guarded = self._look_over(guarded, self._notes)
                # A command that still runs can change what it has made: that is judged again when it is over.
                self._stuck |= guarded.places - before - guarded.moved
                if lost := (*lost, *guarded.lost):
                    names = ", ".join(os.path.relpath(path, self._root) for path in lost[:3])
                    raise ToolFailed(
                        f"{names}: protected, and moved or replaced while a command runs; end that command first"
                    )
            self._known = KnownPlaces(guarded.places - self._stuck, guarded.homes)
            # Another command keeps its cover only as long as the file under it is not replaced.
            self._lifted = not self._running and not self._protection.home and brings_by_git(command, grant)
            number, watched = 0, tuple[GitWatch, ...]()
            if held or any(below(path, self._root) or below(self._root, path) for path in grant.write_roots):
                number = next(self._numbers)
                if self._writes_git(grant):
                    self._by_git().begin(guarded, grant, self._running.values(), self._covers_git, self._lifted)
                self._running[number] = grant
                watched = (*self._watched(guarded, grant), *([watch_held(held)] if held else []))
                self._write_down(watched)
            return BeforeRun(guarded, number, watched, self._lifted)

    def _scan_to_begin(self) -> ProtectedScan:
        try:
            return self._scanner.scan(self.commands_run)
        except FoldersKeepChanging:
            raise ToolFailed(
                "commands that run in the background keep changing folders of the project, so Quintet cannot tell what "
                "to protect there; nothing was run: wait for them, or end them"
            ) from None

    def _scan(self, ended: int = 0) -> ProtectedScan:
        """What stands here, as far as it can be seen; `ended` is the number of a command that runs no more."""
        try:
            return self._scanner.scan(lambda: self.commands_run(ended))
        except FoldersKeepChanging:
            return self._scanner.scan()

    def commands_run(self, ended: int = 0) -> bool:
        """Whether a command may change the project now: of this session or of another one here."""
        return any(number != ended for number in self._running) or bool(self._record and self._record.others_running())

    def before_writing(self) -> None:
        """Before a file tool writes: the first look, unless a command has had it."""
        with self._lock:
            if self._known is None:
                guarded = self._scan()
                self._known = KnownPlaces(guarded.places, guarded.homes)

    def moved(self, source: str, destination: str, asked: Sequence[str]) -> None:
        """After a file tool moved a folder: what was approved with it is known, the rest is moved aside."""
        gone, came = (os.path.join(self._root, path) for path in (source, destination))
        approved = {os.path.join(self._root, path) for path in asked}
        with self._lock:
            guarded = self._scan()
            wrong = [
                path
                for place in guarded.places - guarded.moved
                if below(place[1], came) and not any(below(place[1], one) or below(one, place[1]) for one in approved)
                if (path := path_to_move(place))
            ]
            put = [path for path in sorted(wrong) if self._put_aside(path, self._notes)]
            self._scanner.forget(put)
            guarded = self._scan() if put else guarded
            before = self._known or KnownPlaces()
            stayed = {place for place in before.places if not below(place[1], gone)}
            new = {place for place in guarded.places if below(place[1], came)}
            homes = before.homes | {place: number for place, number in guarded.homes.items() if place in new}
            self._known = KnownPlaces(frozenset(stayed | new), homes)

    def settle(
        self, number: int, watched: Sequence[GitWatch], command: Sequence[str] = (), notes: Sequence[str] = ()
    ) -> list[str]:
        """After the command that `begin` gave this number: put aside what appeared in a protected place, and say so.

        `notes` are what there is to say of it already.
        """
        found: list[Note] = list(notes)
        with self._lock:
            self._aside.next()
            for one in watched:
                for path in list(appeared_in(one)):
                    self._put_aside(path, found, one.base or os.path.dirname(path))
                put_head_back(one)
            if self._known is not None and number in self._running:
                if self._lifted:  # what git took away is no longer known by numbers, which other files get now
                    self._scanner.forget(path for kind, path, _ in self._known.places if kind in (KEPT, FROM_GIT))
                    if self._running[number].network:
                        self._by_git().learn()
                guarded = self._look_over(self._scan(number), found, number)
                if self._writes_git(grant := self._running[number]):
                    guarded = self._settle_git(guarded, grant, found)
                self._known = KnownPlaces(guarded.places - self._stuck, guarded.homes)
            self._running.pop(number, None)
            if self._running:
                self._write_down()
            elif self._record and not self._stuck:
                self._record.commands_are_over()
            told = notices(tuple(command), found, home()) + notices((), self._notes, home())
            self._notes.clear()
            self._told += told
        return told

    def put_right(self) -> list[str]:
        """What was said of what was put aside, since the last time that somebody asked."""
        with self._lock:
            told, self._told = self._told, []
        return told

    def close(self) -> None:
        """What was not checked, because a command ended without a report, is left for the next session to report."""
        if self._record is None:
            return
        with self._lock:
            if self._running and not self._stuck:
                guarded = self._scanner.scan()
                known = self._known or KnownPlaces()
                if not new_places(known.places, known.homes, guarded, guarded.homes):
                    self._record.commands_are_over()
            self._record.close()

    def _write_down(self, watched: tuple[GitWatch, ...] = ()) -> None:
        """Commands run: what stands here now is on disk, should this process be killed."""
        if self._record is None:
            return
        committing = any(Effect.COMMIT in grant.effects for grant in self._running.values())
        known = self._known or KnownPlaces()
        self._record.commands_run(PlacesBefore(known.places, known.homes, self._scanner.closed, watched, committing))
        if self._record.problem and self._record.problem not in self._notes:
            self._notes.append(self._record.problem)

    def _watched(self, guarded: ProtectedScan, grant: Grant) -> tuple[GitWatch, ...]:
        """The git folders that the command may write, as they are."""
        found, writes = [], self._writes_git(grant)
        for git in dict.fromkeys((*guarded.repositories, *guarded.bare)):
            if any(below(git, root) for root in grant.write_roots):
                whole = writes and os.path.isdir(git)
                found.append((watch if whole else watch_taken)(self._root, git, in_tree(git, self._root)))
                found += [watch(outside, outside) for outside in linked(git, self._root)] if writes else []
        return tuple(found)

    def _writes_git(self, grant: Grant) -> bool:
        return Effect.COMMIT in grant.effects or not self._covers_git

    def _by_git(self) -> GitChanges:
        from quintet.adapters.protected.git_changes import GitChanges  # 8 ms, and most commands do not commit

        self._brought = self._brought or GitChanges(self._root, self._protection)
        return self._brought

    def _settle_git(self, guarded: ProtectedScan, grant: Grant, notes: list[Note]) -> ProtectedScan:
        """Put back what a command brought by git, and look again if anything was moved."""
        moved: list[str] = []

        def aside(path: str) -> None:
            moved.append(path)
            self._put_aside(path, notes)
            self._scanner.forget((path,))

        notes += self._by_git().settle(guarded, grant, aside)
        return self._scan() if moved else guarded

    def _look_over(self, guarded: ProtectedScan, notes: list[Note], ended: int = 0) -> ProtectedScan:
        """Move aside what is new, and look again if anything was.

        What git makes may stay if one command runs, and that one commits: another, of any session, could have made it,
        or change it.
        """
        committing = [Effect.COMMIT in grant.effects for grant in self._running.values()] == [True]
        committing = committing and not (self._record and self._record.others_running())
        known = self._known or KnownPlaces()
        new = new_places(known.places, known.homes, guarded, guarded.homes)
        new = [place for place in new if not self._brought_in(place, guarded, notes)]
        wrong = {place: path_to_move(place) for place in new if not self._stays(place, committing)}
        moved = [path for path in wrong.values() if path and self._put_aside(path, notes)]
        self._stuck = frozenset(place for place, path in wrong.items() if path and path not in moved)
        self._scanner.forget(moved)
        return self._scan(ended) if moved else guarded

    def _brought_in(self, place: Place, guarded: ProtectedScan, notes: list[Note]) -> bool:
        """Whether something new is what git brought from what it held before, or the user by git beside the command."""
        kind, path, link = place
        sealed = self._covers_git and not any(Effect.COMMIT in grant.effects for grant in self._running.values())
        if kind not in (KEPT, FROM_GIT) or link or not (sealed or self._lifted):
            return False
        if not self._by_git().holds(path, guarded, sealed=sealed):
            return False
        notes.append(KeptFromGit(os.path.relpath(path, self._root)))
        return True

    def _stays(self, place: Place, committing: bool) -> bool:
        """Whether something new is what a command that commits makes by git."""
        kind, path, _ = place
        return committing and (kind == FROM_GIT or (kind == REPOSITORY and as_git_makes(self._root, path)))

    def _put_aside(self, path: str, notes: list[Note], base: str = "") -> bool:
        """Whether the path is free now; the note of what was done goes to `notes`."""
        done = self._aside.put(path, base)
        notes += [done] if done else []
        return done is None or bool(done.now)
