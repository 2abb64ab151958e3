"""The screen and its keys: what a key does, whether it comes from the keyboard, the palette or a dialog.

Keys are settings. They are taken before the widget with the focus sees them, but for those a popup may want; over a
dialog only the keys that interrupt and leave are.
"""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections.abc import Callable
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, on
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import BindingsMap
from textual.filter import LineFilter, NoColor
from textual.widgets import Static

from quintet.domain.base.errors import QuintetError
from quintet.domain.dials.axes import AXIS_FIELDS, AXIS_WORDS, Axes, parse_axis
from quintet.domain.input.own_lines import ELSEWHERE, OwnLineWay, own_line_way
from quintet.domain.input.provenance import NOT_TYPED, Provenance, TextSource
from quintet.domain.input.slash_line import command_name
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import Line
from quintet.domain.journal.session_summary import summarise
from quintet.domain.journal.state import SessionState
from quintet.domain.permission.answers import NO
from quintet.domain.ports.prompt import SessionChoice
from quintet.domain.settings.screen import THEMES, keys_of, spelled
from quintet.domain.settings.tables import Tables
from quintet.domain.tasks import board
from quintet.domain.tasks.limits import costs_of
from quintet.engine.session.session import Session
from quintet.surfaces.tui.chrome import host_terminal as host
from quintet.surfaces.tui.chrome import themes
from quintet.surfaces.tui.chrome.header import HeaderLine
from quintet.surfaces.tui.chrome.status_line import StatusLine
from quintet.surfaces.tui.context import TuiContext
from quintet.surfaces.tui.prompt.prompt import Prompt
from quintet.surfaces.tui.prompt.prompt_area import PromptArea
from quintet.surfaces.tui.prompt.question_panel import QuestionPanel
from quintet.surfaces.tui.transcript.blocks import ScreenTranscript
from quintet.surfaces.tui.transcript.find_bar import FindBar
from quintet.surfaces.tui.transcript.scrollback import Scrollback

if TYPE_CHECKING:
    from quintet.surfaces.tui.dialogs.dialogs import Dialogs

TWICE_SECONDS = 2.0
LATER = ("palette",)  # keys that a widget with the focus may want for itself
ANYWHERE = ("interrupt", "leave", "suspend")  # keys that mean the same over a dialog


class DialPresses:
    """The values that key presses turn the dials to. Each press is the slash command that a person would type.

    A key pressed twice in a row moves the dial two values on: until the session has answered, the next value follows
    from the last press, not from what is on screen.
    """

    def __init__(self) -> None:
        self._axes: Axes | None = None
        self._waiting: set[str] = set()

    def next_value(self, axes: Axes, word: str) -> str:
        """The value after the one that the dial has, or will have once the session has answered."""
        values: list[StrEnum] = list(AXIS_WORDS[word])
        here = getattr(self._axes or axes, AXIS_FIELDS[word])
        return values[(values.index(here) + 1) % len(values)]

    def pressed(self, axes: Axes, word: str, value: str, submission: str) -> None:
        self._axes = parse_axis(word, value).applied_to(self._axes or axes)
        self._waiting.add(submission)

    def apply(self, event: p.Event) -> None:
        if isinstance(event, p.CommandRan):
            self._waiting.discard(event.submission)
            if not self._waiting:
                self._axes = None


