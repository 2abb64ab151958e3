"""/diff: what this session changed, or its last turn, line by line with numbers.

Only what the session's own calls changed is shown, as a rewind would take it back; the rest is `git diff`.
"""

from __future__ import annotations

from quintet.domain.base.errors import ToolFailed, UsageError
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.base.wording import counted
from quintet.domain.edits.numbered_diff import numbered
from quintet.domain.input.slash_line import CommandLine
from quintet.engine.checkpoints.rewind import is_folder, look_ahead
from quintet.engine.checkpoints.rewind_points import Point, newest_change, point_at, points_of
from quintet.engine.checkpoints.rewind_preview import left_lines, worth_showing
from quintet.engine.session.command_context import CommandContext, CommandOutcome

LAST = "last"
MOST_LINES = 2_000


async def diff(context: CommandContext, line: CommandLine) -> CommandOutcome:
    await context.settled()
    core = context.core
    points = points_of(core.store, context.state.session)
    to = _since(points, line.words)
    if to is None:
        return CommandOutcome("this session has changed no file", data={"diff": "", "files": 0})
    try:
        seen = await look_ahead(core.checkpoints, points, to, core.turn.toolbox.terms.protection)
        files = [one for one in worth_showing(seen.plan.restore) if not is_folder(one)]
        texts = await core.checkpoints.diffs([(one.path, one.target, one.now) for one in files])
    except ToolFailed as error:
        raise UsageError(f"/diff: {error}") from error
    shown: list[str] = []
    for one, text in zip(files, texts, strict=True):
        removed, added = seen.lines[one.path]  # as taking it back would
        what = "new" if not one.target else "deleted" if not one.now else "changed"
        shown += [f"{on_one_line(one.path)}  {what}  +{added} −{removed}", *numbered(text), ""]
    if len(shown) > MOST_LINES:
        shown = [*shown[:MOST_LINES], f"… {len(shown) - MOST_LINES} more lines; /diff last shows the last turn alone"]
    total = [sum(seen.lines[one.path][column] for one in files) for column in (1, 0)]
    head = f"since before turn {to.number}: {counted(len(files), 'file')}, +{total[0]} −{total[1]}"
    left = left_lines(seen.plan.left, [])
    raw = "\n".join(texts)
    return CommandOutcome("\n".join([head, "", *shown, *left]).rstrip(), data={"diff": raw, "files": len(files)})


def _since(points: list[Point], words: tuple[str, ...]) -> Point | None:
    """Before which point: the first, the last that changed something, or one by its number."""
    if len(words) > 1:
        raise UsageError("/diff [last|N]: the whole session, its last turn, or everything since before turn N")
    if words and words[0] != LAST:
        return point_at(points, words[0])
    if words:
        return newest_change(points)
    return next((point for point in points if point.changes), None)
