"""A question says what holds a command: nothing does where it runs outside, and the screen must not say otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import question
from quintet.domain.permission.effects import Sandbox
from quintet.domain.permission.question import OUTSIDE, UNCONTAINED
from quintet.engine.session.why import why_lines
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.surfaces.program import Program
from tests.surfaces.tui.watching import Person, watch

BUILD = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)
LEAVING = ("git --git-dir=.git log", "git config user.name X", "git worktree add ../wt", "sudo ls", "kill 1")


def said(repo: Path, line: str, sandbox: Sandbox) -> tuple[p.QuestionAsked, p.Recorded]:
    """The question about a line, and the decision behind it."""
    found: list[p.QuestionAsked] = []

    async def run(driver: Driver) -> None:
        await driver.session.say("go")
        found.append(await driver.until_type(p.QuestionAsked))
        await driver.session.submit(p.Answer(question=found[0].question, choice="n"))
        await driver.until_type(p.TurnFinished)

    model = ScriptedModel([[call("bash", command=line)], "ok"])
    driver = drive(repo, run, model, person=True, axes=BUILD, settings={"sandbox.use": str(sandbox)})
    decided = next(event for event in driver.seen if isinstance(event, p.CallDecided))
    return found[0], p.Recorded(1, "", decided)


@pytest.mark.parametrize("line", LEAVING)
def test_a_line_that_leaves_the_sandbox_says_so_everywhere(repo: Path, line: str) -> None:
    asked, decided = said(repo, line, Sandbox.BWRAP)
    assert f"Access     {OUTSIDE}" in asked.detail
    assert any(OUTSIDE in shown.text for shown in question(asked))  # plain, and what follows a journal
    assert any(OUTSIDE in shown for shown in why_lines(decided)[0])
    assert not any("network off" in shown for shown in (*asked.detail, *why_lines(decided)[0]))


def test_without_a_sandbox_every_question_says_so(repo: Path) -> None:
    asked, decided = said(repo, "make test", Sandbox.NONE)
    assert f"Access     {UNCONTAINED}" in asked.detail and any(UNCONTAINED in shown for shown in why_lines(decided)[0])


def test_in_a_partial_sandbox_it_says_what_is_open(repo: Path) -> None:
    asked, _ = said(repo, "make test", Sandbox.PARTIAL)
    assert "can write .git and protected files, can read secret files" in "\n".join(asked.detail)


def test_what_is_typed_into_a_shell_outside_asks_and_says_so(repo: Path) -> None:
    found: list[p.QuestionAsked] = []

    async def run(driver: Driver) -> None:
        await driver.session.say("go")
        for choice in "yn":
            found.append(await driver.until_type(p.QuestionAsked))
            await driver.session.submit(p.Answer(question=found[-1].question, choice=choice))
        await driver.until_type(p.TurnFinished)

    shell = call("bash", command="git --git-dir=.git log -1; bash --norc", run_in_background=True, bash_id="one")
    typed = call("write_to_shell", shell_id="one", content="touch made")
    drive(repo, run, ScriptedModel([[shell], [typed], "ok"]), person=True, axes=BUILD)
    assert f"Access     {OUTSIDE}" in found[1].detail
    assert not (repo / "made").exists()


def test_the_screen_says_it(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("go")
        await person.asked()
        await person.sees("Access     outside the sandbox, with your rights")
        assert "network off" not in person.text
        await person.press("n")
        await person.rests()

    watch(repo, script, [call("bash", command=LEAVING[0])], "ok")


@pytest.mark.parametrize(("sandbox", "words"), [("bwrap", OUTSIDE), ("none", UNCONTAINED)])
def test_permit_says_it(repo: Path, sandbox: str, words: str) -> None:
    asked = ("permit", "--tool", "bash", "--args", json.dumps({"command": LEAVING[0]}), "--sandbox", sandbox)
    assert f"access   {words}" in Program(repo).run(*asked).clean(0).out
    assert Program(repo).run(*asked, "--json").clean(0).json()["access"] == words
