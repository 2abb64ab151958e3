"""Filling the library: each document by its digest, added, put in another's place, or left as it is.

What cannot be read is reported by its name, and the rest goes in.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from typing import Literal

from msgspec import Struct

from quintet.adapters.files.real_path import real_path
from quintet.domain.base.errors import DocumentUnreadable
from quintet.domain.base.safe_text import visible
from quintet.domain.permission.protected_paths import Protection
from quintet.features.library.passages import Document
from quintet.features.library.read_document import Reading, open_document
from quintet.features.library.store import LibraryStore, NewDocument

_CHUNK = 1 << 20
Progress = Callable[[str, int, int], None]  # the document's path, its page, and of how many (0: nobody knows)


class FillOutcome(Struct, frozen=True):
    """What became of one path."""

    path: str
    state: Literal["added", "updated", "unchanged", "failed"]
    document: Document | None = None
    problem: str = ""  # why it failed, or what of it has no text


def fill(
    store: LibraryStore, path: str, protection: Protection, now: Callable[[], str], progress: Progress
) -> FillOutcome:
    """Put one document in."""
    whole, path = real_path(path), visible(path)  # a path need not be text
    if protection.is_secret(whole):
        return FillOutcome(path, "failed", problem=f"{path}: protected: it may contain secrets")
    if os.path.exists(whole) and not os.path.isfile(whole):
        return FillOutcome(path, "failed", problem=f"{path}: not a file (a pipe, a device)")
    kept = visible(whole)
    try:
        digest = _digest(whole)
        known = store.documents()
        same = next((one for one in known if one.digest == digest), None)
        before = next((one for one in known if one.path == kept), None)
        if same and (before is None or same.path == kept):
            note = "" if same.path == kept else f"{path}: the same as document {same.id}, {same.path}"
            return FillOutcome(path, "unchanged", same, note)
        reading = open_document(whole)
        try:
            new = NewDocument(reading.title, kept, reading.format, digest, now())
            document = store.put(new, _counted(reading, path, progress))
        finally:
            reading.close()
    except DocumentUnreadable as error:
        return FillOutcome(path, "failed", problem=error.message.replace(whole, path))
    except OSError as error:
        return FillOutcome(path, "failed", problem=f"{path}: cannot be read ({error.strerror or error})")
    return FillOutcome(path, "updated" if before else "added", document, _textless(path, document))


def _counted(reading: Reading, path: str, progress: Progress) -> Iterator[str]:
    pages, number = reading.pages, 0
    while True:
        try:
            text = next(pages, None)
        except Exception as error:  # readers of other people's formats fail in ways of their own
            raise DocumentUnreadable(f"{path}: cannot be read ({error or type(error).__name__})") from error
        if text is None:
            return
        yield text
        number += 1
        progress(path, number, reading.count)


def _textless(path: str, document: Document) -> str:
    if not document.blank:
        return ""
    if document.blank == document.pages:
        if document.format == "pdf":
            return (
                f"{path}: scanned: none of its {document.pages} pages has text; make it searchable first, for "
                "example with ocrmypdf"
            )
        return f"{path}: no text was found in it"
    return f"{path}: {document.blank} of its {document.pages} pages have no text (scanned, pictures, or broken)"


def _digest(path: str) -> str:
    made = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            made.update(chunk)
    return made.hexdigest()
