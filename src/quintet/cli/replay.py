"""`quintet replay`: a recorded run again, from the journal and its recording or from an exported file."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence

import msgspec

from quintet.adapters.files import state_files
from quintet.adapters.files.paths import Places, locate
from quintet.adapters.shell_grammar.parse import BashGrammar
from quintet.adapters.sqlite.database import clear_errors
from quintet.app.places_of_prompts import PROMPTS
from quintet.app.tool_registry import BY_NAME
from quintet.cli.reports import session_of
from quintet.cli.sessions import needed
from quintet.domain.base.errors import NotFound, Unplayable, UsageError
from quintet.domain.journal import recording as tape
from quintet.domain.journal.protocol import VERSION, Recorded, TurnFinished, TurnStarted
from quintet.engine.replay.replay import Parts, Replay, ReplayOutcome, lines, split
from quintet.engine.turn.prompts import Prompts
from quintet.surfaces.tables import say, say_json
from quintet.tools.workflow_tools import finish_step


def replay(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    recording, name = found(places, arguments.run)
    if arguments.export:
        from quintet.cli.exporting import export

        return export(recording, places, arguments.export, name, as_json=arguments.json)
    outcome = replayed(recording, arguments.turn)
    if arguments.json:
        say_json({"run": name, **msgspec.to_builtins(outcome)})
    else:
        say(lines(outcome))
    return 0 if outcome.equal else 1


def found(places: Places, wanted: str) -> tuple[tape.Recording, str]:
    """The recording of a session with its events, or an exported file."""
    if os.path.isfile(wanted):
        recording = tape.read(state_files.read_recording(wanted), wanted, VERSION)
        if not recording.events:
            raise Unplayable(
                f"{wanted}: the recording is not exported: the events it is compared with are in the journal",
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
            hint="Sessions are recorded where runs.record is on; runs.keep_recordings says how many are kept.",
        ) from None
    recording = tape.read(data, path, VERSION)
    recording.events = events
    return recording, session


def parts() -> Parts:
    return Parts({**BY_NAME, finish_step.name: finish_step}, BashGrammar(), lambda own: Prompts(PROMPTS, own=own))


def replayed(recording: tape.Recording, turn: int = 0) -> ReplayOutcome:
    """Replay every part of a recording, or the one that a turn is in, up to that turn's end."""
    import asyncio

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
