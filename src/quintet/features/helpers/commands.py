"""`quintet helpers` and /helpers: the helpers of a session, as lines of text."""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from quintet.adapters.files.paths import locate
from quintet.adapters.sqlite.database import clear_errors
from quintet.app.lookups import needed
from quintet.cli.parsing import lookup
from quintet.domain.base.errors import NotFound, UsageError
from quintet.domain.base.safe_text import on_one_line, visible
from quintet.domain.base.text_table import table
from quintet.domain.dials.axes import Surface
from quintet.engine.session.queries import latest
from quintet.features.helpers.stored import StoredHelper, stored_helpers
from quintet.features.helpers.values import TASK_SHOWN
from quintet.surfaces.tables import say, say_json

if TYPE_CHECKING:
    from quintet.app.services import Opening

HEADING = ("HELPER", "STATUS", "REQUESTS", "CALLS", "IN", "OUT", "COST", "SESSION", "TASK")


def helper_lines(found: Sequence[StoredHelper], session: str, *, reports: bool = False) -> list[str]:
    if not found:
        return [f"session {session} has started no helper"]
    rows = [
        (
            "  " * (one.depth - 1) + one.helper,
            one.status,
            str(one.requests),
            str(one.calls),
            str(one.usage.input_tokens),
            str(one.usage.output_tokens),
            f"{one.cost:.4f}",
            one.session,
            on_one_line(one.task)[:TASK_SHOWN],
        )
        for one in found
    ]
    lines = table(rows, heading=HEADING, right=(2, 3, 4, 5, 6))
    if reports:
        for one in found:
            lines += ["", f"{one.helper}: {one.status}", *visible(one.report).splitlines()]
    return lines


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


HELPERS = lookup(
    "helpers", "The helpers of a session: what they were asked, how they ended, what they cost.", show, _arguments
)


async def in_session(opening: Opening, words: tuple[str, ...]) -> str:
    if words:
        raise UsageError("/helpers takes nothing; `quintet helpers --reports` shows what they reported")
    session = opening.attach(Surface.RPC).id

    def look() -> str:
        rows = needed(opening.places)
        try:
            return "\n".join(helper_lines(stored_helpers(rows, session), session))
        finally:
            rows.close()

    return await asyncio.to_thread(look)
