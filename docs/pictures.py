"""Makes the pictures in docs/pictures: real sessions of the offline rules, drawn by the program itself.

python docs/pictures.py. The project is the tour's, in a temporary folder; nothing outside it is touched.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from typing import Any

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pictures")
SIZE = (100, 34)
ASKED = 'replace "slugify" with "to_slug" in *.py and then run the tests'
PLANNED = """\
- create the file CHANGES.md with "slugify is to_slug now", verified by `grep -q to_slug slugs.py`
- replace "slugify" with "to_slug" in *.py
- run the tests"""
TASKS = {
    "task-001": "---\nid: task-001\ntitle: keep digits in slugs\nverification: python3 -m unittest\n---\nTest it.\n",
    "task-002": "---\nid: task-002\ntitle: say so in the docs\ndepends_on: [task-001]\n---\nOne sentence.\n",
    "task-003": "---\nid: task-003\ntitle: a changelog\ndepends_on: [task-002]\n---\nIts first entry.\n",
}
ACCEPT = "/accept --autonomous --permission-profile trusted"
PUSH = "! git push --force"
_FONTS = re.compile(r"@font-face \{.*?\}", re.S)


async def question_and_board(at: Sitting) -> None:
    panel = at.ui.query_one("#question")
    await at.ui.enter("/mode build")
    await at.ui.enter(ASKED)
    await at.until(lambda: panel.display and panel.has_focus)
    at.keep("question")
    at.ui.do_tasks()
    await at.until(lambda: len(at.ui.screen_stack) > 1)
    at.keep("board")


async def plan_and_build(at: Sitting) -> None:
    panel = at.ui.query_one("#question")
    await at.types(f"/plan {PLANNED}")
    await at.ui.enter(f"/plan {PLANNED}")
    await at.until(lambda: panel.display and panel.has_focus)
    at.keep("plan", seconds=4)
    await at.types(ACCEPT)
    await at.ui.enter(ACCEPT)
    await at.until(lambda: "failed verification" in at.shown)
    at.film(2)
    await at.until(lambda: "3 of 3 tasks done" in at.shown)
    at.keep("built", seconds=4)
    await at.types(PUSH)
    await at.ui.enter(PUSH)
    await at.until(lambda: panel.display and panel.has_focus)
    at.film(5)
    at.show_film("session")


class Sitting:
    """Somebody at the screen, in a folder."""

    def __init__(self, ui: Any, pilot: Any) -> None:
        self.ui = ui
        self._pilot = pilot
        self._film: list[tuple[str, float]] = []  # what was drawn, and for how many seconds it is shown

    @property
    def shown(self) -> str:
        return "".join(self.ui.query_one("#scrollback").shown)

    async def types(self, text: str) -> None:
        """Text in the prompt, filmed before it is sent."""
        prompt = self.ui.query_one("Prompt")
        prompt.text = text
        await self._pilot.pause(0.3)
        self.film(2)
        prompt.text = ""

    async def until(self, true: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not true():
                await self._pilot.pause(0.05)
        await self._pilot.pause(0.5)

    def keep(self, name: str, seconds: float = 0) -> None:
        _write(name, self._drawn())
        if seconds:
            self.film(seconds)

    def film(self, seconds: float) -> None:
        self._film.append((self._drawn(), seconds))

    def show_film(self, name: str) -> None:
        _write(name, moving(self._film))

    def _drawn(self) -> str:
        drawn = _FONTS.sub("", self.ui.export_screenshot(title="quintet"))
        drawn = re.sub(r"<!--.*?-->", "", drawn).replace("Fira Code", "monospace")
        return "\n".join(line.rstrip() for line in drawn.splitlines() if line.strip())


def moving(film: list[tuple[str, float]]) -> str:
    """Drawings one after the other, as one that moves by style alone; where nothing moves, the last one is seen."""
    whole = sum(seconds for _, seconds in film)
    outer = re.match(r"<svg[^>]*>", film[0][0])
    assert outer
    parts, begins = [outer[0], "<style>"], 0.0
    for number, (_, seconds) in enumerate(film):
        first, last = (100 * at / whole for at in (begins, begins + seconds))
        shown = f"0%{{opacity:0}}{first:.2f}%{{opacity:1}}{last:.2f}%{{opacity:0}}100%{{opacity:0}}"
        parts.append(f"@keyframes k{number}{{{shown}}}#f{number}{{animation:k{number} {whole:g}s step-end infinite}}")
        begins += seconds
    hidden = ",".join(f"#f{number}" for number in range(len(film) - 1))
    parts += [f"{hidden}{{opacity:0}}", "@media (prefers-reduced-motion){g{animation:none!important}}", "</style>"]
    for number, (drawn, _) in enumerate(film):
        inside = drawn[drawn.index(">") + 1 : drawn.rindex("</svg>")]
        parts += [f'<g id="f{number}">', inside.strip(), "</g>"]
    return "\n".join([*parts, "</svg>"])


def _write(name: str, drawn: str) -> None:
    with open(os.path.join(HERE, f"{name}.svg"), "w", encoding="utf-8") as file:
        file.write(drawn + "\n")


async def sit(folder: str, script: Callable[[Sitting], Awaitable[None]]) -> None:
    from quintet.app.terminal_ui import surroundings
    from quintet.surfaces.tui.app import TerminalUi

    ui = TerminalUi(surroundings(folder, {"settings": {"display.theme": "dark"}}))
    ui.use_theme("dark")
    async with ui.run_test(size=SIZE) as pilot:
        at = Sitting(ui, pilot)
        await at.until(lambda: ui.state.session and ui.query("Prompt"))
        await script(at)
    await ui.close_session()


def main() -> int:
    from quintet.app import tour

    os.makedirs(HERE, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="quintet-pictures-") as place:
        for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
            os.environ[name] = os.path.join(place, name.lower())
            os.mkdir(os.environ[name])
        pages = [os.path.join(place, f"{name}.md") for name in TASKS]
        for page, text in zip(pages, TASKS.values(), strict=True):
            with open(page, "w", encoding="utf-8") as file:
                file.write(text)
        for number, script in enumerate((question_and_board, plan_and_build)):
            folder = os.path.join(place, str(number), "slugs")
            os.makedirs(folder)
            tour.make(folder)
            if not number:
                subprocess.run([sys.executable, "-m", "quintet", "tasks", "add", *pages], cwd=folder, check=True)
            asyncio.run(sit(folder, script))
    return 0


if __name__ == "__main__":
    sys.exit(main())
