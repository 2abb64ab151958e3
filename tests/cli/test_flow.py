"""`quintet flow` and `quintet headless autonomous`: one line or file from plan to verified, and where it stops."""

from pathlib import Path

import pytest

from tests.engine.cycles import THREE, TWO, statuses
from tests.surfaces.program import Program

TRUSTED = ("--permission-profile", "trusted")


def test_s4_a_flow_plans_executes_verifies_and_says_where_each_task_stands(quintet: Program) -> None:
    done = quintet.run("flow", THREE, *TRUSTED).clean(0)
    assert [line.split()[:2] for line in done.out.splitlines()] == [["done", f"task-00{n}"] for n in (1, 2, 3)]
    for line in (
        "plan │ autonomous │ trusted │ smart   chat → plan, by user",
        "plan     3 tasks",
        "accepted 3 tasks, by autonomous",
        "build │ autonomous │ trusted │ smart   plan → build, by user",
        "task 1/3 create the file NEWS.md",
        "failed verification: create the file NEWS.md",
        "· attempt 2",
        "done     3 of 3 tasks done · 4 attempts",
    ):
        assert line in done.err, line
    status = quintet.run("status", "--json").clean(0).json()["cycle"]
    assert (status["status"], status["phase"], status["units"]) == ("done", "completed", 4)
    assert "cycle     done, completed, iteration 1" in quintet.run("status").clean(0).out


def test_in_restricted_a_flow_stops_at_the_plan_and_goes_on_when_it_is_let(quintet: Program) -> None:
    stopped = quintet.run("headless", "autonomous", TWO).clean(3)
    assert "plan     2 tasks" in stopped.err
    assert "quintet flow --resume --permission-profile normal" in stopped.err
    assert not (quintet.root / "a.txt").exists() and quintet.run("tasks", "list", "--json").json() == []
    assert quintet.run("flow", "--resume", "--permission-profile", "normal").clean(0).out.count("done  task-") == 2
    assert (quintet.root / "b.txt").read_text() == "b\n"


def test_a_flag_with_resume_goes_on_where_no_plan_waits(quintet: Program) -> None:
    quintet.run("flow", TWO, "--permission-profile", "normal", "--max-units", "1").clean(4)
    done = quintet.run("flow", "--resume", "--permission-profile", "normal").clean(0)
    assert done.out.count("done  task-") == 2
    over = quintet.run("flow", "--resume", "--permission-profile", "normal").clean(2)
    assert "no run can be resumed" in over.err


def test_a_flow_goes_on_in_build_whatever_mode_its_session_was_left_in(quintet: Program) -> None:
    quintet.run("flow", TWO, "--permission-profile", "normal", "--max-units", "1").clean(4)
    quintet.run("-p", "/mode chat", "--resume").clean(0)
    done = quintet.run("flow", "--resume", "--max-units", "5").clean(0)
    assert done.out.count("done  task-") == 2 and "chat → build, by user" in done.err


def test_s4_an_input_file_is_read_and_never_changed(quintet: Program, tmp_path: Path) -> None:
    wish = tmp_path / "wish.md"
    wish.write_text(TWO)
    assert quintet.run("flow", str(wish), *TRUSTED).clean(0).out.count("done") == 2
    assert wish.read_text() == TWO and not (quintet.root / ".quintet/task.md").exists()


def test_a_flow_is_json_lines_for_a_program_from_session_to_result(quintet: Program) -> None:
    lines = quintet.run("flow", TWO, *TRUSTED, "--output-format", "stream-json").clean(0).lines()
    assert (lines[0]["type"], lines[-1]["type"]) == ("session", "result")
    last = lines[-1]
    assert (last["status"], last["done"], last["units"], last["exit_code"]) == ("done", 2, 2, 0)
    assert last["axes"]["work_mode"] == "build" and last["phase"] == "completed"
    phases = [line["phase"] for line in lines if line["type"] == "cycle_moved"]
    assert phases[0] == "reading-input" and phases[-1] == "completed"


