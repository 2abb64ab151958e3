"""The board: everything that is under way in a project, as entries a surface can list, choose from and act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from quintet.domain.base.safe_text import brief
from quintet.domain.base.wording import counted
from quintet.domain.journal.protocol import QuestionAsked
from quintet.domain.ports.ports import ShellState
from quintet.domain.tasks.order import blocked_by, dispatch_order, next_task
from quintet.domain.tasks.task import AT_WORK, READY, Task, TaskStatus

DONE_SHOWN = 5  # of the tasks that are over, the newest
SESSIONS_SHOWN = 5
_MARKS = {
    TaskStatus.DONE: ("✓", "success"),
    TaskStatus.FAILED: ("✗", "error"),
    TaskStatus.BLOCKED: ("✗", "warning"),
    TaskStatus.CANCELLED: ("–", "dim"),
    TaskStatus.PAUSED: ("‖", "dim"),
    TaskStatus.RETRYING: ("↻", "warning"),
}
_ORDER = (*AT_WORK, TaskStatus.BLOCKED, *READY, TaskStatus.PAUSED, TaskStatus.FAILED, TaskStatus.DONE)


class OtherSession(Struct, frozen=True):
    """Another session of the project that is not at rest."""

    id: str
    title: str
    status: str
    updated: str
    live: bool  # a process owns it


class UnderWay(Struct, frozen=True):
    """What is stored of a project's work."""

    tasks: tuple[Task, ...] = ()
    claims: Mapping[str, int] = {}  # the process that works at a task
    reasons: Mapping[str, str] = {}  # why a task is blocked or failed
    sessions: tuple[OtherSession, ...] = ()


class BoardKind(StrEnum):
    TASK = "task"
    QUESTION = "question"
    SHELL = "shell"
    SESSION = "session"
    FEATURE = "feature"


class BoardEntry(Struct, frozen=True):
    kind: BoardKind
    id: str
    mark: str
    text: str
    about: str = ""
    role: str = ""


def counts(tasks: Sequence[Task]) -> str:
    """How many tasks there are of each status: 1 running · 2 todo."""
    tasks = [task for task in tasks if not task.put_away]
    numbers = [(status, sum(task.status is status for task in tasks)) for status in (*_ORDER, TaskStatus.CANCELLED)]
    return " · ".join(f"{number} {status}" for status, number in numbers if number)


def left(tasks: Sequence[Task]) -> str:
    """How many are still to be done, for a status line."""
    number = sum(task.status in (*AT_WORK, *READY, TaskStatus.BLOCKED, TaskStatus.PAUSED) for task in tasks)
    return f"{counted(number, 'task')} left" if number else ""


def entries(
    under_way: UnderWay,
    questions: Sequence[QuestionAsked],
    shells: Sequence[ShellState],
    own: str = "",
    of_features: Sequence[BoardEntry] = (),
) -> list[BoardEntry]:
    """What there is to see: questions, tasks as they stand, shells, features' rows, and sessions other than `own`."""
    rows = [
        BoardEntry(BoardKind.QUESTION, q.question, "?", q.text.partition("\n")[0], "Enter answers", "warning")
        for q in questions
    ]
    waiting = blocked_by(under_way.tasks)
    shown = sorted(
        (task for task in under_way.tasks if task.status in _ORDER and not task.put_away),
        key=lambda task: (_ORDER.index(task.status), task.created, task.id),
    )
    over = [task for task in shown if task.status in (TaskStatus.DONE, TaskStatus.FAILED)]
    hidden = set(map(id, sorted(over, key=lambda task: task.completed)[:-DONE_SHOWN]))
    rows += [_task(task, under_way, waiting.get(task.id, ())) for task in shown if id(task) not in hidden]
    if hidden:
        rows.append(
            BoardEntry(BoardKind.TASK, "", " ", f"… {len(hidden)} more that are over", "/tasks done failed", "dim")
        )
    rows += [
        BoardEntry(BoardKind.SHELL, shell.name, "$", f"shell {shell.name}", brief(shell.call.arguments))
        for shell in shells
    ]
    rows += of_features
    others = [session for session in under_way.sessions if session.id != own][:SESSIONS_SHOWN]
    rows += [_session(session) for session in others]
    return rows


def _task(task: Task, under_way: UnderWay, waits_for: Sequence[str]) -> BoardEntry:
    mark, role = _MARKS.get(task.status, ("▶", "accent") if task.status in AT_WORK else (" ", ""))
    about = [str(task.status)]
    if pid := under_way.claims.get(task.id):
        about.append(f"process {pid}")
    if waits_for and task.status in READY:
        about = [f"after {', '.join(waits_for)}"]
    if reason := under_way.reasons.get(task.id):
        about = [f"{task.status}: {reason}"]
    if task.retries:
        about.append(f"retry {task.retries} of {task.max_retries}")
    if task.cost_spent:
        about.append(f"${task.cost_spent:.2f}" + (f" of {task.cost_budget:.2f}" if task.cost_budget else ""))
    if task.status in AT_WORK and task.text.intent:
        about.append(", ".join(map(str, task.text.intent)))
    return BoardEntry(BoardKind.TASK, task.id, mark, f"{task.id} {task.title}", " · ".join(about), role)


def _session(session: OtherSession) -> BoardEntry:
    stands = f"{session.status} in another process" if session.live else f"{session.status}, can be resumed"
    about = f"{stands} · {session.updated[:16].replace('T', ' ')} · {session.id}"
    return BoardEntry(BoardKind.SESSION, session.id, "○", session.title or session.id, about, "info")


def next_action(tasks: Sequence[Task], questions: Sequence[QuestionAsked]) -> str:
    """What happens next, in a few words; empty if nothing is to be done."""
    if questions:
        return "your answer"
    at_work = next((task for task in tasks if task.status in AT_WORK), None)
    following = next_task(tasks) or next(iter(dispatch_order(tasks)), None)
    if at_work and following and following.id != at_work.id:
        return f"{following.id} when {at_work.id} is verified"
    if at_work:
        return f"verification of {at_work.id}"
    return f"{following.id} {following.title}" if following else ""
