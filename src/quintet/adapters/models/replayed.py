"""A model that answers what a recorded one answered, request by request; the tools run for real.

It says so, as an error, when the conversation is no longer the one that was recorded: other words of the user's,
another number of messages, or more requests than there were.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from quintet.adapters.files import state_files
from quintet.domain.base.errors import ModelBadResponse, SettingsError
from quintet.domain.journal import recording
from quintet.domain.journal.protocol import VERSION
from quintet.domain.turn.messages import Part, Request


class ReplayedModel:
    def __init__(self, path: str) -> None:
        self.name = f"replay:{path}"
        self._path = path
        self._digests = recording.Digests()
        self._asked = 0
        try:
            found = recording.read(state_files.read_recording(path), path, VERSION)
        except OSError as error:
            raise SettingsError(f"{self.name}: cannot be read ({error.strerror})") from None
        self._streams = [stream for segment in found.segments for stream in recording.streams(segment.entries)]
        self.staged = any(entry.value[1] for s in found.segments for entry in s.entries if _is_model(entry))

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        place, self._asked = self._asked, self._asked + 1
        if place >= len(self._streams):
            raise self._departed(place, f"the recording has only {len(self._streams)} requests")
        asked, entries = self._streams[place]
        now = self._digests.asked(request)
        if now.said != asked.said:
            raise self._departed(place, "the user said something else")
        if now.count != asked.count:
            raise self._departed(place, f"there were {asked.count} messages, now there are {now.count}")
        for entry in entries:
            if entry.fault and entry.fault.kind == recording.CANCELLED:
                raise self._departed(place, "the reply was incomplete there")
            if entry.fault:
                raise recording.error_of(entry.fault)
            if entry.kind != "reply.over":
                yield recording.part_of(entry)

    async def close(self) -> None:
        """Nothing is held open."""

    def _departed(self, place: int, why: str) -> ModelBadResponse:
        return ModelBadResponse(
            f"at request {place + 1} this conversation differs from {self._path}: {why}",
            hint="A recording can answer only its own conversation; continue with another model: /model NAME.",
        )


def _is_model(entry: recording.RecordEntry) -> bool:
    return entry.kind.startswith("model.") and entry.fault is None