def test_what_to_do_next_is_a_command_line_for_a_program(quintet: Program) -> None:
    flags = ("--control", "assisted", "--permission-profile", "normal", "--output-format", "json")
    result = quintet.run("-p", f"/plan {TWO}", *flags).json()
    wanted = f'the plan needs your approval: quintet -p "/accept" --resume {result["session"]}'
    assert (result["status"], result["reason"]) == ("waiting", wanted)


def test_a_limit_names_itself_and_has_its_exit_code(quintet: Program) -> None:
    done = quintet.run("flow", TWO, *TRUSTED, "--max-units", "1").clean(4)
    assert "limit    cycle.max_units = 1" in done.err and statuses(quintet.root)["task-001"] == "done"


def test_what_cannot_be_taken_is_said_before_anything_is_opened(quintet: Program, tmp_path: Path) -> None:
    (tmp_path / "empty.md").write_text("\n")
    assert "the file is empty" in quintet.run("flow", str(tmp_path / "empty.md")).clean(2).err
    assert "nothing to do" in quintet.run("flow").clean(2).err
    assert "wishh.md: no such file" in quintet.run("flow", "wishh.md", *TRUSTED).clean(2).err
    assert "leave the text out" in quintet.run("flow", TWO, "--resume").clean(2).err
    assert "--mode review cannot be used" in quintet.run("flow", TWO, "--mode", "review").clean(2).err
    said = quintet.run("flow", "make it better", *TRUSTED).clean(3)
    assert "No model is configured" in said.err
    assert quintet.run("tasks", "list", "--json").json() == []


def test_an_unfinished_merge_holds_a_flow_up_and_the_plan_is_kept(quintet: Program) -> None:
    (quintet.root / ".git" / "MERGE_HEAD").write_text("0" * 40 + "\n")
    done = quintet.run("flow", TWO, *TRUSTED).clean(3)
    assert "GIT_UNFINISHED: git is in the middle of a merge" in done.err
    (quintet.root / ".git" / "MERGE_HEAD").unlink()
    assert quintet.run("flow", "--resume").clean(0).out.count("done") == 2


def test_in_a_plain_session_a_plan_is_shown_and_waits_for_accept(quintet: Program) -> None:
    lines = f"/plan {TWO}\n/accept --autonomous --permission-profile normal\n/status\n"
    done = quintet.run("--plain", "--control", "assisted", "--permission-profile", "normal", stdin=lines)
    out = done.clean(0).out
    assert "~~~~" not in out and "plan     2 tasks" in out and "waiting  the plan needs your approval: /accept" in out
    assert out.index("waiting  ") < out.index("accepted 2 tasks, by user") < out.index("done     2 of 2 tasks done")
    assert "cycle     done, completed" in out


@pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning")
def test_at_a_terminal_a_plan_is_built_on_a_yes_and_no_prompt_comes_between(quintet: Program) -> None:
    terminal = quintet.plain("--control", "assisted", "--permission-profile", "normal")
    terminal.sees("› ")
    terminal.types(f"/plan {TWO}")
    terminal.sees("[n] not now")
    terminal.types("a")
    assert "›" not in terminal.sees("accepted 2 tasks", "done     2 of 2 tasks done").partition("accepted")[2]
    terminal.sees("› ")
    terminal.types("/quit")
    assert terminal.leaves()[0] == 0


def test_a_file_may_stand_behind_the_flags(quintet: Program) -> None:
    (quintet.root / "two things.md").write_text(TWO)
    done = quintet.run("--permission-profile", "trusted", "two things.md").clean(0)
    assert done.out.count("done  task-") == 2


def test_what_a_task_did_not_find_is_not_verified_by_trying_again(quintet: Program) -> None:
    done = quintet.run("flow", 'replace "wrods" with "terms" in tally/count.py', *TRUSTED)
    assert done.code != 0 and "verified" not in done.out, done
    assert "“wrods” does not occur in tally/count.py" in done.out + done.err


def test_what_stands_there_as_asked_is_found_done_by_the_next_attempt(quintet: Program) -> None:
    """As when the first was cut short behind its edit."""
    done = quintet.run("flow", 'replace "wrods" with "words" in tally/count.py', *TRUSTED).clean(0)
    assert "done  task-001" in done.out, done
