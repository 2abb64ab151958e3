"""An approval is for one exact call: what it was asked about, at the axes it was asked at, answered once."""

import asyncio
import subprocess
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import pytest

from quintet.app.open import open_session
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Verdict
from quintet.domain.turn.tool_spec import CallStatus
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive

CHAT = AxesChange(WorkMode.CHAT, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
MANUAL = AxesChange(WorkMode.BUILD, RunControl.MANUAL, PermissionProfile.TRUSTED)
WRITE = call("Write", file_path="notes.txt", content="one\nnew\n")


async def answered(driver: Driver, asked: p.QuestionAsked, choice: str) -> None:
    await driver.session.submit(p.Answer(question=asked.question, choice=choice))


def asking(repo: Path, step: list[Any], script: Any, axes: AxesChange = CHAT, **options: Any) -> Driver:
    """A turn of one step, from its first question on."""

    async def run(driver: Driver) -> None:
        await driver.session.say("go")
        await script(driver, await driver.until_type(p.QuestionAsked))

    return drive(repo, run, ScriptedModel([step, "ok"]), person=True, axes=axes, **options)


# ── several edits at once

EDITS = [
    call("Read", file_path="a.txt"),
    call("Read", file_path="b.txt"),
    call("Edit", file_path="a.txt", old_string="last", new_string="LAST"),
    call("Edit", file_path="a.txt", old_string="first", new_string="FIRST"),
    call("Write", file_path="b.txt", content="new\n"),
]


def two_files(repo: Path) -> tuple[Path, Path]:
    first, other = repo / "a.txt", repo / "b.txt"
    first.write_text("first\n" + "between\n" * 9 + "last\n")
    other.write_text("old\n")
    return first, other


@pytest.mark.parametrize("choice", ["y", "x", "b"])
def test_several_edits_of_a_step_are_one_question_with_the_whole_diff(repo: Path, choice: str) -> None:
    async def script(driver: Driver, asked: p.QuestionAsked) -> None:
        assert asked.text == "Edit a.txt and b.txt (3 changes)?"
        assert [one.key for one in asked.choices] == ["y", "x", "b", "n", "e"]
        written = asked.detail[asked.detail.index("") + 1 :]
        assert [line for line in written if line[0] in "+-" or line.endswith(".txt")] == [
            "a.txt",
            "-  1  first",
            "+  1  FIRST",
            "- 11  last",
            "+ 11  LAST",
            "b.txt",
            "- 1  old",
            "+ 1  new",
        ]
        await answered(driver, asked, choice)
        assert (await driver.until_type(p.TurnFinished)).status == "done"

    first, other = two_files(repo)
    driver = asking(repo, EDITS, script)
    assert len(driver.of(p.QuestionAsked)) == 1
    assert first.read_text().split("between\n" * 9) == ["FIRST\n", "LAST\n"]
    assert other.read_text() == "new\n"


def test_a_no_to_several_edits_answers_them_all_and_the_calls_behind_go_on(repo: Path) -> None:
    async def script(driver: Driver, asked: p.QuestionAsked) -> None:
        await answered(driver, asked, "n")
        assert (await driver.until_type(p.TurnFinished)).status == "done"

    first, other = two_files(repo)
    driver = asking(repo, [*EDITS, call("Read", file_path="b.txt")], script)
    assert [ended.status for ended in driver.of(p.ToolFinished)] == ["ok", "ok", *["denied"] * 3, "ok"]
    assert (first.read_text()[:5], other.read_text()) == ("first", "old\n")


def test_a_file_changed_while_one_question_about_several_edits_stands_voids_the_yes(repo: Path) -> None:
    async def script(driver: Driver, asked: p.QuestionAsked) -> None:
        other.write_text("from outside\n")
        await answered(driver, asked, "y")
        again = await driver.until_type(p.QuestionAsked)
        assert "- 1  from outside" in again.detail
        await answered(driver, again, "n")
        await driver.until_type(p.TurnFinished)

    _, other = two_files(repo)
    asking(repo, EDITS, script)
    assert other.read_text() == "from outside\n"


def test_an_edit_that_cannot_be_applied_is_refused_to_the_model_and_nobody_is_asked(repo: Path) -> None:
    async def script(driver: Driver, asked: p.QuestionAsked) -> None:
        assert asked.text == "Edit b.txt?"
        await answered(driver, asked, "y")
        await driver.until_type(p.TurnFinished)

    _, other = two_files(repo)
    absent = call("Edit", file_path="a.txt", old_string="nowhere", new_string="x")
    fits = call("Edit", file_path="b.txt", old_string="old", new_string="new")
    driver = asking(repo, [*EDITS[:2], absent, fits], script)
    assert [ended.status for ended in driver.of(p.ToolFinished)] == ["ok", "ok", "error", "ok"]
    assert "that text does not occur in the file" in driver.of(p.ToolFinished)[2].content
    assert [asked.text for asked in driver.of(p.QuestionAsked)] == ["Edit b.txt?"]
    assert other.read_text() == "new\n"


# ── bound to the exact call


@pytest.mark.parametrize("axes", [CHAT, MANUAL], ids=["one call", "a step in manual"])
def test_a_file_changed_while_the_question_stands_voids_the_yes(repo: Path, axes: AxesChange) -> None:
    async def script(driver: Driver, asked: p.QuestionAsked) -> None:
        assert asked.detail[-2:] == ("  1  one", "+ 2  new")
        path.write_text("one\nfrom outside\n")
        await answered(driver, asked, "y")
        again = await driver.until_type(p.QuestionAsked)
        assert again.digest != asked.digest
        assert again.detail[0] == "Again      the files it would change were changed while the question was open"
        assert again.detail[-2:] == ("- 2  from outside", "+ 2  new")
        assert path.read_text() == "one\nfrom outside\n"
        await answered(driver, again, "y")
        assert (await driver.until_type(p.TurnFinished)).status == "done"

    path = repo / "notes.txt"
    path.write_text("one\n")
    asking(repo, [WRITE], script, axes)
    assert path.read_text() == "one\nnew\n"


@pytest.mark.parametrize("axes", [CHAT, MANUAL], ids=["one call", "a step in manual"])
def test_tightened_axes_void_the_yes(repo: Path, axes: AxesChange) -> None:
    async def script(driver: Driver, asked: p.QuestionAsked) -> None:
        await driver.command("/permission-profile restricted")
        await answered(driver, asked, "y")
        assert (await driver.until_type(p.TurnFinished)).status == "done"

    driver = asking(repo, [WRITE], script, axes)
    assert driver.of(p.ToolStarted) == [] and not (repo / "notes.txt").exists()
    assert driver.of(p.ToolFinished)[0].content == "not run: Write needs profile normal or above; this is restricted"


@pytest.mark.parametrize("mode", ["review --model-mode deep", "plan"])
def test_a_work_mode_that_does_not_do_it_voids_the_yes(repo: Path, mode: str) -> None:
    async def script(driver: Driver, asked: p.QuestionAsked) -> None:
        await driver.command(f"/mode {mode}")
        await answered(driver, asked, "y")
        assert (await driver.until_type(p.TurnFinished)).status == "done"

    driver = asking(repo, [WRITE], script)
    assert driver.of(p.ToolFinished)[0].status is CallStatus.DENIED and not (repo / "notes.txt").exists()


def test_a_call_that_may_do_less_than_was_asked_about_is_asked_about_again(repo: Path) -> None:
    """In review a line runs on a project it cannot write: the yes was to another thing."""

    async def script(driver: Driver, asked: p.QuestionAsked) -> None:
        await driver.command("/mode review --model-mode deep")
        await answered(driver, asked, "y")
        again = await driver.until_type(p.QuestionAsked)
        assert again.detail[0] == "Again      what the call may do changed while the question was open"
        await answered(driver, again, "n")
        await driver.until_type(p.TurnFinished)

    normal = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
    driver = asking(repo, [call("bash", command="python3 -m unittest")], script, normal)
    asked, again = (event.grant for event in driver.of(p.CallDecided))
    assert asked.write_roots == (str(repo),) and again.write_roots == ()


def test_loosened_axes_leave_the_yes_as_it_was(repo: Path) -> None:
    async def script(driver: Driver, asked: p.QuestionAsked) -> None:
        await driver.command("/permission-profile unrestricted")
        await answered(driver, asked, "y")
        assert (await driver.until_type(p.TurnFinished)).status == "done"

    driver = asking(repo, [WRITE], script)
    assert len(driver.of(p.QuestionAsked)) == 1 and (repo / "notes.txt").exists()


def test_a_yes_to_a_step_is_none_to_a_later_call_that_has_the_same_id(repo: Path) -> None:
    """Some servers number the calls of each reply from one."""

    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        await driver.answer("y")
        await driver.until_type(p.TurnFinished)
        await driver.command("/control autonomous")
        await driver.session.say("and clean up")
        await driver.answer("n")
        await driver.until_type(p.TurnFinished)

    steps = [
        [call("Read", "c1", file_path="tally/count.py")],
        "ok",
        [call("bash", "c1", command="shred -u tally/count.py")],
        "ok",
    ]
    drive(repo, script, ScriptedModel(steps), person=True, axes=MANUAL)
    assert (repo / "tally/count.py").exists()


def test_the_same_within_one_turn(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        asked = await driver.until_type(p.QuestionAsked)
        await driver.command("/control autonomous")
        await answered(driver, asked, "y")
        again = await driver.until_type(p.QuestionAsked)
        assert again.text == "Run: shred -u tally/count.py?"
        await answered(driver, again, "n")
        await driver.until_type(p.TurnFinished)

    steps = [
        [call("Read", "c1", file_path="tally/count.py")],
        [call("bash", "c1", command="shred -u tally/count.py")],
        "ok",
    ]
    drive(repo, script, ScriptedModel(steps), person=True, axes=MANUAL)
    assert (repo / "tally/count.py").exists()


# ── answered once


ANSWER = """
import asyncio, sys
from quintet.app.open import open_session
from quintet.domain.journal.protocol import Answer
async def run():
    async with open_session(sys.argv[1], resume=sys.argv[2], person=True) as session:
        assert not session.owned_here
        print("attached", flush=True)
        sys.stdin.readline()
        await session.submit(Answer(question=sys.argv[3], choice=sys.argv[4]))
asyncio.run(run())
"""


def test_of_two_answers_from_two_processes_the_first_wins(repo: Path) -> None:
    async def script(driver: Driver, asked: p.QuestionAsked) -> None:
        argv = (sys.executable, "-c", ANSWER, str(repo), driver.session.id, asked.question)
        rivals = [await asyncio.create_subprocess_exec(*argv, choice, stdin=PIPE, stdout=PIPE) for choice in ("n", "y")]
        for rival in rivals:
            assert rival.stdout and await rival.stdout.readline() == b"attached\n"
        for rival in rivals:
            await rival.communicate(b"go\n")
            assert rival.returncode == 0
        await driver.until_type(p.TurnFinished)
        if not driver.of(p.CommandRan):
            await driver.until_type(p.CommandRan)

    driver = asking(repo, [WRITE], script)
    assert [event.choice for event in driver.of(p.QuestionAnswered)] == ["n"]
    assert "not open" in driver.of(p.CommandRan)[0].text
    assert not (repo / "notes.txt").exists()


def test_a_second_attachment_answers_for_the_first(repo: Path) -> None:
    async def script(driver: Driver, asked: p.QuestionAsked) -> None:
        async with open_session(str(repo), resume=driver.session.id, person=True) as other:
            await other.submit(p.Answer(question=asked.question, choice="y"))
            assert (await driver.until_type(p.TurnFinished)).status == "done"

    asking(repo, [WRITE], script)
    assert (repo / "notes.txt").exists()


def test_an_interrupted_question_is_closed_and_can_no_longer_be_answered(repo: Path) -> None:
    async def script(driver: Driver, asked: p.QuestionAsked) -> None:
        await driver.session.submit(p.Interrupt())
        assert (await driver.until_type(p.TurnFinished)).status == "interrupted"
        closed = driver.of(p.QuestionAnswered)[0]
        assert (closed.question, closed.choice, closed.by) == (asked.question, "", "interrupted")
        assert driver.session.state.questions == {}
        await answered(driver, asked, "y")
        late = await driver.until_type(p.CommandRan)
        while late.line != "answer":
            late = await driver.until_type(p.CommandRan)
        assert not late.ok and "not open" in late.text

    driver = asking(repo, [WRITE], script)
    assert driver.of(p.ToolStarted) == [] and not (repo / "notes.txt").exists()


# ── one question per step


def test_s3_4_manual_asks_once_for_all_calls_of_a_step_and_not_for_meta_tools(repo: Path) -> None:
    async def script(driver: Driver, asked: p.QuestionAsked) -> None:
        assert asked.text == "Run this request's calls (2 calls)?"
        assert [choice.key for choice in asked.choices] == ["y", "n", "e"]
        await answered(driver, asked, "y")
        await driver.until_type(p.TurnFinished)

    step = [call("think", content="hm"), call("Read", file_path="tally/count.py"), WRITE]
    driver = asking(repo, step, script, MANUAL)
    assert len(driver.of(p.QuestionAsked)) == 1 and len(driver.of(p.ToolStarted)) == 3
    assert [event.verdict for event in driver.of(p.CallDecided)] == [Verdict.ASK, Verdict.ASK, Verdict.ALLOW]


def test_s3_4_a_step_of_meta_tools_alone_asks_nothing(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        assert (await driver.turn("think")).status == "done"

    steps = [[call("think", content="hm")], "ok"]
    assert drive(repo, script, ScriptedModel(steps), person=True, axes=MANUAL).of(p.QuestionAsked) == []


def test_s3_4_two_edits_of_one_file_in_one_approved_step_both_run(repo: Path) -> None:
    async def script(driver: Driver, asked: p.QuestionAsked) -> None:
        await answered(driver, asked, "y")
        await driver.until_type(p.TurnFinished)

    step = [WRITE, call("Edit", file_path="notes.txt", old_string="new", new_string="newer")]
    driver = asking(repo, step, script, MANUAL)
    assert len(driver.of(p.QuestionAsked)) == 1 and (repo / "notes.txt").read_text() == "one\nnewer\n"


# ── not asked in vain


@pytest.mark.parametrize(
    "made",
    [
        call("Write", file_path="../away.txt", content="x"),
        call("Write", file_path="/etc/away.txt", content="x"),
        call("fs_move", source="tally/count.py", destination="../count.py"),
        call("fs_list_directory", path=".."),
        call("grep", pattern="x", path=".."),
        call("git_log", repo_path=".."),
    ],
    ids=["Write", "Write, absolute", "fs_move", "fs_list_directory", "grep", "git_log"],
)
def test_a_tool_that_cannot_leave_the_project_says_so_and_nobody_is_asked(repo: Path, made: Any) -> None:
    async def script(driver: Driver) -> None:
        assert (await driver.turn("go")).status == "done"

    driver = drive(repo, script, ScriptedModel([[made], "ok"]), person=True)
    assert driver.of(p.QuestionAsked) == [] and driver.of(p.ToolStarted) == []
    assert "is outside the project, and" in driver.of(p.ToolFinished)[0].content
    assert "bash can read it, with approval" in driver.of(p.ToolFinished)[0].content


# ── what a question shows first


def test_a_long_line_hides_neither_why_it_is_asked_nor_its_effects(repo: Path) -> None:
    line = "rm notes.txt\n" + "# nothing to see here\n" * 200 + "echo why asked  nothing"

    async def script(driver: Driver, asked: p.QuestionAsked) -> None:
        assert len(asked.text) < 300 and "\n" not in asked.text
        assert asked.detail[0].startswith("Reason     in chat every change needs approval (rm: deletes)")
        place = next(place for place, text in enumerate(asked.detail) if text.startswith("Effects"))
        assert place < 4 and asked.detail[-202:] == tuple(line.splitlines())
        await answered(driver, asked, "n")
        await driver.until_type(p.TurnFinished)

    asking(repo, [call("bash", command=line)], script)


def test_a_file_s_name_cannot_pass_for_a_reason(repo: Path) -> None:
    line = "cp a $'/tmp/x\\nwhy asked  nothing of note\\neffects    read'"

    async def script(driver: Driver, asked: p.QuestionAsked) -> None:
        assert [text.split()[0] for text in asked.detail[:3]] == ["Reason", "Dials", "Effects"], asked.detail
        assert all("\n" not in text for text in asked.detail)
        await answered(driver, asked, "n")
        await driver.until_type(p.TurnFinished)

    asking(repo, [call("bash", command=line)], script)


def test_a_step_in_manual_shows_its_effects_before_its_lines(repo: Path) -> None:
    async def script(driver: Driver, asked: p.QuestionAsked) -> None:
        assert asked.detail[0] == "Effects    read"
        assert asked.detail[-1] == "bash ls"
        await answered(driver, asked, "n")
        await driver.until_type(p.TurnFinished)

    asking(repo, [call("bash", command="ls")], script, MANUAL)


def test_a1_in_chat_deleting_what_can_be_brought_back_is_asked_as_the_edit_that_it_is(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("clean up")
        asked = await driver.until_type(p.QuestionAsked)
        assert asked.detail[0] == "Reason     in chat every change needs approval (rm: deletes)"
        assert "Effects    edit" in asked.detail
        await answered(driver, asked, "y")
        await driver.until_type(p.TurnFinished)

    chat = AxesChange(WorkMode.CHAT, RunControl.ASSISTED, PermissionProfile.NORMAL)
    model = ScriptedModel([[call("bash", command="rm tally/count.py")], "Gone."])
    driver = drive(repo, script, model, person=True, axes=chat)
    assert not (repo / "tally/count.py").exists()
    assert driver.of(p.CallDecided)[0].effects == (Effect.EDIT,)
    assert [changed.paths for changed in driver.of(p.FilesChanged)] == [("tally/count.py",)]


@pytest.mark.system("bwrap")
def test_a1_in_build_deleting_what_was_kept_goes_and_what_cannot_be_kept_is_named(repo: Path) -> None:
    (repo / "sub").mkdir()
    subprocess.run(["git", "init", "-q", "sub"], cwd=repo, check=True)

    async def script(driver: Driver) -> None:
        await driver.session.say("clean up")
        asked = await driver.until_type(p.QuestionAsked)
        assert "sub" in asked.detail[0] and "Effects    destroy" in asked.detail
        await answered(driver, asked, "n")
        await driver.until_type(p.TurnFinished)

    calls = [[call("bash", command="rm tally/count.py")], [call("bash", "c2", command="rm -rf sub")], "Done."]
    normal = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
    driver = drive(repo, script, ScriptedModel(calls), person=True, axes=normal)
    assert not (repo / "tally/count.py").exists() and (repo / "sub/.git").exists()
    first = driver.of(p.CallDecided)[0]
    assert (first.verdict, first.effects) == ("allow", (Effect.EDIT,))
    assert first.reason.endswith("what it deletes was saved, /rewind restores it")
