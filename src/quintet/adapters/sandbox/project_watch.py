"""What every containment stands on: the project, what is protected in it, and looking over what a command left."""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from quintet.adapters.protected.git_watch import GitWatch, appeared_in, put_head_back, watch, watch_held, watch_taken
from quintet.adapters.protected.scan import FROM_GIT, KEPT, REPOSITORY, Guarded, Place, Scanner
from quintet.adapters.sandbox.host_mounts import below, home, interpreter, sweep
from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.protected_paths import Protection
from quintet.domain.shell.git_lines import brings_by_git

if TYPE_CHECKING:
    from quintet.adapters.protected.brought_by_git import BroughtByGit
    from quintet.adapters.protected.unsettled import Record
    from quintet.domain.permission.put_right import Note

SCRIPTS = os.path.dirname(os.path.realpath(__file__))
MINDER = os.path.join(SCRIPTS, "confine.py")
RUN_APART = ("confine.py", "inside.py", "kept_sandbox_init.py", "user_network.py")  # by an interpreter of their own
PRLIMIT = "/usr/bin/prlimit"
READING = frozenset({Effect.READ, Effect.FETCH})


class Walls(Struct, frozen=True):
    """A sandbox without a command; the same one for another command if all of this is the same."""

    argv: tuple[str, ...]
    cwd: str
    stands_on: tuple[tuple[int, int], ...]  # device and number of every file named


class Launch(Struct, frozen=True):
    """How a command is started."""

    argv: tuple[str, ...]
    cwd: str
    variables: dict[str, str] = {}  # on top of the children's environment
    watched: tuple[GitWatch, ...] = ()  # the git folders as they are
    number: int = 0  # of a command that may write the project, while it runs
    command: tuple[str, ...] = ()  # what runs behind the walls
    room: Walls | None = None  # in which it could run as well
    notes: tuple[str, ...] = ()  # what the walls could not give
    reports: int = 0  # which word is for the handle on which the sandbox tells that it stands; 0 if it does not
    closed: tuple[str, ...] = ()  # files of the project that the command cannot open
    covers: tuple[tuple[str, str, str], ...] = ()  # what lies on files of the project: fallen.py

    def reporting(self, handle: int) -> tuple[str, ...]:
        """The same with that report going to a handle."""
        return (*self.argv[: self.reports], str(handle), *self.argv[self.reports + 1 :])


class Begun(Struct, frozen=True):
    """What stands before a command: what is there to protect, the command's number, the git folders it may write."""

    guarded: Guarded
    number: int
    watched: tuple[GitWatch, ...]


