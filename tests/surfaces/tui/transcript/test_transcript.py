"""The transcript: what is shown of events and signals, folding, scrolling, finding, copying, and its bounds."""

import asyncio
import math
from pathlib import Path

from msgspec import structs
from textual.events import MouseScrollDown, MouseScrollUp

from quintet.domain.agents.run import RunMetadata, RunPhase
from quintet.domain.dials.axes import INTERACTIVE, AxesChange
from quintet.domain.dials.transitions import Actor, Scope
from quintet.domain.journal import protocol as p
from quintet.domain.tasks.cycle_phases import CyclePhase
from quintet.domain.turn.messages import EndPart, Finish, TextPart, Usage
from quintet.domain.turn.reports import Order
from quintet.domain.turn.tool_spec import CallStatus
from quintet.surfaces.tui.transcript.blocks import CallBlock, FoldedBlock, JoinedCallsBlock
from quintet.surfaces.tui.transcript.rows import plain
from quintet.surfaces.tui.transcript.scrollback import MOST_ROWS, SLACK
from quintet.surfaces.tui.transcript.transcript import Transcript
from quintet.testing import ScriptedModel, call
from tests.engine.turn.test_turn_runner import Waiting
from tests.surfaces.tui.watching import Person, watch

LONG = "\n".join(f"line {number}" for number in range(200))


def told(*items: p.Event | p.Signal, width: int = 80) -> list[str]:
    """The rows a transcript of these makes."""
    transcript = Transcript()
    for number, item in enumerate(items):
        transcript.apply(p.Recorded(number + 1, "", item) if not isinstance(item, p.Signal) else item)  # type: ignore[arg-type]
    return [plain(row) for block in transcript.blocks for row in block.rows(width)]


# ── what is told


def test_reasoning_that_streams_is_folded_wherever_its_tags_are_cut() -> None:
    text = "<ide_reasoning>\nAnalyze: a secret plan\n</ide_reasoning>\nThe answer."
    for size in range(1, 20):
        pieces = [p.TextDelta(step="s", text=text[at : at + size]) for at in range(0, len(text), size)]
        rows = told(*pieces, p.ModelReplied(step="s", text=text))
        assert rows == ["  ▸ reasoning  1 line", "  The answer."], size


def test_an_answer_is_told_once_streamed_or_not() -> None:
    streamed = [p.TextDelta(step="s", text="Good "), p.TextDelta(step="s", text="day.")]
    end = p.TurnFinished(turn="t", status="done", answer="Good day.")
    assert told(*streamed, p.ModelReplied(step="s", text="Good day."), end) == ["  Good day."]
    assert told(p.ModelReplied(step="s", text="Good day.\n"), end) == ["  Good day."]
    assert told(end) == ["  Good day."]


def test_a_call_is_one_row_until_it_is_opened_and_an_error_shows_its_end() -> None:
    block = CallBlock("bash", "x" * 300)
    assert len(block.rows(80)) == 1
    block.finish(CallStatus.ERROR, "\n".join(f"e{n}" for n in range(20)), "exit 1", 1.25, diff=False)
    rows = [plain(row).strip() for row in block.rows(80)]
    assert rows[0].endswith("exit 1, 1.2 s")
    assert rows[1] == "… 14 more lines above · click, or Tab and Enter"
    assert rows[2:] == [f"e{n}" for n in range(14, 20)]
    block.toggle()
    assert [plain(row).strip() for row in block.rows(80)][-20:] == [f"e{n}" for n in range(20)]


def test_the_first_lines_that_a_command_printed_are_shown_with_how_many_more_there_are() -> None:
    started = p.ToolStarted(call="c", turn="t", tool="bash", arguments='{"command": "make"}')

    def printed(lines: int, tool: str = "bash") -> list[str]:
        content = "".join(f"o{n}\n" for n in range(lines)) + "exit 0"
        ended = p.ToolFinished(call="c", tool=tool, status=CallStatus.OK, content=content, summary="exit 0")
        return [row.strip() for row in told(structs.replace(started, tool=tool), ended)]

    head = "▸ bash make  exit 0"
    assert printed(0) == [head]
    assert printed(6) == [head, *(f"o{n}" for n in range(6))]
    assert printed(20) == [head, *(f"o{n}" for n in range(5)), "… 15 more lines · click, or Tab and Enter"]
    assert len(printed(20, "Read")) == 1


