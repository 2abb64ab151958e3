"""One session that a client has: follows its journal as updates, asks the client what the session asks, and lets a
prompt end when all that it began has ended.

It owns the session only if nobody else does: a terminal and an editor can be at the same one, and a question is
answered by whoever answers first.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import Any

from acp.exceptions import RequestError
from acp.interfaces import Client
from acp.schema import (
    AcceptElicitationResponse,
    AgentPlanUpdate,
    AllowedOutcome,
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    PermissionOption,
    SessionInfoUpdate,
    ToolCallStart,
    ToolCallUpdate,
    UnstructuredCommandInput,
    UsageUpdate,
)
from msgspec import UNSET, Struct

from quintet.adapters.files.paths import Places
from quintet.adapters.processes.system import RandomIds
from quintet.app.open import log_crash, open_session
from quintet.app.trust_question import trust_question
from quintet.domain.base.errors import OwnerGone, QuintetError, StoreError
from quintet.domain.dials.axes import Surface
from quintet.domain.input.slash_line import CommandLine, format_command
from quintet.domain.journal import protocol as p
from quintet.domain.journal.input_outcome import InputOutcome, InputWatch
from quintet.domain.journal.state import SessionState
from quintet.domain.permission.answers import FEEDBACK, NO, YES
from quintet.domain.ports.prompt import ModelChoice
from quintet.domain.turn.messages import EndStatus
from quintet.engine.session.session import Session
from quintet.features.acp import calls, dials, prompts, questions
from quintet.features.acp.errors import request_error
from quintet.features.acp.story import Story, Update, message, progress

GONE = InputOutcome(EndStatus.INTERRUPTED, reason="the session was closed")
NEWEST = 2**62  # above the number of any event
LASTING = (AgentPlanUpdate, UsageUpdate, SessionInfoUpdate)  # updates of which the newest says all
DIALS = (ConfigOptionUpdate, CurrentModeUpdate)  # in the answer to the client


class ClientAbilities(Struct, frozen=True):
    """What the client can do that changes what it is sent."""

    forms: bool = False  # ask the person for words
    booleans: bool = False  # show an option that is on or off


class _Prompting:
    """A prompt that is not answered yet."""

    def __init__(self, submission: str, *, alone: bool) -> None:
        self.watch = InputWatch(submission)
        self.alone = alone  # no other was under way when it came: it lasts as long as what it began
        self.over: asyncio.Future[InputOutcome | None] = asyncio.get_running_loop().create_future()

    def end(self, outcome: InputOutcome | None) -> None:
        if not self.over.done():
            self.over.set_result(outcome)


class AcpSession:
    """`opening` are the words of `open_session` for it; `models` those that a person can choose."""

    def __init__(
        self,
        client: Client,
        places: Places,
        abilities: ClientAbilities,
        models: Sequence[ModelChoice],
        notes: Sequence[str] = (),
    ) -> None:
        self._client = client
        self._places = places
        self._abilities = abilities
        self._models = models
        self._notes = list(notes)  # that the client is told when it listens
        self._mine: set[str] = set()  # what was submitted here
        self._quiet: set[str] = set()  # of that, what options made
        self._story: Story | None = None
        self._last = 0
        self._stack = AsyncExitStack()
        self._session: Session | None = None
        self._flags: dict[str, Any] = {}
        self._following: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._moved = asyncio.Event()  # something was followed
        self._prompts: list[_Prompting] = []
        self._asking: dict[str, tuple[asyncio.Task[None], str]] = {}  # by question: who asks, and the row made for it
        self._by_words: set[str] = set()  # questions that the next message answers
        self._newest: InputOutcome | None = None  # how what ran last ended
        self._cancelling = False
        self._cancels = 0
        self._trust_asked = False
        self._trusting = asyncio.Lock()  # every prompt waits for the answer about the folder
        self._trust: asyncio.Task[str | None] | None = None  # asks it now
        self._reopens = asyncio.Lock()

    # ── opening

    async def open(self, flags: dict[str, Any], **options: Any) -> str:
        """Open it; returns its id. `flags` are settings of this client's."""
        self._flags = flags
        opening = open_session(
            self._places.opened or self._places.root,
            surface=Surface.RPC,
            person=True,
            settings=flags or None,
            **options,
        )
        self._session = await self._stack.enter_async_context(opening)
        self._story = Story(self._places.root, self._session.settings, self.options, self._mine, self._quiet)
        return self.id

    @property
    def session(self) -> Session:
        if self._session is None:
            raise StoreError("the session is closed")
        return self._session

    @property
    def id(self) -> str:
        return self.session.id

    @property
    def story(self) -> Story:
        assert self._story
        return self._story

    def options(self, state: SessionState) -> list[dials.ConfigOption]:
        return dials.options(state.dials, self._models, booleans=self._abilities.booleans)

    async def replay(self, *, shown: bool) -> None:
        """Take in what the journal has so far; `shown`: as updates."""
        newest: dict[type, Update] = {}
        for recorded in self.session.past_events(self._last, NEWEST):
            self._last = recorded.seq
            updates = self.story.apply(recorded)
            newest |= {type(update): update for update in updates if isinstance(update, LASTING)}
            if shown:
                await self._send([update for update in updates if not isinstance(update, (*LASTING, *DIALS))])
        await self._send(list(newest.values()))

    def follow(self) -> None:
        """From now on: what there is to say, and what comes. Called last, so that the answer to the client is first."""
        self._following = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        try:
            await self._introduce()
            async for item in self.session.events(self._last, signals=True, take_over=True):
                await self._apply(item)
        except QuintetError as error:
            self._fail(error)
        except ConnectionError:
            self._fail(StoreError("the client has disconnected"))
        except Exception as error:  # a defect of ours: the client is told, and nothing waits for ever
            log_crash(self._places, error)
            self._fail(StoreError(f"{type(error).__name__}: {error}"))

    async def _introduce(self) -> None:
        commands = [_command(one.name, one.usage, one.help) for one in self.session.commands if ":" not in one.name]
        update = AvailableCommandsUpdate(session_update="available_commands_update", available_commands=commands)
        await self._send([update, *(message(f"{note}\n\n", f"note-{n}") for n, note in enumerate(self._notes))])
        self._notes = []
        for asked in list(self.story.state.questions.values()):
            self._begin_asking(asked)

    def _fail(self, error: QuintetError) -> None:
        for one in self._prompts:
            if not one.over.done():
                one.over.set_exception(request_error(error))
        self._prompts.clear()

    # ── following

    async def _apply(self, item: p.Recorded | p.Signal) -> None:
        if isinstance(item, p.Recorded) and item.seq <= self._last:
            return
        await self._send(self.story.apply(item))
        if not isinstance(item, p.Recorded):
            return
        self._last = item.seq
        match item.event:
            case p.QuestionAsked() as asked:
                self._begin_asking(asked)
            case p.QuestionAnswered() as answer:
                await self._end_asking(answer)
            case p.TurnFinished(cycle="") | p.CycleStopped() as ended:
                self._newest = InputOutcome(ended.status, ended.answer, ended.reason, ended)
            case p.InputsHeld(submissions=held) if self._cancelling:
                for one in self._prompts:
                    if one.watch.submission in held:
                        await self._say(format_command(CommandLine("queued", ("drop", one.watch.submission))))
        for one in list(self._prompts):
            if one.watch.outcome is None and one.watch.see(item.event):
                self._go(self._settle(one))
        self._moved.set()
        self._moved = asyncio.Event()

    async def _send(self, updates: Sequence[Update]) -> None:
        for update in updates:
            await self._client.session_update(session_id=self.id, update=update)

    def _go(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # ── prompts

    async def prompt(self, blocks: Sequence[Any]) -> InputOutcome | None:
        """What came of it; None if it ended with a question that the next message answers."""
        cancels = self._cancels
        async with self._trusting:
            if not self._trust_asked and cancels == self._cancels:
                await self._ask_for_trust()
        if cancels != self._cancels:
            return InputOutcome(EndStatus.CANCELLED)
        self._cancelling = False
        read = await asyncio.to_thread(prompts.read, blocks, self._places)
        submission = RandomIds().new("in")
        prompting = _Prompting(submission, alone=not self._prompts)
        self._prompts.append(prompting)
        self._mine.add(submission)
        try:
            if asked := self._waits_for_words():
                self._by_words.discard(asked.question)
                self._newest = None
                await self._submit(questions.by_message(asked, read.text), id=submission)
                self._go(self._settle(prompting, asked=True))
            else:
                said = p.Say(text=read.text, quoted=read.quoted or UNSET)
                await self._submit(said, id=submission, by_hand=" ".join(read.pictures))
            return await prompting.over
        finally:
            if prompting in self._prompts:
                self._prompts.remove(prompting)

    def _waits_for_words(self) -> p.QuestionAsked | None:
        open = self.story.state.questions
        return next((asked for name, asked in open.items() if name in self._by_words), None)

    async def _settle(self, prompting: _Prompting, *, asked: bool = False) -> None:
        """Let a prompt end once nothing runs or is asked that it began; `asked`: it answers a question."""
        try:
            await self._caught_up()
            outcome = prompting.watch.outcome
            looked = outcome is not None and isinstance(outcome.event, p.CommandRan)
            while prompting.alone and not (looked and not self.story.state.questions):
                looked = False
                await self._at_rest()
                if not set(self.story.state.questions) - self._by_words:
                    break
                asked, self._newest = True, None
                await self._moved.wait()
            prompting.end(self._newest if asked and self._newest else outcome)
        except QuintetError as error:
            if not prompting.over.done():
                prompting.over.set_exception(request_error(error))

    async def _at_rest(self) -> None:
        if self.session.owned_here:
            await self.session.drained()
            await self._caught_up()
            return
        while self.story.state.busy and not self.story.state.questions:
            await self._moved.wait()

    async def _caught_up(self) -> None:
        """Wait until all that is on record now was followed."""
        newest = self.session.newest_event
        while self._last < newest:
            await self._moved.wait()

    async def cancel(self) -> None:
        self._cancelling = True
        self._cancels += 1
        if self._trust:
            self._trust.cancel()  # and asked again before the next prompt
        waiting = [one for one in self._prompts if one.watch.outcome is None]
        if waiting or self.story.state.busy:
            await self._submit(p.Interrupt())
        if not self.story.state.busy:
            for one in self._prompts:
                if one not in waiting:
                    one.end(InputOutcome(EndStatus.CANCELLED))

    async def command(self, line: str) -> InputOutcome:
        """A slash command that an option stands for, carried out."""
        async with self._reopens:
            submission = await self._say(line, quiet=True)
            outcome = await self.session.follow(submission).end()
            await self._caught_up()  # what it turned is told before the answer
            return outcome

    async def _say(self, line: str, *, quiet: bool = False) -> str:
        submission = RandomIds().new("in")
        self._mine.add(submission)
        if quiet:
            self._quiet.add(submission)
        return await self._submit(p.Say(text=line), id=submission)

    async def _submit(self, body: p.Submission, id: str = "", by_hand: str = "") -> str:
        try:
            return await self.session.submit(body, id=id, by_hand=by_hand)
        except OwnerGone:
            await self._reopen()
            return await self.session.submit(body, id=id, by_hand=by_hand)

    # ── questions

    def _begin_asking(self, asked: p.QuestionAsked) -> None:
        if questions.needs_words(asked) and not self._abilities.forms:
            self._by_words.add(asked.question)
            self._go(self._ask_in_words(asked))
            return
        about = self.story.asking
        call = about[0] if asked.kind == "approve" and len(about) == 1 else ""
        self._asking[asked.question] = (self._go(self._ask(asked, call)), "" if call else asked.question)

    async def _ask_in_words(self, asked: p.QuestionAsked) -> None:
        await self._send([message(questions.in_words(asked), asked.question)])
        for one in self._prompts:
            one.end(None)

    async def _ask(self, asked: p.QuestionAsked, call: str) -> None:
        given = self.story.shown.get(call)
        about = questions.about(asked, call or asked.question, given)
        if not call:
            start = ToolCallStart(
                session_update="tool_call",
                tool_call_id=asked.question,
                title=about.title or "",
                kind="other",
                status="pending",
            )
            await self._send([start])
        answer = await self._asked(asked, about)
        if answer:
            with contextlib.suppress(QuintetError):
                await self._submit(answer)

    async def _asked(self, asked: p.QuestionAsked, about: ToolCallUpdate) -> p.Answer | None:
        key = await self._permission(about, questions.options(asked, forms=self._abilities.forms))
        known = {one.key: one for one in asked.choices}
        if key is None and self._cancelling:
            return None  # what is interrupted closes it
        if key not in known:
            left = questions.refusal(asked.choices)
            return p.Answer(question=asked.question, choice=left) if left else None
        note = ""
        if questions.takes_words(asked, known[key]):
            note = await self._words(asked, key, about.tool_call_id) or ""
            if not note and key != FEEDBACK:
                key = questions.refusal(asked.choices) or key
        return p.Answer(question=asked.question, choice=key, note=note)

    async def _permission(self, about: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
        """The option that was chosen; None if none was, empty if the client cannot ask."""
        try:
            response = await self._client.request_permission(session_id=self.id, tool_call=about, options=options)
        except RequestError:
            return ""
        except ConnectionError:
            return None
        return response.outcome.option_id if isinstance(response.outcome, AllowedOutcome) else None

    async def _words(self, asked: p.QuestionAsked, key: str, call: str) -> str | None:
        text, form = questions.form(asked, key, self.id, call)
        try:
            response = await self._client.create_elicitation(message=text, mode=form)
        except (RequestError, ConnectionError):
            return None
        if isinstance(response, AcceptElicitationResponse):
            return str((response.content or {}).get(questions.NOTE, ""))
        return None

    async def _end_asking(self, answer: p.QuestionAnswered) -> None:
        self._by_words.discard(answer.question)
        task, row = self._asking.pop(answer.question, (None, ""))
        if task and not task.done():
            task.cancel()  # answered elsewhere
        if row:
            refused = answer.choice in ("", NO)
            await self._send([progress(row, status="failed" if refused else "completed")])

    # ── trust

    async def _ask_for_trust(self) -> None:
        """Ask once, before the first prompt, whether what the folder brings is to be used."""
        asked = await asyncio.to_thread(trust_question, self._places)
        if asked is None:
            self._trust_asked = True
            return
        id = RandomIds().new("trust")
        first, _, _ = asked.about.partition("\n")
        start = ToolCallStart(
            session_update="tool_call", tool_call_id=id, title="Trust this folder?", kind="other", status="pending"
        )
        await self._send([start])
        text = calls.fenced(asked.text)
        about = ToolCallUpdate(
            tool_call_id=id, title=f"Trust this folder? {first}", status="pending", content=[calls.text_content(text)]
        )
        options = [
            PermissionOption(option_id=YES, name="Trust this folder", kind="allow_always"),
            PermissionOption(option_id=NO, name="Do not trust it", kind="reject_always"),
        ]
        cancels = self._cancels
        self._trust = asyncio.create_task(self._permission(about, options))
        try:
            await asyncio.wait([self._trust])
            key = None if self._trust.cancelled() else self._trust.result()
        finally:
            self._trust.cancel()
            self._trust = None
        await self._send([progress(id, status="completed" if key == YES else "failed")])
        if key is None and cancels != self._cancels:
            return
        if key in (YES, NO):
            await asyncio.to_thread(asked.decide, key == YES)
        self._trust_asked = True
        if key == YES:
            async with self._reopens:
                await self._reopen()

    async def _reopen(self) -> None:
        """Open the session again: the folder is trusted now, or the process that ran it has ended."""
        id = self.id
        await self._stop_following()
        story = self._story
        await self.open(self._flags, resume=id)
        self._story = story
        self.follow()

    # ── the end

    async def _stop_following(self) -> None:
        if self._following:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        self._session = None
        stack, self._stack = self._stack, AsyncExitStack()
        with contextlib.suppress(QuintetError):
            await stack.aclose()

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        for one in self._prompts:
            one.end(GONE)
        await self._stop_following()


def _command(name: str, usage: str, about: str) -> AvailableCommand:
    _, _, takes = usage.partition(" ")
    hint = AvailableCommandInput(root=UnstructuredCommandInput(hint=takes)) if takes else None
    return AvailableCommand(name=name, description=about, input=hint)
