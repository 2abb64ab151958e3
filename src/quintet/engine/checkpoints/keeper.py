"""Takes checkpoints while a session works: before the first call of a turn that may write, and around each such call.

What a call changed is known exactly for the file tools; for everything else it is what differs between a snapshot right
before and one right after, which is taken while the model already thinks on. Keeping files never fails a call: where it
cannot be done, the user is told once.
"""

from __future__ import annotations

import asyncio
import contextlib

from msgspec import Struct

from quintet.domain.base.errors import QuintetError
from quintet.domain.journal.file_changes import FOLDER, FileChange, same, uncovers
from quintet.domain.journal.protocol import CheckpointTaken, Event, FilesChanged, Noticed
from quintet.domain.ports.ports import Checkpoints, Snapshot
from quintet.engine.session.core import Core
from quintet.engine.session.journal import Journal
from quintet.engine.turn.toolbox import Prepared

MOST_PATHS = 20  # named in an event
NO_SNAPSHOT = "the project's files could not be kept, so /rewind can take back what file tools change, and nothing else"
NO_GIT = "git is not here, so /rewind can take back what file tools change, and nothing that commands do"


class Watched(Struct):
    """A call that may write, and how things were before it."""

    point: str
    call: str
    tree: str = ""
    states: dict[str, str] | None = None  # of the very files it writes, where those are known


class CheckpointKeeper:
    """The checkpoints of one session; its calls come one after the other."""

    def __init__(self, core: Core, journal: Journal) -> None:
        self._journal = journal
        self._keep = core.settings.checkpoints.keep
        self._checkpoints: Checkpoints | None = core.checkpoints if core.settings.checkpoints.enabled else None
        self._point = ""  # the turn that has its checkpoint
        self._told: set[str] = set()
        self._failed = False
        self._looking: asyncio.Task[None] | None = None
        self._tidying: asyncio.Task[None] | None = None
        self._new = True  # whether there is something to tidy; a former session may have left it

    async def before(self, turn: str, calls: list[Prepared]) -> tuple[Watched | None, list[Event]]:
        """To be called before the calls have any effect, with what has to be on record before."""
        writers = [one for one in calls if one.decision.grant.write_roots]
        if self._checkpoints is None or not writers:
            return None, []
        await self.settle()
        try:
            return await self._watch(self._checkpoints, turn, writers[0])
        except QuintetError as error:
            self._tell("CHECKPOINT", f"no checkpoint could be taken: {error}")
            return None, []

    async def _watch(self, kept: Checkpoints, turn: str, one: Prepared) -> tuple[Watched | None, list[Event]]:
        first = turn != self._point
        paths = self._exactly(kept, one)
        events: list[Event] = []
        taken = await self._snapshot(kept, turn) if first or paths is None else None
        if first:
            lacking = taken.lacking[:MOST_PATHS] if taken else ()
            shown = tuple(path.encode("utf-8", "replace").decode() for path in lacking)
            events.append(CheckpointTaken(point=turn, tree=taken.tree if taken else "", lacking=shown))
            self._point = turn
            self._begin_tidying()
        if paths is not None:
            return Watched(turn, one.call.id, states=await kept.keep(turn, paths)), events
        return (Watched(turn, one.call.id, taken.tree) if taken else None), events

    async def _snapshot(self, kept: Checkpoints, turn: str) -> Snapshot | None:
        """All files as they are; where that once failed it is not tried again, for it may have taken long."""
        if not kept.whole:
            self._tell("NO_GIT", NO_GIT)
        elif not self._failed:
            try:
                taken = await kept.snapshot(turn)
            except QuintetError as error:
                self._failed = True
                self._tell("CHECKPOINT", f"{NO_SNAPSHOT}: {error}")
            else:
                self._new = True
                return taken
        return None

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
        if watched.states is None:
            self._looking = asyncio.create_task(self._look(kept, watched))
            return []
        try:
            now = await kept.keep(watched.point, watched.states)
            files = [FileChange(p, was, now[p]) for p, was in watched.states.items() if not same(was, now[p])]
            if not files:
                return []
            self._new = True
            counts = await kept.lines([(f.before, f.after) for f in files])
        except QuintetError as error:
            self._tell("CHECKPOINT", f"what {watched.call} changed could not be kept: {error}")
            return []
        added, removed = (sum(pair[side] for pair in counts) for side in (0, 1))
        return [_changed(watched, files, added, removed, exact=True)]

    async def _look(self, kept: Checkpoints, watched: Watched) -> None:
        try:
            taken = await kept.snapshot(watched.point)
            if taken.tree == watched.tree:
                return
            compared = await kept.compare(watched.tree, taken.tree)
        except QuintetError as error:
            self._tell("CHECKPOINT", f"what {watched.call} changed is not known: {error}")
            return
        self._new = True
        with contextlib.suppress(Exception):  # a journal that is broken has said so to its owner
            self._journal.post(
                _changed(watched, compared.changes, compared.added, compared.removed, exact=False, after=taken.tree)
            )

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
    watched: Watched, files: list[FileChange], added: int, removed: int, *, exact: bool, after: str = ""
) -> FilesChanged:
    shown = [file.path for file in files if not {file.before, file.after} <= {FOLDER, ""}]
    paths = tuple(path.encode("utf-8", "replace").decode() for path in shown[:MOST_PATHS])
    return FilesChanged(
        point=watched.point,
        call=watched.call,
        before=watched.tree,
        after=after,
        files=tuple(files) if exact else (),
        paths=paths,
        count=len(shown),
        added=added,
        removed=removed,
        unsure=not exact and uncovers(files),
    )
