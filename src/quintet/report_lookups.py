"""The commands that look at what was done: the log of model requests, what they cost, one session's report.

Each takes the parsed arguments and returns an exit code; each has a table and a `--json` form.
"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from typing import NoReturn

import msgspec

from quintet.adapters.places import Places, locate
from quintet.adapters.sqlite.database import clear_errors
from quintet.adapters.sqlite.rows import Rows
from quintet.domain.errors import NotFound, UsageError
from quintet.domain.protocol import Recorded
from quintet.engine import accounts, session_report
from quintet.lookups import needed, stored
from quintet.surfaces.tables import say, say_json

FOLLOW_SECONDS = 0.1  # how soon a new line is noticed


def logs(arguments: Namespace) -> int:
    if arguments.lines is not None and arguments.lines < 0:
        raise UsageError(f"-n {arguments.lines}: not a number of lines; 0 or more")
    places = locate(arguments.directory)
    chosen = accounts.wanted(arguments.level, arguments.stage)
    if arguments.follow:
        _follow(places, chosen, arguments)
    rows = needed(places) if arguments.session else stored(places)
    every = accounts.requests(_read(places, rows, arguments.session))
    shown = _last(arguments.lines, [line for line in every if chosen(line)])
    if arguments.json:
        say_json(shown)
    else:
        say(accounts.log_lines(shown) or [accounts.nothing_logged(every, chosen)])
    return 0


def _follow(places: Places, chosen: accounts.Wanted, arguments: Namespace) -> NoReturn:
    """Print each request once it has ended, until interrupted."""
    rows, requests = needed(places), accounts.Requests()
    seen, after, first = -1, 0, True
    while True:
        version = rows.data_version()
        if version == seen:
            time.sleep(FOLLOW_SECONDS)
            continue
        seen = version
        events = _read(places, rows, arguments.session, after)
        after = events[-1].seq if events else after
        shown = [line for recorded in events for line in requests.apply(recorded) if chosen(line)]
        if first:
            shown = _last(arguments.lines, shown)
        if arguments.json:
            say(msgspec.json.encode(line).decode() for line in shown)
        else:
            say(accounts.log_lines(shown, heading=first))
        sys.stdout.flush()
        first = False


def _last(count: int | None, lines: list[accounts.RequestLine]) -> list[accounts.RequestLine]:
    return lines if count is None else lines[max(0, len(lines) - count) :]


def _read(places: Places, rows: Rows | None, session: str = "", after: int = 0) -> list[Recorded]:
    """The events that tell of requests, of one session or of the whole project."""
    if rows is None:
        return []
    with clear_errors(places.database):
        if session:
            return rows.read(rows.find_session(session).id, after, kinds=accounts.KINDS)
        return rows.read_project(accounts.KINDS, after)


def cost(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    found = accounts.costs(accounts.requests(_read(places, stored(places))), arguments.by)
    if arguments.json:
        say_json(found)
    else:
        say(accounts.cost_lines(found))
    return 0


def report(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    rows = needed(places)
    with clear_errors(places.database):
        row = rows.find_session(arguments.id) if arguments.id else next(iter(rows.sessions(1)), None)
        if row is None:
            raise NotFound("there is no session in this project yet", hint="`quintet` opens one.")
        found = session_report.report(rows.read(row.id))
    if arguments.json:
        say_json(found)
    else:
        say(session_report.report_lines(found))
    return 0
