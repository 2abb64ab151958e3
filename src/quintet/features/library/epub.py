"""The text of an EPUB: its chapters in reading order, from the zip and the HTML inside."""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from urllib.parse import unquote
from xml.etree import ElementTree

from quintet.adapters.files.html_text import decoded, read_html
from quintet.domain.base.errors import DocumentUnreadable

MOST_BYTES = 50_000_000  # of one chapter, unpacked
MOST_OF_ALL = 200_000_000  # of all chapters together
READABLE = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
# What reading a zip or XML that is not whole raises, or one packed by a method that zipfile does not know.
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, LookupError, ValueError, SyntaxError)
_FONTS_ONLY = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")


class Epub:
    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._zip = zipfile.ZipFile(path)
            if self._locked():
                raise DocumentUnreadable(f"{path}: encrypted; only its publisher's reader can open it")
            container = ElementTree.fromstring(self._read("META-INF/container.xml"))
            opf = next(e.attrib["full-path"] for e in container.iter() if _name(e) == "rootfile")
            package = ElementTree.fromstring(self._read(opf))
        except DocumentUnreadable:
            self.close()
            raise
        except (*_BROKEN, StopIteration) as error:
            self.close()
            raise DocumentUnreadable(f"{path}: an EPUB that cannot be read ({error or 'it is incomplete'})") from None
        self.title = next((e.text.strip() for e in package.iter() if _name(e) == "title" and e.text), "")
        folder = posixpath.dirname(opf)
        items = {e.get("id"): e for e in package.iter() if _name(e) == "item"}
        spine = [items[e.get("idref")] for e in package.iter() if _name(e) == "itemref" and e.get("idref") in items]
        names = [
            posixpath.normpath(posixpath.join(folder, unquote(item.get("href", ""))))
            for item in spine
            if item.get("media-type", READABLE[0]) in READABLE
        ]
        self._chapters = list(dict.fromkeys(names))  # each once, however often the reading order names it

    def chapters(self) -> Iterator[str | None]:
        """None for one that is not there, or broken: the others are worth having."""
        left = MOST_OF_ALL
        for name in self._chapters:
            try:
                data = self._read(name) if left > 0 else None
            except _BROKEN:
                data = None
            left -= len(data or b"")
            yield read_html(decoded(data))[1] if data is not None else None

    def close(self) -> None:
        if hasattr(self, "_zip"):
            self._zip.close()

    def _read(self, name: str) -> bytes:
        with self._zip.open(name) as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ValueError(f"{name} is too long")
        return data

    def _locked(self) -> bool:
        """Whether more than its fonts is encrypted."""
        if any(entry.flag_bits & 1 for entry in self._zip.infolist()):
            return True
        if "META-INF/encryption.xml" not in self._zip.namelist():
            return False
        methods = ElementTree.fromstring(self._read("META-INF/encryption.xml"))
        used = [e.get("Algorithm") for e in methods.iter() if _name(e) == "EncryptionMethod"]
        return any(method not in _FONTS_ONLY for method in used)


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]
