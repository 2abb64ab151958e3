"""quintet sessions search: what people and models said is found again by its words, in an index of its own."""

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from quintet.adapters.files.paths import Places, locate
from quintet.domain.dials.axes import INTERACTIVE, Surface
from quintet.domain.journal import protocol as p
from quintet.domain.journal.protocol import Recorded
from quintet.domain.turn.tool_spec import CallStatus
from tests.made_sessions import AXES, BEGAN, Made, store
from tests.surfaces.program import PROGRAM, Program


def session(name: str, *said: str, began: datetime = BEGAN) -> list[Recorded]:
    """A session in which these inputs were given."""
    made = Made(name, began)
    events = [made.at(p.SessionOpened(session=name, project="/p", axes=INTERACTIVE, program="0"))]
    for n, text in enumerate(said):
        events.append(made.at(p.InputReceived(submission=f"s-{n}", text=text, surface=Surface.TUI), 1))
        started = p.TurnStarted(turn=f"t-{n}", run=f"r-{n}", submission=f"s-{n}", text=text, axes=AXES)
        events.append(made.at(started))
    return events


def found(quintet: Program, *words: str) -> list[dict[str, Any]]:
    hits: list[dict[str, Any]] = quintet.run("sessions", "search", "--json", *words).clean(0).json()
    return hits


def lines(quintet: Program, *words: str) -> list[str]:
    return [hit["line"] for hit in found(quintet, *words)]


def test_what_was_said_is_found_newest_first_with_its_place(quintet: Program) -> None:
    later = BEGAN + timedelta(days=1)
    store(quintet.root, session("q5-a", "mend the parser"), session("q5-b", "hello\nthe parser again", began=later))
    newest, oldest = found(quintet, "parser")
    assert newest == {
        "session": "q5-b",
        "at": "2026-01-06T09:00:01.000Z",
        "title": "hello the parser again",
        "seq": 5,
        "what": "you",
        "line": "the parser again",
        "matches": [[4, 10]],
    }
    assert (oldest["session"], oldest["seq"], oldest["line"]) == ("q5-a", 2, "mend the parser")
    assert quintet.run("sessions", "show", "q5-b", "--events").lines()[1]["seq"] == newest["seq"]
    text = quintet.run("sessions", "search", "parser", "--limit", "1").clean(0).out
    assert text.splitlines()[0].split()[:5] == ["2026-01-06", "09:00", "q5-b", "5", "you"]
    assert text.splitlines()[1:] == ["    the parser again", "1 of 2; --limit N shows more"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("cafe",), ["Öffne das Café um 8"]),
        (("CAFÉ", "offne"), ["Öffne das Café um 8"]),
        (("snake_case",), ["rename snake_case_name now"]),
        (("case snake",), []),
        (("name", "rename"), ["rename snake_case_name now"]),
        (("ren*",), ["rename snake_case_name now"]),
        (("ren",), []),
        (('say "hi"',), ['say "hi" AND OR NOT NEAR(x)']),
        (("NOT",), ['say "hi" AND OR NOT NEAR(x)']),
        (("NEAR(x",), ['say "hi" AND OR NOT NEAR(x)']),
        (("text:hi",), []),
        (("src/app.py:12",), ["look at src/app.py:12 first"]),
        (("Привет",), ["привет, мир"]),
        (("---", "мир"), ["привет, мир"]),
        (("nowhere",), []),
    ],
)
def test_words_are_words_whatever_is_in_them(quintet: Program, words: tuple[str, ...], expected: list[str]) -> None:
    said = (
        "Öffne das Café um 8",
        "rename snake_case_name now",
        'say "hi" AND OR NOT NEAR(x)',
        "look at src/app.py:12 first",
        "привет, мир",
    )
    store(quintet.root, session("q5-a", *said))
    assert lines(quintet, "--", *words) == expected
    if not expected:
        done = quintet.run("sessions", "search", "--", *words).clean(0)
        assert done.out == f"no session of this project contains {' and '.join(words)}\n"


def test_calls_files_answers_and_reports_are_found_and_outputs_are_not(quintet: Program) -> None:
    made = Made()
    events = list(made.events(6, output="needle in the output\n"))
    events.append(
        made.at(p.ReportMade(turn="turn-1", kind="review", subject="working-tree", path="/state/runs/r/review.md"))
    )
    changed = p.ToolFinished(call="c", tool="Edit", status=CallStatus.OK, content="diff", changed=("src/quark.py",))
    events.append(made.at(changed))
    events.append(made.at(p.TurnRated(turn="turn-1", rating=2, note="it took an eternity")))
    store(quintet.root, events)
    assert {hit["what"] for hit in found(quintet, "basket.py")} == {"call", "changed"}
    assert [hit["what"] for hit in found(quintet, "quark.py")] == ["changed"]
    assert [hit["what"] for hit in found(quintet, "review.md")] == ["report"]
    assert [hit["what"] for hit in found(quintet, "eternity")] == ["you"]
    assert {hit["what"] for hit in found(quintet, "first price")} == {"said", "answer"}
    assert [hit["what"] for hit in found(quintet, "Run: git push")] == ["question"]
    assert found(quintet, "needle") == []


