"""What workers will change, and who waits for whom: files, folders, lines of a file, or what it declares.

A task's claim is what its page says (`intent`); without that it is the first write. A write outside the claim widens
it where that is free. Of two tasks that want the same, the one that comes later in the plan waits. Looking something up
costs as much as its path has folders, however many claims there are.

A claim by symbol holds the lines that the index gives for it in one content of the file. A symbol that the index does
not know there, and lines of two contents, count as the whole file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct, structs

from quintet.domain.tasks.task import Intent


class Overlap(Struct, frozen=True, gc=False):
    """A claim that is in the way of another."""

    task: str  # whose it is
    path: str  # what both want, as the one that waits spells it


class SymbolLines(Struct, frozen=True):
    """Where a symbol stands in one content of its file."""

    first: int
    last: int
    content: str  # a digest of it


class PathClaims:
    """The claims of several tasks."""

    def __init__(self, claims: Mapping[str, Iterable[Intent]] | None = None) -> None:
        self._of: dict[str, list[Intent]] = {}
        self._at: dict[str, dict[str, list[Intent]]] = {}  # by path, then by task
        self._below: dict[str, dict[str, int]] = {}  # by folder: how many claims of a task lie below it
        for task, intents in (claims or {}).items():
            self.add(task, intents)

    def of(self, task: str) -> tuple[Intent, ...]:
        return tuple(self._of.get(task, ()))

    def add(self, task: str, intents: Iterable[Intent]) -> None:
        mine = self._of.setdefault(task, [])
        for intent in intents:
            if intent in mine:
                continue
            mine.append(intent)
            path = _key(intent.path)
            self._at.setdefault(path, {}).setdefault(task, []).append(intent)
            for folder in _folders(path):
                below = self._below.setdefault(folder, {})
                below[task] = below.get(task, 0) + 1

    def drop(self, task: str) -> None:
        for intent in self._of.pop(task, ()):
            path = _key(intent.path)
            at = self._at.get(path, {})
            at.pop(task, None)
            if not at:
                self._at.pop(path, None)
            for folder in _folders(path):
                below = self._below[folder]
                below[task] -= 1
                if not below[task]:
                    del below[task]
                if not below:
                    del self._below[folder]

    def in_the_way(self, task: str, wanted: Iterable[Intent]) -> list[Overlap]:
        """What others have claimed of what `task` wants, each of them once."""
        found: dict[str, Overlap] = {}
        for intent in wanted:
            for other in self._near(intent):
                if other != task and other not in found:
                    found[other] = Overlap(other, str(intent))
        return list(found.values())

    def covers(self, task: str, path: str) -> bool:
        """Whether a task has claimed all of a file, itself or by a folder above it."""
        places = (_key(path), *_folders(_key(path)))
        return any(not one.first for place in places for one in self._at.get(place, {}).get(task, ()))

    def names(self, task: str, path: str) -> bool:
        """Whether a task has claimed a file or some of its lines."""
        return self.covers(task, path) or task in self._at.get(_key(path), {})

    def _near(self, intent: Intent) -> Iterator[str]:
        path = _key(intent.path)
        for task, held in self._at.get(path, {}).items():
            if any(_same_lines(intent, one) for one in held):
                yield task
        for folder in _folders(path):
            yield from self._at.get(folder, ())
        yield from self._below.get(path, ())


def widening(claims: PathClaims, task: str, paths: Iterable[str]) -> tuple[Intent, ...]:
    """What a task has to claim before it writes these files: those that it has not named yet."""
    return tuple(Intent(path) for path in dict.fromkeys(paths) if not claims.names(task, path))


def waiting_circle(task: str, waits_for: Callable[[str], Iterable[str]]) -> tuple[str, ...]:
    """The tasks that wait for each other in a circle with this one, itself first; none if it is in no circle."""
    came_from: dict[str, str] = {}
    open_ = [task]
    while open_:
        at = open_.pop()
        for other in waits_for(at):
            if other == task:
                circle = [at]
                while circle[-1] != task:
                    circle.append(came_from[circle[-1]])
                return tuple(reversed(circle))
            if other not in came_from:
                came_from[other] = at
                open_.append(other)
    return ()


def gives_way(task: str, waits_for: Callable[[str], Iterable[str]], place: Callable[[str], tuple[str, str]]) -> bool:
    """Whether a task that waits has to stop and go back: it waits in a circle, and comes last of it in the plan."""
    circle = waiting_circle(task, waits_for)
    return bool(circle) and task == max(circle, key=place)


def with_lines(intent: Intent, found: SymbolLines | None) -> Intent:
    """A claim by symbol with the lines that were found for it; of what is unknown, the whole file."""
    if found is None:
        return structs.replace(intent, first=0, last=0, content="")
    return structs.replace(intent, first=found.first, last=found.last, content=found.content)


def _same_lines(one: Intent, other: Intent) -> bool:
    if one.moved(other):
        return True
    return not (one.first and other.first) or (one.first <= other.last and other.first <= one.last)


def _key(path: str) -> str:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return "/".join(parts)


def _folders(key: str) -> list[str]:
    """The folders above, the project itself first; of the project none."""
    if not key:
        return []
    parts = key.split("/")
    return ["/".join(parts[:count]) for count in range(len(parts))]
