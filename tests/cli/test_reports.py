"""logs, cost, report and /rate in the real program: a table for people, JSON for programs, the same facts in both."""

import json
import signal
from datetime import UTC, datetime

import pytest

from tests.adapters.model_server import Reply
from tests.made_sessions import Made, store
from tests.surfaces.program import BUILD, EDIT, PROGRAM, Model, Program, call

FIELDS = {
    "at": str,
    "conversation": str,
    "run": str,
    "user_mode": str,
    "stage": str,
    "model": str,
    "tool_count": int,
    "reasoning": bool,
    "axes": dict,
    "badge": str,
    "usage": dict,
    "cost": float,
    "seconds": float,
    "outcome": str,
    "level": str,
}
PRICED = "price_input = 100000\nprice_cached = 50000"  # a request of 10 tokens, 4 of them cached, is 0.8


def test_s1_9_1_every_request_is_in_the_log_with_its_fields(quintet: Program, model: Model) -> None:
    model(call("Read", file_path="tally/count.py"), Reply(text="An answer."), more=PRICED)
    session = quintet.run("-p", "what is there", "--output-format", "json").clean(0).json()["session"]
    lines = quintet.run("logs", "--kind", "request", "--json").clean(0).json()
    requested = quintet.events("model_requested")
    assert [line["seq"] for line in lines] == [event["seq"] for event in requested]
    for line, event in zip(lines, requested, strict=True):
        assert {name: type(line[name]) for name in FIELDS} == FIELDS
        assert {name: line[name] for name in event if name != "type"} == {k: event[k] for k in event if k != "type"}
    assert [(line["model"], line["outcome"], line["conversation"]) for line in lines] == [("m", "ok", session)] * 2
    assert lines[0]["usage"] == {"input_tokens": 10, "output_tokens": 5, "cached_tokens": 4}
    assert lines[0]["cost"] == pytest.approx(0.8)
    assert lines[0]["badge"] == "chat │ autonomous │ restricted │ smart"
    heading, *shown = quintet.run("logs", "--kind", "request").clean(0).out.splitlines()
    assert len(shown) == 2
    for word in ("TIME", "RUN", "STAGE", "MODEL", "TOOLS", "REASONING", "DIALS", "CACHED", "COST", "OUTCOME"):
        assert word in heading
    assert all(session in line and line.endswith("ok") and "0.8000" in line for line in shown)


def test_the_log_tells_of_retries_and_errors_and_can_be_narrowed(quintet: Program, model: Model) -> None:
    model(Reply(status=503), Reply(text="at last"), Reply(status=401), retries=1)
    first = quintet.run("-p", "one", "--output-format", "json").clean(0).json()["session"]
    second = quintet.run("-p", "two", "--output-format", "json").clean(1).json()["session"]

    def told(*arguments: str) -> list[tuple[str, str, str]]:
        lines = quintet.run("logs", "--kind", "request", "--json", *arguments).clean(0).json()
        return [(line["conversation"], line["outcome"], line["code"]) for line in lines]

    retry, ok, error = (first, "retry", "LLM_HTTP_ERROR"), (first, "ok", ""), (second, "error", "LLM_AUTH_FAILED")
    assert told() == [retry, ok, error]
    assert told("--level", "warning") == [retry, error]
    assert told("--level", "error") == [error]
    assert told("--session", first) == [retry, ok]
    assert told("-n", "1") == told("--session", second[:-1]) == [error]
    assert told("-n", "0") == told("--stage", "nowhere") == []
    assert told("--stage", "act", "-n", "2") == [ok, error]
    nowhere = quintet.run("logs", "--kind", "request", "--stage", "nowhere").clean(0).out
    assert "no request in stage nowhere; there are requests in act" in nowhere
    assert "LLM_AUTH_FAILED" in quintet.run("-p", "/logs", "--resume", second).clean(0).out


