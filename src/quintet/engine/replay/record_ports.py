"""Ports that write down what comes through them, so that a run can be replayed: the same core, and a tape beside it.

A port that comes to the engine has its wrapper here, and its counterpart in `replaying`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from functools import cache
from typing import Any, TypeVar

from msgspec import Struct, structs

from quintet import __version__
from quintet.domain.journal import recording as tape
from quintet.domain.journal.protocol import VERSION, Event, Recorded, Submitted
from quintet.domain.permission.rules import Rule
from quintet.domain.ports.ports import (
    Batch,
    Clock,
    HookRunner,
    Ids,
    Lease,
    Model,
    Repository,
    RuleBook,
    SessionRow,
    ShellState,
    Store,
    Unreadable,
)
from quintet.domain.settings.hooks import HookEnd
from quintet.domain.settings.mcp_settings import McpSettings
from quintet.domain.turn.messages import CallPart, EndPart, OriginalPart, Part, Request, TextPart, ThinkingPart
from quintet.domain.turn.review_subject import Subject
from quintet.domain.turn.tool_spec import ToolResult, ToolSpec, Touch
from quintet.engine.replay.any_port import RecordedPort
from quintet.engine.replay.recorder import Recorder
from quintet.engine.session.core import Core
from quintet.engine.turn.hands import Hands

T = TypeVar("T")


def header(core: Core, lease: Lease, after: int, reason: str, opening: Sequence[Event], agent: str) -> tape.Header:
    """What the owner of this core starts with."""
    toolbox = core.toolbox
    pages, shipped = core.prompts.in_use()
    return tape.Header(
        format=tape.FORMAT,
        program=__version__,
        events=VERSION,
        project=core.project,
        lease=lease,
        after=after,
        reason=reason,
        opening=tuple(opening),
        agent=agent,
        settings=structs.replace(core.settings, mcp=McpSettings()),  # what servers are told may be secret
        terms=toolbox.terms,
        person=core.person,
        answer_schema=core.answer_schema,
        agents_page=core.agents_page,
        own_tools=tuple(tape.own_tool(spec) for spec in toolbox.specs.values() if spec.toolset),
        pages=pages,
        shipped={name: tape.digest(text) for name, text in shipped.items()},
    )


def recorded(core: Core, recorder: Recorder, session: str) -> Core:
    """The same core; what comes through its ports is written down."""
    specs = {name: _own(spec, recorder) if spec.toolset else spec for name, spec in core.toolbox.specs.items()}
    keep, text, chance, hooks = core.keep_artifact, core.settings_text, core.chance, core.hook_runner
    tasks, look, page, elsewhere = core.tasks, core.look, core.keep_page, core.open_elsewhere
    executors = core.executors

    def kept(turn: str, name: str, body: str, value: Struct) -> str:
        return recorder.asked("artifact", lambda: keep(turn, name, body, value))

    return structs.replace(
        core,
        store=_Store(core.store, recorder, session),
        clock=_Clock(core.clock, recorder),
        ids=_Ids(core.ids, recorder),
        toolbox=core.toolbox.with_hands(_Hands(core.toolbox.hands, recorder), specs),
        rule_book=_RuleBook(core.rule_book, recorder),
        repository=_Repository(core.repository, recorder),
        open_elsewhere=lambda other: recorder.asked("open_elsewhere", lambda: elsewhere(other)),
        checkpoints=_port("checkpoints", core.checkpoints, recorder),
        agents=_port("agents", core.agents, recorder),
        plans=_port("plans", core.plans, recorder),
        executors=cache(lambda: _port("executors", executors(), recorder)),
        tasks=cache(lambda: _port("tasks", tasks(), recorder)),
        look=lambda: _port("look", look(), recorder),
        make_model=_Models(core.make_model, recorder).get,
        hook_runner=_Hooks(hooks, recorder) if hooks else None,
        keep_artifact=kept,
        keep_page=lambda *words: recorder.awaited("page", page(*words)),
        settings_text=lambda: recorder.asked("settings", text),
        chance=lambda: recorder.asked("chance", chance),
        durable=_Writes(recorder).durable,
        settled=recorder.settled,
        on_close=lambda: recorder.come_in_at_last("close"),
    )


def _port(name: str, port: T, recorder: Recorder) -> T:
    return RecordedPort(name, port, recorder)  # type: ignore[return-value]  # it has the members of the port


def _own(spec: ToolSpec, recorder: Recorder) -> ToolSpec:
    """A user's own tool: what it makes of arguments is its own code, and comes from outside."""

    def bind(arguments: str) -> dict[str, Any]:
        return recorder.asked("bind", lambda: spec.bind(arguments))

    return structs.replace(spec, bind=bind, touch=lambda values: recorder.asked("touch", lambda: spec.touch(values)))


