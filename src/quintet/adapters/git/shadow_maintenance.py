"""Keeps the shadow repository small and whole: copies what it borrows, packs what is loose, drops what is too old.

All by itself, in the background: the lock that checkpoints wait for is held for moments only, and what somebody touched
meanwhile stays. Two processes do not tidy at once.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Collection, Iterable, Mapping

from quintet.adapters.git.run_git import STOP, GitStop, GitStopped, git_program
from quintet.adapters.git.shadow_git import ShadowGit

MOST_PACKS = 20
IN_FLIGHT_SECONDS = 600.0  # what is younger may belong to a checkpoint that is not on the list yet
LOWEST_PRIORITY = 19


class Roots:
    """The list of what is kept: a line for each, the turn or rewind it belongs to and its name."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "roots")

    def add(self, point: str, names: Iterable[str]) -> None:
        lines = "".join(f"{point} {name}\n" for name in names)
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, lines.encode())
        finally:
            os.close(handle)

    def read(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), open(self._path, encoding="utf-8") as file:
            for line in file:
                point, _, name = line.strip().partition(" ")
                found.setdefault(point, []).append(name)
        return found

    def drop_oldest(self, keep: int) -> bool:
        """Forget all but the newest, once there are a quarter too many; returns whether any was."""
        found = self.read()
        if not keep or len(found) <= keep + keep // 4:
            return False
        self._write(dict(list(found.items())[-keep:]))
        return True

    def drop(self, points: Collection[str]) -> None:
        self._write({point: names for point, names in self.read().items() if point not in points})

    def _write(self, points: Mapping[str, list[str]]) -> None:
        handle = os.open(f"{self._path}.new", os.O_WRONLY | os.O_TRUNC | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            file.writelines(f"{point} {name}\n" for point, names in points.items() for name in dict.fromkeys(names))
        os.replace(f"{self._path}.new", self._path)


class ShadowMaintenance:
    """One run at a time; `stop` ends it at once, and leaves everything as good as it was."""

    def __init__(self, shadow: ShadowGit, roots: Roots) -> None:
        self._shadow = shadow
        self._roots = roots
        self._stop = GitStop()

    def stop(self) -> None:
        self._stop.now()

    def run(self, keep: int) -> None:
        if not self._shadow.there:
            return
        STOP.set(self._stop)  # of this thread's context: what looks at the files ends, too
        with (
            contextlib.suppress(BlockingIOError, GitStopped),
            self._shadow.locked("tidy.lock", wait=False) as handle,
        ):
            self._tidy(handle, keep)

    def _tidy(self, handle: int, keep: int) -> None:
        folder = os.path.join(self._shadow.objects, "pack")
        with self._shadow.locked() as lock:
            dropped = self._roots.drop_oldest(keep)
            roots = {name for names in self._roots.read().values() for name in names if name}
            loose = self._loose()
            packs = [name for name in os.listdir(folder) if name.endswith(".pack")] if os.path.isdir(folder) else []
            begun = time.time()
            self._sweep(folder)
            self._shadow.refresh(lock)
        if not roots:
            return
        given = "\n".join([*roots, ""]).encode()
        listed = self._git(
            handle, "rev-list", "--objects", "--no-object-names", "--missing=allow-any", "--ignore-missing", "--stdin",
            given=given,
        )  # fmt: skip
        if listed is None:
            return
        anew = dropped or len(packs) >= MOST_PACKS
        known = [] if anew else [f"--keep-pack={name}" for name in packs]
        target = os.path.join(folder, "pack")
        made = self._git(
            handle, "pack-objects", "-q", "--threads=1", "--non-empty", "--delta-base-offset", *known, target,
            given=listed,
        )  # fmt: skip
        if made is None:
            return
        with self._shadow.locked():
            if anew:
                self._remove_packs(folder, packs, f"pack-{made.decode().strip()}.pack", begun)
            packed = set(listed.decode("ascii").split())
            for path, name in loose:
                with contextlib.suppress(FileNotFoundError):
                    touched = os.stat(path).st_mtime
                    if name in packed or touched < begun - IN_FLIGHT_SECONDS:
                        os.unlink(path)

    def _sweep(self, folder: str) -> None:
        """Parts of packs that a git which was killed left: nobody else is at work here."""
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            if name.startswith("tmp_"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(folder, name))

    def _remove_packs(self, folder: str, packs: list[str], made: str, begun: float) -> None:
        """Those that the new one replaces; one that git touched since holds something that is wanted again."""
        for name in packs:
            path = os.path.join(folder, name)
            with contextlib.suppress(FileNotFoundError):
                if name != made and os.stat(path).st_mtime <= begun:
                    for ending in (".idx", ".rev", ".pack"):  # without its index a pack is none
                        with contextlib.suppress(FileNotFoundError):
                            os.unlink(path.removesuffix(".pack") + ending)

    def _loose(self) -> list[tuple[str, str]]:
        found = []
        for folder in os.listdir(self._shadow.objects) if os.path.isdir(self._shadow.objects) else []:
            if len(folder) == 2:
                above = os.path.join(self._shadow.objects, folder)
                found += [(os.path.join(above, name), folder + name) for name in os.listdir(above)]
        return found

    def _git(self, handle: int, *arguments: str, given: bytes) -> bytes | None:
        """What git prints; None if it failed, and then nothing is thrown away. GitStopped if it was stopped."""
        self._stop.check()
        with (
            subprocess.Popen(
                (git_program(), *arguments),
                cwd=self._shadow.root,
                env=self._shadow.environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=(handle,),
            ) as child,
            self._stop.watch(child),
        ):
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, child.pid, LOWEST_PRIORITY)
            said, _ = child.communicate(given)
        self._stop.check()
        return said if child.returncode == 0 else None
