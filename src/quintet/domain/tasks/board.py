"""The board: everything that is under way in a project, as entries a surface can list, choose from and act on.

`board` makes it; `/tasks`, `quintet tasks` and the screen's board show the same one, `board_lines` as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.safe_text import brief
from quintet.domain.base.text_table import table
from quintet.domain.base.wording import counted
from quintet.domain.tasks.order import blocked_by, dispatch_order, next_task
from quintet.domain.tasks.task import AT_WORK, READY, Task, TaskStatus

if TYPE_CHECKING:
    from quintet.domain.journal.protocol import QuestionAsked
    from quintet.domain.ports.ports import ShellState

DONE_SHOWN = 5  # of the tasks that are over, the newest
SESSIONS_SHOWN = 5
_STEERING = regex(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_=>])|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
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
    here: bool = False  # this process does


class OpenQuestion(Struct, frozen=True):
    question: str
    text: str
    session: str = ""


class BackgroundShell(Struct, frozen=True):
    """A shell that runs on in the process of a session."""

    name: str
    line: str  # what it runs, in brief
    session: str = ""


class CostLine(Struct, frozen=True):
    """What something has cost so far."""

    of: str  # session, cycle or project
    cost: float
    most: float = 0.0  # 0: no limit


class UnderWay(Struct, frozen=True):
    """What is stored of a project's work."""

    tasks: tuple[Task, ...] = ()
    claims: Mapping[str, int] = {}  # the process that works at a task
    reasons: Mapping[str, str] = {}  # why a task is blocked or failed
    sessions: tuple[OtherSession, ...] = ()
    questions: tuple[OpenQuestion, ...] = ()
    shells: tuple[BackgroundShell, ...] = ()  # as of the last event of their sessions
    cost: float = 0.0  # of the project, over all its sessions


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


def by_status(tasks: Sequence[Task]) -> dict[str, int]:
    """How many tasks there are of each status that some have, those at work first."""
    tasks = [task for task in tasks if not task.put_away]
    numbers = {str(status): sum(task.status is status for task in tasks) for status in (*_ORDER, TaskStatus.CANCELLED)}
    return {status: number for status, number in numbers.items() if number}


def counts(tasks: Sequence[Task]) -> str:
    """The same in words: 1 running · 2 todo."""
    return " · ".join(f"{number} {status}" for status, number in by_status(tasks).items())


def left(tasks: Sequence[Task]) -> str:
    """How many are still to be done, for a status line."""
    number = sum(task.status in (*AT_WORK, *READY, TaskStatus.BLOCKED, TaskStatus.PAUSED) for task in tasks)
    return f"{counted(number, 'task')} left" if number else ""


def seen_here(
    under_way: UnderWay, own: str, questions: Iterable[QuestionAsked], shells: Iterable[ShellState]
) -> UnderWay:
    """The same in the process of the session `own`, which knows its questions and shells as they are now."""
    asked = [OpenQuestion(one.question, one.text, own) for one in questions]
    running = [BackgroundShell(one.name, brief(one.call.arguments), own) for one in shells]
    return structs.replace(
        under_way,
        questions=(*asked, *(one for one in under_way.questions if one.session != own)),
        shells=(*running, *(one for one in under_way.shells if one.session != own)),
    )


class BoardView(Struct, frozen=True):
    """Everything that is under way, at one moment."""

    entries: tuple[BoardEntry, ...] = ()
    counts: str = ""  # of the tasks, by status
    costs: tuple[CostLine, ...] = ()
    checkpoint: str = ""  # when the newest of the session was taken, in words
    next_action: str = ""


