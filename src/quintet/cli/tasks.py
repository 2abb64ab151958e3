"""The commands on durable tasks: those that look need no event loop, those that change something run one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.settings import layers as config
from quintet.adapters.sqlite.database import clear_errors
from quintet.adapters.tasks.drafts import read_input
from quintet.app.lookups import lives, stored
from quintet.app.task_lookups import live_claims, tasks_here, under_way
from quintet.cli.parsing import actions, lookup
from quintet.domain.base.errors import NotFound, UsageError
from quintet.domain.base.wording import did_you_mean
from quintet.domain.dials.axes import INTERACTIVE, Axes, AxesChange
from quintet.domain.dials.transitions import Scope
from quintet.domain.tasks.board import CostLine, board, board_lines, by_status, moment
from quintet.domain.tasks.drift import Scan
from quintet.domain.tasks.limits import costs_of
from quintet.domain.tasks.order import blocked_by
from quintet.domain.tasks.page import notes, read_pages
from quintet.domain.tasks.task import Task
from quintet.engine.cycle import task_tables as shown
from quintet.engine.session import queries
from quintet.package import load
from quintet.surfaces.tables import complain, room, say, say_json

if TYPE_CHECKING:
    from quintet.domain.ports.stores import StoredTasks
    from quintet.engine.cycle.task_keeper import TaskKeeper

T = TypeVar("T")


def _looked(places: Places) -> tuple[Scan, StoredTasks | None]:
    """The tasks; what is wrong with some is said aside."""
    found, rows = tasks_here(places)
    for problem in (*(str(bad) for bad in found.bad_pages), *(drift.problem for drift in found.drifts)):
        complain(f"{problem}; `quintet doctor`")
    return found, rows


def tasks_list(arguments: Namespace) -> int:
    statuses = [shown.parse_status(word) for given in arguments.status for word in given.split(",")]
    found, rows = _looked(locate(arguments.directory))
    tasks = shown.chosen(found.tasks, statuses)
    reasons: dict[str, str] = {}
    if rows:
        with clear_errors(rows.path):
            reasons = shown.reasons_of(tasks, rows.moves)
    if arguments.json:
        rows_shown = shown.as_json(found.tasks, tasks, live_claims(rows))
        say_json([{**row, "reason": reasons.get(row["id"], "")} for row in rows_shown])
    elif not tasks:
        say([shown.nothing_shown(found.tasks, statuses)])
    else:
        say(shown.list_lines(found.tasks, tasks, reasons))
    return 0


def tasks_board(arguments: Namespace) -> int:
    """Everything that is under way in the project, as its foremost session sees it."""
    places = locate(arguments.directory)
    settings = config.load(places).settings
    found, task_rows = _looked(places)
    rows, stored_work = stored(places), under_way(places)
    with clear_errors(places.database):
        session = queries.foremost(rows.sessions(), lives) if rows else None
        taken = rows.moment_of_last(session.id, "checkpoint_taken") if rows and session else ""
    costs = costs_of(queries.summary_of(session), settings) if session else ()
    if arguments.json:
        tasks = shown.as_json(found.tasks, found.tasks, live_claims(task_rows))
        for task in tasks:
            task["reason"] = stored_work.reasons.get(task["id"], "")
        say_json(
            shown.TasksAnswer(
                session=session.id if session else None,
                tasks=tasks,
                counts=by_status(stored_work.tasks),
                questions=stored_work.questions,
                shells=stored_work.shells,
                sessions=stored_work.sessions,
                costs=(*costs, CostLine("project", stored_work.cost)),
                checkpoint=taken or None,
                next_action=board(stored_work).next_action or None,
            )
        )
        return 0
    view = board(stored_work, costs=costs, checkpoint=moment(taken))
    say([*([] if stored_work.tasks else [shown.NONE_YET]), *board_lines(view, room())])
    return 0


def tasks_show(arguments: Namespace) -> int:
    found, rows = tasks_here(locate(arguments.directory))
    task = next((task for task in found.tasks if task.id == arguments.id), None)
    if task is None or rows is None:
        known = [task.id for task in found.tasks]
        raise NotFound(
            f"there is no task {arguments.id}.{did_you_mean(arguments.id, known)}",
            hint="`quintet tasks list` shows them.",
        )
    claims = live_claims(rows)
    with clear_errors(rows.path):
        moves = rows.moves(task.id)
    if arguments.json:
        say_json({**shown.as_json(found.tasks, [task], claims)[0], "moves": moves})
    else:
        waits_for = blocked_by(found.tasks).get(task.id, ())
        say(shown.show_lines(task, moves, waits_for, claims.get(task.id)))
    return 0


def _kept(places: Places, work: Callable[[TaskKeeper], Awaitable[T]]) -> T:
    """What the project's task keeper makes of some work; commands that only look do without it."""
    done: T = load("app.late_parts:kept")(places, work)
    return done


def tasks_add(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    pages = [(path, read_input(path)) for path in arguments.files]
    read_pages(pages)  # what is wrong with them is said before anything is opened
    axes = _axes(places)

    made: list[Task] = _kept(places, lambda keeper: keeper.add(pages, axes, reason="quintet tasks add"))
    if arguments.json:
        say_json(shown.as_json(made, made, {}))
    else:
        say(f"added {task.id}  {task.title}" for task in made)
    for task in made:
        for note in notes(task.text):
            complain(f"{task.id}: {note}")
    return 0


def _axes(places: Places) -> Axes:
    """Where a new session's dials would stand."""
    dials = config.load(places).settings.dials
    chosen = AxesChange(dials.work_mode, dials.run_control, dials.permission_profile, dials.model_mode)
    return chosen.applied_to(INTERACTIVE)


def tasks_move(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    after = shown.parse_status(arguments.status)
    if stored(places) is None:
        raise UsageError(shown.NONE_YET)

    reason = arguments.reason or "quintet tasks move"
    task, made = _kept(places, lambda keeper: keeper.move(arguments.id, after, reason, scope=Scope.NOW))
    if arguments.json:
        say_json(made)
    else:
        say([f"task {task.id}  {made.before} → {made.after}  {task.title}"])
    return 0


def _status(parser: ArgumentParser) -> None:
    about = "only these statuses: todo, running, done …; several with commas"
    parser.add_argument("--status", action="append", default=[], metavar="STATUS", help=about)


def _id(parser: ArgumentParser) -> None:
    parser.add_argument("id", help="the task's id")


def _files(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a page with front matter (id, title) and a body")


def _move(parser: ArgumentParser) -> None:
    _id(parser)
    parser.add_argument("status", help="the new status")
    parser.add_argument("--reason", default="", metavar="TEXT", help="the reason, for the journal")


_TASKS = actions(
    "tasks",
    {
        "list": lookup("tasks list", "List this project's tasks; the next one is marked.", tasks_list, _status),
        "show": lookup("tasks show", "Show one task: its page, its status and its history.", tasks_show, _id),
        "add": lookup("tasks add", "Add tasks from files: all of them, or none if one is wrong.", tasks_add, _files),
        "move": lookup("tasks move", "Move a task to another status: its row and its file.", tasks_move, _move),
    },
)


_BOARD = lookup(
    "tasks",
    (
        "Show everything that is running or open here: tasks, shells, questions, sessions, cost; "
        "`list` shows only tasks."
    ),
    tasks_board,
)


def tasks(arguments: list[str]) -> int:
    if arguments[:1] and arguments[0].startswith("--status"):
        return _TASKS(["list", *arguments])
    named = arguments and (not arguments[0].startswith("-") or arguments[0] in ("-h", "--help"))
    return (_TASKS if named else _BOARD)(arguments)
