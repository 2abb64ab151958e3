"""The points of a session that one can go back to, or fork at: before each turn, and before each rewind.

Read from the journal, so every process sees the same ones under the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from quintet.domain.base.errors import UsageError
from quintet.domain.journal import protocol as p
from quintet.domain.journal.call_events import KeptForCall
from quintet.domain.journal.reasons import EndCause, cause_of
from quintet.domain.ports.ports import Store
from quintet.domain.tasks import turn_titles
from quintet.domain.tasks.task import TaskStatus
from quintet.domain.turn.messages import EndStatus

KINDS = (
    *(*turn_titles.KINDS, "turn_finished", "checkpoint_taken", "files_changed", "rewound", "conversation_cleared"),
    *("task_moved", "noticed", "command_ran"),
)
LONGEST_TITLE = 60


class Point(Struct):
    number: int
    id: str
    at: str
    title: str
    start: int  # number of the first event that belongs to it
    end: int = 0  # of the last one; 0 while it goes on
    taken: bool = False  # whether there is a checkpoint
    partly: bool = False  # a checkpoint without a tree: only what file tools write is kept
    lacking: tuple[str, ...] = ()
    cut: bool = False  # its process ended before it did
    back_to: str = ""  # of a rewind of files, the point they went back to
    changes: list[p.FilesChanged] = field(default_factory=list)
    done: dict[str, str] = field(default_factory=dict)  # tasks that became done in it, with their titles
    learnt: dict[str, str] = field(default_factory=dict)  # what is remembered of it, by the command that deletes it
    unseen: list[p.CheckpointTaken] = field(default_factory=list)  # before calls of which nobody saw what they deleted

    @property
    def totals(self) -> tuple[int, int, int]:
        """Files, lines added, lines removed."""
        paths = {path for change in self.changes for path in change.paths}
        more = sum(change.count - len(change.paths) for change in self.changes)
        return len(paths) + more, sum(c.added for c in self.changes), sum(c.removed for c in self.changes)


def points_of(store: Store, session: str) -> list[Point]:
    found: dict[str, Point] = {}
    kept: dict[str, tuple[int, p.CheckpointTaken]] = {}
    changes: dict[str, list[p.FilesChanged]] = {}
    unseen: dict[str, dict[str, p.CheckpointTaken]] = {}
    titles = turn_titles.TurnTitles()
    for recorded in store.read(session, kinds=KINDS):
        said = titles.of(recorded.event)
        match recorded.event:
            case p.TurnStarted() as e:
                unsaid = "/compact" if e.order and e.order.kind == "compact" else "(continued)"
                title = " ".join(said.split())[:LONGEST_TITLE] or unsaid
                found[e.turn] = Point(len(found) + 1, e.turn, recorded.at, title, recorded.seq)
            case p.TurnFinished() as e if e.turn in found:
                found[e.turn].end = recorded.seq
                found[e.turn].cut = e.status == EndStatus.INTERRUPTED and cause_of(e.reason) is not EndCause.INTERRUPTED
            case p.TaskMoved(after=TaskStatus.DONE) as e if found:
                found[next(reversed(found))].done[e.task] = e.title
            case p.Noticed(takes_back=str() as command) as e if found:
                found[next(reversed(found))].learnt[command] = e.text
            case p.CommandRan(line=line):
                for point in found.values():
                    point.learnt.pop(line, None)
            case p.CheckpointTaken() as e:
                kept.setdefault(e.point, (recorded.seq, e))
                if isinstance(e.kept, KeptForCall):
                    unseen.setdefault(e.point, {})[e.kept.call] = e
            case p.FilesChanged() as e:
                unseen.get(e.point, {}).pop(e.call, None)
                changes.setdefault(e.point, []).append(e)
            case p.Rewound() as e:
                what = (
                    "files and conversation" if e.files and e.conversation else "files" if e.files else "conversation"
                )
                number = found[e.to].number if e.to in found else 0
                start = kept[e.point][0] if e.point in kept else recorded.seq
                title = f"(rewind to {number}: {what})"
                back_to = e.to if e.files else ""
                found[e.point] = Point(
                    len(found) + 1, e.point, recorded.at, title, start, recorded.seq, back_to=back_to
                )
            case p.ConversationCleared() as e:
                title = "(new conversation)"
                found[e.point] = Point(len(found) + 1, e.point, recorded.at, title, recorded.seq, recorded.seq)
    for point in found.values():
        point.changes = changes.get(point.id, [])
        point.unseen = list(unseen.get(point.id, {}).values()) if point.cut or not point.end else []
        if point.id in kept:
            checkpoint = kept[point.id][1]
            point.taken, point.partly, point.lacking = True, not checkpoint.tree, checkpoint.lacking
    return list(found.values())


def newest_change(points: Sequence[Point]) -> Point | None:
    """The last point whose changes to files stand."""
    return next((point for point in reversed(_standing(points)[0]) if point.changes), None)


def moved_by(points: Sequence[Point], to: Point) -> tuple[list[Point], list[Point]]:
    """The points whose files a rewind takes back, and those whose files it gives back."""
    now, before = _standing(points)
    then = before[to.id]
    kept, stood = {point.id for point in then}, {point.id for point in now}
    return [point for point in now if point.id not in kept], [point for point in then if point.id not in stood]


def _standing(points: Sequence[Point]) -> tuple[list[Point], dict[str, list[Point]]]:
    """The points whose files stand now, and those that stood before each.

    A rewind takes away those after it, and gives back what it undid.
    """
    standing: list[Point] = []
    before: dict[str, list[Point]] = {}
    for point in points:
        before[point.id] = list(standing)
        if point.back_to:
            standing = list(before.get(point.back_to, ()))
        else:
            standing.append(point)
    return standing, before


def point_at(points: list[Point], word: str) -> Point:
    """The point of a number, as a user writes it."""
    if not points:
        raise UsageError("there is no turn to rewind yet")
    if not word.isdecimal() or not 1 <= int(word) <= len(points):
        raise UsageError(f'"{word}": not one of 1 to {len(points)}; /rewind lists them')
    return points[int(word) - 1]