class _Writes:
    """Writes by their numbers: one that is no longer waited for ends before an earlier one."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._count = 0

    def durable(self, write: Awaitable[T]) -> Awaitable[T]:
        self._count += 1
        return self._awaited(f"durable.{self._count}", write)

    async def _awaited(self, kind: str, write: Awaitable[T]) -> T:
        written = await self._recorder.awaited(kind, write, lambda _: None)
        self._recorder.flush()
        return written


class _Clock:
    def __init__(self, clock: Clock, recorder: Recorder) -> None:
        self._clock = clock
        self._recorder = recorder

    def now(self) -> str:
        now = self._clock.now()
        self._recorder.add("now", now)
        return now

    def epoch(self) -> float:
        return self._clock.epoch()  # for leases, which a replay has no need of

    def monotonic(self) -> float:
        now = self._clock.monotonic()
        self._recorder.add("monotonic", now)
        return now

    async def sleep(self, seconds: float) -> None:
        await self._recorder.awaited("sleep", self._clock.sleep(seconds))


class _Ids:
    def __init__(self, ids: Ids, recorder: Recorder) -> None:
        self._ids = ids
        self._recorder = recorder

    def new(self, kind: str) -> str:
        made = self._ids.new(kind)
        self._recorder.add(f"id.{kind}", made)
        return made


class _Store:
    def __init__(self, store: Store, recorder: Recorder, session: str) -> None:
        self._store = store
        self._session = session
        self._recorder = recorder
        self._seen: set[str] = set()  # unreadable submissions; they stay in the inbox
        self._last = 0  # number of the newest event

    async def create(self, row: SessionRow, batch: Batch) -> list[int]:
        return await self._recorder.awaited("create", self._store.create(row, batch))

    async def append(self, session: str, batch: Batch) -> list[int]:
        try:
            seqs = await self._store.append(session, batch)
        except BaseException:
            self._recorder.close()  # what is not in the journal cannot be compared
            raise
        self._last = seqs[-1] if seqs else self._last
        return seqs

    async def submit(self, session: str, submitted: Submitted, at: str) -> None:
        await self._store.submit(session, submitted, at)

    async def take_lease(self, lease: Lease, now: float, steal: bool) -> bool:
        taken = await self._store.take_lease(lease, now, steal)
        if not taken:
            self._recorder.close()
        return taken

    async def release(self, lease: Lease) -> None:
        await self._store.release(lease)
        self._recorder.add("last", self._last)

    def inbox(self, session: str) -> list[Submitted | Unreadable]:
        found = self._store.inbox(session)
        unread = {one.id for one in found if isinstance(one, Unreadable)}
        if len(found) > len(unread) or unread - self._seen:
            self._seen |= unread
            pairs = [[one, None] if isinstance(one, Submitted) else [None, one] for one in found]
            self._recorder.add("inbox", pairs)
        return found

    def read(
        self, session: str, after: int = 0, before: int | None = None, kinds: Sequence[str] = ()
    ) -> list[Recorded]:
        if session != self._session:
            return self._recorder.asked("read_other", lambda: self._store.read(session, after, before, kinds))
        found = self._store.read(session, after, before, kinds)
        self._recorder.add("read", found[-1].seq if found else 0)
        return found

    def read_everywhere(self, kinds: Sequence[str]) -> list[tuple[str, Event]]:
        return self._recorder.asked("read_everywhere", lambda: self._store.read_everywhere(kinds))

    def count(self, session: str) -> int:
        return self._recorder.asked("count", lambda: self._store.count(session))

    def session(self, session: str) -> SessionRow | None:
        row = self._store.session(session)
        self._recorder.add("session", row is not None)
        return row

    def last_seq(self, session: str) -> int:
        return self._recorder.asked("last_seq", lambda: self._store.last_seq(session))

    def last_of_type(self, session: str, kind: str) -> int:
        return self._recorder.asked("last_of_type", lambda: self._store.last_of_type(session, kind))

    def data_version(self) -> int:
        return self._store.data_version()

    async def close(self) -> None:
        await self._store.close()


class _Models:
    def __init__(self, make: Callable[[str], Model], recorder: Recorder) -> None:
        self._make = make
        self._recorder = recorder
        self._made: dict[str, RecordedModel] = {}

    def get(self, name: str) -> Model:
        if name not in self._made:
            try:
                made = RecordedModel(self._make(name), self._recorder)
            except Exception as error:
                self._recorder.add(f"model.{name}", error=error)
                raise
            self._recorder.add(f"model.{name}", [made.name, made.staged])
            self._made[name] = made
        return self._made[name]


class RecordedModel:
    def __init__(self, model: Model, recorder: Recorder) -> None:
        self.name = model.name
        self.staged: bool = getattr(model, "staged", True)
        self._model = model
        self._recorder = recorder
        self._digests = tape.Digests()

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        recorder = self._recorder
        recorder.add("ask", self._digests.asked(request))
        latest = -1  # what comes in right after another part of the reply has nothing to wait for
        try:
            async for part in self._model.stream(request):
                if recorder.count != latest:
                    await recorder.settled()
                self._note(part)
                latest = recorder.count
                yield part
            if recorder.count != latest:
                await recorder.settled()
            recorder.add("reply.over")
        except (Exception, asyncio.CancelledError) as error:
            await recorder.come_in_at_last("reply.over", error)
            raise

    def _note(self, part: Part) -> None:
        recorder = self._recorder
        match part:
            case TextPart(text):
                recorder.text("reply.text", text)
            case ThinkingPart(text):
                recorder.text("reply.thinking", text)
            case CallPart(call):
                recorder.add("reply.call", call)
            case OriginalPart(original):
                recorder.add("reply.original", original)
            case EndPart():
                recorder.add("reply.end", part)

    async def close(self) -> None:
        await self._model.close()


class _Hands(Hands):
    def __init__(self, hands: Hands, recorder: Recorder) -> None:
        self._hands = hands
        self._recorder = recorder
        self._rules: tuple[Rule, ...] = ()
        self._runs = 0
        self._looks = 0

    def rules(self) -> tuple[Rule, ...]:
        try:
            rules = self._hands.rules()
        except Exception as error:
            self._recorder.add("rules", error=error)
            raise
        self._recorder.add("rules", None if rules == self._rules else rules)  # nothing: as before
        self._rules = rules
        return rules

    def digest(self, path: str) -> str:
        return self._recorder.asked("digest", lambda: self._hands.digest(path))

    def leads_to(self, path: str) -> str:
        return self._recorder.asked("leads_to", lambda: self._hands.leads_to(path))

    def is_there(self, path: str) -> bool:
        return self._recorder.asked("is_there", lambda: self._hands.is_there(path))

    def carried(self, touch: Touch) -> Touch:
        return self._recorder.asked("carried", lambda: self._hands.carried(touch))

    def content(self, path: str) -> str:
        return self._recorder.asked("content", lambda: self._hands.content(path))

    def served(self, touch: Touch) -> Touch:
        return self._recorder.asked("served", lambda: self._hands.served(touch))

    def shell(self, name: str) -> ShellState:
        return self._recorder.asked("shell", lambda: self._hands.shell(name))

    def shells(self) -> list[ShellState]:
        return self._recorder.asked("shells", self._hands.shells)

    async def end_shell(self, name: str, why: str) -> None:
        await self._hands.end_shell(name, why)

    def put_right(self) -> tuple[str, ...]:
        self._looks += 1
        if found := self._hands.put_right():  # most often there is nothing
            self._recorder.add(f"put_right.{self._looks}", found)
        return found

    async def run(self, spec: ToolSpec, arguments: dict[str, Any], at_hand: dict[str, Any]) -> ToolResult:
        self._runs += 1  # calls run together, and end in any order
        return await self._recorder.awaited(f"run.{self._runs}", self._hands.run(spec, arguments, at_hand))


class _RuleBook:
    def __init__(self, rule_book: RuleBook, recorder: Recorder) -> None:
        self._rule_book = rule_book
        self._recorder = recorder

    def rules(self) -> tuple[Rule, ...]:
        return self._rule_book.rules()

    def add(self, rule: Rule) -> None:
        self._recorder.asked("rule_kept", lambda: self._rule_book.add(rule))


class _Repository:
    def __init__(self, repository: Repository, recorder: Recorder) -> None:
        self._repository = repository
        self._recorder = recorder

    async def subject(self, wanted: str) -> Subject:
        return await self._recorder.awaited("subject", self._repository.subject(wanted))

    async def line_counts(self, paths: Iterable[str], revision: str) -> dict[str, int | None]:
        return await self._recorder.awaited("lines", self._repository.line_counts(paths, revision))


class _Hooks:
    def __init__(self, runner: HookRunner, recorder: Recorder) -> None:
        self._runner = runner
        self._recorder = recorder

    async def run(self, command: str, told: bytes, cwd: str, timeout: float) -> HookEnd:
        return await self._recorder.awaited("hook", self._runner.run(command, told, cwd, timeout))
