"""A session's journal: shown, searched by its words, explained event by event, and deleted for good."""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import Namespace

import msgspec

from quintet.adapters.files import state_files
from quintet.adapters.files.paths import Places, locate
from quintet.adapters.secrets.vault import Vault
from quintet.adapters.settings import layers as config
from quintet.adapters.sqlite.database import clear_errors
from quintet.adapters.sqlite.journal_search import forget
from quintet.adapters.stores.chosen import open_store, search_journal
from quintet.app.lookups import lives, needed
from quintet.domain.base.errors import NotFound, UsageError
from quintet.domain.base.safe_text import visible
from quintet.domain.base.wording import counted
from quintet.domain.dials import badge
from quintet.domain.journal.protocol import CallDecided, HelperAssigned, Recorded, as_json
from quintet.domain.journal.search_text import query
from quintet.domain.journal.turn_state import skipped_call
from quintet.domain.ports.stores import Hit, Hits, StoredRows
from quintet.domain.turn.skipped import sentence
from quintet.engine.reports.conversation_page import KINDS, as_html, as_markdown, exchanges
from quintet.engine.session import queries
from quintet.engine.session.why import BEHIND, chain_lines, decision_behind, newest_decision, why_lines
from quintet.surfaces.paint import Painter, stdout
from quintet.surfaces.tables import say, say_json
from quintet.surfaces.transcript.stored import transcript

TITLE = 40
INDENT = "    "


def show(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    rows = needed(places)
    with clear_errors(places.database):
        row = rows.find_session(arguments.id)
        events = rows.read(row.id)
    if arguments.events or arguments.json:
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
    if skipped := [call for one in events if isinstance(one.event, CallDecided) and (call := skipped_call(one.event))]:
        say(["", f"skipped  {counted(len(skipped), 'call')}", *(f"  {sentence(call)}" for call in skipped)])
    return 0


def export(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    rows = needed(places)
    with clear_errors(places.database):
        row = rows.find_session(arguments.id)
        found = exchanges(rows.read(row.id, kinds=KINDS))
    html = arguments.html or arguments.file.lower().endswith((".html", ".htm"))
    clean = Vault(places, config.load(places).settings).text
    page = clean((as_html if html else as_markdown)(row.id, found))
    if arguments.file:
        with open(arguments.file, "x", encoding="utf-8", errors="replace") as file:
            file.write(page)
    if arguments.json:
        say_json({"session": row.id, "file": arguments.file, "text": "" if arguments.file else page})
    elif not arguments.file:
        stdout().write(page)
    else:
        say([f"the conversation was written to {arguments.file}"])
    return 0


def purge(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    rows = needed(places)
    with clear_errors(places.database):
        row = rows.find_session(arguments.id)
        if lives(row):
            raise UsageError(f"session {row.id} is open in process {row.owner_pid}; close it there first")
        count = rows.count(row.id)
        if not arguments.yes:
            raise UsageError(f"this permanently deletes session {row.id} and its {count} events; confirm with --yes")
        asyncio.run(_purged(places, row.id))
    forget(places.history)  # its words are gone too; the next search makes it anew
    state_files.drop_recordings_of(places.runs, row.id)
    say([f"deleted {row.id}, {count} events"])
    return 0


async def _purged(places: Places, session: str) -> None:
    store = open_store(places)
    try:
        await store.purge(session)
    finally:
        await store.close()


def _newest_decision(rows: StoredRows) -> tuple[str, Recorded]:
    for session in rows.sessions():
        if found := newest_decision(rows.read(session.id, kinds=BEHIND)):
            return session.id, found
    raise NotFound("nothing was decided in this project yet", hint="`quintet` opens a session.")


def why(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    rows = needed(places)
    with clear_errors(places.database):
        session, recorded = rows.event(arguments.event) if arguments.event is not None else _newest_decision(rows)
        before = rows.read(session, 0, recorded.seq - 1, BEHIND)
    recorded = decision_behind(recorded.event, before) or recorded
    lines, answer = why_lines(recorded, before)
    if arguments.json:
        chain = next((one.event.chain for one in reversed(before) if isinstance(one.event, HelperAssigned)), ())
        say_json({**answer, "chain": chain} if chain else answer)
    else:
        say([*lines, *chain_lines(before), f"event    {recorded.seq} of session {session}, {recorded.at}"])
    return 0


def search(arguments: Namespace) -> int:
    if arguments.limit < 1:
        raise UsageError(f"--limit {arguments.limit}: not a number of results; 1 or more")
    query(arguments.words)  # what cannot be searched for is said before anything is indexed
    places = locate(arguments.directory)
    told = _progress if sys.stderr.isatty() else lambda done, of: None
    found = search_journal(places, arguments.words, arguments.limit, told)
    if arguments.json:
        say_json(found.hits)
    elif not found.hits:
        say([f"no session of this project contains {' and '.join(arguments.words)}"])
    else:
        _print(found, Painter(stdout(), config.load(places).settings.display.color))
    return 0


def _progress(done: int, of: int) -> None:
    sys.stderr.write(f"\rindexing the journal, event {done:,} of {of:,}\x1b[K" if done < of else "")
    sys.stderr.flush()


def _print(found: Hits, painter: Painter) -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    width = os.get_terminal_size().columns if sys.stdout.isatty() else 0
    sessions = max(len(hit.session) for hit in found.hits)
    numbers = max(len(str(hit.seq)) for hit in found.hits)
    whats = max(len(hit.what) for hit in found.hits)
    for hit in found.hits:
        head = f"{hit.at[:16].replace('T', ' ')}  {hit.session:<{sessions}}  {hit.seq:>{numbers}}  {hit.what:<{whats}}"
        painter.write(painter.paint(f"{head}  {_short(hit.title)}".rstrip(), "dim") + "\n")
        painter.write(INDENT + _marked(hit, painter, max(width - len(INDENT), 20) if width else 0) + "\n")
    if found.found > len(found.hits):
        more = f"{len(found.hits)} of {found.found:,}; --limit N shows more"
        painter.write(painter.paint(more, "dim") + "\n")


def _marked(hit: Hit, painter: Painter, width: int) -> str:
    """The line with its matches painted; a line too long for the terminal is cut around the first of them."""
    line, matches = hit.line, hit.matches
    start = 0
    if width and len(line) > width:
        first = matches[0] if matches else (0, 0)
        start = max(0, min(first[1] - width * 2 // 3, len(line) - width))
    end = start + width if width else len(line)
    out, at = "", start
    for begin, stop in matches:
        begin, stop = max(begin, start), min(stop, end)
        if begin < stop:
            out += line[at:begin] + painter.paint(line[begin:stop], "match")
            at = stop
    return out + line[at:end]


def _short(title: str) -> str:
    title = visible(title)
    return title if len(title) <= TITLE else f"{title[: TITLE - 1]}…"