class KeyedUi(App[int]):
    TITLE = "Quintet"
    AUTO_FOCUS = ""  # the prompt takes the focus when it is mounted
    CSS = """
    .rule { height: 1; color: $foreground 30%; }
    Screen.-asked #above-prompt { display: none; }
    Screen.-details Scrollback { display: none; }
    Input > .input--placeholder { color: $text-muted; }
    ToastRack { dock: top; align: right top; margin-top: 2; margin-bottom: 0; }
    """
    ENABLE_COMMAND_PALETTE = False  # we have our own
    # Slash commands that, given alone, open something here; each is the name of an action.
    OPENS: ClassVar[dict[str, str]] = {
        "tasks": "tasks",
        "settings": "settings",
        "model": "models",
        "agents": "agents",
        "rewind": "rewind",
        "sessions": "sessions",
        "skills": "skills",
    }

    def __init__(self, context: TuiContext) -> None:
        self.context = context  # before all else: the driver asks for it
        super().__init__()
        self.state = SessionState()
        self.transcript = ScreenTranscript()
        self.session: Session | None = None
        self._terminal_lent = False  # to an editor
        self.theme_name = context.theme
        self.own: set[str] = set()  # submissions of this screen without a reply yet
        self.dial_presses = DialPresses()
        self._pressed: dict[str, float] = {}  # when a key that counts twice was last pressed
        self._keys = keys_of(context.settings.keys)
        self._bindings = self._bound()
        for theme in themes.THEMES.values():
            self.register_theme(theme)
        self.use_theme(self.theme_name)

    def compose(self) -> ComposeResult:
        yield HeaderLine()
        yield Static("─" * 400, classes="rule")
        yield Scrollback(self.transcript, self.theme_name)
        yield FindBar()
        yield QuestionPanel(self.theme_name)
        yield Static("─" * 400, classes="rule", id="above-prompt")
        yield StatusLine(self.context.settings, self.context.sandbox, self.theme_name)

    # ── keys

    def _bound(self) -> BindingsMap:
        bindings = BindingsMap()
        for name, keys in self._keys.items():
            for key in keys:
                bindings.bind(key, f"act('{name}')", show=False, priority=name not in LATER)
        bindings.bind("escape", "escape", show=False)
        return bindings

    def key_list(self) -> list[tuple[str, str, str]]:
        """Every action with its keys and what it does."""
        about = Tables().catalogue(("keys",))
        return [(name, ", ".join(map(spelled, keys)), about[f"keys.{name}"].about) for name, keys in self._keys.items()]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "act" and len(self.screen_stack) > 1:
            return parameters[0] in ANYWHERE
        return True

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and not event.is_forwarded:
            self._forget_presses(event.key)
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            self._turn_to_prompt(event)
        await super().on_event(event)

    def _forget_presses(self, key: str) -> None:
        """Those that are not in a row with this key."""
        self._pressed = {name: at for name, at in self._pressed.items() if key in self._keys.get(name, (name,))}

    def _turn_to_prompt(self, event: events.Key | events.Paste) -> None:
        """Before what belongs to the prompt is given away."""
        focused, key = self.focused, event.key if isinstance(event, events.Key) else ""
        if not self.typing_goes_to_prompt or (isinstance(event, events.Key) and not event.is_printable):
            return
        if focused is None or (isinstance(focused, Scrollback) and not focused.wants(key)):
            self.prompt.take_focus()

    @property
    def typing_goes_to_prompt(self) -> bool:
        """Whether there is a prompt to type into, and no dialog above it."""
        return len(self.screen_stack) == 1 and bool(self.query(Prompt))

    async def action_act(self, name: str) -> None:
        await self.act(name)

    async def act(self, name: str) -> None:
        """What a key of that name does."""
        match name:
            case "work_mode":
                await self.turn("mode")
            case "run_control":
                await self.turn("control")
            case "permission_profile" | "model_mode":
                await self.turn(name.replace("_", "-"))
            case "autonomous" | "assisted" | "manual":
                await self.turn("control", name)
            case "repair":
                await self.turn("mode", name)
            case _:
                act: Callable[[], Any] = getattr(self, f"do_{name}")
                if (done := act()) is not None:
                    await done

    async def turn(self, word: str, value: str = "") -> None:
        """Turn a dial, to a value or to the one that comes next."""
        # Before the screen was told of its session, what it shows is not where the dials stand.
        axes = self.state.axes if self.state.session or not self.session else self.session.state.axes
        value = value or self.dial_presses.next_value(axes, word)
        if submission := await self.submit(p.Say(text=f"/{word} {value}")):
            self.transcript.pressed.add(submission)
            self.dial_presses.pressed(axes, word, value, submission)

    # ── what keys do

    @property
    def _at_work(self) -> bool:
        """Whether there is something to interrupt; an input may be in a hook, before its turn."""
        return self.state.busy or self.state.turns.following is not None

    async def do_interrupt(self) -> None:
        """Interrupt what runs, close what is open, say no, clear what is typed, or leave: the first there is."""
        if self.session is None:
            self.exit(0)
            return
        if len(self.screen_stack) > 1 and not self.state.busy:
            self.simulate_key("escape")
            return
        again = self.twice("interrupt") and not self.typed
        asked = self.query_one(QuestionPanel).asked
        if self._at_work:
            if again:
                self.exit(0)
            await self.submit(p.Interrupt())
        elif asked and any(choice.key == NO for choice in asked.choices):
            await self.submit(p.Answer(question=asked.question, choice=NO))
        elif again:
            self.exit(0)
        elif self.typed:
            self.prompt.text = ""
            self._pressed.clear()
        else:
            self.query_one(StatusLine).say("Press Ctrl+C again to leave; the session can be resumed")

    async def action_escape(self) -> None:
        """Close what is open, else interrupt; twice on an empty prompt goes back to an earlier turn."""
        finding = self.query_one(FindBar)
        if finding.display:
            finding.close()
        elif self.focused is not None and not any(prompt.has_focus_within for prompt in self.query(Prompt)):
            self.focus_prompt()
        elif self._at_work:
            await self.submit(p.Interrupt())
        elif not self.typed and self.twice("escape"):
            await self.enter("/rewind")

    async def do_forget(self) -> None:
        """Delete what the last run learnt."""
        if line := self.state.turns.takes_back:
            await self.submit(p.Say(text=line))
        else:
            self.query_one(StatusLine).say("Nothing was learnt that could be forgotten")

    def do_leave(self) -> None:
        self.exit(0)

    def do_suspend(self) -> None:
        self.action_suspend_process()

    def do_editor(self) -> None:
        self.run_worker(self._edit_outside(), group="editor", exclusive=True)

    async def _edit_outside(self) -> None:
        """The prompt in the user's editor, which has the terminal meanwhile. What runs goes on."""
        edited = self.context.at_hand.edited if self.context.at_hand else None
        if edited is None or not self.typing_goes_to_prompt:
            return
        prompt = self.prompt
        self._terminal_lent = True
        try:
            with self.suspend():
                text, problem = await asyncio.to_thread(_tried, edited, prompt.text)
            await host.signals_heard()
            if problem:
                self.note(problem, "warning")
            elif text != prompt.text:
                prompt.give_back(text, TextSource.EDITED)
        except SuspendNotSupported:
            self.note("an editor cannot run in this terminal", "warning")
        finally:
            self._terminal_lent = False

    def told_to_end(self, code: int) -> None:
        """A signal came; while an editor has the terminal, Ctrl+C is the editor's."""
        if not (code == host.INTERRUPTED and self._terminal_lent):
            self.exit(code)

    @cached_property
    def dialogs(self) -> Dialogs:
        """Loaded when the first of them opens, not before the screen is drawn."""
        from quintet.surfaces.tui.dialogs.dialogs import Dialogs

        return Dialogs(self)

    def do_keys(self) -> None:
        self.dialogs.keys()

    def do_palette(self) -> None:
        self.run_worker(self.dialogs.palette())

    def do_tasks(self) -> None:
        self.run_worker(self.dialogs.tasks())

    async def look_at_board(self) -> board.BoardView:
        """What is under way now; the stored part is read in a thread."""
        stored = await asyncio.to_thread(self.context.under_way)
        own, session = self.state.session, self.session
        here = board.seen_here(stored, own, self.state.questions.values(), session.shells() if session else ())
        status = self.query_one(StatusLine)
        status.tasks = board.left(stored.tasks)
        status.update()
        costs = costs_of(summarise(self.state), self.context.settings)
        rows = session.board_rows() if session else ()
        return board.board(here, own, costs=costs, checkpoint=status.checkpoint, of_features=rows)

    @abstractmethod
    async def attach(self, wanted: str) -> None:
        """Show another session."""

    def do_tour(self) -> None:
        """Show the tour on the terminal itself, and return; the screen is suspended meanwhile."""
        if self.state.busy:
            self.note("a turn is running here: wait until it ends before you start the tour", "warning")
        elif self.context.tour:
            with self.suspend():
                host.show(self.context.tour, "\nEnter returns to the session. ")

    @property
    def cost(self) -> str:
        """What the session has spent, and may."""
        most = self.context.settings.limits.max_cost
        if not self.state.spent.cost and not most:
            return ""
        return f"${self.state.spent.cost:.2f}" + (f" of ${most:.2f}" if most else "")

    def do_settings(self) -> None:
        self.run_worker(self.dialogs.settings())

    def do_models(self) -> None:
        self.run_worker(self.dialogs.model())

    def do_sessions(self) -> None:
        self.run_worker(self.dialogs.session())

    async def do_last_session(self) -> None:
        if others := await self.other_sessions():
            self.run_worker(self.dialogs.switch_session(others[0].id))
        else:
            self.query_one(StatusLine).say("no other session in this project yet")

    async def other_sessions(self) -> list[SessionChoice]:
        """The sessions of the project in which a person said something, newest first, without this one."""
        at_hand, here = self.context.at_hand, self.session.id if self.session else ""
        if at_hand is None:
            return []
        found = await asyncio.to_thread(at_hand.sessions)
        return [one for one in found if one.turns and one.by_person and one.id != here]

    def do_agents(self) -> None:
        self.run_worker(self.dialogs.agent())

    async def do_skills(self) -> None:
        found = [one for one in self.session.commands if one.skill] if self.session else []
        if found:
            self.run_worker(self.dialogs.skill(found))
        else:
            await self.send("/skills")

    def do_rewind(self) -> None:
        self.run_worker(self.dialogs.rewind())

    def do_answer(self) -> None:
        panel = self.query_one(QuestionPanel)
        if panel.asked and panel.screen.focused is not panel:
            panel.focus()
        else:
            self.focus_prompt()

    def action_focus_next(self) -> None:
        """Tab: from the prompt to a question that waits, as it says itself."""
        panel = self.query_one(QuestionPanel)
        if panel.asked and any(prompt.has_focus_within for prompt in self.query(Prompt)):
            panel.focus()
        else:
            super().action_focus_next()

    def do_find(self) -> None:
        self.query_one(FindBar).open()

    def do_fold(self) -> None:
        self.query_one(Scrollback).toggle_all()

    def do_copy(self) -> None:
        text = self.screen.get_selected_text() or self.transcript.answer
        if text:
            self.copy_to_clipboard(text)
            self.query_one(StatusLine).say(f"copied {len(text)} characters", "success")
        else:
            self.query_one(StatusLine).say("nothing to copy yet")

    def do_line_up(self) -> None:
        self._scroll_by(lambda view: -1)

    def do_line_down(self) -> None:
        self._scroll_by(lambda view: 1)

    def do_page_up(self) -> None:
        self._scroll_by(lambda view: -view.page)

    def do_page_down(self) -> None:
        self._scroll_by(lambda view: view.page)

    def _scroll_by(self, rows: Callable[[Scrollback | QuestionPanel], int]) -> None:
        """The details of a question, where they are open and have the focus; else the transcript."""
        view, panel = self.query_one(Scrollback), self.query_one(QuestionPanel)
        if panel.scrolls:
            panel.scroll_details(rows(panel))
        else:
            view.scroll_by(rows(view))

    def do_first_line(self) -> None:
        panel = self.query_one(QuestionPanel)
        panel.action_edge(False) if panel.scrolls else self.query_one(Scrollback).to_start()

    def do_last_line(self) -> None:
        panel = self.query_one(QuestionPanel)
        panel.action_edge(True) if panel.scrolls else self.query_one(Scrollback).to_end()

    # ── what these methods use

    async def submit(self, body: p.Submission, *, typed: bool = False, by_hand: str = "") -> str:
        """Give a submission to the session; if that fails, note the error and return an empty id.

        `typed`: the user typed it here, or confirmed it. `by_hand`: what of it they typed, pasted or dropped.
        """
        if self.session is None:
            return ""
        try:
            submission = await self.session.submit(body, typed=typed, by_hand=by_hand)
        except QuintetError as error:
            self.note(str(error), "error")
            return ""
        if not isinstance(body, p.Answer):  # an answer has no reply of its own
            self.own.add(submission)
        return submission

    @on(Prompt.Submitted)
    async def _submitted(self, event: Prompt.Submitted) -> None:
        await self.enter(event.text, event.provenance, event.seen)

    @on(PromptArea.LinesPasted)
    def _lines_pasted(self) -> None:
        self.query_one(StatusLine).say("lines that arrive together are a paste; Enter sends it")

    @on(Prompt.QueuedGone)
    def _queued_gone(self) -> None:
        self.query_one(StatusLine).say("that input is no longer in the queue; what you type now is a new one")

    async def enter(self, text: str, provenance: Provenance = NOT_TYPED, seen: str = "") -> None:
        """What a person sent, typed or not; `seen` is what of it they saw, without folded pastes."""
        self.query_one(Scrollback).to_end()
        words = text.split()
        if not words and self.state.runs.agent is None:
            return
        opens = self.OPENS.get(command_name(text) or "") if len(words) == 1 else None
        if opens:
            await self.act(opens)
            return
        match self._way(text, provenance):
            case OwnLineWay.CONFIRM:
                self.run_worker(self.dialogs.own_line(text, provenance))
            case OwnLineWay.ELSEWHERE:
                self.note(ELSEWHERE)
                await self.send(text)
            case way:
                await self.send(text, typed=way is OwnLineWay.DIRECT, by_hand=seen)

    def _way(self, text: str, provenance: Provenance) -> OwnLineWay:
        session = self.session
        if session is None:
            return OwnLineWay.INPUT
        direct, here = session.settings.prompt.own_lines == "direct", session.owned_here
        return own_line_way(text, provenance, at_terminal=self.context.at_terminal, direct=direct, owned_here=here)

    async def send(self, text: str, *, typed: bool = False, by_hand: str = "") -> None:
        """Submit an input, or keep it in the prompt."""
        if not await self.submit(p.Say(text=text), typed=typed, by_hand=by_hand) and self.session:
            self.prompt.give_back(text)

    async def begin_command(self, usage: str) -> None:
        """Put the beginning of a command into the prompt; one that wants nothing more is sent."""
        line, _, rest = usage.partition(" ")
        if not rest or line.removeprefix("/") in self.OPENS:
            await self.enter(line)
        elif line == "/theme" and rest in THEMES:
            await self.enter(usage)
        else:
            self.prompt.begin(f"{line} ")

    def note(self, text: str, role: str = "dim") -> None:
        """Add a note of the screen itself to the transcript."""
        self.transcript.note(*(Line(f"  {line}", role) for line in text.split("\n")))
        self.query_one(Scrollback).follow_transcript()

    def write_terminal(self, sequence: str) -> None:
        """Write to the terminal around the screen."""
        if self._driver and not self.is_headless:
            self._driver.write(sequence)

    def use_theme(self, theme_name: str) -> None:
        """Change to another theme, everywhere."""
        self.theme_name = theme_name
        kept: list[LineFilter] = [one for one in self._filters if not isinstance(one, NoColor)]
        self._filters = [*kept, NoColor()] if theme_name == "plain" else kept
        self.theme = theme_name
        if self.is_running:
            self.query_one(Scrollback).use_theme(theme_name)
            self.query_one(HeaderLine).theme_name = theme_name
            self.query_one(StatusLine).theme_name = self.query_one(QuestionPanel).theme_name = theme_name
            self.query_one(StatusLine).refresh()
            self.query_one(QuestionPanel).draw()

    @property
    def prompt(self) -> Prompt:
        return self.query_one(Prompt)

    @property
    def typed(self) -> str:
        return next((prompt.text for prompt in self.query(Prompt)), "")

    def focus_prompt(self) -> None:
        for prompt in self.query(Prompt):
            prompt.focus()

    def twice(self, key: str) -> bool:
        """Whether this key was also pressed a moment ago."""
        now = time.monotonic()
        again = now - self._pressed.get(key, -TWICE_SECONDS) < TWICE_SECONDS
        self._pressed[key] = now
        return again


def _tried(edited: Callable[[str], str], text: str) -> tuple[str, str]:
    """The text edited, or what was wrong: the screen comes back only after a block that ends well."""
    try:
        return edited(text), ""
    except (QuintetError, OSError) as error:
        return text, str(error)
