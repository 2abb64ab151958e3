"""A page that applies every frame shows what a page that is loaded now shows: no event is missing, none is double."""

from html.parser import HTMLParser
from typing import Any

from quintet.domain.dials.axes import Axes
from quintet.domain.journal import protocol as p
from quintet.domain.turn.tool_spec import CallStatus
from quintet.features.web_ui.blocks import WebTranscript


class _Ids(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if "b" in (named.get("class") or "").split() and named.get("id"):
            self.found.append(str(named["id"]))


class Page:
    """What a browser does with frames, without one."""

    def __init__(self, html: str) -> None:
        self.blocks = dict.fromkeys(_ids(html), "")
        self.order = list(self.blocks)

    def act(self, one: dict[str, Any]) -> None:
        if "drop" in one:
            self.order.remove(one["drop"])
        elif "put" in one and one["put"] not in self.order:
            after = one["after"]
            self.order.insert(self.order.index(after) + 1 if after else 0, one["put"])
        elif "grow" in one:
            assert one["grow"] in self.order


def _ids(html: str) -> list[str]:
    parser = _Ids()
    parser.feed(html)
    return parser.found


def events() -> list[p.Recorded | p.Signal]:
    axes = Axes()
    made: list[Any] = [
        p.TurnStarted(turn="t1", run="r", submission="s1", text="fix <it>", axes=axes),
        p.TextDelta(step="1", text="Looking "),
        p.TextDelta(step="1", text="at it.\n\nNext"),
        p.CallStreams(step="1", place=0, tool="Read", about="{}"),
        p.ModelReplied(step="1", text="Looking at it.\n\nNext"),
        p.ToolStarted(call="c1", turn="t1", tool="bash", arguments='{"command":"ls"}'),
        p.Progress(call="c1", text="a.py"),
        p.ToolFinished(call="c1", tool="bash", status=CallStatus.OK, content="a.py\nb.py", summary="2 lines"),
        p.Countdown(why="busy", seconds=3),
        p.TextDelta(step="2", text="Done"),
        p.ModelReplied(step="2", text="Done"),
        p.TurnFinished(turn="t1", status="done", answer="Done"),  # type: ignore[arg-type]
    ]
    signals = (p.TextDelta, p.CallStreams, p.Progress, p.Countdown)
    return [
        one if isinstance(one, signals) else p.Recorded(at, "2026-01-01T00:00:00Z", one)
        for at, one in enumerate(made, 1)
    ]


def test_frames_make_the_page_that_a_reload_makes() -> None:
    for flush_every in (1, 2, 3, 5, 100):
        story = WebTranscript()
        page = Page(story.html())
        for number, item in enumerate(events(), 1):
            story.apply(item)
            if number % flush_every == 0:
                for one in story.operations():
                    page.act(one)
        for one in story.operations():
            page.act(one)
        assert page.order == _ids(story.html()), flush_every


def test_what_a_person_says_is_text() -> None:
    story = WebTranscript()
    for item in events():
        story.apply(item)
    html = story.html()
    assert "fix &lt;it&gt;" in html
    assert "<it>" not in html
