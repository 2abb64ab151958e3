"""The pages: each a whole document that can be read without a script. Values in, HTML out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quintet.domain.agents.agent import Agent, visible_menu
from quintet.domain.base.wording import counted
from quintet.domain.dials.axes import Surface
from quintet.domain.ports.prompt import ModelChoice, SettingChoice
from quintet.domain.tasks.board import BoardEntry, BoardView, cost_words
from quintet.domain.tasks.task import Task, TaskStatus
from quintet.engine.reports.accounts import Costs
from quintet.engine.reports.forensics_charts import bar
from quintet.features.web_ui.access import VisitorRole, may_change
from quintet.features.web_ui.html import e, joined
from quintet.features.web_ui.markdown import rendered
from quintet.features.web_ui.projects import ListedProject, ListedSession

QUOTE = '"'
SCREENS = (
    ("", "Sessions"),
    ("tasks", "Tasks"),
    ("agents", "Agents"),
    ("cost", "Cost"),
    ("models", "Models"),
    ("settings", "Settings"),
)
_COLUMNS: tuple[tuple[str, tuple[TaskStatus, ...]], ...] = (
    ("To do", (TaskStatus.TODO, TaskStatus.RETRYING, TaskStatus.PAUSED)),
    ("At work", (TaskStatus.RUNNING, TaskStatus.VERIFYING, TaskStatus.REVIEWING)),
    ("Blocked", (TaskStatus.BLOCKED, TaskStatus.FAILED)),
    ("Done", (TaskStatus.DONE, TaskStatus.CANCELLED)),
)


class _Site:
    """Where the pages lie: one server in a process, and it says so before it makes any."""

    below = ""


SITE = _Site()


def document(title: str, body: str, *, role: VisitorRole | None = VisitorRole.OWNER, page: str = "") -> str:
    viewer = ' class="viewer"' if role is VisitorRole.VIEWER else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">'
        '<meta name="color-scheme" content="light dark">'
        f'<title>{e(title)}</title><link rel="icon" href="/static/icon.svg" type="image/svg+xml">'
        '<link rel="stylesheet" href="/static/app.css"><script type="module" src="/static/app.js"></script>'
        f'</head><body{viewer} data-page="{page}"><a class="skip" href="#main">Skip to content</a>{body}</body></html>'
    )


def top(project: str, slug: str, middle: str = "", here: str = "") -> str:
    """The bar at the top: where you are, and where you can go."""
    links = "".join(
        f'<a href="{SITE.below}/p/{e(slug)}/{path}"{" aria-current=page" if name == here else ""}>{name}</a>'
        for path, name in SCREENS
    )
    nav = f'<nav aria-label="Project">{links}</nav>' if slug else ""
    name = f'<a class="project" href="{SITE.below}/p/{e(slug)}/">{e(project)}</a>' if slug else ""
    return (
        f'<header class="top"><a class="brand" href="{SITE.below}/">QUINTET</a>{name}{middle}{nav}'
        '<button type="button" id="theme" title="Light or dark" aria-label="Light or dark">◐</button></header>'
    )


def simple(title: str, project: str, slug: str, body: str, role: VisitorRole, here: str = "") -> str:
    main = f'<main id="main" class="page" tabindex="-1"><h1>{e(title)}</h1>{body}</main>'
    return document(f"{title} · Quintet", top(project, slug, here=here) + main, role=role)


def door(text: str) -> str:
    """What somebody sees who is not let in."""
    form = (
        '<form method="post" action="/enter" class="door"><label for="token">Token</label>'
        '<input id="token" name="token" type="password" autocomplete="off" required><button>Enter</button></form>'
    )
    body = f'<main id="main" class="page"><h1>Quintet</h1><p>{e(text)}</p>{form}</main>'
    return document("Quintet", body, role=None)


def problem(status: int, text: str, hint: str = "", home: str = "/") -> str:
    more = f"<p>{e(hint)}</p>" if hint else ""
    back = f'<p><a href="{e(home)}">Home</a></p>'
    body = f'<main id="main" class="page"><h1>{status}</h1><p>{e(text)}</p>{more}{back}</main>'
    return document(f"{status} · Quintet", body, role=None)


def home(projects: Sequence[ListedProject], role: VisitorRole) -> str:
    waiting = [(project, one) for project in projects for one in project.waiting]
    needs = "".join(
        f'<li><a href="{SITE.below}/p/{e(project.slug)}/s/{e(one.id)}/">{e(project.name)}: {e(one.title or one.id)}</a>'
        f"<p>{e(one.waiting[0].partition(chr(10))[0])}</p></li>"
        for project, one in waiting
    )
    top_part = f'<section class="needs"><h2>Needs your input</h2><ul>{needs}</ul></section>' if needs else ""
    rows = "".join(
        f'<li><a href="{SITE.below}/p/{e(one.slug)}/"><b>{e(one.name)}</b></a> <small>{e(one.root)}</small>'
        f"<p>{_project_words(one)}</p></li>"
        for one in projects
    )
    return simple("Projects", "", "", f'{top_part}<ul class="rows">{rows}</ul>', role)


def _project_words(one: ListedProject) -> str:
    running = f'<b class="r-success">{one.running} running</b> · ' if one.running else ""
    return f"{running}{counted(len(one.sessions), 'session')}"


def project_page(project: ListedProject, role: VisitorRole, trust: str = "") -> str:
    begin = (
        '<form method="post" action="new" class="begin"><label for="first">New session</label>'
        '<textarea id="first" name="text" rows="3" placeholder="Type a request, or leave it empty"></textarea>'
        "<button>Begin</button></form>"
    )
    rows = "".join(_session_row(one) for one in project.sessions)
    listed = f'<h2>Sessions</h2><ul class="rows">{rows}</ul>' if rows else "<p>No session yet.</p>"
    own = "" if role is VisitorRole.VIEWER else begin
    return simple(project.name, project.name, project.slug, trust + own + listed, role, "Sessions")


def _session_row(one: ListedSession) -> str:
    live = '<span class="dot r-success" title="running"></span>' if one.live else ""
    cost = f" · ${one.cost:.2f}" if one.cost else ""
    return (
        f'<li>{live}<a href="s/{e(one.id)}/"><b>{e(one.title or "new session")}</b></a> '
        f"<small>{e(one.updated[:16].replace('T', ' '))} · {e(one.status)} · {counted(one.turns, 'turn')}{cost}</small>"
        f'<p class="badge">{e(one.badge)}</p></li>'
    )


def trust_card(about: str, listed: Iterable[str], changed: Iterable[str], seen: str) -> str:
    shown = "\n".join([*listed, *changed])
    return (
        f'<section class="card"><h2>Trust this folder?</h2><p>{e(about)}</p><pre tabindex="0">{e(shown)}</pre>'
        f'<form method="post" action="trust"><input type="hidden" name="seen" value="{e(seen)}"><div class="choices">'
        '<button name="yes" value="1" class="yes">Trust</button>'
        '<button name="yes" value="0" class="no">Do not trust</button></div></form></section>'
    )


def session_page(
    project: str,
    slug: str,
    view: Mapping[str, Any],
    sessions: Sequence[ListedSession],
    own: str,
    role: VisitorRole,
    why: str,
) -> str:
    inside = view["parts"]
    middle = (
        f'<div id="dials" class="dials">{inside["dials"]}</div><div id="status" class="status">{inside["status"]}</div>'
    )
    rows = "".join(
        f'<li{" aria-current=page" if one.id == own else ""}><a href="../{e(one.id)}/">'
        f"{'● ' if one.live else ''}{e(one.title or 'new session')}</a>"
        f"<small>{e(one.updated[5:16].replace('T', ' '))}</small></li>"
        for one in sessions[:30]
    )
    left = (
        f'<aside class="left" aria-label="Sessions"><h3>Sessions</h3><ul>{rows}</ul>'
        '<p><a href="../../">All sessions</a></p>'
        '<p><a href="forensics">Forensics</a> · <a href="export">Export</a></p></aside>'
    )
    more = '<button type="button" id="older">Show what came before</button>' if view["begin"] > 1 else ""
    data = (
        f'data-epoch="{view["epoch"]}" data-frame="{view["frame"]}" data-begin="{view["begin"]}" '
        f'data-session="{e(own)}" data-role="{role}"'
    )
    body = (
        f"{top(project, slug, middle)}"
        '<div id="offline" role="status" hidden>The server does not answer. Trying again …</div>'
        f'<div class="work">{left}'
        f'<main id="main" {data}><div id="scroll" tabindex="0" aria-label="Transcript" role="region">{more}'
        f'<div id="transcript">{view["transcript"]}</div></div>'
        '<button type="button" id="follow" hidden></button><div id="live" class="hide" aria-live="polite"></div>'
        f'<div id="question" aria-live="assertive">{inside["question"]}</div><div id="queue">{inside["queue"]}</div>'
        f"{_prompt() if role is VisitorRole.OWNER else ''}</main>"
        f'<aside class="right" id="side" aria-label="Tasks, model and cost">{inside["side"]}</aside></div>'
        f'<dialog id="sheet" aria-label="Why"><form method="dialog"><button aria-label="Close">✕</button></form>'
        f'<div id="why">{why}</div></dialog>{KEYS}'
    )
    return document(view["title"], body, role=role, page="session")


def _prompt() -> str:
    return (
        '<form id="prompt" method="post" action="say"><div class="tools">'
        '<button type="button" data-insert="/">/</button>'
        '<button type="button" data-insert="@">@</button></div><label class="hide" for="text">Request</label>'
        '<textarea id="text" name="text" rows="1" autocomplete="off" aria-autocomplete="list" aria-controls="offers" '
        'placeholder="Type a request, / for commands, @ for files"></textarea>'
        '<button class="send">Send</button><ul id="offers" role="listbox" hidden></ul></form>'
    )


KEYS = (
    '<dialog id="keys" aria-label="Keys"><form method="dialog"><button aria-label="Close">✕</button></form>'
    "<h2>Keys</h2><dl>"
    + joined(
        f"<div><dt><kbd>{key}</kbd></dt><dd>{about}</dd></div>"
        for key, about in (
            ("Enter", "send"),
            ("Shift+Enter", "new line"),
            ("Up", "past inputs"),
            ("Esc", "interrupt"),
            ("Shift+Tab", "next mode, in an empty prompt"),
            ("y n a s e", "answer a question, outside the prompt"),
            ("g p", "projects"),
            ("g s", "sessions"),
            ("g t", "tasks"),
            ("g c", "cost"),
            ("g a", "agents"),
            ("g ,", "settings"),
            ("?", "this list"),
        )
    )
    + "</dl></dialog>"
)


def why_sheet(lines: Sequence[str], seq: int) -> str:
    rows = "".join(
        f"<div><dt>{e(line[:9].strip())}</dt><dd>{e(line[9:].strip())}</dd></div>"
        if len(line) > 9
        else f"<p>{e(line)}</p>"
        for line in lines
    )
    return f'<h2>Event {seq}</h2><dl class="why">{rows}</dl>'


def board_page(
    project: ListedProject, view: BoardView, tasks: Sequence[Task], reasons: Mapping[str, str], role: VisitorRole
) -> str:
    columns = "".join(
        f"<section><h2>{name} <small>{len(found)}</small></h2>"
        f"<ul>{''.join(_card(one, reasons) for one in found)}</ul></section>"
        for name, statuses in _COLUMNS
        if (found := [task for task in tasks if task.status in statuses and not task.put_away]) or name != "Blocked"
    )
    others = [entry for entry in view.entries if str(entry.kind) != "task"]
    rows = "".join(_entry(entry) for entry in others)
    rest = f'<h2>Also running</h2><ul class="rows">{rows}</ul>' if rows else ""
    told = [("Next", view.next_action), ("Cost", cost_words(view.costs))]
    facts = "".join(f"<div><dt>{label}</dt><dd>{e(text)}</dd></div>" for label, text in told if text)
    body = f'<div class="board">{columns}</div>{rest}<dl>{facts}</dl>'
    return simple("Tasks", project.name, project.slug, body, role, "Tasks")


def _card(task: Task, reasons: Mapping[str, str]) -> str:
    reason = reasons.get(task.id, "")
    why = f'<p class="r-warning">{e(reason)}</p>' if reason else ""
    link = f'<a href="tasks/{e(task.id)}">{e(task.id)}</a>'
    return f'<li class="task">{link} {e(task.title)}<small>{task.status}</small>{why}</li>'


def _entry(entry: BoardEntry) -> str:
    text = e(entry.text)
    if str(entry.kind) == "session":
        text = f'<a href="s/{e(entry.id)}/">{text}</a>'
    return f"<li>{e(entry.mark)} {text}<p>{e(entry.about)}</p></li>"


def task_page(project: ListedProject, task: Task, moves: Sequence[tuple[str, str, str]], role: VisitorRole) -> str:
    rows = "".join(f"<tr><td>{e(at)}</td><td>{e(to)}</td><td>{e(reason)}</td></tr>" for at, to, reason in moves)
    history = (
        '<h2>History</h2><div class="wide"><table><tr><th>When</th><th>Status</th><th>Reason</th></tr>'
        f"{rows}</table></div>"
        if rows
        else ""
    )
    body = f'<p><span class="r-info">{task.status}</span></p><div class="md">{rendered(task.text.body)}</div>{history}'
    return simple(f"{task.id} {task.title}", project.name, project.slug, body, role, "Tasks")


def cost_page(project: ListedProject, by: str, groups: Sequence[str], found: Costs, role: VisitorRole) -> str:
    choose = " · ".join(f"<b>{one}</b>" if one == by else f'<a href="?by={one}">{one}</a>' for one in groups)
    most = max((row.cost for row in found.rows), default=0.0) or 1.0
    rows = "".join(
        f"<tr><th scope=row>{e(row.key)}</th><td>{bar([(row.cost, 'accent')], most)}</td><td>{row.cost:.4f}</td>"
        f"<td>{row.requests:,}</td><td>{row.input_tokens:,}</td><td>{row.output_tokens:,}</td></tr>"
        for row in found.rows
    )
    names = (by.capitalize(), "Share", "Cost", "Requests", "Input", "Output")
    head = f"<tr>{joined(f'<th>{e(name)}</th>' for name in names)}</tr>"
    body = (
        f'<p>By {choose}</p><div class="wide"><table class="costs">{head}{rows}</table></div>'
        if rows
        else "<p>No model request yet.</p>"
    )
    return simple("Cost", project.name, project.slug, body, role, "Cost")


def models_page(project: ListedProject, models: Sequence[ModelChoice], found: Sequence[str], role: VisitorRole) -> str:
    rows = "".join(
        f"<tr><th scope=row>{e(one.name)}</th><td>{e(one.about)}</td><td>{e(', '.join(one.routed))}</td>"
        f'<td class="r-warning">{e(one.problem)}</td></tr>'
        for one in models
    )
    here = (
        f"<p>Found on this machine: {e(', '.join(found))}. <code>quintet models add</code> connects one.</p>"
        if found
        else ""
    )
    table = f"<table><tr><th>Name</th><th>Model</th><th>Used for</th><th></th></tr>{rows}</table>"
    return simple("Models", project.name, project.slug, f'<div class="wide">{table}</div>{here}', role, "Models")


def agents_page(project: ListedProject, agents: Sequence[tuple[Agent, str]], role: VisitorRole) -> str:
    cards = []
    for agent, origin in agents:
        items = "".join(f"<li>{e(item.label)}</li>" for item in visible_menu(agent, Surface.WEB))
        begin = (
            f'<form method="post" action="new"><input type="hidden" name="agent" value="{e(agent.id)}">'
            "<button>Begin with it</button></form>"
            if role is VisitorRole.OWNER
            else ""
        )
        about = e(agent.title or agent.persona.role)
        cards.append(
            f"<section><h2>{e(agent.name)} <small>{e(origin)}</small></h2><p>{about}</p>"
            f"<details><summary>Menu</summary><ol>{items}</ol></details>{begin}</section>"
        )
    return simple("Agents", project.name, project.slug, f'<div class="cards">{"".join(cards)}</div>', role, "Agents")


def settings_page(
    project: ListedProject, rows: Sequence[SettingChoice], path: str, said: str, role: VisitorRole
) -> str:
    groups: dict[str, list[SettingChoice]] = {}
    for row in rows:
        groups.setdefault(row.key.partition(".")[0] if "." in row.key else "general", []).append(row)
    shown = "".join(
        f'<section class="group"><h2>{e(name)}</h2>{"".join(_setting(one, role) for one in found)}</section>'
        for name, found in groups.items()
    )
    note = f'<p class="r-warning" role="status">{e(said)}</p>' if said else ""
    search = '<label class="find">Search <input type="search" id="find-setting" autocomplete="off"></label>'
    body = f"{note}<p>What you change is written to <code>{e(path)}</code>.</p>{search}{shown}"
    return simple("Settings", project.name, project.slug, body, role, "Settings")


def _setting(row: SettingChoice, role: VisitorRole) -> str:
    key = e(row.key)
    if role is VisitorRole.VIEWER or not may_change(row.key):
        at = "" if may_change(row.key) else " <small>changed in your terminal only</small>"
        field = f"<code>{e(row.value)}</code>{at}"
    elif row.choices and not row.offered:
        now, known = row.value.strip(QUOTE), [one.strip(QUOTE) for one in row.choices]
        shown = row.choices if now in known else (row.value, *row.choices)
        options = "".join(f"<option{' selected' if one.strip(QUOTE) == now else ''}>{e(one)}</option>" for one in shown)
        field = f'<select name="value" aria-label="{key}">{options}</select><button>Save</button>'
    else:
        field = (
            f'<input name="value" value="{e(row.value)}" aria-label="{key}" autocomplete="off"><button>Save</button>'
        )
    own = row.own and role is VisitorRole.OWNER and may_change(row.key)
    reset = '<button name="reset" value="1">Reset</button>' if own else ""
    return (
        f'<form method="post" action="settings" class="setting" id="set-{key}">'
        f'<input type="hidden" name="key" value="{key}">'
        f"<div><b>{key}</b><small>{e(row.source)}</small><p>{e(row.about)}</p></div><div>{field}{reset}</div></form>"
    )
