"""/review: the subject made concrete, a report of what is found in it, and a project that stays as it was."""

import json
from pathlib import Path
from typing import Any

import pytest

from quintet.domain.dials.axes import AxesChange, ModelMode, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import describe
from quintet.domain.turn.messages import Request, Role
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.engine.planted import DEFECTS, SHOP, commit, fingerprint, git, line_of, plant, reports

CHAT = AxesChange(WorkMode.CHAT, RunControl.ASSISTED, PermissionProfile.NORMAL)
LOOKS = [[call("git_diff_unstaged"), call("git_diff_staged"), call("Read", file_path="tally/login.py")]]


def reviewed(root: Path, line: str, replies: list[Any], **options: Any) -> tuple[Driver, ScriptedModel]:
    model = ScriptedModel(replies)
    options.setdefault("axes", CHAT)

    async def script(driver: Driver) -> None:
        await driver.turn(line)

    return drive(root, script, model, **options), model


def made(driver: Driver) -> tuple[p.ReportMade, str, Any]:
    """The report's event and its two forms."""
    (event,) = driver.of(p.ReportMade)
    path = Path(event.path)
    return event, path.read_text(), json.loads(path.with_suffix(".json").read_text())


def request_text(model: ScriptedModel) -> str:
    return next(message.text for message in model.requests[0].messages if message.role is Role.USER)


# ── the report


def test_a_review_of_the_working_tree_reports_the_five_planted_defects(repo: Path) -> None:
    plant(repo)
    before = fingerprint(repo)
    driver, model = reviewed(repo, "/review", [*LOOKS, reports])
    event, text, value = made(driver)
    assert (event.kind, event.subject, event.unresolved) == ("review", "working-tree", 0)
    assert event.findings == {"high": 3, "medium": 1, "low": 1}
    places = {(found["file"], found["line"], found["severity"]) for found in value["findings"]}
    assert places == {(file, line_of(file, words), severity) for file, words, severity in DEFECTS}
    assert [found["severity"] for found in value["findings"]] == ["high", "high", "high", "medium", "low"]
    for file, words, severity in DEFECTS:
        assert f"| {severity} | {file}:{line_of(file, words)} |" in text
        assert f"    {words}" in text.splitlines()[10:]  # the evidence, as it is in the file
    assert "## Not reviewed\n\n- speed" in text
    assert fingerprint(repo) == before
    assert not Path(event.path).is_relative_to(repo)
    assert "one JSON object" in model.requests[0].messages[0].text


def test_the_answer_is_the_report_in_markdown(repo: Path) -> None:
    plant(repo)
    driver, _ = reviewed(repo, "/review", [*LOOKS, reports])
    (finished,) = driver.of(p.TurnFinished)
    event, text, _ = made(driver)
    assert finished.status == "done"
    assert finished.answer + "\n" == text
    assert finished.answer.startswith("# Review of working-tree\n\nNot yet.\n")
    said = "\n".join(line.text for line in describe(p.Recorded(1, "", event)))
    assert "review of working-tree   3 high · 1 medium · 1 low" in said
    assert event.path in said


def test_places_that_are_none_are_marked_and_kept(repo: Path) -> None:
    plant(repo)
    wrong = [
        {"severity": "high", "file": "tally/shop.py", "line": 900, "title": "too far"},
        {"severity": "low", "file": "tally/none.py", "line": 1, "title": "nowhere"},
        {"severity": "low", "file": "../outside.py", "line": 1, "title": "outside"},
        {"severity": "high", "file": ".env", "line": 1, "title": "secret"},
        {"severity": "low", "file": "nul\0", "line": 1, "title": "nul"},
        {"severity": "medium", "file": "./tally/shop.py", "line": 5, "title": "right"},
    ]
    driver, _ = reviewed(repo, "/review", [json.dumps({"summary": "s", "findings": wrong})])
    event, text, value = made(driver)
    marks = {found["title"]: found["unresolved"] for found in value["findings"]}
    assert marks == {
        "too far": f"no such line: the file ends at line {len(SHOP.splitlines())}",
        "nowhere": "no such file",
        "outside": "no such file",
        "secret": "protected, not checked",
        "nul": "no such file",
        "right": "",
    }
    assert event.unresolved == 5
    assert "tally/shop.py:900 (unresolved: no such line" in text