def test_s3_9_3_the_log_is_what_was_done_with_the_requests_among_it(quintet: Program, model: Model) -> None:
    model(*EDIT, Reply(text="An answer."), more=PRICED)
    session = quintet.run("-p", "rename it", *BUILD, "--output-format", "json").clean(0).json()["session"]
    lines = quintet.run("logs", "--session", session, "--json").clean(0).json()
    assert [line["seq"] for line in lines] == sorted(line["seq"] for line in lines)
    assert {line["session"] for line in lines} == {session}
    kinds = [line["kind"] for line in lines]
    assert kinds.count("request") == len(quintet.events("model_requested", session))
    calls = [(line["text"], line["reason"].partition(":")[0]) for line in lines if line["kind"] == "call"]
    assert calls == [("Read tally/count.py", "allow"), ("Edit tally/count.py", "allow")]
    begun, ended = (line for line in lines if line["kind"] == "turn" and line["outcome"] in ("begun", "done"))
    assert (begun["text"], ended["text"], ended["turn"]) == ("rename it", "Renamed.", begun["turn"])
    assert "checkpoint" in kinds
    heading, *shown = quintet.run("logs", "--session", session).clean(0).out.splitlines()
    assert heading.split() == ["TIME", "KIND", "WHAT", "COST", "SECONDS", "OUTCOME"]
    assert len(shown) == len(lines)
    place = heading.index("WHAT")
    assert [line[place:].startswith(row["text"][:40]) for line, row in zip(shown, lines, strict=True)] == [True] * len(
        lines
    )
    assert quintet.run("-p", "/logs --kind call", "--resume", session).clean(0).out.count("tally/count.py") == 2
    assert 'kind "cal": not one of session, turn' in quintet.run("logs", "--kind", "cal").clean(2).err


def test_the_end_of_a_long_log_is_that_of_the_whole(quintet: Program) -> None:
    store(quintet.root, list(Made("q5-long").events(900)), list(Made("q5-short").events(3)))
    every = quintet.run("logs", "--json").clean(0).json()
    assert len(every) > 1000
    for wanted in (("-n", "7"), ("-n", "1500"), ("-n", "3", "--kind", "dial"), ("-n", "2", "--session", "q5-long")):
        lines = quintet.run("logs", "--json", *wanted).clean(0).json()
        kind = "dial" if "dial" in wanted else ""
        fit = [line for line in every if line["kind"] == (kind or line["kind"])]
        fit = [line for line in fit if "q5-long" not in wanted or line["session"] == "q5-long"]
        assert lines == fit[-int(wanted[1]) :]


def test_the_log_is_followed_as_requests_end(quintet: Program, model: Model) -> None:
    model(Reply(text="one"), Reply(text="two"), Reply(text="three"))
    quintet.run("-p", "first").clean(0)
    follower = quintet.start("logs", "--follow", "--kind", "request", "--json", "-n", "1")
    assert follower.stdout
    seen = [json.loads(follower.stdout.readline())]
    for text in ("second", "third"):
        quintet.run("-p", text).clean(0)
        seen.append(json.loads(follower.stdout.readline()))
    assert seen == quintet.run("logs", "--kind", "request", "--json").clean(0).json()
    follower.send_signal(signal.SIGINT)
    assert (*follower.communicate(), follower.returncode) == ("", "", 130)


def test_costs_are_added_up_over_sessions_and_a_fork_counts_once(quintet: Program, model: Model) -> None:
    model(Reply(text="one"), Reply(text="two"), more=PRICED)
    first = quintet.run("-p", "first", "--output-format", "json").clean(0).json()["session"]
    forked = quintet.run("-p", "second", "--resume", first, "--fork", "--output-format", "json")
    second = forked.clean(0).json()["session"]
    found = quintet.run("cost", "--by", "session", "--json").clean(0).json()
    own = {row["key"]: row for row in found["rows"]}
    assert set(own) == {first, second}
    assert own[first]["cost"] == pytest.approx(0.8) and own[first]["requests"] == 1
    assert (found["by"], found["unpriced"]) == ("session", {})
    lines = quintet.run("logs", "--kind", "request", "--json").json()
    assert found["total"]["requests"] == len(lines)
    assert found["total"]["cost"] == pytest.approx(sum(line["cost"] for line in lines))
    for by in ("day", "model", "stage", "work-mode", "mode", "run"):
        grouped = quintet.run("cost", "--by", by, "--json").clean(0).json()
        assert grouped["total"] == found["total"]
    heading, *rows, total = quintet.run("cost").clean(0).out.splitlines()
    assert heading.split() == ["MODEL", "REQUESTS", "FAILED", "IN", "CACHED", "OUT", "COST"]
    assert [row.split()[0] for row in rows] == ["m"]
    assert total.split() == ["total", *rows[0].split()[1:]]


