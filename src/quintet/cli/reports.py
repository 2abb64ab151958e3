"""The commands that look at what was done: the log, what model requests cost, one session's report.

Each takes the parsed arguments and returns an exit code; each has a table and a `--json` form.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from functools import partial
from typing import NoReturn

import msgspec

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.settings import layers as config
from quintet.adapters.sqlite.database import clear_errors
from quintet.app.lookups import needed, stored
from quintet.cli.parsing import lookup
from quintet.domain.base.errors import NotFound, UsageError
from quintet.domain.journal.protocol import Recorded
from quintet.domain.metrics.registry import Metrics, exposition
from quintet.domain.models.model_facts import is_free
from quintet.domain.ports.ports import SessionRow
from quintet.domain.ports.stores import StoredRows
from quintet.engine.reports import accounts, activity_log, session_report
from quintet.engine.reports.activity_log import LogFilter, LogKind, LogLine, ProjectLog
from quintet.engine.reports.forensics import Forensics, allowance, examine
from quintet.engine.reports.forensics_page import page
from quintet.engine.reports.forensics_text import forensics_lines
from quintet.engine.reports.metrics import ProjectMeter, metric_lines, of_session
from quintet.surfaces.paint import Painter, stdout
from quintet.surfaces.tables import room, say, say_json

LATEST = "latest"
FOLLOW_SECONDS = 0.1  # how soon a new line is noticed


def logs(arguments: Namespace) -> int:
    if arguments.lines is not None and arguments.lines < 0:
        raise UsageError(f"-n {arguments.lines}: not a number of lines; 0 or more")
    places = locate(arguments.directory)
    chosen = activity_log.wanted(arguments.level, arguments.stage, ",".join(arguments.kind))
    if arguments.follow:
        _follow(places, chosen, arguments)
    rows = needed(places) if arguments.session else stored(places)
    every, fit = _newest(places, rows, chosen, arguments) if rows else ([], [])
    if arguments.json:
        say_json([activity_log.as_json(line) for line in fit])
    else:
        say(activity_log.log_table(fit, chosen, room=room()) or [activity_log.nothing_logged(every, chosen)])
    return 0


def _newest(
    places: Places, rows: StoredRows, chosen: LogFilter, arguments: Namespace
) -> tuple[list[LogLine], list[LogLine]]:
    """The lines that were read, and of those the last that fit; no further back than these reach."""
    with clear_errors(places.database):
        session = rows.find_session(arguments.session).id if arguments.session else ""
        every: list[LogLine] = []
        fit: list[LogLine] = []
        for after in activity_log.pieces(rows.newest_seq()) if arguments.lines is not None else (0,):
            every = activity_log.log_lines_of(_logged(rows, session, after, chosen))
            fit = [line for line in every if chosen(line)]
            if arguments.lines is not None and len(fit) >= arguments.lines:
                break
    return every, fit if arguments.lines is None else fit[max(0, len(fit) - arguments.lines) :]


def _logged(rows: StoredRows, session: str, after: int, chosen: LogFilter) -> list[tuple[str, Recorded]]:
    """The events that the log is made of, each with its session: of one, or of the whole project."""
    kinds = accounts.KINDS if chosen.requests_only else activity_log.KINDS
    if session:
        return [(session, recorded) for recorded in rows.read(session, after, kinds=kinds)]
    return rows.read_of_sessions(kinds, after)


def _follow(places: Places, chosen: LogFilter, arguments: Namespace) -> NoReturn:
    """Print each line once what it tells of has ended, until interrupted."""
    rows, log = needed(places), ProjectLog()
    with clear_errors(places.database):
        session = rows.find_session(arguments.session).id if arguments.session else ""
    seen, after, first = -1, 0, True
    while True:
        version = rows.data_version()
        if version == seen:
            time.sleep(FOLLOW_SECONDS)
            continue
        seen = version
        with clear_errors(places.database):
            events = _logged(rows, session, after, chosen)
        after = events[-1][1].seq if events else after
        fit = [line for of, recorded in events for line in log.apply(of, recorded) if chosen(line)]
        if first and arguments.lines is not None:
            fit = fit[max(0, len(fit) - arguments.lines) :]
        if arguments.json:
            say(msgspec.json.encode(activity_log.as_json(line)).decode() for line in fit)
        else:
            say(activity_log.log_table(fit, chosen, heading=first, room=room()))
        sys.stdout.flush()
        first = False


def _read(places: Places, rows: StoredRows | None, since: str = "") -> list[Recorded]:
    """The events of the project that tell of requests."""
    if rows is None:
        return []
    with clear_errors(places.database):
        return rows.read_project(accounts.KINDS, since=since)


def cost(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    since = accounts.moment(arguments.since, datetime.now(UTC)) if arguments.since else ""
    free = partial(is_free, config.load(places).settings)
    found = accounts.costs(accounts.requests(_read(places, stored(places), since=since)), arguments.by, free)
    if arguments.json:
        say_json(found)
    elif since and not found.rows:
        say([f"no model request since {accounts.when(since)} UTC"])
    else:
        say(accounts.cost_lines(found))
    return 0


def session_of(rows: StoredRows, name: str) -> SessionRow:
    """The session of this id or beginning of one; the newest if there is no name, or it is `latest`."""
    if name and name != LATEST:
        return rows.find_session(name)
    newest = next(iter(rows.sessions(1)), None)
    if newest is None:
        raise NotFound("there is no session in this project yet", hint="`quintet` opens one.")
    return newest


def report(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    rows = needed(places)
    free = partial(is_free, config.load(places).settings)
    with clear_errors(places.database):
        reporter = session_report.read(rows.pieces(session_of(rows, arguments.id).id), free)
    found, measured = reporter.report(), reporter.measured()
    if arguments.json:
        say_json({**msgspec.structs.asdict(found), "metrics": measured})
    else:
        say(session_report.report_lines(found, measured))
    return 0


def metrics(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    rows = needed(places) if arguments.session else stored(places)
    found = Metrics()
    if rows:
        with clear_errors(places.database):
            if arguments.session:
                found = of_session(rows.pieces(session_of(rows, arguments.session).id))
            else:
                found = ProjectMeter().read(rows)
    if arguments.json:
        say_json(found.samples())
    elif arguments.prometheus:
        say(exposition({places.name: found}).splitlines())
    else:
        say(metric_lines(found.samples()) if found.samples() else ["nothing was measured here yet"])
    return 0


def _metrics(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--session", default="", metavar="ID", help="one session, or latest; default: all of the project"
    )
    parser.add_argument("--prometheus", action="store_true", help="in the text format of Prometheus")


def forensics(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    rows = needed(places)
    free = partial(is_free, config.load(places).settings)
    with clear_errors(places.database):
        row = session_of(rows, arguments.run)
        clip = allowance(0 if arguments.turn else rows.count(row.id))
        found = examine(rows.pieces(row.id), clip, arguments.turn, free)
    if arguments.html is not None:
        _write_page(found, arguments.html or f"forensics-{row.id}.html")
    elif arguments.json:
        say_json(found)
    else:
        painter = Painter(stdout(), config.load(places).settings.display.color)
        painter.print(forensics_lines(found, os.get_terminal_size().columns if sys.stdout.isatty() else 0))
    return 0


def _write_page(found: Forensics, path: str) -> None:
    try:
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.writelines(page(found))
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written ({error.strerror})", hint="Name another FILE after --html."
        ) from error
    say([os.path.abspath(path)])


def _logs(parser: ArgumentParser) -> None:
    parser.add_argument("--session", default="", metavar="ID", help="one session, not the whole project")
    parser.add_argument(
        "--follow", action="store_true", help="follow: print new entries when they end; JSON: one per line"
    )
    parser.add_argument("--level", choices=tuple(accounts.LEVELS), default="info", help="this level and above")
    parser.add_argument("--stage", default="", metavar="STAGE", help="only this stage, for example act")
    about = f"only these kinds: {', '.join(LogKind)}; several with commas"
    parser.add_argument("--kind", action="append", default=[], metavar="KIND", help=about)
    parser.add_argument("-n", type=int, default=None, metavar="N", dest="lines", help="only the last N")


def _by(parser: ArgumentParser) -> None:
    parser.add_argument("--by", choices=accounts.GROUPINGS, default="model", help="what to group by; days are in UTC")
    parser.add_argument(
        "--since", default="", metavar="WHEN", help="only since a day or time in UTC, or 7d, 12h, 30m ago"
    )


def _forensics(parser: ArgumentParser) -> None:
    parser.add_argument(
        "run", nargs="?", default="", help="a session's id, the start of one, or latest; default: the newest"
    )
    parser.add_argument("--turn", type=int, default=None, metavar="N", help="one turn of it, counted from 1")
    parser.add_argument(
        "--html",
        nargs="?",
        const="",
        default=None,
        metavar="FILE",
        help="as one self-contained HTML page with charts; default FILE: forensics-ID.html",
    )


LOGS = lookup(
    "logs",
    "Show what was done: turns, model requests, calls with their decisions, questions, dials, tasks.",
    logs,
    _logs,
)
COST = lookup("cost", "Show tokens and cost of all sessions of this project.", cost, _by)
REPORT = lookup(
    "report",
    "Report on one session: its dials, turns, requests, tools, approvals, files, cost and ratings.",
    report,
    lambda p: p.add_argument("id", nargs="?", default="", help="its id or the start of one; default: the newest"),
)
METRICS = lookup(
    "metrics",
    "Show what was measured in this project: turns, requests, tokens, cost, calls, approvals, verdicts.",
    metrics,
    _metrics,
)
FORENSICS = lookup(
    "forensics", "Show one session step by step: requests, calls, decisions, dials, cost.", forensics, _forensics
)