@pytest.mark.parametrize(
    ("reply", "summary", "severities", "flaw"),
    [
        ("It looks good to me.", "It looks good to me.", [], "not in the requested format"),
        ('Here:\n```json\n{"summary": "s {x}", "findings": []}\n```\nDone.', "s {x}", [], ""),
        ('{"summary": "s", "findings": [{"title": "t", "line": "3-5", "severity": "Critical"}]}', "s", ["high"], ""),
        ('{"summary": "s", "findings": ["bare words"]}', "s", ["low"], "finding 1 had no severity"),
        ('{"summary": "cut off', '{"summary": "cut off', [], "not in the requested format"),
    ],
)
def test_a_reply_in_another_form_is_still_a_report(
    repo: Path, reply: str, summary: str, severities: list[str], flaw: str
) -> None:
    plant(repo)
    _, text, value = made(reviewed(repo, "/review", [reply])[0])
    assert value["summary"] == summary
    assert [found["severity"] for found in value["findings"]] == severities
    assert any(flaw in said for said in value["flaws"]) if flaw else value["flaws"] == []
    assert ("## Problems with this report" in text) == bool(flaw)


# ── the subject


def test_the_request_names_the_files_and_the_tools_but_holds_no_diff(repo: Path) -> None:
    plant(repo)
    (repo / "staged.txt").write_text("1\n2\n")
    git(repo, "add", "staged.txt")
    text = request_text(reviewed(repo, "/review", ["{}"])[1])
    assert "git_diff_unstaged and git_diff_staged" in text
    assert "- staged.txt +2 -0 staged\n" in text
    assert "- tally/shop.py +19 -1 unstaged\n" in text
    assert "- tally/login.py untracked" in text
    assert "prices" not in text


@pytest.mark.parametrize(
    ("wanted", "target"),
    [("main..feature", "main..feature"), ("..feature", "HEAD..feature"), ("feature", "HEAD...feature")],
)
def test_a_range_or_a_branch_is_reviewed_as_it_stands_there(repo: Path, wanted: str, target: str) -> None:
    git(repo, "checkout", "-q", "-b", "feature")
    plant(repo)
    commit(repo, "Five defects")
    git(repo, "checkout", "-q", "main")
    before = fingerprint(repo)
    beyond = {"severity": "low", "file": "tally/shop.py", "line": 21, "title": "beyond"}

    def reply(request: Request) -> str:
        value = json.loads(reports(request))
        return json.dumps({**value, "findings": [*value["findings"], beyond]})

    driver, model = reviewed(repo, f"/review {wanted}", [[call("git_diff", target=target)], reply])
    assert f'git_diff with target "{target}"' in request_text(model)
    assert request_text(model).endswith("- tally/shop.py +20 -0")
    assert "- tally/login.py +2 -0\n" in request_text(model)
    event, _, value = made(driver)
    assert event.subject == wanted
    assert not (repo / "tally/shop.py").exists()  # its lines were counted on the branch
    assert {found["title"]: found["unresolved"] for found in value["findings"] if found["unresolved"]} == {
        "beyond": f"no such line: the file ends at line {len(SHOP.splitlines())}"
    }
    assert event.findings == {"high": 3, "medium": 1, "low": 2}
    assert fingerprint(repo) == before


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/review nowhere", '"nowhere" is not a branch, tag or commit'),
        ("/review main..nowhere", '"nowhere" is not a branch, tag or commit'),
        ("/review --output=x", "unknown flag"),
        ("/review -p", '"-p" is not a branch, tag or commit'),
        ("/review main main", "takes one word"),
        ("/review", "the working tree has no changes"),
        ("/review main", "HEAD...main has no changes; for what came after it, use /review main..HEAD"),
    ],
)
def test_what_cannot_be_reviewed_is_refused_and_nothing_begins(repo: Path, line: str, said: str) -> None:
    async def script(driver: Driver) -> None:
        ran = await driver.command(line)
        assert (ran.ok, ran.code) == (False, "USAGE")
        assert said in ran.text
        assert driver.axes.work_mode is WorkMode.CHAT

    driver = drive(repo, script, axes=CHAT)
    assert driver.types() == ["SessionOpened", "CommandRan"]


def test_a_folder_without_a_repository_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()

    async def script(driver: Driver) -> None:
        assert "needs a git repository" in (await driver.command("/review")).text

    drive(folder, script, axes=CHAT)


# ── the dial


def test_the_command_turns_the_work_mode_for_the_user_and_nothing_else(repo: Path) -> None:
    plant(repo)
    driver, _ = reviewed(repo, "/review", ["{}"])
    (turned,) = driver.of(p.DialsTurned)
    assert (turned.actor, turned.reason) == ("user", "/review")
    assert turned.change == AxesChange(work_mode=WorkMode.REVIEW)
    assert driver.types() == [
        "SessionOpened",
        "DialsTurned",
        "CommandRan",
        "InputReceived",
        "TurnStarted",
        "ModelRequested",
        "ModelReplied",
        "ReportMade",
        "TurnFinished",
    ]


