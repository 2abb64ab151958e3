"""The text of an HTML page, block by block, and its title; what is not read by a reader is left out.

Headings and list items are marked as Markdown does it, cells of tables are apart.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

_UNREAD = frozenset({"script", "style", "noscript", "template", "svg", "head"})
_MENUS = frozenset({"nav", "footer", "select", "iframe"})
_BLOCK_NAMES = """address article aside blockquote br dd div dl dt figcaption figure footer form h1 h2 h3 h4 h5 h6
    header hr main nav ol p pre section table tr ul title"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_CHARSET = re.compile(rb"<meta[^>]*charset\s*=\s*[\"']?([\w.:-]+)", re.I)
_MARKS = {"br": "\n", "li": "\n- ", "td": "\t", "th": "\t"} | {f"h{n}": f"\n\n{'#' * n} " for n in range(1, 7)}


class _Reader(HTMLParser):
    def __init__(self, unread: frozenset[str]) -> None:
        super().__init__(convert_charrefs=True)
        self._left_out = unread
        self.pieces: list[str] = []
        self.title: list[str] = []
        self._unread: list[str] = []
        self._in_title = False
        self._preformatted = 0  # how many open <pre> there are

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "body":
            self._unread = []  # a head that was never closed
        if tag in self._left_out:
            self._unread.append(tag)
        self._in_title = tag == "title" and not self.title
        if tag == "pre":
            self._preformatted += 1
        if tag in _MARKS or tag in _BLOCKS:
            self.pieces.append(_MARKS.get(tag, "\n\n"))

    def handle_endtag(self, tag: str) -> None:
        if tag in self._unread:
            del self._unread[self._unread.index(tag) :]
        self._in_title = False
        if tag == "pre" and self._preformatted:
            self._preformatted -= 1
        if tag in _BLOCKS and tag != "br":
            self.pieces.append("\n\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._unread:
            self.pieces.append(data if self._preformatted else _flowing(data))


def _flowing(data: str) -> str:
    words = " ".join(data.split())
    return f"{' ' if data[:1].isspace() else ''}{words}{' ' if data[-1:].isspace() and words else ''}"


def decoded(data: bytes) -> str:
    """A text from its bytes: as UTF-8 or UTF-16, else in the encoding it says it is in, else as Windows has it."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    said = _CHARSET.search(data[:4096])
    for encoding in ("utf-8-sig", *([said[1].decode("ascii", "replace")] if said else [])):
        try:
            return data.decode(encoding)
        except (UnicodeError, LookupError):
            continue
    return data.decode("cp1252", "replace")


def read_html(text: str, *, menus: bool = True) -> tuple[str, str]:
    """The page's title, empty if it has none, and its text with blocks apart; `menus`: also what is around it."""
    reader = _Reader(_UNREAD if menus else _UNREAD | _MENUS)
    reader.feed(text)
    reader.close()
    lines = (line.rstrip().strip(" ") for line in "".join(reader.pieces).splitlines())
    blocks: list[str] = []
    for line in lines:
        if line or (blocks and blocks[-1]):
            blocks.append(line)
    return " ".join("".join(reader.title).split()), "\n".join(blocks).strip()
