"""The library: documents the user added, page by page; what is found in them, and what an answer may cite."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct

from quintet.domain.base.errors import UsageError
from quintet.domain.base.lazy_regex import regex

FORMATS = ("pdf", "epub", "markdown", "html", "text")
CITED = regex(r"\[(\d+)(?:,?\s*p(?:age|\.)?\s*(\d+))\]", re.I)  # [3, p. 12]: document 3, page 12
_WORD = regex(r'"([^"]+)"|(\S+)')
_SMALL = """a about all an and any are as at be by can do does for from has have how i if in into is it its may more not
    of on or our say says so such than that the their them then there these they this to was we were what when where
    which who why will with would you your"""
_SMALL_WORDS = frozenset(_SMALL.split())


class Document(Struct, frozen=True):
    """A document of the library. Only an active one is searched."""

    id: int
    title: str
    path: str  # where it was added from
    format: str  # one of FORMATS
    pages: int
    words: int
    blank: int  # pages without text: scanned ones, pictures
    active: bool
    added: str  # ISO 8601, UTC
    digest: str  # of the file's content


class Passage(Struct, frozen=True):
    """A place in a document that fits a query."""

    document: int
    title: str
    page: int
    text: str  # the words around what fits
    score: float  # the higher the better, within one search
    matches: tuple[tuple[int, int], ...] = ()  # where in the text, from and to


class PageText(Struct, frozen=True):
    document: int
    title: str
    page: int
    pages: int
    text: str


class FoundPassages(Struct, frozen=True):
    passages: tuple[Passage, ...]
    by: Literal["words", "words and meaning"] = "words"
    note: str = ""  # what could not be done


class LibraryStatus(Struct, frozen=True):
    documents: int
    active: int
    pages: int
    blank: int
    words: int
    bytes: int  # of the library's file
    vectors: int  # pages that can be found by meaning
    embeddings: str  # the configured embedding model; empty: none


def match_query(text: str) -> tuple[str, str]:
    """A query as two of full-text search: one that wants all its words, and one that takes any.

    "two words" are a phrase, wor* is the beginning of a word; small words count only where there are no others.
    """
    terms: dict[str, bool] = {}  # term → whether it is a small word
    for phrase, word in _WORD.findall(text.encode("utf-8", "replace").decode()):
        clean = " ".join(re.findall(r"\w+", phrase or word))
        if clean:
            literal = f'"{clean}"{"*" if word.rstrip("?!.,;:").endswith("*") else ""}'
            terms[literal] = not phrase and clean.lower() in _SMALL_WORDS
    if not terms:
        raise UsageError(f'"{text}" has no letter and no digit to search for')
    wanted = [term for term, small in terms.items() if not small] or list(terms)
    return " AND ".join(wanted), " OR ".join(wanted)


def fused(rankings: Iterable[Sequence[int]], limit: int) -> list[tuple[int, float]]:
    """Several rankings of the same things as one, by reciprocal rank; the best first, with their scores."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for place, key in enumerate(ranking, 1):
            scores[key] = scores.get(key, 0.0) + 1 / (60 + place)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]


def checked_citations(answer: str, given: Iterable[tuple[int, int]]) -> tuple[list[tuple[int, int]], list[str]]:
    """The places that an answer cites and was given, in order; and what it cites that it was not given."""
    known, cited, invented = set(given), [], []
    for document, page in CITED.findall(answer):
        place = (int(document), int(page))
        if place not in known:
            invented.append(f"[{document}, p. {page}]")
        elif place not in cited:
            cited.append(place)
    return cited, list(dict.fromkeys(invented))


def chosen(documents: Sequence[Document], wanted: str) -> Document | None:
    """The document that is meant: by its id, else the only one with that title or path, or a part of it."""
    by_id = [document for document in documents if str(document.id) == wanted.strip()]
    if by_id:
        return by_id[0]
    folded = wanted.strip().casefold()
    tests: tuple[Callable[[Document], bool], ...] = (
        lambda document: folded in (document.title.casefold(), document.path.casefold()),
        lambda document: bool(folded) and folded in f"{document.title}\n{document.path}".casefold(),
    )
    for fits in tests:
        found = [document for document in documents if fits(document)]
        if len(found) == 1:
            return found[0]
    return None
