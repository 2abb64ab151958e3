"""The board of a project's tasks, as columns or as a list, and the page of one task. A task is moved by its menu, or
dragged to another column; where it may go is what `LEGAL_MOVES` says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from quintet.domain.ports.workers import TaskWait, Worker
from quintet.domain.tasks.board import BoardEntry, UnderWay, board, cost_words
from quintet.domain.tasks.order import blocked_by
from quintet.domain.tasks.task import LEGAL_MOVES, Intent, Task, TaskStatus
from quintet.features.web_ui.access import VisitorRole
from quintet.features.web_ui.html import WIDE, e, joined
from quintet.features.web_ui.markdown import rendered
from quintet.features.web_ui.pages import SITE, simple
from quintet.features.web_ui.projects import ListedProject

S = TaskStatus
# The status that a task gets in a column; those without one are reached by work alone.
COLUMNS: tuple[tuple[str, tuple[TaskStatus, ...], TaskStatus | None], ...] = (
    ("To do", (S.TODO, S.RETRYING), S.TODO),
    ("At work", (S.RUNNING, S.VERIFYING, S.REVIEWING), None),
    ("Paused", (S.PAUSED,), S.PAUSED),
    ("Blocked", (S.BLOCKED, S.FAILED), S.BLOCKED),
    ("Done", (S.DONE, S.CANCELLED), None),
)
BY_HAND = (S.TODO, S.PAUSED, S.BLOCKED, S.CANCELLED)


class Crew(Struct, frozen=True):
    """The workers of a project that run now."""

    workers: tuple[Worker, ...] = ()
    claims: Mapping[str, tuple[Intent, ...]] = {}
    waits: tuple[TaskWait, ...] = ()


def moves_by_hand(task: Task) -> list[TaskStatus]:
    """Where a person may put a task: what runs is stopped in its session."""
    if task.status in (S.RUNNING, S.VERIFYING, S.REVIEWING):
        return []
    return [status for status in BY_HAND if status in LEGAL_MOVES[task.status]]


def board_page(project: ListedProject, found: UnderWay, crew: Crew, role: VisitorRole, *, as_list: bool = False) -> str:
    view = board(found)
    tasks = [task for task in found.tasks if not task.put_away]
    waits = blocked_by(tasks)
    notes = {task.id: _notes(task, found, crew, waits) for task in tasks}
    shown = _list(tasks, notes, role) if as_list else _columns(tasks, notes, role)
    here = f"{SITE.below}/p/{e(project.slug)}/tasks"
    other = f'<a href="{here}">Columns</a>' if as_list else f'<a href="{here}?as=list">List</a>'
    rows = "".join(_entry(entry) for entry in view.entries if str(entry.kind) != "task")
    rest = f'<h2>Also open</h2><ul class="rows">{rows}</ul>' if rows else ""
    told = [("Next", view.next_action), ("Cost", cost_words(view.costs))]
    facts = "".join(f"<div><dt>{label}</dt><dd>{e(text)}</dd></div>" for label, text in told if text)
    none = "" if tasks else "<p>No task yet. In a session, <code>/plan TEXT</code> makes a plan of tasks.</p>"
    body = f'<p class="views">{other}</p>{none or shown}{_workers(crew)}{rest}<dl class="facts">{facts}</dl>'
    return simple("Tasks", project.name, project.slug, body, role, "Tasks", wide=not as_list)


def _columns(tasks: Sequence[Task], notes: Mapping[str, str], role: VisitorRole) -> str:
    made = []
    for name, statuses, target in COLUMNS:
        found = [task for task in tasks if task.status in statuses]
        cards = joined(_card(one, notes[one.id], role) for one in found)
        into = f' data-status="{target}"' if target else ""
        made.append(f"<section{into}><h2>{name} <small>{len(found)}</small></h2><ul>{cards}</ul></section>")
    return f'<div class="board">{"".join(made)}</div>'


def _card(task: Task, notes: str, role: VisitorRole) -> str:
    allowed = moves_by_hand(task) if role is VisitorRole.OWNER else []
    drag = f' draggable="true" data-moves="{" ".join(allowed)}"' if allowed else ""
    return (
        f'<li class="task" data-task="{e(task.id)}"{drag}>{_link(task)} {e(task.title)}'
        f"<small>{task.status}</small>{notes}{_menu(task, allowed)}</li>"
    )


def _list(tasks: Sequence[Task], notes: Mapping[str, str], role: VisitorRole) -> str:
    rows = "".join(
        f"<tr><th scope=row>{_link(task)}</th><td>{e(task.title)}{notes[task.id]}</td><td>{task.status}</td>"
        f"<td>{_menu(task, moves_by_hand(task) if role is VisitorRole.OWNER else [])}</td></tr>"
        for task in sorted(tasks, key=lambda one: (one.created, one.id))
    )
    head = "<tr><th>Task</th><th>What</th><th>Status</th><th>Move</th></tr>"
    return f'{WIDE}<table class="tasks">{head}{rows}</table></div>'


def _link(task: Task) -> str:
    return f'<a href="tasks/{e(task.id)}">{e(task.id)}</a>'


def _menu(task: Task, allowed: Sequence[TaskStatus]) -> str:
    if not allowed:
        return ""
    buttons = joined(f'<button name="status" value="{one}">{one}</button>' for one in allowed)
    return (
        f'<details class="move" name="move"><summary aria-label="Move {e(task.id)}">Move</summary>'
        f'<form method="post" action="tasks/{e(task.id)}/move">{buttons}</form></details>'
    )


def _notes(task: Task, found: UnderWay, crew: Crew, waits: Mapping[str, Sequence[str]]) -> str:
    """Why it does not go on, whom and which file it waits for, who is working on it, and what it claims."""
    lines = []
    if reason := found.reasons.get(task.id, ""):
        lines.append(f'<p class="r-warning">{e(reason)}</p>')
    if others := waits.get(task.id, ()):
        links = ", ".join(f'<a href="tasks/{e(one)}">{e(one)}</a>' for one in others)
        lines.append(f'<p class="waits">waits for {links}</p>')
    for wait in (one for one in crew.waits if one.task == task.id):
        link = f'<a href="tasks/{e(wait.waits_for)}">{e(wait.waits_for)}</a>'
        lines.append(f'<p class="waits">waits for {link}: <code>{e(wait.path)}</code></p>')
    if pid := found.claims.get(task.id):
        lines.append(f'<p class="r-success">process {pid} is working on it</p>')
    return "".join(lines)


def _workers(crew: Crew) -> str:
    if not crew.workers:
        return ""
    rows = "".join(
        f"<tr><th scope=row>{one.owner_pid}</th><td>{one.state}</td><td>{_task_of(one)}</td>"
        f"<td>{_claims(crew, one.task)}</td><td>{one.done}</td><td>{e(one.heartbeat[11:19])} UTC</td></tr>"
        for one in crew.workers
    )
    names = ("Process", "State", "Task", "Claims", "Done", "Heartbeat")
    head = f"<tr>{joined(f'<th>{name}</th>' for name in names)}</tr>"
    return f"<h2>Workers</h2>{WIDE}<table>{head}{rows}</table></div>"


def _task_of(one: Worker) -> str:
    return f'<a href="tasks/{e(one.task)}">{e(one.task)}</a>' if one.task else "–"


def _claims(crew: Crew, task: str) -> str:
    return ", ".join(f"<code>{e(str(one))}</code>" for one in crew.claims.get(task, ())) or "–"


def _entry(entry: BoardEntry) -> str:
    text = e(entry.text)
    if str(entry.kind) == "session":
        text = f'<a href="s/{e(entry.id)}/">{text}</a>'
    return f"<li>{e(entry.mark)} {text}<p>{e(entry.about)}</p></li>"


def task_page(project: ListedProject, task: Task, moves: Sequence[tuple[str, str, str]], role: VisitorRole) -> str:
    rows = "".join(f"<tr><td>{e(at)}</td><td>{e(to)}</td><td>{e(reason)}</td></tr>" for at, to, reason in moves)
    history = (
        f"<h2>History</h2>{WIDE}<table><tr><th>When</th><th>Status</th><th>Reason</th></tr>{rows}</table></div>"
        if rows
        else ""
    )
    facts = [
        ("Status", str(task.status)),
        ("Depends on", ", ".join(task.depends_on)),
        ("Verified by", task.text.verification),
        ("Changes", ", ".join(map(str, task.text.intent))),
        ("Risk", str(task.text.risk)),
    ]
    shown = joined(f"<div><dt>{label}</dt><dd>{e(text)}</dd></div>" for label, text in facts if text)
    body = f'<dl class="facts">{shown}</dl><div class="md">{rendered(task.text.body)}</div>{history}'
    return simple(f"{task.id} {task.title}", project.name, project.slug, body, role, "Tasks")
