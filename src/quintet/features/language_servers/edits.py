"""The edits of a server as whole texts. Pure.

A server names places by lines and units of its own encoding; what it would do besides changing text (make, rename or
delete files) is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct, convert

from quintet.domain.base.errors import ToolFailed
from quintet.features.language_servers.wire import Position, Range, characters, lines_of, path_of


class WireEdit(Struct, rename="camel"):
    range: Range
    new_text: str


class _Document(Struct):
    uri: str


class _DocumentEdit(Struct, rename="camel"):
    text_document: _Document | None = None
    edits: list[WireEdit] = []
    kind: str = ""  # of what is no edit of a text: create, rename, delete


class _WorkspaceEdit(Struct, rename="camel"):
    changes: dict[str, list[WireEdit]] | None = None
    document_changes: list[_DocumentEdit] | None = None


class WireAction(Struct, rename="camel"):
    """A code action, or a bare command from servers that send one."""

    title: str
    kind: str | None = None
    edit: Any = None
    command: Any = None
    data: Any = None
    arguments: Any = None
    disabled: dict[str, str] | None = None


def edits_by_path(answer: Any) -> dict[str, list[WireEdit]]:
    """The edits of a WorkspaceEdit, by the path of the file."""
    wanted = convert(answer or {}, _WorkspaceEdit)
    found: dict[str, list[WireEdit]] = {}
    for one in wanted.document_changes or ():
        if one.kind or one.text_document is None:
            raise ToolFailed(
                f"the server would also {one.kind or 'change'} files, which is not done here: nothing was changed"
            )
        found.setdefault(path_of(one.text_document.uri), []).extend(one.edits)
    if wanted.document_changes is None:
        for uri, edits in (wanted.changes or {}).items():
            found.setdefault(path_of(uri), []).extend(edits)
    return {path: edits for path, edits in found.items() if edits}


def edited_text(text: str, edits: Sequence[WireEdit], encoding: str) -> str:
    """The text with all the edits, which must not overlap."""
    starts = list(_line_starts(text))
    lines = lines_of(text)

    def place(at: Position) -> int:
        if at.line >= len(lines):
            return len(text)
        return starts[at.line] + characters(lines[at.line], at.character, encoding)

    spans = sorted(
        (place(edit.range.start), place(edit.range.end or edit.range.start), number, edit.new_text)
        for number, edit in enumerate(edits)
    )
    pieces, last = [], 0
    for start, end, _, new in spans:
        if start < last or end < start:
            raise ToolFailed("the server's edits overlap; nothing was changed")
        pieces += [text[last:start], new]
        last = end
    return "".join([*pieces, text[last:]])


def _line_starts(text: str) -> Iterator[int]:
    """Where each line begins, as the protocol counts lines."""
    yield 0
    at = 0
    while at < len(text):
        if text[at] == "\n" or (text[at] == "\r" and text[at + 1 : at + 2] != "\n"):
            yield at + 1
        at += 1
