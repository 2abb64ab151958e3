"""What the doctor looks at: work of helpers that were interrupted, and that nobody has continued."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from quintet.adapters.sqlite.database import clear_errors
from quintet.app.lookups import lives, stored
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity
from quintet.features.helpers.worktree import PREFIX, HelperTree

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup

ADVICE = (
    "Resume its session and have the same helpers started again: it continues there. `quintet doctor fix` commits what "
    "is there to its branch and removes the worktree."
)


HELPER_WORKTREE_LEFT = FindingKind(
    "HELPER_WORKTREE_LEFT",
    Severity.INFO,
    HealthScope.PROJECT,
    "A process was killed while a helper worked in a worktree of its own.",
    ADVICE,
    fixable=True,
)
KINDS = (HELPER_WORKTREE_LEFT,)


def helpers_left_nothing(checkup: Checkup) -> Iterator[Finding]:
    for session in _left(checkup):
        problem = f"helper {session} was interrupted, and its worktree is still there"
        yield HELPER_WORKTREE_LEFT.of(session, problem)


def keep_work(checkup: Checkup) -> list[str]:
    """Commit what interrupted helpers left to their branches; returns what was done."""
    done = []
    for session in _left(checkup):
        branch = HelperTree(checkup.places, session).keep(f"{session}: unfinished")
        where = f"its work is on {branch}" if branch else "it had changed nothing"
        done.append(f"removed the worktree of helper {session}; {where}")
    return done


def _left(checkup: Checkup) -> list[str]:
    """The helpers that have a worktree and no process, by their sessions."""
    folder = checkup.places.helper_trees
    rows = stored(checkup.places) if os.path.isdir(folder) else None
    if rows is None:
        return []
    found = []
    with clear_errors(checkup.places.database):
        for name in sorted(os.listdir(folder)):
            row = rows.session(name.removeprefix(PREFIX))
            if name.startswith(PREFIX) and not (row and lives(row)):
                found.append(name.removeprefix(PREFIX))
        rows.close()
    return found
