"""What fits a question or a name: files by their words, symbols by their names, ranked by how much others use them.

A file counts the more, the more of the question's words it has, in its path and in what it declares above all.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import log

from quintet.features.index.entries import KINDS, FittingFile, FoundSymbol, Reference, References
from quintet.features.index.opened import open_in
from quintet.features.index.ranks import seen_from, unpacked
from quintet.features.index.store import IndexStore, RankedFile
from quintet.features.index.words import as_term, asked, parts, stems

CANDIDATES = 200  # files that are weighed
COLUMNS = {"path": 4.0, "names": 3.0, "often": 1.6, "words": 1.0}  # where a word counts how much
MOST_FILES = 400  # that are read for references
MOST_READ = 2_000_000  # bytes of one
SHOWN_SYMBOLS = 5  # of a file that fits
_CODE = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|#)[A-Za-z_]\w*)*")
_LOOKS_LIKE_CODE = re.compile(r"[a-z][A-Z]|_|\.|::|#|^[A-Z]+[a-z]+[A-Z]")
_TESTS = re.compile(r"(^|/)(tests?|testing|testdata|spec|__tests__)(/|$)|(^|/)test_|_test\.|\.(test|spec)\.|conftest")
_ASIDE = re.compile(
    r"(^|/)(docs?|examples?|vendor|third_party|node_modules|migrations|locale|fixtures|benchmarks?)(/|$)"
)
_COMMENT = re.compile(r"\s*(#|//|\*|/\*|--\s|;)")
Around = Callable[[], Iterable[str]]


def split_name(name: str) -> tuple[str, str]:
    """A name as it is typed (`Turn.run`, `Turn::run`, `Turn#run`) → what it stands in, and itself."""
    words = [word for word in re.split(r"\.|::|#|/", name.strip().removesuffix("()")) if word]
    return ".".join(words[:-1]), words[-1] if words else ""


def find_symbols(store: IndexStore, name: str, kind: str = "", most: int = 20) -> list[FoundSymbol]:
    """Symbols of a name: exactly, else those that begin so, else those that have its parts."""
    container, last = split_name(name)
    if not last:
        return []
    for look in (store.symbols_named, store.symbols_beginning, store.symbols_with_parts):
        rows = [row for row in look(last) if not kind or row[0].kind == kind]
        inside = [row for row in rows if _stands_in(row[0], container)] if container else rows
        if inside:
            return [symbol for symbol, _ in sorted(inside, key=lambda row: _order(row[0], row[1], last))][:most]
    return []


def _stands_in(symbol: FoundSymbol, container: str) -> bool:
    """Whether its container, or its module, ends with what was asked for."""
    wanted = container.lower()
    held = symbol.container.lower()
    module = symbol.path.rpartition(".")[0].replace("/", ".").lower()
    whole = f"{module}.{held}".strip(".")
    return any(one == wanted or one.endswith(f".{wanted}") for one in (held, whole, module))


def _order(symbol: FoundSymbol, rank: float, name: str) -> tuple[object, ...]:
    tests = bool(_TESTS.search(symbol.path))
    return (symbol.name != name, tests, len(symbol.name), -rank, KINDS.index(symbol.kind), symbol.path, symbol.line)


def find_references(store: IndexStore, root: str, name: str, most: int = 100) -> References:
    """The lines that use a name, the files that are used most first. Comments are left out."""
    container, last = split_name(name)
    files, count = store.with_word(last, MOST_FILES)
    if container:
        inside = set(store.with_word(container.rpartition(".")[2], 100_000)[0])
        files = [path for path in files if path in inside]
        count = len(files)
    declared = {(one.path, one.line) for one, _ in store.symbols_named(last) if one.name == last}
    word = re.compile(rf"(?<![\w$]){re.escape(last)}(?![\w$])")
    lines: list[Reference] = []
    with_it, cut = 0, count > len(files)
    for path in files:
        here = []
        text = _text(root, path)
        if last in text:
            for number, line in enumerate(text.split("\n"), 1):
                if last in line and word.search(line) and not _COMMENT.match(line):
                    here.append(Reference(path, number, line.strip()[:200], (path, number) in declared))
        with_it += bool(here)
        room = most - len(lines)
        cut = cut or len(here) > room
        lines += here[: max(room, 0)]
    return References(tuple(lines), with_it, cut)


def _text(root: str, path: str) -> str:
    try:
        with open(open_in(root, path), "rb") as file:
            return file.read(MOST_READ).decode("utf-8", "replace")
    except OSError:
        return ""


def search_code(store: IndexStore, root: str, question: str, most: int = 10) -> list[FittingFile]:
    """The files that fit a question best, each with the symbols and the line in it that fit."""
    words = asked(question)
    scores = _scored(store, question, words)
    best = sorted(scores.items(), key=lambda one: (-one[1], one[0]))[:most]
    terms = {form for word in words for part in (word.lower(), *parts(word)) for form in stems(part)}
    return [_shown(store, root, path, score, terms) for path, score in best]


def _scored(store: IndexStore, question: str, words: Sequence[str]) -> dict[str, float]:
    scores: dict[int, float] = defaultdict(float)
    hits: dict[int, float] = defaultdict(float)
    count = max(store.counts_of_files(), 1)
    for word in words:
        forms = dict.fromkeys(form for part in (word.lower(), *parts(word)) for form in stems(part))
        either = " OR ".join(as_term(form) for form in forms)
        here: dict[int, float] = {}
        for column, weight in COLUMNS.items():
            for file in store.matching(f"{column} : ({either})"):
                here[file] = here.get(file, 0.0) + weight
        rare = log(1.0 + count / (1.0 + len(here)))
        for file, weight in here.items():
            scores[file] += weight * rare
            hits[file] += rare
    most = max(hits.values(), default=1.0)
    rough = sorted(scores, key=lambda file: -scores[file] * hits[file])[:CANDIDATES]
    found: dict[str, float] = {}
    wants_tests = any(word.lower().startswith("test") for word in words)
    for id in rough:
        if (one := store.file_by_id(id)) is None:
            continue
        used = 1.0 + 0.1 * log(1.0 + one.rank * count)
        long = 1.0 + 0.12 * log(1.0 + one.lines / 200)
        score = scores[id] * (0.25 + hits[id] / most) * used / long
        aside = (0.45 if _TESTS.search(one.path) and not wants_tests else 1.0) * (
            0.6 if _ASIDE.search(one.path) else 1.0
        )
        found[one.path] = score * aside
    for name in _CODE.findall(question):
        if _LOOKS_LIKE_CODE.search(name):
            top = max(found.values(), default=1.0)
            for place, symbol in enumerate(find_symbols(store, name, most=5)):
                if symbol.name.lower() == split_name(name)[1].lower():
                    found[symbol.path] = found.get(symbol.path, 0.0) + top / (1 + place)
    return found


def _shown(store: IndexStore, root: str, path: str, score: float, terms: set[str]) -> FittingFile:
    outline = store.outline(path)
    fits = [(len(terms & {symbol.name.lower(), *parts(symbol.name)}), symbol) for symbol in outline]
    fits = sorted(((fit, symbol) for fit, symbol in fits if fit), key=lambda one: (-one[0], KINDS.index(one[1].kind)))
    symbols = tuple(symbol for _, symbol in fits[:SHOWN_SYMBOLS])
    if symbols:
        return FittingFile(path, round(score, 3), symbols[0].line, symbols[0].text, symbols)
    best, at, text = 0, 1, ""
    for number, line in enumerate(_text(root, path).split("\n"), 1):
        folded = line.lower()
        fit = sum(term in folded for term in terms)
        if fit > best:
            best, at, text = fit, number, line.strip()[:200]
    return FittingFile(path, round(score, 3), at, text)


def ranked_files(
    store: IndexStore, most: int, touched: Sequence[str] = (), mentioned: Sequence[str] = ()
) -> list[RankedFile]:
    """The files by rank; seen from what the conversation touches, where it touches any."""
    everyone = store.ranked(max(most, 500))
    seeds: dict[int, float] = {}
    for path in touched:
        if file := store.file(path):
            seeds[file.id] = seeds.get(file.id, 0.0) + 1.0
    for name in mentioned:
        for symbol in find_symbols(store, name, most=3):
            if symbol.name == split_name(name)[1] and (file := store.file(symbol.path)):
                seeds[file.id] = seeds.get(file.id, 0.0) + 0.5
    if not seeds:
        return everyone[:most]
    near = seen_from(seeds, lambda file: unpacked(store.links(file)))
    known = {file.id: file for file in everyone}
    for id in near:
        if id not in known and (file := store.file_by_id(id)):
            known[id] = file

    def order(file: RankedFile) -> tuple[float, str]:
        return -(3.0 * near.get(file.id, 0.0) + file.rank), file.path

    return sorted(known.values(), key=order)[:most]
