"""`quintet replay`: a recorded run again, from the journal and its recording or from an exported file."""

from __future__ import annotations

import asyncio
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

import msgspec

from quintet.adapters.files import state_files
from quintet.adapters.files.paths import Places, locate
from quintet.adapters.shell_grammar.parse import BashGrammar
from quintet.adapters.sqlite.database import clear_errors
from quintet.app.lookups import needed
from quintet.app.prompts import PROMPTS
from quintet.app.tool_registry import BY_NAME
from quintet.cli.parsing import lookup
from quintet.cli.reports import session_of
from quintet.domain.base.errors import NotFound, Unplayable, UsageError
from quintet.domain.base.redaction import Redaction, secrets_of
from quintet.domain.journal import recording as recordings
from quintet.domain.journal.protocol import (
    VERSION,
    CommandRan,
    Event,
    Recorded,
    TurnFinished,
    TurnStarted,
    decode_event,
)
from quintet.domain.journal.recording import Header, RecordEntry, Segment
from quintet.engine.replay.replay import Parts, Replay, ReplayOutcome, lines, split
from quintet.engine.turn.prompts import Prompts
from quintet.surfaces.tables import say, say_json
from quintet.tools.meta import finish_step

TEXTS = ("reply.text", "reply.thinking")


def replay(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    recording, name = found(places, arguments.run)
    if arguments.export:
        return export(recording, places, arguments.export, name, as_json=arguments.json)
    outcome = replayed(recording, arguments.turn)
    if arguments.json:
        say_json({"run": name, **msgspec.to_builtins(outcome)})
    else:
        say(lines(outcome))
    return 0 if outcome.equal else 1


def found(places: Places, wanted: str) -> tuple[recordings.Recording, str]:
    """The recording of a session with its events, or an exported file."""
    if os.path.isfile(wanted):
        recording = recordings.read(state_files.read_recording(wanted), wanted, VERSION)
        if not recording.events:
            raise Unplayable(
                f"{wanted}: this recording was not exported: the events to compare with are in the journal",
                hint="Replay the session by its id, or export it with `quintet replay ID --export FILE`.",
            )
        return recording, wanted
    if os.sep in wanted:
        raise NotFound(f"{wanted}: no such file")
    rows = needed(places)
    with clear_errors(places.database):
        session = session_of(rows, wanted).id
        events = rows.read(session)
    path = state_files.recording_path(places.runs, session)
    try:
        data = state_files.read_recording(path)
    except FileNotFoundError:
        raise NotFound(
            f"there is no recording of session {session}",
            hint=(
                "Sessions are recorded if runs.record is on; runs.keep_recordings is the number of "
                "recordings that stay."
            ),
        ) from None
    recording = recordings.read(data, path, VERSION)
    recording.events = events
    return recording, session


def parts() -> Parts:
    return Parts({**BY_NAME, finish_step.name: finish_step}, BashGrammar(), lambda own: Prompts(PROMPTS, own=own))


def replayed(recording: recordings.Recording, turn: int = 0) -> ReplayOutcome:
    """Replay every part of a recording, or the one that a turn is in, up to that turn's end."""
    window = _window(recording.events, turn) if turn else None
    outcome = ReplayOutcome()
    for segment, past, made in split(recording.events, recording.segments):
        if window and not any(recorded.seq == window[0] for recorded in made):
            continue
        outcome = outcome.plus(asyncio.run(Replay(segment, parts(), past, made, window).run()))
        if outcome.difference:
            break
    return outcome


def _window(events: Sequence[Recorded], turn: int) -> tuple[int, int]:
    """The numbers of a turn's first and last event."""
    starts = [recorded for recorded in events if isinstance(recorded.event, TurnStarted)]
    if not 0 < turn <= len(starts):
        raise UsageError(f"--turn {turn}: this session has {len(starts)} turns")
    begun = starts[turn - 1]
    assert isinstance(begun.event, TurnStarted)
    ends = [r.seq for r in events if isinstance(r.event, TurnFinished) and r.event.turn == begun.event.turn]
    return begun.seq, ends[0] if ends else events[-1].seq


def export(recording: recordings.Recording, places: Places, target: str, name: str, *, as_json: bool) -> int:
    outcome = replayed(recording)
    if not outcome.equal:
        raise Unplayable(f"{name} was not exported: its replay is different\n" + "\n".join(lines(outcome)))
    data = exported(recording, redaction(recording, places))
    with open(target, "wb") as file:
        file.write(data)
    if as_json:
        say_json({"run": name, "file": target, "bytes": len(data), **msgspec.to_builtins(outcome)})
    else:
        say([f"{name} was written to {target}, {len(data)} bytes", *lines(outcome)])
    return 0


def redaction(recording: recordings.Recording, places: Places) -> Redaction:
    first = recording.segments[0].header
    keys = [model.api_key_env for model in first.settings.models.values() if model.api_key_env]
    folders = {
        os.path.expanduser("~"): "/home/user",
        places.config: "/config",
        places.state: "/state",
        first.project: "/project",
    }
    return Redaction(secrets_of(os.environ, keys), folders, by_looks=True)


def exported(recording: recordings.Recording, redacted: Redaction) -> bytes:
    """The file's bytes. Digests are of what is in the file, so its run is made anew and what it makes is kept."""
    events = {r.seq: Recorded(r.seq, r.at, _redacted_event(r.event, redacted)) for r in recording.events}
    reached, written = 0, []
    for segment, past, made in split(recording.events, recording.segments):
        clean = Segment(_redacted_header(segment.header, redacted), _redacted_entries(segment.entries, redacted))
        again = Replay(clean, parts(), [events[r.seq] for r in past], made, compared=False)
        asyncio.run(again.run())
        for then, (_, data, at) in zip(made, again.posted, strict=False):
            now = decode_event(data)
            if _lasting(events[then.seq].event) != _lasting(now):
                raise Unplayable(f"not exported: without its secrets the run differs at event {then.seq}")
            events[then.seq] = Recorded(then.seq, at, now)
        reached = max([reached, segment.header.after, *(r.seq for r in made[: len(again.posted)])])
        asked = iter(again.asked)
        entries = [RecordEntry("ask", next(asked)) if e.kind == "ask" else e for e in clean.entries]
        written.append((clean.header, entries))
    out = [recordings.line(recordings.Past(r.seq, r.at, r.event)) for r in events.values() if r.seq <= reached]
    for header, entries in written:
        out += [recordings.line(header), *map(recordings.line, entries)]
    data = b"".join(out)
    if any(secret.encode() in data for secret in redacted.secrets):
        raise Unplayable("not exported: it still contains a secret")
    return data


def _redacted_header(header: Header, redacted: Redaction) -> Header:
    return msgspec.convert(redacted.clean(msgspec.to_builtins(header)), Header)


def _redacted_event(event: Event, redacted: Redaction) -> Event:
    made: Event = msgspec.convert(redacted.clean(msgspec.to_builtins(event)), Event)
    return made


def _redacted_entries(entries: list[RecordEntry], redacted: Redaction) -> list[RecordEntry]:
    found = [msgspec.convert(redacted.clean(msgspec.to_builtins(entry)), RecordEntry) for entry in entries]
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


def _lasting(event: Event) -> Any:
    """What has to be the same without secrets and places: not what a command says, which may name and measure them."""
    plain = msgspec.to_builtins(event)
    plain.pop("digest", None)
    if isinstance(event, CommandRan):
        del plain["text"], plain["data"]
    return plain


def _words(parser: ArgumentParser) -> None:
    parser.add_argument(
        "run",
        nargs="?",
        default="",
        help="a session's id, the start of one, or latest; or an exported file; default: the newest session",
    )
    parser.add_argument(
        "--turn", type=int, default=0, metavar="N", help="only this turn of the session; 1 is the first"
    )
    parser.add_argument("--export", default="", metavar="FILE", help="write it as one file that you can share")


REPLAY = lookup(
    "replay",
    "Run a recorded session again without a model, a tool or a process; exit code 1 at the first difference.",
    replay,
    _words,
)
