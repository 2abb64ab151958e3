"""The terminal UI: a screen over one Session.

It shows the journal and nothing else: its state is a fold over the events it has been given, so the badge is the
journal's axes, whoever turned a dial. What a person does goes to `Session.submit`. The session is opened while the
screen is being drawn, and let go when the terminal has been given back.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from time import thread_time

from textual import events, on
from textual.driver import Driver
from textual.events import Key

from quintet.domain.base.errors import LeaseLost, OwnerGone, QuintetError
from quintet.domain.dials import badge
from quintet.domain.journal import protocol as p
from quintet.domain.journal.state import SessionState
from quintet.domain.permission.gate import Verdict
from quintet.domain.settings.screen import taken_twice
from quintet.domain.turn.shown_output import COMMAND
from quintet.engine.session.session import Session
from quintet.surfaces.tui.chrome import host_terminal as host
from quintet.surfaces.tui.chrome.first_screen import first_screen
from quintet.surfaces.tui.chrome.header import HeaderLine
from quintet.surfaces.tui.chrome.status_line import StatusLine
from quintet.surfaces.tui.context import TuiContext
from quintet.surfaces.tui.key_codes import Burst, telling_keys_apart
from quintet.surfaces.tui.keys import KeyedUi
from quintet.surfaces.tui.prompt.prompt import Prompt
from quintet.surfaces.tui.prompt.question_panel import QuestionPanel
from quintet.surfaces.tui.prompt.queue_view import queued_inputs
from quintet.surfaces.tui.transcript.blocks import ScreenTranscript
from quintet.surfaces.tui.transcript.find_bar import FindBar
from quintet.surfaces.tui.transcript.scrollback import Scrollback

AT_ONCE = 0.01  # seconds of applying events before the event loop runs other tasks


async def run(context: TuiContext) -> int:
    """The screen until the person leaves it; then the terminal is as it was, and the session closed."""
    ui = TerminalUi(context)
    try:
        with host.ended_by(ui.told_to_end):
            code = await ui.run_async()
    finally:
        host.stop_reading_keys(ui)
        host.give_back()
        await ui.close_session()
    if ui.failure:
        context.log_crash(ui.failure)
        raise ui.failure
    if ui.state.turns.count:
        sys.stdout.write(f"quintet --resume {ui.state.session}   resumes this session\n")
    return code or 0


TYPED_KEYS = frozenset({"enter", "ctrl+j", "backspace", "space", "tab"})


class TerminalUi(KeyedUi):
    def __init__(self, context: TuiContext) -> None:
        super().__init__(context)
        self.failure: BaseException | None = None
        self._opening: AbstractAsyncContextManager[Session] | None = None
        self._attaching = asyncio.Lock()  # one session is opened at a time, in the order of the wishes
        self._decided: list[p.CallDecided] = []  # what the gate asked about since the last question
        self._looking_at_branch = self._branch_is_old = False
        self._in_front = True  # whether the terminal has the focus
        self.last_seq = 0  # the number of the newest event
        self._takes_keys = False  # whether the prompt takes keys
        self._early: list[events.Key | events.Paste] = []

    # ── life

    def get_driver_class(self) -> type[Driver]:
        driver = telling_keys_apart(super().get_driver_class(), bursts=self.context.settings.prompt.rapid_paste)
        return host.outliving(driver)

    def _fatal_error(self) -> None:
        """A defect of ours: the terminal is restored before the error is reported."""
        self.failure = self.failure or self._exception
        self._close_messages_no_wait()

    def on_mount(self) -> None:
        header = self.query_one(HeaderLine)
        header.theme_name, header.place = self.theme_name, self.context.name
        self.write_terminal(host.KEEP_TITLE)
        self.app_resume_signal.subscribe(self, self._come_back)
        self.run_worker(self._begin(), exit_on_error=False)
        self.run_worker(self._show_branch(), exit_on_error=False)

    def _come_back(self, _: object) -> None:
        """After `fg` the terminal shows something else: draw everything again."""
        self.refresh(layout=True)
        self._show_title()

    def _show_title(self) -> None:
        paused = self.state.turns.paused
        self.write_terminal(host.title(badge.title(self.state.axes, self.context.name, paused=paused)))

    async def _begin(self) -> None:
        try:
            if self.context.trust:
                await self.dialogs.trust(self.context.trust)
            await self.attach("")
            for said in taken_twice(self._keys):
                self.note(said, "warning")
            await self._offer_model()
            await self._welcome()
        except Exception as error:
            self._fail(error)

    async def _offer_model(self) -> None:
        """Where none is configured and one could be: offer it. The session is there already, and takes keys."""
        setup = self.context.at_hand.setup if self.context.at_hand else None
        if setup is None or self.context.settings.routing.smart != "builtin":
            return
        offers = await asyncio.to_thread(setup.new_offers)
        if offers and not self.query_one(Prompt).text:  # who is typing already must not answer by it
            await self.dialogs.first_model(setup, offers)

    async def _welcome(self) -> None:
        """The first screen of a new session; what was found on this machine, the first time only."""
        new = self.session and self.session.owned_here and not self.session.state.turns.count
        if new:
            model = self.context.settings.routing.smart != "builtin"
            first = not model and self.context.first_time()
            found = await asyncio.to_thread(self.context.found) if first else None
            keys = {name: anywhere(keys.split(", ")) for name, keys, _ in self.key_list()}
            self.transcript.greet(*first_screen(keys, await self.other_sessions(), model=model, found=found))
            self.query_one(Scrollback).follow_transcript()
        await self.look_at_board()

    async def attach(self, wanted: str) -> None:
        """Open a session by its id in place of the current one; an empty id is the one asked for at the start."""
        async with self._attaching:
            await self._open_in_place(wanted)

    async def _open_in_place(self, wanted: str) -> None:
        self._takes_keys = False
        await self.close_session()
        opening = self.context.open(wanted)
        self.session = await opening.__aenter__()
        self._opening = opening
        self.transcript = ScreenTranscript()
        self.query_one(Scrollback).show_transcript(self.transcript, self.session.past_events)
        self.state, self._decided = SessionState(), []
        self.query_one(QuestionPanel).close()
        self.query_one(StatusLine).context_share = self.session.context_share
        await self.query(Prompt).remove()
        prompt = Prompt(self.session, self.context.at_hand)
        await self.mount(prompt, before=self.query_one(StatusLine))
        prompt.focus()
        self.call_after_refresh(self._type_what_came_early)
        self.run_worker(self._follow(self.session), group="follow", exclusive=True)
        first, self.context.first = self.context.first, ""
        if first:
            await self.session.submit(p.Say(text=first))

    async def on_event(self, event: events.Event) -> None:
        """What is typed or pasted before the prompt takes keys is kept for it, in its order."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded and self._is_early(event):
            self._early.append(event)
        else:
            await super().on_event(event)

    def _is_early(self, event: events.Key | events.Paste) -> bool:
        typed = isinstance(event, events.Paste) or event.is_printable or event.key in TYPED_KEYS
        return typed and not self._takes_keys and len(self.screen_stack) == 1

    async def on_key(self, event: events.Key) -> None:
        """Keys that nothing else uses are typed at the prompt."""
        if len(self.screen_stack) > 1 or not self._takes_keys:
            return
        if event.is_printable and not (isinstance(self.focused, Scrollback) and self.focused.wants(event.key)):
            self.prompt.take_focus()
            await self._type_again(event)

    async def on_paste(self, event: events.Paste) -> None:
        """A paste that nothing else takes is for the prompt too."""
        if len(self.screen_stack) == 1 and self._takes_keys:
            self.prompt.take_focus()
            await self._type_again(event)

    async def _type_what_came_early(self) -> None:
        self._takes_keys = True
        early, self._early = self._early, []
        for event in early:
            await self._type_again(_with_enter(event))

    async def _type_again(self, event: events.Key | events.Paste) -> None:
        """Give a key or a paste to what has the focus now, as of the time when it came: before what came after it."""
        again = Key(event.key, event.character) if isinstance(event, Key) else type(event)(event.text)
        again.time = event.time
        await self.on_event(again)

    async def close_session(self) -> None:
        """Close the session, if one is open; what it did stays."""
        opening, self._opening, self.session = self._opening, None, None
        if opening:
            await opening.__aexit__(None, None, None)

    async def _follow(self, session: Session) -> None:
        began = thread_time()
        try:
            async for item in session.events(0, signals=True):
                self.receive(item, news=not isinstance(item, p.Recorded) or item.seq > session.since)
                if thread_time() - began > AT_ONCE:
                    await asyncio.sleep(0)
                    began = thread_time()
        except OwnerGone:
            await self.attach(session.id)
            self.note("the process that ran this session has ended; the session continues here", "warning")
        except LeaseLost:
            await self.attach(session.id)
            self.note(
                ("another process took over this session: the work here was stopped, and you can follow the session"),
                "error",
            )
        except QuintetError as error:
            self.note(
                f"{error}\nNothing more is recorded here; quintet --resume {session.id} resumes the session", "error"
            )
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """A defect of ours, unless the screen was just closing."""
        if not self._exit and self.query(Scrollback):
            self.failure = error
            self.exit(1)

    # ── out

    def receive(self, item: p.Recorded | p.Signal, *, news: bool = True) -> None:
        """Show an event or a signal; `news` are those that came since the screen was opened."""
        self.transcript.apply(item)
        self.query_one(Scrollback).follow_transcript()
        if not isinstance(item, p.Recorded):
            if isinstance(item, p.Countdown):
                self.query_one(StatusLine).wait(item.seconds)
            return
        before, self.last_seq = (self.state.axes, self.state.turns.paused), item.seq
        self.state.apply(item.event)
        self.dial_presses.apply(item.event)
        self._react(item, news)
        header = self.query_one(HeaderLine)
        header.axes, header.paused = self.state.axes, self.state.turns.paused
        header.running, header.cost = self.state.busy, self.cost
        self.query_one(StatusLine).show(self.state)
        for prompt in self.query(Prompt):
            prompt.show_queue(queued_inputs(self.state.turns))
        if (self.state.axes, self.state.turns.paused) != before or isinstance(item.event, p.SessionOpened):
            self._show_title()

    def _react(self, recorded: p.Recorded, news: bool) -> None:
        if not isinstance(recorded.event, p.CommandRan):  # a command does not end a wait, what is tried again does
            again = getattr(recorded.event, "retry_in", None) if news else None
            self.query_one(StatusLine).wait(again or 0.0)
        match recorded.event:
            case p.CallDecided(verdict=Verdict.ASK) as decided:
                self._decided.append(decided)
            case p.QuestionAsked() as asked:
                self._ask(asked)
                if news:
                    self._call_person(asked.text)
            case p.QuestionAnswered() as answered:
                self._answered(answered.question)
            case p.TurnStarted() as started:
                self._decided = []
                self.own.discard(started.submission)
            case p.InputWithdrawn(submission=withdrawn):
                self.own.discard(withdrawn)
            case p.TaskMoved() | p.RunMoved() if news:
                self._look_again()
            case p.ToolFinished() as done if news and (done.changed or done.tool == COMMAND):
                self._look_at_branch()
            case p.TurnFinished() as finished if news:
                self._look_again()
                if not self._in_front:
                    self._call_person(f"{finished.status}: {self.context.name}")
            case p.CheckpointTaken():
                self.query_one(StatusLine).checkpoint = local_time(recorded.at)
            case p.CommandRan() as ran if ran.submission in self.own:
                self.own.discard(ran.submission)
                if ran.data.get("quit"):
                    self.exit(0)
                if theme := ran.data.get("theme"):
                    self.use_theme(str(theme))
                if "copy" in ran.data:
                    self.do_copy()
                if wanted := ran.data.get("attach"):
                    self.run_worker(self.dialogs.switch_session(str(wanted)), exit_on_error=False)
                if (unclear := unclear_choice(ran)) and not self.typed:
                    self.run_worker(self.dialogs.menu_item(*unclear), exit_on_error=False)

    def _ask(self, asked: p.QuestionAsked) -> None:
        panel = self.query_one(QuestionPanel)
        if panel.asked is not None:
            return  # one question at a time
        panel.ask(asked, tuple(self._decided), takes_keys=not self.typed)
        self._decided = []

    def _answered(self, question: str) -> None:
        panel = self.query_one(QuestionPanel)
        if panel.asked and panel.asked.question == question:
            had_focus = panel.has_focus or panel.has_focus_within
            panel.close()
            if had_focus:
                self.focus_prompt()
            if waiting := next(iter(self.state.questions.values()), None):
                self._ask(waiting)

    def _call_person(self, text: str) -> None:
        """Call the person to the terminal."""
        if self.context.settings.display.bell:
            self.write_terminal(host.attention(text))

    def _look_again(self) -> None:
        self.run_worker(self._refresh_context(), group="context", exclusive=True, exit_on_error=False)

    async def _refresh_context(self) -> None:
        """What may have changed around the session: the branch, and how many tasks are left."""
        await self._show_branch()
        await self.look_at_board()

    def _look_at_branch(self) -> None:
        """Soon: what changes meanwhile is looked at once more, and not once for each change."""
        self._branch_is_old = True
        if not self._looking_at_branch:
            self._looking_at_branch = True
            self.run_worker(self._branch_until_new(), exit_on_error=False)

    async def _branch_until_new(self) -> None:
        try:
            while self._branch_is_old:
                self._branch_is_old = False
                await self._show_branch()
        finally:
            self._looking_at_branch = False

    async def _show_branch(self) -> None:
        branch = await self.context.branch()
        self.query_one(HeaderLine).place = f"{self.context.name} · {branch}" if branch else self.context.name

    # ── in

    @on(Prompt.SearchWanted)
    def _search_wanted(self, event: Prompt.SearchWanted) -> None:
        self.run_worker(self.dialogs.past_input(event.past, event.typed))

    @on(Prompt.KeysWanted)
    def _keys_wanted(self) -> None:
        self.do_keys()

    @on(QuestionPanel.Answered)
    async def _answer(self, event: QuestionPanel.Answered) -> None:
        await self.submit(p.Answer(question=event.question, choice=event.choice, note=event.note))

    @on(FindBar.Wanted)
    def _find(self, event: FindBar.Wanted) -> None:
        scrollback, bar = self.query_one(Scrollback), self.query_one(FindBar)
        if event.words:
            bar.show_count(*scrollback.find(event.words, event.backwards, event.again))
            return
        scrollback.stop_finding()
        bar.show_count(0, 0)
        if not bar.display:
            self.focus_prompt()

    @on(Scrollback.Followed)
    def _followed(self, event: Scrollback.Followed) -> None:
        status = self.query_one(StatusLine)
        status.behind = None if self.query_one(Scrollback).following else event.behind
        status.update()

    def on_app_focus(self, event: events.AppFocus) -> None:
        self._in_front = True

    def on_app_blur(self, event: events.AppBlur) -> None:
        self._in_front = False


