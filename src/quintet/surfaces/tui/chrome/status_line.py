"""The status line: what the run is doing and what it works with, most important first, as much as fits."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from rich.cells import cell_len
from rich.text import Text
from textual.timer import Timer
from textual.widget import Widget

from quintet.domain.journal.session_summary import AT_WORK, SessionStatus
from quintet.domain.journal.state import SessionState
from quintet.domain.settings.settings import Settings
from quintet.domain.tasks.cycle_phases import WORDS as PHASE_WORDS
from quintet.domain.tasks.cycle_phases import CyclePhase
from quintet.domain.tasks.roles import NATIVE
from quintet.domain.turn.tool_menu import tools_in_use
from quintet.surfaces.tui.chrome.themes import style
from quintet.surfaces.tui.transcript.rows import clean

Part = tuple[str, str]  # text and role
HINT = "? keys"
OFFLINE = "offline rules"


class StatusLine(Widget):
    DEFAULT_CSS = "StatusLine { height: 1; dock: bottom; padding: 0 1; }"

    def __init__(self, settings: Settings, sandbox: str, theme_name: str) -> None:
        super().__init__(id="status")
        self.theme_name = theme_name
        self.behind: int | None = None  # rows below the view; None while it follows
        self.tasks = ""  # how many are open, in words
        self.checkpoint = ""  # when the newest was taken
        self.notice: Part | None = None  # instead of everything else, for a while
        self._settings = settings
        self._sandbox = sandbox
        self._state = SessionState()
        self._since = 0.0  # when the turn began, here
        self._again_at = 0.0  # when something is tried again, by the same clock; 0 if nothing is
        self._timer: Timer | None = None
        self._notice_timer: Timer | None = None
        self._parts: list[Part] = []
        self.context_share: Callable[[SessionState], float] = lambda state: 0.0  # how full the model's window is
        self._counted: tuple[tuple[int, int, str], float] = ((0, 0, ""), 0.0)

    def show(self, state: SessionState) -> None:
        """As the session is now."""
        self._state = state
        if state.busy and self._timer is None:
            self._since = time.monotonic()
            self._timer = self.set_interval(1.0, self.update)
        elif not state.busy and self._timer is not None:
            self._timer.stop()
            self._timer = None
        self.update()

    def wait(self, seconds: float) -> None:
        """Something failed and is tried again after so many seconds; 0 ends the wait."""
        self._again_at = time.monotonic() + seconds if seconds > 0 else 0.0
        self.update()

    def use_settings(self, settings: Settings) -> None:
        self._settings = settings
        self.update()

    def update(self) -> None:
        parts = [(clean(words), role) for words, role in self._made()]
        if parts != self._parts:
            self._parts = parts
            self.refresh()

    def say(self, text: str, role: str = "warning", seconds: float = 4.0) -> None:
        """Show a short notice for a while."""
        self.notice = (text, role)
        if self._notice_timer:
            self._notice_timer.stop()
        self._notice_timer = self.set_timer(seconds, self._unsay)
        self.update()

    def _unsay(self) -> None:
        self.notice = None
        self.update()

    def _made(self) -> list[Part]:
        if self.notice:
            return [self.notice]
        state, limits = self._state, self._settings.limits
        worker = self._worker
        parts: list[Part] = [self._doing(), *self._unit(), *([(worker, "dim")] if worker else [])]
        if self.behind is not None:
            parts.append((f"↓ {self.behind} new" if self.behind else "↓ scrolled up", "accent"))
        parts += [(f"→ {', '.join(t.change.values().values())} {t.scope}", "warning") for t in state.dials.pending]
        if state.turns.waiting:
            parts.append((f"{len(state.turns.waiting)} queued", "dim"))
        if state.runs.agent:
            parts.append((state.runs.agent.name, "info"))
        native = worker in ("", NATIVE)
        if native and state.turns.open and limits.max_turns:
            parts.append((f"request {state.turns.open.steps}/{limits.max_turns}", "dim"))
        if native:  # an AI CLI has a model of its own
            parts.append((self.model, "warning" if self.model == OFFLINE else "dim"))
        if native and self.model != OFFLINE and state.conversation.messages:
            share = self._share()
            parts.append((f"{share:.0%} context".replace("%", " %"), "warning" if share > 0.8 else "dim"))
        if self.tasks:
            parts.append((self.tasks, "dim"))
        parts.append((f"sandbox {self._sandbox}", "error" if self._sandbox == "none" else "dim"))
        if self.checkpoint:
            parts.append((f"checkpoint {self.checkpoint}", "dim"))
        if state.work.toolset:
            parts.append((tools_in_use(state.work.toolset), "dim"))
        return parts

    def _share(self) -> float:
        """Of the model's window, counted once for each message that is added or taken away, and each model."""
        messages = self._state.conversation.messages
        newest = (len(messages), id(messages[-1]), self.model)
        if newest != self._counted[0]:
            self._counted = (newest, self.context_share(self._state))
        return self._counted[1]

    @property
    def model(self) -> str:
        name = self._settings.routing.model(self._state.axes.model_mode, self._state.dials.model)
        return OFFLINE if name == "builtin" else name

    def _doing(self) -> Part:
        status = self._state.status
        if status is SessionStatus.WAITING:
            return "needs your input", "warning bold"
        if status in AT_WORK:
            seconds = int(time.monotonic() - self._since)
            shown = f"{seconds} s" if seconds < 60 else f"{seconds // 60} min {seconds % 60} s"
            cycle = self._state.cycle if self._state.cycling else None
            doing = PHASE_WORDS[cycle.phase] if cycle and status is SessionStatus.RUNNING else status
            if (left := math.ceil(self._again_at - time.monotonic())) > 0:
                return f"{doing}, retrying in {left} s", "warning"
            return f"{doing} {shown}", "success" if status is SessionStatus.RUNNING else "warning"
        if status is SessionStatus.INTERRUPTED:
            return "interrupted · /resume continues", "warning"
        return "ready", "dim"

    def _unit(self) -> list[Part]:
        """Which of its tasks a cycle is at."""
        unit = self._state.cycle.unit if self._state.cycle and self._state.cycling else None
        return [(f"task {unit.current}/{unit.total}", "info")] if unit and unit.task and unit.total else []

    @property
    def _worker(self) -> str:
        """Who is at work in a cycle: native, or an AI CLI; empty where none is."""
        cycle = self._state.cycle
        if cycle is None or not cycle.at_work:
            return ""
        roles = cycle.roles
        others = {CyclePhase.PLANNING: roles.planner, CyclePhase.VERIFYING: roles.verifier}
        return others.get(cycle.phase, roles.executor)

    def render(self) -> Text:
        width = self.size.width
        text = Text(no_wrap=True, overflow="ellipsis", end="")
        room = width if self.notice else width - cell_len(HINT) - 3
        first = 1 + len(self._unit())  # these are worth more than the hint
        for number, (words, role) in enumerate(self._parts):
            joined = f" · {words}" if text.plain else words
            if text.plain and cell_len(text.plain) + cell_len(joined) > (width if number < first else room):
                continue
            if text.plain:
                text.append(" · ", style(self.theme_name, "dim"))
            text.append(words, style(self.theme_name, role))
        gap = width - cell_len(text.plain) - cell_len(HINT)
        if not self.notice and gap >= 3:
            text.append(" " * gap)
            text.append(HINT, style(self.theme_name, "dim"))
        return text