def test_a_call_that_is_refused_before_it_begins_names_its_tool(quintet: Program, model: Model) -> None:
    bad = {"id": "c1", "name": "Read", "arguments": '{"file_path": 3}'}
    model(Reply(calls=[bad]), Reply("It cannot be read."))
    live = quintet.run("--plain", "--autonomous", stdin="look\n").clean(0).out
    (one,) = quintet.run("sessions", "list", "--json").clean(0).json()
    stored = quintet.run("sessions", "show", one["session"]).clean(0).out
    for shown in (live, stored):
        assert "  Read: error\n" in shown and "  error\n" not in shown, shown


def test_a_word_that_is_no_grouping_is_said_as_other_commands_say_it(quintet: Program) -> None:
    said = quintet.run("cost", "--by", "modes").clean(2).err
    assert '--by "modes": not one of day, ' in said and "Did you mean mode?" in said
    assert "invalid choice" not in said and "choose from" not in said


def test_costs_are_added_up_from_a_moment_on(quintet: Program) -> None:
    days = [datetime(2026, 1, day, 12, tzinfo=UTC) for day in (5, 6, 7)]
    made = [list(Made(f"q5-{day.day}", day).events(4)) for day in days]
    store(quintet.root, *made)

    def counted(*since: str) -> dict[str, int]:
        found = quintet.run("cost", "--by", "day", "--json", *since).clean(0).json()
        assert found["total"]["requests"] == sum(row["requests"] for row in found["rows"])
        return {row["key"]: row["requests"] for row in found["rows"]}

    assert counted() == {"2026-01-05": 4, "2026-01-06": 4, "2026-01-07": 4}
    assert counted("--since", "2026-01-06") == {"2026-01-06": 4, "2026-01-07": 4}
    assert counted("--since", "2026-01-06T13:00+01:00") == counted("--since", "2026-01-06T12:00") != counted()
    long = (datetime.now(UTC) - days[1]).days
    assert set(counted("--since", f"{long + 1}d")) >= {"2026-01-06", "2026-01-07"}
    assert counted("--since", "1h") == {}
    assert "no model request since" in quintet.run("cost", "--since", "1h").clean(0).out


def test_a_session_is_told_step_by_step_as_text_json_and_a_page(quintet: Program, model: Model) -> None:
    model(*EDIT, more=PRICED)
    session = quintet.run("-p", "rename it", *BUILD, "--output-format", "json").clean(0).json()["session"]
    quintet.run("-p", "/mode plan").clean(0)  # another session, now the newest
    found = quintet.run("forensics", session[:-2], "--json").clean(0).json()
    calls = [entry for entry in found["entries"] if entry["kind"] == "call"]
    decided = quintet.events("call_decided", session)
    assert [(c["seq"], c["tool"], c["reason"]) for c in calls] == [(d["seq"], d["tool"], d["reason"]) for d in decided]
    text = quintet.run("forensics", session).clean(0).out
    assert "\x1b" not in text
    for words in ("rename it", "tally/count.py", "turn 1  done", "allow: ", "build │ autonomous │ normal │ smart"):
        assert words in text
    assert session not in quintet.run("forensics", "latest").clean(0).out
    said = quintet.run("forensics", session, "--turn", "1", "--html").clean(0).out
    assert said == f"{quintet.root}/forensics-{session}.html\n"
    assert "rename it" in (quintet.root / f"forensics-{session}.html").read_text()
    quintet.run("forensics", session, "--html", "page.html").clean(0)
    assert (quintet.root / "page.html").read_text().startswith("<!DOCTYPE html>")


