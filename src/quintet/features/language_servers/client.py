"""The client of one running language server: handshake, the open document, questions and their answers.

One document is open between questions, with the text that was just read from disk. Other files the server reads
itself; what changed among them since the last question is told to it first. Lines and columns count characters from 1
here, and whatever the server agreed to on the wire.

An answer is taken when the server stands by it: it works on nothing, and says the same when it is asked again after a
quiet moment. One that looks short (files that hold the word are missing, nothing but an import is found) is given more
time. After that the answer comes with what the server was still at.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from quintet.adapters.processes.piped_child import Piped
from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.protected_paths import inside
from quintet.domain.ports.ports import Files
from quintet.features.language_servers.edits import WireAction, WireEdit, edits_by_path
from quintet.features.language_servers.json_rpc import RpcConnection, RpcRefused
from quintet.features.language_servers.loading import ServerLoading
from quintet.features.language_servers.occurrences import holding
from quintet.features.language_servers.registry import Language
from quintet.features.language_servers.values import Diagnosed, Diagnostic, Found, Said, SourcePlace
from quintet.features.language_servers.wire import (
    Capabilities,
    Initialized,
    Items,
    Location,
    Position,
    Published,
    Pulled,
    WireDiagnostic,
    WireMessage,
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
ERROR_SHOWN = 1  # of the kinds of messages
MOST_COMPLAINT = 600
MOST_OPENED = 50  # files that a server is shown for one question
MOST_WATCHED = 50_000
NOT_WALKED = {"node_modules", "target", "venv", "__pycache__"}
CAPABILITIES = {
    "general": {"positionEncodings": ["utf-8", "utf-16"]},
    "window": {"workDoneProgress": True},
    "experimental": {"serverStatusNotification": True},
    "workspace": {
        "applyEdit": True,
        "configuration": True,
        "workspaceFolders": True,
        "workspaceEdit": {"documentChanges": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
    },
    "textDocument": {
        "synchronization": {},
        "definition": {"linkSupport": True},  # with it servers name the name itself, not its comment
        "references": {},
        "hover": {"contentFormat": ["plaintext", "markdown"]},
        "diagnostic": {},
        "publishDiagnostics": {"versionSupport": True},
        "rename": {},
        "codeAction": {
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "refactor", "source"]}},
            "disabledSupport": True,
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit"]},
        },
    },
}
_IMPORTS = re.compile(r"\b(?:import|from|require|include|use|using|source)\b|^\s*\.\s")
_UNKNOWN = re.compile(r"\b(?:any|Any|Unknown|unknown)\b")

Answer = TypeVar("Answer")


class Patience(Struct, frozen=True):
    """How long an answer is waited for until it is taken as it is, in seconds."""

    quiet: float = 0.3  # without a word of the server's; it may publish diagnostics in parts, too
    sign: float = 4.0  # for the first diagnostics after the start
    doubt: float = 4.0  # for an answer that looks short to grow
    most: float = 20.0  # in all


class _Document(Struct):
    path: str
    text: str
    version: int


class LanguageClient:
    def __init__(self, child: Piped, language: Language, files: Files, patience: Patience) -> None:
        self.child = child
        self.loading = ServerLoading()
        self._patience = patience
        self._language = language
        self._files = files
        self._capabilities = Capabilities()
        self._document: _Document | None = None
        self._published: list[WireDiagnostic] | None = None  # about the open document as it stands
        self._ready = False
        self._warm = False  # it has stood by an answer, and no file came or went since
        self._opening_helps: bool | None = None  # whether it finds more in files that are open; None: not tried
        self._raw_diagnostics: list[Any] = []  # as they were published, for code actions
        self.applied: list[Any] = []  # edits that its commands asked for; the tool writes them
        self.complaint = ""  # the last error that it would have shown a person, since its last answer
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
                "workspace/applyEdit": self._hear_edit,
                "workspace/diagnostic/refresh": lambda params: None,
            },
            hears={
                "textDocument/publishDiagnostics": self._hear_diagnostics,
                "window/showMessage": self._hear_message,
                **self.loading.hears,
            },
            on_lost=self.loading.news.set,
        )

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
        if before and before.path == path:
            identity = {"uri": uri_of(path), "version": version}
            changed = {"textDocument": identity, "contentChanges": [{"text": text}]}
            await self.connection.notify("textDocument/didChange", changed)
            return
        await self._open(path, text, version)
        if before:
            await self._close(before.path)

    async def _open(self, path: str, text: str, version: int) -> None:
        language_id = self._language.ids[os.path.splitext(path)[1]]
        opened = {"uri": uri_of(path), "version": version, "languageId": language_id, "text": text}
        await self.connection.notify("textDocument/didOpen", {"textDocument": opened})

    async def _close(self, path: str) -> None:
        await self.connection.notify("textDocument/didClose", {"textDocument": {"uri": uri_of(path)}})

    async def _tell_changes(self) -> None:
        old, new = self._stamps, await asyncio.to_thread(self._walk)
        self._stamps = new
        kinds = {path: 2 if path in old else 1 for path, stamp in new.items() if old.get(path) != stamp}
        kinds |= {path: 3 for path in old if path not in new}
        if any(kind != 2 for kind in kinds.values()):
            self._warm = False
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

    async def definition(self, line: int, column: int) -> Found:
        document = self._open_document()

        async def ask() -> list[SourcePlace]:
            return await self.places("textDocument/definition", line, column)

        def whole(places: list[SourcePlace]) -> bool:
            """Nothing, or only where this very file imports it, is what a server says that has not read the rest."""
            own = inside(document.path, self._files.root)
            return any(place.path != own or not _IMPORTS.search(place.text) for place in places)

        places, loading = await self._stood_by(ask, whole, shown=True)
        return Found(tuple(places), loading)

    async def references(self, line: int, column: int, word: str) -> Found:
        extra = {"context": {"includeDeclaration": True}}
        sources = [path for path in self._stamps if os.path.splitext(path)[1] in self._language.ids]
        held = await asyncio.to_thread(holding, word, sources, self._files)

        async def ask() -> list[SourcePlace]:
            return await self.places("textDocument/references", line, column, extra)

        def missing(places: list[SourcePlace]) -> list[str]:
            listed = {place.path for place in places}
            return [path for path in held if inside(path, self._files.root) not in listed]

        until = asyncio.get_running_loop().time() + self._patience.most
        places, loading = await self._stood_by(ask, lambda found: not missing(found), shown=True)
        if (short := missing(places)) and not loading and self._opening_helps is not False:
            again = await self._with_open(short[:MOST_OPENED], ask, lambda found: not missing(found), until)
            self._opening_helps = len(again) > len(places)
            places = max(places, again, key=len)
        unlisted = (inside(path, self._files.root) or path for path in missing(places))
        return Found(tuple(places), loading, tuple(unlisted))

    async def _with_open(
        self,
        paths: Sequence[str],
        ask: Callable[[], Awaitable[list[SourcePlace]]],
        whole: Callable[[list[SourcePlace]], bool],
        until: float,
    ) -> list[SourcePlace]:
        """The answer with these files open as well; none if that takes too long."""
        try:
            async with asyncio.timeout_at(until), self._opened(paths):
                return (await self._stood_by(ask, whole, shown=True, afresh=True))[0]
        except TimeoutError:
            return []

    async def hover(self, line: int, column: int) -> Said:
        async def ask() -> str:
            answer = await self._ask_at("textDocument/hover", line, column, {})
            return plain(answer.get("contents")) if isinstance(answer, dict) else ""

        return Said(*await self._stood_by(ask, lambda text: bool(text) and not _UNKNOWN.search(text)))

    async def diagnostics(self) -> Diagnosed:
        document = self._open_document()

        async def pulled() -> list[WireDiagnostic]:
            params = {"textDocument": {"uri": uri_of(document.path)}}
            return msgspec.convert(await self._ask("textDocument/diagnostic", params), Pulled).items

        async def published() -> list[WireDiagnostic]:
            while self._published is None:
                self.loading.news.clear()
                self.connection.check()
                await self.loading.news.wait()
            return self._published

        ask = pulled if self._capabilities.diagnostic_provider else published
        found, loading = await self._stood_by(ask, lambda items: True, afresh=ask is published)
        lines = lines_of(document.text)
        told = (
            Diagnostic(
                *self._spot(item.range.start, lines), severity_of(item.severity), code_of(item.code), item.message
            )
            for item in found
        )
        return Diagnosed(tuple(sorted(told, key=lambda item: (item.line, item.column))), loading)

    async def renamed(self, line: int, column: int, name: str) -> tuple[dict[str, list[WireEdit]], str]:
        """The edits that give a symbol another name, by file, and what the server was still at."""
        if not self._capabilities.rename_provider:
            raise ToolFailed("this language server cannot rename")

        async def ask() -> Any:
            return await self._ask_at("textDocument/rename", line, column, {"newName": name})

        answer, loading = await self._stood_by(ask, bool, afresh=True)
        return edits_by_path(answer), loading

    async def actions(self, line: int) -> list[WireAction]:
        """What the server offers to do about a line."""
        if not self._capabilities.code_action_provider:
            raise ToolFailed("this language server has no code actions")
        document = self._open_document()
        if not self._warm:
            await self._first_sign(asyncio.get_running_loop().time() + self._patience.sign)
        shown = lines_of(document.text)[line - 1]
        start = {"line": line - 1, "character": 0}
        end = {"line": line - 1, "character": units(shown, self._capabilities.position_encoding)}
        about = [item for item in self._raw_diagnostics if item["range"]["start"]["line"] == line - 1]
        params = {
            "textDocument": {"uri": uri_of(document.path)},
            "range": {"start": start, "end": end},
            "context": {"diagnostics": about},
        }
        return msgspec.convert(await self._ask("textDocument/codeAction", params) or [], list[WireAction])

    async def resolved(self, action: WireAction) -> dict[str, list[WireEdit]]:
        """The edits of a code action; asked for, or made by a command of the server's, where they do not come along."""
        if (
            action.edit is None
            and isinstance(self._capabilities.code_action_provider, dict)
            and action.data is not None
        ):
            sent = {key: value for key, value in msgspec.to_builtins(action).items() if value is not None}
            action = msgspec.convert(await self._ask("codeAction/resolve", sent), WireAction)
        if action.edit is not None:
            return edits_by_path(action.edit)
        command = action.command if isinstance(action.command, dict) else {"command": action.command}
        if not command.get("command"):
            return {}
        self.applied.clear()
        arguments = command.get("arguments", action.arguments) or []
        await self._ask("workspace/executeCommand", {"command": command["command"], "arguments": arguments})
        return edits_by_path(self.applied[-1]) if self.applied else {}

    @property
    def encoding(self) -> str:
        return self._capabilities.position_encoding

    async def places(
        self, method: str, line: int, column: int, extra: dict[str, Any] | None = None
    ) -> list[SourcePlace]:
        answer = await self._ask_at(method, line, column, extra or {}) or []
        found = msgspec.convert(answer if isinstance(answer, list) else [answer], list[Location])
        return await asyncio.to_thread(self._placed, found)

    async def _stood_by(
        self,
        ask: Callable[[], Awaitable[Answer]],
        whole: Callable[[Answer], bool],
        *,
        afresh: bool = False,
        shown: bool = False,
    ) -> tuple[Answer, str]:
        """The answer that the server stands by, and what it was still at when it was taken without that.

        `whole` says whether nothing speaks against an answer; with `shown`, that it is all there is, so that it need
        not be asked for twice. `afresh` asks twice of a server that is known to be ready, too.
        """
        begun, patience = self.loading.begun, self._patience
        answer = await ask()
        if self._warm and not afresh and not self.loading.doing and (whole(answer) or begun == self.loading.begun):
            return answer, ""
        if shown and whole(answer) and not self.loading.doing:
            return answer, ""
        now = asyncio.get_running_loop().time
        until = now() + patience.most
        if not self._warm:
            await self._first_sign(min(until, now() + patience.sign))
        doubtful = min(until, now() + patience.doubt)
        while True:
            settled = await self.loading.settled(patience.quiet, until)
            try:
                async with asyncio.timeout_at(until + patience.doubt):
                    again = await ask()
            except TimeoutError:  # what it said before is better than nothing
                return answer, self.loading.doing or "it is slow to answer"
            same, answer = again == answer, again
            if settled and same and (whole(answer) or now() >= doubtful):
                self._warm = True
                return answer, ""
            if now() >= until:
                return answer, self.loading.doing or "its answers still change"
            await asyncio.sleep(ASK_AGAIN_SECONDS if same else 0)

    async def _first_sign(self, until: float) -> None:
        """Wait for diagnostics of the open document: most servers publish them when they have loaded its project."""
        loop = asyncio.get_running_loop()
        while self._published is None and not self._capabilities.diagnostic_provider and loop.time() < until:
            self.loading.news.clear()
            self.connection.check()
            try:
                async with asyncio.timeout_at(until):
                    await self.loading.news.wait()
            except TimeoutError:
                return

    @asynccontextmanager
    async def _opened(self, paths: Sequence[str]) -> AsyncIterator[None]:
        """These files open as well, as in an editor, and closed again."""
        document = self._open_document()
        opened = []
        try:
            for path in paths:
                if path != document.path:
                    try:
                        text = text_of(await asyncio.to_thread(self._files.read, path))
                    except (ToolFailed, OSError):
                        continue
                    await self._open(path, text, 1)
                    opened.append(path)
            yield
        finally:
            if not self.connection.lost:
                for path in opened:
                    await self._close(path)

    async def _ask_at(self, method: str, line: int, column: int, extra: dict[str, Any]) -> Any:
        document = self._open_document()
        before = lines_of(document.text)[line - 1][: column - 1]
        position = {"line": line - 1, "character": units(before, self._capabilities.position_encoding)}
        return await self._ask(method, {"textDocument": {"uri": uri_of(document.path)}, "position": position, **extra})

    async def _ask(self, method: str, params: dict[str, Any]) -> Any:
        """The answer; asked again where the server gave up for a reason that passes."""
        while True:
            try:
                return await self.connection.request(method, params)
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
            self._raw_diagnostics = params["diagnostics"]
            self.loading.heard()

    def _hear_message(self, params: Any) -> None:
        shown = msgspec.convert(params, WireMessage)
        if shown.type == ERROR_SHOWN:
            self.complaint = " ".join(shown.message[:MOST_COMPLAINT].split())

    def _hear_edit(self, params: Any) -> dict[str, bool]:
        self.applied.append(params.get("edit") if isinstance(params, dict) else None)
        return {"applied": True}

    def _folders(self) -> list[dict[str, str]]:
        return [{"uri": uri_of(self._files.root), "name": "project"}]
