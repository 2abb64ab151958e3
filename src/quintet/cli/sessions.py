"""The commands that only look, put together without an event loop so that they start fast.

Each takes the parsed arguments and returns an exit code; each has a table and a `--json` form.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from quintet.adapters import sandbox
from quintet.adapters.files.paths import Places, locate
from quintet.adapters.settings import layers as config
from quintet.adapters.settings.trust import pieces
from quintet.adapters.sqlite.database import clear_errors
from quintet.app.lookups import lives, needed, stored
from quintet.app.session_lists import HEADING, cells, session_rows
from quintet.cli.parsing import actions, lookup
from quintet.domain.dials.axes import INTERACTIVE, AxesChange, Surface
from quintet.domain.journal.session_summary import SessionSummary
from quintet.domain.journal.store_rows import SessionRow
from quintet.domain.permission.opened_places import NOTHING_OPENED, OpenedPlaces
from quintet.domain.permission.trusted_content import changes, not_loaded
from quintet.domain.settings.settings import Settings
from quintet.engine.session import queries
from quintet.engine.session import status as session_status
from quintet.package import load
from quintet.surfaces.tables import complain, say, say_json, say_table

TITLE = 40
TODO = os.path.join(".quintet", "todo")
INDENT = "    "


def status(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    loaded = config.load(places)
    rows = stored(places)
    with clear_errors(places.database):
        if arguments.session:
            row: SessionRow | None = needed(places).find_session(arguments.session)
        else:
            row = queries.foremost(rows.sessions(), lives) if rows else None
        planned = os.path.isdir(os.path.join(places.root, TODO)) or bool(rows and rows.has_tasks())
    dials = loaded.settings.dials
    chosen = AxesChange(dials.work_mode, dials.run_control, dials.permission_profile, dials.model_mode)
    contained = sandbox.chosen(loaded.settings.sandbox.use)
    answer = session_status.status(
        queries.summary_of(row) if row else SessionSummary(axes=chosen.applied_to(INTERACTIVE)),
        session=row.id if row else None,
        live=bool(row and lives(row)),
        project=places.root,
        name=places.name,
        settings=loaded.settings,
        trusted=loaded.trusted,
        sandbox=contained,
        loopback_open=sandbox.loopback_open(contained, loaded.settings.sandbox.loopback),
        tasks=load("app.task_lookups:tasks_here")(places)[0].tasks if planned else (),
        opened=_opened(loaded.settings, places),
        findings=load("app.health.glance:glanced")(places, loaded.settings),
    )
    if loaded.trusted:
        since = changes(loaded.trust, pieces(places))
        answer.trust_changes = tuple(one.name for one in since)
        loaded.warnings += [not_loaded(since)] if since else []
    for warning in loaded.warnings:
        complain(warning)
    if arguments.json:
        say_json(answer)
    else:
        say(session_status.status_lines(answer))
    return 0


def _opened(settings: Settings, places: Places) -> OpenedPlaces:
    if not (settings.sandbox.show or settings.sandbox.give):  # what few settings need, few starts load
        return NOTHING_OPENED
    opened: OpenedPlaces = load("adapters.settings.gate_terms:make_terms")(places, settings).places
    return opened


def sessions_list(arguments: Namespace) -> int:
    rows = session_rows(locate(arguments.directory), arguments.surface)
    if arguments.json:
        say_json(rows)
    elif not rows:
        say(
            [
                f"no sessions that began at {arguments.surface}"
                if arguments.surface
                else "no sessions in this project yet"
            ]
        )
    else:
        say_table([cells(row) for row in rows], heading=HEADING)
    return 0


def _surface(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--surface",
        default="",
        choices=[str(one) for one in Surface],
        help="only those that began there: tui, a terminal; web, a browser; headless, -p, a schedule or a worker;"
        " rpc, an editor or a program",
    )


def _id(parser: ArgumentParser) -> object:
    return parser.add_argument("id", help="the session's id, or the start of one")


def _words(parser: ArgumentParser) -> None:
    parser.add_argument(
        "words", nargs="+", help='all of these words; "two words" is a phrase, wor* matches the start of a word'
    )
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="maximum number of results (default: 20)")


def _rewind_words(parser: ArgumentParser) -> None:
    parser.add_argument(
        "words", nargs="*", metavar="[SESSION] [N] [files|conversation|both]", help="default: the newest session"
    )
    parser.add_argument("--preview", action="store_true", help="only show what would happen")


STATUS = lookup(
    "status",
    "Show the status of this project: its live session, or the newest one; limits, tasks, health.",
    status,
    lambda p: p.add_argument("--session", default="", metavar="ID", help="another session"),
)
SESSIONS = actions(
    "sessions",
    {
        "list": lookup("sessions list", "List the sessions of this project, newest first.", sessions_list, _surface),
        "show": lookup(
            "sessions show",
            "Show one session's journal.",
            "cli.session_journal:show",
            lambda p: (_id(p), p.add_argument("--events", action="store_true", help="as JSON lines")),
        ),
        "export": lookup(
            "sessions export",
            "Export the conversation of a session as Markdown, or as one self-contained HTML page.",
            "cli.session_journal:export",
            lambda p: (
                _id(p),
                p.add_argument("file", nargs="?", default="", metavar="FILE", help="a new file; default: stdout"),
                p.add_argument("--html", action="store_true", help="as HTML"),
            ),
        ),
        "search": lookup(
            "sessions search",
            "Search this project's sessions for words, newest first.",
            "cli.session_journal:search",
            _words,
        ),
        "purge": lookup(
            "sessions purge",
            "Permanently delete a session and its journal.",
            "cli.session_journal:purge",
            lambda p: (_id(p), p.add_argument("--yes", action="store_true", help="confirm")),
        ),
        "fork": lookup(
            "sessions fork",
            "Start a new session with a copy of another session's finished turns.",
            "cli.session:fork",
            lambda p: (
                _id(p),
                p.add_argument("--at", default="", metavar="N", help="up to turn N; /rewind shows the numbers"),
            ),
        ),
    },
)
REWIND = lookup(
    "rewind",
    "Rewind to before a turn: list the turns, show what N would do, or do it.",
    "cli.session:rewind",
    _rewind_words,
)
WHY = lookup(
    "why",
    "Show why a decision or a transition was made.",
    "cli.session_journal:why",
    lambda p: p.add_argument(
        "event", nargs="?", type=int, help="its number (default: the newest decision about a call)"
    ),
)
