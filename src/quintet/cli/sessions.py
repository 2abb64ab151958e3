"""The commands that only look, put together without an event loop so that they start fast.

Each takes the parsed arguments and returns an exit code; each has a table and a `--json` form.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace

import msgspec

from quintet.adapters import sandbox
from quintet.adapters.files import state_files
from quintet.adapters.files.paths import Places, locate
from quintet.adapters.processes.proc_fs import process_start
from quintet.adapters.settings import layers as config
from quintet.adapters.sqlite.database import clear_errors, connect, connect_to_read
from quintet.adapters.sqlite.rows import Rows
from quintet.domain.base.errors import NotFound, UsageError
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.dials import badge
from quintet.domain.dials.axes import INTERACTIVE, AxesChange
from quintet.domain.journal.store_rows import SessionRow
from quintet.engine.session import queries
from quintet.engine.session.leases import owner_lives
from quintet.surfaces.tables import complain, say, say_json, say_table


def stored(places: Places) -> Rows | None:
    """The project's store, if there is one yet."""
    if not os.path.exists(places.database):
        return None
    return Rows(connect_to_read(places.database), places.database)


def needed(places: Places) -> Rows:
    rows = stored(places)
    if rows is None:
        raise NotFound(
            "there is no session in this project yet", hint="`quintet` opens one; `quintet sessions list` shows them."
        )
    return rows


def _lives(row: SessionRow) -> bool:
    return owner_lives(row, time.time(), process_start)


def status(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    loaded = config.load(places)
    rows = stored(places)
    with clear_errors(places.database):
        if arguments.session:
            newest: SessionRow | None = needed(places).find_session(arguments.session)
        else:
            newest = next(iter(rows.sessions(1)), None) if rows else None
    dials = loaded.settings.dials
    chosen = AxesChange(dials.work_mode, dials.run_control, dials.permission_profile, dials.model_mode)
    contained = sandbox.chosen(loaded.settings.sandbox.use)
    answer = queries.status(
        newest,
        project=places.root,
        name=places.name,
        settings=loaded.settings,
        axes=chosen.applied_to(INTERACTIVE),
        trusted=loaded.trusted,
        sandbox=contained,
        loopback_open=sandbox.loopback_open(contained, loaded.settings.sandbox.loopback),
        owner_lives=_lives,
    )
    if loaded.trusted:
        from quintet.adapters.settings.project_pieces import pieces
        from quintet.domain.permission.trusted_content import changes, said

        since = changes(loaded.trust, pieces(places))
        answer["trust_changes"] = [one.name for one in since]
        loaded.warnings += [said(since)] if since else []
    for warning in loaded.warnings:
        complain(warning)
    if arguments.json:
        say_json(answer)
    else:
        say(queries.status_lines(answer))
    return 0


def sessions_list(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    rows = stored(places)
    with clear_errors(places.database):
        found = rows.sessions() if rows else []
    answers = []
    for row in found:
        summary = queries.summary_of(row)
        live = _lives(row)
        answers.append(
            {
                "session": row.id,
                "updated": row.updated,
                "created": row.created,
                "status": queries.status_of(summary, live),
                "live": live,
                "turns": summary.turns,
                "cost": summary.cost,
                "axes": msgspec.to_builtins(summary.axes),
                "parent": row.parent,
                "title": row.title,
            }
        )
    if arguments.json:
        say_json(answers)
    elif not answers:
        say(["no sessions in this project yet"])
    else:
        heading = ("SESSION", "UPDATED", "STATUS", "AXES", "TURNS", "TITLE")
        lines = [
            (
                str(a["session"]),
                str(a["updated"])[:16].replace("T", " "),
                str(a["status"]) + (" (live)" if a["live"] else ""),
                badge.full(queries.summary_of(row).axes),
                str(a["turns"]),
                str(a["title"]),
            )
            for a, row in zip(answers, found, strict=True)
        ]
        say_table(lines, heading=heading)
    return 0


def sessions_show(arguments: Namespace) -> int:
    from quintet.surfaces.transcript import transcript

    places = locate(arguments.directory)
    rows = needed(places)
    with clear_errors(places.database):
        row = rows.find_session(arguments.id)
        events = rows.read(row.id)
    if arguments.events or arguments.json:
        from quintet.domain.journal.protocol import as_json

        for recorded in events:
            sys.stdout.write(msgspec.json.encode(as_json(recorded)).decode() + "\n")
        return 0
    summary = queries.summary_of(row)
    forked = f"   forked from {row.parent} after event {row.forked_after}" if row.parent else ""
    say(
        [
            f"{row.id}  {badge.full(summary.axes)}  {summary.status}{forked}",
            f"created {row.created}, updated {row.updated}",
        ]
    )
    say(transcript(events))
    return 0


def sessions_purge(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    rows = needed(places)
    with clear_errors(places.database):
        row = rows.find_session(arguments.id)
        if _lives(row):
            raise UsageError(f"session {row.id} is open in process {row.owner_pid}; leave it there first")
        writer = Rows(connect(places.database), places.database)
        count = writer.count(row.id)
        if not arguments.yes:
            raise UsageError(f"this deletes session {row.id} and its {count} events for good; say it with --yes")
        with writer.connection:
            writer.purge(row.id)
    from quintet.adapters.sqlite.journal_search import forget

    forget(places.history)  # its words are gone too; the next search makes it anew
    state_files.drop_recording(state_files.recording_path(places.runs, row.id))
    say([f"purged {row.id}, {count} events"])
    return 0


def settings(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    loaded = config.load(places)
    rows = config.shown(loaded)
    for warning in loaded.warnings:
        complain(warning)
    if arguments.json:
        say_json([{"key": key, "value": value, "source": source} for key, value, source in rows])
        return 0
    say(config.as_lines(loaded))
    say(
        [
            "",
            f"yours      {on_one_line(places.user_settings)}{_absent(places.user_settings)}",
            f"project's  {on_one_line(places.project_settings)}{_absent(places.project_settings)}",
            "variables  QUINTET_SECTION_KEY, for example QUINTET_LIMITS_MAX_COST=5",
        ]
    )
    return 0


def _absent(path: str) -> str:
    return "" if os.path.exists(path) else "  (not there)"


def why(arguments: Namespace) -> int:
    from quintet.engine.session import reasons

    places = locate(arguments.directory)
    rows = needed(places)
    with clear_errors(places.database):
        session, recorded = rows.event(arguments.event)
    lines, answer = reasons.why(recorded)
    if arguments.json:
        say_json(answer)
    else:
        say([*lines, f"event    {recorded.seq} of session {session}, {recorded.at}"])
    return 0
