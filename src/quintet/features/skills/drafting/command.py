"""`quintet skills drafts` and `/skills drafts`: look for new ones, list, show, accept and reject."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from argparse import ArgumentParser, Namespace
from typing import Any

import msgspec

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.settings import layers as config
from quintet.adapters.settings.layers import LoadedSettings
from quintet.adapters.stores.chosen import stored_rows
from quintet.domain.base.errors import UsageError
from quintet.domain.base.safe_text import visible
from quintet.domain.base.text_table import table
from quintet.domain.dials.axes import Axes
from quintet.features.registry import trial_runner
from quintet.features.skills.book import DraftRow, DraftStatus, SkillBook
from quintet.features.skills.drafting.desk import DraftDesk, DraftFate, DraftOutcome
from quintet.features.skills.drafting.draft import SkillDraft
from quintet.features.skills.drafting.evidence import KINDS
from quintet.features.skills.wiring import make_book, make_shelf, settings_of
from quintet.surfaces.tables import say, say_json

WORDS = ("list", "show", "accept", "reject")
NOTHING = "no drafts: nothing in this project's journal has come often enough"


def arguments_of(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", default="list", choices=WORDS, help="default: list, after a look for new ones"
    )
    parser.add_argument("id", nargs="?", default="", metavar="ID", help="a draft, by its id or name")


def skills_drafts(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    loaded = config.load(places)
    with contextlib.closing(make_book(places)) as book:
        answer, value = asyncio.run(carried_out(places, loaded, book, arguments.action, arguments.id, None))
    if arguments.json:
        say_json(value)
    else:
        say(answer)
    return 0


async def carried_out(
    places: Places, loaded: LoadedSettings, book: SkillBook, action: str, id: str, axes: Axes | None
) -> tuple[list[str], Any]:
    """What is said, and the same as a value."""
    desk = make_desk(places, loaded, book)
    if action != "list" and not id:
        raise UsageError(f"{action} ID: which draft?")
    now = time.time()
    if action == "accept":
        folder = desk.accept(id, now)
        hint = "`quintet trust` has it loaded" if settings_of(loaded).drafting else ""
        return [f"written: {folder}", hint], {"accepted": id, "folder": folder}
    if action == "reject":
        row = desk.reject(id, now)
        days = settings_of(loaded).draft_cooldown_days
        return [f"rejected: {row.name}; it is not proposed again for {days:g} days"], {"rejected": row.id}
    if action == "show":
        return _page(book.draft(id)), _value(book.draft(id))
    made = await desk.look(journal(places), now, axes)
    rows = [row for row in book.drafts() if row.status is DraftStatus.PROPOSED]
    return [*_listed(rows), *_told(made)], {"drafts": [_value(row) for row in rows], "unfit": _unfit(made)}


def make_desk(places: Places, loaded: LoadedSettings, book: SkillBook) -> DraftDesk:
    shelf = make_shelf(places, loaded)
    root = places.worktree_of or places.root
    scratch = os.path.join(places.state, "skill-drafts")
    runner = trial_runner(places, loaded)
    return DraftDesk(book, settings_of(loaded), root, scratch, lambda: [one.name for one in shelf.listed()], runner)


def journal(places: Places) -> list[Any]:
    """The events that evidence is found in, of all sessions of the project."""
    rows = stored_rows(places)
    if rows is None:
        return []
    try:
        return rows.read_everywhere(KINDS)
    finally:
        rows.close()


def _listed(rows: list[DraftRow]) -> list[str]:
    if not rows:
        return [NOTHING]
    found = [(row.id, row.name, str(len(_draft(row).evidence.seen)), _draft(row).evidence.kind) for row in rows]
    shown = table(found, heading=("DRAFT", "NAME", "SEEN", "KIND"), right=(2,))
    return [*shown, "show, accept or reject one: quintet skills drafts show ID"]


def _told(made: list[DraftOutcome]) -> list[str]:
    written = [f"written: {one.draft.name}" for one in made if one.fate is DraftFate.WRITTEN]
    return [*written, *(f"not offered: {one['name']}: {one['reason']}" for one in _unfit(made))]


def _unfit(made: list[DraftOutcome]) -> list[dict[str, str]]:
    return [{"name": one.draft.name, "reason": one.reason} for one in made if one.fate is DraftFate.UNFIT]


def _draft(row: DraftRow) -> SkillDraft:
    return msgspec.json.decode(row.content, type=SkillDraft)


def _value(row: DraftRow) -> dict[str, Any]:
    draft = _draft(row)
    return {"id": row.id, "name": row.name, "status": row.status, "evidence": draft.evidence, "files": draft.files}


def _page(row: DraftRow) -> list[str]:
    draft = _draft(row)
    lines = [f"{row.name}  {row.status}", *draft.files["evidence.md"].splitlines()[2:], ""]
    return [visible(line) for line in [*lines, *draft.files["SKILL.md"].splitlines()]]