def test_output_of_a_call_that_runs_is_shown_at_its_end() -> None:
    started = p.ToolStarted(call="c", turn="t", tool="bash", arguments='{"command": "make"}')
    rows = told(started, *(p.Progress(call="c", text=f"step {n}\n") for n in range(9)))
    assert rows == ["  ▸ bash make  running", *(f"    step {n}" for n in range(4, 9))]


UNIT = (
    p.CycleMoved(run="r", phase=CyclePhase.EXECUTING, iteration=1, task="t-1", title="docs", current=1, total=2),
    p.TurnStarted(turn="t", run="r", submission="", text="docs", axes=INTERACTIVE),
    p.ToolStarted(call="c", turn="t", tool="Read", arguments='{"file_path": "a.py"}'),
    p.ToolFinished(call="c", tool="Read", status=CallStatus.OK, content="x", summary="1 line"),
    p.ModelReplied(step="s", text="Now the tests."),
    p.ToolStarted(call="d", turn="t", tool="bash", arguments='{"command": "pytest -q"}'),
    p.ToolFinished(call="d", tool="bash", status=CallStatus.OK, content="ok", summary="12 passed", seconds=1.4),
)
VERIFIED = p.TaskVerified(run="r", task="t-1", title="docs", passed=True, by="native")


def test_the_calls_of_a_unit_are_one_row_when_it_is_verified_and_open_again() -> None:
    heading, *rows = told(*UNIT)
    assert heading == "  unit 1/2 docs"
    assert rows == ["  ▸ Read a.py  1 line", "  Now the tests.", "  ▸ bash pytest -q  12 passed, 1.4 s", "    ok"]
    assert told(*UNIT, VERIFIED) == [
        heading,
        "  ▸ Read a.py (1 line) · bash pytest -q (12 passed, 1.4 s)",
        "  Now the tests.",
        "  verified docs",
    ]
    assert told(*UNIT, VERIFIED, width=30)[1:3] == ["  ▸ Read a.py (1 line)", "    bash pytest -q (12 passed,"]
    transcript = Transcript()
    for event in (*UNIT, VERIFIED):
        transcript.apply(p.Recorded(1, "", event))
    joined = next(block for block in transcript.blocks if isinstance(block, JoinedCallsBlock))
    joined.toggle()
    shown = [plain(row) for block in transcript.blocks for row in block.rows(80)]
    assert shown == [heading, "  ▾ 2 calls", *rows, "  verified docs"]


def test_what_a_person_asked_of_a_cycle_is_said_once() -> None:
    turned = p.DialsTurned(
        transition="x",
        before=INTERACTIVE,
        after=INTERACTIVE,
        actor=Actor.USER,
        reason="/plan",
        scope=Scope.NOW,
        change=AxesChange(),
    )
    ran = p.CommandRan(submission="s", line="/plan do it", text="planning begins")
    hands = {"planner": "native", "executor": "native", "verifier": "native"}
    began = p.CycleBegan(run="r", submission="s", text="do it", **hands)  # type: ignore[arg-type]
    step = p.TurnStarted(turn="t", run="r", submission="", text="do it", axes=INTERACTIVE, order=Order("plan", "r"))
    ended = p.TurnFinished(turn="t", status="blocked", answer="cannot", reason="the answer says why")
    rows = told(turned, ran, began, step, ended)
    assert [row.strip()[:12] for row in rows] == ["› /plan do it"[:12], "chat │ assis", "planning beg"]
    assert told(began, step) == ["› do it"]


def test_a_shell_line_shows_what_was_printed_as_it_was_and_once() -> None:
    printed = "# not a heading\n* | a | __init__\nexit 0"
    rows = told(
        p.TurnStarted(turn="t", run="", submission="s", text="! ls", axes=INTERACTIVE),
        p.ToolStarted(call="c", turn="t", tool="bash", arguments='{"command": "ls"}'),
        p.ToolFinished(call="c", tool="bash", status=CallStatus.OK, content=printed, summary="exit 0"),
        p.TurnFinished(turn="t", status="done", answer=printed),
    )
    assert rows == ["› ! ls", "  ▾ bash ls  exit 0", "    # not a heading", "    * | a | __init__"]


def test_an_interrupted_turn_says_so_once() -> None:
    ended = p.TurnFinished(turn="t", status="interrupted", reason="interrupted")
    assert told(ended) == ["  interrupted"]
    started = p.ToolStarted(call="c", turn="t", tool="bash", arguments='{"command": "make"}')
    cut = p.ToolFinished(call="c", tool="bash", status=CallStatus.INTERRUPTED, content="interrupted, who knows")
    assert told(started, cut, ended) == ["  ▸ bash make  stopped", "  interrupted"]


