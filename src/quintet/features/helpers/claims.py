"""What helpers that write have claimed: the files that each has begun to change, as long as it runs.

A helper waits for nobody: where another helper of the session, or a task of a worker, is at a file, it leaves the file
and says so. So two of them never wait for each other.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence

from quintet.adapters.files.paths import Places
from quintet.adapters.stores.chosen import stored_workers
from quintet.domain.base.wording import listed
from quintet.domain.ports.workers import Widened
from quintet.domain.workers.claims import Overlap, PathClaims, widening


class HelperClaims:
    def __init__(self, places: Places) -> None:
        self._places = places
        self._claims = PathClaims()

    def widen(self, helper: str, root: str) -> Callable[[Sequence[str]], Awaitable[Widened]]:
        """What a helper asks before it writes in its worktree."""

        async def widened(paths: Sequence[str]) -> Widened:
            inside = [os.path.relpath(os.path.join(root, path), root) for path in paths]
            return self._widened(helper, [path for path in inside if path != ".." and not path.startswith("../")])

        return widened

    def drop(self, helper: str) -> None:
        self._claims.drop(helper)

    def _widened(self, helper: str, paths: Sequence[str]) -> Widened:
        wanted = widening(self._claims, helper, paths)
        others = [*self._claims.in_the_way(helper, wanted), *self._workers().in_the_way(helper, wanted)]
        if others:
            return Widened(f"{_named(others)}: do not change it, and say so in your report")
        self._claims.add(helper, wanted)
        return Widened()

    def _workers(self) -> PathClaims:
        rows = stored_workers(self._places)
        if rows is None:
            return PathClaims()
        try:
            return PathClaims(rows.path_claims())
        finally:
            rows.close()


def _named(others: Sequence[Overlap]) -> str:
    return listed([f"{one.task} is changing {one.path}" for one in others])