def test_the_index_follows_the_journal_and_costs_appends_nothing(quintet: Program) -> None:
    quintet.run("-p", "find xylophone").clean(0)
    places = locate(str(quintet.root))
    assert not os.path.exists(places.history), "nothing is indexed until somebody searches"
    assert len(found(quintet, "xylophone")) >= 1
    quintet.run("-p", "find marimba").clean(0)
    assert found(quintet, "marimba")[-1]["line"] == "find marimba"
    assert os.stat(places.history).st_mode & 0o777 == 0o600


def corrupt(places: Places) -> None:
    Path(places.history).write_bytes(b"not a database" * 1000)


def halve(places: Places) -> None:
    whole = Path(places.history).read_bytes()
    Path(places.history).write_bytes(whole[: len(whole) // 2])


def remove(places: Places) -> None:
    os.unlink(places.history)


def another_journal(places: Places) -> None:
    """What `set aside and begin afresh` does to the event numbers."""
    os.unlink(places.database)
    later = BEGAN + timedelta(days=3)
    store(Path(places.root), session("q5-new", "other words", "walrus at last", "and more", "and more", began=later))


@pytest.mark.parametrize("harm", [corrupt, halve, remove, another_journal])
def test_the_index_can_be_lost_damaged_or_of_another_journal(quintet: Program, harm: Any) -> None:
    places = store(quintet.root, session("q5-old", "walrus one", "two", "three"))
    assert lines(quintet, "walrus") == ["walrus one"]
    before = Path(places.database).read_bytes()
    harm(places)
    assert lines(quintet, "walrus") == (["walrus at last"] if harm is another_journal else ["walrus one"])
    assert harm is another_journal or Path(places.database).read_bytes() == before
    assert not os.path.exists(os.path.join(places.state, "damaged"))


def test_a_purged_session_leaves_no_word_behind(quintet: Program) -> None:
    places = store(quintet.root, session("q5-keep", "kept words"), session("q5-gone", "confidential words"))
    assert len(found(quintet, "words")) == 2
    quintet.run("sessions", "purge", "q5-gone", "--yes").clean(0)
    assert not os.path.exists(places.history)
    assert lines(quintet, "words") == ["kept words"]
    assert b"confidential" not in Path(places.history).read_bytes()


def test_a_long_line_is_cut_around_its_match(quintet: Program) -> None:
    store(quintet.root, session("q5-a", f"{'word ' * 400}needle {'word ' * 400}"))
    (hit,) = found(quintet, "needle")
    begin, end = hit["matches"][0]
    assert hit["line"][begin:end] == "needle"
    assert hit["line"][0] == hit["line"][-1] == "…" and len(hit["line"]) < 260


def test_a_phrase_over_two_lines_is_found_and_shown_by_its_first(quintet: Program) -> None:
    store(quintet.root, session("q5-a", "one two\nthree four"))
    (hit,) = found(quintet, "two three")
    assert (hit["line"], hit["matches"]) == ("one two", [])


def test_at_a_terminal_matches_are_painted_and_indexing_is_told(quintet: Program) -> None:
    store(quintet.root, list(Made().events(1200)))
    search = ("env", "-u", "NO_COLOR", *PROGRAM, "sessions", "search", "discount", "--limit", "1")
    first = quintet.plain(command=search).leaves()[1]
    assert "indexing the journal, event 2,000 of" in first
    assert "\x1b[1;33mdiscount\x1b[0m" in first
    assert "indexing" not in quintet.plain(command=search).leaves()[1]


def test_what_was_said_cannot_write_to_the_terminal(quintet: Program) -> None:
    store(quintet.root, session("q5-a", "find \x1b]0;pwned\x07words"))
    text = quintet.run("sessions", "search", "words").clean(0).out
    assert "\x1b" not in text and "␛]0;pwned␇words" in text


def test_what_cannot_be_searched_for_is_said(quintet: Program) -> None:
    assert "no session of this project contains words" in quintet.run("sessions", "search", "words").clean(0).out
    assert found(quintet, "words") == []
    assert '"*** --" has no letter and no digit' in quintet.run("sessions", "search", "***", "--", "--").clean(2).err
    assert "--limit 0: not a number" in quintet.run("sessions", "search", "x", "--limit", "0").clean(2).err
    assert "WORDS" in quintet.run("sessions", "search").clean(2).err.upper()
