"""Tasks as every surface lists them: a table of all, the queue in the order of dispatch, one task whole, and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from quintet.domain.base.errors import UsageError
from quintet.domain.base.safe_text import visible
from quintet.domain.base.text_table import table
from quintet.domain.base.wording import did_you_mean
from quintet.domain.ports.tasks import Claim
from quintet.domain.tasks.board import BackgroundShell, CostLine, OpenQuestion, OtherSession
from quintet.domain.tasks.order import blocked_by, dispatch_order, next_task
from quintet.domain.tasks.page import notes
from quintet.domain.tasks.task import OVER, READY, Task, TaskMove, TaskStatus, milestones

NONE_YET = "no tasks in this project; `quintet tasks add FILE` adds one from a page with front matter"
ALL_AWAY = "only archived tasks here; `quintet tasks show ID` shows one of them"
NEXT = "▸"
STOPPED = (TaskStatus.BLOCKED, TaskStatus.FAILED)


class TasksAnswer(Struct, frozen=True):
    """All that is under way in a project, as its foremost session sees it."""

    session: str | None  # whose cost and checkpoint these are
    tasks: list[dict[str, Any]]  # each with the fields of its page, its status, reason, cost, times, and who is at it
    counts: dict[str, int]  # how many tasks there are of each status that some have
    questions: tuple[OpenQuestion, ...]
    shells: tuple[BackgroundShell, ...]
    sessions: tuple[OtherSession, ...]  # that are live, or can be resumed
    costs: tuple[CostLine, ...]
    checkpoint: str | None  # when the newest of the session was taken
    next_action: str | None


def parse_status(word: str) -> TaskStatus:
    try:
        return TaskStatus(word.strip().lower())
    except ValueError:
        choices = [str(status) for status in TaskStatus]
        raise UsageError(f'status "{word}": not one of {", ".join(choices)}.{did_you_mean(word, choices)}') from None


def file_of(task: Task) -> str:
    """The path of a task's file, from the project's root unless it lies elsewhere."""
    return task.path if task.path.startswith("/") else f".quintet/todo/{task.path}"


def chosen(tasks: Iterable[Task], statuses: Sequence[TaskStatus]) -> list[Task]:
    """Those with some statuses, or all; what was put away is in no list."""
    return [task for task in tasks if not task.put_away and (not statuses or task.status in statuses)]


def reasons_of(tasks: Iterable[Task], moves: Callable[[str], Sequence[TaskMove]]) -> dict[str, str]:
    """Why each of them that is blocked or failed is so: the reason of its last move."""
    return {task.id: moves(task.id)[-1].reason for task in tasks if task.status in STOPPED}


def nothing_shown(every: Sequence[Task], statuses: Sequence[TaskStatus]) -> str:
    """What is said in place of an empty list."""
    if statuses and every:
        return f"no task is {' or '.join(statuses)}"
    return ALL_AWAY if every else NONE_YET


def list_lines(every: Sequence[Task], shown: Sequence[Task], reasons: Mapping[str, str] = {}) -> list[str]:
    """The table of some tasks; which one is next depends on all of them. `reasons`: why one is blocked or failed."""
    following = next_task(every)
    rows = [
        (
            NEXT if task is following else " ",
            task.status,
            task.id,
            task.title,
            ", ".join(task.depends_on) or "-",
            f"{task.retries}/{task.max_retries}",
            f"{task.cost_spent:.4f}",
            *([visible(" ".join(reasons.get(task.id, "").split()))] if reasons else []),
        )
        for task in shown
    ]
    heading = (" ", "STATUS", "ID", "TITLE", "DEPENDS ON", "RETRIES", "COST", *(["REASON"] if reasons else []))
    return table(rows, heading=heading, right=(5, 6))


def queue_lines(tasks: Sequence[Task]) -> list[str]:
    """What is at work, what comes next in its order, and what the rest waits for, milestone by milestone."""
    waiting = blocked_by(tasks)
    turn = {task.id: number for number, task in enumerate(dispatch_order(tasks), 1)}
    lines: list[str] = []
    for milestone in milestones(tasks):
        open_ones = [task for task in milestone.tasks if task.status not in OVER]
        if not open_ones:
            continue
        done = len(milestone.tasks) - len(open_ones)
        if lines:
            lines.append("")
        lines.append(f"{milestone.id or 'no milestone'}  {done} of {len(milestone.tasks)} finished")
        open_ones.sort(key=lambda task: (task.status in READY, turn.get(task.id, len(turn) + 1)))
        rows = [
            (
                str(turn.get(task.id, "")),
                task.status,
                task.id,
                f"waits for {', '.join(waiting[task.id])}" if task.id in waiting else task.title,
            )
            for task in open_ones
        ]
        lines += table(rows, heading=("NEXT", "STATUS", "ID", "TITLE"), right=(0,))
    return lines


def show_lines(task: Task, moves: Sequence[TaskMove], waits_for: Sequence[str], claim: Claim | None) -> list[str]:
    text = task.text
    rows = [
        ("status", f"{task.status}{f', in process {claim.owner_pid}' if claim else ''}"),
        ("file", file_of(task)),
        ("depends on", ", ".join(text.depends_on)),
        ("waits for", ", ".join(waits_for)),
        ("risk", f"{text.risk}, changes {text.mutation}, approval {text.approval}"),
        ("verification", text.verification),
        ("intent", ", ".join(str(intent) for intent in text.intent)),
        ("retries", f"{task.retries} of {task.max_retries}"),
        ("cost", f"{task.cost_spent:.4f}{f' of {task.cost_budget:g}' if task.cost_budget else ''}"),
        ("context", f"{claim.context:g} % of the window" if claim and claim.context is not None else ""),
        ("next action", _moment(task.next_action)),
        ("milestone", task.milestone),
        ("checkpoint", task.checkpoint),
    ]
    head = f"{task.id}  {task.title}"
    body = ["", *text.body.rstrip("\n").split("\n")] if text.body.strip() else []
    history = table([(_moment(m.at), f"{m.before or ''} → {m.after}".strip(), _why(m)) for m in moves])
    unread = [f"note          {note}" for note in notes(text)]
    return [head, *(f"{name:<14}{value}" for name, value in rows if value), *unread, *body, "", *history]


def _moment(at: str) -> str:
    return at[:19].replace("T", " ")


def _why(move: TaskMove) -> str:
    return f"{move.reason} ({move.scope})" if move.scope else move.reason


def as_json(every: Sequence[Task], shown: Iterable[Task], claims: Mapping[str, Claim]) -> list[dict[str, Any]]:
    waiting = blocked_by(every)
    following = next_task(every)
    return [
        {
            **msgspec.structs.asdict(task.text),
            "intent": [str(intent) for intent in task.text.intent],
            **{name: getattr(task, name) for name in Task.__struct_fields__ if name not in ("text", "stamp")},
            "path": file_of(task),
            "waits_for": list(waiting.get(task.id, ())),
            "next": task is following,
            "pid": claims[task.id].owner_pid if task.id in claims else None,
            "context_usage_percent": claims[task.id].context if task.id in claims else None,
            "put_away": task.put_away,
        }
        for task in shown
    ]
