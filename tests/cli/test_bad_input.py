"""Bad input gets a clear error and loses nothing: what happened, where, what to do, and never a stack trace."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.adapters.model_server import Reply
from tests.surfaces.program import PROGRAM, SECONDS, Model, Program, call, env, stuck_after

# ── what is typed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-p", ""), "nothing to do: the input is empty"),
        (("-p", " \n\t "), "nothing to do: the input is empty"),
        (("-p", "hello", "--mode", "bild"), 'mode "bild": not one of chat, plan, build, review, repair, research.'),
        (("-p", "hello", "--control", "manuel"), "Did you mean manual?"),
        (("-p", "hello", "--permission-profile", "root"), "not one of restricted, normal, trusted, unrestricted"),
        (("-p", "hello", "--model-mode", "deeep"), "Did you mean deep?"),
        (("-p", "hello", "--output-format", "xml"), "stream-json"),
        (("-p", "hello", "--max-turns", "many"), "--max-turns"),
        (("-p", "/mode bild"), "Did you mean build?"),
        (("-p", "/moed build"), "/moed is not a command. Nearest: /mode"),
        (("-p", '/mode "build'), "quote is not closed"),
        (("-p", "/mode build --fast"), "unknown flag --fast"),
        (("-p", "/steer mode build sometime"), 'scope "sometime": not one of now'),
        (("staus",), "staus is not a command. Did you mean status?"),
        (("login",), "login is not a command. Use quintet models use."),
        (("undo",), "/undo is a command in a session, not in a shell.\nIn a shell: quintet rewind"),
        (("steer", "mode", "build"), 'In a shell: quintet -p "/steer" --resume ID'),
        (("init",), 'In a shell: quintet -p "/init"'),
        (("status", "--jsn"), "--jsn"),
        (("missing.md",), "missing.md: no such file"),
        (("--mode", "plan", "missing.md"), "missing.md: no such file"),
        (("--permission-profile", "trusted", "flow", "x"), "put flow first, then its flags: quintet flow …"),
        (("-p", "hello", "there"), "unrecognized arguments: there"),
        (("sessions", "shwo"), "not one of list, show"),
        (("-C", "/no/such/folder", "-p", "hello"), "/no/such/folder: no such folder"),
    ],
)
def test_a_line_that_cannot_be_taken_is_exit_2_and_says_why(
    quintet: Program, arguments: tuple[str, ...], said: str
) -> None:
    done = quintet.run(*arguments).clean(2)
    assert said in done.err
    assert done.out == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("sessions", "show", "q5-nowhere"), "no session q5-nowhere in this project"),
        (("sessions", "purge", "q5-nowhere", "--yes"), "no session q5-nowhere in this project"),
        (("sessions", "fork", "q5-nowhere"), "no session q5-nowhere in this project"),
        (("status", "--session", "q5-nowhere"), "no session q5-nowhere in this project"),
        (("-p", "hello", "--resume", "q5-nowhere"), "no session q5-nowhere in this project"),
        (("why", "99999"), "no event 99999 in this project"),
    ],
)
def test_a_name_that_is_not_there_is_exit_1_and_is_named(
    quintet: Program, arguments: tuple[str, ...], said: str
) -> None:
    assert quintet.run(*arguments).clean(1).out == "", "there is no session at all yet"
    quintet.run("-p", "/cost").clean(0)
    done = quintet.run(*arguments).clean(1)
    assert said in done.err
    assert "quintet sessions" in done.err
    assert done.out == ""


def test_an_event_is_a_number(quintet: Program) -> None:
    assert "twelve" in quintet.run("why", "twelve").clean(2).err


# ── standard input


def test_ten_megabytes_on_stdin_are_refused_by_name_of_the_limit(quintet: Program) -> None:
    done = quintet.run("-p", stdin=b"word " * 2_000_000).clean(2)
    assert "10.0 MB" in done.err
    assert "the limit is 1 MB (limits.input_bytes)" in done.err
    assert "file" in done.err
    assert done.out == ""


def test_a_refused_input_still_ends_the_stream_with_a_result(quintet: Program) -> None:
    done = quintet.run("-p", "--output-format", "stream-json", stdin=b"word " * 300_000).clean(2)
    lines = done.lines()
    assert not lines or (lines[-1]["type"], lines[-1]["error"]["code"]) == ("result", "USAGE")


def test_a_line_of_ten_megabytes_does_not_end_a_plain_session(quintet: Program) -> None:
    done = quintet.run("--plain", stdin=b"x" * 10_000_000 + b"\n/cost\n").clean(0)
    assert "limits.input_bytes" in done.out
    assert "tokens in" in done.out


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\xff\xfe", b"find \0 words", b"caf\xe9"])
def test_binary_on_stdin_is_named_as_such(quintet: Program, data: bytes) -> None:
    assert "standard input is not text" in quintet.run("-p", stdin=data).clean(2).err
    plain = quintet.run("--plain", stdin=data + b"\n/cost\n").clean(0)
    assert "tokens in" in plain.out


def test_binary_in_an_argument_is_an_error_like_others(quintet: Program) -> None:
    done = subprocess.run(
        [*PROGRAM, "-p", b"find \xff words"], cwd=quintet.root, capture_output=True, timeout=SECONDS, env=env({})
    )
    assert b"Traceback" not in done.stderr
    assert done.returncode == 2
    assert b"UTF-8" in done.stderr


def test_no_stdin_at_all_is_no_input(quintet: Program) -> None:
    assert "nothing to do" in quintet.shell("$Q -p <&-").clean(2).err
    quintet.shell("$Q --plain <&-").clean(2)


# ── standard output


@pytest.mark.parametrize("arguments", ["-p 'find words' --output-format stream-json", "--help", "settings", "tour"])
def test_a_reader_that_leaves_early_gets_no_stack_trace(quintet: Program, arguments: str) -> None:
    done = quintet.shell(f"set -o pipefail; $Q {arguments} | head -c 1")
    assert done.err == ""
    assert len(done.out) == 1


def test_the_work_of_a_run_nobody_reads_is_kept_in_the_journal(quintet: Program, model: Model) -> None:
    model(Reply(text="unread"))
    assert "Traceback" not in quintet.shell("$Q -p hello | true").err
    assert quintet.events("turn_finished")[0]["answer"] == "unread"


@pytest.mark.parametrize("where", [">&-", "> /dev/full"])
@pytest.mark.parametrize("arguments", ["-p 'find words'", "status"])
def test_a_stdout_that_cannot_be_written_is_said_and_nothing_crashes(
    quintet: Program, arguments: str, where: str
) -> None:
    done = quintet.shell(f"$Q {arguments} {where}")
    assert "Traceback" not in done.err
    assert "Exception ignored" not in done.err
    assert done.code in (0, 1)
    assert done.code == 0 or done.err.startswith("quintet: ")


def test_a_locale_without_the_badges_bar_still_prints(quintet: Program) -> None:
    for arguments in (("status",), ("-p", "find words"), ("--plain",)):
        done = quintet.run(*arguments, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", PYTHONIOENCODING="ascii")
        done.clean(0)
        assert done.out


# ── where state lives


def test_a_home_that_cannot_be_written_is_a_clear_error(quintet: Program) -> None:
    nowhere = {"HOME": "/proc/nowhere", "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": ""}
    done = quintet.run("-p", "find words", **nowhere).clean(1)
    assert "/proc/nowhere/.local/state/quintet" in done.err
    assert "XDG_STATE_HOME" in done.err
    assert quintet.run("--plain", stdin="find words\n", **nowhere).clean(1).out == ""
    assert "XDG_CONFIG_HOME" in quintet.run("trust", **nowhere).clean(1).err
    quintet.run("status", **nowhere).clean(0)
    quintet.run("settings", **nowhere).clean(0)
    quintet.run("sessions", "list", **nowhere).clean(0)


@pytest.mark.system("bwrap")
def test_a_disk_that_cannot_be_written_is_said_and_can_still_be_read(quintet: Program) -> None:
    quintet.run("-p", "find words").clean(0)
    bound = "bwrap --ro-bind / / --dev /dev --proc /proc"
    done = quintet.shell(f"{bound} $Q -p 'find words'")
    assert done.code == 1 and "Traceback" not in done.err
    assert "cannot be written" in done.err and "XDG_STATE_HOME" in done.err
    for look in ("status", "sessions list"):
        seen = quintet.shell(f"{bound} $Q {look}").clean(0)
        assert "q5-" in seen.out


def test_a_file_where_the_state_folder_should_be_is_a_clear_error(quintet: Program, tmp_path: Path) -> None:
    (tmp_path / "occupied").write_text("")
    done = quintet.run("-p", "find words", XDG_STATE_HOME=str(tmp_path / "occupied")).clean(1)
    assert str(tmp_path / "occupied") in done.err


def test_a_folder_that_is_removed_under_us_is_a_clear_error(quintet: Program) -> None:
    done = quintet.shell('mkdir gone; cd gone; rmdir "$PWD"; $Q status; $Q -p "find words"')
    assert "Traceback" not in done.err


# ── settings


def test_a_syntax_error_in_settings_names_file_and_line(quintet: Program) -> None:
    path = quintet.settings("[limits]\nmax_turns = 3\nmax_cost 5\n")
    for arguments in (("-p", "find words"), ("status",), ("settings",), ("--plain",)):
        done = quintet.run(*arguments).clean(2)
        assert f"{path}:3:" in done.err
        assert done.out == ""


@pytest.mark.parametrize("kind", ["pipe", "device", "huge"])
def test_a_settings_file_that_is_no_plain_file_is_named_and_not_waited_for(quintet: Program, kind: str) -> None:
    path = quintet.settings("", project=True)
    path.unlink()
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case _:
            with path.open("wb") as file:
                file.truncate(1_000_000_000)
    done = quintet.shell("ulimit -v 3000000; timeout 60 $Q status")
    if kind == "device":  # whatever is behind a link out of the project is not even looked at
        assert done.clean(0).err == f"{path} is not loaded: a link leads out of the project\n"
    else:
        assert done.clean(2).err.startswith(f"quintet: {path}: ")


def test_a_wrong_type_in_settings_names_file_line_and_key(quintet: Program) -> None:
    path = quintet.settings('[limits]\n\nmax_turns = "three"\n')
    assert f"{path}:3: limits.max_turns = 'three'" in quintet.run("-p", "find words").clean(2).err


def test_an_unknown_key_is_warned_of_wherever_a_person_looks(quintet: Program) -> None:
    path = quintet.settings("[limits]\nmax_turn = 3\n")
    warning = f"{path}:2: limits.max_turn is not a setting. Did you mean limits.max_turns?"
    for arguments in (("-p", "find words"), ("status",), ("settings",)):
        assert warning in quintet.run(*arguments).clean(0).err
    assert warning in quintet.run("--plain", stdin="/cost\n").clean(0).out
    stream = quintet.run("-p", "find words", "--output-format", "stream-json").clean(0)
    assert warning in [line.get("text") for line in stream.lines()]


def test_an_untrusted_projects_settings_loosen_nothing_until_it_is_trusted(quintet: Program) -> None:
    path = quintet.settings('[dials]\nwork_mode = "build"\npermission_profile = "trusted"\n', project=True)

    def change(**options: str) -> int:
        done = quintet.run("-p", "replace split with rsplit in count.py and then run the tests", **options)
        return done.clean(done.code).code

    assert change() == 3
    assert "rsplit" not in (quintet.root / "tally/count.py").read_text()
    ignored = quintet.run("settings").clean(0).err
    both = "dials.work_mode, dials.permission_profile are ignored"
    assert f"{path}: {both} until you trust this folder (`quintet trust`)" in ignored
    assert not quintet.run("status", "--json").json()["trust"]

    assert "is now trusted" in quintet.run("trust").clean(0).out
    assert quintet.run("trust", "--list", "--json").json() == [str(quintet.root)]
    assert change() == 0
    assert "rsplit" in (quintet.root / "tally/count.py").read_text()

    assert "no longer trusted" in quintet.run("trust", "--revoke").clean(0).out
    assert change() == 3


def test_a_trust_file_that_makes_no_sense_is_named_and_trusts_nobody(quintet: Program) -> None:
    path = Path(os.environ["XDG_CONFIG_HOME"], "quintet/trusted.json")
    path.parent.mkdir()
    path.write_text("{")
    done = quintet.run("-p", "find words").clean(2)
    assert str(path) in done.err


def test_a_key_that_is_not_set_is_named_before_anything_is_sent(quintet: Program, model: Model) -> None:
    server = model(Reply(text="no"), more='api_key_env = "NO_SUCH_KEY"')
    done = quintet.run("-p", "hello", "--output-format", "json").clean(1)
    assert done.json()["error"]["code"] == "SETTINGS_INVALID"
    assert "NO_SUCH_KEY" in done.err
    assert server.server.requests == []


# ── the model server


CUT = stuck_after("Half an ans")
FAILURES = {
    "hangs": (Reply(text="late", only=0, then="hang"), "LLM_TIMEOUT", "sent nothing for 0.3 s"),
    "hangs in the middle": (CUT, "LLM_TIMEOUT", "sent nothing for 0.3 s"),
    "cuts the stream": (Reply(text="Half an ans", only=CUT.only, then="close"), "LLM_BAD_RESPONSE", "is incomplete"),
    "hangs up": (Reply(only=0, then="close"), "LLM_HTTP_ERROR", "closed the connection"),
    "is no HTTP server": (Reply(raw="SSH-2.0-OpenSSH_9.6\r\n", then="close"), "LLM_BAD_RESPONSE", "HTTP"),
    "answers with a web page": (Reply(body="<html>hello</html>"), "LLM_BAD_RESPONSE", ""),
    "answers other JSON": (Reply(body='{"hello": [1, 2]}'), "LLM_BAD_RESPONSE", ""),
    "streams rubbish": (Reply(body=[b"data: {\xff\n\n", b"data: [DONE]\n\n"]), "LLM_BAD_RESPONSE", ""),
    "refuses the key": (Reply(status=401, body='{"error": {"message": "bad key"}}'), "LLM_AUTH_FAILED", "bad key"),
    "has no such model": (Reply(status=404, body='{"error": {"message": "no model"}}'), "LLM_HTTP_ERROR", "no model"),
    "is overloaded": (Reply(status=503, body="busy"), "LLM_HTTP_ERROR", "503"),
    "limits the rate": (Reply(status=429, body="slow down"), "LLM_RATE_LIMITED", ""),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_model_server_that_fails_is_exit_1_with_a_stable_code_and_keeps_the_input(
    quintet: Program, model: Model, failure: str
) -> None:
    reply, code, said = FAILURES[failure]
    model(reply, timeout=0.3 if code == "LLM_TIMEOUT" else 60)
    done = quintet.run("-p", "remember me", "--output-format", "json").clean(1)
    result = done.json()
    assert (result["status"], result["error"]["code"]) == ("failed", code)
    assert said in result["error"]["message"]
    assert code in done.err
    assert len(done.err.splitlines()) <= 6, done.err

    server = model(Reply(text="I remember."))
    assert quintet.run("-p", "and now?", "--resume").clean(0).out == "I remember.\n"
    said_before = [text for role, text in server.said[0] if role == "user"]
    assert said_before == ["remember me", "and now?"]


def test_a_model_server_that_is_down_is_named_with_what_to_check(quintet: Program, model: Model) -> None:
    server = model(Reply(text="hello"))
    url = server.server.base_url
    quintet.settings(server.settings().replace(url, "http://127.0.0.1:9/v1"))
    done = quintet.run("-p", "remember me", "--output-format", "json").clean(1)
    assert done.json()["error"]["code"] == "LLM_HTTP_ERROR"
    assert "127.0.0.1:9" in done.err
    assert "models.m.base_url" in done.err
    assert quintet.events("input_received")[0]["text"] == "remember me"


def test_a_failing_server_is_tried_again_as_often_as_the_settings_say(quintet: Program, model: Model) -> None:
    server = model(Reply(status=503, body="busy"), Reply(text="Now it works."), retries=1)
    done = quintet.run("-p", "hello").clean(0)
    assert done.out == "Now it works.\n"
    assert "retrying in" in done.err
    assert len(server.server.requests) == 2


def test_half_a_reply_is_kept_when_the_stream_is_cut(quintet: Program, model: Model) -> None:
    model(Reply(text="Half an ans", only=CUT.only, then="close"))
    quintet.run("-p", "hello").clean(1)
    (replied,) = quintet.events("model_replied")
    assert (replied["text"], replied["partial"]) == ("Half an ans", True)


def test_a_failing_model_does_not_end_a_plain_session(quintet: Program, model: Model) -> None:
    model(Reply(status=401, body='{"error": {"message": "bad key"}}'), Reply(text="better"))
    done = quintet.run("--plain", stdin="hello\nagain\n").clean(0)
    assert "LLM_AUTH_FAILED" in done.out
    assert done.out.rstrip().endswith("better")


def test_a_model_that_calls_nonsense_is_answered_and_goes_on(quintet: Program, model: Model) -> None:
    wild = Reply(
        calls=[
            {"id": "a", "name": "lanch_missiles", "arguments": "{}"},
            {"id": "b", "name": "Read", "arguments": '{"file_path": '},
            {"id": "c", "name": "Read", "arguments": '{"path": "tally/count.py"}'},
            {"id": "d", "name": "Read", "arguments": '{"file_path": "absent.txt"}'},
        ]
    )
    server = model(wild, Reply(text="sorry"))
    assert quintet.run("-p", "hello").clean(0).out == "sorry\n"
    answers = [text for role, text in server.said[1] if role == "tool"]
    wanted = ("there is no tool lanch_missiles", "not JSON", "file_path", "absent.txt: No such file")
    assert [part in text for part, text in zip(wanted, answers, strict=True)] == [True] * 4


def test_a_tool_result_that_is_no_text_does_not_end_the_run(quintet: Program, model: Model) -> None:
    (quintet.root / "latin.txt").write_bytes(b"caf\xe9 one\n")
    model(
        call("Read", file_path="latin.txt"),
        call("Edit", file_path="latin.txt", old_string="one", new_string="two"),
        call("bash", command="cat latin.txt"),
        Reply(text="edited"),
    )
    done = quintet.run("-p", "go", "--mode", "build", "--permission-profile", "normal").clean(0)
    assert done.out == "edited\n"
    assert (quintet.root / "latin.txt").read_bytes() == b"caf\xe9 two\n"


def test_a_call_with_a_nul_character_does_not_end_the_run(quintet: Program, model: Model) -> None:
    model(call("grep", pattern="a\0b"), Reply(text="went on"))
    assert quintet.run("-p", "go").clean(0).out == "went on\n"


def test_waiting_for_a_model_costs_no_processor_time(quintet: Program, model: Model) -> None:
    server = model(Reply(text="at last", delay=1.5))
    child = subprocess.Popen(
        [*PROGRAM, "--plain"],
        cwd=quintet.root,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=env({}),
    )
    assert child.stdin
    child.stdin.write(b"hello\n")
    child.stdin.close()
    server.asked()
    user, system = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    until_asked = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    assert used.ru_utime + used.ru_stime - until_asked < 1.0


# ── the stack trace


def test_a_stack_trace_comes_only_with_debug(quintet: Program) -> None:
    assert "Traceback" not in quintet.run("-p", "hello", "--resume", "nowhere").err
    done = quintet.run("-p", "hello", "--resume", "nowhere", "--debug")
    assert re.search(r"Traceback.*NotFound", done.err, re.S)
    assert done.code == 1


def test_errors_of_looking_up_are_no_json_on_stdout(quintet: Program) -> None:
    done = quintet.run("status", "--json", "--session", "nowhere").clean(1)
    assert done.out == ""
    assert json.loads(quintet.run("status", "--json").clean(0).out)["session"] is None


@pytest.mark.parametrize("command", ["status", "settings"])
def test_names_in_a_projects_settings_cannot_steer_the_terminal(quintet: Program, command: str) -> None:
    folder = quintet.root / ".quintet"
    folder.mkdir()
    (folder / "settings.toml").write_text('[models."m\\u001b[2J"]\nx = 1\n["\\u001b]0;PWN\\u0007"]\nkey = 2\n')
    done = quintet.run(command)
    assert "\x1b" not in done.out + done.err
    assert "PWN" in done.err
