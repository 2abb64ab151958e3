"""The commands that only look: a table for people, JSON for programs, the same facts in both."""

import json
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.features.registry import tables
from tests.adapters.model_server import Reply
from tests.surfaces.program import Model, Program, call


def test_settings_show_every_value_and_where_it_came_from(quintet: Program) -> None:
    user = quintet.settings("[limits]\nmax_turns = 40\nmax_cost = 2.5\n")
    own = quintet.settings("[limits]\nmax_turns = 30\n", project=True)
    variables = {"QUINTET_LIMITS_RETRIES": "1"}
    rows = quintet.run("settings", "--json", **variables).clean(0).json()
    found = {row["key"]: (row["value"], row["source"]) for row in rows}
    assert found["limits.max_turns"] == (30, str(own))
    assert found["limits.max_cost"] == (2.5, str(user))
    assert found["limits.retries"] == (1, "QUINTET_LIMITS_RETRIES")
    assert found["limits.max_seconds"] == (0.0, "default")
    assert {key for key in tables().catalogue() if ".NAME." not in key} == set(found)

    shown = quintet.run("settings", **variables).clean(0).out
    lines = [line.split() for line in shown.splitlines()]
    assert ["limits.max_turns", "30", str(own)] in lines
    assert ["limits.max_cost", "2.5", str(user)] in lines
    assert ["limits.retries", "1", "QUINTET_LIMITS_RETRIES"] in lines
    assert str(user) in shown.split("yours")[1]


def test_a_setting_in_a_session_is_the_one_that_is_shown(quintet: Program) -> None:
    quintet.settings('[dials]\nwork_mode = "research"\nmodel_mode = "fast"\n')
    assert quintet.run("status", "--json").clean(0).json()["badge"].startswith("research")
    assert quintet.run("-p", "/settings").clean(0).out.count("dials.work_mode") == 1
    assert "research │ autonomous │ restricted │ fast" in quintet.run("-p", "/status").clean(0).out


def test_status_says_where_the_newest_session_stands(quintet: Program, model: Model) -> None:
    nothing = quintet.run("status", "--json").clean(0).json()
    assert (nothing["session"], nothing["live"], nothing["status"]) == (None, False, "idle")
    model(Reply(text="NOTHING TO DO"), more="price_input = 50000")
    once = {"QUINTET_RUNS_DELIVERY_CHECK": "false"}
    done = quintet.run("-p", "hello", "--mode", "plan", "--output-format", "json", **once).clean(0).json()
    status = quintet.run("status", "--json").clean(0).json()
    assert status["session"] == done["session"]
    assert status["axes"] == done["axes"]
    assert status["badge"] == "plan │ autonomous │ restricted │ smart"
    assert status["cost"] == pytest.approx(0.5)
    assert status["usage"]["input_tokens"] == 10
    assert status["model"]["in_use"] == "m"
    assert {"project", "sandbox", "loopback", "trust", "run", "limits", "waiting", "pending"} <= set(status)
    text = quintet.run("status").clean(0).out
    assert status["badge"] in text
    assert status["session"] in text


def test_s3_13_3_status_tells_limits_tasks_health_roles_and_questions(quintet: Program) -> None:
    quintet.settings('[cycle]\nexecutor = "codex"\nmax_cost = 2.5\n[limits]\nmax_cost = 5.0\n')
    for number, rest in ((1, ""), (2, "depends_on: [task-1]\n")):
        (quintet.root / f"{number}.md").write_text(f"---\nid: task-{number}\ntitle: Do {number}\n{rest}---\n")
    quintet.run("tasks", "add", "1.md", "2.md").clean(0)
    (quintet.root / ".quintet/todo/bad.md").write_text("---\nid: bad\n---\n")
    status = quintet.run("status", "--json").clean(0).json()
    assert status["tasks"] == {"counts": {"todo": 2}, "next": {"id": "task-1", "title": "Do 1"}}
    assert status["health"] == {"error": 0, "warning": 1, "info": 0}
    assert status["roles"] == {"planner": "native", "executor": "codex", "verifier": "native"}
    used = {name: (use["of"], use["used"], use["most"]) for name, use in status["limits"]["used"].items()}
    assert used["limits.max_turns"] == ("turn", 0, 50) and used["cycle.max_cost"] == ("cycle", 0.0, 2.5)
    assert status["limits"]["max_cost"] == 5.0
    text = quintet.run("status").clean(0).out
    for words in (
        "2 todo   next task-1 Do 1",
        "1 warning · quintet doctor",
        "executor codex",
        "cycle 0.00 of 2.5 cost",
    ):
        assert words in text
    inside = quintet.run("-p", "/status", "--output-format", "json").clean(0).json()
    assert inside["answer"].splitlines()[3:] == text.splitlines()[3:]  # but for the dials and the session
    told = inside["data"]["status"]
    assert {name: told[name] for name in ("tasks", "health", "roles", "limits")} == {
        name: status[name] for name in ("tasks", "health", "roles", "limits")
    }


