"""Takes out of one file what the index holds of it: its symbols, the identifiers it uses, its words.

Nothing a file holds stops it: what is no text, is too large, is generated or broken goes in with less.
Belongs to a process of its own: a grammar may crash, or take too long.
"""

from __future__ import annotations

import os
import re
import stat
import time
from array import array
from collections import Counter
from hashlib import blake2b
from operator import itemgetter

from tree_sitter import Node, QueryCursor

from quintet.features.index.entries import SCOPES, Declared, Extract
from quintet.features.index.languages import LoadedGrammar, grammar_name, language_of, reader
from quintet.features.index.opened import open_in
from quintet.features.index.words import IDENTIFIER, MOST_WORDS, OFTEN, mark, spread

MOST_BYTES = 4_000_000  # of a file whose words go in
MOST_PARSED = 1_500_000  # of a file whose symbols do
LONGEST_LINE = 20_000  # what has longer ones was generated
MOST_SYMBOLS = 50_000  # of one file
SETTLED = 2_000_000_000  # nanoseconds after which the same time and size mean the same content
TEXT = 160  # characters of a symbol's line
_IN_CLASS = frozenset({"class", "interface", "struct", "enum", "scope"})
_QUALIFIER = re.compile(  # before at least a type and a name
    rb"^((?:(?:static|extern|inline)[ \t]+)*)([A-Z][A-Z0-9_]{2,}(?:\([^()\n]*\))?)"
    rb"(?=(?:[ \t]+[A-Za-z_]\w*){1,4}[ \t*]+[A-Za-z_]\w*)",
    re.MULTILINE,
)
_WIDE = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_known: dict[bytes, str] = {}
_KNOWN = 300_000  # identifiers whose words are remembered


class Extractor:
    """Of one root; belongs to one thread."""

    def __init__(self, root: str) -> None:
        self._root = root

    def extract(self, path: str, digest: bytes) -> Extract:
        """`digest` is what the file had before; empty if it is new."""
        try:
            content, stamp = self._read(path)
        except (OSError, ValueError):
            return Extract(path, (0, 0), b"", gone=True)
        if content is None:
            return Extract(path, stamp, b"large", extent="name", words=spread([path.encode("utf-8", "replace")], {}))
        found = blake2b(content, digest_size=16).digest()
        if found == digest:
            return Extract(path, stamp, found, same=True)
        return taken_out(path, content, stamp, found)

    def _read(self, path: str) -> tuple[bytes | None, tuple[int, int]]:
        """The content, None if there is too much of it; links are not followed."""
        handle = open_in(self._root, path)
        with open(handle, "rb") as file:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode):
                raise ValueError("not a file")
            settled = time.time_ns() - about.st_mtime_ns > SETTLED
            stamp = (about.st_size, about.st_mtime_ns if settled else 0)
            if about.st_size > MOST_BYTES:
                return None, (about.st_size, about.st_mtime_ns)
            return file.read(MOST_BYTES + 1), stamp


def taken_out(path: str, content: bytes, stamp: tuple[int, int], digest: bytes) -> Extract:
    if wide := _WIDE.get(content[:2]):
        content = content.decode(wide, "replace").encode()
    if b"\0" in content[:8000]:
        return Extract(path, stamp, digest, extent="name")
    lines = content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
    grammar = grammar_name(path, content)
    symbols: list[Declared] = []
    known, broken = reader(grammar) if grammar else None, False
    if known and len(content) <= MOST_PARSED and not _generated(content, lines):
        symbols, broken = declared(known, content, _parsed_as(content, grammar))
    if len(_known) > _KNOWN:
        _known.clear()
    counts = Counter(IDENTIFIER.findall(content))
    uses = array("I", sorted({mark(name) for name in counts}))
    common = counts.most_common(MOST_WORDS)
    often = [name for name, count in common if count >= OFTEN]
    return Extract(
        path,
        stamp,
        digest,
        language_of(grammar),
        lines,
        "whole" if known else "words",
        tuple(symbols),
        uses.tobytes(),
        spread(dict.fromkeys(symbol.name.encode() for symbol in symbols), _known),
        spread(often, _known),
        spread((name for name, _ in common[len(often) :]), _known),
        broken=broken,
    )


