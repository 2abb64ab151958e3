"""`/tasks` in a session: all that is under way there, shells watched and ended."""

import asyncio
from pathlib import Path

from quintet.adapters.files.paths import locate
from quintet.app.open import open_session
from quintet.app.task_lookups import under_way
from quintet.domain.journal import protocol as p
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.engine.task_places import added, page

STARTED = call("bash", command="echo serving; exec sleep 600", run_in_background=True, bash_id="dev")

WRITTEN = call("Write", file_path="notes.md", content="mine\n")


def test_s3_9_1_a_background_shell_is_listed_looked_at_and_ended(repo: Path) -> None:
    added(repo, page("task-001"))

    async def script(driver: Driver) -> None:
        await driver.turn("serve it")
        lines = (await driver.command("/tasks")).text.splitlines()
        assert "$  shell dev             echo serving; exec sleep 600" in lines
        assert "next        task-001 Do task-001" in lines
        assert any(line.startswith("checkpoint  ") for line in lines)
        (elsewhere,) = under_way(locate(str(repo))).shells  # what another process is told
        assert (elsewhere.name, elsewhere.session) == ("dev", driver.session.id)
        async with asyncio.timeout(60):
            while (shown := (await driver.command("/tasks show dev")).text) == "no output yet":
                pass
        assert shown == "serving"
        assert "there is no shell nobody; running: dev" in (await driver.command("/tasks end nobody")).text
        assert (await driver.command("/tasks end dev")).ok
        assert driver.session.shells() == []
        assert "shell dev" not in (await driver.command("/tasks")).text
        assert under_way(locate(str(repo))).shells == ()
        assert "none is running" in (await driver.command("/tasks end dev")).text

    driver = drive(repo, script, ScriptedModel([[WRITTEN], [STARTED], "it serves"]))
    assert [event.code for event in driver.of(p.Noticed) if "dev" in event.text] == ["SHELL_ENDED"]


def test_s3_9_1_another_session_that_waits_is_listed(repo: Path) -> None:
    async def waits(driver: Driver) -> None:
        await driver.session.say("publish it")
        await driver.until_type(p.QuestionAsked)
        waiting = driver.session.id
        async with open_session(str(repo), model=ScriptedModel([])) as other:
            told = (await Driver(other).command("/tasks")).text
        assert f"session {waiting} needs an answer" in told
        assert any("waiting here" in line and waiting in line for line in told.splitlines())

    drive(repo, waits, ScriptedModel([[call("bash", command="git push origin main")], "ok"]), person=True)
