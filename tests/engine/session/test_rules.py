"""The user's standing rules: made by an answer, held by the gate, revoked from anywhere."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from quintet.adapters.settings.rule_book import FileRuleBook
from quintet.domain.base.errors import NotFound, SettingsError
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.permission.answers import LASTING
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Verdict
from quintet.domain.permission.rules import Rule
from quintet.domain.turn.tool_spec import CallStatus
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.surfaces.program import Program

NORMAL = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
TEST = "python3 -m unittest"  # build: beyond normal


def axes(work_mode: WorkMode, profile: PermissionProfile, control: RunControl = RunControl.AUTONOMOUS) -> AxesChange:
    return AxesChange(work_mode, control, profile)


@pytest.fixture
def book() -> FileRuleBook:
    return FileRuleBook(os.path.join(os.environ["XDG_CONFIG_HOME"], "quintet", "rules.json"))


def rule(verdict: Any, tool: str = "bash", pattern: str = "*", *effects: Effect, project: str = "") -> Rule:
    return Rule(f"rule-{verdict}", verdict, tool, pattern, effects, project)


def turn(root: Path, lines: list[str], answers: str = "", *, dials: AxesChange = NORMAL, **options: Any) -> Driver:
    """One turn whose steps are these shell lines; each question gets the next answer."""

    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        for choice in answers:
            await driver.answer(choice)
        await driver.until_type(p.TurnFinished)

    model = ScriptedModel([*([call("bash", command=line)] for line in lines), "done"])
    return drive(root, script, model, person=True, axes=dials, **options)


def started(driver: Driver) -> list[str]:
    return [json.loads(event.arguments)["command"] for event in driver.of(p.ToolStarted)]


# ── made by an answer


def test_always_makes_a_rule_and_the_same_call_then_proceeds_unasked(repo: Path, book: FileRuleBook) -> None:
    driver = turn(repo, [TEST, TEST], "a")
    made = driver.of(p.RuleMade)[0].rule
    assert book.rules() == (made,)
    assert (made.verdict, made.tool, made.pattern) == ("allow", "bash", TEST)
    assert (made.effects, made.project) == ((Effect.BUILD,), str(repo))
    first, second = driver.of(p.CallDecided)
    assert (first.verdict, first.rule) == (Verdict.ASK, "")
    assert (second.verdict, second.rule) == (Verdict.ALLOW, made.id)
    assert second.reason == f"your rule {made.id}: allow bash {TEST} (build)"
    assert len(driver.of(p.QuestionAsked)) == 1 and started(driver) == [TEST, TEST]


def test_the_question_says_what_always_would_allow(repo: Path) -> None:
    asked = turn(repo, [TEST], "n").of(p.QuestionAsked)[0]
    assert [(choice.key, choice.label) for choice in asked.choices] == [
        ("y", "yes"),
        ("s", "yes, for this session"),
        ("a", "always in this project: this line"),
        ("t", "continue in profile trusted"),
        ("n", "no"),
        ("e", "no, with feedback"),
    ]
    assert "Always     in this project, until you run `quintet rules revoke`" in asked.detail


def test_why_names_the_rule_behind_a_decision(repo: Path) -> None:
    made = turn(repo, [TEST, TEST], "a").of(p.RuleMade)[0].rule
    quintet = Program(repo)
    decided = quintet.events("call_decided")[1]
    assert made.id in quintet.run("why", str(decided["seq"])).clean(0).out
    assert quintet.run("why", str(decided["seq"]), "--json").clean(0).json()["rule"] == made.id


@pytest.mark.parametrize(
    "other",
    [f"{TEST} -v", f" {TEST}; make all", "make test"],
    ids=["more words", "another command after it", "another line of the same effect"],
)
def test_another_call_is_still_asked_about(repo: Path, other: str) -> None:
    driver = turn(repo, [TEST, other], "an")
    assert len(driver.of(p.QuestionAsked)) == 2 and started(driver) == [TEST]


def test_the_same_line_in_another_folder_is_another_call(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        await driver.answer("a")
        again = await driver.until_type(p.QuestionAsked)
        assert again.text == f"Run: cd tally; {TEST}?"
        await driver.session.submit(p.Answer(question=again.question, choice="n"))
        await driver.until_type(p.TurnFinished)

    steps = [[call("bash", command=TEST, exec_dir=".")], [call("bash", command=TEST, exec_dir="tally")], "done"]
    driver = drive(repo, script, ScriptedModel(steps), person=True, axes=NORMAL)
    assert driver.of(p.RuleMade)[0].rule.pattern == TEST


def test_a_star_in_the_line_stands_for_itself_in_the_rule(repo: Path) -> None:
    driver = turn(repo, ["make a*", "make a*", "make ab"], "an")
    assert started(driver) == ["make a*", "make a*"]


def test_another_project_is_still_asked_about(repo: Path, tmp_path: Path) -> None:
    turn(repo, [TEST], "a")
    other = tmp_path / "other"
    other.mkdir()
    assert len(turn(other, [TEST], "n").of(p.QuestionAsked)) == 1


def test_a_rule_revoked_in_another_process_is_asked_about_again(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        await driver.answer("a")
        assert (await driver.until_type(p.TurnFinished)).status == "done"
        made = driver.of(p.RuleMade)[0].rule
        await asyncio.to_thread(lambda: Program(repo).run("rules", "revoke", made.id).clean(0))
        await driver.session.say("again")
        await driver.answer("n")
        await driver.until_type(p.TurnFinished)

    model = ScriptedModel([[call("bash", command=TEST)], "done", [call("bash", command=TEST)], "done"])
    drive(repo, script, model, person=True, axes=NORMAL)


@pytest.mark.parametrize(
    ("line", "dials"),
    [
        ("cp tally/count.py ../x", axes(WorkMode.BUILD, PermissionProfile.UNRESTRICTED)),
        ("git push origin main", axes(WorkMode.BUILD, PermissionProfile.UNRESTRICTED)),
        (TEST, axes(WorkMode.CHAT, PermissionProfile.TRUSTED)),
        (TEST, axes(WorkMode.BUILD, PermissionProfile.TRUSTED, RunControl.MANUAL)),
        (TEST, axes(WorkMode.BUILD, PermissionProfile.NORMAL, RunControl.MANUAL)),
    ],
    ids=["outside", "publish", "chat", "manual", "manual and beyond the profile"],
)
def test_always_is_not_offered_where_no_rule_could_lift_the_question(repo: Path, line: str, dials: AxesChange) -> None:
    driver = turn(repo, [line], "n", dials=dials)
    keys = [choice.key for choice in driver.of(p.QuestionAsked)[0].choices]
    assert not set(keys) & LASTING and keys[0] == "y" and keys[-2:] == ["n", "e"]
    assert started(driver) == []


def test_always_where_it_is_not_offered_is_no_answer(repo: Path, book: FileRuleBook) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        asked = await driver.until_type(p.QuestionAsked)
        await driver.session.submit(p.Answer(question=asked.question, choice="a"))
        assert not (await driver.until_type(p.CommandRan)).ok
        await driver.session.submit(p.Answer(question=asked.question, choice="n"))
        await driver.until_type(p.TurnFinished)

    drive(repo, script, ScriptedModel([[call("bash", command="git push")], "ok"]), person=True)
    assert (repo / "tally/count.py").exists() and book.rules() == ()


def test_a_rule_that_cannot_be_kept_is_a_yes_for_once_and_says_so(repo: Path) -> None:
    Path(os.environ["XDG_CONFIG_HOME"], "quintet").write_text("a file where a folder should be")
    driver = turn(repo, [TEST, TEST], "an")
    told = driver.of(p.Noticed)[0]
    assert told.level == "error" and "this question will come again" in told.text and "rules.json" in told.text
    assert driver.of(p.RuleMade) == [] and started(driver) == [TEST]


# ── held by the gate


@pytest.mark.parametrize("line", ["ls", TEST, "echo x > made"])
@pytest.mark.parametrize("allow", [False, True], ids=["alone", "beside an allow rule"])
def test_a_deny_rule_beats_everything(repo: Path, book: FileRuleBook, line: str, allow: bool) -> None:
    if allow:
        book.add(rule("allow", "*", "*", Effect.EDIT, Effect.EXECUTE, Effect.BUILD))
    book.add(rule("deny", "bash", line))
    driver = turn(repo, [line], dials=axes(WorkMode.BUILD, PermissionProfile.UNRESTRICTED))
    decided = driver.of(p.CallDecided)[0]
    assert (decided.verdict, decided.rule) == (Verdict.DENY, "rule-deny")
    assert started(driver) == [] and not (repo / "made").exists()


EVERYTHING = tuple(Effect)  # more than `rules add` would write: a file mended by hand


@pytest.mark.parametrize(
    ("line", "dials", "verdict"),
    [
        ("cat .env", axes(WorkMode.BUILD, PermissionProfile.UNRESTRICTED), Verdict.DENY),
        ("touch x", axes(WorkMode.REVIEW, PermissionProfile.UNRESTRICTED), Verdict.DENY),
        (TEST, axes(WorkMode.CHAT, PermissionProfile.UNRESTRICTED), Verdict.ASK),
        (TEST, axes(WorkMode.BUILD, PermissionProfile.NORMAL, RunControl.MANUAL), Verdict.ASK),
        ("shred -u tally/count.py", axes(WorkMode.BUILD, PermissionProfile.UNRESTRICTED), Verdict.ASK),
        ("git push origin main", axes(WorkMode.BUILD, PermissionProfile.UNRESTRICTED), Verdict.ASK),
        ("cp tally/count.py ../x", axes(WorkMode.BUILD, PermissionProfile.UNRESTRICTED), Verdict.ASK),
    ],
    ids=["protected", "work mode", "chat", "manual", "destroy", "publish", "outside"],
)
def test_an_allow_rule_lifts_only_what_the_profile_asks(
    repo: Path, book: FileRuleBook, line: str, dials: AxesChange, verdict: Verdict
) -> None:
    book.add(rule("allow", "*", "*", *EVERYTHING))
    driver = turn(repo, [line], "n" if verdict is Verdict.ASK else "", dials=dials)
    assert driver.of(p.CallDecided)[0].verdict is verdict
    assert driver.of(p.CallDecided)[0].rule == "" and started(driver) == []


def test_an_allow_rule_does_not_cover_an_effect_it_does_not_name(repo: Path, book: FileRuleBook) -> None:
    book.add(rule("allow", "bash", "*", Effect.BUILD))
    driver = turn(repo, [TEST, "pip install x"], "n")
    assert started(driver) == [TEST]


@pytest.mark.parametrize("broken", ["{", '{"id": 1}', '[{"id": "rule-1", "verdict": "perhaps", "tool": "bash"}]'])
def test_a_broken_rules_file_is_said_and_nothing_runs(repo: Path, book: FileRuleBook, broken: str) -> None:
    path = Path(os.environ["XDG_CONFIG_HOME"], "quintet", "rules.json")
    path.parent.mkdir(parents=True)
    path.write_text(broken)
    driver = turn(repo, ["echo x > made"], dials=axes(WorkMode.BUILD, PermissionProfile.UNRESTRICTED))
    result = driver.of(p.ToolFinished)[0]
    assert result.status is CallStatus.ERROR and str(path) in result.content and "Fix or delete it" in result.content
    assert started(driver) == [] and not (repo / "made").exists()
    assert driver.of(p.TurnFinished)[0].status == "done", "the run goes on"
    with pytest.raises(SettingsError):
        book.add(rule("deny"))
    assert path.read_text() == broken, "and what is in it is not lost"


# ── the file


def test_rules_added_by_several_processes_at_once_are_all_there(book: FileRuleBook, tmp_path: Path) -> None:
    add = (
        "import sys\n"
        "from quintet.adapters.settings.rule_book import FileRuleBook\n"
        "from quintet.domain.permission.rules import Rule\n"
        "book = FileRuleBook(sys.argv[1])\n"
        "sys.stdin.readline()\n"
        "for n in range(25): book.add(Rule(f'{sys.argv[2]}-{n}', 'deny', 'bash'))\n"
    )
    path = os.path.join(os.environ["XDG_CONFIG_HOME"], "quintet", "rules.json")
    adding = [
        subprocess.Popen([sys.executable, "-c", add, path, name], stdin=subprocess.PIPE) for name in ("a", "b", "c")
    ]
    for process in adding:
        process.communicate(b"go\n")
    assert {process.returncode for process in adding} == {0}
    assert {rule.id for rule in book.rules()} == {f"{name}-{n}" for name in "abc" for n in range(25)}
    assert os.listdir(os.path.dirname(path)) == ["rules.json"]


def test_a_rule_is_revoked_by_the_beginning_of_its_id_if_that_is_enough(book: FileRuleBook) -> None:
    for name in ("rule-aa1", "rule-aa2", "rule-b"):
        book.add(Rule(name, "deny", "bash"))
    for wanted in ("rule-aa", "", "rule-c"):
        with pytest.raises(NotFound):
            book.revoke(wanted)
    assert book.revoke("rule-b").id == "rule-b" and book.revoke("rule-aa1").id == "rule-aa1"
    assert [rule.id for rule in book.rules()] == ["rule-aa2"]
