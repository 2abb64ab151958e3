"""`quintet sessions search`: full-text search over the journal's human text, newest first."""

from __future__ import annotations

import os
import sys
from argparse import Namespace

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers as config
from quintet.adapters.sqlite import journal_search as history
from quintet.adapters.sqlite.database import clear_errors
from quintet.adapters.sqlite.journal_search import Hit, Hits
from quintet.app.lookups import stored
from quintet.domain.base.errors import UsageError
from quintet.domain.base.safe_text import visible
from quintet.domain.journal.search_text import query
from quintet.surfaces.paint import Painter, stdout
from quintet.surfaces.tables import say, say_json

TITLE = 40
INDENT = "    "


def sessions_search(arguments: Namespace) -> int:
    if arguments.limit < 1:
        raise UsageError(f"--limit {arguments.limit}: not a number of results; 1 or more")
    query(arguments.words)  # what cannot be searched for is said before anything is indexed
    places = locate(arguments.directory)
    rows = stored(places)
    found = Hits(0, [])
    if rows:
        with clear_errors(places.database):
            told = _progress if sys.stderr.isatty() else lambda done, of: None
            found = history.search(places.history, rows, arguments.words, arguments.limit, told)
    if arguments.json:
        say_json(found.hits)
    elif not found.hits:
        say([f"nothing in this project's sessions has {' and '.join(arguments.words)}"])
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