def test_a_look_into_the_project_hides_no_session_that_matters(quintet: Program, model: Model) -> None:
    model(call("bash", command="git push origin main"), Reply(text="An answer."))
    terminal = quintet.plain("--mode", "build")
    terminal.sees("› ")
    terminal.types("publish it")
    terminal.sees("git push")
    (live,) = (session["session"] for session in quintet.sessions())
    for line in ("/queue", "/status", "/tasks", "/logs"):
        quintet.run("-p", line).clean(0)
    status = quintet.run("status", "--json").clean(0).json()
    assert (status["session"], status["live"], status["status"]) == (live, True, "waiting")
    assert "git push" in status["waiting"][0]
    assert "needs an answer" in quintet.run("tasks").clean(0).out
    (asked,) = quintet.run("tasks", "--json").clean(0).json()["questions"]
    assert asked["session"] == live and "git push" in asked["text"]
    terminal.types("n")
    terminal.sees("An answer.")
    terminal.types("/quit")
    terminal.leaves()
    quintet.run("-p", "/queue").clean(0)
    assert quintet.run("status", "--json").clean(0).json()["session"] == live
    resumed = quintet.run("-p", "/cost", "--resume", "--output-format", "json").clean(0).json()
    assert resumed["session"] == live


@pytest.mark.everything
def test_a_bare_resume_in_a_script_passes_over_what_a_schedule_or_a_worker_began(quintet: Program) -> None:
    mine = quintet.run("-p", "find words", "--output-format", "json").clean(0).json()["session"]
    quintet.run("schedule", "add", "every 1h", "--name", "look", "--", "find words").clean(0)
    quintet.run("schedule", "run", "look").clean(0)
    page = "---\nid: one\ntitle: One\nverification: test -f one.txt\n---\ncreate the file one.txt\n"
    (quintet.root / "one.md").write_text(page)
    quintet.run("tasks", "add", "one.md").clean(0)
    quintet.run("worker", "--permission-profile", "normal").clean(0)
    quintet.run("-p", "find words", "--begun-by", "ci").clean(0)
    found = {row["begun_by"]: row for row in quintet.run("sessions", "list", "--json").clean(0).json()}
    assert set(found) == {"", "schedule", "worker", "ci"}
    for words in (("-p", "/cost"), ("--plain",)):
        said = quintet.run(*words, "--resume", stdin="/status\n").clean(0)
        assert not any(row["session"] in said.out for by, row in found.items() if by)
    resumed = quintet.run("-p", "/cost", "--resume", "--output-format", "json").clean(0).json()
    assert resumed["session"] == mine
    listed = quintet.run("sessions", "list").clean(0).out
    assert all(f" {by} " in listed for by in ("schedule", "worker", "ci", "headless"))
    assert "use letters, digits" in quintet.run("-p", "find x", "--begun-by", "a b").clean(2).err


def test_a_bare_resume_is_the_last_session_at_a_terminal_and_a_run_is_opened_by_its_id(quintet: Program) -> None:
    ran = quintet.run("-p", "find words", "--output-format", "json").clean(0).json()["session"]
    assert ran in quintet.run("--resume", "--plain", stdin="/status\n").clean(0).out, "where there is no other"
    quintet.run("--plain", stdin="find words\n").clean(0)
    (mine,) = quintet.run("sessions", "list", "--surface", "tui", "--json").clean(0).json()
    ran = quintet.run("-p", "find words", "--output-format", "json").clean(0).json()["session"]
    assert mine["session"] in quintet.run("--resume", "--plain", stdin="/status\n").clean(0).out
    assert ran in quintet.run("--resume", ran, "--plain", stdin="/status\n").clean(0).out
    listed = quintet.run("sessions", "list").clean(0).out.splitlines()
    assert any(mine["session"] in line and " tui " in line for line in listed)
    assert any(ran in line and " headless " in line for line in listed)


