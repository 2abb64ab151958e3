"""/rewind and /fork: back to before a turn, here or in a session of its own."""

from __future__ import annotations

from typing import Any

from quintet.domain.changes import LeftAlone, Restoration
from quintet.domain.command_line import CommandLine
from quintet.domain.errors import UsageError
from quintet.domain.protocol import Event, Rewound
from quintet.domain.visible import visible
from quintet.engine.desk import Desk, Outcome
from quintet.engine.points import Point, point_at, points_of
from quintet.engine.rewinding import Prospect, is_folder, look_ahead, take_back

WHAT = ("files", "conversation", "both")
MOST_LISTED = 20  # points
MOST_SHOWN = 40  # files


async def rewind(desk: Desk, line: CommandLine) -> Outcome:
    points = points_of(desk.core.store, desk.state.session)
    if not line.words:
        return await _list(desk, points)
    number, what = line.words[0], line.words[1].lower() if len(line.words) > 1 else ""
    if (what and what not in WHAT) or len(line.words) > 2:
        raise UsageError(f"/rewind N takes one of {', '.join(WHAT)}; without it, it shows what it would do")
    to = point_at(points, number)
    if what and desk.state.turn is not None:
        raise UsageError("a run is active; /stop ends it, then /rewind")
    if what != "files" and what and to.id not in desk.state.marks:
        raise UsageError(f"the conversation before {to.number} is no longer kept; /rewind {to.number} files may work")
    kept = desk.core.checkpoints
    if kept is None or (what == "conversation"):
        seen = None
    else:
        await desk.settled()
        seen = await look_ahead(kept, points, to)
    if not what:
        return _preview(to, seen, len(points))
    point = desk.core.ids.new("rewind")
    events: list[Event] = []
    left: list[LeftAlone] = []
    if seen and kept:
        events, left = await take_back(kept, seen, point, desk.note)
    failed = {one.path for one in left}
    done = sum(not is_folder(one) and one.path not in failed for one in seen.plan.restore) if seen else 0
    rewound = Rewound(
        point=point,
        to=to.id,
        files=what != "conversation",
        conversation=what != "files",
        restored=done,
        left=tuple(visible(one.path) for one in left[:MOST_LISTED]),
    )
    said = [f"back to before {to.number}: {_said(rewound)}", *_left_lines(left, seen.lacking if seen else [])]
    said.append(f"/rewind {len(points) + 1} takes this back")
    data: dict[str, Any] = {
        "to": to.number,
        "what": what,
        "restored": done,
        "left": _told(left),
        "undo": len(points) + 1,
    }
    return Outcome("\n".join(said), [*events, rewound], data={"rewind": data})


def _said(rewound: Rewound) -> str:
    files = f"{_count(rewound.restored, 'file')} restored" if rewound.files else "files as they are"
    return f"{files}, conversation {'cut there' if rewound.conversation else 'as it is'}"


async def _list(desk: Desk, points: list[Point]) -> Outcome:
    if not points:
        return Outcome("there is no turn to go back to yet", data={"points": []})
    there = await desk.core.checkpoints.kept() if desk.core.checkpoints else set()
    rows = [(str(p.number), p.at[:16].replace("T", " "), _about(p, there), visible(p.title)) for p in points]
    shown = rows[-MOST_LISTED:]
    widths = [max(len(row[column]) for row in shown) for column in range(3)]
    lines = [
        f"{number:>{widths[0]}}  {at:<{widths[1]}}  {about:<{widths[2]}}  {title}" for number, at, about, title in shown
    ]
    more = [f"{len(rows) - len(shown)} before these"] if len(rows) > len(shown) else []
    data = [_as_data(point, there) for point in points[-MOST_LISTED:]]
    last = "/rewind N shows what going back to before N would do; /rewind N files|conversation|both does it"
    return Outcome("\n".join([*more, *lines, last]), data={"points": data})


def _about(point: Point, there: set[str]) -> str:
    files, added, removed = point.totals
    if not files:
        return "no files"
    kept = "" if point.id in there else ", not kept"
    return f"{_count(files, 'file')} +{added} −{removed}{kept}"


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


def _preview(to: Point, seen: Prospect | None, last: int) -> Outcome:
    lines = [f"{to.number}  {to.at[:16].replace('T', ' ')}  {visible(to.title)}"]
    data: dict[str, Any] = {"to": to.number, "restore": [], "left": [], "lacking": []}
    if seen is None:
        lines.append("checkpoints are off (checkpoints.enabled): only the conversation can go back")
    else:
        files = _worth_showing(seen.plan.restore)
        lines.append(f"{_count(len(files), 'path')} to restore" if files else "no file to restore")
        width = max((len(visible(one.path)) for one in files[:MOST_SHOWN]), default=0)
        lines += [
            f"  {_verb(one):<12}{visible(one.path):<{width}}  {_lines(seen, one)}".rstrip()
            for one in files[:MOST_SHOWN]
        ]
        lines += [f"  … {len(files) - MOST_SHOWN} more"] if len(files) > MOST_SHOWN else []
        lines += _left_lines(seen.plan.left, seen.lacking)
        data["restore"] = [
            {"path": visible(one.path), "does": _verb(one), "lines": _lines(seen, one)} for one in files[:200]
        ]
        data |= {"left": _told(seen.plan.left), "lacking": _told(seen.lacking), "files": len(files)}
    turns = last - to.number + 1
    lines.append(f"the conversation loses {_count(turns, 'turn')}")
    lines.append(f"/rewind {to.number} both does it; so do files and conversation alone")
    return Outcome("\n".join(lines), data={"rewind": data})


def _worth_showing(wanted: tuple[Restoration, ...]) -> list[Restoration]:
    """Without the folders that come and go with a file in them."""
    above = {one.path.rpartition("/")[0] for one in wanted if not is_folder(one)}
    return [one for one in wanted if not is_folder(one) or not any(f"{a}/".startswith(f"{one.path}/") for a in above)]


def _verb(one: Restoration) -> str:
    if not one.target:
        return "remove"
    return "bring back" if not one.now else "restore"


def _lines(seen: Prospect, one: Restoration) -> str:
    if is_folder(one):
        return "folder"
    added, removed = seen.lines[one.path]
    return f"+{added} −{removed}"


def _left_lines(left: tuple[LeftAlone, ...] | list[LeftAlone], lacking: list[LeftAlone]) -> list[str]:
    lines = []
    for title, items in (("left alone", left), ("not covered", lacking)):
        if items:
            shown = items[:MOST_SHOWN]
            width = max(len(visible(one.path)) for one in shown)
            lines.append(f"{title}:")
            lines += [f"  {visible(one.path):<{width}}  {one.reason}" for one in shown]
            lines += [f"  … {len(items) - len(shown)} more"] if len(items) > len(shown) else []
    return lines


def _told(items: tuple[LeftAlone, ...] | list[LeftAlone]) -> list[dict[str, str]]:
    return [{"path": visible(one.path), "reason": one.reason} for one in items[:200]]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s'[: number != 1]}"


async def fork(desk: Desk, line: CommandLine) -> Outcome:
    at = line.words[0] if line.words else ""
    forked = await desk.fork(at)
    return Outcome(f"forked as {forked}; open it with: quintet --resume {forked}", data={"session": forked})
