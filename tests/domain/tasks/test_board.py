"""The board: one list of all that is under way, whoever looks."""

from quintet.domain.dials.axes import Axes
from quintet.domain.journal.cycle_state import CycleSpending, CycleState
from quintet.domain.journal.protocol import QuestionAsked
from quintet.domain.journal.session_summary import SessionSummary, brief
from quintet.domain.permission.effects import Grant
from quintet.domain.ports.ports import ShellState
from quintet.domain.settings.settings import CycleSettings, LimitSettings, Settings
from quintet.domain.tasks.board import (
    BackgroundShell,
    BoardKind,
    CostLine,
    OpenQuestion,
    OtherSession,
    UnderWay,
    board,
    board_lines,
    last_lines,
    seen_here,
)
from quintet.domain.tasks.limits import costs_of, limit_uses, limit_words
from quintet.domain.tasks.task import Task, TaskStatus, TaskText
from quintet.domain.turn.messages import ToolCall, Usage

UNDER_WAY = UnderWay(
    tasks=(
        Task(TaskText("task-001", "parse it", cost_budget=1.0), TaskStatus.RUNNING, created="1", cost_spent=0.25),
        Task(TaskText("task-002", "test it", depends_on=("task-001",)), created="2"),
        Task(TaskText("task-003", "ship it"), TaskStatus.BLOCKED, created="3", retries=1),
    ),
    claims={"task-001": 4711},
    reasons={"task-003": "which version?"},
    sessions=(
        OtherSession("q5-here", "this one", "running", "2026-01-01T10:00:00Z", live=True),
        OtherSession("q5-old", "rename it", "interrupted", "2026-01-01T09:00:00Z", live=False),
    ),
    questions=(OpenQuestion("q-1", "Run: git push?\nmore", "q5-there"),),
    shells=(BackgroundShell("1", "npm run dev", "q5-here"), BackgroundShell("api", "make serve", "q5-there")),
    cost=2.5,
)


def test_s3_9_1_the_board_has_every_kind_of_background_work() -> None:
    view = board(UNDER_WAY, "q5-here", costs=(CostLine("session", 0.42, 5.0),), checkpoint="14:03")
    assert board_lines(view) == [
        "?  Run: git push?     session q5-there needs an answer",
        "▶  task-001 parse it  running · process 4711 · $0.25 of $1.00",
        "✗  task-003 ship it   blocked: which version? · retry 1 of 3",
        "   task-002 test it   after task-001",
        "$  shell 1            npm run dev",
        "$  shell api          make serve · session q5-there",
        "○  rename it          interrupted, can be resumed · 2026-01-01 09:00 · q5-old",
        "",
        "tasks       1 running · 1 blocked · 1 todo",
        "cost        session $0.42 of $5.00 · project $2.50",
        "checkpoint  14:03",
        "next        verification of task-001",
    ]
    assert board_lines(board(UnderWay())) == []


def test_what_another_session_waits_for_leads_to_that_session() -> None:
    kinds = {entry.text: (entry.kind, entry.id) for entry in board(UNDER_WAY, "q5-here").entries}
    assert kinds["Run: git push?"] == (BoardKind.SESSION, "q5-there")
    assert kinds["shell api"] == (BoardKind.SESSION, "q5-there")
    assert kinds["shell 1"] == (BoardKind.SHELL, "1")


def test_its_own_process_knows_its_questions_and_shells_better_than_the_store() -> None:
    asked = QuestionAsked(question="q-2", kind="approve", text="Edit?", choices=())
    shell = ShellState("2", ToolCall("c", "bash", '{"command": "tail -f log"}'), Grant())
    here = seen_here(UNDER_WAY, "q5-here", [asked], [shell])
    assert here.questions == (OpenQuestion("q-2", "Edit?", "q5-here"), *UNDER_WAY.questions)
    assert here.shells == (BackgroundShell("2", "tail -f log", "q5-here"), UNDER_WAY.shells[1])
    assert board(here, "q5-here").next_action == "your answer"


def test_the_end_of_what_a_terminal_was_shown_steers_nothing() -> None:
    printed = "\x1b[2J\x1b[31mred\x1b[0m\r\n\x1b]0;title\x0710 %\r20 %\r\nlast\x07\r\n"
    assert last_lines(printed, 10) == ["red", "20 %", "last"]
    assert last_lines(printed, 1) == ["last"]
    assert last_lines("", 10) == last_lines("\r\n", 10) == []


def test_s3_13_3_every_limit_is_shown_with_what_is_used_of_it() -> None:
    spent = CycleSpending(units=3, usage=Usage(700, 300), cost=0.5, seconds=61.0)
    cycle = CycleState("run-1", iteration=2, spent=spent)
    summary = SessionSummary(axes=Axes(), steps=4, calls=9, cost=1.25, cycle=brief(cycle))
    settings = Settings(
        limits=LimitSettings(max_cost=5.0), cycle=CycleSettings(max_cost=2.0, max_units=8, max_tokens=4000)
    )
    uses = limit_uses(summary, settings)
    assert {use.name: (use.used, use.most) for use in uses if use.most} == {
        "limits.max_turns": (4, 50),
        "limits.max_calls": (9, 200),
        "limits.max_cost": (1.25, 5.0),
        "cycle.max_iterations": (2, 20),
        "cycle.max_units": (3, 8),
        "cycle.max_tokens": (1000, 4000),
        "cycle.max_cost": (0.5, 2.0),
        "cycle.max_retries": (None, 3),
    }
    named = {use.name for use in uses}
    of_cycle = {name for name in CycleSettings.__struct_fields__ if name.startswith("max_")}
    assert {name.partition(".")[2] for name in named if name.startswith("cycle.")} == of_cycle
    assert limit_words(uses) == (
        "turn 4 of 50 requests · turn 9 of 200 calls · session 1.25 of 5 cost · cycle 2 of 20 plans · "
        "cycle 3 of 8 attempts · cycle 1000 of 4000 tokens · cycle 0.50 of 2 cost · task 3 retries"
    )
    assert costs_of(summary, settings) == (CostLine("session", 1.25, 5.0), CostLine("cycle", 0.5, 2.0))
    assert costs_of(SessionSummary(), Settings()) == ()
