"""A session told step by step from its journal: as a fold, as text, and as a page that nothing said in it can leave."""

import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from quintet.domain.base.errors import UsageError
from quintet.domain.dials import badge
from quintet.domain.journal import protocol as p
from quintet.engine.reports import forensics
from quintet.engine.reports.forensics import CallEntry, Forensics, NoteEntry, RequestEntry, examine
from quintet.engine.reports.forensics_charts import GRAIN
from quintet.engine.reports.forensics_page import page
from quintet.engine.reports.forensics_text import forensics_lines
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.engine.reports.test_accounts import journal
from tests.made_sessions import Made, with_output

EVIL = "</script></pre><img src=x onerror=alert(1)><script>alert(2)</script>\x1b[2J"


def found(steps: int, *, turn: int | None = None, clip: int = 4000, **more: int) -> Forensics:
    return examine(Made().events(steps, **more), clip, turn)


def whole_page(of: Forensics) -> str:
    return "".join(page(of))


def test_each_request_call_and_decision_is_told_with_what_stands_behind_it(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("rename it")
        await driver.command("/mode plan")

    (repo / ".env").write_text("TOKEN=hunter22")
    edit = {"file_path": "tally/count.py", "old_string": "def words", "new_string": "def tokens"}
    model = ScriptedModel(
        [
            [call("Read", file_path="tally/count.py")],
            [call("Edit", **edit)],
            [call("Read", file_path=".env")],
            "renamed",
        ]
    )
    driver = drive(repo, script, model)
    told = examine(journal(*driver.seen), 4000)
    requests = [entry for entry in told.entries if isinstance(entry, RequestEntry)]
    assert [entry.request.stage for entry in requests if entry.request] == [
        e.stage for e in driver.of(p.ModelRequested)
    ]
    calls = [entry for entry in told.entries if isinstance(entry, CallEntry)]
    assert [(c.tool, c.verdict, c.status) for c in calls] == [
        ("Read", "allow", "ok"),
        ("Edit", "allow", "ok"),
        ("Read", "deny", "denied"),
    ]
    for entry, decided in zip(calls, driver.of(p.CallDecided), strict=True):
        assert (entry.reason, entry.effects) == (decided.reason, decided.effects)
        assert entry.badge == badge.full(decided.axes)
        assert driver.seen[entry.seq - 1] == decided, "the number is the one that `quintet why` takes"
    assert calls[1].changed == ("tally/count.py",)
    notes = [entry.what for entry in told.entries if isinstance(entry, NoteEntry)]
    assert {"dials_turned", "command_ran"} <= set(notes)
    assert [band.axes.work_mode for band in told.bands] == ["build", "plan"]
    text = "\n".join(line.text for line in forensics_lines(told))
    for words in ("rename it", "tally/count.py", calls[2].reason, calls[2].badge, f"{calls[2].seq}    Read"):
        assert words in text


def test_the_text_stands_in_columns_and_keeps_to_the_width() -> None:
    told = found(30)
    lines = [line.text for line in forensics_lines(told)]
    heading = next(line for line in lines if "AFTER" in line)
    rows = [line for line in lines if re.match(r" +[\d.:]+ +\d+  ", line)]
    assert len(rows) == len(told.entries)
    requests = [row for row, entry in zip(rows, told.entries, strict=True) if isinstance(entry, RequestEntry)]
    for word in ("EVENT", "IN", "OUT", "COST", "SECONDS"):
        end = heading.index(f" {word} ") + len(word) + 1
        assert all(row[end - 1].isdigit() and row[end] == " " for row in requests), word
    narrow = forensics_lines(told, 110)
    assert max(len(line.text) for line in narrow[20:]) <= 110
    assert any(line.text.endswith("…") for line in narrow)


def test_one_turn_is_told_alone() -> None:
    told = found(36, turn=2)
    assert [row.turn for row in told.report.turns] == ["turn-2"]
    assert {entry.turn for entry in told.entries} == {2}
    assert told.report.total.requests == 12
    assert 'id="turn-2"' in whole_page(told)
    for wrong in (0, 4):
        with pytest.raises(UsageError, match=rf"there is no turn {wrong} in session q5-made; it has 3"):
            found(36, turn=wrong)


def test_an_open_question_and_an_open_request_are_told_too() -> None:
    events = [r for r in Made().events(8) if not isinstance(r.event, p.QuestionAnswered | p.TurnFinished)]
    last = max(place for place, r in enumerate(events) if isinstance(r.event, p.ModelRequested))
    told = examine(events[: last + 1], 4000)
    request = told.entries[-1]
    assert isinstance(request, RequestEntry) and request.request and request.request.outcome == "open"
    assert any(isinstance(entry, NoteEntry) and entry.text.endswith("git push origin main?") for entry in told.entries)
    assert "q5-made" in whole_page(told)


def test_a_session_without_a_turn_has_a_page() -> None:
    told = examine(list(Made().events(0)), 4000)
    text = whole_page(told)
    assert "No turn yet" in text and "No model request yet." in text


class Tags(HTMLParser):
    """The elements of a page, their attributes, and the text between them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_nothing_that_was_said_becomes_part_of_the_page() -> None:
    evil = list(with_output(list(Made().events(14)), EVIL))
    for place, recorded in enumerate(evil):
        match recorded.event:
            case p.TurnStarted() | p.ModelReplied() as event:
                evil[place] = structs.replace(recorded, event=structs.replace(event, text=EVIL))
            case p.ModelRequested() as event:
                evil[place] = structs.replace(recorded, event=structs.replace(event, model=EVIL, stage=EVIL))
            case p.CallDecided() | p.ToolStarted() as event:
                evil[place] = structs.replace(recorded, event=structs.replace(event, tool=EVIL, arguments=EVIL))
            case p.SessionOpened() as event:
                evil[place] = structs.replace(recorded, event=structs.replace(event, session=EVIL, project=EVIL))
    tags = Tags()
    tags.feed(whole_page(examine(evil, 4000)))
    assert "img" not in tags.tags and tags.tags.count("script") == 1
    assert [name for name, _ in tags.attributes if name.startswith("on")] == []
    assert tags.text.count("<img src=x onerror=alert(1)>") > 10, "and it can be read as what it is"
    assert "\x1b" not in tags.text


def test_a_page_needs_nothing_from_anywhere() -> None:
    tags = Tags()
    tags.feed(whole_page(found(40)))
    assert not {"link", "iframe", "object", "embed", "base", "form"} & {*tags.tags} - {"link"}
    addresses = [value for name, value in tags.attributes if name in ("href", "src", "srcset", "action", "data")]
    assert addresses and all(value.startswith("#") or value == "data:," for value in addresses)
    policy = next(value for _, value in tags.attributes if "default-src" in value)
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy


def test_a_page_of_3000_steps_is_bounded_and_says_what_it_left_out() -> None:
    events = with_output(list(Made().events(3000)), "word " * 20_000)
    clip = forensics.allowance(len(events))
    text = whole_page(examine(events, clip))
    assert len(text) < 8_000_000
    assert "99,594 more characters" in text and f"cut at {clip:,} characters" in text
    assert text.count("<details") > 5_000
    assert text.count("<rect") < 14 * GRAIN, "charts do not grow with the steps"
    small = whole_page(examine(events[:16], 4000))
    assert len(small) < 100_000 + 16 * 4000


def test_of_a_very_long_session_the_newest_entries_are_kept_and_the_charts_have_all() -> None:
    per_step = 2.5  # entries, about
    told = found(int(forensics.MOST_ENTRIES / per_step * 2))
    assert len(told.entries) == forensics.MOST_ENTRIES and told.left_out > 0
    assert told.report.total.requests == sum(span.lane not in ("turn", "tools") for span in told.spans)
    assert f"{told.left_out:,} older entries are left out" in whole_page(told)
    assert any(f"{told.left_out:,} older entries" in line.text for line in forensics_lines(told))


def test_forensics_are_json() -> None:
    told = msgspec.json.decode(msgspec.json.encode(found(6)))
    assert {entry["kind"] for entry in told["entries"]} == {"request", "call", "note"}
    assert told["report"]["total"]["requests"] == 6


def test_the_session_makes_its_own_page(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("hello")
        ran = await driver.command("/forensics")
        path = Path(ran.data["path"])
        assert ran.text == f"the page is {path}"
        assert path.name == "forensics.html" and driver.session.id in path.parts
        assert "hello" in path.read_text()
        one = await driver.command("/forensics --turn 1")
        assert one.data["path"].endswith("forensics-turn-1.html")
        for line, said in (("/forensics --turn x", "/forensics [--turn N]"), ("/forensics --turn 7", "no turn 7")):
            refused = await driver.command(line)
            assert not refused.ok and said in refused.text

    drive(repo, script)