def test_a_countdown_is_one_line_and_gone_with_the_next_word() -> None:
    counts = [p.Countdown(why="LLM_RATE_LIMITED", seconds=float(n)) for n in (3, 2, 1)]
    assert told(*counts) == ["  LLM_RATE_LIMITED: retrying in 1 s · Esc stops"]
    assert told(*counts, p.TextDelta(step="s", text="back")) == ["  back"]


def test_long_work_is_one_line_and_gone_when_it_is_over() -> None:
    work = [p.Working(what="keeping files", done=done, total=total) for done, total in ((0, 0), (10_000, 30_000))]
    assert told(work[0]) == ["  keeping files … · Esc stops"]
    assert told(*work) == ["  keeping files: 10,000 of 30,000 · Esc stops"]
    assert told(*work, p.TextDelta(step="s", text="back")) == ["  back"]


def test_nothing_a_tool_prints_can_do_anything_to_the_terminal() -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x9b?1049l\u202e\u2028\r\nok"
    started = p.ToolStarted(call="c", turn="t", tool="bash", arguments='{"command": "\\u001b[31mx"}')
    finished = p.ToolFinished(call="c", tool="bash", status=CallStatus.ERROR, content=evil, summary="\x1b[0m")
    for row in told(
        started, finished, p.Noticed(level="info", code="X", text=evil), p.UserMessaged(call="c", text=evil)
    ):
        assert row.isprintable(), row


# ── on the screen


def test_it_follows_the_end_and_stays_where_you_scroll(repo: Path) -> None:
    model = Waiting(LONG + "\n", "the end")

    async def script(person: Person) -> None:
        view = person.scrollback
        await person.type("count")
        await person.sees("line 199")
        await person.press("pageup")
        top = view.scroll_offset.y
        await person.sees("↓")
        assert top == view.max_scroll_y - (view.size.height - 1)
        await person.press("ctrl+up")
        assert view.scroll_offset.y == top - 1
        await person.press("ctrl+down")
        model.go.set()
        await person.wait(lambda: "the end" in "".join(person.transcript), "the end")
        await person.settles()
        assert view.scroll_offset.y == top
        await person.press("pagedown", "pagedown")
        await person.sees("the end")
        assert "↓" not in person.status
        await person.press("ctrl+home")
        assert view.scroll_offset.y == 0
        await person.press("ctrl+end")
        assert view.following

    watch(repo, script, model=model)


async def at_end(person: Person, *, ends: bool) -> None:
    """Until the status line says whether the view is at its end."""
    await person.wait(lambda: ("↓" not in person.status) is ends, f"at the end: {ends}")
    assert (person.scrollback.scroll_offset.y >= person.scrollback.max_scroll_y) is ends
    assert person.scrollback.following is ends


def test_the_mark_of_a_view_that_is_scrolled_up_is_true_however_it_was_moved(repo: Path) -> None:
    async def script(person: Person) -> None:
        view = person.scrollback
        await person.type("count")
        await person.sees("line 199")
        await person.rests()
        await person.press("ctrl+home")
        await at_end(person, ends=False)
        await person.press("ctrl+end")
        await at_end(person, ends=True)
        await person.pilot._post_mouse_events([MouseScrollUp], "#scrollback")
        await at_end(person, ends=False)
        for _ in range(3):
            await person.pilot._post_mouse_events([MouseScrollDown], "#scrollback")
        await at_end(person, ends=True)
        await person.press("pageup")
        await at_end(person, ends=False)
        await person.press("pagedown")
        await at_end(person, ends=True)
        view.focus()
        await person.press("home")
        await at_end(person, ends=False)
        await person.press("end")
        await at_end(person, ends=True)
        await person.press("ctrl+up")
        await at_end(person, ends=False)
        await person.pilot.resize_terminal(100, 260)  # all of it is in view
        await at_end(person, ends=True)

    watch(repo, script, LONG)


def test_resizing_while_it_streams_wraps_anew_and_loses_nothing(repo: Path) -> None:
    words = " ".join(f"word{number}" for number in range(120))
    model = Waiting(words, " last")

    async def script(person: Person) -> None:
        await person.type("go")
        await person.sees("word119")
        for width in (60, 140, 45):
            await person.pilot.resize_terminal(width, 30)
            await person.wait(lambda width=width: person.scrollback.widest <= width, "the new width")
            await person.sees("word119")
            joined = " ".join(" ".join(person.transcript).split())
            assert words in joined
        model.go.set()
        await person.rests()
        await person.sees("last")

    watch(repo, script, model=model)


