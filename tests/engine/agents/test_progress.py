"""Checklist and SWE phases in a run: journalled, kept over resume and fork, and masked the same way twice."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import describe
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Verdict
from quintet.domain.turn.messages import Part
from quintet.domain.turn.swe_phases import PHASES
from quintet.domain.turn.todos import TodoStatus
from quintet.domain.turn.tool_spec import CallStatus
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive

SWE = {"tools.swe_phases": True}
EXPLAINED = "the file is written and holds the text"
EXISTS = {"type": "file_exists", "path": "made.txt"}
LOCALIZED = call("advance_phase", values={"suspect_files": ["tally/count.py"], "hypothesis": "split"})
UNDERSTOOD = call("advance_phase", values={"root_cause": "split"})
FIXED = call("advance_phase", values={"modified_files": ["tally/count.py"]})
TESTED = call("bash", command="python3 -m unittest")


def statuses(driver: Driver) -> list[tuple[str, str]]:
    return [(event.before, event.todo.status) for event in driver.of(p.TodoMoved)]


def phases(driver: Driver) -> list[tuple[str, str]]:
    return [(event.before, event.after) for event in driver.of(p.PhaseMoved)]


def told(model: ScriptedModel, request: int) -> str:
    return model.requests[request].messages[-1].text


def one_turn(root: Path, replies: list[Any], **options: Any) -> tuple[Driver, ScriptedModel]:
    async def script(driver: Driver) -> None:
        await driver.turn("work")

    model = ScriptedModel(replies)
    return drive(root, script, model, **options), model


def create(*criteria: dict[str, Any]) -> Part:
    return call("TodoCreate", todos=[{"content": "write it", "criteria": list(criteria)}])


def claimed(*criteria: dict[str, Any]) -> list[Part]:
    return [create(*criteria), call("TodoStart", id="1"), call("TodoClaim", id=1, explanation=EXPLAINED)]


# ── todos


def test_s0_every_move_of_a_todo_is_journalled_with_before_and_after(repo: Path) -> None:
    steps = claimed(EXISTS, {"type": "file_contains", "path": "made.txt", "text": "hello"})
    write = call("Write", file_path="made.txt", content="hello there\n")
    driver, model = one_turn(repo, [[*steps, write, call("TodoVerify", id="1"), call("TodoRead")], "done"])
    assert statuses(driver) == [
        ("", TodoStatus.PENDING),
        ("pending", TodoStatus.IN_PROGRESS),
        ("in_progress", TodoStatus.CLAIMED),
        ("claimed", TodoStatus.VERIFIED),
    ]
    assert "1  verified  write it\n     holds: file_exists made.txt: a file is there" in told(model, 1)


def test_todos_survive_a_resume_and_a_fork(repo: Path) -> None:
    first, _ = one_turn(repo, [claimed(EXISTS), "done"])
    (repo / "made.txt").write_text("")

    async def nothing(driver: Driver) -> None:
        assert driver.session.state.work.todos["1"].status is TodoStatus.CLAIMED

    drive(repo, nothing, resume=first.session.id, fork=True, axes=None)
    second, _ = one_turn(repo, [[call("TodoVerify", id="1")], "done"], resume=first.session.id, axes=None)
    assert second.session.state.work.todos["1"].status is TodoStatus.VERIFIED
    assert second.session.state.work.todos["1"].explanation == EXPLAINED


def test_a_skipped_step_changes_nothing_and_says_what_comes_first(repo: Path) -> None:
    driver, model = one_turn(repo, [[create(EXISTS), call("TodoClaim", id="1", explanation=EXPLAINED)], "done"])
    assert told(model, 1) == "todo 1 is pending: TodoStart comes first"
    assert statuses(driver) == [("", TodoStatus.PENDING)]


@pytest.mark.parametrize(
    ("criterion", "finding"),
    [
        ({"type": "command_exit_zero", "command": "ls nowhere"}, "exit 2: ls: cannot access"),
        (EXISTS, "there is no such file"),
        ({"type": "file_exists", "path": "tally/../../x"}, "outside the project"),
        ({"type": "file_contains", "path": "tally/count.py", "text": "no such words"}, "the text is not in it"),
        ({"type": "file_contains", "path": "nowhere.txt", "text": "x"}, "there is no such file"),
        ({"type": "pr_exists", "repo": "no repo", "pull_number": 1}, "owner/name on github.com is expected"),
        ({"type": "moon_is_full", "when": "tonight"}, "there is no criterion moon_is_full; use one of command_exit_"),
        (None, "it has no criteria to verify it by"),
    ],
)
@pytest.mark.everything
def test_s0_a_claim_that_is_not_borne_out_stays_a_claim(
    repo: Path, criterion: dict[str, Any] | None, finding: str
) -> None:
    good = {"type": "file_exists", "path": "tally/count.py"}
    steps = claimed(*([good, criterion] if criterion else []))
    answers = [call("TodoVerify", id="1")]

    async def script(driver: Driver) -> None:
        await driver.session.say("work")
        finished = await driver.until(
            lambda e: isinstance(e, p.QuestionAsked | p.TodoMoved) and getattr(e, "before", "claimed") == "claimed"
        )
        if isinstance(finished, p.QuestionAsked):  # a path outside the project asks first
            await driver.session.submit(p.Answer(question=finished.question, choice="y"))
        await driver.until_type(p.TurnFinished)

    model = ScriptedModel([steps, answers, "done"])
    driver = drive(repo, script, model, person=True)
    assert statuses(driver)[-1] == ("claimed", TodoStatus.CLAIMED)
    assert "todo 1 stays claimed" in told(model, 2)
    assert finding in told(model, 2)
    assert ("holds: file_exists tally/count.py" in told(model, 2)) is bool(criterion)
    checks = driver.session.state.work.todos["1"].checks
    assert [check.held for check in checks] == ([True, False] if criterion else [])


def test_a_command_that_exits_0_verifies(repo: Path) -> None:
    tests = {"type": "command_exit_zero", "command": "python3 -m unittest"}
    driver, _ = one_turn(repo, [[*claimed(tests), call("TodoVerify", id="1")], "done"])
    assert statuses(driver)[-1] == ("claimed", TodoStatus.VERIFIED)
    decided = driver.of(p.CallDecided)[-1]
    assert (decided.tool, decided.verdict, decided.effects) == ("TodoVerify", Verdict.ALLOW, (Effect.BUILD,))
    assert decided.grant.effects == (Effect.BUILD,)


def test_verifying_asks_for_what_its_command_would_do_and_shows_it(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("work")
        asked = await driver.until_type(p.QuestionAsked)
        assert asked.text == "Run: shred -u tally/count.py?"
        await driver.session.submit(p.Answer(question=asked.question, choice="n"))
        await driver.until_type(p.TurnFinished)

    delete = {"type": "command_exit_zero", "command": "shred -u tally/count.py"}
    driver = drive(repo, script, ScriptedModel([[*claimed(delete), call("TodoVerify", id="1")], "done"]), person=True)
    assert driver.of(p.CallDecided)[-1].effects == (Effect.DESTROY,)
    assert (repo / "tally/count.py").exists()
    assert statuses(driver)[-1] == ("in_progress", TodoStatus.CLAIMED)


def test_nobody_to_ask_and_nothing_is_run(repo: Path) -> None:
    delete = {"type": "command_exit_zero", "command": "shred -u tally/count.py"}
    driver, _ = one_turn(repo, [[*claimed(delete), call("TodoVerify", id="1")], "done"])
    assert driver.of(p.TurnFinished)[-1].status == "blocked"
    assert (repo / "tally/count.py").exists()


def test_a_secret_is_no_criterion(repo: Path) -> None:
    (repo / ".env").write_text("KEY=hidden\n")
    guess = {"type": "file_contains", "path": ".env", "text": "hidden"}
    driver, model = one_turn(repo, [[*claimed(guess), call("TodoVerify", id="1")], "done"])
    assert driver.of(p.ToolFinished)[-1].status is CallStatus.DENIED
    assert "protected" in told(model, 1)


def test_the_checklist_works_where_only_reading_is_allowed(repo: Path) -> None:
    axes = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.RESTRICTED)
    good = {"type": "file_exists", "path": "tally/count.py"}
    driver, _ = one_turn(repo, [[*claimed(good), call("TodoVerify", id="1")], "done"], axes=axes)
    assert statuses(driver)[-1] == ("claimed", TodoStatus.VERIFIED)


# ── SWE phases


def test_s0_the_phases_are_off_until_a_run_asks_for_them(repo: Path) -> None:
    names = ("advance_phase", "return_to_fix_phase", "analyze_test_failure", "get_phase_status")
    calls = [
        call("advance_phase", values={}),
        call("return_to_fix_phase", reason="x"),
        call("analyze_test_failure", test_name="tests/test_count.py"),
        call("get_phase_status"),
    ]
    driver, model = one_turn(repo, [calls, "done"])
    assert [(event.tool, event.status) for event in driver.of(p.ToolFinished)] == [
        (name, CallStatus.ERROR) for name in names
    ]
    assert all("the SWE phases are off in this run" in event.content for event in driver.of(p.ToolFinished))
    assert driver.of(p.PhaseMoved) == [] and driver.of(p.ToolStarted) == []
    assert "bash" in [tool.name for tool in model.requests[0].tools]


def test_s0_a_run_goes_through_the_phases_from_localization_to_complete(repo: Path) -> None:
    source = repo / "tally" / "count.py"
    edit = {"file_path": "tally/count.py", "old_string": "len(text.split())", "new_string": "len(text.split(None))"}
    replies = [
        [call("Read", file_path="tally/count.py"), LOCALIZED, UNDERSTOOD, call("Edit", **edit), FIXED, TESTED],
        [call("advance_phase", values={"pass_to_pass_status": "all_passed"})],
        [call("complete", final_answer="fixed")],
    ]
    driver, model = one_turn(repo, replies, settings=SWE)
    ended = driver.of(p.TurnFinished)[-1]
    assert (ended.status, ended.answer) == ("done", "fixed")
    names = [*PHASES, "finished"]
    assert phases(driver) == [("", names[0]), *pairwise(names)]
    assert driver.session.state.work.swe and driver.session.state.work.swe.values["pass_to_pass_status"] == "all_passed"
    assert "split(None)" in source.read_text()
    assert "complete" not in [tool.name for tool in model.requests[1].tools]
    assert "complete" in [tool.name for tool in model.requests[2].tools]


@pytest.mark.parametrize("presentation", ["flat", "menu"])
def test_what_a_phase_shows_is_what_it_lets_be_called(repo: Path, presentation: str) -> None:
    arguments: dict[str, dict[str, Any]] = {
        "Read": {"file_path": "tally/count.py"},
        "Edit": {"file_path": "tally/count.py", "old_string": "a", "new_string": "b"},
        "Write": {"file_path": "new.txt", "content": "x"},
        "bash": {"command": "ls"},
        "grep": {"pattern": "def"},
        "glob": {"pattern": "*"},
        "git_status": {},
        "TodoRead": {},
        "analyze_test_failure": {"test_name": "tests/nowhere.py"},
        "get_phase_status": {},
    }
    probe = [call(name, **values) for name, values in arguments.items()]
    ways = [[call("menu_enter", mode="swe")], probe, [LOCALIZED], probe, [UNDERSTOOD], probe, [FIXED], probe]
    _, model = one_turn(repo, [*ways, "done"], settings={**SWE, "tools.presentation": presentation})
    for place in (1, 3, 5, 7):
        shown = {tool.name for tool in model.requests[place].tools} & set(arguments)
        answers = [message.text for message in model.requests[place + 1].messages[-len(probe) :]]
        refused = {
            name for name, text in zip(arguments, answers, strict=True) if "is not available in SWE phase" in text
        }
        assert shown == set(arguments) - refused
        assert len(shown) >= 3
        assert refused


def test_the_menu_tells_only_of_tools_the_phase_has(repo: Path) -> None:
    settings = {**SWE, "tools.presentation": "menu"}
    _, model = one_turn(
        repo, [[call("menu_enter", mode="swe")], [call("menu_enter", mode="git")], "done"], settings=settings
    )
    assert told(model, 1).startswith("In swe. Tools: Read, grep, glob,")
    assert "Edit" not in told(model, 1)
    assert 'toolset "git": not one of' in told(model, 2)


def test_s0_a_spent_budget_stops_the_phases_tools_until_it_advances(repo: Path) -> None:
    read = call("Read", file_path="tally/count.py")
    neutral = [call("think", content="hm"), call("get_phase_status")]
    bad = call("Read", file="x")  # never ran: costs nothing
    reads = [call("Read", file_path="tally/count.py", limit=lines) for lines in range(1, 16)]
    replies = [[*neutral, bad, *reads], [read], [*neutral, LOCALIZED, read], "done"]
    driver, model = one_turn(repo, replies, settings=SWE)
    assert told(model, 2).startswith("the budget of phase localization is used up (15 calls). Call advance_phase with")
    assert driver.session.state.work.swe and driver.session.state.work.swe.used == {
        "localization": 15,
        "understanding": 1,
    }
    started = [event.tool for event in driver.of(p.ToolStarted) if event.tool == "Read"]
    assert len(started) == 16


BREAK = call("Write", file_path="tally/count.py", content="def words(text: str) -> int:\n    return 7\n")


def claim_after(*calls: Part) -> Callable[[Path], str]:
    """What a model is told that claims all_passed after these calls of the regression check."""

    def run(root: Path) -> str:
        start = [LOCALIZED, UNDERSTOOD, call("Read", file_path="tally/count.py")]
        claim = call("advance_phase", values={"pass_to_pass_status": "all_passed"})
        _, model = one_turn(root, [[*start, *calls, claim], "done"], settings=SWE)
        return told(model, 1)

    return run


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (claim_after(FIXED, TESTED), "In target_fix_verification."),
        (claim_after(FIXED), "no test command has run yet"),
        (claim_after(BREAK, FIXED, TESTED), "the latest test command did not exit 0"),
        (
            claim_after(FIXED, TESTED, call("return_to_fix_phase", reason="not yet"), BREAK, FIXED),
            "something was changed after the latest test command: run it again",
        ),
        (claim_after(FIXED, call("bash", command="python3 -m unittest | tail -1")), "may be from another command"),
    ],
    ids=["passed", "no test", "failed", "edited since", "hidden exit code"],
)
def test_s0_all_passed_is_accepted_only_where_the_latest_test_shows_it(
    repo: Path, run: Callable[[Path], str], said: str
) -> None:
    assert said in run(repo)


def test_a_return_to_the_fix_gives_it_a_new_budget(repo: Path) -> None:
    again = call("return_to_fix_phase", reason="one test still fails")
    read = call("Read", file_path="tally/count.py")
    reads = [call("Read", file_path="tally/count.py", limit=lines) for lines in range(1, 16)]
    replies = [[LOCALIZED, UNDERSTOOD, *reads], [read], [FIXED, again, read], "done"]
    driver, model = one_turn(repo, replies, settings=SWE)
    assert told(model, 2).startswith("the budget of phase fix is used up")
    assert phases(driver)[-1] == ("regression_check", "fix")
    assert driver.of(p.PhaseMoved)[-1].reason == "one test still fails"
    assert driver.session.state.work.swe and driver.session.state.work.swe.used["fix"] == 1


def test_phases_go_on_after_a_resume_and_end_where_a_run_does_not_ask_for_them(repo: Path) -> None:
    read = call("Read", file_path="tally/count.py")
    first, _ = one_turn(repo, [[read, LOCALIZED, read], "so far"], settings=SWE)
    again, _ = one_turn(repo, [[read], "so far"], settings=SWE, resume=first.session.id, axes=None)
    state = again.session.state.work.swe
    assert state and (state.phase, state.used) == ("understanding", {"localization": 1, "understanding": 2})
    assert phases(again)[-1] == ("localization", "understanding")
    without, _ = one_turn(repo, [[call("git_status")], "done"], resume=first.session.id, axes=None)
    assert phases(without)[-1] == ("understanding", "")
    assert without.of(p.ToolFinished)[-1].status is CallStatus.OK
    assert without.session.state.work.swe is None


def test_a_finished_round_of_phases_begins_anew_with_the_next_turn(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("fix it")
        await driver.turn("and the next one")

    failed = call("advance_phase", values={"pass_to_pass_status": "1_failed", "fail_to_pass_status": "1_failed"})
    late = call("Read", file_path="tally/count.py")
    model = ScriptedModel([[LOCALIZED, UNDERSTOOD, FIXED, failed, failed, late], "not fixed", "ok"])
    driver = drive(repo, script, model, settings=SWE)
    assert told(model, 1).startswith("Read is not available in SWE phase finished;")
    assert phases(driver)[-2:] == [("target_fix_verification", "finished"), ("", "localization")]
    assert driver.session.state.work.swe and driver.session.state.work.swe.values == {}


def test_a_persons_own_shell_line_is_no_phases_business(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("begin")
        assert (await driver.turn("! git status --short")).status == "done"
        assert driver.session.state.work.swe and driver.session.state.work.swe.used == {}

    drive(repo, script, settings=SWE)


def test_moves_have_words_and_their_calls_stay_quiet(repo: Path) -> None:
    driver, _ = one_turn(repo, [[create(EXISTS), call("TodoStart", id="1")], "done"])
    lines = [line.text for event in driver.seen for line in describe(p.Recorded(1, "", event))]
    assert lines == ["todo 1  pending  write it", "todo 1  pending → in_progress  write it"]
    driver, _ = one_turn(repo, [[LOCALIZED], "done"], settings=SWE)
    lines = [line.text for event in driver.seen for line in describe(p.Recorded(1, "", event))]
    assert lines == [
        "phase  none → localization  the run uses SWE phases",
        "phase  localization → understanding  advanced",
    ]
