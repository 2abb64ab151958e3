"""`quintet tasks`, `/tasks` and `/queue`: one list on every surface, legal moves only, all or nothing."""

import json
from pathlib import Path

import pytest

from quintet.domain.journal import protocol as p
from quintet.domain.tasks.task import TaskStatus
from tests.engine.driving import Driver, drive
from tests.engine.task_places import added, page, todo, untimed
from tests.surfaces.program import Program

TABLE = """\
   STATUS  ID        TITLE        DEPENDS ON  RETRIES    COST
▸  todo    task-001  Do task-001  -               0/3  0.0000
   todo    task-002  Do task-002  task-001        0/3  0.0000
"""
BOARD = """\
   task-001 Do task-001  todo
   task-002 Do task-002  after task-001

tasks  2 todo
next   task-001 Do task-001
"""


@pytest.fixture
def pages(repo: Path) -> list[str]:
    names = []
    for name, text in (page("task-001"), page("task-002", "task-001", body="Then this.\n")):
        (repo / name).write_text(text)
        names.append(name)
    return names


def test_tasks_are_added_listed_shown_and_moved(quintet: Program, pages: list[str]) -> None:
    assert quintet.run("tasks", "list", "--json").clean(0).json() == []
    assert "quintet tasks add FILE" in quintet.run("tasks").clean(0).out
    said = quintet.run("tasks", "add", *pages).clean(0).out
    assert said == "added task-001  Do task-001\nadded task-002  Do task-002\n"
    assert quintet.run("tasks").clean(0).out == BOARD
    assert quintet.run("tasks", "list").clean(0).out == TABLE
    first, second = quintet.run("tasks", "list", "--json").clean(0).json()
    assert (first["id"], first["next"], first["path"]) == ("task-001", True, ".quintet/todo/task-001.md")
    assert (second["depends_on"], second["waits_for"], second["next"]) == (["task-001"], ["task-001"], False)

    moved = quintet.run("tasks", "move", "task-001", "running", "--reason", "by hand", "--json").clean(0).json()
    assert (moved["before"], moved["after"], moved["reason"]) == ("todo", "running", "by hand")
    assert moved["scope"] == "now" and "by hand (now)" in quintet.run("tasks", "show", "task-001").clean(0).out
    said = quintet.run("tasks", "move", "task-001", "verifying").clean(0).out
    assert said == "task task-001  running → verifying  Do task-001\n"
    assert untimed(todo(quintet.root)) == ["done/task-001.md", "task-002.md"]
    listed = quintet.run("tasks", "--status", "todo,running", "--json").clean(0).json()
    assert [task["id"] for task in listed] == ["task-002"]
    assert quintet.run("tasks", "list", "--status", "paused").clean(0).out == "no task is paused\n"

    shown = quintet.run("tasks", "show", "task-002").clean(0).out
    assert "task-002  Do task-002\n" in shown and "waits for     task-001\n" in shown and "Then this.\n" in shown
    moves = quintet.run("tasks", "show", "task-001", "--json").clean(0).json()["moves"]
    assert [move["after"] for move in moves] == ["todo", "running", "verifying"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("move", "task-001", "done"), 2, "task task-001 is todo and cannot become done: it can become"),
        (("move", "task-001", "doen"), 2, 'status "doen": not one of todo, running'),
        (("move", "task-01", "running"), 1, "there is no task task-01. Did you mean task-001?"),
        (("show", "task-01"), 1, "there is no task task-01. Did you mean task-001?"),
        (("list", "--status", "open"), 2, 'status "open": not one of'),
        (("add", "gone.md"), 2, "gone.md: cannot be read"),
        (("add", "task-001.md"), 2, "the id task-001 appears twice"),
        (("add", "good.md", "bad.md"), 2, "bad.md: line 3, risk:"),
        (("remove", "task-001"), 2, 'tasks "remove": not one of list, show, add, move'),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(
    quintet: Program, pages: list[str], words: tuple[str, ...], code: int, said: str
) -> None:
    quintet.run("tasks", "add", *pages).clean(0)
    (quintet.root / "good.md").write_text(page("good")[1])
    (quintet.root / "bad.md").write_text("---\nid: bad\nrisk: huge\ntitle: Bad\n---\n")
    failed = quintet.run("tasks", *words)
    assert failed.code == code
    assert said in failed.err
    assert quintet.run("tasks", "list").clean(0).out == TABLE
    assert todo(quintet.root) == ["task-001.md", "task-002.md"]


