"""Full-text search over the journal with PostgreSQL: words without case and accents, phrases, beginnings of words.

The journal is never slowed by it: what is new is indexed when somebody searches. Words are split here and not by the
server, whose own parser takes a path for one word.
"""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice

from quintet.adapters.sqlite.journal_search import MOST_LINES, PIECE, shown_line
from quintet.domain.base.errors import NotFound
from quintet.domain.base.safe_text import visible
from quintet.domain.journal.search_text import KINDS, query, text_of
from quintet.domain.ports.stores import Hit, Hits, Progress
from quintet.features.postgres.link import ServerLink, statements
from quintet.features.postgres.rows import PostgresRows

SQL = statements("search.sql")
LONGEST_WORD = 500  # characters; the server takes 2 kB
LAST_PLACE = 16_383  # the server counts no further
MOST_PLACES = 255  # of one word in one text
_WORD = re.compile(r"[^\W_]+")


def folded(text: str) -> str:
    """Without case and accents, a character for a character."""
    return "".join(_base(char) for char in text)


def _base(char: str) -> str:
    if char.isascii():
        return char.lower()
    base = unicodedata.normalize("NFKD", char)[0].lower()
    return base if len(base) == 1 else char


def words_of(text: str) -> list[str]:
    plain = unicodedata.normalize("NFC", text)
    return [found[0][:LONGEST_WORD] for found in _WORD.finditer(folded(plain))]


def as_vector(text: str) -> str:
    """The words of a text with their places, as the server writes them."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(words_of(text), 1):
        found = places.setdefault(word, [])
        if len(found) < MOST_PLACES:
            found.append(min(place, LAST_PLACE))
    return " ".join(f"'{word}':{','.join(map(str, dict.fromkeys(at)))}" for word, at in places.items())


def as_terms(words: Sequence[str]) -> list[tuple[list[str], bool]]:
    """What is searched for: the words of each phrase, and whether its last one is only the beginning of a word."""
    query(words)  # says what cannot be searched for
    terms = [(words_of(word.encode("utf-8", "replace").decode()), word.endswith("*")) for word in words]
    return [(phrase, open_end) for phrase, open_end in terms if phrase]


def as_query(terms: Sequence[tuple[list[str], bool]]) -> str:
    return " & ".join(f"({' <-> '.join(_quoted(phrase, open_end))})" for phrase, open_end in terms)


def _quoted(phrase: list[str], open_end: bool) -> Iterator[str]:
    for number, word in enumerate(phrase, 1):
        yield f"'{word}'{':*' if open_end and number == len(phrase) else ''}"


def search(url: str, project: int, words: Sequence[str], limit: int, progress: Progress) -> Hits:
    """Index what is new, then search."""
    terms = as_terms(words)
    link = ServerLink(url, project=project, reads_only=False)
    try:
        rows = PostgresRows(link)
        newest = rows.newest_seq()
        while (done := _piece(link, rows, newest)) < newest:
            progress(done, newest)
        return _found(link, rows, terms, limit)
    finally:
        link.close()


def _piece(link: ServerLink, rows: PostgresRows, newest: int) -> int:
    """Index the next events; each piece looks anew, for another process may be indexing too."""
    link.execute(SQL["begin_index"])
    link.execute("BEGIN")
    try:
        done = int(link.execute(SQL["indexed"]).fetchall()[0][0])
        upto = min(done + PIECE, newest)
        if upto > done:
            for recorded in rows.read_project(KINDS, done, before=upto):
                if vector := as_vector(text_of(recorded.event)[1]):
                    link.execute(SQL["add"], (recorded.seq, vector))
            link.execute(SQL["set_indexed"], (upto,))
        link.execute("COMMIT")
    except BaseException:
        if not link.lost:
            link.execute("ROLLBACK")
        raise
    return max(done, upto)


def _found(link: ServerLink, rows: PostgresRows, terms: Sequence[tuple[list[str], bool]], limit: int) -> Hits:
    wanted = as_query(terms)
    count = int(link.execute(SQL["count"], (wanted,)).fetchall()[0][0])
    hits, titles = [], dict[str, str]()
    for (seq,) in link.execute(SQL["newest"], (wanted, limit)).fetchall():
        with contextlib.suppress(NotFound):  # purged a moment ago
            session, recorded = rows.event(int(seq))
            if session not in titles:
                row = rows.session(session)
                titles[session] = row.title if row else ""
            what, text = text_of(recorded.event)
            line = shown_line(_best_line(text, terms))
            hits.append(Hit(session, recorded.at, titles[session], recorded.seq, what, *line))
    return Hits(count, hits)


def _best_line(text: str, terms: Sequence[tuple[list[str], bool]]) -> str:
    """The line with most of what is searched for, the matches marked; the first one if a phrase runs over lines."""
    best, most = "", 0
    for line in islice(text.splitlines(), MOST_LINES):
        shown = unicodedata.normalize("NFC", visible(line.expandtabs(1)).strip())
        matches = [_matches(shown, phrase, open_end) for phrase, open_end in terms]
        if (fitting := sum(map(bool, matches))) > most:
            best, most = _marked(shown, [span for found in matches for span in found]), fitting
    return best or visible(text.strip().partition("\n")[0])


def _matches(line: str, phrase: list[str], open_end: bool) -> list[tuple[int, int]]:
    """Where in a line a phrase is."""
    spans = [(found[0][:LONGEST_WORD], found.start(), found.end()) for found in _WORD.finditer(folded(line))]
    size, found = len(phrase), []
    for at in range(len(spans) - size + 1):
        here = [word for word, _, _ in spans[at : at + size]]
        ends = here[-1].startswith(phrase[-1]) if open_end else here[-1] == phrase[-1]
        if ends and here[:-1] == phrase[:-1]:
            found.append((spans[at][1], spans[at + size - 1][2]))
    return found


def _marked(line: str, spans: Sequence[tuple[int, int]]) -> str:
    parts, done = [], 0
    for start, end in sorted(spans):
        if start >= done:
            parts += [line[done:start], "\x02", line[start:end], "\x03"]
            done = end
    return "".join([*parts, line[done:]])
