"""What leaves a session through a channel, and how much of it: from an event to a message. Pure.

`none` says that something happened, `summary` leaves out diffs and the rest of long texts, `full` sends what fits into
a message. Secrets are taken out of all of them, by whoever sends.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from quintet.domain.base.safe_text import visible
from quintet.domain.base.wording import counted
from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.journal import protocol as p
from quintet.domain.permission.answers import WORDS
from quintet.domain.permission.question import split_detail
from quintet.domain.turn.messages import EndStatus
from quintet.features.remote.settings import RemoteDetail
from quintet.features.remote.texts import MOST_ASKED, MOST_SHOWN, choices_of, is_shown

SUMMARY, FULL = 700, MOST_SHOWN  # characters of a text
HEADS = {
    EndStatus.DONE: "Done",
    EndStatus.FAILED: "Failed",
    EndStatus.BLOCKED: "Blocked",
    EndStatus.LIMIT: "Limit reached",
    EndStatus.INTERRUPTED: "Interrupted",
    EndStatus.CANCELLED: "Cancelled",
    EndStatus.WAITING: "Needs your input",
    EndStatus.PAUSED: "Paused",
}
_HUNK = re.compile(r"@@ .*@@|diff --git |--- \S|\+\+\+ \S")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*(\w*)")
_CODE = re.compile(  # FILE:LINE:TEXT, or indented and no item of a list
    r"\s*[^\s:]*[./][^\s:]*:\d+[:-]|(?: {4,}|\t)\s*(?!(?:[-*+•]|\d+[.)])\s)\S"
)


class RemoteNotice(Struct, frozen=True):
    """What an event says elsewhere."""

    text: str
    choices: tuple[tuple[str, str], ...] = ()
    question: str = ""
    urgent: bool = False


def question_notice(asked: p.QuestionAsked, detail: RemoteDetail, highest: PermissionProfile) -> RemoteNotice:
    offered = choices_of(asked, highest, detail)
    keys = tuple((one.key, one.label) for one in offered)
    lines = ["Needs your input."]
    if detail is not RemoteDetail.NONE:
        own, rest = split_detail(asked.detail)
        lines = [clipped(visible(asked.text), FULL if detail is RemoteDetail.FULL else MOST_ASKED), *own]
        if detail is RemoteDetail.FULL:
            lines.append(clipped("\n".join(rest), FULL))
        elif rest:
            lines.append(f'({_left_out(rest)}; remote.detail = "full" sends it)')
    if not is_shown(asked, detail):
        lines.append(f"Not everything is shown (remote.detail is {detail}): approve it at the computer.")
    if keys:
        lines.append(f"Answer: {' · '.join(f'{key} = {label}' for key, label in keys)}")
    return RemoteNotice("\n".join(filter(None, lines)), keys, asked.question, urgent=True)


def answered_notice(answered: p.QuestionAnswered, actor: str) -> RemoteNotice:
    """What became of a question; `actor` is whoever is told."""
    choice = WORDS.get(answered.choice, answered.choice)
    if answered.closed:
        text = f"That question is closed: {visible(answered.by)}"
    elif answered.by == actor:
        text = f"Answered: {choice}"
    else:
        where = f"on surface {answered.surface}" if answered.by == "user" else f"by {visible(answered.by)}"
        text = f"Answered elsewhere, {where}: {choice}"
    return RemoteNotice(text, question=answered.question)


def event_notice(event: p.Event, detail: RemoteDetail) -> RemoteNotice | None:
    """An end, a failure or a budget, as everybody is told it; None for the rest."""
    match event:
        case p.TurnFinished(cycle="") as e:
            why = e.reason or (e.error.message if e.error else "")
            return _ended(e.status, "" if why == e.status else why, e.answer, detail)
        case p.CycleStopped() as e:
            return _ended(e.status, e.reason, e.answer, detail)
        case p.Noticed(level="error") as e:
            return RemoteNotice(f"Problem: {e.code}{_with(e.text, detail)}", urgent=True)
    return None


def command_notice(ran: p.CommandRan, detail: RemoteDetail) -> RemoteNotice:
    """What a command said that was given from elsewhere; why it was not carried out is always said."""
    line = visible(ran.line.partition("\n")[0])[:60]
    if not ran.ok:
        return RemoteNotice(clipped(visible(ran.text), SUMMARY))
    if detail is RemoteDetail.NONE:
        return RemoteNotice(f"{line}: done")
    return RemoteNotice(shown(ran.text, detail) or f"{line}: done")


def shown(text: str, detail: RemoteDetail) -> str:
    """As much of a text as may leave."""
    match detail:
        case RemoteDetail.NONE:
            return ""
        case RemoteDetail.SUMMARY:
            return clipped(visible(without_diffs(text)).strip(), SUMMARY)
        case RemoteDetail.FULL:
            return clipped(visible(text).strip(), FULL)


def without_diffs(text: str) -> str:
    """The text with each diff, each block of code and the lines that a search found replaced by what they were."""
    kept: list[str] = []
    cut: list[str] = []
    fence = ""
    in_diff = False
    for line in text.split("\n"):
        if fence:
            cut.append(line)
            if line.strip().startswith(fence):
                fence = ""
                _close(kept, cut[:-1])
                cut = []
            continue
        if in_diff:
            if line[:1] in ("+", "-", " ", "\\", "@") or _HUNK.match(line) or line.startswith(("index ", "new file")):
                cut.append(line)
                continue
            _close(kept, cut)
            in_diff, cut = False, []
        if _CODE.match(line) and not _FENCE.match(line):
            cut.append(line)
            continue
        if cut:
            _close(kept, cut)
            cut = []
        if opened := _FENCE.match(line):
            fence = opened[1]
        elif _HUNK.match(line):
            in_diff, cut = True, [line]
        else:
            kept.append(line)
    if cut:
        _close(kept, cut)
    return "\n".join(kept)


def clipped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rstrip()} … ({len(text) - most} more characters)"


def _close(kept: list[str], cut: Sequence[str]) -> None:
    kept.append(f"({_left_out(cut)})")


def _left_out(lines: Sequence[str]) -> str:
    added = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("---") for line in lines)
    counts = f": +{added} −{removed}" if added or removed else ""
    return f"{counted(len(lines), 'line')} left out{counts}"


def _ended(status: EndStatus, why: str, answer: str, detail: RemoteDetail) -> RemoteNotice:
    bad = status in (EndStatus.FAILED, EndStatus.BLOCKED, EndStatus.LIMIT, EndStatus.WAITING)
    said = shown(answer, detail)
    text = f"{HEADS[status]}{_with(why, detail)}" + (f"\n{said}" if said else "")
    return RemoteNotice(text, urgent=bad)


def _with(why: str, detail: RemoteDetail) -> str:
    said = shown(why, detail)
    return f": {said}" if said else ""