class Ground(Struct):
    """What every containment stands on: the project, Quintet's own folders, and a scratch folder of the session's."""

    root: str
    private: tuple[str, ...]  # Quintet's own state and settings: never seen by a command
    scratch_parent: str
    file_bytes: int  # the largest file a command may write
    protection: Protection
    scanner: Scanner
    networks: tuple[str, ...] = ()  # programs that give a command a network of its own; none: this machine's
    records: str = ""  # the folder for what stands here while commands run; none: it is not written down
    made: str = ""
    scripts: str = SCRIPTS
    interpreter: str = ""
    covers_git: bool = False  # whether only a command that commits can write git's folders
    running: dict[int, Grant] = field(default_factory=dict)  # the commands that may write the project now
    _seen: frozenset[Place] | None = None
    _homes: dict[Place, tuple[int, int]] = field(default_factory=dict)  # the folders that these lie in, by number
    _stuck: frozenset[Place] = frozenset()  # appeared, and could not be moved: tried again after each command
    _notes: list[Note] = field(default_factory=list)  # not told yet
    _told: list[str] = field(default_factory=list)  # of what was put right, not taken yet
    _aside_in: str = ""  # the folder for what is moved aside now
    _record: Record | None = None
    lifted: bool = False  # the newest command is git's alone, and finds protected files of the work tree writable
    _brought: BroughtByGit | None = None
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        """What puts the walls up is nothing that a call can write: scripts in the project are copied at the start."""
        self.interpreter = interpreter(self.root)
        if below(SCRIPTS, self.root):
            from shutil import copyfile

            from quintet.adapters.processes.own_code import load_all

            self.scripts = self.scratch("walls/scripts")
            for name in RUN_APART:
                copyfile(os.path.join(SCRIPTS, name), os.path.join(self.scripts, name))
            load_all(self.root)

    def script(self, name: str) -> tuple[str, ...]:
        """The words that run one of these scripts; isolated, so that nothing beside it or in a project is loaded."""
        return (self.interpreter, "-I", "-S", self._compiled(name) or os.path.join(self.scripts, name))

    def _compiled(self, name: str) -> str:
        """What the import of a script left for the next: it is as new as what this process runs, and starts sooner."""
        module = sys.modules.get(f"{__package__}.{name.removesuffix('.py')}")
        path = getattr(module, "__cached__", None) or ""
        return path if self.scripts == SCRIPTS and below(path, SCRIPTS) and os.path.isfile(path) else ""

    def minded(self, argv: Sequence[str], walls: str = "{}") -> tuple[str, ...]:
        """Under a small parent that ends whatever the command leaves behind."""
        return (*self.script("confine.py"), walls, *argv)

    def scratch(self, name: str) -> str:
        """A folder that lives as long as the session: /tmp, an empty home."""
        if not self.made:
            self.made = os.path.join(self.scratch_parent, str(os.getpid()))
            sweep(self.scratch_parent)
        path = os.path.join(self.made, name)
        if not os.path.isdir(path):
            os.makedirs(path, mode=0o700, exist_ok=True)
        return path

    def hidden(self) -> list[str]:
        """Of Quintet's own folders, those a command would see in its project."""
        return [path for path in self.private if path.startswith(self.root + "/")]

    def bounded(self, argv: Sequence[str]) -> tuple[str, ...]:
        """With a limit on the size of files, where the machine has the program for it."""
        if not self.file_bytes or not os.path.exists(PRLIMIT):
            return tuple(argv)
        return (PRLIMIT, f"--fsize={self.file_bytes}", "--core=0", "--nproc=4096", "--", *argv)

    def begin(self, grant: Grant, held: Sequence[str] = (), command: Sequence[str] = ()) -> Begun:
        """Before a command. What appeared since the last look while another one ran is that one's: moved aside."""
        with self._lock:
            guarded = self.scanner.scan()
            if self._seen is not None and self.running:
                before = self._seen
                guarded = self._look_over(guarded, self._notes)
                # A command that still runs can change what it has made: that is judged again when it is over.
                self._stuck |= guarded.places - before - guarded.moved
                if guarded.lost:
                    names = ", ".join(os.path.relpath(path, self.root) for path in guarded.lost[:3])
                    raise ToolFailed(
                        f"{names}: protected, and moved away or replaced while a command runs; end that first"
                    )
            self._seen, self._homes = guarded.places - self._stuck, guarded.homes
            # Another command keeps its cover only as long as the file under it is not replaced.
            self.lifted = not self.running and not self.protection.home and brings_by_git(command, grant)
            number, watched = 0, tuple[GitWatch, ...]()
            if held or any(below(path, self.root) or below(self.root, path) for path in grant.write_roots):
                number = next(self._numbers)
                if self._writes_git(grant):
                    self._by_git().begin(guarded, grant, self.running.values(), self.covers_git, self.lifted)
                self.running[number] = grant
                watched = (*self._watched(guarded, grant), *([watch_held(held)] if held else []))
                self._write_down(watched)
            return Begun(guarded, number, watched)

    def before_writing(self) -> None:
        """Before a file tool writes: the first look, unless a command has had it."""
        with self._lock:
            if self._seen is None:
                guarded = self.scanner.scan()
                self._seen, self._homes = guarded.places, guarded.homes

    def moved(self, source: str, destination: str, asked: Sequence[str]) -> None:
        """After a file tool moved a folder: what came with it is known, and what nobody was asked about moved aside."""
        from quintet.adapters.protected.moved_aside import unwanted

        gone, came = (os.path.join(self.root, path) for path in (source, destination))
        known = {os.path.join(self.root, path) for path in asked}
        with self._lock:
            guarded = self.scanner.scan()
            wrong = [
                path
                for place in guarded.places - guarded.moved
                if below(place[1], came) and not any(below(place[1], one) or below(one, place[1]) for one in known)
                if (path := unwanted(place))
            ]
            put = [path for path in sorted(wrong) if self._aside(path, self._notes)]
            self.scanner.forget(put)
            guarded = self.scanner.scan() if put else guarded
            stayed = {place for place in self._seen or () if not below(place[1], gone)}
            new = {place for place in guarded.places if below(place[1], came)}
            self._seen = frozenset(stayed | new)
            self._homes = self._homes | {place: number for place, number in guarded.homes.items() if place in new}

    def _write_down(self, watched: tuple[GitWatch, ...] = ()) -> None:
        """Commands run: what stands here now is on disk, should this process be killed."""
        from quintet.adapters.protected.unsettled import Record, Stood

        if not self.records:
            return
        if self._record is None:
            self._record = Record(self.records, self.root)
        committing = any(Effect.COMMIT in grant.effects for grant in self.running.values())
        seen = self._seen or frozenset()
        self._record.under_way(Stood(seen, self._homes, self.scanner.closed, watched, committing))
        if self._record.problem and self._record.problem not in self._notes:
            self._notes.append(self._record.problem)

    def _watched(self, guarded: Guarded, grant: Grant) -> tuple[GitWatch, ...]:
        from quintet.adapters.protected.linked_git import in_tree, linked

        found, writes = [], self._writes_git(grant)
        for git in dict.fromkeys((*guarded.repositories, *guarded.bare)):
            if any(below(git, root) for root in grant.write_roots):
                whole = writes and os.path.isdir(git)
                found.append((watch if whole else watch_taken)(self.root, git, in_tree(git, self.root)))
                found += [watch(outside, outside) for outside in linked(git, self.root)] if writes else []
        return tuple(found)

    def settle(self, launch: Launch) -> list[str]:
        """After a command: put aside what appeared in a protected place, and say so."""
        if not launch.number:
            return list(launch.notes)
        notes: list[Note] = list(launch.notes)
        with self._lock:
            self._aside_in = ""
            for watched in launch.watched:
                for path in list(appeared_in(watched)):
                    self._aside(path, notes, watched.base or os.path.dirname(path))
                put_head_back(watched)
            if self._seen is not None and launch.number in self.running:
                if self.lifted:  # what git took away is no longer known by numbers, which other files get now
                    self.scanner.forget(path for kind, path, _ in self._seen if kind in (KEPT, FROM_GIT))
                    if self.running[launch.number].network:
                        self._by_git().learn()
                guarded = self._look_over(self.scanner.scan(), notes)
                if self._writes_git(grant := self.running[launch.number]):
                    guarded = self._settle_git(guarded, grant, notes)
                self._seen, self._homes = guarded.places - self._stuck, guarded.homes
            self.running.pop(launch.number, None)
            if self.running:
                self._write_down()
            elif self._record and not self._stuck:
                self._record.settled()
            told = self._worded(launch, notes) if notes or self._notes else []
            self._notes.clear()
            self._told += told
        return told

    def _writes_git(self, grant: Grant) -> bool:
        return Effect.COMMIT in grant.effects or not self.covers_git

    def _by_git(self) -> BroughtByGit:
        from quintet.adapters.protected.brought_by_git import BroughtByGit

        self._brought = self._brought or BroughtByGit(self.root, self.protection)
        return self._brought

    def _settle_git(self, guarded: Guarded, grant: Grant, notes: list[Note]) -> Guarded:
        """Put back what a command brought by git, and look again if anything was moved."""
        moved: list[str] = []

        def aside(path: str) -> None:
            moved.append(path)
            self._aside(path, notes)
            self.scanner.forget((path,))

        notes += self._by_git().settle(guarded, grant, aside)
        return self.scanner.scan() if moved else guarded

    def _worded(self, launch: Launch, notes: list[Note]) -> list[str]:
        from quintet.domain.permission.put_right import worded  # most often there is nothing to say

        return worded(launch.command, notes, home()) + worded((), self._notes, home())

    def put_right(self) -> list[str]:
        with self._lock:
            told, self._told = self._told, []
        return told

    def _look_over(self, guarded: Guarded, notes: list[Note]) -> Guarded:
        """Move aside what is new, and look again if anything was.

        What git makes may stay if one command runs, and that one commits: another, of any session, could have made it,
        or change it.
        """
        from quintet.adapters.protected.moved_aside import new_places, unwanted

        committing = [Effect.COMMIT in grant.effects for grant in self.running.values()] == [True]
        committing = committing and not (self._record and self._record.others_under_way())
        seen = self._seen or frozenset()
        new = new_places(seen, self._homes, guarded, guarded.homes)
        new = [place for place in new if not self._brought_in(place, guarded, notes)]
        wrong = {place: unwanted(place) for place in new if not self._stays(place, committing)}
        moved = [path for path in wrong.values() if path and self._aside(path, notes)]
        self._stuck = frozenset(place for place, path in wrong.items() if path and path not in moved)
        self.scanner.forget(moved)
        return self.scanner.scan() if moved else guarded

    def _brought_in(self, place: Place, guarded: Guarded, notes: list[Note]) -> bool:
        """Whether something new is what git brought from what it held before, or the user by git beside the command."""
        kind, path, link = place
        sealed = self.covers_git and not any(Effect.COMMIT in grant.effects for grant in self.running.values())
        if kind not in (KEPT, FROM_GIT) or link or not (sealed or self.lifted):
            return False
        from quintet.domain.permission.put_right import Brought

        if not self._by_git().holds(path, guarded, sealed=sealed):
            return False
        notes.append(Brought(os.path.relpath(path, self.root)))
        return True

    def _stays(self, place: Place, committing: bool) -> bool:
        """Whether something new is what a command that commits makes by git."""
        from quintet.adapters.protected.moved_aside import as_git_makes

        kind, path, _ = place
        return committing and (kind == FROM_GIT or (kind == REPOSITORY and as_git_makes(self.root, path)))

    def _aside(self, path: str, notes: list[Note], base: str = "") -> str:
        from quintet.adapters.protected.moved_aside import new_store, put_aside
        from quintet.domain.permission.put_right import Moved

        inside = below(path, self.root)
        name = os.path.relpath(path, self.root) if inside else path
        if not self._aside_in:  # one folder for all of one command
            self._aside_in = new_store(self.scratch_parent, next(self._numbers))
        try:
            moved = put_aside(base or self.root, path, self._aside_in, name if inside else "")
        except OSError as error:
            notes.append(Moved(name, wrong=error.strerror or str(error)))
            return ""
        if moved:
            notes.append(Moved(name, moved))
        return path

    def _close_record(self) -> None:
        """What was not judged, because its command is over and nobody said so, is left for the next session to tell."""
        if self._record is None:
            return
        with self._lock:
            if self.running and not self._stuck:
                from quintet.adapters.protected.moved_aside import new_places

                guarded = self.scanner.scan()
                if not new_places(self._seen or frozenset(), self._homes, guarded, guarded.homes):
                    self._record.settled()
            self._record.close()

    async def close(self) -> None:
        self._close_record()
        if self.made:
            import asyncio  # only a session closes; a lookup that probes must stay cheap
            from shutil import rmtree

            await asyncio.to_thread(rmtree, self.made, ignore_errors=True)


def installed_in(root: str) -> str:
    """What to say if Quintet itself, or the Python it runs on, lies in the project; empty if not."""
    places = (SCRIPTS, sys.prefix, sys.executable, os.path.realpath(sys.executable))
    if not any(below(path, root) for path in places):
        return ""
    return (
        "Quintet or its Python lies in this project: what changes there runs with your rights at the next start. An "
        "environment that Quintet runs from is read-only for commands; to let them install into it, install Quintet "
        "elsewhere (pipx install quintet)"
    )
