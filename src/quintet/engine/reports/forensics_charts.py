"""The charts of a forensics page, as inline SVG whose shapes stand at percentages, so that text keeps its size.

Time is that of turns; what lies between them is drawn narrow. Shapes that would fall onto the same thousandth of the
width are joined, so a chart has the same size for three steps and for three thousand.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from msgspec import Struct

from quintet.domain.base.safe_text import visible
from quintet.domain.dials import badge
from quintet.engine.reports.activities import epoch
from quintet.engine.reports.forensics import Band, Forensics, TimedSpan
from quintet.engine.reports.forensics_text import turn_of

GAP = 0.012  # of the width, at most, for what lies between two turns
ALL_GAPS = 0.15
GRAIN = 1000  # places a shape can begin at
LEAST = 0.0015  # of the width, that a shape has at any rate
ROLES = {"ok": "ok", "done": "ok", "error": "error", "failed": "error"}  # every other outcome is a warning
WEIGHT = {"ok": 0, "warning": 1, "error": 2}
AXES = (("work mode", 0), ("run control", 1), ("permission profile", 2), ("model mode", 3))
LABELLED = 0.08  # a band at least as wide as this has its word in it


def e(text: object) -> str:
    """Text that is nothing but text in a page, wherever it came from."""
    return escape(visible(str(text)))


class Scale:
    """From a moment to its place between 0 and 1."""

    def __init__(self, found: Forensics) -> None:
        turns = sorted((span.begin, span.end) for span in found.spans if span.lane == "turn")
        begin = epoch(found.report.began) if found.report.began and found.first_turn == 1 else 0.0
        ends = [span.end for span in found.spans]
        if not turns:
            begin = begin or min((span.begin for span in found.spans), default=0.0)
            turns = [(begin, max([begin + 1.0, *ends]))]
        elif ends and max(ends) > turns[-1][1]:  # of a turn that still goes on
            turns.append((max(turns[-1][1], found.spans[-1].begin), max(ends)))
        self.began, self.ended = turns[0][0], turns[-1][1]
        gap = min(GAP, ALL_GAPS / len(turns))
        self.gaps = len(turns) - 1
        active = sum(max(end - start, 0.05) for start, end in turns)
        room, place = 1.0 - gap * self.gaps, 0.0
        self._moments: list[float] = []
        self._places: list[float] = []
        for start, end in turns:
            self._moments += [start, max(end, start + 1e-6)]
            width = room * max(end - start, 0.05) / active
            self._places += [place, place + width]
            place += width + gap

    def __call__(self, moment: float) -> float:
        at = bisect_right(self._moments, moment)
        if at == 0:
            return 0.0
        if at == len(self._moments):
            return 1.0
        before, after = self._moments[at - 1], self._moments[at]
        share = (moment - before) / (after - before) if after > before else 0.0
        return self._places[at - 1] + share * (self._places[at] - self._places[at - 1])


class Shape(Struct):
    x: float
    end: float
    role: str
    count: int = 1


def joined(spans: Iterable[TimedSpan], scale: Scale) -> list[Shape]:
    """The spans of a lane as shapes; of those that fall together the worst outcome is seen."""
    shapes: list[Shape] = []
    for span in sorted(spans, key=lambda span: span.begin):
        x = int(scale(span.begin) * GRAIN) / GRAIN
        end = max(scale(span.end), x + LEAST)
        role = ROLES.get(span.outcome, "warning")
        last = shapes[-1] if shapes else None
        if last and x < last.end and (last.role == role or x == last.x):
            last.end, last.count = max(last.end, end), last.count + 1
            last.role = max(last.role, role, key=WEIGHT.__getitem__)
        else:
            shapes.append(Shape(min(x, 1.0 - LEAST), min(end, 1.0), role))
    return shapes


def _rect(x: float, width: float, role: str, more: str = "") -> str:
    return f'<rect class="{role}" x="{100 * x:.2f}%" width="{100 * width:.2f}%" height="100%"{more}/>'


def _lane(name: str, body: str, kind: str = "") -> str:
    return f'<div class="lane"><span>{e(name)}</span><svg{kind} role="img" aria-label="{e(name)}">{body}</svg></div>\n'


def timeline(found: Forensics) -> Iterator[str]:
    """Turns, axes, requests by stage, tools and cost, each in a lane over the same time."""
    scale = Scale(found)
    yield _lane("turns", "".join(_turns(found, scale)))
    yield '<div class="group">\n'
    for name, place in AXES:
        yield _lane(name, "".join(_bands(found.bands, place, scale)))
    yield '</div>\n<div class="group">\n'
    lanes: dict[str, list[TimedSpan]] = {}
    for span in found.spans:
        lanes.setdefault(span.lane, []).append(span)
    for stage in sorted(lanes.keys() - {"turn", "tools"}, key=list(lanes).index):
        yield _lane(stage, _shapes(joined(lanes[stage], scale)))
    if "tools" in lanes:
        yield _lane("tools", _shapes(joined(lanes["tools"], scale)))
    yield "</div>\n"
    if found.report.total.cost:
        yield '<div class="group">\n'
        yield _lane(f"cost, up to {found.report.total.cost:.4f}", _area(found.spans, scale), ' class="tall"')
        yield "</div>\n"


def _shapes(shapes: Iterable[Shape]) -> str:
    return "".join(_rect(shape.x, shape.end - shape.x, shape.role) for shape in shapes)


def _turns(found: Forensics, scale: Scale) -> Iterator[str]:
    spans = [span for span in found.spans if span.lane == "turn"]
    for place, span in enumerate(spans):
        number = found.first_turn + place
        turn = turn_of(found, number)
        x, end = scale(span.begin), scale(span.end)
        role = ROLES.get(span.outcome, "warning")
        told = f"turn {number}: {span.outcome}, {turn.text[:80] if turn else ''}"
        body = _rect(x, max(end - x, LEAST), "soft" if role == "ok" else role)
        yield f'<a href="#turn-{number}"><title>{e(told)}</title>{body}</a>'


def _bands(bands: Sequence[Band], axis: int, scale: Scale) -> Iterator[str]:
    """One axis; equal neighbours are one band, and what is too narrow to be seen gives way to what follows."""
    words = [(scale(band.at), badge.labels(band.axes)[axis]) for band in bands]
    kept: list[tuple[float, str]] = []
    for x, word in words:
        if kept and x - kept[-1][0] < 1 / GRAIN:
            kept[-1] = (kept[-1][0], word)
        elif not kept or kept[-1][1] != word:
            kept.append((x, word))
    for (x, word), after in zip(kept, [*(x for x, _ in kept[1:]), 1.0], strict=True):
        label = f'<text x="6" y="12">{e(word)}</text>' if after - x >= LABELLED else ""
        yield (
            f'<svg x="{100 * x:.2f}%" width="{100 * (after - x):.2f}%"><title>{e(word)}</title>'
            f"{_rect(0, 1, badge.ROLES[word])}{label}</svg>"
        )


def _area(spans: Iterable[TimedSpan], scale: Scale) -> str:
    """What was spent so far, at each moment."""
    paid = sorted((span.end, span.cost) for span in spans if span.cost)
    total = sum(cost for _, cost in paid)
    steps: list[str] = []
    spent, last = 0.0, -1
    for moment, cost in paid:
        spent += cost
        x = int(scale(moment) * GRAIN)
        step = f"H{x}V{100 - 96 * spent / total:.1f}"
        if x == last:
            steps[-1] = step
        else:
            steps.append(step)
        last = x
    path = f"M0 100{''.join(steps)}H{GRAIN}V101H0Z"
    return (
        f'<svg viewBox="0 0 {GRAIN} 100" preserveAspectRatio="none" width="100%" height="100%">'
        f'<path class="area" d="{path}"/></svg>'
    )


def bar(parts: Sequence[tuple[float, str]], most: float) -> str:
    """A bar of parts one after the other, as long as their sum is of `most`."""
    x, rects = 0.0, [_rect(0, 1, "t")]
    for value, role in parts:
        width = value / most if most else 0.0
        if width:
            rects.append(_rect(x, max(width, 0.01), role))
        x += width
    return f'<svg class="bar" aria-hidden="true">{"".join(rects)}</svg>'


def legend(items: Iterable[tuple[str, str]], lead: str = "") -> str:
    dots = [
        f'<li><svg aria-hidden="true"><rect class="{role}" width="10" height="10" rx="2"/></svg>{e(word)}</li>'
        for word, role in items
    ]
    head = f"<li><b>{e(lead)}</b></li>" if lead else ""
    return f'<ul class="legend">{head}{"".join(dots)}</ul>\n'
