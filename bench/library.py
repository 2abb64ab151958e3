"""The library at the size of a bookcase: how long a search takes, and what adding a long PDF does to memory.

python bench/library.py [--documents 2000] [--pages 20000] [--long 1000] [--queries 60] [--json]. A search is compared
with the bare full-text query underneath it, taking turns; memory with that of adding a PDF of ten pages.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import accumulate
from statistics import median, quantiles
from typing import Any

import apsw
from _table import say, table, verdict

from quintet.domain.permission.protected_paths import PROTECTION
from quintet.domain.settings.settings import Settings
from quintet.features.library.fill import fill
from quintet.features.library.library import LocalLibrary
from quintet.features.library.passages import match_query
from quintet.features.library.store import LibraryStore

SEARCH_TARGET = 0.050  # seconds
MEMORY_TARGET = 1.5  # times that of ten pages
WORDS_A_PAGE = 300
LONGEST = 200  # pages of a document of the bookcase
BARE = "SELECT rowid FROM lexicon WHERE lexicon MATCH ? ORDER BY rank LIMIT 10"


class Writer:
    """Pages of words that are as common as words are: the n-th has the share 1/n."""

    def __init__(self, seed: int = 7) -> None:
        self.random = random.Random(seed)
        letters = "etaoinshrdlucmfwypvbgkjqxz"
        self.words = ["".join(self.random.choices(letters[:20], k=self.random.randint(3, 9))) for _ in range(20_000)]
        self._shares = list(accumulate(1 / rank for rank in range(1, len(self.words) + 1)))

    def pick(self, count: int) -> list[str]:
        return self.random.choices(self.words, cum_weights=self._shares, k=count)

    def pdf(self, path: str, pages: int) -> None:
        """Page by page to the file, so that this process's own memory tells nothing of it."""
        places = [0, 0, 0]
        with open(path, "wb") as file:
            file.write(b"%PDF-1.4\n")
            for number in range(pages):
                words = self.pick(WORDS_A_PAGE)
                lines = "".join(f"({' '.join(words[at : at + 10])}) Tj T*\n" for at in range(0, len(words), 10))
                drawn = f"BT /F1 9 Tf 11 TL 40 800 Td\n{lines}ET"
                own = 4 + 2 * number
                body = f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents {own + 1} 0 R>>"
                places.append(self._object(file, own, body))
                places.append(self._object(file, own + 1, f"<</Length {len(drawn)}>>stream\n{drawn}\nendstream"))
            kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(pages))
            places[0] = self._object(file, 1, "<</Type/Catalog/Pages 2 0 R>>")
            font = "/Resources<</Font<</F1 3 0 R>>>>"
            places[1] = self._object(file, 2, f"<</Type/Pages/Count {pages}{font}/Kids[{kids}]>>")
            places[2] = self._object(file, 3, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
            start = file.tell()
            rows = "".join(f"{place:010d} 00000 n \n" for place in places)
            head = f"xref\n0 {len(places) + 1}\n0000000000 65535 f \n{rows}"
            file.write(f"{head}trailer<</Size {len(places) + 1}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n".encode())

    def _object(self, file: Any, number: int, body: str) -> int:
        place = int(file.tell())
        file.write(f"{number} 0 obj\n{body}\nendobj\n".encode())
        return place

    def queries(self, count: int) -> Iterator[str]:
        """What people ask: a word, two, three, a phrase, a question with small words in it; rare and common ones."""
        for number in range(count):
            one, two, three = (self.words[self.random.randint(5, 8000)] for _ in range(3))
            kinds = (one, f"{one} {two}", f"what is the {one} of {two}?", f"{one} {two} {three}", f"{one[:3]}* {two}")
            yield kinds[number % len(kinds)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--documents", type=int, default=2000, metavar="N", help="documents in the library (2000)")
    parser.add_argument("--pages", type=int, default=20_000, metavar="N", help="their pages in all (20000)")
    parser.add_argument("--long", type=int, default=1000, metavar="N", help="pages of the long PDF (1000)")
    parser.add_argument("--queries", type=int, default=60, metavar="N", help="searches (60)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="quintet-bench-") as folder:
        os.environ["XDG_STATE_HOME"] = os.environ["XDG_CONFIG_HOME"] = os.path.join(folder, "state")
        figures = {
            "memory": _memory(folder, wanted.long),
            "search": _search(folder, wanted.documents, wanted.pages, wanted.queries),
        }
    search, memory = figures["search"], figures["memory"]
    rows = [
        (
            f"search, median of {wanted.queries}",
            f"{search['bare'] * 1e3:.1f} ms",
            f"{search['median'] * 1e3:.1f} ms",
            f"{search['ratio']:.2f} ×",
            f"≤ {SEARCH_TARGET * 1e3:.0f} ms",
            verdict(search["median"] <= SEARCH_TARGET),
        ),
        (
            "search, 95 of 100",
            f"{search['bare_95'] * 1e3:.1f} ms",
            f"{search['p95'] * 1e3:.1f} ms",
            f"{search['p95'] / search['bare_95']:.2f} ×",
            "",
            "",
        ),
        (
            f"memory, adding {wanted.long} pages",
            f"{memory['short'] / 1e3:.0f} MB",
            f"{memory['long'] / 1e3:.0f} MB",
            f"{memory['ratio']:.2f} ×",
            f"≤ {MEMORY_TARGET} ×",
            verdict(memory["ratio"] <= MEMORY_TARGET),
        ),
    ]
    heading = (
        f"{search['documents']} documents, {search['pages']} pages",
        "reference",
        "Quintet",
        "ratio",
        "goal",
        "",
    )
    filled = f"filled in {search['filling']:.0f} s: {search['pages'] / search['filling']:.0f} pages a second"
    say(f"{table(heading, rows)}\n{filled}; {search['bytes'] / 1e6:.0f} MB", figures, wanted.json)
    return 0


def _memory(folder: str, pages: int) -> dict[str, float]:
    """The most memory that `quintet library add` takes, for ten pages and for many."""
    writer = Writer()
    most = {}
    for name, count in (("short", 10), ("long", pages)):
        path = os.path.join(folder, f"{name}.pdf")
        writer.pdf(path, count)
        argv = [sys.executable, "-m", "quintet", "-C", folder, "library", "add", path]
        silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
        child = os.posix_spawn(sys.executable, argv, os.environ, file_actions=silent)
        _, status, used = os.wait4(child, 0)
        assert status == 0, status
        most[name] = float(used.ru_maxrss)
    return {**most, "ratio": most["long"] / most["short"]}


def _sizes(documents: int, pages: int, chance: random.Random) -> list[int]:
    """So many documents of 1 to 200 pages, most of them short, with so many pages in all."""
    sizes = [1] * documents
    left = pages - documents
    while left > 0:
        short = chance.random() < 0.5
        place = chance.randrange(documents) if short else min(int(chance.paretovariate(0.7)) - 1, documents - 1)
        if sizes[place] < LONGEST:
            sizes[place] += 1
            left -= 1
    return sizes


def _search(folder: str, documents: int, pages: int, queries: int) -> dict[str, Any]:
    writer = Writer(11)
    path = os.path.join(folder, "library.db")
    store = LibraryStore(path)
    file = os.path.join(folder, "one.pdf")
    began, sizes = time.perf_counter(), _sizes(documents, pages, writer.random)
    writing = 0.0
    for number, size in enumerate(sizes):
        at = time.perf_counter()
        file = os.path.join(folder, f"{number}.pdf")
        writer.pdf(file, size)
        writing += time.perf_counter() - at
        assert fill(store, file, PROTECTION, lambda: "2026-01-01", lambda *_: None).state == "added"
        os.unlink(file)
    filling = time.perf_counter() - began - writing
    bare_connection = apsw.Connection(path)
    ours, bare = [], []

    async def run() -> None:
        library = LocalLibrary(path, Settings())
        for query in writer.queries(queries):
            every, _ = match_query(query)
            at = time.perf_counter()
            bare_connection.execute(BARE, (every,)).fetchall()
            bare.append(time.perf_counter() - at)
            at = time.perf_counter()
            await library.search(query, 10)
            ours.append(time.perf_counter() - at)

    asyncio.run(run())
    found = {
        "documents": documents,
        "pages": sum(sizes),
        "filling": filling,
        "bytes": store.size(),
        "median": median(ours),
        "p95": quantiles(ours, n=20)[-1],
        "bare": median(bare),
        "bare_95": quantiles(bare, n=20)[-1],
    }
    return {**found, "ratio": found["median"] / found["bare"]}


if __name__ == "__main__":
    sys.exit(main())
