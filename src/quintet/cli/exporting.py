"""Writes a recording as one file that can be shared: its events with it, secrets and places taken out.

What is exported has been replayed: the run as it was, and again as it is in the file, so that it comes out equal there.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

import msgspec

from quintet.adapters.files.paths import Places
from quintet.cli.replay import parts, replayed
from quintet.domain.base.errors import Unplayable
from quintet.domain.base.redaction import Redaction, secrets_of
from quintet.domain.journal import recording as tape
from quintet.domain.journal.protocol import Event, Recorded, decode_event
from quintet.domain.journal.recording import Header, RecordEntry, Segment
from quintet.engine.replay.replay import Replay, lines, split
from quintet.surfaces.tables import say, say_json

TEXTS = ("reply.text", "reply.thinking")


def export(recording: tape.Recording, places: Places, target: str, name: str, *, as_json: bool) -> int:
    outcome = replayed(recording)
    if not outcome.equal:
        raise Unplayable(f"{name} is not exported: it does not replay as it was\n" + "\n".join(lines(outcome)))
    data = exported(recording, redaction(recording, places))
    with open(target, "wb") as file:
        file.write(data)
    if as_json:
        say_json({"run": name, "file": target, "bytes": len(data), **msgspec.to_builtins(outcome)})
    else:
        say([f"{name} is in {target}, {len(data)} bytes", *lines(outcome)])
    return 0


def redaction(recording: tape.Recording, places: Places) -> Redaction:
    first = recording.segments[0].header
    keys = [model.api_key_env for model in first.settings.models.values() if model.api_key_env]
    folders = {
        os.path.expanduser("~"): "/home/user",
        places.config: "/config",
        places.state: "/state",
        first.project: "/project",
    }
    return Redaction(secrets_of(os.environ, keys), folders, by_looks=True)


def exported(recording: tape.Recording, redacted: Redaction) -> bytes:
    """The file's bytes. Digests are of what is in the file, so its run is made anew and what it makes is kept."""
    events = {r.seq: Recorded(r.seq, r.at, _redacted_event(r.event, redacted)) for r in recording.events}
    reached, written = 0, []
    for segment, past, made in split(recording.events, recording.segments):
        clean = Segment(_redacted_header(segment.header, redacted), _redacted_entries(segment.entries, redacted))
        again = Replay(clean, parts(), [events[r.seq] for r in past], made, compared=False)
        asyncio.run(again.run())
        for then, (_, data, at) in zip(made, again.posted, strict=False):
            now = decode_event(data)
            if _without_digest(events[then.seq].event) != _without_digest(now):
                raise Unplayable(f"not exported: without its secrets the run differs at event {then.seq}")
            events[then.seq] = Recorded(then.seq, at, now)
        reached = max([reached, segment.header.after, *(r.seq for r in made[: len(again.posted)])])
        asked = iter(again.asked)
        entries = [RecordEntry("ask", next(asked)) if e.kind == "ask" else e for e in clean.entries]
        written.append((clean.header, entries))
    out = [tape.line(tape.Past(r.seq, r.at, r.event)) for r in events.values() if r.seq <= reached]
    for header, entries in written:
        out += [tape.line(header), *map(tape.line, entries)]
    data = b"".join(out)
    if any(secret.encode() in data for secret in redacted.secrets):
        raise Unplayable("not exported: a secret is left in it")
    return data


def _redacted_header(header: Header, redacted: Redaction) -> Header:
    return msgspec.convert(redacted.value(msgspec.to_builtins(header)), Header)


def _redacted_event(event: Event, redacted: Redaction) -> Event:
    made: Event = msgspec.convert(redacted.value(msgspec.to_builtins(event)), Event)
    return made


def _redacted_entries(entries: list[RecordEntry], redacted: Redaction) -> list[RecordEntry]:
    found = [msgspec.convert(redacted.value(msgspec.to_builtins(entry)), RecordEntry) for entry in entries]
    streams: dict[str, list[int]] = {}
    for place, entry in enumerate(entries):
        if entry.kind in TEXTS:
            streams.setdefault(entry.kind, []).append(place)
        if entry.kind == "reply.over" or place == len(entries) - 1:
            for kind, its in streams.items():
                texts: list[Any] = redacted.pieces([str(entries[at].value) for at in its])
                for at, text in zip(its, texts, strict=True):
                    found[at] = RecordEntry(kind, text)
            streams = {}
    return found


def _without_digest(event: Event) -> Any:
    plain = msgspec.to_builtins(event)
    plain.pop("digest", None)
    return plain
