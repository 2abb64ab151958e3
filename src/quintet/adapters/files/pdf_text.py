"""The text of a PDF, page by page: by pdfium, and by pypdf where pdfium cannot read it.

Pdfium is first for it is several times faster and holds one page at a time. A page without text is empty, so that page
numbers stay those of the document.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from typing import Any

import pypdfium2

from quintet.domain.base.errors import DocumentUnreadable

REOPEN_PAGES = 50  # pypdf keeps all it has read; a reader is replaced after so many pages
LOCKED = "{path}: encrypted; a password is needed to read it"
NOT_READ = "{path}: a PDF that cannot be read ({why})"
_BROKEN_WORD = re.compile(r"(?<=[^\W\d_])[-\xad\ufffe\x02]\n(?=[a-zà-ÿ])")  # pdfium gives a soft break as U+FFFE or 2
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "ft", "ﬆ": "st"})


class Pdf:
    """A PDF that can be read: its title, empty if it says none, and how many pages it has.

    The source is its path, or the PDF itself; `name` is what problems call it.
    """

    def __init__(self, source: str | bytes, name: str = "") -> None:
        self._source = source
        self._name = name or str(source)
        self.title = ""
        self._pdfium: Any = None
        try:
            self._pdfium = _with_pdfium(source, self._name)
            self.count = len(self._pdfium)
            self.title = str(self._pdfium.get_metadata_value("Title") or "")
        except DocumentUnreadable:
            raise
        except Exception:  # whatever it makes of a broken file
            self.close()
            reader = _with_pypdf(source, self._name)
            self.count = len(reader.pages)
            self.title = _title(reader)
        if not self.count:
            raise DocumentUnreadable(NOT_READ.format(path=self._name, why="it has no pages"))

    def pages(self) -> Iterator[str]:
        read = self._by_pdfium if self._pdfium else self._by_pypdf
        for number in range(self.count):
            try:
                text = read(number)
            except MemoryError:
                raise
            except Exception:  # one page that cannot be read is no reason to lose the others
                text = ""
            yield clean(text)

    def close(self) -> None:
        if self._pdfium:
            self._pdfium.close()
        self._pdfium = None

    def _by_pdfium(self, number: int) -> str:
        page = self._pdfium[number]
        try:
            text = page.get_textpage()
            try:
                return str(text.get_text_range())
            finally:
                text.close()
        finally:
            page.close()

    def _by_pypdf(self, number: int) -> str:
        if number % REOPEN_PAGES == 0:
            self._reader = _with_pypdf(self._source, self._name)
        return str(self._reader.pages[number].extract_text())


def _with_pdfium(source: str | bytes, name: str) -> Any:
    try:
        return pypdfium2.PdfDocument(source)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise DocumentUnreadable(LOCKED.format(path=name)) from None
        raise


def _with_pypdf(source: str | bytes, name: str) -> Any:
    import pypdf  # takes longer to load than most PDFs to read, and is seldom wanted

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # its warnings about a broken file: we report one error
    try:
        reader = pypdf.PdfReader(io.BytesIO(source) if isinstance(source, bytes) else source)
        if reader.is_encrypted and not reader.decrypt(""):
            raise DocumentUnreadable(LOCKED.format(path=name))
        len(reader.pages)
        return reader
    except DocumentUnreadable:
        raise
    except Exception as error:
        why = " ".join(str(error).split()) or type(error).__name__
        raise DocumentUnreadable(NOT_READ.format(path=name, why=why)) from None


def _title(reader: Any) -> str:
    try:
        return str(reader.metadata.title or "")
    except Exception:  # what is said about a document may be broken where the document is not
        return ""


def clean(text: str) -> str:
    """A page's text in plain lines, words that a line's end broke made whole."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_LIGATURES)
    text = _BROKEN_WORD.sub("", text)
    text = "".join(char for char in text if char >= " " or char in "\n\t").replace("\ufffe", "")
    return text.encode("utf-8", "replace").decode().strip()