def test_a_session_whose_folder_is_gone_continues_in_the_project_and_says_so(quintet: Program, tmp_path: Path) -> None:
    gone = tmp_path / "worktree"
    quintet.run("--plain", stdin="find words\n").clean(0)
    (row,) = quintet.sessions()
    database = locate(str(quintet.root)).database
    with closing(sqlite3.connect(database)) as rows, rows:
        rows.execute("UPDATE journal SET data = replace(data, ?, ?)", (str(quintet.root), str(gone)))
    done = quintet.run("--resume", row["session"], "--plain", stdin="find words\n").clean(0)
    assert f"{gone}, where this session began, no longer exists; it continues in {quintet.root}" in done.out + done.err


def test_sessions_are_listed_newest_first_and_shown_and_purged(quintet: Program, model: Model) -> None:
    model(call("Read", file_path="tally/count.py"), Reply(text="An answer."))
    older = quintet.run("-p", "a question about words", "--output-format", "json").json()["session"]
    newer = quintet.run("-p", "/mode plan", "--output-format", "json").json()["session"]
    assert [session["session"] for session in quintet.sessions()] == [newer, older]
    listed = quintet.run("sessions", "list").clean(0).out
    assert "a question about words" in listed
    assert "plan │ autonomous │ restricted │ smart" in listed

    shown = quintet.run("sessions", "show", older).clean(0).out
    positions = [shown.index(text) for text in ("a question about words", "Read tally/count.py", "An answer.")]
    assert positions == sorted(positions)

    refused = quintet.run("sessions", "purge", older).clean(2)
    assert "--yes" in refused.err
    quintet.run("sessions", "purge", older, "--yes").clean(0)
    assert [session["session"] for session in quintet.sessions()] == [newer]


def test_what_is_listed_and_shown_cannot_write_to_the_terminal_on_its_own(quintet: Program) -> None:
    folder = quintet.root / "odd\x1b[31m\x07name"
    folder.mkdir()
    odd = Program(folder)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    session = odd.run("-p", "find \x1b]0;pwned\x07words", "--output-format", "json").clean(0).json()["session"]
    for arguments in (("sessions", "list"), ("sessions", "show", session), ("status",), ("trust",), ("settings",)):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", odd.run(*arguments).clean(0).out), arguments
    terminal = quintet.plain("-C", str(folder))
    terminal.sees("\x1b]0;Quintet[chat|As|normal|smart] odd␛[31m␇name\x07", "› ")


def test_a_live_session_is_not_purged(quintet: Program) -> None:
    terminal = quintet.plain()
    terminal.sees("› ")
    session = quintet.sessions()[0]["session"]
    assert "is open in process" in quintet.run("sessions", "purge", session, "--yes").clean(2).err
    assert quintet.sessions()[0]["session"] == session


def test_a_transition_can_be_asked_why(quintet: Program) -> None:
    quintet.run("-p", "/mode build").clean(0)
    (turned,) = quintet.events("dials_turned")
    why = quintet.run("why", str(turned["seq"])).clean(0).out
    assert "chat │ autonomous │ restricted │ smart  →  build │ autonomous │ restricted │ smart" in why
    assert "/mode" in why
    assert "user" in why


def test_why_without_a_number_is_about_the_newest_decision(quintet: Program) -> None:
    quintet.run("-p", "/cost").clean(0)
    assert "nothing was decided in this project yet" in quintet.run("why").clean(1).err
    quintet.run("-p", "find words").clean(0)
    quintet.run("-p", "/cost").clean(0)
    newest = quintet.run("why").clean(0).out
    assert newest.startswith("allowed  grep  words") and "profile restricted allows read" in newest


def test_a_rewind_that_is_refused_names_the_command_of_the_shell(quintet: Program) -> None:
    quintet.run("-p", "find words").clean(0)
    assert quintet.run("rewind", "99").clean(2).err == 'quintet: "99": not one of 1 to 1; quintet rewind lists them\n'


