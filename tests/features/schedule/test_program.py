"""The program: add, work, look, on the command line and in a session; and what hostile words come to."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers
from quintet.adapters.settings.checkup import Checkup
from quintet.domain.base.errors import QuintetError
from quintet.features.schedule.board import rows
from quintet.features.schedule.cli import SCHEDULE
from quintet.features.schedule.run_once import arguments
from quintet.features.schedule.store import SqliteSchedules, database
from tests.adapters.model_server import Reply
from tests.cli.test_doctor import findings
from tests.features.schedule.made import work
from tests.surfaces.program import Model, Program, stuck_after

ADD = ("schedule", "add", "every 1h", "--name", "look")


def test_what_is_added_runs_as_a_headless_turn_and_is_in_the_history(quintet: Program) -> None:
    added = quintet.run(*ADD, "--json", "--", "find", "words").clean(0).json()
    assert added["work"]["text"] == "find words" and added["rule"]["type"] == "duration"
    ran = quintet.run("schedule", "run", "look", "--json").clean(0).lines()
    assert [one["event"] for one in ran] == ["started", "ended"] and ran[1]["result"] == "done"
    (past,) = quintet.run("schedule", "history", "--json").clean(0).json()
    assert (past["status"], past["exit_code"], past["session"]) == ("consumed", 0, ran[1]["session"])
    assert past["dispatched_at"] and past["consumed_at"] >= past["dispatched_at"]
    (opened,) = quintet.events("session_opened", past["session"])
    assert (opened["axes"]["surface"], opened["axes"]["permission_profile"]) == ("headless", "restricted")
    (listed,) = quintet.run("schedule", "list", "--json").clean(0).json()
    assert listed["last"]["session"] == past["session"] and listed["next"]


def test_a_session_has_the_same_words(quintet: Program) -> None:
    said = quintet.run("-p", '/schedule add "mon,thu 18:00" --tz Asia/Tokyo --name tea -- /status').clean(0)
    assert "mon,thu 18:00 (Asia/Tokyo): /status" in said.out
    assert "tea" in quintet.run("-p", "/schedule").clean(0).out
    data = json.loads(quintet.run("-p", "/schedule list --json").clean(0).out)
    assert data[0]["work"]["directory"] == str(quintet.root)
    assert "is due" in quintet.run("-p", "/schedule run tea").clean(0).out
    assert "usage" in quintet.run("-p", "/schedule add --help").clean(0).out
    worked = quintet.run("schedule", "work", "--once", "--json").clean(0).lines()
    assert [one["event"] for one in worked] == ["started", "ended"]
    assert "done" in quintet.run("-p", "/schedule history").clean(0).out
    for words in ("work", "install", "sing"):
        refused = quintet.run("-p", f"/schedule {words}")
        assert refused.code == 2 and words in refused.err
    assert "several lines" in quintet.run("-p", '/schedule add "in 2h" -- look\nat several lines').clean(0).out


def test_a_session_schedules_nothing_above_its_own_dials(quintet: Program) -> None:
    for flags in ("--permission-profile trusted", "--permission-profile unrestricted"):
        refused = quintet.run("-p", f'/schedule add "in 2h" {flags} -- x')
        assert refused.code == 2 and "above its own dials" in refused.err
    kept = quintet.run("-p", '/schedule add "in 2h" -- x', "--permission-profile", "trusted").clean(0)
    assert "trusted" in kept.out
    for elsewhere in ("-C /", "--directory=/", "--database sqlite:///tmp/x"):
        refused = quintet.run("-p", f'/schedule add "in 2h" {elsewhere} -- x')
        assert refused.code == 2 and "unrecognized arguments" in refused.err
    assert [one["name"] for one in quintet.run("schedule", "list", "--all", "--json").json()] == ["s1"]


def test_a_setting_that_is_loosened_later_raises_no_dial(quintet: Program) -> None:
    quintet.run(*ADD, "--", "find words").clean(0)
    quintet.settings('[dials]\npermission_profile = "unrestricted"\nwork_mode = "build"\n')
    session = quintet.run("schedule", "run", "look", "--json").clean(0).lines()[-1]["session"]
    (opened,) = quintet.events("session_opened", session)
    assert (opened["axes"]["permission_profile"], opened["axes"]["work_mode"]) == ("restricted", "chat")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_told_to_end_a_worker_ends_its_run_and_says_so(
    quintet: Program, model: Model, number: signal.Signals, code: int
) -> None:
    served = model(stuck_after("Thinking"))
    quintet.run(*ADD, "--", "think").clean(0)
    if number is signal.SIGTERM:
        quintet.run("-p", "/schedule run look").clean(0)
        worker = quintet.start("schedule", "work", "--json")
    else:  # the person who waits for it
        worker = quintet.start("schedule", "run", "look", "--json")
    served.asked()
    worker.send_signal(number)
    out, err = worker.communicate(timeout=120)
    assert worker.returncode == code and "Traceback" not in err, err
    assert [json.loads(line)["event"] for line in out.splitlines()] == ["started", "ended"]
    (past,) = quintet.run("schedule", "history", "--json").clean(0).json()
    assert past["status"] == "consumed" and past["exit_code"] not in (0, None) and "told to stop" in past["reason"]
    assert past["session"]


def test_a_run_ends_with_a_worker_that_is_killed_and_is_not_started_again(quintet: Program, model: Model) -> None:
    served = model(stuck_after("Thinking"), Reply(text="again"))
    quintet.run(*ADD, "--", "think").clean(0)
    quintet.run("-p", "/schedule run look").clean(0)
    worker = quintet.start("schedule", "work", "--json")
    served.asked()
    worker.kill()
    worker.wait(timeout=60)
    assert quintet.run("schedule", "work", "--once", "--json").clean(0).lines()[0]["result"] == "unknown"
    (past,) = quintet.run("schedule", "history", "--json").clean(0).json()
    assert (past["status"], past["result"]) == ("consumed", "unknown") and past["session"]
    assert len(served.said) == 1


HOSTILE = (
    "--permission-profile unrestricted",
    "-",
    "; touch owned $(touch owned) `touch owned`",
    "! touch owned",
    "--\n--permission-profile=unrestricted",
    "\x1b]0;owned\x07\x1b[2J look",
)


def test_a_text_is_a_text_whatever_it_says(quintet: Program) -> None:
    store = SqliteSchedules()
    for number, text in enumerate(HOSTILE):
        assert SCHEDULE(["add", "every 1h", "--name", f"t{number}", "-C", str(quintet.root), "--", text]) == 0
        store.put_due(f"t{number}", 1_000)
    ended = [one for one in quintet.run("schedule", "work", "--once", "--json").lines() if one["event"] == "ended"]
    assert len({one["session"] for one in ended}) == len(HOSTILE) and not (quintet.root / "owned").exists()
    for one in ended:
        (opened,) = quintet.events("session_opened", one["session"])
        assert opened["axes"]["permission_profile"] == "restricted"
    shown = [quintet.run("schedule", word).clean(0).out for word in ("list", "next", "history")]
    assert not any("\x1b" in out for out in shown)
    store.close()


def test_the_words_for_a_run_say_every_dial_and_no_text() -> None:
    words = arguments(msgspec.structs.replace(work("--mode build"), agent="-x", model="--y", max_turns=3))
    assert "--mode build" not in " ".join(words[2:]).replace("--mode chat", "")
    assert {"--agent=-x", "--model=--y", "--max-turns=3"} < set(words) and "restricted" in words


MISTAKES = {
    ("add",): "the time is missing: say when it runs",
    ("add", "daily 06:00"): "the text of the request is missing",
    ("add", "daily 06:00", "--", " "): "text is empty",
    ("add", "daily noon", "--", "x"): "daily noon: noon is not a time of day; write hours and minutes, as 07:30",
    ("add", "every 0s", "--", "x"): "too short",
    ("add", "9999-12-31T23:59", "--", "x"): "more than 10 years",
    ("add", "daily 06:00", "--name", "\x1b[31mred", "--", "x"): "cannot be used",
    ("add", "daily 06:00", "--name", "../x", "--", "x"): "cannot be used",
    ("add", "daily 06:00", "--tz", "Mars/Olympus", "--", "x"): "not known",
    ("add", "daily 06:00", "--missed", "never", "--", "x"): "not one of skip, once, all",
    ("add", "daily 06:00", "--until", "2020-01-01", "--", "x"): "no time comes before it",
    ("add", "daily 06:00", "--permission-profile", "root", "--", "x"): "not one of restricted",
    ("next", "1000000000"): "cannot be shown",
    ("history", "-n", "0"): "cannot be shown",
    ("pause", "nope"): "no schedule nope",
    ("remove", "nope"): "no schedule nope",
    ("sing",): "not one of",
}


@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_mistakes_are_said_plainly(repo: Path, words: tuple[str, ...]) -> None:
    at = words.index("--") if "--" in words else len(words)
    with pytest.raises(QuintetError) as raised:
        SCHEDULE([*words[:at], "-C", str(repo), *words[at:]])
    assert MISTAKES[words] in raised.value.message and "\x1b" not in str(raised.value)
    with contextlib.closing(SqliteSchedules()) as store:
        assert store.schedules() == []


@pytest.mark.parametrize("words", [("in 1m", "git status"), ("in 1m", "--name", "x", "git status")])
def test_a_text_without_its_dashes_is_answered_with_the_line_that_was_meant(repo: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(QuintetError) as raised:
        SCHEDULE(["add", "-C", str(repo), *words])
    assert raised.value.message == "the text of the request is missing: give it after --"
    assert raised.value.hint == "For example quintet schedule add 'in 1m' -- 'git status'"


def test_who_adds_a_schedule_is_told_that_nothing_looks_at_the_clock_until_something_does(quintet: Program) -> None:
    said = "Nothing looks at the clock yet, so nothing will run: quintet schedule install, or quintet schedule work"
    assert quintet.run(*ADD, "--", "find words").clean(0).out.splitlines()[-1] == said
    assert quintet.run("schedule", "list").clean(0).out.splitlines()[-1] == said
    quintet.run("schedule", "work", "--once").clean(0)  # as a timer does
    assert said not in quintet.run("schedule", "list").clean(0).out
    with contextlib.closing(SqliteSchedules()) as store:
        store._db.execute("UPDATE clocks SET seen = 1000")
    assert said in quintet.run("schedule", "list").clean(0).out
    timer = Path(os.environ["XDG_CONFIG_HOME"], "systemd/user/quintet-schedule.timer")
    timer.parent.mkdir(parents=True)
    timer.write_text("")
    assert said not in quintet.run("schedule", "list").clean(0).out
    quintet.run("schedule", "pause", "look").clean(0)
    timer.unlink()
    assert said not in quintet.run("schedule", "list").clean(0).out, "there is nothing to run"


def test_a_name_is_given_once(repo: Path) -> None:
    assert SCHEDULE([*ADD[1:], "-C", str(repo), "--", "x"]) == 0
    with pytest.raises(QuintetError, match="already a schedule look"):
        SCHEDULE([*ADD[1:], "-C", str(repo), "--", "x"])


def test_a_repository_cannot_bring_a_schedule_or_settings_of_it(quintet: Program) -> None:
    quintet.settings('[schedule]\nmissed = "all"\nparallel = 99\nzone = "Asia/Tokyo"\n', project=True)
    (quintet.root / "schedule.db").write_bytes(b"")
    (quintet.root / ".quintet/schedule.json").write_text('{"when": "every 1m", "text": "! touch owned"}')
    (quintet.root / "quintet.py").write_text("raise SystemExit('owned')")  # not what a run starts
    (quintet.root / "msgspec.py").write_text("raise SystemExit('owned')")
    assert quintet.run("schedule", "list", "--all", "--json").json() == []
    added = quintet.run(*ADD, "--json", "--", "find words").clean(0).json()
    assert added["missed"] == "once" and added["zone"] != "Asia/Tokyo"
    assert quintet.run("schedule", "run", "look").clean(0)


def test_the_book_is_the_users_alone(quintet: Program) -> None:
    before = os.umask(0)
    try:
        quintet.run(*ADD, "--", "x").clean(0)
    finally:
        os.umask(before)
    assert Path(database()).stat().st_mode & 0o77 == 0 and Path(database()).parent.stat().st_mode & 0o77 == 0


def test_the_doctor_finds_what_cannot_run(quintet: Program, tmp_path: Path) -> None:
    assert findings(quintet) == {}
    gone = tmp_path / "gone"
    gone.mkdir()
    quintet.run("schedule", "add", "every 1h", "--name", "gone", "-C", str(gone), "--", "x").clean(0)
    quintet.run(*ADD, "--", "x").clean(0)
    assert findings(quintet) == {}
    gone.rmdir()
    store = SqliteSchedules()
    one = store.find("look")
    assert one
    zoned = msgspec.json.encode(msgspec.structs.replace(one, name="zoned", zone="No/Zone")).decode()
    store._db.execute("INSERT INTO schedules VALUES ('zoned', ?, 'active', ?)", (one.owner, zoned))
    store._db.execute("INSERT INTO schedules VALUES ('\x1bbad', ?, 'active', '{')", (one.owner,))
    store._db.execute("UPDATE due_runs SET due_at = 1000 WHERE schedule = 'look'")
    store.close()
    found = findings(quintet)
    assert {code: finding["subject"] for code, finding in found.items()} == {
        "SCHEDULE_PROJECT_GONE": "gone",
        "SCHEDULE_ZONE_UNKNOWN": "zoned",
        "SCHEDULE_UNREADABLE": "␛bad",
        "SCHEDULE_MISSED": "look",
    }
    assert f"the time of look ({quintet.root}) has passed" in found["SCHEDULE_MISSED"]["problem"]
    ran = quintet.run("schedule", "run", "gone", "--json")
    assert ran.code == 1 and "no longer exists" in ran.lines()[-1]["reason"]


def test_the_board_shows_what_runs_next_and_how_it_went_last(quintet: Program) -> None:

    opening = Checkup(
        locate(str(quintet.root)), layers.load(locate(str(quintet.root)))
    )  # all that is read of an Opening
    assert rows(opening) == []  # type: ignore[arg-type]
    quintet.run(*ADD, "--tz", "Asia/Tokyo", "--", "find words").clean(0)
    quintet.run("schedule", "run", "look").clean(0)
    (row,) = rows(opening)  # type: ignore[arg-type]
    assert (
        row.text == "look find words" and row.about.startswith("next ") and row.about.endswith("Asia/Tokyo; last done")
    )
    heading, past = quintet.run("schedule", "history").clean(0).out.splitlines()
    assert "ZONE" in heading and "Asia/Tokyo" in past
    for number in range(7):
        quintet.run("schedule", "add", "every 1h", "--name", f"t{number}", "--", "x").clean(0)
    *shown, last = rows(opening)  # type: ignore[arg-type]
    assert (len(shown), last.text, last.about) == (5, "… 3 more", "quintet schedule list")


def test_a_start_without_schedules_loads_no_time_zones(quintet: Program) -> None:
    code = (
        "import sys; from quintet.cli.main import main; code = main(sys.argv[1:]);"
        "sys.exit(code or 9 * bool({'whenever', 'cronsim', 'zoneinfo'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, "doctor"], cwd=quintet.root, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert not Path(database()).exists()
