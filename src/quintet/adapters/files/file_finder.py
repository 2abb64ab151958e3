"""Port `FileFinder`: a project's files by a few letters of their names, without those that git ignores.

The list comes from ripgrep, else from git, else from a walk of our own, once; after that its folders' times tell
whether it still holds. A list that may be old answers at once and is made anew meanwhile. Nothing of it runs in the
event loop. Candidates are found by frizbee, or where that is missing by a plain search, and ranked by `at_file`.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterable
from heapq import nsmallest
from itertools import islice
from typing import Any

from quintet.adapters.git.run_git import repository_view
from quintet.adapters.processes.processes import own_environment
from quintet.domain.input.at_file import ranked

try:
    import frizbee
except ImportError:  # there is no build of it for this machine
    frizbee = None  # type: ignore[assignment]

MOST_FILES = 300_000
CANDIDATES = 200  # taken of names and of whole paths, before they are ranked
MOST_NEAREST = 50  # answers to a query without letters
TRUSTED_SECONDS = 1.0  # a list is as good as new for so long
MOST_SECONDS = 30.0  # and is made anew after so long: a file in a folder that was empty changes no time we look at
MOST_FOLDERS = 20_000  # to look at; a bigger project's list is made anew each time
IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")


class FileListing:
    """The files as they were, shortest paths first, and what is needed to search them."""

    def __init__(self, root: str, paths: Iterable[str]) -> None:
        self.paths = sorted(paths, key=lambda path: (len(path), path))
        self.made = time.monotonic()
        self._root = root
        self._watched = self._to_watch()
        self._stamp = self._stamps()
        self._names = [path.rpartition("/")[2] for path in self.paths]
        self._fast = (frizbee.Haystacks(self._names), frizbee.Haystacks(self.paths)) if frizbee else None
        self._nearest = _nearest(self.paths)
        self._folded: list[str] = []

    def _to_watch(self) -> list[str]:
        folders = {""}
        watched = [os.path.join(".git", "info", "exclude")]
        for path in self.paths:
            folder, _, name = path.rpartition("/")
            if name in IGNORE_FILES:
                watched.append(path)
            while folder not in folders:
                folders.add(folder)
                folder = folder.rpartition("/")[0]
        return [] if len(folders) > MOST_FOLDERS else [*watched, *folders]

    def _stamps(self) -> list[int]:
        return [_time_of(os.path.join(self._root, path)) for path in self._watched]

    def holds(self) -> bool:
        age = time.monotonic() - self.made
        return age < TRUSTED_SECONDS or (age < MOST_SECONDS and bool(self._watched) and self._stamps() == self._stamp)

    def find(self, query: str, most: int) -> list[str]:
        if not query:
            return self._nearest[:most]
        if self._fast is None:
            return ranked(query, self._plainly(query), most)
        found = dict.fromkeys(index for haystacks in self._fast for index in _candidates(query, haystacks))
        return ranked(query, [self.paths[index] for index in found], most)

    def _plainly(self, query: str) -> Iterable[str]:
        """Candidates without frizbee: those that have the letters in a row, else in their order."""
        self._folded = self._folded or [path.lower() for path in self.paths]
        wanted = query.lower()
        found = [path for path, folded in zip(self.paths, self._folded, strict=True) if wanted in folded]
        if not found:
            scattered = re.compile(".*?".join(re.escape(letter) for letter in wanted)).search
            found = [path for path, folded in zip(self.paths, self._folded, strict=True) if scattered(folded)]
        return islice(found, 10 * CANDIDATES)


class ProjectFinder:
    def __init__(self, root: str, ripgrep: str = "rg") -> None:
        self._root = root
        self._ripgrep = ripgrep
        self._listing: FileListing | None = None
        self._lock = threading.Lock()

    def prepare(self) -> None:
        """Have the list made, so that the first search need not wait for it."""
        threading.Thread(target=self._listed, name="file-finder", daemon=True).start()

    async def find(self, query: str, most: int) -> list[str]:
        """The best files for a few letters; without letters those nearest to the root."""
        return await asyncio.to_thread(lambda: self._listed().find(query, most))

    async def renewed(self) -> bool:
        """Look whether the list still holds, and make it anew if not; whether that changed anything."""
        return await asyncio.to_thread(self._renew)

    def _listed(self) -> FileListing:
        if self._listing is None:
            with self._lock:
                if self._listing is None:
                    self._listing = FileListing(self._root, files_below(self._root, self._ripgrep))
        return self._listing

    def _renew(self) -> bool:
        before = self._listed()
        if before.holds():
            return False
        with self._lock:
            if self._listing is not before:
                return True
            self._listing = FileListing(self._root, files_below(self._root, self._ripgrep))
            return self._listing.paths != before.paths


def files_below(root: str, ripgrep: str) -> list[str]:
    """Every file below a folder that git does not ignore and whose name can be typed, relative to it."""
    argv = [ripgrep, "--no-config", "--no-messages", "--files", "--hidden", "--null", "--glob=!.git"]
    names = _listed_by(argv, root, own_environment())
    if names is None:
        with repository_view(root) as view:
            if view:
                argv = [*view.argv(("ls-files", "--cached", "--others", "--exclude-standard", "-z"))]
                names = _listed_by(argv, root, view.variables)
    return _walked(root) if names is None else [name for name in names if name.isprintable()]


def _listed_by(argv: list[str], root: str, environment: dict[str, str]) -> list[str] | None:
    try:
        child = subprocess.Popen(
            argv,
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    assert child.stdout
    names: list[str] = []
    rest = b""
    with child:
        while len(names) < MOST_FILES and (chunk := child.stdout.read(1 << 20)):
            *whole, rest = (rest + chunk).split(b"\0")
            names += [name.decode("utf-8", "surrogateescape") for name in whole]
        if len(names) >= MOST_FILES:
            child.kill()
    return names[:MOST_FILES] if names or child.returncode in (0, 1) else None  # rg ends with 1 where nothing is


def _walked(root: str) -> list[str]:
    found: list[str] = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        below = os.path.relpath(folder, root)
        found += [name if below == "." else f"{below}/{name}" for name in files if name.isprintable()]
        if len(found) >= MOST_FILES:
            break
    return found[:MOST_FILES]


def _nearest(paths: list[str]) -> list[str]:
    """The files nearest to the root, by the alphabet: what ranking all of them without a query gives, and quicker."""
    by_depth: dict[int, list[str]] = {}
    for path in paths:
        by_depth.setdefault(path.count("/"), []).append(path)
    found: list[str] = []
    for depth in sorted(by_depth):
        found += nsmallest(MOST_NEAREST - len(found), by_depth[depth])
        if len(found) == MOST_NEAREST:
            break
    return found


def _time_of(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _candidates(query: str, haystacks: Any) -> list[int]:
    return [match.index for match in frizbee.Matcher(query, max_items=CANDIDATES).match_list(haystacks)]