def test_it_works_from_a_folder_below_and_from_one_that_is_no_repository(quintet: Program, tmp_path: Path) -> None:
    session = quintet.run("-p", "/cost", "--output-format", "json").json()["session"]
    below = quintet.run("-C", "tally", "-p", "/cost", "--resume", "--output-format", "json").clean(0).json()
    assert below["session"] == session
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/note.txt").write_text("words\n")
    other = Program(tmp_path / "elsewhere")
    assert other.sessions() == []
    assert "note.txt:1:words" in other.run("-p", "find words").clean(0).out


def test_s4_the_tour_plans_builds_and_verifies_and_says_what_to_type_next(quintet: Program) -> None:
    done = quintet.run("tour").clean(0)
    for text in (
        "plan     3 tasks",
        "waiting  the plan needs your approval: /accept",
        "build │ autonomous │ trusted │ smart",
        "accepted 3 tasks, by user",
        'failed verification: create the file CHANGES.md with "slugify is to_slug now"',
        "+  6  def to_slug(title: str) -> str:",
        'slugify is to_slug now" · attempt 2',
        'verified create the file CHANGES.md with "slugify is to_slug now"',
        "done     3 of 3 tasks done · 4 attempts",
        "Tests passed",
        "Skipped: git push --force publishes, which always needs approval",
        "quintet why",
        "quintet sessions list",
        "Next",
    ):
        assert text in done.out
    assert done.err == ""


def test_help_lists_every_command_there_is(quintet: Program) -> None:
    text = quintet.run("--help").clean(0).out
    for name in ("-p", "--plain", "--resume", "--fork", "tour", "status", "sessions", "settings", "trust", "why"):
        assert name in text
    assert quintet.run("--version").clean(0).out.startswith("quintet ")


def test_tools_are_listed_with_their_toolsets_profile_and_effects(quintet: Program) -> None:
    listed = {tool["name"]: tool for tool in quintet.run("tools", "list", "--json").clean(0).json()}
    assert listed["think"]["toolsets"] == [] and listed["think"]["effects"] == []
    edit = listed["Edit"]
    assert (edit["toolsets"], edit["profile"], edit["effects"]) == (["swe"], "normal", ["edit"])
    assert listed["grep"]["parameters"]["required"] == ["pattern"]
    table = quintet.run("tools").clean(0).out.splitlines()
    assert len(table) == len(listed) + 1
    shown = quintet.run("tools", "show", "menu_enter").clean(0).out
    assert "mode  string" in shown
    assert "Did you mean grep?" in quintet.run("tools", "show", "gerp").clean(1).err
    assert "not one of list, show" in quintet.run("tools", "lsit").clean(2).err


@pytest.mark.parametrize(
    ("flags", "tool", "args", "decision"),
    [
        (("--mode", "build", "--autonomous", "--permission-profile", "trusted"), "bash", "git push --force", "ask"),
        (("--mode", "build", "--autonomous", "--permission-profile", "trusted"), "bash", "make test", "allow"),
        (("--mode", "build", "--autonomous", "--permission-profile", "normal"), "bash", "make test", "ask"),
        (("--mode", "review", "--permission-profile", "unrestricted", "--sandbox", "bwrap"), "bash", "rm x", "deny"),
        (("--permission-profile", "restricted", "--no-person"), "bash", "ls", "allow"),
    ],
)
def test_permit_says_what_the_gate_would_decide_and_runs_nothing(
    quintet: Program, flags: tuple[str, ...], tool: str, args: str, decision: str
) -> None:
    call = ("permit", "--tool", tool, "--args", json.dumps({"command": args}), *flags)
    answer = quintet.run(*call, "--json").clean(0).json()
    assert answer["decision"] == decision
    assert answer["reason"] and answer["effects"] and answer["axes"]["surface"] == "tui"
    assert quintet.run(*call).clean(0).out.startswith(decision)
    assert quintet.run("sessions", "list", "--json").json() == []


def test_permit_says_what_is_wrong_with_a_call(quintet: Program) -> None:
    assert "Did you mean bash?" in quintet.run("permit", "--tool", "bahs").clean(2).err
    assert "not JSON" in quintet.run("permit", "--tool", "bash", "--args", "{").clean(2).err
    assert "command" in quintet.run("permit", "--tool", "bash").clean(2).err