def test_at_a_terminal_the_steps_keep_to_its_width_and_have_colours(quintet: Program) -> None:
    store(quintet.root, list(Made().events(5)))
    shown = quintet.plain(command=(*PROGRAM, "forensics"), NO_COLOR="").leaves()[1]
    assert "\x1b" not in shown, "NO_COLOR is heeded"
    shown = quintet.plain(command=("env", "-u", "NO_COLOR", *PROGRAM, "forensics")).leaves()[1]
    assert "\x1b[36m" in shown and "\x1b[33m" in shown


def test_a_model_without_a_price_is_said_and_one_on_this_machine_is_free(quintet: Program, model: Model) -> None:
    model(Reply(text="free?"))
    quintet.run("-p", "hello").clean(0)
    for command in (
        ("cost",),
        ("report",),
        ("forensics",),
        ("-p", "/cost", "--resume"),
    ):  # a server on this machine is free
        assert "no price" not in quintet.run(*command).clean(0).out
    assert quintet.run("cost", "--json").clean(0).json()["unpriced"] == {}
    quintet.settings('[models.m]\nbase_url = "https://far.example/v1"\nmodel = "m"\n')
    assert quintet.run("cost", "--json").clean(0).json()["unpriced"] == {"m": 1}
    said = "m had no price: 1 request of it counts as 0. Set models.m.price_input and price_output"
    assert said in quintet.run("cost").clean(0).out
    assert said in quintet.run("-p", "/cost", "--resume").clean(0).out
    assert said in quintet.run("report").clean(0).out


def test_a_session_is_reported_with_its_turns_tools_files_and_ratings(quintet: Program, model: Model) -> None:
    model(*EDIT, more=PRICED)
    session = quintet.run("-p", "rename it", *BUILD, "--output-format", "json").clean(0).json()["session"]
    assert quintet.run("-p", "/rate 4 quick", "--resume").clean(0).out == "the last turn is rated 4 of 5\n"
    (rated,) = quintet.events("turn_rated")
    (ended,) = quintet.events("turn_finished")
    assert (rated["turn"], rated["rating"], rated["note"]) == (ended["turn"], 4, "quick")
    quintet.run("-p", "/mode review", "--resume").clean(0)
    quintet.run("-p", "/mode plan").clean(0)  # another session, now the newest

    found = quintet.run("report", session, "--json").clean(0).json()
    assert found["session"] == session
    assert [row["badge"].split()[0] for row in found["axes"]] == ["build", "review"]
    (turn,) = found["turns"]
    assert {k: turn[k] for k in ("text", "status", "rating", "note")} == {
        "text": "rename it",
        "status": "done",
        "rating": 4,
        "note": "quick",
    }
    assert turn["cost"] == pytest.approx(found["total"]["cost"]) and turn["cost"] >= 2.4 - 1e-9
    assert {row["tool"]: (row["calls"], row["failed"]) for row in found["tools"]} == {"Read": (1, 0), "Edit": (1, 0)}
    assert found["changed"] == {"tally/count.py": 1}
    assert set(found["approvals"]) == {"asked", "approved", "always", "refused", "closed", "waiting"}
    assert found["rating"] == 4
    assert quintet.run("report", "--json").clean(0).json()["session"] != session

    text = quintet.run("report", session).clean(0).out
    for words in (
        session,
        "build │ autonomous │ normal │ smart",
        "rename it",
        "tally/count.py",
        "4 quick",
        "none asked",
    ):
        assert words in text
    inside = quintet.run("-p", "/session-report", "--resume", session).clean(0).out
    assert inside[inside.index("\naxes") :] == text[text.index("\naxes") :]


