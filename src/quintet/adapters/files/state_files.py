"""Files in a project's state folder, beside the database: artifacts of runs and recordings of sessions.

A recording is one file a session, appended to and never synced; the oldest are dropped.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import IO

import msgspec

from quintet.adapters.files.private_files import private, private_folder

RECORDING = "recording.jsonl"
BUFFER = 65_536


class Artifacts:
    """What a run leaves behind: a report as Markdown and as JSON, and pages to look at."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def keep(self, run: str, name: str, text: str, value: msgspec.Struct) -> str:
        """Write both forms; returns the path of the Markdown."""
        folder = os.path.join(self._folder, run)
        private_folder(folder)
        path = os.path.join(folder, f"{name}.md")
        with open(path, "w", encoding="utf-8", opener=private) as file:
            file.write(text)
        with open(os.path.join(folder, f"{name}.json"), "wb", opener=private) as file:
            file.write(msgspec.json.format(msgspec.json.encode(value)) + b"\n")
        return path

    def keep_page(self, run: str, name: str, pieces: Iterable[str]) -> str:
        """Write a page; returns its path."""
        folder = os.path.join(self._folder, run)
        private_folder(folder)
        path = os.path.join(folder, f"{name}.html")
        with open(path, "w", encoding="utf-8", errors="replace", opener=private) as file:
            file.writelines(pieces)
        return path

    def export(self, session: str, path: str, kind: str, text: str) -> str:
        """Write a conversation to a new file, or without a path among what is kept of the session."""
        kept = os.path.join(self._folder, session)
        if not path:
            private_folder(kept)
        with open(
            path or os.path.join(kept, f"conversation.{kind}"),
            "x" if path else "w",
            encoding="utf-8",
            errors="replace",
            opener=private,
        ) as file:
            file.write(text)
            return file.name


def recording_path(runs: str, session: str) -> str:
    return os.path.join(runs, session, RECORDING)


class RecordingFile:
    """Goes on with the recording of a session; what a crash left unfinished there is cut off first."""

    def __init__(self, path: str) -> None:
        private_folder(os.path.dirname(path))
        drop_torn_line(path)
        self._file = open(path, "ab", buffering=BUFFER, opener=private)  # noqa: SIM115
        self.write, self.flush = self._file.write, self._file.flush

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()


def drop_torn_line(path: str) -> None:
    """A line cut short by a crash is no line; what comes next must not be glued to it."""
    with contextlib.suppress(FileNotFoundError), open(path, "rb+") as file:
        whole = _whole_lines(file)
        if whole < file.seek(0, os.SEEK_END):
            file.truncate(whole)


def is_torn(path: str) -> bool:
    """Whether the last line of a recording was cut short."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return _whole_lines(file) < file.seek(0, os.SEEK_END)
    return False


def _whole_lines(file: IO[bytes]) -> int:
    """The bytes of a file up to the end of its last whole line."""
    at = file.seek(0, os.SEEK_END)
    while at:
        start = max(0, at - BUFFER)
        file.seek(start)
        found = file.read(at - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        at = start
    return 0


def drop_old_recordings(runs: str, keep: int) -> None:
    """Delete the recordings of all sessions but the newest, helpers' with them; what else a run left behind stays."""
    found: dict[str, list[tuple[float, str]]] = {}
    with contextlib.suppress(OSError), os.scandir(runs) as folders:
        for folder in folders:
            path = os.path.join(folder.path, RECORDING)
            with contextlib.suppress(OSError):
                written = os.stat(path).st_mtime
                found.setdefault(folder.name.partition(".")[0], []).append((written, path))
    for of_session in sorted(found.values(), key=max)[: max(0, len(found) - keep)]:
        for _, path in of_session:
            drop_recording(path)


def drop_recordings_of(runs: str, session: str) -> None:
    """Those of a session and of its helpers."""
    with contextlib.suppress(OSError):
        for name in os.listdir(runs):
            if name == session or name.startswith(f"{session}."):
                drop_recording(recording_path(runs, name))


def drop_recording(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
        os.rmdir(os.path.dirname(path))  # unless there is more in it


def read_recording(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
