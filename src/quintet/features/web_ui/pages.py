"""The pages: each a whole document that can be read without a script. Values in, HTML out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quintet.domain.agents.agent import Agent, visible_menu
from quintet.domain.base.wording import counted
from quintet.domain.dials.axes import Surface
from quintet.domain.journal.session_summary import AT_WORK
from quintet.domain.ports.prompt import ModelChoice, SettingChoice
from quintet.engine.reports.accounts import Costs
from quintet.engine.reports.forensics_charts import bar
from quintet.features.web_ui.access import HOW_THERE, VisitorRole, may_change
from quintet.features.web_ui.html import WIDE, e, joined
from quintet.features.web_ui.projects import ListedProject, ListedSession

QUOTE = '"'
CODE = re.compile("`([^`]+)`")
SCREENS = (
    ("", "Sessions"),
    ("tasks", "Tasks"),
    ("agents", "Agents"),
    ("cost", "Cost"),
    ("models", "Models"),
    ("remote", "Remote"),
    ("settings", "Settings"),
)


def coded(text: str) -> str:
    """A text of ours, with the code in it as such."""
    return CODE.sub(r"<code>\1</code>", e(text))


class _Site:
    """Where the pages lie: one server in a process, and it says so before it makes any."""

    below = ""
    remote = False  # whether there is a page about it


SITE = _Site()


def screens() -> tuple[tuple[str, str], ...]:
    return tuple(one for one in SCREENS if SITE.remote or one[0] != "remote")


def document(title: str, body: str, *, role: VisitorRole | None = VisitorRole.OWNER, page: str = "") -> str:
    viewer = ' class="viewer"' if role is VisitorRole.VIEWER else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">'
        '<meta name="color-scheme" content="light dark">'
        f'<title>{e(title)}</title><link rel="icon" href="/static/icon.svg" type="image/svg+xml">'
        '<link rel="stylesheet" href="/static/app.css"><script type="module" src="/static/app.js"></script>'
        f'</head><body{viewer} data-page="{page}"><a class="skip" href="#main">Skip to content</a>{body}'
        f"{KEYS if role else ''}</body></html>"
    )


def top(project: str, slug: str, middle: str = "", here: str = "") -> str:
    """The bar at the top: where you are, and where you can go."""
    links = "".join(
        f'<a href="{SITE.below}/p/{e(slug)}/{path}"{" aria-current=page" if name == here else ""}>{name}</a>'
        for path, name in screens()
    )
    nav = f'<nav aria-label="Project">{links}</nav>' if slug else ""
    name = f'<a class="project" href="{SITE.below}/p/{e(slug)}/">{e(project)}</a>' if slug else ""
    return (
        f'<header class="top"><a class="brand" href="{SITE.below}/">QUINTET</a>{name}{middle}{nav}'
        '<button type="button" id="theme" title="Light or dark" aria-label="Light or dark">◐</button></header>'
    )


def simple(
    title: str, project: str, slug: str, body: str, role: VisitorRole, here: str = "", *, wide: bool = False
) -> str:
    broad = " broad" if wide else ""
    looks = LOOKS_ONLY if role is VisitorRole.VIEWER else ""
    main = f'<main id="main" class="page{broad}" tabindex="-1"><h1>{e(title)}</h1>{looks}{body}</main>'
    return document(f"{title} · Quintet", top(project, slug, here=here) + main, role=role)


def door(text: str) -> str:
    """What somebody sees who is not let in."""
    form = (
        '<form method="post" action="/enter" class="door"><label for="token">Token</label>'
        '<input id="token" name="token" type="password" autocomplete="off" required><button>Enter</button></form>'
    )
    body = f'<main id="main" class="page"><h1>Quintet</h1><p>{coded(text)}</p>{form}</main>'
    return document("Quintet", body, role=None)


def problem(status: int, text: str, hint: str = "", home: str = "") -> str:
    """`home` is for those who were let in: the path of the pages is told to nobody else."""
    more = f"<p>{e(hint)}</p>" if hint else ""
    back = f'<p><a href="{e(home)}">Home</a></p>' if home else ""
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
    begin = "" if role is VisitorRole.VIEWER else "Open a project to begin a session in it, or to continue one. "
    help_ = f"<p>{begin}A folder is listed here once Quintet has been started in it.</p>"
    return simple("Projects", "", "", f'{top_part}{help_}<ul class="rows">{rows}</ul>', role)


def _project_words(one: ListedProject) -> str:
    waiting = f'<b class="r-warning">{_need(len(one.waiting))}</b> · ' if one.waiting else ""
    running = f'<b class="r-success">{one.running} running</b> · ' if one.running else ""
    return f"{waiting}{running}{counted(len(one.sessions), 'session')}"


def _need(number: int) -> str:
    return f"{number} {'needs' if number == 1 else 'need'} your input"


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


def _dot(one: ListedSession) -> str:
    """Whether it works, or needs somebody."""
    if one.waiting:
        return '<span class="dot r-warning" role="img" aria-label="needs your input" title="needs your input"></span>'
    if one.live and one.status in AT_WORK:
        return '<span class="dot r-success" role="img" aria-label="running" title="running"></span>'
    return ""


def _session_row(one: ListedSession) -> str:
    live = _dot(one)
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
        f"<li{' aria-current=page' if one.id == own else ''}>"
        f'<a href="../{e(one.id)}/"{"" if one.title else " data-untitled"}>'
        f"{_dot(one)}{e(one.title or 'new session')}</a>"
        f"<small>{e(one.updated[5:16].replace('T', ' '))}</small></li>"
        for one in sessions[:30]
    )
    go = (f'<a href="../../{path}">{name}</a> ' for path, name in screens() if path)
    left = (
        f'<aside class="left" aria-label="Sessions"><h3>Sessions</h3><ul>{rows}</ul>'
        '<p><a href="../../">All sessions</a></p>'
        '<p><a href="forensics">Forensics</a> · <a href="export">Export</a></p>'
        f'<p class="go">{joined(go)}</p></aside>'
    )
    more = '<button type="button" id="older">Show earlier entries</button>' if view["begin"] > 1 else ""
    data = (
        f'data-epoch="{view["epoch"]}" data-frame="{view["frame"]}" data-begin="{view["begin"]}" '
        f'data-session="{e(own)}" data-role="{role}"'
    )
    body = (
        f"{top(project, slug, middle)}"
        '<div id="offline" role="status" hidden>The server does not answer. Trying again …</div>'
        f'{TABS}<div class="work">{left}'
        f'<main id="main" {data}><h1 class="hide">{e(project)}: session</h1>'
        f'<div id="scroll" tabindex="0" aria-label="Transcript" role="region">{more}'
        f'<div id="transcript">{view["transcript"]}</div></div>'
        '<button type="button" id="follow" hidden></button><div id="live" class="hide" aria-live="polite"></div>'
        f'<div id="question" aria-live="assertive">{inside["question"]}</div><div id="queue">{inside["queue"]}</div>'
        f"{_prompt() if role is VisitorRole.OWNER else LOOKS_ONLY}</main>"
        f'<aside class="right" id="side" aria-label="Tasks, model and cost">{inside["side"]}</aside></div>'
        f'<dialog id="sheet" aria-label="Why"><form method="dialog"><button aria-label="Close">✕</button></form>'
        f'<div id="why">{why}</div></dialog>'
    )
    return document(view["title"], body, role=role, page="session")


TABS = (
    '<nav class="tabs" aria-label="Parts of the page"><div role="tablist">'
    + joined(
        f'<button type="button" role="tab" data-tab="{name}" aria-selected="{str(name == "session").lower()}">{label}'
        "</button>"
        for name, label in (("session", "Session"), ("sessions", "Sessions"), ("tasks", "Tasks"))
    )
    + "</div></nav>"
)


def _prompt() -> str:
    return (
        '<form id="prompt" method="post" action="say"><div class="tools">'
        '<button type="button" data-insert="/">/</button>'
        '<button type="button" data-insert="@">@</button></div><label class="hide" for="text">Request</label>'
        '<textarea id="text" name="text" rows="1" autocomplete="off" aria-autocomplete="list" aria-controls="offers" '
        'placeholder="Type a request, / for commands, @ for files"></textarea>'
        '<button class="send">Send</button><ul id="offers" role="listbox" hidden></ul></form>'
    )


LOOKS_ONLY = '<p class="looks">This link is read-only: you can see everything here, but change nothing.</p>'
KEYS = (
    '<dialog id="keys" aria-label="Keys"><form method="dialog"><button aria-label="Close">✕</button></form>'
    "<h2>Keys</h2><dl>"
    + joined(
        f"<div><dt><kbd>{key}</kbd></dt><dd>{about}</dd></div>"
        for key, about in (
            ("Enter", "send"),
            ("Shift+Enter", "new line"),
            ("Up", "past inputs"),
            ("Esc", "interrupt; with a question, first leave the prompt"),
            ("Shift+Tab", "next mode, in an empty prompt"),
            ("y n a s e", "answer a question, unless you are typing"),
            ("d", "details of a question"),
            ("g p", "projects"),
            ("g s", "sessions"),
            ("g t", "tasks"),
            ("g c", "cost"),
            ("g a", "agents"),
            ("g m", "models"),
            ("g r", "remote"),
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


def _shares(found: Costs) -> tuple[str, list[float]]:
    """What the rows are compared by: cost; where all is free, tokens; where none are counted, requests."""
    for name, of in (
        ("cost", [row.cost for row in found.rows]),
        ("tokens", [float(row.input_tokens + row.output_tokens) for row in found.rows]),
    ):
        if any(of):
            return name, of
    return "requests", [float(row.requests) for row in found.rows]


def cost_page(project: ListedProject, by: str, groups: Sequence[str], found: Costs, role: VisitorRole) -> str:
    choose = " · ".join(f"<b>{one}</b>" if one == by else f'<a href="?by={one}">{one}</a>' for one in groups)
    compared, shares = _shares(found)
    most = max(shares, default=0.0) or 1.0
    rows = "".join(
        f"<tr><th scope=row>{e(row.key)}</th><td>{bar([(share, 'accent')], most)}</td><td>{row.cost:.4f}</td>"
        f"<td>{row.requests:,}</td><td>{row.input_tokens:,}</td><td>{row.output_tokens:,}</td></tr>"
        for row, share in zip(found.rows, shares, strict=True)
    )
    names = (by.capitalize(), f"By {compared}", "Cost", "Requests", "Input", "Output")
    head = f"<tr>{joined(f'<th>{e(name)}</th>' for name in names)}</tr>"
    body = (
        f'<p>By {choose}</p>{WIDE}<table class="costs">{head}{rows}</table></div>'
        if rows
        else "<p>No model request yet.</p>"
    )
    return simple("Cost", project.name, project.slug, body, role, "Cost")


def models_page(project: ListedProject, models: Sequence[ModelChoice], found: Sequence[str], role: VisitorRole) -> str:
    def about(one: ModelChoice) -> str:
        """With its address, which can hold a key, for the owner only."""
        return one.about if role is VisitorRole.OWNER else one.about.partition("  ")[0]

    rows = "".join(
        f"<tr><th scope=row>{e(one.name)}</th><td>{e(about(one))}</td><td>{e(', '.join(one.routed))}</td>"
        f'<td class="r-warning">{e(one.problem)}</td></tr>'
        for one in models
    )
    here = (
        f"<p>Found on this machine: {e(', '.join(found))}. <code>quintet models add</code> connects one.</p>"
        if found
        else "<p><code>quintet models add</code> connects one.</p>"
    )
    table = f"<table><tr><th>Name</th><th>Model</th><th>Used for</th><th>Problem</th></tr>{rows}</table>"
    return simple(
        "Models",
        project.name,
        project.slug,
        f"{WIDE}{table}</div>{here}",
        role,
        "Models",
    )


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
    there = f"Some settings can be changed in your terminal only: {HOW_THERE}, or in that file."
    body = f"{note}<p>What you change is written to <code>{e(path)}</code>. {there}</p>{search}{shown}"
    return simple("Settings", project.name, project.slug, body, role, "Settings")


def bare(value: str) -> str:
    """A text without the quotes that it has in the file, where it reads the same without them."""
    inside = value[1:-1]
    quoted = len(value) > 1 and value[0] == value[-1] == QUOTE
    return inside if quoted and inside == inside.strip() and not set(inside) & set("\"'\\[") else value


def _setting(row: SettingChoice, role: VisitorRole) -> str:
    key = e(row.key)
    if role is VisitorRole.VIEWER or not may_change(row.key):
        at = "" if may_change(row.key) else " <small>can be changed in your terminal only</small>"
        value = bare(row.value)
        field = (f"<code>{e(value)}</code>" if value else "") + at
        if role is VisitorRole.VIEWER and not may_change(row.key) and row.source != "default":
            field = "<small>set; shown to the owner only</small>"  # an address or an argument can hold a token
    elif row.choices and not row.offered:
        now, known = bare(row.value), [bare(one) for one in row.choices]
        shown = known if now in known else [now, *known]
        options = "".join(f"<option{' selected' if one == now else ''}>{e(one)}</option>" for one in shown)
        field = f'<select name="value" aria-label="{key}">{options}</select><button>Save</button>'
    else:
        now = e(bare(row.value))
        field = f'<input name="value" value="{now}" aria-label="{key}" autocomplete="off"><button>Save</button>'
    about = coded(row.about)
    own = row.own and role is VisitorRole.OWNER and may_change(row.key)
    reset = '<button name="reset" value="1">Reset</button>' if own else ""
    return (
        f'<form method="post" action="settings" class="setting" id="set-{key}">'
        f'<input type="hidden" name="key" value="{key}">'
        f"<div><b>{key}</b><small>{e(row.source)}</small><p>{about}</p></div><div>{field}{reset}</div></form>"
    )
