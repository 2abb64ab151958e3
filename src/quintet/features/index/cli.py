"""`quintet index`: what the project declares, uses and says. Every look first brings the index up to date."""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.settings import layers as config
from quintet.adapters.settings.gate_terms import protection_of
from quintet.app.machine_parts import find_ripgrep
from quintet.cli.parsing import actions, lookup
from quintet.domain.base.errors import UsageError
from quintet.domain.base.wording import counted, did_you_mean
from quintet.features.index.build import Brought, Builder, Job
from quintet.features.index.entries import KINDS, FoundSymbol, IndexStatus
from quintet.features.index.languages import missing
from quintet.features.index.repo_map import drawn_map
from quintet.features.index.search import find_references, find_symbols, ranked_files, search_code
from quintet.features.index.service import MOST_MAPPED
from quintet.features.index.store import IndexStore, index_path, is_written, size_on_disk, writing
from quintet.surfaces.tables import complain, say, say_json, table

SECONDS = 0.1  # between two looks of the bar
BAR = 24  # characters


def index_status(arguments: Namespace) -> int:
    path = index_path(locate(arguments.directory))
    if not os.path.exists(path):
        status = IndexStatus(0, 0, 0, 0, 0, {}, 0, 0, "", is_written(path), path)
    else:
        with _opened(path) as store:
            files, lines, size, without, broken, symbols, languages = store.counts()
            built, disk = store.about("built"), size_on_disk(path)
        status = IndexStatus(
            files, symbols, lines, size, disk, languages, without, broken, built, is_written(path), path
        )
    if arguments.json:
        say_json(status)
        return 0
    if not status.files and not status.building:
        say(["there is no index yet; `quintet index build` makes one"])
        return 0
    share = f", {status.bytes / status.text_bytes:.2f} of the text" if status.text_bytes else ""
    names = ", ".join(f"{name} {number:,}" for name, number in status.languages.items()) or "none"
    built = status.built[:19].replace("T", " ") if status.built else "not complete yet"
    lines_told = [
        f"files            {status.files:,}, {status.lines:,} lines",
        f"symbols          {status.symbols:,}",
        f"languages        {names}",
        f"without symbols  {status.without_symbols:,} files (no known language, too large, generated or not text)",
        f"syntax errors    {counted(status.broken, 'file')}",
        f"built            {built}{', and being built now' if status.building else ''}",
        f"file             {path} ({status.bytes / 1e6:.1f} MB{share})",
    ]
    if lacking := missing():
        lines_told.append(f"not installed    grammars of {', '.join(lacking)}: install quintet[index]")
    say(lines_told)
    return 0


