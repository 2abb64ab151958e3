"""The main states of the screen, compared with files of text: what a person would see at this width.

`SCREENS=write pytest tests/surfaces/tui/test_screens.py` writes the files anew; look at the difference.
"""

import re
import time
from pathlib import Path

import pytest
from msgspec import structs

from quintet.app.terminal_ui import at_hand
from quintet.domain.dials.axes import AxesChange, ModelMode, PermissionProfile, RunControl, WorkMode
from quintet.domain.ports.prompt import SessionChoice
from quintet.domain.settings.screen import THEMES
from quintet.domain.settings.settings import RoutingSettings, Settings
from quintet.domain.tasks.board import OtherSession, UnderWay
from quintet.domain.tasks.task import Intent, Task, TaskStatus, TaskText
from quintet.surfaces.tui.chrome.status_line import StatusLine
from quintet.surfaces.tui.chrome.themes import style
from quintet.testing import call
from tests.engine.turn.test_turn_runner import Waiting
from tests.surfaces.tui.watching import A_MODEL, Person, watch

BUILD = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)
PAGE = """\
## Found

`words` counts **words**:

| text | words |
|------|-------|
| one two | 2 |

```python
def words(text: str) -> int:
    return len(text.split())
```
"""
EDIT = call("Edit", file_path="tally/count.py", old_string="def words", new_string="def tokens")
READ = call("Read", file_path="tally/count.py")


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_an_answer_with_calls_and_a_diff(repo: Path, width: int) -> None:
    async def script(person: Person) -> None:
        await person.type("rename words to tokens, everywhere it is used, and say what you did and why you did it so")
        await person.sees("return len(text.split())")
        await person.rests()
        await person.looks_like(f"answer-{width}")

    watch(repo, script, [READ], [EDIT], PAGE, size=(width, 36), axes=BUILD, settings=A_MODEL)


@pytest.mark.parametrize("width", [60, 100])
def test_a_question(repo: Path, width: int) -> None:
    async def script(person: Person) -> None:
        await person.type("rename it")
        await person.asked()
        await person.wait(lambda: person.question.has_focus, "focus")
        await person.sees("+ 1  def tokens")
        await person.drawn()
        await person.looks_like(f"question-{width}")

    watch(repo, script, [READ], [EDIT], "Renamed.", size=(width, 24))