def _generated(content: bytes, lines: int) -> bool:
    if len(content) < LONGEST_LINE:
        return False
    return len(content) / max(lines, 1) > 1000 or max(map(len, content.split(b"\n"))) > LONGEST_LINE


def _parsed_as(content: bytes, grammar: str) -> bytes:
    """C without the macros that stand before a type, as in `LIB_API const char *name(void)`: a grammar that does not
    know them takes them for the type. Spaces take their place, so that everything stays where it is."""
    if grammar not in ("c", "cpp"):
        return content
    return _QUALIFIER.sub(lambda found: found[1] + b" " * len(found[2]), content)


def declared(reader: LoadedGrammar, content: bytes, parsed: bytes) -> tuple[list[Declared], bool]:
    """What a file declares, in its order, and whether it has syntax errors. `parsed` is what the grammar is given."""
    root = reader.parser.parse(parsed).root_node
    matches = QueryCursor(reader.query).matches(root)
    found: dict[int, tuple[int, str, Node, Node, Node | None]] = {}  # by where the name begins
    for pattern, captured in matches:
        inside = captured.pop("in", None)
        names = captured.pop("name", None)
        captured.pop("_made", None)
        if not names or not captured:
            continue
        kind, (whole, *_) = next(iter(captured.items()))
        for name in names:
            at = name.start_byte
            if at not in found or pattern < found[at][0]:
                found[at] = (pattern, kind, name, whole, inside[0] if inside else None)
    return _nested(list(found.values())[:MOST_SYMBOLS], content), root.has_error


def _nested(found: list[tuple[int, str, Node, Node, Node | None]], content: bytes) -> list[Declared]:
    """Each with the names that it stands in."""
    spans = []
    for _, kind, named, whole, inside in found:
        if whole.type == "function_declarator":
            whole = _definition(whole)
        spans.append((whole.start_byte, -whole.end_byte, kind, named, whole, inside))
    spans.sort(key=itemgetter(0, 1))
    made: list[Declared] = []
    attributes: set[tuple[str, str]] = set()
    around: list[tuple[int, str, str]] = []  # where it ends, its name, its kind
    for start, ends, kind, node, whole, inside in spans:
        while around and around[-1][0] <= start:
            around.pop()
        at = node.start_byte
        name = content[at : node.end_byte].decode("utf-8", "replace").lstrip(":")
        if inside is not None:
            container = content[inside.start_byte : inside.end_byte].decode("utf-8", "replace").replace("::", ".")
            container = container.partition("<")[0]
        elif kind == "attribute":  # of an instance: it belongs to the class, and counts where it is first set
            depth = max((at for at, one in enumerate(around) if one[2] in _IN_CLASS), default=-1) + 1
            container, kind = ".".join(one for _, one, _ in around[:depth]), "field"
            if not container or (container, name) in attributes:
                continue
            attributes.add((container, name))
        else:
            container = ".".join(one for _, one, _ in around)
            if kind == "function" and around and around[-1][2] in _IN_CLASS:
                kind = "method"
        if kind != "scope":
            first = content.rfind(b"\n", 0, at) + 1
            last = content.find(b"\n", at)
            line = content[first : last if last >= 0 else len(content)][: 4 * TEXT].decode("utf-8", "replace").strip()
            made.append(Declared(name, kind, container, node.start_point[0] + 1, whole.end_point[0] + 1, line[:TEXT]))
        if kind in SCOPES:
            around.append((-ends, name, kind))
    return made


def _definition(node: Node) -> Node:
    """The whole function of a declarator, where it has a body."""
    above = node.parent
    while above is not None and above.type.endswith("declarator"):
        above = above.parent
    return above if above is not None and above.type == "function_definition" else node
