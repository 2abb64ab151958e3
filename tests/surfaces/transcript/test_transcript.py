"""The transcript: what is shown of events and signals, in which order, and once. Read as the screen draws it."""

from msgspec import structs

from quintet.domain.agents.run import RunMetadata, RunPhase
from quintet.domain.dials.axes import INTERACTIVE, AxesChange
from quintet.domain.dials.transitions import Actor, Scope
from quintet.domain.journal import protocol as p
from quintet.domain.tasks.cycle_phases import CyclePhase
from quintet.domain.turn.reports import Order
from quintet.domain.turn.tool_spec import CallStatus, ShellSeen
from quintet.surfaces.tui.transcript.blocks import CallRows, FoldedRows, JoinedCallRows, ScreenTranscript
from quintet.surfaces.tui.transcript.rows import plain

LINE = ShellSeen("", running=False, exit_code=0)  # of a shell line that ended well


def told(*items: p.Event | p.Signal, width: int = 80) -> list[str]:
    """The rows a transcript of these makes."""
    transcript = ScreenTranscript()
    for number, item in enumerate(items):
        transcript.apply(p.Recorded(number + 1, "", item) if not isinstance(item, p.Signal) else item)  # type: ignore[arg-type]
    return [plain(row) for block in transcript.blocks for row in block.rows(width)]


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


def asked_of(model: str) -> p.ModelRequested:
    return p.ModelRequested(
        step="s",
        turn="t",
        run="r",
        conversation="c",
        user_mode="Chat",
        stage="act",
        model=model,
        tool_count=0,
        reasoning=False,
        axes=INTERACTIVE,
    )


def test_what_the_offline_rules_say_is_shown_as_it_is_and_a_models_words_as_markdown() -> None:
    text = "## main\n  pkg/__init__.py  7\n  pkg/other.py     12\n\n* [not a link](x)"
    lines = [f"  {line}".rstrip() for line in text.split("\n")]
    pieces = [p.TextDelta(step="s", text=text[at : at + 7]) for at in range(0, len(text), 7)]
    reply = p.ModelReplied(step="s", text=text)
    assert told(asked_of("builtin"), reply) == lines
    assert told(asked_of("builtin"), *pieces, reply) == lines
    assert told(asked_of("gpt"), reply)[0] == "  main"
    long = told(asked_of("builtin"), p.ModelReplied(step="s", text="    " + "word " * 20), width=40)
    assert [row[:8].strip() for row in long[1:]] == [""] * (len(long) - 1), "a long line goes on below itself"


def test_a_call_is_one_row_until_it_is_opened_and_an_error_shows_its_end() -> None:
    block = CallRows("bash", "x" * 300)
    assert len(block.rows(80)) == 1
    block.finish(CallStatus.ERROR, "\n".join(f"e{n}" for n in range(20)), "exit 1", 1.25, diff=False)
    rows = [plain(row).strip() for row in block.rows(80)]
    assert rows[0].endswith("exit 1, 1.2 s")
    assert rows[1] == "… 14 more lines above · click, or Tab and Enter"
    assert rows[2:] == [f"e{n}" for n in range(14, 20)]
    block.toggle()
    assert [plain(row).strip() for row in block.rows(80)][-20:] == [f"e{n}" for n in range(20)]


def test_both_ends_of_what_a_command_printed_are_shown_with_how_many_more_there_are() -> None:
    started = p.ToolStarted(call="c", turn="t", tool="bash", arguments='{"command": "make"}')

    def printed(lines: int, tool: str = "bash") -> list[str]:
        content = "".join(f"o{n}\n" for n in range(lines)) + "exit 0"
        ended = p.ToolFinished(call="c", tool=tool, status=CallStatus.OK, content=content, summary="exit 0", shell=LINE)
        return [row.strip() for row in told(structs.replace(started, tool=tool), ended)]

    head = "▸ bash make  exit 0"
    assert printed(0) == [head]
    assert printed(6) == [head, *(f"o{n}" for n in range(6))]
    assert printed(20) == [head, "o0", "o1", "… 15 more lines · click, or Tab and Enter", "o17", "o18", "o19"]
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
    assert heading == "  task 1/2 docs"
    assert rows == ["  ▸ Read a.py  1 line", "  Now the tests.", "  ▸ bash pytest -q  12 passed, 1.4 s", "    ok"]
    assert told(*UNIT, VERIFIED) == [
        heading,
        "  ▸ Read a.py (1 line) · bash pytest -q (12 passed, 1.4 s)",
        "  Now the tests.",
        "  verified docs",
    ]
    assert told(*UNIT, VERIFIED, width=30)[1:3] == ["  ▸ Read a.py (1 line)", "    bash pytest -q (12 passed,"]
    transcript = ScreenTranscript()
    for event in (*UNIT, VERIFIED):
        transcript.apply(p.Recorded(1, "", event))
    joined = next(block for block in transcript.blocks if isinstance(block, JoinedCallRows))
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
        p.ToolFinished(call="c", tool="bash", status=CallStatus.OK, content=printed, summary="exit 0", shell=LINE),
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


def test_folded_text_is_not_laid_out_until_it_is_opened() -> None:
    block = FoldedRows("reasoning", "x\n" * 100_000)
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


def test_what_a_planner_says_is_read_as_markdown() -> None:
    rows = told(p.ExecutorSaid(call="c", text="## The plan\n\n1. **First** do `this`"))
    assert [row.strip() for row in rows if row.strip()] == ["The plan", "1. First do this"]