def test_below_deep_it_asks_once_and_begins_with_the_answer(repo: Path) -> None:
    plant(repo)

    async def script(driver: Driver) -> None:
        submission = await driver.session.say("/review")
        asked = await driver.until_type(p.QuestionAsked)
        assert driver.session.state.turns.open is None
        await driver.session.submit(p.Answer(question=asked.question, choice="d"))
        started = await driver.until_type(p.TurnStarted)
        assert (started.submission, started.axes.model_mode) == (submission, ModelMode.DEEP)
        await driver.until_type(p.TurnFinished)

    driver = drive(repo, script, ScriptedModel([*LOOKS, reports]), axes=CHAT, person=True)
    assert len(driver.of(p.QuestionAsked)) == len(driver.of(p.ReportMade)) == 1


def test_while_a_turn_runs_the_review_waits_for_its_end(repo: Path) -> None:
    plant(repo)
    model = ScriptedModel([[call("bash", command="sleep 0.5")], "built", *LOOKS, reports])

    async def script(driver: Driver) -> None:
        await driver.session.say("build it")
        await driver.until_type(p.ToolStarted)
        await driver.turn("/review")

    driver = drive(repo, script, model)
    built, review = driver.of(p.TurnStarted)
    assert (built.axes.work_mode, review.axes.work_mode) == (WorkMode.BUILD, WorkMode.REVIEW)
    assert [event.axes.work_mode for event in driver.of(p.ModelRequested)] == ["build", "build", "review", "review"]
    assert driver.of(p.ReportMade)[0].turn == review.turn


def test_a_review_never_runs_in_a_work_mode_that_may_change_the_project(repo: Path) -> None:
    plant(repo)
    model = ScriptedModel([[call("bash", command="sleep 5")], "never asked"])

    async def script(driver: Driver) -> None:
        await driver.session.say("build it")
        await driver.until_type(p.ToolStarted)
        await driver.command("/review")
        await driver.command("/stop")  # drops the transition that waits, and with it what the review needs
        await driver.until_type(p.TurnFinished)
        await driver.command("/queued run")
        ended = await driver.until_type(p.TurnFinished)
        assert (ended.status, ended.reason) == ("cancelled", "a review needs work mode review; this is build")

    drive(repo, script, model)
    assert len(model.requests) == 1


# ── which turns report


def test_s3_3_4_every_input_in_review_leaves_a_report_also_one_that_came_as_text(repo: Path) -> None:
    plant(repo)
    model = ScriptedModel(["{}", "Two words."])

    async def script(driver: Driver) -> None:
        await driver.turn("/review")
        answer = (await driver.turn("how many?")).answer
        assert answer.startswith("# Review of how many?\n\nTwo words.\n")

    driver = drive(repo, script, model, axes=CHAT)
    assert [made.subject for made in driver.of(p.ReportMade)] == ["working-tree", "how many?"]
    assert "JSON" in model.requests[0].messages[0].text
    assert model.requests[0].messages[0] == model.requests[-1].messages[0], "the head stays"


def test_an_interrupted_review_that_goes_on_still_reports(repo: Path) -> None:
    plant(repo)
    model = ScriptedModel([[call("git_diff_unstaged")], "never said", reports], delay=0.2)

    async def script(driver: Driver) -> None:
        await driver.session.say("/review")
        await driver.until_type(p.ToolFinished)
        await driver.session.submit(p.Interrupt())
        assert (await driver.until_type(p.TurnFinished)).status == "interrupted"
        assert driver.of(p.ReportMade) == []
        await driver.command("/resume")
        assert (await driver.until_type(p.TurnFinished)).answer.startswith("# Review of working-tree")

    made(drive(repo, script, model, axes=CHAT))


def test_a_review_may_not_touch_the_project(repo: Path) -> None:
    plant(repo)
    before = fingerprint(repo)
    tries = [call("Write", file_path="tally/shop.py", content=""), call("git_add", files=["."])]
    driver, _ = reviewed(repo, "/review", [tries, "{}"], axes=AxesChange(permission_profile=PermissionProfile.TRUSTED))
    assert [event.status for event in driver.of(p.ToolFinished)] == ["denied", "denied"]
    assert fingerprint(repo) == before


def test_a_report_is_what_a_review_delivers_and_nobody_is_asked_about_it(repo: Path) -> None:
    plant(repo)
    driver, model = reviewed(repo, "/review", [*LOOKS, reports], settings={"runs.delivery_check": True})
    assert driver.types()[-2:] == ["ReportMade", "TurnFinished"]
    assert {event.stage for event in driver.of(p.ModelRequested)} == {"act", "tool_followup"}
    assert len({request.messages[0] for request in model.requests}) == 1
