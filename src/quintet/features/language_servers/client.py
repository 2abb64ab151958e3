"""The client of one running language server: handshake, the open document, questions and their answers.

One document is open at a time, with the text that was just read from disk. Other files the server reads itself; what
changed among them since the last question is told to it first. Lines and columns count characters from 1 here, and
whatever the server agreed to on the wire.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from quintet.adapters.processes.piped_child import Piped
from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.protected_paths import inside
from quintet.domain.ports.ports import Files
from quintet.features.language_servers.json_rpc import RpcConnection, RpcRefused
from quintet.features.language_servers.registry import Language
from quintet.features.language_servers.values import Diagnostic, SourcePlace
from quintet.features.language_servers.wire import (
    Capabilities,
    Initialized,
    Items,
    Location,
    Position,
    Published,
    Pulled,
    WireDiagnostic,
    WireProgress,
    characters,
    code_of,
    lines_of,
    path_of,
    plain,
    severity_of,
    text_of,
    units,
    uri_of,
)

ASK_AGAIN = {-32801, -32802}  # the content changed meanwhile; the server gave up for a reason of its own
ASK_AGAIN_SECONDS = 0.1
SETTLE_SECONDS = 0.3  # a server that publishes diagnostics may do so in parts
MOST_WATCHED = 50_000
NOT_WALKED = {"node_modules", "target", "venv", "__pycache__"}
CAPABILITIES = {
    "general": {"positionEncodings": ["utf-8", "utf-16"]},
    "window": {"workDoneProgress": True},
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "didChangeWatchedFiles": {"dynamicRegistration": True},
    },
    "textDocument": {
        "synchronization": {},
        "definition": {},
        "references": {},
        "hover": {"contentFormat": ["plaintext", "markdown"]},
        "diagnostic": {},
        "publishDiagnostics": {"versionSupport": True},
    },
}


class _Document(Struct):
    path: str
    text: str
    version: int


class LanguageClient:
    def __init__(self, child: Piped, language: Language, files: Files) -> None:
        self.child = child
        self._language = language
        self._files = files
        self._capabilities = Capabilities()
        self._document: _Document | None = None
        self._published: list[WireDiagnostic] | None = None  # about the open document as it stands
        self._news = asyncio.Event()
        self._work: dict[int | str, str] = {}  # what the server says it is at, by its token
        self._begun = 0  # how often it said so
        self._ready = False
        self._stamps: dict[str, tuple[int, int, int]] = {}
        self.connection = RpcConnection(
            child.reader,
            child.writer,
            answers={
                "workspace/configuration": lambda params: [None] * len(msgspec.convert(params, Items).items),
                "workspace/workspaceFolders": lambda params: self._folders(),
                "client/registerCapability": lambda params: None,
                "client/unregisterCapability": lambda params: None,
                "window/workDoneProgress/create": lambda params: None,
                "window/showMessageRequest": lambda params: None,
                "workspace/applyEdit": lambda params: {"applied": False},
                "workspace/diagnostic/refresh": lambda params: None,
            },
            hears={"textDocument/publishDiagnostics": self._hear_diagnostics, "$/progress": self._hear_progress},
            on_lost=self._news.set,
        )

    @property
    def at_work(self) -> str:
        """What the server says it is doing, such as indexing; empty if nothing."""
        return next(iter(self._work.values()), "")

    async def handshake(self, options: dict[str, Any]) -> None:
        self._stamps = await asyncio.to_thread(self._walk)
        params = {
            "processId": None,  # in a sandbox ours is another's; the end of its stdin tells the server
            "clientInfo": {"name": "quintet"},
            "rootUri": uri_of(self._files.root),
            "workspaceFolders": self._folders(),
            "capabilities": CAPABILITIES,
            "initializationOptions": options,
        }
        answer = await self.connection.request("initialize", params)
        self._capabilities = msgspec.convert(answer, Initialized).capabilities
        await self.connection.notify("initialized", {})
        self._ready = True

    def usable(self) -> bool:
        return self._ready and not self.connection.lost

    async def end(self) -> None:
        await self.connection.close()
        await self.child.end()

    # What the server should know before it is asked.

    async def show(self, path: str, text: str) -> None:
        """Make `path` the open document, with this text, and tell what else changed on disk."""
        await self._tell_changes()
        before = self._document
        if before and (before.path, before.text) == (path, text):
            return
        version = before.version + 1 if before else 1
        self._document, self._published = _Document(path, text, version), None
        identity = {"uri": uri_of(path), "version": version}
        if before and before.path == path:
            changed = {"textDocument": identity, "contentChanges": [{"text": text}]}
            await self.connection.notify("textDocument/didChange", changed)
            return
        language_id = self._language.ids[os.path.splitext(path)[1]]
        opened = {"textDocument": {**identity, "languageId": language_id, "text": text}}
        await self.connection.notify("textDocument/didOpen", opened)
        if before:
            await self.connection.notify("textDocument/didClose", {"textDocument": {"uri": uri_of(before.path)}})

    async def _tell_changes(self) -> None:
        old, new = self._stamps, await asyncio.to_thread(self._walk)
        self._stamps = new
        kinds = {path: 2 if path in old else 1 for path, stamp in new.items() if old.get(path) != stamp}
        kinds |= {path: 3 for path in old if path not in new}
        if kinds:
            changes = [{"uri": uri_of(path), "type": kind} for path, kind in kinds.items()]
            await self.connection.notify("workspace/didChangeWatchedFiles", {"changes": changes})

    def _walk(self) -> dict[str, tuple[int, int, int]]:
        """The project's files that matter to this server, each with what changes when it does."""
        found: dict[str, tuple[int, int, int]] = {}
        for folder, folders, names in os.walk(self._files.root):
            folders[:] = [name for name in folders if name not in NOT_WALKED and not name.startswith(".")]
            for name in filter(self._language.watches, names):
                path = os.path.join(folder, name)
                try:
                    info = os.lstat(path)
                except OSError:
                    continue
                found[path] = (info.st_mtime_ns, info.st_size, info.st_ino)
            if len(found) > MOST_WATCHED:
                break
        return found

    # Questions.

    async def places(
        self, method: str, line: int, column: int, extra: dict[str, Any] | None = None
    ) -> list[SourcePlace]:
        answer = await self._ask_at(method, line, column, extra or {}) or []
        found = msgspec.convert(answer if isinstance(answer, list) else [answer], list[Location])
        return await asyncio.to_thread(self._placed, found)

    async def hover(self, line: int, column: int) -> str:
        answer = await self._ask_at("textDocument/hover", line, column, {})
        return plain(answer.get("contents")) if isinstance(answer, dict) else ""

    async def diagnostics(self) -> list[Diagnostic]:
        document = self._open_document()
        if self._capabilities.diagnostic_provider:
            params = {"textDocument": {"uri": uri_of(document.path)}}
            answer = await self._ask("textDocument/diagnostic", params)
            found = msgspec.convert(answer, Pulled).items
        else:
            while self._published is None:
                self._news.clear()
                self.connection.check()
                await self._news.wait()
            await asyncio.sleep(SETTLE_SECONDS)
            found = self._published or []
        lines = lines_of(document.text)
        return sorted(
            (
                Diagnostic(
                    *self._spot(item.range.start, lines), severity_of(item.severity), code_of(item.code), item.message
                )
                for item in found
            ),
            key=lambda item: (item.line, item.column),
        )

    async def _ask_at(self, method: str, line: int, column: int, extra: dict[str, Any]) -> Any:
        document = self._open_document()
        before = lines_of(document.text)[line - 1][: column - 1]
        position = {"line": line - 1, "character": units(before, self._capabilities.position_encoding)}
        return await self._ask(method, {"textDocument": {"uri": uri_of(document.path)}, "position": position, **extra})

    async def _ask(self, method: str, params: dict[str, Any]) -> Any:
        """The answer; an empty one is not believed while the server is at work on the project."""
        doubted = False
        while True:
            busy, begun = bool(self._work), self._begun
            try:
                answer = await self.connection.request(method, params)
                # Work begun meanwhile is doubted once: some servers announce each request as work.
                if answer or not (busy or (begun != self._begun and not doubted)):
                    return answer
                doubted = True
            except RpcRefused as refused:
                if refused.code not in ASK_AGAIN:
                    raise
            await asyncio.sleep(ASK_AGAIN_SECONDS)

    def _open_document(self) -> _Document:
        assert self._document, "a document is shown before it is asked about"
        return self._document

    def _placed(self, found: Sequence[Location]) -> list[SourcePlace]:
        texts: dict[str, list[str]] = {}
        places = set()
        for item in found:
            uri, extent = item.target_uri or item.uri, item.target_selection_range or item.range
            if extent is None:
                continue
            path = path_of(uri)
            if path not in texts:
                texts[path] = self._readable_lines(path)
            line, column = self._spot(extent.start, texts[path])
            shown = texts[path][line - 1] if line <= len(texts[path]) else ""
            places.add(SourcePlace(inside(path, self._files.root) or path, line, column, shown))
        return sorted(places, key=lambda place: (not place.text, place.path, place.line, place.column))

    def _readable_lines(self, path: str) -> list[str]:
        """A project file's lines; none of what is outside, or not to be read."""
        if inside(path, self._files.root) is None:
            return []
        try:
            return lines_of(text_of(self._files.read(path)))
        except (ToolFailed, OSError):
            return []

    def _spot(self, at: Position, lines: Sequence[str]) -> tuple[int, int]:
        text = lines[at.line] if 0 <= at.line < len(lines) else None
        if text is None:
            return at.line + 1, at.character + 1
        return at.line + 1, characters(text, at.character, self._capabilities.position_encoding) + 1

    # What the server says by itself.

    def _hear_diagnostics(self, params: Any) -> None:
        published = msgspec.convert(params, Published)
        document = self._document
        if document and path_of(published.uri) == document.path and published.version in (None, document.version):
            self._published = published.diagnostics
            self._news.set()

    def _hear_progress(self, params: Any) -> None:
        progress = msgspec.convert(params, WireProgress)
        if progress.value.kind == "begin":
            self._begun += 1
            self._work[progress.token] = progress.value.title or "working"
        elif progress.value.kind == "end":
            self._work.pop(progress.token, None)

    def _folders(self) -> list[dict[str, str]]:
        return [{"uri": uri_of(self._files.root), "name": "project"}]