def test_s3_8_3_a_critical_work_mode_keeps_its_words_on_a_narrow_screen(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("/mode repair --autonomous")
        await person.rests()
        await person.looks_like("repair-40")

    watch(repo, script, size=(40, 12))


def test_the_first_time_it_says_what_works_without_a_model(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.sees("No model is configured", "all keys")
        await person.drawn()
        await person.looks_like("first-time")

    found = ["OPENROUTER_API_KEY is set", "codex on PATH"]
    watch(repo, script, size=(80, 16), first_time=lambda: True, found=lambda: found)


SAID = SessionChoice(
    "s1", "2026-11-16T14:02:00Z", "done", False, "", 3, "rename words to tokens, everywhere it is used, and more"
)
OLDER = SessionChoice("s2", "2026-11-15T09:30:00Z", "done", False, "", 1, "what does tally do?")
EMPTY = SessionChoice("s0", "2026-11-17T09:30:00Z", "done", False, "", 0, "")


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_first_screen_helps_and_steps_aside_once_something_is_said(repo: Path, width: int) -> None:
    sources = structs.replace(at_hand(str(repo)), sessions=lambda: [EMPTY, SAID, OLDER], setup=None)

    async def script(person: Person) -> None:
        await person.sees("Begin", "Shift+Tab mode", "Alt+L", "rename words", "Alt+S", "what does tally do?")
        await person.drawn()
        assert "No model" not in person.text
        await person.looks_like(f"first-{width}")
        await person.press("f6")
        await person.sees("smart → deep")
        assert "Begin" in person.text
        await person.type("hello")
        await person.sees("Good morning")
        await person.rests()
        assert "Begin" not in "".join(person.transcript)

    own = Settings(routing=RoutingSettings(smart="claude"))
    watch(repo, script, "Good morning", size=(width, 16), own=own, at_hand=sources)


def worn(person: Person, words: str) -> str:
    """The colours and weights of the piece of the screen with these words in it."""
    for strip in person.ui.screen._compositor.render_strips():
        for line_filter in person.ui._filters:
            strip = strip.apply_filter(line_filter, person.ui.screen.background_colors[1])
        for segment in strip:
            if words in segment.text:
                return str(segment.style)
    raise AssertionError(words)


@pytest.mark.parametrize("theme", THEMES)
def test_what_is_highlighted_in_a_list_can_be_told_from_the_rest(repo: Path, theme: str) -> None:
    async def script(person: Person) -> None:
        await person.press("f2")
        await person.sees("keys and commands", "Shift+Tab", "Ctrl+Shift+A")
        await person.settles()
        assert worn(person, "Shift+Tab, Ctrl+Shift+M") != worn(person, "Ctrl+Shift+A")

    watch(repo, script, theme=theme)


def test_the_board(repo: Path) -> None:
    def task(name: str, title: str, status: TaskStatus = TaskStatus.TODO, **more: object) -> Task:
        depends = more.pop("depends_on", ())
        text = TaskText(name, title, depends_on=depends, intent=(Intent("tests/test_count.py"),))  # type: ignore[arg-type]
        return Task(text, status, created=name, **more)  # type: ignore[arg-type]

    stored = UnderWay(
        tasks=(
            task("task-001", "parse the flag", TaskStatus.DONE, completed="2026-01-01"),
            task("task-002", "tests for it", TaskStatus.RUNNING),
            task("task-003", "docs", depends_on=("task-002",)),
            task("task-004", "changelog", TaskStatus.BLOCKED, retries=1),
        ),
        claims={"task-002": 4711},
        reasons={"task-004": "which version?"},
        sessions=(OtherSession("q5-older", "rename it", "interrupted", "2026-01-01T10:00:00Z", live=False),),
    )

    async def script(person: Person) -> None:
        await person.press("f7")
        await person.sees("task-004", "q5-older")
        await person.drawn()
        await person.looks_like("board-100")
        for theme in THEMES:
            person.ui.use_theme(theme)
            await person.settles()
            assert worn(person, "▶ task-002 tests") != worn(person, "task-003 docs"), theme  # the mark too
        for columns, keys in ((60, "Enter opens · p pause · t todo · x ends · Esc "), (40, "Enter · p · t · x · Esc ")):
            await person.pilot.resize_terminal(columns, 30)
            await person.sees(keys)

    watch(repo, script, size=(100, 20), under_way=lambda: stored)


def test_while_an_autonomous_run_goes(repo: Path) -> None:
    model = Waiting("Looking at the ", "end.")

    async def script(person: Person) -> None:
        await person.type("go on")
        await person.sees("Looking at the")
        await person.drawn()
        status = person.ui.query_one(StatusLine)

        def begun() -> bool:
            status._since = time.monotonic()  # this moment, however slow the machine is
            status.update()
            return "running 0 s" in person.text

        await person.wait(begun, "the first second")
        await person.looks_like("autonomous-80")
        model.go.set()
        await person.rests()

    watch(repo, script, model=model, size=(80, 12), axes=BUILD)


def test_reasoning_and_the_review_are_folded(repo: Path) -> None:
    thought = "<ide_reasoning>\nAnalyze: the file counts words\nAction: answer\n</ide_reasoning>\nIt counts words."

    async def script(person: Person) -> None:
        await person.type("what does it do?")
        await person.sees("It counts words.", "▸ reasoning")
        await person.rests()
        assert "the file counts words" not in person.text
        await person.press("ctrl+o")
        await person.sees("▾ reasoning", "Analyze: the file counts words")
        await person.drawn()
        await person.looks_like("reasoning-80")

    axes = AxesChange(model_mode=ModelMode.DEEP)
    watch(repo, script, thought, size=(80, 16), axes=axes)


@pytest.mark.parametrize("theme", ["dark", "light", "high-contrast", "16", "plain"])
def test_every_theme_shows_the_same_words(repo: Path, theme: str) -> None:
    async def script(person: Person) -> None:
        person.ui.use_theme(theme)
        await person.type("what does it do?")
        await person.sees("Found")
        await person.rests()
        await person.looks_like("themes-80")
        styles = {
            segment.style.color.name if segment.style and segment.style.color else ""
            for strip in person.ui.screen._compositor.render_strips()
            for segment in strip.apply_filter(person.ui._filters[-1], person.ui.screen.background_colors[1])
        }
        assert (styles <= {"", "default"}) == (theme == "plain")

    watch(repo, script, PAGE, size=(80, 24), settings=A_MODEL)


def test_the_theme_command_changes_the_colours_of_this_screen(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("/theme light")
        await person.sees("theme light, this session")
        assert person.ui.theme == "light"
        await person.type("/theme lihgt")
        await person.sees("Did you mean light?")

    watch(repo, script)


def test_the_status_line_counts_the_tasks_that_are_left(repo: Path) -> None:
    stored = [UnderWay(tasks=(Task(TaskText("task-001", "docs")), Task(TaskText("task-002", "tests"))))]

    async def script(person: Person) -> None:
        await person.sees("2 tasks left")
        stored[0] = UnderWay(tasks=(Task(TaskText("task-002", "tests")),))
        await person.type("hello")
        await person.sees("1 task left")

    watch(repo, script, "Good morning", under_way=lambda: stored[0])


def contrast(words: str) -> float:
    """Of a text with its background, as WCAG counts it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    darker, lighter = sorted(map(luminance, re.findall(r"#[0-9a-f]{6}", words)[:2]))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", ["dark", "light", "high-contrast"])
def test_a_placeholder_can_be_read(repo: Path, theme: str) -> None:
    async def script(person: Person) -> None:
        await person.press("f2")
        await person.sees("type to filter")
        await person.settles()
        assert contrast(worn(person, "ype to filter")) >= 4.5

    watch(repo, script, theme=theme)


def test_sixteen_colours_have_no_dark_blue() -> None:
    assert {str(style("16", role).color and style("16", role).color.name) for role in ("info", "heading")} == {  # type: ignore[union-attr]
        "bright_blue"
    }
