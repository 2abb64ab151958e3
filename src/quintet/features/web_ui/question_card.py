"""The card above the prompt: the question that waits, the plan that waits to be accepted, or who answered the last one.

The choices are those of the terminal, with its letters. What a model wrote is shown with every character visible.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from quintet.domain.base.safe_text import exactly
from quintet.domain.base.wording import counted
from quintet.domain.dials.axes import Axes, ModelMode, PermissionProfile, Surface
from quintet.domain.journal import protocol as p
from quintet.domain.journal.cycle_events import PlannedTask
from quintet.domain.journal.state import SessionState
from quintet.domain.permission.answers import FEEDBACK, LASTING, NO, TURNING, YES, Choice
from quintet.domain.permission.gate import Verdict
from quintet.domain.permission.question import WIDTH, split_detail
from quintet.features.web_ui.html import e

WHERE = {Surface.TUI: "in a terminal", Surface.WEB: "in a browser"}


class CardContext(Struct, frozen=True):
    """What the card shows that the state does not hold."""

    plan: tuple[PlannedTask, ...] = ()  # the newest
    decided: tuple[p.CallDecided, ...] = ()  # what the gate asked about since the last question
    asked: p.QuestionAsked | None = None  # the newest
    answered: p.QuestionAnswered | None = None  # the answer to it

    def after(self, event: p.Event) -> CardContext:
        match event:
            case p.PlanMade(tasks=tasks):
                return CardContext(tasks, self.decided, self.asked, self.answered)
            case p.CallDecided(verdict=Verdict.ASK) as decided:
                known = self.decided if self.asked is None else ()
                return CardContext(self.plan, (*known, decided))
            case p.QuestionAsked() as asked:
                return CardContext(self.plan, self.decided, asked)
            case p.QuestionAnswered() as answered if self.asked and answered.question == self.asked.question:
                return CardContext(self.plan, (), self.asked, answered)
            case p.TurnStarted() | p.InputReceived():
                return CardContext(self.plan)
        return self


def question_card(state: SessionState, seen: CardContext) -> str:
    """The card of the question that waits; the others are counted."""
    asked = next(iter(state.questions.values()), None)
    cycle = state.live_cycle
    plan = seen.plan if cycle and cycle.plan.pending and not state.busy else ()
    if plan and (asked is None or asked.kind == "choose"):
        return _plan_card(plan, asked, state.axes)
    if asked:
        others = len(state.questions) - 1
        after = f"<small>{counted(others, 'more question')} after this</small>" if others else ""
        return _card(asked, f"{_about(asked, seen)}{_choices(asked)}{after}")
    return _answered(seen)


def _card(asked: p.QuestionAsked, inside: str) -> str:
    return (
        f'<section class="card" role="alertdialog" aria-labelledby="asked" data-question="{e(asked.question)}">'
        f'<form method="post" action="answer"><h2 id="asked">{_heading(asked)}</h2>'
        f'<input type="hidden" name="question" value="{e(asked.question)}">{inside}</form></section>'
    )


def _heading(asked: p.QuestionAsked) -> str:
    first = exactly(asked.text.partition("\n")[0])
    return e(first[:1].upper() + first[1:])


def _about(asked: p.QuestionAsked, seen: CardContext) -> str:
    own, rest = split_detail(asked.detail)
    more = asked.text.partition("\n")[2]
    written = exactly(more).split("\n") if more else []
    facts = "".join(_fact(line) for line in own)
    body = "".join(_line(line) for line in [*written, *rest])
    body = f'<pre class="asked" tabindex="0" aria-label="Subject of the question">{body}</pre>' if body else ""
    details = ""
    if asked.kind == "approve" and seen.decided and seen.asked and seen.asked.question == asked.question:
        shown = "\n".join(exactly(decided.arguments) for decided in seen.decided)
        details = (
            '<details class="whole" id="details"><summary><kbd>d</kbd> Details</summary>'
            f'<pre tabindex="0" aria-label="Arguments">{e(shown)}</pre></details>'
        )
    return f"<dl>{facts}</dl>{body}{details}"


def _fact(line: str) -> str:
    return f"<div><dt>{e(line[:WIDTH].strip())}</dt><dd>{e(line[WIDTH:].strip())}</dd></div>"


def _line(line: str) -> str:
    kind = {"+ ": "add", "- ": "del"}.get(line[:2], "")
    return f'<span class="{kind}">{e(line)}\n</span>'


def _choices(asked: p.QuestionAsked) -> str:
    lasting = LASTING | TURNING if asked.kind == "approve" else frozenset()
    buttons = [_choice(one, one.key in lasting) for one in asked.choices if one.key != FEEDBACK]
    if asked.kind == "approve":
        buttons.append(_typed(FEEDBACK, "No, with feedback", "What should it do instead?", NO))
    return f'<div class="choices">{"".join(buttons)}</div>'


def _choice(one: Choice, lasts: bool = False) -> str:
    """A choice as a button; one that lasts or widens the profile is confirmed by a second press, as in the terminal."""
    words = one.label[:1].upper() + one.label[1:]
    if one.takes_text is True:
        return _typed(one.key, words, "Your answer", one.key)
    lasts = lasts or one.only_selects is True
    kind = "lasts" if lasts else "yes" if one.key == YES else "no" if one.key == NO else ""
    return f'<button name="choice" value="{e(one.key)}" class="{kind}"><kbd>{e(one.key)}</kbd> {e(words)}</button>'


def _typed(key: str, label: str, asks: str, choice: str) -> str:
    """A choice that takes a text."""
    return (
        f'<details class="feedback" id="typed-{e(key)}" data-key="{e(key)}"><summary><kbd>{e(key)}</kbd> {e(label)}'
        f'</summary><label>{asks}<input name="note" autocomplete="off"></label>'
        f'<button name="choice" value="{e(choice)}">Send</button></details>'
    )


def _answered(seen: CardContext) -> str:
    """Who answered the last question: pages that did not say it themselves show it."""
    if seen.asked is None or seen.answered is None:
        return ""
    said, choices = seen.answered, {one.key: one.label for one in seen.asked.choices}
    where = WHERE.get(said.surface, f"by {said.surface}")
    words = f"{choices.get(said.choice, said.choice)} · {where}" if said.by == "user" else f"closed: {said.by}"
    asked = exactly(seen.asked.text.partition("\n")[0])
    return (
        f'<p class="answered" data-answered="{e(said.question)}" data-by="{e(said.surface)}">'
        f"{e(asked)} → {e(words)}</p>"
    )


def _plan_card(plan: Sequence[PlannedTask], asked: p.QuestionAsked | None, axes: Axes) -> str:
    """A plan that waits: its tasks, which can be struck, moved and reworded, and how it is to be built."""
    rows = "".join(_planned(plan, at) for at in range(len(plan)))
    answer = ""
    if asked:
        choices = "".join(_choice(one) for one in asked.choices)
        answer = (
            f'<form method="post" action="answer"><input type="hidden" name="question" value="{e(asked.question)}">'
            f'<div class="choices">{choices}</div></form>'
        )
    heading = _heading(asked) if asked else f"Plan: {counted(len(plan), 'task')}"
    named = f' data-question="{e(asked.question)}"' if asked else ""
    return (
        f'<section class="card plan" role="alertdialog" aria-labelledby="asked"{named}>'
        f'<h2 id="asked">{heading}</h2><ol class="planned" data-plan="{len(plan)}">{rows}</ol>'
        f"{answer}{_accept(axes, opened=asked is None)}</section>"
    )


def _planned(plan: Sequence[PlannedTask], at: int) -> str:
    task, ids = plan[at], [one.id for one in plan]
    after = f"after {', '.join(task.depends_on)}" if task.depends_on else ""
    verified = f"verified by {task.verification}" if task.verification else ""
    notes = " · ".join(filter(None, (after, verified)))
    about = f"<small>{e(notes)}</small>" if notes else ""
    title = e(exactly(task.title))
    buttons = [
        _move(plan, at, at - 1, f"plan-up-{at}", "↑", f"Move up: {title}") if at else "",
        _move(plan, at, at + 1, f"plan-down-{at}", "↓", f"Move down: {title}") if at + 1 < len(ids) else "",
        _arrange(f"plan-strike-{at}", "Remove", f"Remove: {title}", ids[:at] + ids[at + 1 :]) if len(ids) > 1 else "",
    ]
    return (
        f'<li data-task="{e(task.id)}"><div class="row"><b>{e(task.id)}</b><span class="what">{title}{about}</span>'
        f'<form method="post" action="say" class="acts">{"".join(buttons)}</form></div>'
        f'<details class="reword" id="reword-{at}"><summary aria-label="Edit: {title}">Edit</summary>'
        f'<form method="post" action="arrange"><input type="hidden" name="task" value="{e(task.id)}">'
        f'<input name="words" value="{title}" aria-label="What {e(task.id)} is to do" autocomplete="off">'
        "<button>Save</button></form></details></li>"
    )


def _move(plan: Sequence[PlannedTask], at: int, other: int, id: str, label: str, about: str) -> str:
    """Two neighbours change places, unless the lower one depends on the upper one: it runs after it in any case."""
    upper, lower = plan[min(at, other)], plan[max(at, other)]
    if upper.id in lower.depends_on:
        why = e(f"{lower.id} depends on {upper.id} and runs after it")
        return f'<button id="{id}" disabled aria-label="{about}" title="{why}">{label}</button>'
    made = [one.id for one in plan]
    made[at], made[other] = made[other], made[at]
    return _arrange(id, label, about, made)


def _arrange(id: str, label: str, about: str, order: Sequence[str]) -> str:
    line = f"/arrange {' '.join(order)}"
    return f'<button id="{id}" name="text" value="{e(line)}" aria-label="{about}" title="{about}">{label}</button>'


def _accept(axes: Axes, *, opened: bool) -> str:
    profiles = _options(PermissionProfile, axes.permission_profile)
    models = _options(ModelMode, ModelMode.SMART)
    by_itself = " open data-opens" if opened else ""
    return (
        f'<details class="accept" id="accept"{by_itself}><summary>Profile and model</summary>'
        '<form method="post" action="accept">'
        '<label><input type="radio" name="control" value="assisted" checked> One task at a time</label>'
        '<label><input type="radio" name="control" value="autonomous"> Run autonomously</label>'
        f'<label>Profile <select name="profile">{profiles}</select></label>'
        f'<label>Model mode <select name="model">{models}</select></label>'
        '<button class="yes">Accept</button></form></details>'
    )


def _options(values: type[PermissionProfile] | type[ModelMode], now: str) -> str:
    return "".join(f'<option value="{one}"{" selected" if one == now else ""}>{one}</option>' for one in values)
