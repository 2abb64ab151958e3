"""In which folders of the project this process writes files, on disk, so that it outlives a process that is killed.

A file is written beside the one it replaces, under a temporary name. The record says where such names may be: it is
one file in Quintet's state for each process that writes, locked as long as the process lives. One that nobody holds
was left by a kill: the next session removes what is in its folders, and the record.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable

from quintet.adapters.files.private_files import private_folder

MOST_BYTES = 1_000_000


class WriteRecord:
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._path = os.path.join(folder, f"{os.getpid()}-{time.time_ns()}")
        self._handle = -1
        self._noted: set[str] = set()

    def note(self, folder: str) -> None:
        """A folder of the project is about to be written to. Without a record it is written to all the same."""
        if folder in self._noted:
            return
        self._noted.add(folder)
        with contextlib.suppress(OSError):
            if self._handle < 0:
                private_folder(self._folder)
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                self._handle = os.open(self._path, flags, 0o600)
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(self._handle, os.fsencode(folder) + b"\0")

    async def close(self) -> None:
        if self._handle >= 0:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
            os.close(self._handle)
            self._handle = -1

    def left(self) -> list[str]:
        """The records of processes that were killed; nothing is changed."""
        found = []
        for path in self._paths():
            with contextlib.suppress(OSError):
                handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    found.append(path)
                finally:
                    os.close(handle)
        return found

    def _paths(self) -> list[str]:
        try:
            return [os.path.join(self._folder, name) for name in sorted(os.listdir(self._folder))]
        except OSError:
            return []

    def sweep(self, swept: Callable[[str], None]) -> None:
        """Hand over each folder that a killed process may have left something in, and forget its record."""
        for path in self._paths():
            with contextlib.suppress(OSError):
                handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # its process lives, if this cannot be done
                    for folder in os.read(handle, MOST_BYTES).split(b"\0")[:-1]:
                        swept(os.fsdecode(folder))
                    os.unlink(path)
                finally:
                    os.close(handle)
