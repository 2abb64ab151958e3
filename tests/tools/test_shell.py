"""bash, with a real shell."""

from pathlib import Path

import pytest

from quintet.domain.permission.gate import Verdict
from quintet.domain.turn.tool_spec import CallStatus, ShellSeen
from tests.looking import a_while, alive
from tests.tools.calling import Caller


def test_output_and_exit_code_come_back(tools: Caller) -> None:
    result = tools("bash", command="echo out; echo err >&2; exit 3")
    assert result.content == "out\nerr\nexit 3"
    assert result.status is CallStatus.ERROR
    assert result.shell == ShellSeen("", running=False, exit_code=3)
    assert tools.ok("bash", command="true") == "exit 0"


def test_a_command_ended_by_a_signal_has_the_shells_code_for_it(tools: Caller) -> None:
    assert tools.fails("bash", command="kill -TERM $$") == "exit 143"


def test_it_runs_in_the_project_or_the_folder_it_was_told(tools: Caller) -> None:
    assert tools.ok("bash", command="pwd") == f"{tools.root}\nexit 0"
    assert tools.ok("bash", command="pwd", exec_dir="tally") == f"{tools.root}/tally\nexit 0"
    assert "no such folder" in tools.fails("bash", command="pwd", exec_dir="absent")


def test_a_folder_outside_is_asked_about_and_then_run_in(tools: Caller, tmp_path: Path) -> None:
    (tmp_path / "beside").mkdir()
    for folder in ("../beside", str(tmp_path / "beside")):
        assert tools.verdict("bash", command="pwd", exec_dir=folder) is Verdict.ASK
        assert tools.ok("bash", command="pwd", exec_dir=folder) == f"{tmp_path / 'beside'}\nexit 0"
    assert "no such folder" in tools.fails("bash", command="pwd", exec_dir="../absent")


def test_input_is_empty_and_nothing_waits_for_it(tools: Caller) -> None:
    assert tools.ok("bash", command="cat; echo done") == "done\nexit 0"


def test_a_timeout_is_exit_124_and_keeps_what_was_printed(tools: Caller) -> None:
    for seconds in (0.3, 3, 30):  # the first is enough, unless the machine is very busy
        result = tools("bash", command="echo begun; sleep 60", timeout=seconds)
        assert result.status is CallStatus.ERROR
        if "begun" in result.content:
            break
    assert result.content == f"begun\nexit 124\n(killed after {seconds} s)"


def test_a_timeout_ends_everything_the_command_started(tools: Caller) -> None:
    """Children in the group, children that ignore the polite signal, and those that left for a session of their own."""
    apart, deaf, plain = a_while(), a_while(), a_while()
    line = f"setsid sleep {apart} & (trap '' INT; exec sleep {deaf}) & sleep {plain}"
    assert "exit 124" in tools.fails("bash", command=line, timeout=0.3)
    assert not [seconds for seconds in (apart, deaf, plain) if alive("sleep", seconds)]


def test_what_a_command_leaves_in_the_background_ends_with_it(tools: Caller) -> None:
    long = a_while()
    assert tools.ok("bash", command=f"sleep {long} & echo done", timeout=50) == "done\nexit 0"
    assert not alive("sleep", long)


def test_long_output_keeps_its_beginning_and_its_end(tools: Caller) -> None:
    said = tools.ok("bash", command="echo first; head -c 1000000 /dev/zero | tr '\\0' x; echo; echo last")
    assert len(said) < 31_000
    assert said.startswith("first\nxxx")
    assert said.endswith("xxx\nlast\nexit 0")
    assert "bytes omitted; the full output is in " in said
    kept = Path(said.partition("the full output is in ")[2].partition(" …")[0])
    assert kept.read_bytes() == b"first\n" + b"x" * 1_000_000 + b"\nlast\n"
    assert "1000000" not in tools.ok("Read", file_path=str(kept), limit=1)


def test_output_that_is_no_text_is_shown_with_marks_in_its_place(tools: Caller) -> None:
    assert tools.ok("bash", command="printf 'caf\\351\\n'") == "caf\ufffd\nexit 0"


def test_keys_and_agents_of_the_person_are_not_passed_on(tools: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "SSH_AUTH_SOCK",
        "MY_TOKEN",
        "DATABASE_URL",
    ):
        monkeypatch.setenv(name, "do-not-pass")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    said = tools.ok("bash", command="env")
    assert "do-not-pass" not in said
    names = {line.partition("=")[0] for line in said.splitlines()}
    assert {"PATH", "HOME", "LC_ALL"} <= names
    assert "LD_PRELOAD" not in names


def test_programs_that_page_or_ask_do_not_wait(tools: Caller) -> None:
    assert "A small package" in tools.ok("bash", command="git log --oneline")


@pytest.mark.parametrize("timeout", [0, -1])
def test_no_time_at_all_is_a_timeout_and_not_a_failure_of_ours(tools: Caller, timeout: int) -> None:
    assert "exit 124" in tools.fails("bash", command="sleep 60", timeout=timeout)


def test_waiting_is_bounded(tools: Caller) -> None:
    assert tools.ok("wait", seconds=0.01) == "waited 0.01 s"
    assert "0 to 600" in tools.fails("wait", seconds=601)