def _with_enter(event: events.Key | events.Paste) -> events.Key | events.Paste:
    """Of what was typed before the screen had the terminal: that still wrote Enter as a line's end."""
    again: events.Key | events.Paste = event
    if isinstance(event, events.Key) and event.key == "ctrl+j":
        again = Key("enter", "\r")
    elif isinstance(event, Burst) and "\r" not in event.text:
        again = Burst(event.text.replace("\n", "\r"))
    again.time = event.time
    return again


def local_time(at: str) -> str:
    """The time of an event, in local time."""
    return datetime.fromisoformat(at.replace("Z", "+00:00")).astimezone().strftime("%H:%M")


def anywhere(keys: list[str]) -> str:
    """Of an action's keys, the first that every terminal can tell apart."""
    return next((key for key in keys if not key.startswith("Ctrl+Shift")), keys[0])


def unclear_choice(ran: p.CommandRan) -> tuple[str, list[tuple[str, str]]] | None:
    """Why an input was not clear to the agent's menu, and the items it may mean, if that is what answered it."""
    event = ran.data.get("event", {})
    if event.get("type") != "CLARIFY_CHOICE":
        return None
    command = event["command"]
    return f"{ran.line}: {command['reason']}", [(str(one["index"]), one["label"]) for one in command["candidates"]]
