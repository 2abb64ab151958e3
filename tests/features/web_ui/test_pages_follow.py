"""A page that applies every frame shows what a page that is loaded now shows: no event is missing, none is double."""

import re
from html.parser import HTMLParser
from typing import Any

from quintet.domain.dials.axes import Axes
from quintet.domain.journal import protocol as p
from quintet.domain.tasks.cycle_phases import CyclePhase
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
    """What a browser does with frames, without one: an id means the first element in the document that has it."""

    def __init__(self, html: str) -> None:
        assert not _ids(html)
        self.blocks: dict[str, str] = {}
        self.order: list[str] = []

    def act(self, one: dict[str, Any]) -> None:
        if "drop" in one:
            assert self._holder(one["drop"]) == one["drop"]
            self.order.remove(one["drop"])
        elif "put" in one:
            if one["put"] in self.order:
                assert self._holder(one["put"]) == one["put"]
            else:
                after = one["after"]
                self.order.insert(self.order.index(after) + 1 if after else 0, one["put"])
            self.blocks[one["put"]] = one["html"]
        elif "grow" in one:
            assert self._holder(one["grow"]) == one["grow"]

    def _holder(self, id: str) -> str:
        """The first block of the page in which that id is found."""
        return next(name for name in self.order if f' id="{id}"' in self.blocks[name])

    def running(self) -> int:
        return sum(self.blocks[name].count(">running<") for name in self.order)


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


def unit(number: int) -> list[p.Event]:
    """One task of a plan that runs: its last call ends after it is verified."""
    task, turn, first, last = f"task-{number}", f"t{number}", f"a{number}", f"z{number}"
    moved = p.CycleMoved(run="r", phase=CyclePhase.EXECUTING, iteration=1, task=task, title=task, current=1, total=2)
    return [
        moved,
        p.TurnStarted(turn=turn, run="r", submission="", text=task, axes=Axes()),
        p.ToolStarted(call=first, turn=turn, tool="Read", arguments='{"file_path": "a.py"}'),
        p.ToolFinished(call=first, tool="Read", status=CallStatus.OK, content="x", summary="1 line"),
        p.ModelReplied(step=task, text="Now the tests."),
        p.ToolStarted(call=last, turn=turn, tool="bash", arguments='{"command": "pytest -q"}'),
        p.TaskVerified(run="r", task=task, title=task, passed=True, by="native"),
        p.ToolFinished(call=last, tool="bash", status=CallStatus.OK, content="ok", summary="12 passed"),
    ]


def test_calls_that_are_folded_into_one_row_stand_there_only() -> None:
    made = [*unit(1), *unit(2)]
    for flush_every in (1, 2, 3, 5, 100):
        story = WebTranscript()
        page = Page(story.html())
        for number, event in enumerate(made, 1):
            story.apply(p.Recorded(number, "2026-01-01T00:00:00Z", event))
            if number % flush_every == 0:
                for one in story.operations():
                    page.act(one)
        for one in story.operations():
            page.act(one)
        loaded = story.html()
        assert page.order == _ids(loaded), flush_every
        assert "".join(page.blocks[name] for name in page.order) == loaded, flush_every
        assert page.running() == 0
        assert re.findall(r'data-seq="(\d+)"><details[^>]*><summary class="ok"><b>(\w+)', loaded) == [
            *(("3", "Read"), ("6", "bash")),
            *(("11", "Read"), ("14", "bash")),
        ]


def test_what_a_person_says_is_text() -> None:
    story = WebTranscript()
    for item in events():
        story.apply(item)
    html = story.html()
    assert "fix &lt;it&gt;" in html
    assert "<it>" not in html


def test_what_an_executor_says_is_a_block_of_the_page() -> None:
    story = WebTranscript()
    story.apply(p.Recorded(1, "2026-01-01T00:00:00Z", p.ExecutorSaid(call="c", text="Working **on** it")))
    assert "Working <strong>on</strong> it" in story.html()


def test_a_diff_keeps_the_blanks_that_its_rows_begin_with() -> None:
    story = WebTranscript()
    text = "a.py\n     def f():\n-        old\n+        new"
    ran = p.CommandRan(submission="s", line="/diff", text=text, data={"diff": "a.py"}, ok=True)
    story.apply(p.Recorded(1, "2026-01-01T00:00:00Z", ran))
    html = story.html()
    assert 'class="b lines rows' in html
    assert [f">{line}</p>" in html for line in text.split("\n")] == [True] * 4
