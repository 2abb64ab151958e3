"""The parts of a session's page beside its transcript, each made from the state alone: dials, question, queue, side."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from quintet.domain.base.safe_text import brief
from quintet.domain.dials import badge
from quintet.domain.dials.axes import AXIS_FIELDS, AXIS_WORDS
from quintet.domain.dials.meanings import MEANINGS
from quintet.domain.journal.session_summary import AT_WORK, SessionStatus
from quintet.domain.journal.state import SessionState
from quintet.domain.settings.settings import Settings
from quintet.domain.tasks.board import moment
from quintet.domain.tasks.cycle_phases import WORDS as PHASE_WORDS
from quintet.domain.tasks.task import AT_WORK as TASK_AT_WORK
from quintet.domain.tasks.task import Task, TaskStatus
from quintet.domain.turn import context
from quintet.features.web_ui.html import e
from quintet.features.web_ui.question_card import CardContext, question_card

DIAL_NAMES = {
    "mode": "Mode",
    "control": "Control",
    "permission-profile": "Profile",
    "model-mode": "Model",
}
_DONE = (TaskStatus.DONE, TaskStatus.FAILED, TaskStatus.CANCELLED)
_MARKS = {TaskStatus.DONE: "✓", TaskStatus.FAILED: "✗", TaskStatus.BLOCKED: "✗", TaskStatus.CANCELLED: "–"}


class PageContext(Struct, frozen=True):
    """What a page shows that is not in the journal."""

    settings: Settings
    sandbox: str
    tasks: tuple[Task, ...] = ()
    card: CardContext = CardContext()
    checkpoint: str = ""  # when the newest was taken


def parts(state: SessionState, around: PageContext) -> dict[str, str]:
    """Every part by its id on the page."""
    return {
        "dials": dials(state),
        "status": status(state),
        "question": question_card(state, around.card),
        "queue": queue(state),
        "side": side(state, around),
    }


def title(state: SessionState, project: str) -> str:
    """The tab's: what needs you first."""
    waits = f"({len(state.questions)}) " if state.questions else ""
    return f"{waits}{badge.title(state.axes, project, paused=state.turns.paused)}"


def dials(state: SessionState) -> str:
    return "".join(_dial(word, state) for word in AXIS_WORDS)


def _dial(word: str, state: SessionState) -> str:
    field = AXIS_FIELDS[word]
    now = str(getattr(state.axes, field))
    wanted = [(t, str(value)) for t in state.dials.pending if (value := getattr(t.change, field)) is not None]
    later = "".join(
        f'<span class="later"> → {e(value)} {e(str(t.scope).replace("-", " "))}</span>' for t, value in wanted
    )
    back = (
        f'<li><button name="text" value="/steer drop {word}"><b class="r-warning">✕ stay at {now}</b>'
        f"<span>Cancel the pending change</span></button></li>"
        if wanted
        else ""
    )
    breathes = " breathes" if word == "control" and now == "autonomous" and state.busy else ""
    rows = "".join(
        f'<li><button name="text" value="/{word} {value}" class="{"now" if value == now else ""}">'
        f'<b class="r-{badge.ROLES[value]}">{value}</b><span>{e(MEANINGS[value])}</span></button></li>'
        for value in AXIS_WORDS[word]
    )
    return (
        f'<details class="chip" name="dial" id="dial-{word}"><summary class="r-{badge.ROLES[now]}{breathes}" '
        f'aria-label="{DIAL_NAMES[word]}: {now}"><small>{DIAL_NAMES[word]}</small>{now}{later}</summary>'
        f'<form method="post" action="say"><ul>{back}{rows}</ul></form></details>'
    )


def status(state: SessionState) -> str:
    doing, role = _doing(state)
    queued = f" · {len(state.turns.waiting)} queued" if state.turns.waiting else ""
    agent = f" · {e(state.runs.agent.name)}" if state.runs.agent else ""
    stop = '<form method="post" action="interrupt"><button class="stop">Stop</button></form>' if state.busy else ""
    return f'<span class="dot {role}"></span><span>{e(doing)}{queued}{agent}</span>{stop}'