def board(
    under_way: UnderWay,
    own: str = "",
    *,
    costs: Sequence[CostLine] = (),
    checkpoint: str = "",
    of_features: Sequence[BoardEntry] = (),
) -> BoardView:
    """The board as it is seen from the session `own`, with what that cost and when its last checkpoint was taken."""
    project = (CostLine("project", under_way.cost),) if under_way.cost else ()
    return BoardView(
        tuple(entries(under_way, own, of_features)),
        counts(under_way.tasks),
        (*costs, *project),
        checkpoint,
        next_action(under_way.tasks, [asked for asked in under_way.questions if own in ("", asked.session)]),
    )


def entries(under_way: UnderWay, own: str = "", of_features: Sequence[BoardEntry] = ()) -> list[BoardEntry]:
    """What there is to see: questions, tasks as they stand, shells, features' rows, and sessions other than `own`."""
    rows = [_question(asked, own) for asked in under_way.questions]
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
            BoardEntry(BoardKind.TASK, "", " ", f"… {len(hidden)} more that are finished", "/tasks done failed", "dim")
        )
    rows += [_shell(shell, own) for shell in under_way.shells]
    rows += of_features
    others = [session for session in under_way.sessions if session.id != own][:SESSIONS_SHOWN]
    rows += [_session(session) for session in others]
    return rows


def _question(asked: OpenQuestion, own: str) -> BoardEntry:
    text = asked.text.partition("\n")[0]
    if asked.session == own:
        return BoardEntry(BoardKind.QUESTION, asked.question, "?", text, "needs your answer", "warning")
    about = f"session {asked.session} needs an answer"
    return BoardEntry(BoardKind.SESSION, asked.session, "?", text, about, "warning")


def _shell(shell: BackgroundShell, own: str) -> BoardEntry:
    if shell.session == own:
        return BoardEntry(BoardKind.SHELL, shell.name, "$", f"shell {shell.name}", shell.line)
    about = f"{shell.line} · session {shell.session}"
    return BoardEntry(BoardKind.SESSION, shell.session, "$", f"shell {shell.name}", about)


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
        about.append(f"${task.cost_spent:.2f}" + (f" of ${task.cost_budget:.2f}" if task.cost_budget else ""))
    if task.status in AT_WORK and task.text.intent:
        about.append(", ".join(map(str, task.text.intent)))
    return BoardEntry(BoardKind.TASK, task.id, mark, f"{task.id} {task.title}", " · ".join(about), role)


def _session(session: OtherSession) -> BoardEntry:
    where = "here" if session.here else "in another process"
    stands = f"{session.status} {where}" if session.live else f"{session.status}, can be resumed"
    about = f"{stands} · {moment(session.updated)} · {session.id}"
    return BoardEntry(BoardKind.SESSION, session.id, "○", session.title or session.id, about, "info")


def moment(at: str) -> str:
    """An instant of the journal, to the minute, in UTC."""
    return at[:16].replace("T", " ")


def next_action(tasks: Sequence[Task], questions: Sequence[OpenQuestion]) -> str:
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


def last_lines(printed: str, most: int) -> list[str]:
    """The end of what a terminal was shown, without what steered it."""
    text = _STEERING.sub("", printed.replace("\r\n", "\n")).rstrip("\n")
    return [line.rpartition("\r")[2] for line in text.split("\n")[-most:]] if text else []


def cost_words(costs: Sequence[CostLine]) -> str:
    """What was spent, and may be: session $0.42 of $5.00 · project $2.31."""
    return " · ".join(f"{one.of} ${one.cost:.2f}" + (f" of ${one.most:.2f}" if one.most else "") for one in costs)


def board_lines(view: BoardView, room: int = 0) -> list[str]:
    """The board as text, for every surface that prints."""
    rows = table([(entry.mark, entry.text, entry.about) for entry in view.entries], room=room)
    below = [("cost", cost_words(view.costs)), ("checkpoint", view.checkpoint), ("next", view.next_action)]
    told = [("tasks", view.counts)] if view.counts else []
    told += [(name, words) for name, words in below if words]
    return [*rows, "", *table(told)] if rows and told else [*rows, *table(told)]
