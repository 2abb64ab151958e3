"""The first screen of a new session: how to begin, what can be resumed, and without a model how to connect one.

It stands in the transcript until something is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quintet.domain.base.safe_text import on_one_line
from quintet.domain.base.wording import counted
from quintet.domain.journal.describe import Line
from quintet.domain.ports.prompt import SessionChoice

OFFLINE = "rename, replace, find, summarise, test, lint, move files and use git"
MOST_SESSIONS = 3
MOST_TITLE = 34
LABEL = 9


def first_screen(
    keys: Mapping[str, str], sessions: Sequence[SessionChoice], *, model: bool, found: Sequence[str] | None = None
) -> list[Line]:
    """`keys`: the first key of each action. `found`: what could be a model on this machine, if it was looked for."""
    lines = [] if model else [*_no_model(keys.get("models", "/model"), found), Line("")]
    dials = {"work_mode": "mode", "run_control": "control", "permission_profile": "profile", "model_mode": "model"}
    lines += [
        _row("Begin", "type what you want done · @ a file · / a command · ! a shell line"),
        _row("Dials", _listed(keys, dials)),
        *_resume(keys, sessions),
        _row("Help", " · ".join(filter(None, ("? all keys", _listed(keys, {"palette": "commands", "tour": "tour"}))))),
    ]
    return lines


def _no_model(connect: str, found: Sequence[str] | None) -> list[Line]:
    here = [] if found is None else [f"Found here: {', '.join(found) or 'no API key, no local server, no AI CLI'}."]
    return [
        Line(f"  No model is configured: use {connect} to connect one.", "warning"),
        *(Line(f"  {line}") for line in here),
        Line(f"  Without one, the offline rules can {OFFLINE}.", "dim"),
    ]


def _resume(keys: Mapping[str, str], sessions: Sequence[SessionChoice]) -> list[Line]:
    """The newest by its own key, the next ones by the list's."""
    lines = []
    for number, one in enumerate(sessions[:MOST_SESSIONS]):
        key = keys.get("sessions" if number else "last_session", "/sessions")
        title = on_one_line(one.title) or "(no input yet)"
        title = title if len(title) <= MOST_TITLE else f"{title[: MOST_TITLE - 1]}…"
        about = f"{counted(one.turns, 'turn')}, {one.updated[5:16].replace('T', ' ')}"
        lines.append(_row("" if number else "Resume", f"{key if number < 2 else '':<5}  {title} · {about}"))
    return lines


def _listed(keys: Mapping[str, str], words: Mapping[str, str]) -> str:
    return " · ".join(f"{keys[name]} {word}" for name, word in words.items() if keys.get(name))


def _row(label: str, text: str) -> Line:
    return Line(f"  {label:<{LABEL}}{text}", "dim")
