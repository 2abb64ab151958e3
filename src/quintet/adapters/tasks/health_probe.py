"""Port `HealthProbe`: a project's state, git, disks and programs, looked at and left as they are."""

from __future__ import annotations

import os
from collections.abc import Callable
from shutil import which

from quintet.adapters.files.paths import Places
from quintet.adapters.git.git_folders import git_folders
from quintet.adapters.sqlite.database import clear_errors, open_to_read
from quintet.adapters.sqlite.rows import Rows
from quintet.adapters.sqlite.task_rows import TaskRows
from quintet.adapters.tasks.task_folder import TaskFolder
from quintet.domain.base.errors import StoreDamaged, StoreError
from quintet.domain.ports.ports import SessionRow
from quintet.domain.ports.tasks import Claim
from quintet.domain.tasks.drift import Scan, scan
from quintet.domain.tasks.health import Finding, OwnPrompts
from quintet.domain.turn.tool_spec import MachinePart
from quintet.package import FOLDER, changed_since_start, load

# What git leaves in its folder while it is in the middle of something.
_UNFINISHED = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}
_BUILTINS = frozenset({".", ":", "[", "[[", "cd", "echo", "eval", "exec", "exit", "export", "false", "printf", "pwd"})
_BUILTINS |= {"set", "source", "test", "trap", "true", "ulimit", "unset"}


class ProjectHealth:
    def __init__(
        self,
        places: Places,
        parts: Callable[[], list[MachinePart]],
        of_features: Callable[[bool], list[Finding]] = lambda thorough: [],
        own_prompts: Callable[[], OwnPrompts] = OwnPrompts,
    ) -> None:
        self._places = places
        self.parts = parts
        self.of_features = of_features
        self.own_prompts = own_prompts

    def store_problem(self, thorough: bool) -> StoreError | None:
        path = self._places.database
        try:
            with clear_errors(path):
                connection = open_to_read(path)
                if connection is None:
                    return None
                said = str(connection.pragma("quick_check")) if thorough else "ok"
                rows = Rows(connection, path)
                rows.sessions(1)
                TaskRows(connection, path).tasks()
                if thorough and said == "ok":
                    rows.read_through()
            return None if said == "ok" else StoreDamaged(f"{path}: {said}")
        except StoreError as error:
            return error

    def sessions(self) -> list[SessionRow]:
        path = self._places.database
        with clear_errors(path):
            connection = open_to_read(path)
            return Rows(connection, path).sessions() if connection else []

    def _task_rows(self) -> TaskRows | None:
        path = self._places.database
        connection = open_to_read(path)
        return TaskRows(connection, path) if connection else None

    def tasks(self) -> Scan:
        folder = TaskFolder(self._places.root, self._places.runs)
        with clear_errors(self._places.database):
            rows = self._task_rows()
            return scan(rows.tasks() if rows else [], folder.found(), folder.read)

    def claims(self) -> dict[str, Claim]:
        with clear_errors(self._places.database):
            rows = self._task_rows()
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
        own = os.path.join(os.path.realpath(self._places.root), "")
        return "" if FOLDER.startswith(own) else changed_since_start()

    def missing_programs(self, line: str) -> list[str]:
        script = load("adapters.shell_grammar.parse:BashGrammar")().parse(line)  # few tasks have such a line
        words = [command.words[0] for command in script.commands if command.words]
        names = dict.fromkeys(word.text for word in words if not word.dynamic and not word.glob)
        own = {span.name for span in script.spans}
        return [name for name in names if name not in _BUILTINS | own and not is_here(name, self._places.root)]


def is_here(program: str, root: str) -> bool:
    """Whether there is a program of that name on PATH, or at that path of the project. It is not started."""
    if "/" in program:
        return os.access(os.path.join(root, os.path.expanduser(program)), os.X_OK)
    return which(program) is not None
