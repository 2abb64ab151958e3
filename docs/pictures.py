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
from collections.abc import Callable

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pictures")
SIZE = (100, 34)
ASKED = 'replace "slugify" with "to_slug" in *.py and then run the tests'
TASKS = {
    "task-001": "---\nid: task-001\ntitle: keep digits in slugs\nverification: python3 -m unittest\n---\nTest it.\n",
    "task-002": "---\nid: task-002\ntitle: say so in the docs\ndepends_on: [task-001]\n---\nOne sentence.\n",
    "task-003": "---\nid: task-003\ntitle: a changelog\ndepends_on: [task-002]\n---\nIts first entry.\n",
}
_FONTS = re.compile(r"@font-face \{.*?\}", re.S)


async def pictures(folder: str) -> None:
    from quintet.surfaces.tui.question_panel import QuestionPanel
    from quintet.surfaces.tui.terminal_ui import TerminalUi
    from quintet.tui_wiring import surroundings

    ui = TerminalUi(surroundings(folder, {"settings": {"display.theme": "dark"}}))
    ui.wear("dark")
    async with ui.run_test(size=SIZE) as pilot:

        async def until(true: Callable[[], object]) -> None:
            async with asyncio.timeout(30):
                while not true():
                    await pilot.pause(0.05)
            await pilot.pause(0.3)

        def keep(name: str) -> None:
            drawn = _FONTS.sub("", ui.export_screenshot(title="quintet"))
            drawn = re.sub(r"<!--.*?-->", "", drawn).replace("Fira Code", "monospace")
            lines = [line.rstrip() for line in drawn.splitlines() if line.strip()]
            with open(os.path.join(HERE, f"{name}.svg"), "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")

        panel = ui.query_one(QuestionPanel)
        await until(lambda: ui.state.session and ui.query("Prompt"))
        await ui.enter("/mode build")
        await ui.enter(ASKED)
        await until(lambda: panel.asked and panel.has_focus)
        keep("question")
        ui.do_tasks()
        await until(lambda: len(ui.screen_stack) > 1)
        keep("board")
    await ui.let_go()


def main() -> int:
    from quintet.adapters import sample_project

    os.makedirs(HERE, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="quintet-pictures-") as place:
        for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
            os.environ[name] = os.path.join(place, name.lower())
            os.mkdir(os.environ[name])
        folder = os.path.join(place, "slugs")
        os.mkdir(folder)
        sample_project.make(folder)
        pages = [os.path.join(place, f"{name}.md") for name in TASKS]
        for page, text in zip(pages, TASKS.values(), strict=True):
            with open(page, "w", encoding="utf-8") as file:
                file.write(text)
        subprocess.run([sys.executable, "-m", "quintet", "tasks", "add", *pages], cwd=folder, check=True)
        asyncio.run(pictures(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
