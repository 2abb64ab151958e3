"""Port `Plans`: a folder a run in the state folder, 0700, where planners leave their pages."""

from __future__ import annotations

import os
from collections.abc import Sequence

from quintet.adapters.files.paths import Places
from quintet.adapters.files.private_files import private, private_folder
from quintet.adapters.tasks.task_folder import MOST_BYTES, unwritable
from quintet.domain.base.errors import UsageError

MOST_PAGES = 1_000


class PlanFolder:
    def __init__(self, places: Places) -> None:
        self._plans = places.plans
        self._runs = places.runs

    def folder(self, run: str) -> str:
        path = os.path.join(self._plans, run)
        try:
            private_folder(path)
        except OSError as error:
            raise unwritable(path, error) from error
        return path

    def pages(self, run: str) -> list[tuple[str, str]]:
        folder = os.path.join(self._plans, run)
        names = sorted(name for name in _listed(folder) if name.endswith(".md") and name[0] != ".")
        if len(names) > MOST_PAGES:
            raise UsageError(f"{folder}: {len(names)} pages; a plan has at most {MOST_PAGES}")
        return [(name, _read(os.path.join(folder, name))) for name in names]

    def keep(self, run: str, pages: Sequence[tuple[str, str]]) -> None:
        fresh = f"{run}.kept"  # beside the planner's folder: what it left there goes when all of this is written
        self.clear(fresh)
        folder = self.folder(fresh)
        for name, text in pages:
            path = os.path.join(folder, name)
            try:
                with open(path, "x", encoding="utf-8", opener=private) as file:
                    file.write(text)
            except OSError as error:
                raise unwritable(path, error) from error
        self.clear(run)
        try:
            os.rename(folder, os.path.join(self._plans, run))
        except OSError as error:
            raise unwritable(folder, error) from error

    def clear(self, run: str) -> None:
        folder = os.path.join(self._plans, run)
        for name in _listed(folder):
            path = os.path.join(folder, name)
            try:
                if os.path.isdir(path) and not os.path.islink(path):
                    from shutil import rmtree

                    rmtree(path)
                else:
                    os.unlink(path)
            except OSError as error:
                raise unwritable(path, error) from error

    def output(self, run: str, call: str) -> str:
        folder = os.path.join(self._runs, run)
        try:
            private_folder(folder)
        except OSError as error:
            raise unwritable(folder, error) from error
        return os.path.join(folder, f"{call}.out")


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _read(path: str) -> str:
    """A page as a planner left it; what is no plain file of a sensible size is refused."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{os.path.basename(path)}: cannot be read ({error.strerror})") from None
    if len(data) > MOST_BYTES:
        raise UsageError(f"{os.path.basename(path)}: longer than {MOST_BYTES} bytes")
    return data.decode("utf-8-sig", "replace")