def _doing(state: SessionState) -> tuple[str, str]:
    match state.status:
        case SessionStatus.WAITING:
            return "needs your input", "r-warning"
        case one if one in AT_WORK:
            cycle = state.cycle if state.cycling else None
            words = PHASE_WORDS[cycle.phase] if cycle and one is SessionStatus.RUNNING else str(one)
            unit = cycle.unit if cycle else None
            task = f" · task {unit.current}/{unit.total}" if unit and unit.task and unit.total else ""
            return f"{words}{task}", "r-success"
        case SessionStatus.INTERRUPTED:
            return "interrupted · /resume continues", "r-warning"
    return "ready", "r-dim"


def queue(state: SessionState) -> str:
    if not state.turns.waiting:
        return ""
    rows = []
    for number, one in enumerate(state.turns.waiting, 1):
        held = '<small class="r-warning">held</small> ' if one.submission in state.turns.held else ""
        words = brief(one.text) or (f"/{one.order.kind}" if one.order else "")
        rows.append(
            f'<li><span>{number}</span> {held}<span class="words" data-whole="{e(one.text)}">{e(words)}</span>'
            f'<button type="button" class="edit" data-number="{number}">Edit</button>'
            f'<button name="text" value="/queued drop {number}">Drop</button></li>'
        )
    run = '<button name="text" value="/queued run">Start held inputs</button>' if state.turns.held else ""
    return f'<form method="post" action="say" class="queue"><b>Queued</b><ol>{"".join(rows)}</ol>{run}</form>'


def side(state: SessionState, around: PageContext) -> str:
    return "".join((_tasks(around.tasks), _todos(state), _shells(state), _use(state, around)))


def _tasks(tasks: Sequence[Task]) -> str:
    shown = [task for task in tasks if not task.put_away]
    if not shown:
        return ""
    done = sum(task.status is TaskStatus.DONE for task in shown)
    rows = "".join(
        f'<li class="{"dim" if task.status in _DONE else ""}"><span>{_mark(task)}</span> '
        f'<a href="../../tasks/{e(task.id)}">{e(task.id)}</a> {e(task.title)}</li>'
        for task in sorted(shown, key=lambda one: (one.status in _DONE, one.created, one.id))[:12]
    )
    return (
        f'<section><h3><a href="../../tasks">Tasks</a> <small>{done}/{len(shown)}</small></h3><ul>{rows}</ul></section>'
    )


def _mark(task: Task) -> str:
    return "▸" if task.status in TASK_AT_WORK else _MARKS.get(task.status, "·")


def _todos(state: SessionState) -> str:
    if not state.work.todos:
        return ""
    rows = "".join(f"<li><small>{e(todo.status)}</small> {e(todo.content)}</li>" for todo in state.work.todos.values())
    return f"<section><h3>Todos</h3><ul>{rows}</ul></section>"


def _shells(state: SessionState) -> str:
    if not state.calls.shells:
        return ""
    rows = "".join(f"<li><b>{e(name)}</b> <code>{e(line)}</code></li>" for name, line in state.calls.shells.items())
    return f"<section><h3>Shells</h3><ul>{rows}</ul></section>"


def _use(state: SessionState, around: PageContext) -> str:
    settings = around.settings
    name = settings.routing.model(state.axes.model_mode, state.dials.model)
    rows = [("Model", "offline rules" if name == "builtin" else name), ("Sandbox", around.sandbox)]
    if state.spent.cost or settings.limits.max_cost:
        most = f" of {settings.limits.max_cost:.2f}" if settings.limits.max_cost else ""
        rows.append(("Cost", f"${state.spent.cost:.2f}{most}"))
    meter = ""
    most_tokens = context.limits(settings.compression, context.window_of(settings, name)).tokens
    if name != "builtin" and most_tokens and state.conversation.messages:
        share = min(context.tokens(state.conversation.messages) / most_tokens, 1.0)
        drawn = f'<meter min="0" max="1" value="{share:.2f}">{share:.0%}</meter>'
        meter = f"<div><dt>Context</dt><dd>{drawn} {share:.0%}</dd></div>"
    if state.checkpoint:
        rows.append(("Checkpoint", moment(around.checkpoint)[-5:] + " UTC" if around.checkpoint else "taken"))
    facts = "".join(f"<div><dt>{label}</dt><dd>{e(text)}</dd></div>" for label, text in rows)
    acts = (
        '<form method="post" action="say" class="acts"><button name="text" value="/rewind">Rewind …</button>'
        '<button name="text" value="/diff">Changes</button></form>'
    )
    return f"<section><dl>{facts}{meter}</dl>{acts if state.checkpoint else ''}</section>"
