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
    await at.ui.enter(f"/plan {PLANNED}")
    await at.until(lambda: panel.display and panel.has_focus)
    at.keep("plan")
    await at.ui.enter("/accept --autonomous --permission-profile trusted")
    await at.until(lambda: "3 of 3 tasks done" in "".join(at.ui.query_one("#scrollback").shown))
    at.keep("built")


class Sitting:
    """Somebody at the screen, in a folder."""

    def __init__(self, ui: Any, pilot: Any) -> None:
        self.ui = ui
        self._pilot = pilot

    async def until(self, true: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not true():
                await self._pilot.pause(0.05)
        await self._pilot.pause(0.5)

    def keep(self, name: str) -> None:
        drawn = _FONTS.sub("", self.ui.export_screenshot(title="quintet"))
        drawn = re.sub(r"<!--.*?-->", "", drawn).replace("Fira Code", "monospace")
        lines = [line.rstrip() for line in drawn.splitlines() if line.strip()]
        with open(os.path.join(HERE, f"{name}.svg"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


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
