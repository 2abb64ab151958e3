"""A session's conversation as a page: Markdown, or HTML that needs nothing beside itself.

What was asked, said, done and changed, in order; what tools printed, and what the model thought aside, is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from msgspec import Struct

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.safe_text import brief, visible
from quintet.domain.journal.describe import QUIET
from quintet.domain.journal.protocol import ModelReplied, Recorded, ToolFinished, ToolStarted, TurnFinished, TurnStarted
from quintet.domain.tasks import turn_titles
from quintet.domain.turn.messages import EndStatus
from quintet.domain.turn.reasoning import without
from quintet.domain.turn.tool_spec import CallStatus

KINDS = (*turn_titles.KINDS, "model_replied", "tool_started", "tool_finished", "turn_finished")
_FENCE = regex(r"(?ms)^(`{3,})([\w+-]*)\n(.*?)^\1`*\s*?$")
STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
h1{font-size:1.3rem}h2{font-size:1.1rem;margin-top:2rem;border-top:1px solid #ccc;padding-top:1rem}
.text{white-space:pre-wrap}.call,.end{color:#666;font:0.85rem/1.4 ui-monospace,monospace}
pre{background:#f4f4f4;padding:.7rem;overflow-x:auto;font:0.85rem/1.4 ui-monospace,monospace}
@media (prefers-color-scheme:dark){body{color:#ddd;background:#181818}pre{background:#242424}.call,.end{color:#999}}
"""


class SpokenPiece(Struct, frozen=True):
    kind: str  # asked, said, call, diff or end
    text: str


def exchanges(events: Iterable[Recorded]) -> list[tuple[str, list[SpokenPiece]]]:
    """Each turn: when it began, and its pieces."""
    turns: list[tuple[str, list[SpokenPiece]]] = []
    calls: dict[str, str] = {}
    said = ""
    titles = turn_titles.TurnTitles()
    for recorded in events:
        title = titles.of(recorded.event)
        match recorded.event:
            case TurnStarted():
                turns.append((recorded.at, [SpokenPiece("asked", title)]))
                said = ""
                continue
            case _ if not turns:
                continue
        pieces = turns[-1][1]
        match recorded.event:
            case ModelReplied(aside=False, text=text) if text := without(text):
                said = text
                pieces.append(SpokenPiece("said", text))
            case ToolStarted(tool=tool) as started if tool not in QUIET:
                calls[started.call] = f"{tool} {brief(started.arguments)}"
            case ToolFinished() as ended if ended.call in calls:
                pieces.append(SpokenPiece("call", f"{calls.pop(ended.call)} · {ended.summary or ended.status}"))
                if ended.changed and ended.status is CallStatus.OK:
                    pieces.append(SpokenPiece("diff", ended.content))
            case TurnFinished() as finished:
                if finished.answer.strip() not in ("", said):
                    pieces.append(SpokenPiece("said", finished.answer))
                if finished.status != EndStatus.DONE:
                    pieces.append(SpokenPiece("end", f"{finished.status}: {finished.reason}".rstrip(": ")))
    return turns


def as_markdown(session: str, turns: Iterable[tuple[str, list[SpokenPiece]]]) -> str:
    parts = [f"# Session {session}"]
    for at, pieces in turns:
        parts.append(f"## {at[:16].replace('T', ' ')}")
        for piece in pieces:
            match piece.kind:
                case "asked":
                    parts.append("\n".join(f"> {line}".rstrip() for line in (piece.text or "(continued)").split("\n")))
                case "call":
                    parts.append(f"- {_code(piece.text)}")
                case "diff":
                    parts.append(_fenced(piece.text, "diff"))
                case "end":
                    parts.append(f"*{piece.text}*")
                case _:
                    parts.append(piece.text.strip())
    return visible("\n\n".join(parts)) + "\n"


def _code(text: str) -> str:
    marks = "`" * (1 + max((len(run) for run in regex("`+").findall(text)), default=0))
    return f"{marks} {text} {marks}" if len(marks) > 1 else f"`{text}`"


def _fenced(text: str, language: str) -> str:
    marks = "`" * max(3, 1 + max((len(run) for run in regex("`+").findall(text)), default=0))
    return f"{marks}{language}\n{text.rstrip()}\n{marks}"


def as_html(session: str, turns: Iterable[tuple[str, list[SpokenPiece]]]) -> str:
    title = escape(f"Session {session}")
    parts = [f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>']
    parts.append(f"<h1>{title}</h1>")
    for at, pieces in turns:
        for piece in pieces:
            match piece.kind:
                case "asked":
                    shown = escape(visible(piece.text or "(continued)"))
                    parts.append(f'<h2>{escape(at[:16].replace("T", " "))}</h2><p class="text"><b>{shown}</b></p>')
                case "call" | "end":
                    parts.append(f'<p class="{piece.kind}">{escape(visible(piece.text))}</p>')
                case "diff":
                    parts.append(f"<pre>{escape(visible(piece.text.rstrip()))}</pre>")
                case _:
                    parts.append(_html(visible(piece.text.strip())))
    return "\n".join([*parts, "</html>"]) + "\n"


def _html(text: str) -> str:
    """A text with its fenced code set apart; other marks stay as they are."""
    out, at = [], 0
    for fence in _FENCE.finditer(text):
        out += [_paragraph(text[at : fence.start()]), f"<pre>{escape(fence[3].rstrip())}</pre>"]
        at = fence.end()
    return "\n".join(filter(None, [*out, _paragraph(text[at:])]))


def _paragraph(text: str) -> str:
    return f'<div class="text">{escape(text.strip())}</div>' if text.strip() else ""
