"""`quintet helpers`: the helpers of a session."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from quintet.adapters.files.paths import locate
from quintet.adapters.sqlite.database import clear_errors
from quintet.app.lookups import needed
from quintet.cli.parsing import lookup
from quintet.domain.base.errors import NotFound
from quintet.engine.session.queries import latest
from quintet.features.helpers.stored import StoredHelper, stored_helpers
from quintet.features.helpers.words import helper_lines
from quintet.surfaces.tables import say, say_json


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("session", nargs="?", default="", metavar="SESSION", help="its id; the newest if left out")
    parser.add_argument("--reports", action="store_true", help="show what each helper reported")


def show(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    rows = needed(places)
    with clear_errors(places.database):
        row = rows.find_session(arguments.session) if arguments.session else latest(rows.sessions())
        if row is None:
            raise NotFound("there is no session in this project yet")
        found: list[StoredHelper] = stored_helpers(rows, row.id)
    if arguments.json:
        say_json(found)
    else:
        say(helper_lines(found, row.id, reports=arguments.reports))
    return 0


helpers = lookup(
    "helpers", "The helpers of a session: what they were asked, how they ended, what they cost.", show, _arguments
)
