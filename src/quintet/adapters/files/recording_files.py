"""Recordings on disk: one file a session, in the state folder, appended to and never synced; the oldest are dropped."""

from __future__ import annotations

import contextlib
import os

from quintet.adapters.files.private_files import private, private_folder

NAME = "recording.jsonl"
BUFFER = 65_536


def path_of(runs: str, session: str) -> str:
    return os.path.join(runs, session, NAME)


class RecordingFile:
    """Goes on with the recording of a session; what a crash left unfinished there is cut off first."""

    def __init__(self, path: str) -> None:
        private_folder(os.path.dirname(path))
        _end_whole(path)
        self._file = open(path, "ab", buffering=BUFFER, opener=private)  # noqa: SIM115
        self.write, self.flush = self._file.write, self._file.flush

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()


def _end_whole(path: str) -> None:
    """A line cut short by a crash is no line; what comes next must not be glued to it."""
    try:
        with open(path, "rb+") as file:
            size = file.seek(0, os.SEEK_END)
            at = size
            while at:
                start = max(0, at - BUFFER)
                file.seek(start)
                found = file.read(at - start).rfind(b"\n")
                at = start if found < 0 else start + found + 1
                if found >= 0:
                    break
            if at < size:
                file.truncate(at)
    except FileNotFoundError:
        pass


def drop_old(runs: str, keep: int) -> None:
    """Delete all recordings but the newest; what else a run left behind stays."""
    found = []
    with contextlib.suppress(OSError), os.scandir(runs) as folders:
        for folder in folders:
            path = os.path.join(folder.path, NAME)
            with contextlib.suppress(OSError):
                found.append((os.stat(path).st_mtime, path))
    for _, path in sorted(found)[: max(0, len(found) - keep)]:
        drop(path)


def drop(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
        os.rmdir(os.path.dirname(path))  # unless there is more in it


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
