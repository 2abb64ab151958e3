"""`quintet library`: put documents in, list, search, show and take them out."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable
from typing import TypeVar

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.processes.system import SystemClock
from quintet.adapters.secrets.vault import Vault
from quintet.adapters.settings import layers as config
from quintet.adapters.settings.gate_terms import make_terms
from quintet.cli.parsing import actions, lookup
from quintet.domain.base.errors import QuintetError, UsageError
from quintet.domain.base.safe_text import visible
from quintet.domain.base.wording import did_you_mean
from quintet.features.library.fill import FillOutcome, fill
from quintet.features.library.library import EMPTY, LocalLibrary
from quintet.features.library.passages import FORMATS, Document, FoundPassages, PageText, Passage
from quintet.features.library.read_document import documents_under
from quintet.features.library.settings import LibrarySettings
from quintet.features.library.store import LibraryStore
from quintet.surfaces.paint import Painter, stdout
from quintet.surfaces.tables import complain, say, say_json, table

T = TypeVar("T")
BAR = 24  # characters of the progress bar
TITLE = 60
SECONDS = 0.1  # between two looks of the bar


def library_list(arguments: Namespace) -> int:
    documents = _with_library(arguments, lambda library: library.documents())
    if arguments.json:
        say_json(documents)
    elif not documents:
        say([EMPTY])
    else:
        say(_table(documents))
    return 0


def _table(documents: list[Document]) -> list[str]:
    rows = [
        (
            str(one.id),
            one.format,
            str(one.pages),
            f"{one.words:,}",
            str(one.blank or "-"),
            "yes" if one.active else "no",
            _short(one.title),
            one.path,
        )
        for one in documents
    ]
    heading = ("ID", "FORMAT", "PAGES", "WORDS", "NO TEXT", "SEARCHED", "TITLE", "FROM")
    return table(rows, heading=heading, right=(0, 2, 3, 4))


def library_search(arguments: Namespace) -> int:
    if arguments.limit < 1:
        raise UsageError(f"--limit {arguments.limit}: not a number of results; 1 or more")
    if arguments.type and arguments.type not in FORMATS:
        hint = did_you_mean(arguments.type, FORMATS)
        raise UsageError(f'--type "{arguments.type}": not one of {", ".join(FORMATS)}.{hint}')
    query = _query(arguments.query)
    found = _with_library(arguments, lambda library: library.search(query, arguments.limit, arguments.type))
    if found.note:
        complain(found.note)
    if arguments.json:
        say_json(found)
    elif not found.passages:
        say([f"no page contains {query}"] if not found.note else [])
    else:
        _print(found, Painter(stdout(), config.load(locate(arguments.directory)).settings.display.color))
    return 0


def _query(words: list[str]) -> str:
    """Words that the shell kept together are a phrase, where there are others beside them."""
    if len(words) == 1:
        return words[0]
    return " ".join(f'"{word}"' if " " in word and '"' not in word else word for word in words)


def _print(found: FoundPassages, painter: Painter) -> None:
    for passage in found.passages:
        head = f"{passage.document}  p. {passage.page}  {_short(passage.title)}"
        painter.write(painter.paint(visible(head), "dim") + "\n")
        painter.write(f"    {_marked(passage, painter)}\n")


def _marked(passage: Passage, painter: Painter) -> str:
    out, at = "", 0
    for begin, end in passage.matches:
        out += visible(passage.text[at:begin]) + painter.paint(visible(passage.text[begin:end]), "match")
        at = end
    return out + visible(passage.text[at:])


def library_show(arguments: Namespace) -> int:
    async def shown(library: LocalLibrary) -> Document | PageText:
        if arguments.page is not None:
            return await library.page(arguments.document, arguments.page)
        return await library.document(arguments.document)

    found = _with_library(arguments, shown)
    if arguments.json:
        say_json(found)
    elif isinstance(found, Document):
        say(
            [
                f"{found.id}  {found.title}",
                f"from      {found.path}",
                f"format    {found.format}, {found.pages} pages, {found.words:,} words",
                f"no text   {found.blank} pages" if found.blank else "no text   0 pages",
                f"searched  {'yes' if found.active else 'no; `quintet library activate` turns it on'}",
                f"added     {found.added[:19].replace('T', ' ')}",
            ]
        )
    else:
        say([found.text or "(this page has no text: it is scanned, or a picture)"])
    return 0


def library_remove(arguments: Namespace) -> int:
    return _each(arguments, "removed", lambda library, name: library.remove(name))


def library_activate(arguments: Namespace) -> int:
    return _each(arguments, "searched again:", lambda library, name: library.set_active(name, True))


def library_deactivate(arguments: Namespace) -> int:
    return _each(arguments, "no longer searched:", lambda library, name: library.set_active(name, False))


def _each(arguments: Namespace, done: str, work: Callable[[LocalLibrary, str], Awaitable[Document]]) -> int:
    async def all_of_them(library: LocalLibrary) -> list[Document]:
        return [await work(library, name) for name in arguments.documents]

    documents = _with_library(arguments, all_of_them)
    if arguments.json:
        say_json(documents)
    else:
        say(f"{done} {one.id}  {one.title}" for one in documents)
    return 0


def library_status(arguments: Namespace) -> int:
    status = _with_library(arguments, lambda library: library.status())
    if arguments.json:
        say_json(status)
        return 0
    by = f"words and meaning ({status.embeddings})" if status.embeddings else "words"
    vectors = f", {status.vectors:,} pages with vectors" if status.embeddings else ""
    say(
        [
            f"documents    {status.documents}, {status.active} of them searched",
            f"pages        {status.pages:,}, {status.blank:,} without text",
            f"words        {status.words:,}",
            f"searched by  {by}{vectors}",
            f"file         {locate(arguments.directory).library} ({status.bytes / 1e6:.1f} MB)",
        ]
    )
    return 0


# ── adding


def library_add(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    settings = config.load(places).settings
    protection = make_terms(places, settings).protection
    left_out: list[str] = []
    paths = list(dict.fromkeys(documents_under(arguments.paths, protection, places.root, left_out.append)))
    for problem in left_out:
        complain(problem)
    if not paths:
        raise UsageError(
            f"{' '.join(arguments.paths)}: no document found", hint=f"Known formats: {', '.join(FORMATS)}."
        )
    bar = Bar(len(paths), sys.stderr.isatty())
    store = LibraryStore(places.library)
    outcomes: list[FillOutcome] = []
    try:
        for path in paths:
            outcomes.append(fill(store, path, protection, SystemClock().now, bar.page))
            bar.document()
            if not arguments.json:
                _tell(outcomes[-1], bar)
    finally:
        bar.clear()
        store.close()
    embedded = _embedded(places, bar) if settings.table("library", LibrarySettings).embeddings else ""
    failed = any(outcome.state == "failed" or _is_blank(outcome.document) for outcome in outcomes)
    if arguments.json:
        say_json(outcomes)
    else:
        counts = {
            state: sum(one.state == state for one in outcomes) for state in ("added", "updated", "unchanged", "failed")
        }
        say([", ".join(f"{count} {state}" for state, count in counts.items() if count)])
    if embedded:
        complain(embedded)
    return 1 if failed else 0


def _is_blank(document: Document | None) -> bool:
    return document is not None and document.blank == document.pages


def _tell(outcome: object, bar: Bar) -> None:
    assert isinstance(outcome, FillOutcome)
    bar.clear()
    if outcome.state != "failed" and outcome.document:
        one = outcome.document
        pages = "page" if one.pages == 1 else "pages"
        say([f"{outcome.state:<9}  {one.id:>4}  {one.format:<8}  {one.pages:>5} {pages:<5}  {_short(one.title)}"])
        sys.stdout.flush()
    if outcome.problem:
        complain(outcome.problem)


def _embedded(places: Places, bar: Bar) -> str:
    """Vectors for what is new; a word about it if that failed."""

    async def run(library: LocalLibrary) -> int:
        return await library.embed_new(bar.vectors)

    try:
        asyncio.run(_closing(places, run))
    except QuintetError as error:
        return f"the new pages are found only by words, until you run `quintet library add` again: {error}"
    finally:
        bar.clear()
    return ""


class Bar:
    """How far the adding is, on one line of a terminal; nothing where there is none."""

    def __init__(self, documents: int, shown: bool) -> None:
        self._documents = documents
        self._done = 0
        self._shown = shown
        self._last = 0.0

    def page(self, path: str, page: int, of: int) -> None:
        part = page / of if of else 0.5
        count = f"{page}/{of}" if of else str(page)
        name = _short(os.path.basename(path), 40)
        self._draw((self._done + part) / self._documents, f"{self._done + 1}/{self._documents}  {name}  page {count}")

    def document(self) -> None:
        self._done += 1

    def vectors(self, done: int, of: int) -> None:
        self._draw(done / max(of, 1), f"embedding of page {done:,} of {of:,}")

    def _draw(self, part: float, text: str) -> None:
        now = time.monotonic()
        if self._shown and now - self._last >= SECONDS:
            self._last = now
            full = round(BAR * min(part, 1.0))
            line = f"{'█' * full}{'░' * (BAR - full)}  {part:>4.0%}  {visible(text)}"
            width = os.get_terminal_size(sys.stderr.fileno()).columns or 80  # some terminals do not say
            sys.stderr.write(f"\r{line[: width - 1]}\x1b[K")  # a second line would stay behind
            sys.stderr.flush()

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _with_library(arguments: Namespace, work: Callable[[LocalLibrary], Awaitable[T]]) -> T:
    return asyncio.run(_closing(locate(arguments.directory), work))


async def _closing(places: Places, work: Callable[[LocalLibrary], Awaitable[T]]) -> T:
    settings = config.load(places).settings
    clean = Vault(places, settings).text if settings.table("library", LibrarySettings).embeddings else str
    library = LocalLibrary(places.library, settings, clean)
    try:
        return await work(library)
    finally:
        await library.close()


def _short(text: str, most: int = TITLE) -> str:
    text = visible(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _paths(parser: ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, or folders with documents")


def _search_words(parser: ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", help='words; "two words" is a phrase, wor* matches the start of a word')
    parser.add_argument("--limit", type=int, default=10, metavar="N", help="maximum number of results (default: 10)")
    parser.add_argument("--type", default="", metavar="FORMAT", help="only pdf, epub, markdown, html or text")


def _show_words(parser: ArgumentParser) -> None:
    parser.add_argument("document", metavar="DOC", help="its id, or words that only its title or path has")
    parser.add_argument("--page", type=int, default=None, metavar="N", help="this page's text")


def _document_names(parser: ArgumentParser) -> None:
    parser.add_argument("documents", nargs="+", metavar="DOC", help="its id, or words that only it has")


LIBRARY = actions(
    "library",
    {
        "list": lookup("library list", "List the documents of this project's library.", library_list),
        "add": lookup(
            "library add",
            "Add documents: PDF, EPUB, Markdown, HTML, text; exit code 1 if one of them cannot be read.",
            library_add,
            _paths,
        ),
        "search": lookup("library search", "Show the pages that match, the best first.", library_search, _search_words),
        "show": lookup("library show", "Show a document, or the text of one of its pages.", library_show, _show_words),
        "remove": lookup(
            "library remove", "Remove documents from the library; their files stay.", library_remove, _document_names
        ),
        "activate": lookup("library activate", "Search these documents again.", library_activate, _document_names),
        "deactivate": lookup(
            "library deactivate",
            "Exclude documents from searches, without removing them.",
            library_deactivate,
            _document_names,
        ),
        "status": lookup("library status", "Show how much is in the library, and how it is searched.", library_status),
    },
)