def test_a_malformed_file_is_said_beside_the_list_and_left_alone(quintet: Program, pages: list[str]) -> None:
    quintet.run("tasks", "add", *pages).clean(0)
    bad = quintet.root / ".quintet/todo/task-001.md"
    bad.write_text("---\nid: task-001\ntitle: Do task-001\nrisk: huge\n---\n")
    listed, board = quintet.run("tasks", "list"), quintet.run("tasks")
    assert (listed.code, listed.out, board.code, board.out, board.err) == (0, TABLE, 0, BOARD, listed.err)
    assert 'task-001.md: line 4, risk: "huge" is not one of low, medium, high' in listed.err
    assert "risk: huge" in bad.read_text()


def test_the_slash_commands_say_the_same_and_a_move_is_in_the_journal(repo: Path) -> None:
    added(repo, page("task-001"), page("task-002", "task-001"))

    async def script(driver: Driver) -> None:
        assert (await driver.command("/tasks")).text == BOARD.rstrip("\n")
        assert (await driver.command("/tasks todo")).text == TABLE.rstrip("\n")
        assert (await driver.command("/tasks paused")).text == "no task is paused"
        assert (await driver.command("/queue")).text.splitlines() == [
            "no milestone  0 of 2 finished",
            "NEXT  STATUS  ID        TITLE",
            "   1  todo    task-001  Do task-001",
            "      todo    task-002  waits for task-001",
        ]
        assert (await driver.command("/tasks move task-001 paused")).ok
        for wrong, said in (
            ("/tasks move task-001 done", "is paused and cannot become done"),
            ("/tasks move nobody done", "there is no task nobody"),
            ("/tasks move task-001", "/tasks move ID STATUS"),
            ("/tasks later", 'status "later": not one of'),
        ):
            refused = await driver.command(wrong)
            assert not refused.ok and said in refused.text
        for id in ("task-001", "task-002"):
            await driver.command(f"/tasks move {id} cancelled")
        assert (await driver.command("/queue")).text == "no task is open"

    driver = drive(repo, script)
    moves = driver.of(p.TaskMoved)
    assert [(m.task, m.after, m.transition) for m in moves] == [
        ("task-001", TaskStatus.PAUSED, 3),
        ("task-001", TaskStatus.CANCELLED, 4),
        ("task-002", TaskStatus.CANCELLED, 5),
    ]


def test_a_headless_move_answers_and_another_process_sees_it(quintet: Program, pages: list[str]) -> None:
    quintet.run("tasks", "add", *pages).clean(0)
    said = quintet.run("-p", "/tasks move task-001 paused").clean(0).out
    assert said == "task task-001  todo → paused  Do task-001\n"
    assert json.loads(quintet.run("tasks", "list", "--json").clean(0).out)[0]["status"] == "paused"


def test_the_list_says_why_a_task_is_blocked(quintet: Program, pages: list[str]) -> None:
    quintet.run("tasks", "add", *pages).clean(0)
    quintet.run("tasks", "move", "task-001", "running").clean(0)
    quintet.run("tasks", "move", "task-001", "blocked", "--reason", "which\nversion?").clean(0)
    heading, first, second = quintet.run("tasks", "list").clean(0).out.splitlines()
    assert heading.endswith("COST  REASON") and first.endswith("  which version?") and second.endswith("0.0000")
    told = quintet.run("-p", "/tasks blocked").clean(0).out
    assert "which version?" in told
    assert [row["reason"] for row in quintet.run("tasks", "list", "--json").clean(0).json()] == ["which\nversion?", ""]


def test_a_field_that_is_nobodys_here_is_noted_kept_and_no_reason_to_refuse_the_page(quintet: Program) -> None:
    (quintet.root / "t.md").write_text("---\nid: t\ntitle: T\ncost_budget: 0.5\nownr: me\n---\nDo it.\n")
    done = quintet.run("tasks", "add", "t.md").clean(0)
    assert (
        done.out == "added t  T\n"
        and "t: ownr is not a field of a task; it stays in the file and has no effect." in done.err
    )
    shown = quintet.run("tasks", "show", "t").clean(0).out
    assert "of 0.5" in shown and "note          ownr is not a field" in shown
    assert "TASK_FIELD_UNKNOWN" in quintet.run("doctor").out
    quintet.run("tasks", "move", "t", "running").clean(0)
    (row,) = quintet.run("tasks", "list", "--json").clean(0).json()
    assert (row["cost_budget"], row["kept"], row["context_usage_percent"]) == (0.5, ["ownr: me"], None)
    (quintet.root / ".quintet/todo/t.md").unlink()
    quintet.run("doctor", "fix")
    assert "\nownr: me\n" in (quintet.root / ".quintet/todo/t.md").read_text()
