"""Port `HealthProbe`: a project's state, git, disks and programs, looked at and left as they are."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from quintet.adapters.files.paths import Places
from quintet.adapters.files.real_path import real_path
from quintet.adapters.git.git_folders import git_folders
from quintet.adapters.shell_grammar.programs import missing_programs
from quintet.adapters.sqlite.database import clear_errors
from quintet.adapters.stores.chosen import store_problem, stored_rows, stored_tasks
from quintet.adapters.tasks.row_pages import task_files
from quintet.domain.base.errors import StoreError
from quintet.domain.tasks.drift import Scan, scan
from quintet.domain.tasks.health import Finding, OwnPrompts
from quintet.package import FOLDER, changed_since_start

if TYPE_CHECKING:
    from quintet.domain.ports.ports import SessionRow
    from quintet.domain.ports.tasks import Claim
    from quintet.domain.turn.tool_spec import MachinePart

# What git leaves in its folder while it is in the middle of something.
_UNFINISHED = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}


class ProjectHealth:
    def __init__(
        self,
        places: Places,
        parts: Callable[[], list[MachinePart]],
        of_rooms: Callable[[bool], list[Finding]] = lambda thorough: [],
        own_prompts: Callable[[], OwnPrompts] = OwnPrompts,
        fix_rooms: Callable[[], list[str]] = list,
    ) -> None:
        self._places = places
        self.parts = parts
        self.of_rooms = of_rooms
        self.fix_rooms = fix_rooms
        self.own_prompts = own_prompts

    def store_problem(self, thorough: bool) -> StoreError | None:
        return store_problem(self._places, thorough)

    def sessions(self) -> list[SessionRow]:
        with clear_errors(self._places.database):
            rows = stored_rows(self._places)
            return rows.sessions() if rows else []

    def tasks(self) -> Scan:
        with clear_errors(self._places.database):
            rows = stored_tasks(self._places)
            tasks = rows.tasks() if rows else []
            files = task_files(self._places, lambda: tasks)
            return scan(tasks, files.found(), files.read)

    def claims(self) -> dict[str, Claim]:
        with clear_errors(self._places.database):
            rows = stored_tasks(self._places)
            return rows.claims() if rows else {}

    def free_bytes(self) -> list[tuple[str, int]]:
        disks: dict[int, tuple[str, int]] = {}
        for folder in (self._places.root, self._places.state):
            while not os.path.exists(folder):
                folder = os.path.dirname(folder)
            room = os.statvfs(folder)
            disks.setdefault(os.stat(folder).st_dev, (folder, room.f_bavail * room.f_frsize))
        return list(disks.values())

    def unfinished_git(self) -> str:
        folders = git_folders(self._places.root)
        if folders is None:
            return ""
        found = [doing for name, doing in _UNFINISHED.items() if os.path.exists(os.path.join(folders.own, name))]
        return found[0] if found else ""

    def changed_code(self) -> str:
        """Where the project is Quintet's own source tree, that is the work itself."""
        own = os.path.join(real_path(self._places.root), "")
        return "" if FOLDER.startswith(own) else changed_since_start()

    def missing_programs(self, line: str) -> list[str]:
        return missing_programs(line, self._places.root)