def test_a_view_that_is_scrolled_up_stays_while_rows_above_it_come_and_go(repo: Path) -> None:
    async def script(person: Person) -> None:
        view = person.scrollback
        for event in UNIT:
            person.ui.receive(p.Recorded(9_000, "2026-01-01T00:00:00.000Z", event))
        person.ui.note(LONG)
        await person.wait(lambda: any("line 199" in row for row in person.transcript), "the end")
        view.move_to(view.max_scroll_y - 30)
        at_top = view.shown[view.scroll_offset.y]
        person.ui.receive(p.Recorded(9_001, "2026-01-01T00:00:00.000Z", VERIFIED))
        await person.wait(lambda: any("Read a.py (1 line) · bash" in row for row in person.transcript), "one row")
        assert view.shown[view.scroll_offset.y] == at_top
        await person.pilot.resize_terminal(60, 30)
        await person.settles()
        assert view.shown[view.scroll_offset.y] == at_top

    watch(repo, script)


def test_words_are_found_and_the_bar_closes(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("count")
        await person.sees("line 199")
        await person.rests()
        await person.press("ctrl+f")
        await person.press(*"line 15", "enter")
        await person.sees("of 11")
        await person.sees("line 158")
        assert person.scrollback.found == "line 15"
        await person.press("escape")
        assert person.scrollback.found == ""
        await person.press("x")
        assert person.ui.typed == "x"

    watch(repo, script, LONG)


def test_folds_open_by_key_and_by_mouse(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("look")
        await person.sees("▸ Read", "Three lines.")
        await person.rests()
        await person.press("tab")
        assert person.ui.focused is person.scrollback
        await person.press("enter")
        await person.sees("▾ Read", "How many words")
        await person.press("space")
        await person.wait(lambda: "How many words" not in person.text, "the fold to close")
        row = person.text.split("\n").index(next(line for line in person.text.split("\n") if "▸ Read" in line))
        await person.pilot.click("#scrollback", offset=(5, row - 2))
        await person.sees("▾ Read")
        await person.press("ctrl+o")
        await person.wait(lambda: "▾" not in person.text, "all folds to close")
        await person.press("escape")
        await person.press("x")
        assert person.ui.typed == "x"

    watch(repo, script, [call("Read", file_path="tally/count.py")], "Three lines.")


def test_the_last_answer_and_what_is_selected_are_copied(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("hello")
        await person.sees("Good **day**".replace("*", ""))
        await person.rests()
        await person.press("f9")
        assert person.ui.clipboard == "Good **day**"
        await person.sees("copied 12 characters")
        row = next(n for n, line in enumerate(person.text.split("\n")) if "Good day" in line) - 2
        await person.pilot.mouse_down("#scrollback", offset=(3, row))
        await person.pilot.hover("#scrollback", offset=(7, row))
        await person.pilot.mouse_up("#scrollback", offset=(7, row))
        await person.settles()
        await person.press("f9")
        assert person.ui.clipboard.strip() == "Good"

    watch(repo, script, "Good **day**")


def test_the_buffer_is_bounded_and_keeps_the_newest(repo: Path) -> None:
    pages = ["\n".join(f"page {page} row {row}" for row in range(1500)) for page in range(5)]

    async def script(person: Person) -> None:
        for page in range(5):
            await person.type("next")
            await person.sees(f"page {page} row 1499")
            await person.rests()
        rows = person.transcript
        assert len(rows) <= MOST_ROWS + SLACK
        assert "page 0 row 0" not in "\n".join(rows)
        assert rows[0] == "… earlier rows are in the journal: scroll up to load them"
        await person.pilot.resize_terminal(90, 30)
        await person.settles()
        assert person.transcript[0] == rows[0]
        rows = person.transcript
        assert rows[-1].strip() == "page 4 row 1499"
        await person.press("pageup")
        await person.sees("page 4 row 1470")

    watch(repo, script, *pages)


def test_ctrl_c_interrupts_what_streams_and_what_came_stays(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("go")
        await person.sees("thinking about")
        await person.press("ctrl+c")
        await person.rests()
        assert person.ui.state.turns.interrupted
        await person.sees("thinking about", "interrupted")

    watch(repo, script, model=Waiting())


def test_esc_interrupts_and_twice_on_an_empty_prompt_rewinds(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("go")
        await person.sees("thinking about")
        await person.press("escape")
        await person.rests()
        assert person.ui.state.turns.interrupted
        person.ui._pressed.clear()
        await person.press("escape")
        person.ui._pressed["escape"] = math.inf  # this moment, however slow the machine is
        await person.press("escape")
        await person.sees("rewind to before a turn")

    watch(repo, script, model=Waiting())


def test_a_resumed_session_shows_what_was_said_and_goes_on(repo: Path) -> None:
    async def first(person: Person) -> None:
        await person.type("remember the word heron")
        await person.sees("I will.")
        await person.rests()

    async def second(person: Person) -> None:
        await person.sees("remember the word heron", "I will.")
        assert "No model" not in person.text
        await person.type("which word?")
        await person.sees("Heron.")

    watch(repo, first, "I will.")
    watch(repo, second, "Heron.", resume="latest")


def test_a_broken_stream_leaves_the_screen_whole(repo: Path) -> None:
    class Hasty(ScriptedModel):
        async def stream(self, request):  # type: ignore[no-untyped-def]
            for number in range(400):
                yield TextPart(f"{number} ```\n| a |\n**")
                if number % 50 == 0:
                    await asyncio.sleep(0)
            yield EndPart(Finish.STOP, Usage(1, 1))

    async def script(person: Person) -> None:
        await person.type("go")
        await person.wait(lambda: "399" in "".join(person.transcript), "the end")
        await person.rests()
        assert person.scrollback.widest <= 100

    watch(repo, script, model=Hasty([]))


def test_folded_text_is_not_laid_out_until_it_is_opened() -> None:
    block = FoldedBlock("reasoning", "x\n" * 100_000)
    assert len(block.rows(80)) == 1


def test_a_transition_stands_under_its_command_also_one_that_waits_or_is_dropped() -> None:
    ids = {"transition": "x", "actor": Actor.USER, "scope": Scope.AFTER_CURRENT_UNIT}
    waits = p.TransitionPending(change=AxesChange(), reason="/mode", axes=INTERACTIVE, **ids)  # type: ignore[arg-type]
    said = p.CommandRan(submission="s", line="/mode build after-current-unit", text="\nlater", data={"pending": "x"})
    rows = [row.strip()[:10] for row in told(waits, said)]
    assert rows == ["› /mode bu", "pending  c", "later"]
    dropped = p.TransitionDropped(transition="x", reason="/stop")
    held = p.InputsHeld(submissions=("s",), reason="/stop")
    ran = p.CommandRan(submission="t", line="/stop", text="stopped")
    assert [row.strip()[:7] for row in told(dropped, held, ran)] == ["› /stop", "removed", "held   ", "stopped"]


def test_a_run_stands_under_what_began_it() -> None:
    run = RunMetadata("run-1", "", "", "cycle", "", RunPhase.RUNNING, "", "")
    hands = {"planner": "native", "executor": "native", "verifier": "native"}
    began = p.CycleBegan(run="run-1", submission="s", text="do it", **hands)  # type: ignore[arg-type]
    assert told(p.RunStarted(run=run), began) == ["› do it", "  run      run-1 started: cycle"]


def test_a_call_that_is_being_written_shows_its_tool_and_what_it_is_about() -> None:
    begun = p.CallStreams(step="s", place=0, tool="Write", about="")
    known = p.CallStreams(step="s", place=0, tool="Write", about="docs/a.md")
    assert told(begun) == ["  ▸ Write  being written"]
    assert told(begun, known) == ["  ▸ Write docs/a.md  being written"]
    whole = p.ModelReplied(step="s", text="")
    started = p.ToolStarted(call="c", turn="t", tool="Write", arguments='{"file_path": "docs/a.md"}')
    assert told(begun, known, whole, started) == ["  ▸ Write docs/a.md  running"]
    assert told(begun, p.TurnFinished(turn="t", status="interrupted")) == ["  interrupted"]
    assert told(p.CallStreams(step="s", place=0, tool="menu_enter", about="")) == []


def test_a_typed_dial_stands_above_its_transition_and_a_pressed_one_is_the_transition_alone(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("/mode build")
        await person.rests()
        lines = [line.strip() for line in person.transcript if line.strip()]
        at = lines.index("› /mode build")
        assert "chat → build" in lines[at + 1]
        await person.press("f6")
        await person.sees("smart → deep")
        await person.rests()
        assert not any("› /model-mode" in line for line in person.transcript)

    watch(repo, script)


def test_what_a_planner_says_is_read_as_markdown() -> None:
    rows = told(p.ExecutorSaid(call="c", text="## The plan\n\n1. **First** do `this`"))
    assert [row.strip() for row in rows if row.strip()] == ["The plan", "1. First do this"]
