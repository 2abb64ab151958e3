"""Replays recordings, and holds the replay to its word: no process, no connection, nothing written."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quintet.adapters.files.paths import Places
from quintet.cli.replay import found, replayed
from quintet.domain.journal.recording import Recording
from quintet.engine.replay.replay import ReplayOutcome

FORBIDDEN = ("subprocess.", "os.posix_spawn", "os.fork", "os.exec", "os.system", "os.spawn", "pty.", "socket.connect")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
reached: list[str] = []
_watching = False


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watching:
        return
    if event.startswith(FORBIDDEN):
        reached.append(f"{event} {arguments}")
    elif event == "open" and "__pycache__" not in str(arguments[0]):
        _, how, flags = arguments
        if (isinstance(how, str) and set(how) & set("wax+")) or (flags and flags & WRITING):
            reached.append(f"{event} {arguments}")


sys.addaudithook(_audit)


@contextmanager
def watched() -> Iterator[None]:
    """What reaches out of the process in here is an error."""
    global _watching
    reached.clear()
    _watching = True
    try:
        yield
    finally:
        _watching = False
    assert reached == []


def recordings(state: Path) -> list[Path]:
    return sorted(state.rglob("recording.jsonl"))


def loaded(path: Path) -> Recording:
    """A recording with the events of its journal."""
    recording, _ = found(Places("", str(path.parents[2]), ""), path.parent.name)
    return recording


def replay(recording: Recording, turn: int = 0) -> ReplayOutcome:
    with watched():
        return replayed(recording, turn)
