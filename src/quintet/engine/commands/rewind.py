"""/rewind, /undo and /fork: back to before a turn, here or in a session of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quintet.domain.base.errors import ToolFailed, UsageError
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.base.text_table import table
from quintet.domain.base.wording import counted
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.journal.file_changes import LeftAlone
from quintet.domain.journal.protocol import Rewound
from quintet.domain.memory.shown import forgotten_by
from quintet.engine.checkpoints.rewind import Prospect, is_folder, look_ahead, take_back
from quintet.engine.checkpoints.rewind_points import Point, moved_by, newest_change, point_at, points_of
from quintet.engine.checkpoints.rewind_preview import (
    changed_since,
    left_lines,
    lines_changed,
    preview_lines,
    verb,
    worth_showing,
)
from quintet.engine.session.command_context import CommandContext, CommandOutcome
from quintet.engine.session.open_session import fork_session

WHAT = ("files", "conversation", "both")
MOST_LISTED = 20  # points
MOST_TOLD = 200  # files in the data


async def rewind(context: CommandContext, line: CommandLine) -> CommandOutcome:
    number, what = (*line.words, "", "")[:2]
    if len(line.words) > 2 or what.lower() not in ("", *WHAT):
        raise UsageError(f"/rewind N takes one of {', '.join(WHAT)}; without it, it only shows what would happen")
    if what and context.busy:
        raise UsageError("a run is active; /stop it first, then /rewind")
    await context.settled()
    points = points_of(context.core.store, context.state.session)
    try:
        if not number:
            return _list(points, await context.core.checkpoints.kept())
        to = point_at(points, number)
        if what in ("both", "conversation") and to.id not in context.state.conversation.marks:
            raise UsageError(f"the conversation before {number} was removed; /rewind {number} files restores files")
        core, seen = context.core, None
        if what != "conversation":
            seen = await look_ahead(core.checkpoints, points, to, core.turn.toolbox.terms.protection)
        if not what and seen:
            return _preview(context, to, seen)
        return await _done(context, to, what.lower(), seen, points)
    except ToolFailed as error:
        raise UsageError(f"/rewind failed, or was only partly done: {error}. You can repeat it") from error


async def undo(context: CommandContext, line: CommandLine) -> CommandOutcome:
    """The files of the last turn that changed any, as `/rewind N files` takes them back: first shown, then done."""
    if line.words not in ((), ("yes",)):
        raise UsageError("/undo shows what would be restored; /undo yes does it")
    if line.words and context.busy:
        raise UsageError("a run is active; /stop it first, then /undo yes")
    await context.settled()
    core = context.core
    points = points_of(core.store, context.state.session)
    to = newest_change(points)
    if to is None:
        raise UsageError("there is nothing to undo: no change of this session is left in the files")
    try:
        seen = await look_ahead(core.checkpoints, points, to, core.turn.toolbox.terms.protection)
        if line.words:
            return await _done(context, to, "files", seen, points)
    except ToolFailed as error:
        raise UsageError(f"/undo failed, or was only partly done: {error}. You can repeat it") from error
    lines = preview_lines(core, context.state, to, seen, conversation=False)
    lines.append("/undo yes does it; the conversation stays")
    return CommandOutcome("\n".join(lines), data={"rewind": _seen_data(to, seen, None)})


async def _done(
    context: CommandContext, to: Point, what: str, seen: Prospect | None, points: Sequence[Point]
) -> CommandOutcome:
    """Files first; where somebody stops that, the conversation stays, and the same rewind does the rest."""
    number = len(points) + 1
    point = context.core.ids.new("rewind")
    events, left = await take_back(context.core.checkpoints, seen, point, context.note) if seen else ([], [])
    failed = {one.path for one in left}
    interrupted = any(one.interrupted for one in left)
    restored = sum(not is_folder(one) and one.path not in failed for one in seen.plan.restore) if seen else 0
    rewound = Rewound(
        point=point,
        to=to.id,
        files=what != "conversation",
        conversation=what != "files" and not interrupted,
        restored=restored,
        left=tuple(on_one_line(one.path) for one in left[:MOST_LISTED]),
    )
    head = "rewind interrupted" if interrupted else f"rewound to before {to.number}"
    said = [f"{head}: {_said(rewound)}", *left_lines(left, seen.lacking if seen else [])]
    if restored:
        said += await _what_stays(context, points, to)
    rest = f"/rewind {to.number} {what} does the rest; " if interrupted else ""
    data = {"to": to.number, "what": what, "restored": restored, "left": _told(left), "undo": number}
    text = "\n".join([*said, f"{rest}/rewind {number} {what} undoes this"])
    return CommandOutcome(text, [*events, rewound], data={"rewind": data}, interrupted=interrupted)


async def _what_stays(context: CommandContext, points: Sequence[Point], to: Point) -> list[str]:
    """What was concluded from the files that were taken back, and is not taken back with them.

    The memory is told of both, the files that go and those that come back; what it has of the former no longer holds.
    """
    taken, given = moved_by(points, to)
    tasks = [f"  {task}  {on_one_line(title)}" for point in taken for task, title in point.done.items()]
    lines = [f"  {text.removeprefix('learnt').strip()}" for point in taken for text in point.learnt.values()]
    gone: list[str] = []
    lessons, ids = context.core.turn.lessons, (_remembered(taken), _remembered(given))
    if lessons and any(ids) and (left := await lessons.rewound(*ids)):
        lines = [f"  {one.line}" for one in left if one.holds]
        gone = [f"  {one.line}" for one in left if not one.holds]
    return [
        *(["stays done, as a task; quintet tasks add takes a new one:", *tasks] if tasks else []),
        *(["stays remembered:", *lines] if lines else []),
        *(["remembered, but no longer recalled:", *gone] if gone else []),
    ]


def _remembered(points: Sequence[Point]) -> list[str]:
    return [id for point in points for command in point.learnt for id in forgotten_by(command)]


def _said(rewound: Rewound) -> str:
    files = f"{counted(rewound.restored, 'file')} restored" if rewound.files else "files unchanged"
    return f"{files}, conversation {'shortened' if rewound.conversation else 'unchanged'}"


def _list(points: list[Point], there: set[str]) -> CommandOutcome:
    if not points:
        return CommandOutcome("there is no turn to rewind yet", data={"points": []})
    rows = [(str(p.number), p.at[:16].replace("T", " "), changed_since(p, there), on_one_line(p.title)) for p in points]
    lines = table(rows[-MOST_LISTED:], right=(0,))
    more = [f"{len(rows) - len(lines)} earlier"] if len(rows) > len(lines) else []
    data = [_as_data(point, there) for point in points[-MOST_LISTED:]]
    last = "/rewind N shows what a rewind to before N would do; /rewind N files|conversation|both does it"
    return CommandOutcome("\n".join([*more, *lines, last]), data={"points": data})


def _as_data(point: Point, there: set[str]) -> dict[str, Any]:
    files, added, removed = point.totals
    return {
        "number": point.number,
        "point": point.id,
        "at": point.at,
        "title": point.title,
        "files": files,
        "added": added,
        "removed": removed,
        "kept": point.id in there,
    }


def _preview(context: CommandContext, to: Point, seen: Prospect) -> CommandOutcome:
    lines = preview_lines(context.core, context.state, to, seen)
    lines.append(f"/rewind {to.number} both does this; use files or conversation for only one of them")
    mark = context.state.conversation.marks.get(to.id)
    return CommandOutcome("\n".join(lines), data={"rewind": _seen_data(to, seen, mark.count if mark else None)})


def _seen_data(to: Point, seen: Prospect, messages: int | None) -> dict[str, Any]:
    files = worth_showing(seen.plan.restore)
    return {
        "to": to.number,
        "files": len(files),
        "restore": [
            {"path": on_one_line(f.path), "does": verb(f), "lines": lines_changed(seen, f)} for f in files[:MOST_TOLD]
        ],
        "left": _told(seen.plan.left),
        "lacking": _told(seen.lacking),
        "messages": messages,
    }


def _told(items: Sequence[LeftAlone]) -> list[dict[str, str]]:
    return [{"path": on_one_line(one.path), "reason": one.reason} for one in items[:MOST_TOLD]]


async def fork(context: CommandContext, line: CommandLine) -> CommandOutcome:
    at = line.words[0] if line.words else ""
    forked = await fork_session(context.core, context.state.session, at)
    return CommandOutcome(f"forked as {forked}; open it with: quintet --resume {forked}", data={"session": forked})
