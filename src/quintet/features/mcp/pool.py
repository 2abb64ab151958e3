"""MCP servers, each connected at its first use and kept until `close`.

A server that ended is started again at the next use, and that is said; one that ends again and again is left alone. A
call is never made twice: what became of one that was cut off is unknown. A program runs in the sandbox: the project to
read, a cache and a home of its own to write, a network if its settings say so.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import structs

from quintet.adapters.files.paths import key_of
from quintet.adapters.files.private_files import private_folder
from quintet.adapters.processes.piped_child import Piped
from quintet.adapters.processes.processes import child_environment, own_environment
from quintet.adapters.processes.python_environment import install_part
from quintet.adapters.sandbox.containment import Containment
from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.json_schema import misfit, wanted
from quintet.domain.base.wording import counted, did_you_mean, few
from quintet.domain.input.slash_line import CommandUsage
from quintet.domain.permission.effects import Effect, Grant, Sandbox
from quintet.domain.permission.opened_places import NOTHING_OPENED, OpenedPlaces, opened
from quintet.domain.turn.tool_spec import Advisers, CallQuestion, CallReply, Touch
from quintet.features.mcp.sandboxed import hidden, read_folders, set_inside, start_hint, tool_homes, whole
from quintet.features.mcp.values import (
    OWN_SETTINGS,
    Forgotten,
    Lost,
    McpAnswer,
    McpOffer,
    McpPrompt,
    McpServer,
    ServerRefused,
    prompt_usage,
)
from quintet.package import load

if TYPE_CHECKING:  # loaded at the first use of a server
    from quintet.features.mcp.connection import Connected
    from quintet.features.mcp.conversation import Conversation
    from quintet.features.mcp.logins import Logins

YOURS = "yours"  # the caches of servers of the user's own settings; those of a project are named for its path
MOST_ENDS = 4  # of one server in a session, before it is left alone
LONGEST_CALL = 600.0  # seconds, whatever progress is told
AFTER_ANSWER = 120.0  # seconds, at least, after the server asked something: a model may be answering
PART = "mcp"  # the optional part that brings the SDK

Answer = TypeVar("Answer")
Ask = Callable[[CallQuestion], Awaitable[CallReply]]
Listing = Callable[[], tuple[list[McpServer], list[str]]]
OfSkill = Callable[[str, str, Mapping[str, Any]], list[McpServer]]


class McpPool:
    """`listing` tells which servers there are now; `caches` is the folder of their caches, `kept` of their homes.

    `learn` is told the variables and headers of a server before it is started: it may say them again.
    """

    def __init__(
        self,
        listing: Listing,
        containment: Containment,
        root: str,
        caches: str,
        learn: Callable[[Mapping[str, str]], None] = lambda named: None,
        kept: str = "",
        private: Sequence[str] = (),
        patterns: Sequence[str] = (),
        logins: Logins | None = None,
        places: OpenedPlaces = NOTHING_OPENED,
        of_skill: OfSkill = lambda origin, folder, given: [],
    ) -> None:
        self._of_skill = of_skill
        self._came: dict[str, McpServer] = {}  # with skills
        self._logins = logins
        self._places = places  # that the user's settings open to sandboxed programs
        self._learn = learn
        self._kept = kept or os.path.join(caches, "homes")
        self._private = private
        self._patterns = patterns
        self._sampling: set[str] = set()  # the servers that may use the model in this session
        self._listing = listing
        self._containment = containment
        self._root = root
        self._caches = caches
        self._open: dict[str, Conversation] = {}
        self._starting: dict[str, asyncio.Lock] = {}
        self._ends: Counter[str] = Counter()

    def listed(self) -> tuple[list[McpServer], list[str]]:
        """The servers, and what is wrong with the files that name them."""
        found, notes = self._listing()
        taken = {one.name for one in found}
        return [*found, *(one for one in self._came.values() if one.name not in taken)], notes

    def bring(self, origin: str, folder: str, given: Mapping[str, Any]) -> list[McpServer]:
        """Servers that come with a skill, for this session. A name that is taken stays with who has it."""
        taken = {one.name: one.origin for one in self.listed()[0]}
        came = []
        for one in self._of_skill(origin, folder, given):
            if taken.get(one.name, origin) != origin:
                came.append(structs.replace(one, problem=f"its name is taken by a server of {taken[one.name]}"))
                continue
            self._came[one.name] = one
            came.append(one)
        return came

    def runs(self, name: str) -> bool:
        """Whether a server is connected now."""
        open = self._open.get(name)
        return open is not None and open.usable

    def state(self, name: str) -> str:
        """Where a server stands in this session, in a few words."""
        if self.runs(name):
            return "running"
        return f"ended {counted(self._ends[name], 'time')}" if self._ends[name] else "not started yet"

    def touched(self, touch: Touch) -> Touch:
        """What a look at a server does besides: one that a project brought is started or reached by that.

        A server of the user's own settings was put there to be used.
        """
        usable = [one for one in self.listed()[0] if not one.problem and (one.name == touch.server or not touch.server)]
        found = usable[0] if len(usable) == 1 else None
        if found is None or found.origin == OWN_SETTINGS:
            return touch
        effects = {Effect.NETWORK} if found.url or found.network else set()
        effects |= set() if found.url else {Effect.EXECUTE}
        why = f"{found.name}, configured in {found.origin}, is {'reached' if found.url else 'started'}"
        return structs.replace(touch, effects=touch.effects | effects, why=why)

    async def offer(self, server: str) -> McpOffer:
        return await self._asked(server, lambda open, limit: open.offer())

    async def read(self, server: str, uri: str) -> McpAnswer:
        return await self._asked(server, lambda open, limit: open.read(uri))

    async def call(
        self,
        server: str,
        tool: str,
        arguments: dict[str, Any],
        progress: Callable[[str], None],
        ask: Ask | None = None,
        advisers: Advisers | None = None,
    ) -> McpAnswer:
        """`ask` puts to the person what the server asks meanwhile, `advisers` what it asks of a model."""
        schema = await self._asked(server, lambda open, limit: open.schema(tool))
        if isinstance(schema, list):
            raise ToolFailed(
                f"{server} has no tool {tool}.{did_you_mean(tool, schema)} It has: {few(list(schema), 40) or 'none'}."
            )
        if problem := await asyncio.to_thread(misfit, arguments, schema, "tool_args"):  # it may be made to take long
            raise ToolFailed(f"{server}:{tool}: {problem}. Its arguments: {wanted(schema)}.")
        seconds = self._named(server).timeout
        loop = asyncio.get_running_loop()
        latest = loop.time() + max(LONGEST_CALL, seconds)

        async def made(open: Conversation, limit: asyncio.Timeout) -> McpAnswer:
            def heard(text: str) -> None:
                if limit.when() is not None:
                    limit.reschedule(min(loop.time() + seconds, latest))
                progress(text)

            async def asked(question: CallQuestion) -> CallReply:
                nonlocal latest
                began = loop.time()
                limit.reschedule(None)  # the person takes the time that it takes, and so does a model
                try:
                    return await ask(question) if ask else CallReply(refused="nobody can be asked in this run")
                finally:
                    latest += loop.time() - began
                    limit.reschedule(min(loop.time() + max(seconds, AFTER_ANSWER), latest + AFTER_ANSWER))

            help = load("features.mcp.requests:CallHelp")(asked, advisers, self._sampling, self._patterns, progress)
            return await open.call(tool, arguments, heard, help)

        return await self._asked(server, made, once=True)

    async def prompt(self, server: str, name: str, arguments: dict[str, str]) -> McpAnswer:
        return await self._asked(server, lambda open, limit: open.prompt(name, arguments))

    async def prompts(self, server: str) -> tuple[McpPrompt, ...]:
        return await self._asked(server, lambda open, limit: open.prompts())

    async def completions(self, server: str, prompt: str, argument: str, value: str) -> tuple[str, ...]:
        return await self._asked(server, lambda open, limit: open.completions(prompt, argument, value))

    def commands(self) -> list[CommandUsage]:
        """The prompts of the servers that run, as commands to be typed."""
        return [
            CommandUsage(f"{name}:{one.name}".lower(), prompt_usage(name, one), one.description or one.name)
            for name, open in self._open.items()
            for one in open.known_prompts
        ]

    async def close(self) -> None:
        closing = [open.close(politely=True) for open in self._open.values()]
        self._open.clear()
        await asyncio.gather(*closing)

    async def _asked(
        self,
        name: str,
        question: Callable[[Conversation, asyncio.Timeout], Awaitable[Answer]],
        *,
        once: bool = False,
    ) -> Answer:
        """A server's answer. A question that only looks is put again if the server was lost meanwhile."""
        server = self._named(name)
        open = await self._conversation(server)
        try:
            async with asyncio.timeout(server.timeout) as limit:
                return await question(open, limit)
        except TimeoutError:
            why = f"no answer within {server.timeout:g} s, so it was ended"
        except ServerRefused as refused:
            login = f".{_login_hint(name)}" if refused.login else ""
            raise ToolFailed(f"{name}: {str(refused).rstrip('.') if login else refused}{login}") from None
        except Lost as lost:
            if isinstance(lost, Forgotten) or not (once or self._ends[name]):
                await self._end(name)
                return await self._asked(name, question, once=True)
            why = f"{lost}{open.last_words()}"
        await self._end(name)
        unknown = "The outcome of the call is not known; the" if once else "The"
        raise ToolFailed(f"{name}: {why.rstrip('.')}. {unknown} next use starts {name} again.")

    def _named(self, name: str) -> McpServer:
        servers, notes = self.listed()
        found = next((server for server in servers if server.name == name), None)
        if found is None:
            names = [server.name for server in servers]
            there = f"Available: {', '.join(names)}." if names else "None is configured."
            raise ToolFailed(" ".join(filter(None, (f"there is no server {name}.", there, *notes))))
        if found.problem:
            raise ToolFailed(f"{name} cannot be used: {found.problem} ({found.origin})")
        return found

    async def _conversation(self, server: McpServer) -> Conversation:
        """The server, connected; started if it has not been, or has ended since."""
        name = server.name
        async with self._starting.setdefault(name, asyncio.Lock()):
            kept = self._open.get(name)
            if kept and kept.usable and kept.server == server:
                return kept
            note = ""
            if kept:
                changed = kept.server != server
                note = f"{name} {'has a new configuration' if changed else 'had ended'} and was started again"
                await self._end(name, counted=not changed)
            if self._ends[name] >= MOST_ENDS:
                raise ToolFailed(
                    f"{name} has ended {self._ends[name]} times in this session and is not started again; run "
                    "`quintet mcp doctor` to check it"
                )
            open = self._open[name] = await self._started(server)
            open.note = note
            return open

    async def _started(self, server: McpServer) -> Conversation:
        try:
            connect, converse = await asyncio.to_thread(_loaded)
        except ImportError:
            raise ToolFailed(f"MCP needs a package that is not installed: {install_part(PART)}") from None
        self._learn({**server.env, **server.headers})
        try:
            async with asyncio.timeout(server.timeout):
                made: Connected = await connect(
                    server, self._root, lambda: self._program(server), self._authorised(server)
                )
        except TimeoutError:
            self._ends[server.name] += 1
            late = f"{server.name} was not ready within {server.timeout:g} s."
            raise ToolFailed(f"{late}{self._start_hint(server)}") from None
        except (Lost, ServerRefused) as error:
            self._ends[server.name] += 1
            why = f"{server.name} cannot be used: {error}".rstrip(".")
            hint = _login_hint(server.name) if error.login else self._start_hint(server, str(error))
            raise ToolFailed(f"{why}.{hint}") from None
        opened: Conversation = converse(made)
        return opened

    def home(self, server: McpServer) -> str:
        """The folder that a server's program has for its home; empty where no sandbox gives it one."""
        if server.url or self._containment.kind is Sandbox.NONE:
            return ""
        return os.path.join(self._kept, self._whose(server), server.name)

    def hidden(self, server: McpServer) -> list[str]:
        """What its settings name that the sandbox hides from it."""
        if server.url or self._containment.kind is not Sandbox.BWRAP:
            return []
        shown = (*read_folders(server, self._root, self._private), *map(whole, server.write), self.home(server))
        if server.origin == OWN_SETTINGS:
            shown = (*shown, *self._places.shown, *self._places.given)
        return hidden(server, self._root, (*shown, self._caches))

    def _authorised(self, server: McpServer) -> Any:
        """The user's login at an HTTP server, if there is one."""
        if not server.url or self._logins is None:
            return None
        return load("features.mcp.oauth:session_auth")(server, self._logins, self._learn)

    def _start_hint(self, server: McpServer, said: str = "") -> str:
        return "" if server.url else start_hint(server, self.hidden(server), said)

    def _whose(self, server: McpServer) -> str:
        # A server of a project is never run from what another one of the same name has put there.
        return YOURS if server.origin == OWN_SETTINGS else key_of(self._root)

    async def _program(self, server: McpServer) -> Piped:
        cache, home = os.path.join(self._caches, self._whose(server), server.name), self.home(server)
        for folder in filter(None, (cache, home)):
            private_folder(folder)
        grant = Grant(
            (Effect.READ, Effect.EXECUTE),
            write_roots=(cache, *filter(None, (home,)), *map(whole, server.write)),
            network=server.network,
            read_roots=read_folders(server, self._root, self._private),
        )
        if server.origin == OWN_SETTINGS:  # one that a project names may have a network: it is shown no more
            grant = opened(grant, self._places, writes=True)
        command = (os.path.expanduser(server.command[0]), *server.command[1:])
        argv, variables = set_inside(command, server.env)
        launch = await asyncio.to_thread(self._containment.launch, argv, self._root, grant, sealed_home=True)
        own = {"XDG_CACHE_HOME": cache, "npm_config_cache": f"{cache}/npm", "UV_CACHE_DIR": f"{cache}/uv"}
        around = child_environment() if self._containment.kind is Sandbox.BWRAP else own_environment()
        if home:
            own |= {"HOME": home, **tool_homes()}
        environment = {**around, **launch.variables, **own, **variables}
        return await Piped.start(launch, environment)

    async def _end(self, name: str, *, counted: bool = True) -> None:
        if open := self._open.pop(name, None):
            self._ends[name] += counted
            await asyncio.shield(open.close())


def _login_hint(name: str) -> str:
    return f" Log in with `quintet mcp login {name}`, or give it `headers`."


def _loaded() -> tuple[Any, Any]:
    """What needs the SDK; it takes a while to load, so not on the loop."""
    return load("features.mcp.connection:connect"), load("features.mcp.conversation:Conversation")