def test_what_was_measured_is_shown_as_a_table_as_json_and_for_prometheus(quintet: Program, model: Model) -> None:
    assert quintet.run("metrics").clean(0).out == "nothing was measured here yet\n"
    assert quintet.run("metrics", "--json").clean(0).json() == []
    model(*EDIT, more=PRICED)
    session = quintet.run("-p", "rename it", *BUILD, "--output-format", "json").clean(0).json()["session"]
    samples = quintet.run("metrics", "--json").clean(0).json()
    spent = quintet.run("cost", "--json").clean(0).json()["total"]
    found = {(one["metric"], *one["labels"].values()): one for one in samples}
    assert found["quintet_cost_total", "m"]["value"] == pytest.approx(spent["cost"])
    assert found["quintet_tokens_total", "m", "input"]["value"] == spent["input_tokens"]
    assert found["quintet_calls_total", "Edit", "ok"]["value"] == 1
    assert found["quintet_turns_total", "done", "build"]["value"] == 1
    assert quintet.run("metrics", "--session", session, "--json").clean(0).json() == samples
    assert quintet.run("report", "--json").clean(0).json()["metrics"] == samples
    assert "quintet_turn_requests" in quintet.run("report").clean(0).out
    text = quintet.run("metrics", "--prometheus").clean(0).out
    assert 'quintet_calls_total{project="repo",tool="Edit",status="ok"} 1\n' in text
    assert "quintet_calls_total  " in quintet.run("metrics").clean(0).out
    assert quintet.run("metrics", "--session", "q5-nowhere").clean(1).err


def test_what_a_report_shows_cannot_write_to_the_terminal(quintet: Program) -> None:
    quintet.run("-p", "find \x1b]0;pwned\x07words").clean(0)
    quintet.run("-p", "/rate 1 \x1b[2J", "--resume").clean(0)
    text = quintet.run("report").clean(0).out
    assert "\x1b" not in text and "␛[2J" in text and "␛]0;pwned␇words" in text


def test_a_project_without_sessions_has_no_log_no_cost_and_no_report(quintet: Program) -> None:
    assert quintet.run("logs").clean(0).out == "nothing has happened yet\n"
    assert quintet.run("logs", "--json").clean(0).json() == []
    assert quintet.run("cost").clean(0).out == "no model request yet\n"
    assert quintet.run("cost", "--json").clean(0).json()["rows"] == []
    assert "there is no session in this project yet" in quintet.run("report").clean(1).err
    assert "there is no session in this project yet" in quintet.run("forensics").clean(1).err
    assert "there is no session in this project yet" in quintet.run("logs", "--follow").clean(1).err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("logs", "-n", "-1"), 2, "-n -1: not a number of lines; 0 or more"),
        (("logs", "-n", "few"), 2, "-n"),
        (("logs", "--level", "loud"), 2, "--level"),
        (("logs", "--session", "q5-nowhere"), 1, "no session q5-nowhere in this project"),
        (("logs", "--follow", "--session", "q5-nowhere"), 1, "no session q5-nowhere in this project"),
        (("cost", "--by", "week"), 2, "--by"),
        (("cost", "--since", "lately"), 2, '--since "lately": neither a day nor a time; for example 2026-01-31'),
        (("cost", "--since", "9999999999d"), 2, '--since "9999999999d"'),
        (("forensics", "q5-nowhere"), 1, "no session q5-nowhere in this project"),
        (("forensics", "--turn", "1"), 2, "there is no turn 1 in session"),
        (("forensics", "--html", "nowhere/page.html"), 2, "nowhere/page.html: cannot be written"),
        (("report", "q5-nowhere"), 1, "no session q5-nowhere in this project"),
        (("-p", "/rate 6"), 2, "/rate 1-5 [WORDS]"),
        (("-p", "/rate 3"), 2, "there is nothing to rate yet"),
        (("-p", "/cost --by week"), 2, 'by "week": not one of day, model, stage, work-mode, mode, session, run'),
    ],
)
def test_what_cannot_be_taken_is_said(quintet: Program, arguments: tuple[str, ...], code: int, said: str) -> None:
    quintet.run("-p", "/mode plan").clean(0)
    done = quintet.run(*arguments).clean(code)
    assert said in done.err
    assert done.out == ""
