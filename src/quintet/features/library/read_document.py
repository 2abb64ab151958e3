"""Documents by their content: what format a file is, its title, and its text page by page.

A page of a PDF is a page. Everything else is cut into pieces of about a printed page, at paragraphs, and a chapter of
an EPUB begins a new one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from quintet.adapters.files.html_text import decoded, read_html
from quintet.adapters.files.pdf_text import Pdf
from quintet.adapters.files.real_path import real_path
from quintet.domain.base.errors import DocumentUnreadable
from quintet.domain.base.safe_text import visible
from quintet.domain.permission.protected_paths import Protection, inside
from quintet.features.library.epub import Epub

PAGE_CHARACTERS = 3000
# What programs write as the title of a document that has none, scanners above all.
NO_TITLES = frozenset({"", "untitled", "untitled document", "no title", "none", "null", "unknown", "unspecified"})
MOST_TEXT_BYTES = 200_000_000
SUFFIXES = {
    ".pdf": "pdf",
    ".epub": "epub",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".txt": "text",
    ".text": "text",
    ".rst": "text",
    ".adoc": "text",
}
NOT_THEIRS = frozenset({"node_modules", "venv", "__pycache__", "site-packages", "target", "build", "dist", "vendor"})
_HEADING = re.compile(r"^#{1,2}\s+(.+?)\s*#*$", re.M)


class Reading(Struct):
    """A document that is open; whoever opened it closes it."""

    format: str
    title: str
    count: int  # pages; 0 where nobody knows before they are read
    pages: Iterator[str]
    close: Callable[[], None] = lambda: None


def documents_under(
    paths: list[str], protection: Protection, root: str = "", left_out: Callable[[str], None] = lambda problem: None
) -> Iterator[str]:
    """The files that are named, and in folders those that are documents by their names; no secrets, nothing hidden.

    No link is followed that leads out of a folder that is named, or out of the project at `root`: whoever made the
    project chose where it leads.
    """
    for path in paths:
        top = real_path(path)
        if root and inside(os.path.abspath(path), root) is not None and inside(top, root) is None:
            left_out(f"{path}: a link that leads out of the project, ignored; name the file itself")
            continue
        if not os.path.isdir(path):
            yield path
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if name not in NOT_THEIRS and not name.startswith("."))
            for name in sorted(names):
                whole = os.path.join(folder, name)
                known = os.path.splitext(name)[1].lower() in SUFFIXES and not name.startswith(".")
                if known and os.path.islink(whole) and inside(real_path(whole), top) is None:
                    left_out(f"{whole}: a link that leads out of {path}, ignored")
                elif known and os.path.isfile(whole) and not protection.is_secret(whole):
                    yield whole


def open_document(path: str) -> Reading:
    """Raises DocumentUnreadable, naming the file, where it cannot be read."""
    try:
        with open(path, "rb") as file:
            head = file.read(1024)
    except OSError as error:
        raise DocumentUnreadable(f"{path}: cannot be read ({error.strerror})") from None
    suffix = SUFFIXES.get(os.path.splitext(path)[1].lower(), "")
    name = visible(os.path.splitext(os.path.basename(path))[0])  # a file's name need not be text
    if b"%PDF-" in head or suffix == "pdf":
        pdf = Pdf(path)
        return Reading("pdf", _titled(pdf.title, name), pdf.count, pdf.pages(), pdf.close)
    if suffix == "epub" or (head.startswith(b"PK") and b"application/epub+zip" in head):
        epub = Epub(path)
        return Reading("epub", _titled(epub.title, name), 0, _chaptered(epub.chapters()), epub.close)
    text = _text(path)
    if suffix == "html" or (not suffix and re.match(r"\s*<(!doctype html|html)", text[:200], re.I)):
        title, text = read_html(text)
        return _pieces("html", _titled(title, name), text)
    if suffix == "markdown":
        heading = _HEADING.search(text)
        return _pieces("markdown", _titled(heading[1] if heading else "", name), text)
    return _pieces("text", name, text)


def _chaptered(chapters: Iterator[str | None]) -> Iterator[str]:
    """The pages of a book; an empty one for each chapter that is lost, and for a book without any."""
    empty = True
    for chapter in chapters:
        for piece in [""] if chapter is None else split(chapter):
            empty = False
            yield piece
    if empty:
        yield ""


def _pieces(format: str, title: str, text: str) -> Reading:
    pieces = split(text) or [""]
    return Reading(format, title, len(pieces), iter(pieces))


def _titled(title: str, name: str) -> str:
    words = " ".join("".join(char if char.isprintable() else " " for char in title).split())
    return name if words.casefold().strip("()<>[]") in NO_TITLES else words[:200]


def _text(path: str) -> str:
    if os.path.getsize(path) > MOST_TEXT_BYTES:
        raise DocumentUnreadable(f"{path}: longer than {MOST_TEXT_BYTES // 1_000_000} MB; split it")
    with open(path, "rb") as file:
        data = file.read()
    if b"\0" in data[:8192] and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        raise DocumentUnreadable(f"{path}: not text, and neither a PDF nor an EPUB")
    return decoded(data).replace("\r\n", "\n").replace("\0", "")


def split(text: str) -> list[str]:
    """A text as pieces of at most a page: at form feeds, then between paragraphs, lines, words, whichever will do."""
    pieces = []
    for part in text.split("\f"):
        start = 0
        while start < len(part):
            end = _cut(part, start)
            if piece := part[start:end].strip():
                pieces.append(piece)
            start = end
    return pieces


def _cut(text: str, start: int) -> int:
    """Where the piece that begins here ends."""
    last = start + PAGE_CHARACTERS
    if last >= len(text):
        return len(text)
    for mark in ("\n\n", "\n", " "):
        at = text.rfind(mark, start + PAGE_CHARACTERS // 3, last)
        if at > 0:
            return at + len(mark)
    return last
