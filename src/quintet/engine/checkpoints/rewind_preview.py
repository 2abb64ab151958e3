"""What /rewind lists and shows of going back, also for whoever looks before they say it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from quintet.domain.base.errors import ToolFailed, UsageError
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.base.text_table import table
from quintet.domain.base.wording import counted
from quintet.domain.journal.file_changes import LeftAlone, Restoration
from quintet.domain.journal.state import SessionState
from quintet.engine.checkpoints.rewind import Prospect, is_folder, look_ahead
from quintet.engine.checkpoints.rewind_points import Point, point_at, points_of
from quintet.engine.session.core import Core

MOST_SHOWN = 40  # files


class PointChoice(Struct, frozen=True):
    number: int
    at: str
    about: str  # files and lines that changed since
    title: str


async def points(core: Core, session: str) -> list[PointChoice]:
    found = points_of(core.store, session)
    there = await core.checkpoints.kept() if found else set()
    return [PointChoice(p.number, p.at[:16].replace("T", " "), changed_since(p, there), p.title) for p in found]


async def preview(core: Core, state: SessionState, number: str) -> list[str]:
    """What going back to before a turn would do, line by line."""
    found = points_of(core.store, state.session)
    to = point_at(found, number)
    try:
        seen = await look_ahead(core.checkpoints, found, to, core.turn.toolbox.terms.protection)
    except ToolFailed as error:
        raise UsageError(f"the effect on files cannot be shown: {error}") from error
    return preview_lines(core, state, to, seen)


def preview_lines(
    core: Core, state: SessionState, to: Point, seen: Prospect, *, conversation: bool = True
) -> list[str]:
    """What going back would do, for a person; without the conversation, to files alone."""
    lines = [f"{to.number}  {to.at[:16].replace('T', ' ')}  {on_one_line(to.title)}"]
    files = worth_showing(seen.plan.restore)
    lines.append(f"{counted(len(files), 'path')} to restore:" if files else "no file to restore")
    rows = [(verb(one), on_one_line(one.path), lines_changed(seen, one)) for one in files[:MOST_SHOWN]]
    lines += [f"  {row}" for row in table(rows)]
    lines += [f"  … {len(files) - MOST_SHOWN} more"] if len(files) > MOST_SHOWN else []
    lines += left_lines(seen.plan.left, seen.lacking)
    if not core.settings.checkpoints.enabled:
        lines.append("checkpoints are off (checkpoints.enabled), so no files are saved")
    if conversation and (mark := state.conversation.marks.get(to.id)):
        said = counted(len(state.conversation.messages), "message")
        lines.append(f"the conversation goes from {said} to {mark.count}")
    return lines


def changed_since(point: Point, there: set[str]) -> str:
    """The files and lines that a point's calls changed; `there` are the points whose files are still kept."""
    files, added, removed = point.totals
    if not files:
        return "no files"
    kept = "" if point.id in there else ", not saved"
    return f"{counted(files, 'file')} +{added} −{removed}{kept}"


def worth_showing(wanted: tuple[Restoration, ...]) -> list[Restoration]:
    """Without the folders that come and go with a file in them."""
    above = {one.path.rpartition("/")[0] for one in wanted if not is_folder(one)}
    return [one for one in wanted if not is_folder(one) or not any(f"{a}/".startswith(f"{one.path}/") for a in above)]


def verb(one: Restoration) -> str:
    if not one.target:
        return "remove"
    return "restore" if one.now else "recreate"


def lines_changed(seen: Prospect, one: Restoration) -> str:
    if is_folder(one):
        return "folder"
    added, removed = seen.lines[one.path]
    return f"+{added} −{removed}"


def left_lines(left: Sequence[LeftAlone], lacking: Sequence[LeftAlone]) -> list[str]:
    lines = []
    for title, items in (("unchanged", left), ("not covered", lacking)):
        if items:
            rows = table([(on_one_line(one.path), one.reason) for one in items[:MOST_SHOWN]])
            lines += [f"{title}:", *(f"  {row}" for row in rows)]
            lines += [f"  … {len(items) - MOST_SHOWN} more"] if len(items) > MOST_SHOWN else []
    return lines
