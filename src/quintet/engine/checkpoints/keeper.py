"""Takes checkpoints while a session works: before the first call of a turn that may write, and around each such call.

What a call changed is known exactly for the file tools; for everything else it is what differs between a snapshot right
before and one right after, which is taken while the model already thinks on. Keeping files never fails a call: where it
cannot be done, the user is told once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from msgspec import Struct, structs

from quintet.domain.base.errors import QuintetError, ToolFailed
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.journal.call_events import KeptForCall
from quintet.domain.journal.file_changes import FileChange, names_folder, same, uncovers
from quintet.domain.journal.protocol import CheckpointTaken, Event, FilesChanged, Noticed, Working
from quintet.domain.permission.gate import Verdict
from quintet.domain.ports.ports import Checkpoints, Covered, Snapshot
from quintet.engine.session.core import Core
from quintet.engine.session.journal import Journal
from quintet.engine.turn.toolbox import Prepared

MOST_PATHS = 20  # named in an event
NO_SNAPSHOT = "the project's files could not be saved, so /rewind can restore only what file tools change"
NO_GIT = "git is not installed, so /rewind can restore what file tools change, but not what commands change"
OFF = "checkpoints are off, so /rewind could not restore anything"
FAILED = "the project's files could not be saved in this session, so /rewind could not restore anything"
KEEPING = "saving the project's files for /rewind"
SHOWN_SECONDS = 0.7  # after which keeping files is shown, and how often
FRESH_SECONDS = 1.0  # what was kept before is older than the call: somebody was asked, or the machine is slow

T = TypeVar("T")


class WouldBeLost(ToolFailed):
    """What a call writes over is not kept."""


class Promise(Struct):
    """A call that may delete because all of it can be put back, and what was kept for it."""

    paths: tuple[str, ...]
    alone: bool
    named: tuple[str, ...]  # what else it writes
    kept: Covered | None  # None once another call came between
    at: float


class Watched(Struct):
    """A call that may write, and how things were before it."""

    point: str
    call: str
    tree: str = ""
    states: dict[str, str] | None = None  # of the very files it writes; with a tree, of what the tree does not hold


class CheckpointKeeper:
    """The checkpoints of one session; its calls come one after the other."""

    def __init__(self, core: Core, journal: Journal) -> None:
        self._journal = journal
        self._clock = core.clock
        self._keep = core.settings.checkpoints.keep
        self._checkpoints: Checkpoints | None = core.checkpoints if core.settings.checkpoints.enabled else None
        self._point = ""  # the turn that has its checkpoint
        self._promises: dict[tuple[str, str], Promise] = {}  # by turn and call
        self._told: set[str] = set()
        self._failed = False
        self._looking: asyncio.Task[None] | None = None
        self._tidying: asyncio.Task[None] | None = None
        self._new = True  # whether there is something to tidy; a former session may have left it

    async def cover(
        self, turn: str, call: str, paths: Sequence[str], *, alone: bool = False, named: Sequence[str] = ()
    ) -> str:
        """Why what a call deletes could not be put back; empty if what was kept just now holds all of it.

        `paths` are files, folders or shell patterns; with `alone` the call changes nothing else, and what is `named`
        it writes beside.
        """
        self._promises.pop((turn, call), None)
        self._let_go(turn)
        if self._checkpoints is None:
            return OFF
        if self._failed:
            return FAILED
        await self.settle()
        try:
            found = await self._shown(
                self._checkpoints, self._checkpoints.cover(turn, list(paths), alone=alone, named=named)
            )
        except QuintetError as error:
            return f"the project's files could not be saved ({error}), so /rewind could not restore anything"
        if not found.reason:
            self._new = True
            self._promises[turn, call] = Promise(tuple(paths), alone, tuple(named), found, self._clock.monotonic())
        return found.reason

    async def before(self, turn: str, calls: list[Prepared]) -> tuple[Watched | None, list[Event]]:
        """To be called before the calls have any effect, with what has to be on record before.

        ToolFailed if a call was covered, and what it deletes can no longer be kept; or if it would write over what is
        not kept, and nobody was asked.
        """
        promised = next((one.call.id for one in calls if (turn, one.call.id) in self._promises), "")
        writers = [one for one in calls if one.decision.grant.write_roots]
        if self._checkpoints is None or not (writers or promised):
            return None, []
        await self.settle()
        covered = await self._kept_promise(turn, promised) if promised else None
        self._let_go(turn)
        try:
            if covered:
                return await self._watch_covered(self._checkpoints, turn, promised, *covered)
            return await self._watch(self._checkpoints, turn, writers[0])
        except WouldBeLost:
            raise
        except QuintetError as error:
            self._tell("CHECKPOINT", f"no checkpoint could be taken: {error}")
            return None, []

    def _let_go(self, turn: str) -> None:
        """What was kept for other calls is not what they will find."""
        self._promises = {key: promise for key, promise in self._promises.items() if key[0] == turn}
        for promise in self._promises.values():
            promise.kept = None

    async def _kept_promise(self, turn: str, call: str) -> tuple[tuple[str, ...], Covered]:
        """What was kept for a call, or is kept again if that is too long ago or another call came between."""
        promise = self._promises.pop((turn, call))
        if promise.kept and self._clock.monotonic() - promise.at <= FRESH_SECONDS:
            return promise.paths, promise.kept
        reason = await self.cover(turn, call, promise.paths, alone=promise.alone, named=promise.named)
        again = self._promises.pop((turn, call), None)
        if not again or not again.kept:
            raise ToolFailed(f"not run: {reason}")
        return promise.paths, again.kept

    async def _watch_covered(
        self, kept: Checkpoints, turn: str, call: str, paths: tuple[str, ...], covered: Covered
    ) -> tuple[Watched | None, list[Event]]:
        taken = Snapshot(covered.tree, covered.lacking) if covered.tree else None
        begun = [] if turn == self._point else self._begun(turn, taken or await self._snapshot(kept, turn))
        for_call = KeptForCall(call, paths, covered.states)
        first = [structs.replace(one, kept=for_call) for one in begun]
        return Watched(turn, call, covered.tree, covered.states), [
            *(first or [CheckpointTaken(point=turn, tree=covered.tree, kept=for_call)])
        ]

    async def _watch(self, kept: Checkpoints, turn: str, one: Prepared) -> tuple[Watched | None, list[Event]]:
        first = turn != self._point
        paths = self._exactly(kept, one)
        named = one.touch.writes if paths is None else ()
        taken = await self._snapshot(kept, turn, named) if first or paths is None else None
        if taken and taken.lost and one.decision.verdict is Verdict.ALLOW and not one.own_line:
            why = "is too large or not readable, so it is not saved and /rewind could not restore it"
            what = on_one_line(taken.lost)
            raise WouldBeLost(f"not run: {what} {why}. Rename it first, or write to another file")
        events: list[Event] = [*(self._begun(turn, taken) if first else ())]
        if paths is not None:
            return Watched(turn, one.call.id, states=await kept.keep(turn, paths)), events
        return (Watched(turn, one.call.id, taken.tree, taken.states or None) if taken else None), events

    def _begun(self, turn: str, taken: Snapshot | None) -> list[CheckpointTaken]:
        """The first checkpoint of a turn is on record with what it lacks."""
        lacking = taken.lacking[:MOST_PATHS] if taken else ()
        shown = tuple(path.encode("utf-8", "replace").decode() for path in lacking)
        self._point = turn
        self._begin_tidying()
        return [CheckpointTaken(point=turn, tree=taken.tree if taken else "", lacking=shown)]

    async def _snapshot(self, kept: Checkpoints, turn: str, named: Sequence[str] = ()) -> Snapshot | None:
        """All files as they are; where that once failed it is not tried again, for it may have taken long."""
        if not kept.whole:
            self._tell("NO_GIT", NO_GIT)
        elif not self._failed:
            try:
                taken = await self._shown(kept, kept.snapshot(turn, named))
            except QuintetError as error:
                self._failed = True
                self._tell("CHECKPOINT", f"{NO_SNAPSHOT}: {error}")
            else:
                self._new = True
                return taken
        return None

    async def _shown(self, kept: Checkpoints, keeping: Coroutine[Any, Any, T]) -> T:
        """What comes of it; while it takes long, how far it is."""
        task = asyncio.create_task(keeping)
        try:
            while not (await asyncio.wait({task}, timeout=SHOWN_SECONDS))[0]:
                done, total = kept.progress
                self._journal.signal(Working(what=KEEPING, done=done, total=total))
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    def _exactly(self, kept: Checkpoints, one: Prepared) -> list[str] | None:
        """The files the call writes, if its tool says exactly which; moving a folder moves more than is said."""
        touch = one.touch
        if not (one.spec.confined and touch.writes) or touch.lines or touch.shell:
            return None
        if one.spec.name == "fs_move" and kept.is_folder(touch.writes[0]):
            return None
        return kept.touched(touch.writes)

    async def after(self, watched: Watched | None) -> list[Event]:
        """To be called when the call is over; what is known at once of what it changed."""
        kept = self._checkpoints
        if watched is None or kept is None:
            return []
        if watched.tree:
            self._looking = asyncio.create_task(self._look(kept, watched))
            return []
        try:
            files = await self._told_changes(kept, watched)
            if not files:
                return []
            self._new = True
            counts = await kept.lines([(f.before, f.after) for f in files])
        except QuintetError as error:
            self._tell("CHECKPOINT", f"what {watched.call} changed could not be saved: {error}")
            return []
        added, removed = (sum(pair[side] for pair in counts) for side in (0, 1))
        return [_changed(watched, files, added, removed)]

    async def _told_changes(self, kept: Checkpoints, watched: Watched) -> list[FileChange]:
        """What became of the files that were kept one by one."""
        states = watched.states or {}
        now = await kept.keep(watched.point, states) if states else {}
        files = [FileChange(path, was, now[path]) for path, was in states.items() if not same(was, now[path])]
        made = [f.path for f in files if names_folder(f.after) and not names_folder(f.before)]
        inside = await kept.below(watched.point, made) if made else {}
        return [*files, *(FileChange(path, "", state) for path, state in inside.items() if path not in states)]

    async def _look(self, kept: Checkpoints, watched: Watched) -> None:
        told: list[FileChange] = []
        try:
            told = await self._told_changes(kept, watched)
            taken = await kept.snapshot(watched.point)
            if taken.tree == watched.tree and not told:
                return
            compared = await kept.compare(watched.tree, taken.tree)
            seen = {change.path for change in compared.changes}
            counts = await kept.lines([(f.before, f.after) for f in told if f.path not in seen]) if told else []
        except QuintetError as error:
            self._tell("CHECKPOINT", f"what {watched.call} changed is not known: {error}")
            if told:
                with contextlib.suppress(Exception):
                    self._journal.post(_changed(structs.replace(watched, tree=""), told, 0, 0))
            return
        self._new = True
        with contextlib.suppress(Exception):  # a journal that is broken has said so to its owner
            added, removed = compared.added + sum(c[0] for c in counts), compared.removed + sum(c[1] for c in counts)
            self._journal.post(_changed(watched, told, added, removed, compared.changes, after=taken.tree))

    async def settle(self) -> None:
        """Wait until everything that the calls so far changed is on record."""
        if self._looking:
            await asyncio.shield(self._looking)
            self._looking = None

    def rest(self) -> None:
        """A turn is over: tidy up while nobody waits."""
        if self._new and self._point:
            self._begin_tidying()

    def _begin_tidying(self) -> None:
        if self._checkpoints and self._new and (self._tidying is None or self._tidying.done()):
            self._new = False
            self._tidying = asyncio.create_task(self._tidy(self._checkpoints))

    async def _tidy(self, kept: Checkpoints) -> None:
        with contextlib.suppress(QuintetError):  # the next one may succeed; nothing is lost meanwhile
            await kept.tidy(self._keep)

    async def close(self) -> None:
        if self._checkpoints:
            await self._checkpoints.close()
        if self._tidying:
            await self._tidying

    def _tell(self, code: str, text: str) -> None:
        if code not in self._told:
            self._told.add(code)
            self._journal.post(Noticed(level="warning", code=code, text=text))


def _changed(
    watched: Watched,
    told: list[FileChange],
    added: int,
    removed: int,
    compared: Sequence[FileChange] = (),
    *,
    after: str = "",
) -> FilesChanged:
    """`told` one by one; `compared` are those that two trees show."""
    files = {file.path: file for file in (*compared, *told)}
    shown = [f.path for f in files.values() if not all(not s or names_folder(s) for s in (f.before, f.after))]
    paths = tuple(path.encode("utf-8", "replace").decode() for path in shown[:MOST_PATHS])
    return FilesChanged(
        point=watched.point,
        call=watched.call,
        before=watched.tree,
        after=after,
        files=tuple(told),
        paths=paths,
        count=len(shown),
        added=added,
        removed=removed,
        unsure=uncovers(compared),
    )
