"""Puts a session on record: its core, with a file beside it that holds what came in from outside."""

from __future__ import annotations

from quintet.adapters.files import state_files
from quintet.adapters.files.paths import Places
from quintet.domain.journal.protocol import Event
from quintet.domain.ports.ports import Lease
from quintet.engine.replay.record import header, recorded
from quintet.engine.replay.recorder import Recorder
from quintet.engine.session.core import Core


def on_record(
    core: Core, places: Places, lease: Lease, since: int, reason: str, opening: list[Event], agent: str
) -> Core:
    """The core with a recording of what comes into it; without one where none can be written."""
    try:
        file = state_files.RecordingFile(state_files.recording_path(places.runs, lease.session))
        state_files.drop_old_recordings(places.runs, max(1, core.settings.runs.keep_recordings))
    except OSError:
        return core
    recorder = Recorder(file, core.redactor)
    recorder.begin(header(core, lease, since, reason, opening, agent))

    async def close() -> None:
        recorder.close()

    core.ownership.closing = (*core.ownership.closing, close)
    return recorded(core, recorder, lease.session)
