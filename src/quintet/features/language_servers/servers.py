"""Language servers, each started at its first question and kept until `close`.

A server that ends, breaks the protocol or twice does not answer in time is ended and reported with its last words; the
next question starts a fresh one. A server that says it is still loading is kept. Each is put into a sandbox
by `wrap`, with a grant that only reads, and has a temporary cache of its own.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from quintet.adapters.files.temporary_folders import temporary_folder
from quintet.adapters.processes.lifeline import watched
from quintet.adapters.processes.piped_child import Piped
from quintet.adapters.processes.processes import child_environment, own_environment
from quintet.adapters.sandbox.containment import Launch
from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.effects import Effect, Grant, Sandbox
from quintet.domain.permission.opened_places import NOTHING_OPENED, OpenedPlaces, opened
from quintet.domain.ports.ports import Files
from quintet.features.language_servers.client import LanguageClient, Patience
from quintet.features.language_servers.edits import WireAction, WireEdit
from quintet.features.language_servers.json_rpc import ConnectionLost, RpcRefused
from quintet.features.language_servers.registry import Language, Server, choose, folders, language_of
from quintet.features.language_servers.values import Diagnosed, Found, Said

if TYPE_CHECKING:
    from quintet.app.services import Opening

ANSWER_SECONDS = 45.0  # a server may take long to start on a busy machine
IN_ITS_TMP = "/tmp/quintet-servers"  # in the sandbox, whose /tmp is the session's own
GRANT = Grant(effects=(Effect.READ,))
# Servers ask their language's own tools about the project; these then neither load nor build into it.
TOOLS_STAY_HOME = {
    "CARGO_NET_OFFLINE": "true",
    "GOPROXY": "off",
    "GOTOOLCHAIN": "local",
    "PYTHONDONTWRITEBYTECODE": "1",
}

Answer = TypeVar("Answer")
Wrap = Callable[[Sequence[str], str, Grant], Launch]  # argv, cwd, grant → how it starts in a sandbox


class LocalLanguageServers:
    """`own_code` says whether code of the project may run: it is trusted, or `wrap` contains it.

    `contained` says that `wrap` does; only then a server that lies in the project is one. `hidden` says what a server
    that ended could not open there, `places` what the user shows and gives it.
    """

    def __init__(
        self,
        files: Files,
        *,
        own_code: bool = False,
        contained: bool = False,
        wrap: Wrap = lambda argv, cwd, grant: watched(argv, cwd),
        hidden: Callable[[Launch, str], Sequence[str]] = lambda launch, said: (),
        places: OpenedPlaces = NOTHING_OPENED,
        search: tuple[str, ...] | None = None,
        answer_seconds: float = ANSWER_SECONDS,
        patience: Patience | None = None,
    ) -> None:
        self._files = files
        self._own_code = own_code
        self._contained = contained
        self._wrap = wrap
        self._hidden = hidden
        self._grant = opened(GRANT, places, writes=bool(places.given))
        self._launches: dict[str, Launch] = {}  # by the path of the program
        self._search = search
        self._answer_seconds = answer_seconds
        self._patience = patience or Patience()
        self._running: dict[str, LanguageClient] = {}  # by the path of the program
        self._slow: set[str] = set()  # programs that gave no answer in time once: the next time they are ended
        self._cache = ""
        self._turn = asyncio.Lock()

    async def definition(self, path: str, text: str, line: int, column: int) -> Found:
        return await self._ask(path, text, lambda server: server.definition(line, column))

    async def references(self, path: str, text: str, line: int, column: int, word: str) -> Found:
        return await self._ask(path, text, lambda server: server.references(line, column, word))

    async def hover(self, path: str, text: str, line: int, column: int) -> Said:
        return await self._ask(path, text, lambda server: server.hover(line, column))

    async def diagnostics(self, path: str, text: str) -> Diagnosed:
        return await self._ask(path, text, lambda server: server.diagnostics())

    async def renamed(
        self, path: str, text: str, line: int, column: int, name: str
    ) -> tuple[dict[str, list[WireEdit]], str, str]:
        """The edits of a rename by file, what the server was still at, and the encoding of its places."""

        async def ask(server: LanguageClient) -> tuple[dict[str, list[WireEdit]], str, str]:
            return (*await server.renamed(line, column, name), server.encoding)

        return await self._ask(path, text, ask)

    async def actions(self, path: str, text: str, line: int) -> list[WireAction]:
        return await self._ask(path, text, lambda server: server.actions(line))

    async def acted(self, path: str, text: str, line: int, title: str) -> tuple[dict[str, list[WireEdit]], str]:
        """The edits of the code action of this title by file, and the encoding of its places."""

        async def ask(server: LanguageClient) -> tuple[dict[str, list[WireEdit]], str]:
            found = [one for one in await server.actions(line) if one.title == title]
            if not found:
                raise ToolFailed(f'no code action is called "{title}" there now; code_actions lists them')
            return await server.resolved(found[0]), server.encoding

        return await self._ask(path, text, ask)

    async def close(self) -> None:
        for program in list(self._running):
            await self._end(program)
        if self._cache and not self._contained:
            await asyncio.to_thread(shutil.rmtree, self._cache, ignore_errors=True)
        self._cache = ""

    async def _ask(self, path: str, text: str, question: Callable[[LanguageClient], Awaitable[Answer]]) -> Answer:
        language = language_of(path)
        search = self._search or folders(self._files.root, self._contained)
        server, program = choose(language, search, self._own_code, self._files.root)
        name = server.argv[0]

        async def answered() -> Answer:
            kept = self._running.get(program)
            if kept and not kept.usable():
                await self._end(program)
                kept = None
            client = kept or await self._started(language, server, program)
            try:
                await client.show(path, text)
                return await question(client)
            except ConnectionLost:
                if kept is None:
                    raise
                await self._end(program)  # it had ended before this question, unnoticed
                return await answered()

        async with self._turn:
            try:
                async with asyncio.timeout(self._answer_seconds):
                    answer = await answered()
                self._slow.discard(program)
                self._running[program].complaint = ""
                return answer
            except TimeoutError:
                if (slow := self._running.get(program)) and slow.loading.doing:
                    raise ToolFailed(f"{name} is still loading ({slow.loading.doing}); ask again in a while") from None
                why = f"no answer within {self._answer_seconds:g} s"
                if slow and slow.usable() and program not in self._slow:
                    self._slow.add(program)
                    why = f"{why}; it is kept running, ask again in a while"
                    raise ToolFailed(f"{name}: {why}{self._complaint(program)}") from None
            except ConnectionLost as lost:
                why = str(lost)
            except RpcRefused as refused:
                raise ToolFailed(f"{name}: {refused}{self._complaint(program)}") from None
            except msgspec.ValidationError as error:
                raise ToolFailed(f"{name} sent an answer that the protocol does not allow ({error})") from None
            raise ToolFailed(f"{name}: {why}{await self._end(program)}")

    async def _started(self, language: Language, server: Server, program: str) -> LanguageClient:
        launch = self._launches[program] = await asyncio.to_thread(
            self._wrap, (program, *server.argv[1:]), self._files.root, self._grant
        )
        child = await Piped.start(launch, self._environment())
        client = self._running[program] = LanguageClient(child, language, self._files, self._patience)
        await client.handshake(server.options)
        return client

    def _complaint(self, program: str) -> str:
        """What a server that gives no answer said is wrong, as the end of a message."""
        said = self._running[program].complaint if program in self._running else ""
        notes = self._hidden(self._launches[program], said) if said else ()
        return "\n".join([f". It said: {said}", *notes]) if said else ""

    async def _end(self, program: str) -> str:
        """End a server, if there is one; returns what it said last, as the end of a message."""
        client = self._running.pop(program, None)
        if client is None:
            return ""
        await asyncio.shield(client.end())
        said = client.child.last_words()
        notes = self._hidden(self._launches[program], said) if said else ()
        return "\n".join([f". Its last output:\n{said}", *notes]) if said else ""

    def _environment(self) -> dict[str, str]:
        if not self._cache:
            self._cache = IN_ITS_TMP if self._contained else temporary_folder()
        own = {"XDG_CACHE_HOME": self._cache, "CARGO_TARGET_DIR": os.path.join(self._cache, "target")}
        around = child_environment() if self._contained else own_environment()
        return {**around, **TOOLS_STAY_HOME, **own}


def open_servers(opening: Opening) -> LocalLanguageServers:
    contained = opening.terms.sandbox is Sandbox.BWRAP
    return LocalLanguageServers(
        opening.files,
        own_code=opening.loaded.trusted or contained,
        contained=contained,
        wrap=opening.containment.launch,
        hidden=opening.containment.hidden,
        places=opening.terms.places,
    )
