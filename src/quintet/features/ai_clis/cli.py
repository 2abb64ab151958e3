"""`quintet executors`: who can plan, carry out and verify here: Quintet itself, AI CLIs, and ACP agents of yours."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from typing import Any

from quintet import __version__
from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers as config
from quintet.adapters.settings.gate_terms import make_terms
from quintet.cli.parsing import lookup
from quintet.domain.permission.gate import Sandbox
from quintet.domain.tasks.executors import Availability
from quintet.domain.tasks.roles import NATIVE
from quintet.features.ai_clis.wiring import make_executors
from quintet.surfaces.tables import say, say_json, say_table

SPEAKS = {"codex": "exec --json", "claude": "stream-json", "gemini": "stream-json"}
OWN_WALLS = "Without bubblewrap an AI CLI uses its own protection, according to the permission profile."


def executors(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    settings = config.load(places).settings
    terms = make_terms(places, settings)

    async def look() -> list[Availability]:
        found = make_executors(places, settings, terms)
        try:
            return list(await asyncio.gather(*(found.look(name) for name in found.names())))
        finally:
            await found.close()

    rows = [_row(NATIVE, __version__), *(_row_of(found) for found in asyncio.run(look()))]
    if arguments.json:
        say_json(rows)
        return 0
    cells = [(row["name"], row["version"] or "-", row["speaks"], row["path"] or row["problem"] or "-") for row in rows]
    say_table(cells, heading=("NAME", "VERSION", "SPEAKS", "PROGRAM"))
    if terms.sandbox is not Sandbox.BWRAP:
        say(["", OWN_WALLS])
    return 0


def _row_of(found: Availability) -> dict[str, Any]:
    return _row(found.name, found.version, SPEAKS.get(found.name, "ACP"), found.path, found.problem)


def _row(name: str, version: str, speaks: str = "-", path: str = "", problem: str = "") -> dict[str, Any]:
    return {
        "name": name,
        "version": version,
        "speaks": speaks,
        "path": path,
        "available": not problem,
        "problem": problem,
    }


EXECUTORS = lookup(
    "executors",
    (
        "Show who can plan, execute and verify: Quintet itself, AI CLIs and ACP agents; their "
        "versions, and what is missing."
    ),
    executors,
)
