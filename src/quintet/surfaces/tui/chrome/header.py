"""The header: the badge, the project and its branch, and what the session cost. It is never hidden.

While an autonomous run is going the header is badge and project alone, and the word autonomous pulses. At rest nothing
is drawn again.
"""

from __future__ import annotations

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.timer import Timer
from textual.widget import Widget

from quintet.domain.dials import badge
from quintet.domain.dials.axes import INTERACTIVE, Axes, RunControl
from quintet.surfaces.tui.chrome.themes import style
from quintet.surfaces.tui.transcript.rows import clean

NAME = "QUINTET"
PULSE_SECONDS = 0.8


class HeaderLine(Widget):
    DEFAULT_CSS = "HeaderLine { height: auto; dock: top; padding: 0 1; }"

    axes: reactive[Axes] = reactive(INTERACTIVE, layout=True)
    paused: reactive[bool] = reactive(False)
    running: reactive[bool] = reactive(False)
    place: reactive[str] = reactive("")  # project and branch
    cost: reactive[str] = reactive("")
    theme_name: reactive[str] = reactive("dark")

    def __init__(self) -> None:
        super().__init__(id="header")
        self._low = False  # the pulse is in its dim half
        self._timer: Timer | None = None

    @property
    def autonomous(self) -> bool:
        return self.running and self.axes.run_control is RunControl.AUTONOMOUS

    def watch_running(self) -> None:
        self._pulse()

    def watch_axes(self) -> None:
        self._pulse()

    def _pulse(self) -> None:
        if self.autonomous and self._timer is None:
            self._timer = self.set_interval(PULSE_SECONDS, self._beat)
        elif not self.autonomous and self._timer is not None:
            self._timer.stop()
            self._timer, self._low = None, False

    def _beat(self) -> None:
        self._low = not self._low
        self.refresh()

    @property
    def badge_lines(self) -> list[str]:
        return badge.lines(self.axes, self.size.width or badge.NARROW, paused=self.paused)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return len(badge.lines(self.axes, self._outer(width), paused=self.paused))

    def _outer(self, width: int) -> int:
        """The badge is chosen by the width of the screen, not by what the margins leave."""
        return width if width < badge.NARROW - 2 else width + 2

    def render(self) -> Text:
        width = self.size.width
        lines = badge.lines(self.axes, self._outer(width), paused=self.paused)
        text = Text(no_wrap=True, overflow="crop", end="")
        for number, line in enumerate(lines):
            if number:
                text.append("\n")
            text.append_text(self._coloured(line))
        used = len(lines[-1])
        if len(lines) == 1 and used + len(NAME) + 2 <= width and width >= badge.NARROW - 2:
            text = Text.assemble((NAME, "bold"), "  ", text, no_wrap=True, overflow="crop", end="")
            used += len(NAME) + 2
        return self._with_right(text, width - used)

    def _with_right(self, text: Text, room: int) -> Text:
        """The project and the cost, as far as there is room for them."""
        cost = "" if self.autonomous else self.cost
        name, place = clean(self.place.partition(" · ")[0]), clean(self.place)
        place = name if self.autonomous else place
        for words, money in ((place, cost), (place, ""), (name, "")):
            needed = sum(cell_len(part) + 2 for part in (words, money) if part)
            if needed <= room:
                break
        else:
            return text
        if not words and not money:
            return text
        gap = room - cell_len(words) - len(money)
        before = max(2, gap - 6) if money else gap
        text.append(" " * before)
        text.append(words, style(self.theme_name, "bold"))
        if money:
            text.append(" " * (gap - before))
            text.append(money, style(self.theme_name, "dim"))
        return text

    def _coloured(self, line: str) -> Text:
        text = Text(line)
        for word in badge.labels(self.axes):
            at = line.find(word)
            if at >= 0:
                text.stylize(self._role(word), at, at + len(word))
        if line.startswith("["):  # compact: a letter for each
            for word, box in zip(badge.labels(self.axes), badge.boxes(self.axes), strict=True):
                at = line.find(box)
                if at >= 0:
                    text.stylize(self._role(word), at, at + len(box))
        return text

    def _role(self, word: str) -> Style:
        role = badge.ROLES[word]
        if word == RunControl.AUTONOMOUS and self.autonomous:
            role = "dim" if self._low else f"{role} bold"
        return style(self.theme_name, role)
