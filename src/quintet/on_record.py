"""Puts a session on record: its core, with a file beside it that holds what came in from outside."""

from __future__ import annotations

from quintet.adapters import recording_files
from quintet.adapters.places import Places
from quintet.domain.ports import Lease
from quintet.domain.protocol import Event
from quintet.engine import recording
from quintet.engine.core import Core
from quintet.engine.recorder import Recorder


def on_record(
    core: Core, places: Places, lease: Lease, since: int, reason: str, opening: list[Event], agent: str
) -> Core:
    """The core with a recording of what comes into it; without one where none can be written."""
    try:
        file = recording_files.RecordingFile(recording_files.path_of(places.runs, lease.session))
        recording_files.drop_old(places.runs, max(1, core.settings.runs.keep_recordings))
    except OSError:
        return core
    recorder = Recorder(file, core.redactor)
    recorder.begin(recording.header(core, lease, since, reason, opening, agent))

    async def close() -> None:
        recorder.close()

    core.closing = (*core.closing, close)
    return recording.recorded(core, recorder, lease.session)