def index_build(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    path = index_path(places)
    if arguments.again:
        with writing(path) as mine:
            if not mine:
                raise UsageError("another process is building this index", hint="Try again when it has ended.")
            for ending in ("", "-wal", "-shm"):
                if os.path.exists(path + ending):
                    os.unlink(path + ending)
    began = time.monotonic()
    brought = _brought(places)
    if brought is None:
        raise UsageError("another process is building this index", hint="`quintet index status` shows how far it is.")
    if arguments.json:
        say_json(brought)
    else:
        taken = time.monotonic() - began
        say([f"{counted(brought.files, 'file')}: {brought.read:,} read, {brought.removed:,} removed, in {taken:.1f} s"])
    return 0


def index_search(arguments: Namespace) -> int:
    _check_limit(arguments.limit)
    places = locate(arguments.directory)
    with _fresh(places) as store:
        found = search_code(store, places.root, " ".join(arguments.words), arguments.limit)
    if arguments.json:
        say_json(found)
    elif not found:
        say(["no file fits"])
    for one in found if not arguments.json else ():
        say([one.path])
        lines = [(symbol.line, symbol.text) for symbol in one.symbols] or ([(one.line, one.text)] if one.text else [])
        say(f"  {line}: {text}" for line, text in lines)
    return 0 if found else 1


def index_symbols(arguments: Namespace) -> int:
    _check_limit(arguments.limit)
    if arguments.kind and arguments.kind not in KINDS:
        hint = did_you_mean(arguments.kind, KINDS)
        raise UsageError(f'--kind "{arguments.kind}": not one of {", ".join(KINDS)}.{hint}')
    places = locate(arguments.directory)
    with _fresh(places) as store:
        found = find_symbols(store, arguments.name, arguments.kind, arguments.limit)
    if arguments.json:
        say_json(found)
    elif not found:
        say([f"nothing declares {arguments.name}"])
    else:
        say(table([_row(one) for one in found], heading=("KIND", "NAME", "WHERE")))
    return 0 if found else 1


def _row(symbol: FoundSymbol) -> tuple[str, str, str]:
    return symbol.kind, symbol.full_name, f"{symbol.path}:{symbol.line}"


def index_references(arguments: Namespace) -> int:
    _check_limit(arguments.limit)
    places = locate(arguments.directory)
    with _fresh(places) as store:
        found = find_references(store, places.root, arguments.name, arguments.limit)
    if arguments.json:
        say_json(found)
    elif not found.lines:
        say([f"nothing uses {arguments.name}"])
    else:
        say(f"{one.path}:{one.line}: {one.text}" for one in found.lines)
        if found.cut:
            complain("there are more; --limit shows them")
    return 0 if found.lines else 1


def index_map(arguments: Namespace) -> int:
    if not 100 <= arguments.tokens <= 20_000:
        raise UsageError(f"--tokens {arguments.tokens}: expected 100 to 20000")
    places = locate(arguments.directory)
    with _fresh(places) as store:
        files = ranked_files(store, MOST_MAPPED, arguments.near, arguments.near)
        drawn, shown = drawn_map([file.path for file in files], store.outline, arguments.tokens)
    if arguments.json:
        say_json({"map": drawn, "files": [{"path": file.path, "rank": file.rank} for file in files[:shown]]})
    else:
        say([drawn] if drawn else ["the index is empty"])
    return 0


def _check_limit(limit: int) -> None:
    if limit < 1:
        raise UsageError(f"--limit {limit}: not a number of results; 1 or more")


@contextmanager
def _opened(path: str) -> Iterator[IndexStore]:
    store = IndexStore(path)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def _fresh(places: Places) -> Iterator[IndexStore]:
    """The index, up to date; as far as it is where another process is building it."""
    if _brought(places) is None:
        complain("another process is building the index: there may be more")
    with _opened(index_path(places)) as store:
        yield store


def _brought(places: Places) -> Brought | None:
    """Bring the index up to date; None if another process is at it."""
    path = index_path(places)
    with writing(path) as mine:
        if not mine:
            return None
        job = Job(places.root, protection_of(places, config.load(places).settings), find_ripgrep())
        bar = _Bar(sys.stderr.isatty())
        with _opened(path) as store:
            builder = Builder(job, store, polite=False)
            try:
                return builder.bring(bar.files)
            finally:
                builder.close()
                bar.clear()


class _Bar:
    """How far the building is, on one line of a terminal; nothing where there is none."""

    def __init__(self, shown: bool) -> None:
        self._shown = shown
        self._last = 0.0

    def files(self, done: int, of: int) -> None:
        now = time.monotonic()
        if self._shown and now - self._last >= SECONDS:
            self._last = now
            full = round(BAR * done / max(of, 1))
            sys.stderr.write(f"\r{'█' * full}{'░' * (BAR - full)}  {done:,} of {of:,} files\x1b[K")
            sys.stderr.flush()

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _build_words(parser: ArgumentParser) -> None:
    parser.add_argument("--again", action="store_true", help="from nothing, instead of what has changed")


def _limit(parser: ArgumentParser, usual: int) -> None:
    parser.add_argument(
        "--limit", type=int, default=usual, metavar="N", help=f"maximum number of results (default: {usual})"
    )


def _search_words(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", metavar="WORD", help="a question, or words of names")
    _limit(parser, 10)


def _symbol_words(parser: ArgumentParser) -> None:
    parser.add_argument("name", help="run, Turn.run, or the beginning or the parts of a name")
    parser.add_argument("--kind", default="", metavar="KIND", help="only class, function, method …")
    _limit(parser, 20)


def _reference_words(parser: ArgumentParser) -> None:
    parser.add_argument("name", help="run, or Turn.run: then only files that name both")
    _limit(parser, 100)


def _map_words(parser: ArgumentParser) -> None:
    parser.add_argument("--tokens", type=int, default=2000, metavar="N", help="how long it may be (default: 2000)")
    parser.add_argument("--near", action="append", default=[], metavar="FILE", help="a file or symbol it is seen from")


INDEX = actions(
    "index",
    {
        "status": lookup("index status", "Show what is in the index of this project.", index_status),
        "build": lookup("index build", "Update the index, and wait until that is done.", index_build, _build_words),
        "search": lookup("index search", "Show the files that fit some words best.", index_search, _search_words),
        "symbols": lookup("index symbols", "Show where a name is declared.", index_symbols, _symbol_words),
        "references": lookup("index references", "Show the lines that use a name.", index_references, _reference_words),
        "map": lookup(
            "index map", "Show the files that the others use most, with what they declare.", index_map, _map_words
        ),
    },
)
