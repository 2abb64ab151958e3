"""Headless: one input, its answer on stdout, an exit code a script can use."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.adapters.model_server import Reply
from tests.looking import a_while, alive
from tests.surfaces.program import BUILD, EDIT, SECONDS, Model, Program, call, stuck_after

AXES = {
    "work_mode": "chat",
    "run_control": "autonomous",
    "permission_profile": "restricted",
    "model_mode": "smart",
    "surface": "headless",
}

# ── output formats


def test_text_is_the_answer_and_nothing_else(quintet: Program, model: Model) -> None:
    model(Reply(text=["Two ", "words — ", "größer."]))
    done = quintet.run("-p", "how many words?").clean(0)
    assert done.out == "Two words — größer.\n"
    assert done.err == ""


def test_json_is_one_result_with_everything_in_it(quintet: Program, model: Model) -> None:
    model(call("Read", file_path="tally/count.py"), Reply(text="It counts."), more="price_input = 50000")
    done = quintet.run("-p", "what does it do?", "--output-format", "json").clean(0)
    result = done.json()
    assert result["type"] == "result"
    assert result["status"] == "done"
    assert result["answer"] == "It counts."
    assert result["axes"] == AXES
    assert result["badge"] == "chat │ autonomous │ restricted │ smart"
    assert result["usage"] == {"input_tokens": 20, "output_tokens": 10, "cached_tokens": 8}
    assert result["cost"] == pytest.approx(1.0)
    assert result["turns"] == 2
    assert result["error"] is None
    assert result["session"] == quintet.sessions()[0]["session"]


ASSISTED = ("--mode", "build", "--permission-profile", "trusted", "--control", "assisted")
FAILS = call("bash", command="python3 -m unittest nothing_here")
LACKING = [call("Write", file_path="one.txt", content="1\n"), FAILS, Reply(text="All tests pass.")]
LACKS = "python3 -m unittest nothing_here failed after the last change"


def test_s1_2_5_work_that_is_not_delivered_is_said_and_exits_1(quintet: Program, model: Model) -> None:
    model(*LACKING)
    done = quintet.run("-p", "write two files", *ASSISTED).clean(1)
    assert done.out == "All tests pass.\n"
    assert f"not delivered: {LACKS}" in done.err


def test_an_autonomous_run_names_what_it_gave_up_at(quintet: Program, model: Model) -> None:
    model(*LACKING, Reply(text="I cannot."))
    done = (
        quintet.run(
            "-p", "write two files", "--mode", "build", "--permission-profile", "trusted", "--output-format", "json"
        )
        .clean(4)
        .json()
    )
    assert done["reason"].startswith("loop_detected: the work was sent back 2 times")
    assert (done["status"], done["delivery_state"], done["delivery_reason"]) == ("limit", "NEEDS_WORK", LACKS)


def test_json_says_what_a_turn_still_lacks(quintet: Program, model: Model) -> None:
    model(*LACKING)
    line = ("-p", "write two files", *ASSISTED, "--output-format", "json")
    result = quintet.run(*line).clean(1).json()
    assert (result["status"], result["delivery_state"]) == ("needs_work", "NEEDS_WORK")
    assert (result["delivery_reason"], result["exit_code"]) == (LACKS, 1)


def test_stream_json_begins_with_the_session_and_ends_with_the_result(quintet: Program, model: Model) -> None:
    model(call("Read", file_path="tally/count.py"), Reply(text="It\ncounts."))
    done = quintet.run("-p", "what does it do?", "--output-format", "stream-json").clean(0)
    first, *events, last = done.lines()
    assert first == {"type": "session", "session": last["session"], "project": str(quintet.root), "axes": AXES}
    assert last["type"] == "result"
    assert (last["status"], last["answer"], last["turns"]) == ("done", "It\ncounts.", 2)
    assert {"axes", "usage", "cost", "session"} <= set(last)
    assert [event["type"] for event in events] == [
        "input_received",
        "turn_started",
        "model_requested",
        "model_replied",
        "call_decided",
        "tool_started",
        "tool_finished",
        "model_requested",
        "model_replied",
        "turn_finished",
    ]
    assert [event for event in quintet.journal() if event["seq"] >= events[0]["seq"]] == events


def test_swe_keeps_the_run_to_its_phases(quintet: Program, model: Model) -> None:
    model(call("bash", command="ls"), Reply(text="not yet"))
    done = quintet.run("-p", "fix it", "--swe", "--output-format", "stream-json").clean(0)
    events = {event["type"]: event for event in done.lines()}
    assert events["phase_moved"]["after"] == "localization"
    assert events["tool_finished"]["content"].startswith("bash is not available in SWE phase localization")


NOT_RENAMED = (Reply(text="NEEDS_WORK\nno"), Reply(text="It is not renamed."), Reply(text="NEEDS_WORK\nno"))


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
def test_stdout_holds_nothing_but_the_answer_when_a_run_is_blocked(quintet: Program, model: Model, output: str) -> None:
    model(*EDIT, *NOT_RENAMED)
    done = quintet.run("-p", "rename it", "--permission-profile", "normal", "--output-format", output).clean(3)
    if output == "text":
        assert done.out == "It is not renamed.\n"
    else:
        assert done.lines()[-1]["status"] == "blocked"
        assert done.lines()[-1]["exit_code"] == 3
    if output != "stream-json":
        assert "Skipped: Edit tally/count.py needs approval (in chat every change needs approval)" in done.err
        assert done.err.count("Skipped: ") == 1
    assert "def words" in (quintet.root / "tally/count.py").read_text()


def test_a_models_failure_is_said_once(quintet: Program, model: Model) -> None:
    model(Reply(status=401, body='{"error": {"message": "no such key"}}'))
    done = quintet.run("-p", "hello").clean(1)
    assert done.err.count("401") == 1


def test_the_how_to_shows_the_events_that_come(quintet: Program) -> None:
    page = (Path(__file__).parents[2] / "docs/howto/script-it.md").read_text()
    done = quintet.run("-p", "find words", "--output-format", "stream-json").clean(0)
    types = [line["type"] for line in done.lines()]
    assert "| jq -r .type\n" + "\n".join(types) + "\n```" in page
    assert f'"turns": {types.count("model_requested")},' in page
    decided = [line for line in done.lines() if line["type"] == "call_decided"]
    assert all(f"\t{line['tool']}\t{line['verdict']}\t{line['reason']}\n" in page for line in decided)


def test_a_blocked_call_can_be_asked_why(quintet: Program, model: Model) -> None:
    model(*EDIT, *NOT_RENAMED)
    quintet.run("-p", "rename it", "--permission-profile", "normal").clean(3)
    decided = quintet.events("call_decided")[-1]
    why = quintet.run("why", str(decided["seq"])).clean(0).out
    assert "not run  Edit  tally/count.py" in why
    assert "in chat every change needs approval" in why
    assert "chat │ autonomous │ normal │ smart  (headless)" in why
    assert quintet.run("why", str(decided["seq"]), "--json").clean(0).json() == decided


# ── exit codes (2 and the ways to reach 1 are in test_bad_input)


def test_exit_0_a_change_the_dials_allow_is_made(quintet: Program, model: Model) -> None:
    model(*EDIT)
    assert quintet.run("-p", "rename it", *BUILD).clean(0).out == "Renamed.\n"
    assert "def tokens" in (quintet.root / "tally/count.py").read_text()


def test_exit_1_the_model_refuses_the_key(quintet: Program, model: Model) -> None:
    model(Reply(status=401, body='{"error": {"message": "bad key"}}'))
    assert quintet.run("-p", "hello").clean(1).out == ""


def test_exit_2_a_command_that_cannot_be_taken(quintet: Program) -> None:
    assert quintet.run("-p", "/mode bild").clean(2).out == ""


def test_exit_3_the_offline_rules_do_not_understand(quintet: Program) -> None:
    done = quintet.run("-p", "explain this code", "--output-format", "stream-json").clean(3)
    types = {line["type"] for line in done.lines()}
    assert not types & {"tool_started", "tool_finished", "call_decided"}
    assert "Nothing was run" in done.lines()[-1]["answer"]


@pytest.mark.parametrize(
    ("flag", "value", "named"),
    [("--max-turns", "1", "limits.max_turns = 1"), ("--max-cost", "0.25", "limits.max_cost = 0.25")],
)
def test_exit_4_a_limit_stops_the_run_and_names_itself(
    quintet: Program, model: Model, flag: str, value: str, named: str
) -> None:
    server = model(call("Read", file_path="tally/count.py"), Reply(text="too late"), more="price_input = 50000")
    done = quintet.run("-p", "what does it do?", flag, value, "--output-format", "json").clean(4)
    assert done.json()["status"] == "limit"
    assert done.json()["reason"].startswith(named)
    assert named in done.err
    assert len(server.server.requests) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_exit_130_an_interrupt_keeps_the_partial_reply(quintet: Program, model: Model, number: signal.Signals) -> None:
    server = model(stuck_after("Half an ans"), Reply(text="wer, whole."))
    child = quintet.start("-p", "hello", "--output-format", "stream-json")
    assert child.stdout
    lines = [json.loads(child.stdout.readline()) for _ in range(4)]
    assert lines[-1]["type"] == "model_requested"
    server.asked()
    child.send_signal(number)
    out, err = child.communicate(timeout=SECONDS)
    assert (child.returncode, err) == (130, "")
    assert json.loads(out.splitlines()[-1])["status"] == "interrupted"
    (replied,) = quintet.events("model_replied")
    assert (replied["text"], replied["partial"]) == ("Half an ans", True)

    done = quintet.run("-p", "/resume", "--resume").clean(0)
    assert done.out.endswith("wer, whole.\n")
    assert server.said[1][1:] == [("user", "hello"), ("assistant", "Half an ans"), ("user", "Continue.")]


def test_an_interrupt_ends_the_tool_that_runs(quintet: Program, model: Model) -> None:
    model(call("bash", command="make -f slow.mk", timeout=60), Reply(text="over"))
    ready = quintet.root / "ready"
    os.mkfifo(ready)
    long = a_while()
    (quintet.root / "slow.mk").write_text(f"all:\n\t@echo go > ready; sleep {long}\n")
    child = quintet.start("-p", "wait", "--mode", "build", "--autonomous", "--permission-profile", "trusted")
    ready.read_text()
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=SECONDS)
    assert child.returncode == 130
    assert not alive("sleep", long)
    (finished,) = quintet.events("tool_finished")
    assert (finished["status"], finished["tool"]) == ("interrupted", "bash")


# ── where the input comes from


@pytest.mark.parametrize("arguments", [("-p",), ("-p", "-"), ("headless",), ("headless", "-")])
def test_the_input_may_come_from_stdin(quintet: Program, arguments: tuple[str, ...]) -> None:
    done = quintet.run(*arguments, stdin="find the definition of words\n").clean(0)
    assert "tally/count.py:1:def words" in done.out


def test_a_command_runs_without_a_model_and_says_what_it_did(quintet: Program) -> None:
    done = quintet.run("-p", "/mode build --autonomous --permission-profile trusted --model-mode deep").clean(0)
    assert done.out == "build │ autonomous │ trusted │ deep\n"
    (turned,) = quintet.events("dials_turned")
    assert (turned["before"]["work_mode"], turned["after"]["work_mode"]) == ("chat", "build")
    assert (turned["actor"], turned["reason"], turned["scope"]) == ("user", "/mode", "now")
    result = quintet.run("-p", "/cost", "--output-format", "json").clean(0).json()
    assert (result["status"], result["type"]) == ("done", "result")
    assert result["answer"].startswith("0.0000")


@pytest.mark.parametrize("line", ["/mode build", "/model builtin", "/permission-profile normal"])
def test_what_stands_below_a_dial_runs_after_it(quintet: Program, line: str) -> None:
    done = quintet.run("-p", stdin=f"{line}\nfind words").clean(0)
    assert "tally/count.py" in done.out
    refused = quintet.run("-p", stdin="/status\nfind words").clean(2)
    assert "send what is below it on its own" in refused.err


def test_a_persons_own_shell_line_goes_through_the_gate(quintet: Program) -> None:
    assert quintet.run("-p", "! git status --short --branch").clean(0).out == "## main\nexit 0\n"
    done = quintet.run("-p", "! git push --force", "--permission-profile", "unrestricted", "--mode", "build").clean(3)
    assert "git push --force publishes, which always needs approval" in done.err


# ── sessions


def test_resume_goes_on_with_the_conversation_by_latest_id_or_prefix(quintet: Program, model: Model) -> None:
    server = model(Reply(text="one"), Reply(text="two"), Reply(text="three"), Reply(text="four"))
    first = quintet.run("-p", "first", "--output-format", "json").clean(0).json()["session"]
    for said, wanted in (("second", ()), ("third", (first,)), ("fourth", (first[:-2],))):
        done = quintet.run("-p", said, "--resume", *wanted, "--output-format", "json").clean(0).json()
        assert done["session"] == first
    assert server.said[3][1:] == [
        ("user", "first"),
        ("assistant", "one"),
        ("user", "second"),
        ("assistant", "two"),
        ("user", "third"),
        ("assistant", "three"),
        ("user", "fourth"),
    ]
    assert [session["session"] for session in quintet.sessions()] == [first]


def test_dials_are_as_they_were_left_and_flags_turn_them_in_the_log(quintet: Program) -> None:
    quintet.run("-p", "/mode plan --permission-profile trusted").clean(0)
    kept = quintet.run("-p", "/status", "--resume").clean(0).out
    assert "plan │ autonomous │ trusted │ smart" in kept
    turned = quintet.run("-p", "/status", "--resume", "--model-mode", "deep", "--mode", "build").clean(0)
    assert "build │ autonomous │ trusted │ deep" in turned.out
    assert [
        (event["before"]["work_mode"], event["after"]["work_mode"]) for event in quintet.events("dials_turned")
    ] == [
        ("chat", "plan"),
        ("plan", "build"),
    ]


def test_fork_goes_on_in_a_copy_and_leaves_the_first_alone(quintet: Program, model: Model) -> None:
    server = model(Reply(text="one"), Reply(text="two"), Reply(text="three"))
    first = quintet.run("-p", "first", "--output-format", "json").clean(0).json()["session"]
    before = quintet.journal(first)
    forked = (
        quintet.run("-p", "second", "--resume", first, "--fork", "--output-format", "json").clean(0).json()["session"]
    )
    assert forked != first
    assert server.said[1][1:] == [("user", "first"), ("assistant", "one"), ("user", "second")]
    assert quintet.journal(first) == before
    assert {s["session"]: s["parent"] for s in quintet.sessions()} == {first: "", forked: first}
    assert quintet.run("-p", "x", "--fork").clean(2).err == "quintet: --fork goes with --resume ID\n"


def test_a_prefix_that_fits_two_sessions_is_refused_with_both(quintet: Program) -> None:
    ids = [quintet.run("-p", "/cost", "--output-format", "json").json()["session"] for _ in range(2)]
    done = quintet.run("-p", "/cost", "--resume", "q5-").clean(2)
    assert all(session in done.err for session in ids)


# ── a session another process owns


def test_a_second_process_turns_the_dial_of_a_live_session(quintet: Program) -> None:
    first = quintet.plain()
    first.sees("QUINTET", "chat │ assisted │ normal │ smart", "› ")
    session = quintet.sessions()[0]
    assert session["live"]

    done = quintet.run("-p", "/mode review", "--resume", session["session"][:-1]).clean(0)
    assert done.out.startswith("review │ assisted │ normal │ smart")
    first.sees("review │ assisted │ normal │ smart", "chat → review, by user, now (/mode)", "Switch to deep?")

    status = quintet.run("status", "--json").clean(0).json()
    assert status["badge"] == "review │ assisted │ normal │ smart"
    assert status["axes"]["work_mode"] == "review"
    assert status["live"]
    assert status["waiting"] == ["Review works best in model mode deep; this is smart. Switch to deep?"]
    assert len(quintet.sessions()) == 1

    first.types("d")
    first.sees("review │ assisted │ normal │ deep")


def test_a_second_process_gives_work_to_a_live_session_and_gets_the_answer(quintet: Program, model: Model) -> None:
    model(Reply(text="From the owner."))
    first = quintet.plain()
    first.sees("› ")
    done = quintet.run("-p", "hello", "--resume", "--output-format", "stream-json").clean(0)
    assert done.lines()[-1]["answer"] == "From the owner."
    assert done.lines()[-1]["axes"]["surface"] == "headless"
    first.sees("From the owner.")


def test_a_second_process_takes_over_from_an_owner_that_died_and_tells_what_came_of_its_input(
    quintet: Program, model: Model
) -> None:
    server = model(stuck_after("never "))
    owner = quintet.plain()
    owner.sees("› ")
    second = quintet.start("-p", "hello", "--resume", "--output-format", "stream-json")
    server.asked()
    owner.child.kill(signal.SIGKILL)
    out, err = second.communicate(timeout=SECONDS)
    assert second.returncode == 130
    assert "Traceback" not in err
    result = json.loads(out.splitlines()[-1])
    assert (result["status"], result["reason"]) == ("interrupted", "its process ended")


def test_an_input_that_a_hook_holds_back_is_blocked_and_never_reaches_the_model(quintet: Program, model: Model) -> None:
    server = model(Reply(text="hello"))
    path = quintet.settings(server.settings())
    path.write_text(path.read_text() + "[hooks]\nuser_prompt_submit = [\"echo 'not now' >&2; exit 2\"]\n")
    done = quintet.run("-p", "hi").clean(3)
    assert done.out == "" and "the turn did not start: your hook" in done.err and "not now" in done.err
    assert server.server.requests == []
    result = quintet.run("-p", "hi", "--output-format", "json").clean(3).json()
    assert (result["status"], result["error"]["code"], result["exit_code"]) == ("blocked", "NOT_BEGUN", 3)


# ── calls that nobody can approve

PUSH = call("bash", command="git push --force")
AROUND = (
    PUSH,
    call("bash", command="curl https://example.org/x"),
    call("bash", command="touch /opt/made-by-quintet"),
    call("Write", file_path="one.txt", content="1\n"),
    Reply(text="Written."),
    Reply(text="DONE\none.txt is there"),
)
HELD_UP = (PUSH, *(Reply(text="It is not pushed."), Reply(text="NEEDS_WORK\nnot pushed")) * 2)
PUBLISHES = "Skipped: git push --force publishes, which always needs approval, and this run is non-interactive."


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
def test_a1_refused_three_things_it_finds_another_way_and_delivers(quintet: Program, model: Model, output: str) -> None:
    model(*AROUND)
    done = quintet.run("-p", "write one.txt", *BUILD, "--output-format", output).clean(0)
    assert (quintet.root / "one.txt").exists()
    if output == "text":
        assert done.out == "Written.\n"
    else:
        result = done.lines()[-1]
        assert (result["status"], result["delivery_state"], result["exit_code"]) == ("done", "DONE", 0)
        lines = ["git push --force", "curl https://example.org/x", "touch /opt/made-by-quintet"]
        assert [(call["tool"], call["line"]) for call in result["skipped"]] == [("bash", line) for line in lines]
        assert result["skipped"][0]["reason"] == "publishing always needs approval (git push: publishes with --force)"
        assert "publish" in result["skipped"][0]["effects"]
    if output != "stream-json":
        told = [line for line in done.err.splitlines() if line.startswith("Skipped: ")]
        assert len(told) == 3 and told[0].startswith(PUBLISHES)
    shown = quintet.run("sessions", "show", quintet.sessions()[0]["session"]).clean(0).out
    assert "skipped  3 calls" in shown and f"  {PUBLISHES}" in shown
    assert quintet.run("status", "--json").clean(0).json()["skipped"] == 3
    assert "3 calls that nobody could approve" in quintet.run("status").clean(0).out


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
@pytest.mark.parametrize("control", ["assisted", "autonomous"])
def test_a1_what_cannot_do_without_the_call_exits_3_and_says_which(
    quintet: Program, model: Model, output: str, control: str
) -> None:
    model(*HELD_UP)
    dials = ("--mode", "build", "--permission-profile", "trusted", "--control", control)
    done = quintet.run("-p", "push it", *dials, "--output-format", output).clean(3)
    if output == "text":
        assert done.out == "It is not pushed.\n"
        assert "not delivered: not pushed" in done.err
        assert (
            "blocked: 1 call skipped" in done.err and "git push --force: publishing always needs approval" in done.err
        )
    else:
        result = done.lines()[-1]
        assert (result["status"], result["delivery_state"], result["exit_code"]) == ("blocked", "NEEDS_WORK", 3)
        assert "git push --force" in result["reason"] and len(result["skipped"]) == 1


def test_a1_the_flag_that_would_have_let_it_run_is_named(quintet: Program, model: Model) -> None:
    model(call("bash", command="python3 -m pytest"), *(Reply(text="Not run."), Reply(text="NEEDS_WORK\nnot run")) * 2)
    done = quintet.run("-p", "run the tests", *BUILD).clean(3)
    assert "non-interactive. To allow it: --permission-profile trusted" in done.err
    assert done.err.splitlines()[-1].endswith("To allow python3 -m pytest: --permission-profile trusted")


def test_a1_a_model_that_probes_fifty_lines_ends_blocked(quintet: Program, model: Model) -> None:
    model(*(call("bash", command=f"git push origin b{number}") for number in range(50)))
    done = quintet.run("-p", "push it", *BUILD, "--output-format", "json").clean(3)
    result = done.json()
    assert result["status"] == "blocked" and result["reason"].startswith("3 calls of the same kind skipped")
    assert len(result["skipped"]) == 3


def test_a_blocked_session_is_resumed_with_another_dial(quintet: Program, model: Model) -> None:
    tests = call("bash", command="python3 -m unittest")
    lost = (Reply(text="Not run."), Reply(text="NEEDS_WORK\nnot run"))
    model(tests, *lost, *lost, tests, Reply(text="They ran."))
    quintet.run("-p", "run the tests", *BUILD).clean(3)
    done = quintet.run(
        "-p", "again", "--resume", "--permission-profile", "trusted", "--output-format", "json", "--control", "assisted"
    )
    assert done.json()["skipped"] == [] and done.json()["status"] != "blocked"
    assert quintet.run("status", "--json").clean(0).json()["skipped"] == 0


def test_a_result_without_skipped_calls_says_so(quintet: Program, model: Model) -> None:
    model(Reply(text="Two."))
    assert quintet.run("-p", "how many?", "--output-format", "json").clean(0).json()["skipped"] == []
    assert "could approve" not in quintet.run("status").clean(0).out


def test_s3_12_5_a_fresh_install_answers_to_ping(quintet: Program) -> None:
    assert quintet.run("--print", "ping").clean(0).out == "pong\n"


def test_offline_rules_that_were_chosen_do_not_say_that_there_is_no_model(quintet: Program, model: Model) -> None:
    model(Reply(text="unused"))
    said = quintet.run("-p", "write me a poem", "--model", "builtin").clean(3)
    told = said.out + said.err
    assert "The offline rules do not understand this request." in told and "you have m." in told
    assert "No model is configured" not in told and "To connect a model" not in told
