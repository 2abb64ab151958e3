"""A session's forensics as one HTML page that needs nothing else: charts, then every entry, folded.

Everything that a model, a tool or a person said goes through `e`, and the page's own policy lets nothing run but the
one script in it and nothing be loaded at all. It can be read without the script.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256

from quintet.domain.dials import badge
from quintet.engine.reports import accounts
from quintet.engine.reports.forensics import CallEntry, Entry, Forensics, NoteEntry, RequestEntry
from quintet.engine.reports.forensics_charts import AXES, Scale, bar, e, legend, timeline
from quintet.engine.reports.forensics_text import after, began_at, turn_of, words_of
from quintet.engine.reports.session_report import ToolRow
from quintet.package import FOLDER

PAGES = os.path.join(FOLDER, "pages")
CHUNK = 100  # entries that a browser lays out together
OPEN_ENTRIES = 300  # in a page of at most so many, all turns are unfolded
MOST_TOOLS = 12
_TROUBLE = {"error": "error", "retry": "warning", "denied": "warning", "interrupted": "warning"}
_OUTCOMES = (("ok", "ok"), ("denied, interrupted or retried", "warning"), ("failed", "error"))
_TOKENS = (("read from a cache", "soft"), ("other input", "ok"), ("output", "accent"))


def page(found: Forensics) -> Iterator[str]:
    """The page, piece by piece."""
    style, script = _part("forensics.css"), _part("forensics.js")
    policy = f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
        f"<title>Forensics of {e(found.report.session)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
    )
    yield from _head(found)
    yield from _charts(found)
    yield from _steps(found)
    yield (
        f"<footer>Made from the journal of session {e(found.report.session)}. Times are UTC. Texts are cut at "
        f"{found.clip:,} characters; <code>quintet sessions show {e(found.report.session)} --events</code> has them "
        f"whole.</footer>\n</main>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _part(name: str) -> str:
    with open(os.path.join(PAGES, name), encoding="utf-8") as file:
        return file.read()


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _head(found: Forensics) -> Iterator[str]:
    report, total = found.report, found.report.total
    first = report.turns[0].text if report.turns else ""
    fork = f", forked from {report.parent}" if report.parent else ""
    yield '<header>\n<p class="eyebrow">Quintet forensics</p>\n'
    yield f"<h1>{e(' '.join(first.split())[:160]) or 'No turn yet'}</h1>\n"
    yield f"<p><code>{e(report.session)}</code>{e(fork)} in {e(report.project)}</p>\n"
    yield f"<p>{e(accounts.when(report.began))} to {e(accounts.when(report.until))}, {report.events:,} events</p>\n"
    if found.bands:
        yield f"<p>{_badge(badge.full(found.bands[-1].axes))}</p>\n"
    yield "</header>\n"
    calls = sum(row.calls for row in report.tools)
    counts = (sum(row.failed for row in report.tools), "failed"), (sum(row.denied for row in report.tools), "not run")
    unwell = [f"{count:,} {word}" for count, word in counts if count]
    asked = report.approvals
    tiles = [
        ("time in turns", _long(report.seconds), _count(len(report.turns), "turn")),
        ("model requests", f"{total.requests:,}", f"{total.failed:,} without a complete reply" if total.failed else ""),
        ("tool calls", f"{calls:,}", ", ".join(unwell)),
        ("tokens in", _short(total.input_tokens), f"{_short(total.cached_tokens)} from a cache"),
        ("tokens out", _short(total.output_tokens), ""),
        (
            "cost",
            f"{total.cost:.4f}",
            f"{_count(len(report.unpriced), 'model')} without a price" if report.unpriced else "",
        ),
        ("approvals asked", f"{asked.asked:,}", f"{asked.approved} yes, {asked.refused} no" if asked.asked else ""),
        ("files changed", f"{len(report.changed):,}", ""),
    ]
    yield '<dl class="tiles">\n'
    yield from (
        f"<div><dt>{name}</dt><dd>{value}{f'<small>{more}</small>' if more else ''}</dd></div>\n"
        for name, value, more in tiles
    )
    yield "</dl>\n"


def _charts(found: Forensics) -> Iterator[str]:
    scale = Scale(found)
    yield '<h2>Over time</h2>\n<section class="card">\n'
    yield from timeline(found)
    between = "<span>time between turns is shortened</span>" if scale.gaps else ""
    yield f'<p class="ends"><span>{_clock(scale.began)}</span>{between}<span>{_clock(scale.ended)}</span></p>\n'
    yield '<div class="legends">\n' + legend(_OUTCOMES, "requests and tools")
    for name, place in AXES:
        used = dict.fromkeys(badge.labels(band.axes)[place] for band in found.bands)
        yield legend([(word, badge.ROLES[word]) for word in used], name)
    yield '</div>\n</section>\n<h2>By stage and tool</h2>\n<div class="pair">\n<section class="card wide">\n'
    yield from _stages(found)
    yield legend(_TOKENS, "tokens")
    yield '</section>\n<section class="card wide">\n'
    yield from _tools(found.report.tools)
    yield "</section>\n</div>\n"


def _stages(found: Forensics) -> Iterator[str]:
    rows, total = found.report.stages, found.report.total
    if not rows:
        yield '<p class="empty">No model request yet.</p>\n'
        return
    times = found.stage_seconds
    most_time = max(times.values(), default=0.0)
    most_tokens = max(row.input_tokens + row.output_tokens for row in rows)
    most_cost = max(row.cost for row in rows)
    yield (
        '<table>\n<thead><tr><th>stage</th><th class="opt">requests</th><th>time</th><th>tokens</th><th>cost</th></tr>'
        "</thead>\n<tbody>\n"
    )
    for row in rows:
        took = times.get(row.key, 0.0)
        fresh = row.input_tokens - row.cached_tokens
        tokens = [(row.cached_tokens, "soft"), (fresh, "ok"), (row.output_tokens, "accent")]
        yield (
            f'<tr><td>{e(row.key)}</td><td class="opt">{row.requests:,}</td>'
            f"<td>{_long(took)}{bar([(took, 'ok')], most_time)}</td>"
            f"<td>{_short(row.input_tokens + row.output_tokens)}{bar(tokens, most_tokens)}</td>"
            f"<td>{row.cost:.4f}{bar([(row.cost, 'ok')], most_cost)}</td></tr>\n"
        )
    yield (
        f'</tbody>\n<tfoot><tr><td>total</td><td class="opt">{total.requests:,}</td><td>{_long(sum(times.values()))}'
        f"</td><td>{_short(total.input_tokens + total.output_tokens)}</td><td>{total.cost:.4f}</td></tr></tfoot>\n"
        "</table>\n"
    )


def _tools(tools: Sequence[ToolRow]) -> Iterator[str]:
    if not tools:
        yield '<p class="empty">No tool was called.</p>\n'
        return
    most = max(row.seconds for row in tools)
    yield "<table>\n<thead><tr><th>tool</th><th>calls</th><th>failed</th><th>not run</th><th>time</th></tr></thead>\n"
    yield "<tbody>\n"
    for row in tools[:MOST_TOOLS]:
        yield (
            f"<tr><td>{e(row.tool)}</td><td>{row.calls:,}</td>{_trouble(row.failed, 'error')}"
            f"{_trouble(row.denied, 'warning')}<td>{_long(row.seconds)}{bar([(row.seconds, 'ok')], most)}</td></tr>\n"
        )
    yield "</tbody>\n</table>\n"
    if len(tools) > MOST_TOOLS:
        yield f'<p class="empty">and {len(tools) - MOST_TOOLS} more</p>\n'


def _trouble(count: int, role: str) -> str:
    return f'<td class="{role}">{count:,}</td>' if count else '<td class="dim">0</td>'


def _steps(found: Forensics) -> Iterator[str]:
    yield (
        '<h2>Step by step</h2>\n<div class="tools" hidden>\n'
        '<input type="search" placeholder="Find in the steps" aria-label="Find in the steps">\n'
        '<label><input type="checkbox" data-kind="r" checked>requests</label>\n'
        '<label><input type="checkbox" data-kind="c" checked>tool calls</label>\n'
        '<label><input type="checkbox" data-kind="n" checked>everything else</label>\n'
        '<label><input type="checkbox" data-trouble>only trouble</label>\n'
        '<button type="button" data-open>Unfold turns</button> <button type="button" data-close>Fold</button>\n'
        "<output></output>\n</div>\n"
    )
    if found.left_out:
        yield (
            f'<p class="empty">{found.left_out:,} older entries are left out of this list; the charts have them, and '
            f"<code>quintet forensics {e(found.report.session)} --turn N --html</code> shows one of those turns.</p>\n"
        )
    began, unfolded = began_at(found), len(found.entries) <= OPEN_ENTRIES
    turn, count = None, 0
    for entry in found.entries:
        if entry.turn != turn:
            yield "" if turn is None else "</div>\n</div>\n</details>\n"
            turn, count = entry.turn, 0
            yield from _turn_head(found, turn, unfolded)
        elif count % CHUNK == 0:
            yield '</div>\n<div class="chunk">\n'
        count += 1
        yield from _entry(entry, began)
    yield "" if turn is None else "</div>\n</div>\n</details>\n"


def _turn_head(found: Forensics, number: int, unfolded: bool) -> Iterator[str]:
    turn = turn_of(found, number)
    yield f'<details class="turn" id="turn-{number}"{" open" if unfolded else ""}>\n'
    if turn is None:
        yield '<summary data-n="–"><strong>before the first turn</strong></summary>\n'
    else:
        role = "" if turn.status == "done" else ' class="warning"'
        rated = f" · rated {turn.rating}" if turn.rating else ""
        yield (
            f'<summary data-n="{number}"><strong>{e(turn.text) or "(continued)"}</strong>{_badge(turn.badge)}'
            f'<span class="num"><span{role}>{e(turn.status)}</span> · {_count(turn.steps, "step")} · '
            f"{_long(turn.seconds)} · {turn.cost:.4f}{rated}</span></summary>\n"
        )
    yield '<div class="rows">\n<div class="chunk">\n'


def _entry(entry: Entry, began: str) -> Iterator[str]:
    time = f"<i>{after(began, entry.at)}</i>"
    match entry:
        case RequestEntry(request=line) if line:
            role = _TROUBLE.get(line.outcome, "")
            usage = line.usage
            about = f"{line.model}{f' → {chr(44).join(entry.calls)}' if entry.calls else ''}"
            yield (
                f'<details class="e r{" x" if role else ""}" id="e{entry.seq}"><summary>{time}<b>{e(line.stage)}</b>'
                f"<q>{e(about)}</q><u>{usage.input_tokens:,} → {usage.output_tokens:,}</u><u>{line.cost:.4f}</u>"
                f"<u>{_took(line.seconds)}</u><em{_class(role)}>{e(line.outcome)}</em></summary>"
            )
            facts = [
                ("event", str(entry.seq)),
                *([("error", line.code)] if line.code else []),
                ("tokens", f"{usage.input_tokens:,} in ({usage.cached_tokens:,} cached), {usage.output_tokens:,} out"),
                ("tools available", f"{line.tool_count}{', visible reasoning' if line.reasoning else ''}"),
                ("axes", f"{line.badge} ({line.axes.surface})"),
            ]
            yield from _more(facts, entry.said)
        case CallEntry():
            role = _TROUBLE.get(entry.status, "")
            yield (
                f'<details class="e c{" x" if role else ""}" id="e{entry.seq}"><summary>{time}<b>{e(entry.tool)}</b>'
                f"<q>{e(entry.subject)}</q><u></u><u></u><u>{_took(entry.seconds)}</u>"
                f"<em{_class(role)}>{e(entry.status)}</em></summary>"
            )
            yield from _more(_decision(entry), entry.arguments, entry.output)
        case NoteEntry():
            role = " x" if entry.role in ("error", "warning") else ""
            body = f"{time}<b>{e(words_of(entry.what))}</b><q{_class(entry.role)}>{e(entry.text)}</q>"
            if entry.detail:
                yield f'<details class="e n{role}" id="e{entry.seq}"><summary>{body}</summary>'
                yield from _more([("event", str(entry.seq))], entry.detail)
            else:
                yield f'<div class="e n{role}" id="e{entry.seq}">{body}</div>\n'


def _decision(entry: CallEntry) -> list[tuple[str, str]]:
    facts = [("event", f"{entry.seq}; quintet why {entry.seq}" if entry.verdict else str(entry.seq))]
    if entry.verdict:
        facts += [("decision", f"{entry.verdict}: {entry.reason}"), ("effects", ", ".join(entry.effects) or "none")]
        facts += [("rule", entry.rule)] if entry.rule else []
        facts += [("axes", entry.badge), ("sandbox", entry.sandbox)]
    facts += [("result", entry.summary)] if entry.summary else []
    facts += [("changed", ", ".join(entry.changed))] if entry.changed else []
    return facts


def _more(facts: Sequence[tuple[str, str]], *texts: str) -> Iterator[str]:
    told = "".join(f"<dt>{name}</dt><dd>{e(value)}</dd>" for name, value in facts)
    shown = "".join(f"<pre>{e(text)}</pre>" for text in texts if text and text != "{}")
    yield f'<div class="more"><dl>{told}</dl>{shown}</div></details>\n'


def _badge(full: str) -> str:
    words = "".join(f'<span class="{badge.ROLES[word]}">{word}</span>' for word in full.split(badge.BAR))
    return f'<span class="badge">{words}</span>'


def _class(role: str) -> str:
    return f' class="{role}"' if role else ""


def _took(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds:.1f} s" if seconds >= 1 or not seconds else f"{max(round(seconds * 1000), 1)} ms"


def _long(seconds: float | None) -> str:
    """A length of time for reading: 4.2 s, 3 min 20 s, 2 h 5 min."""
    if seconds is None:
        return "–"
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def _short(count: int) -> str:
    """A number of tokens for reading: 940, 12.3k, 4.56M."""
    if count < 10_000:
        return f"{count:,}"
    return f"{count / 1000:.1f}k" if count < 1_000_000 else f"{count / 1_000_000:.2f}M"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what if number == 1 else f'{what}s'}"


def _clock(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%S}"
