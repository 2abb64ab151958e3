"""Taking a turn back installs nothing that a command of that turn planted in a protected place."""

import time
from pathlib import Path

import pytest

from quintet.domain.journal import protocol as p
from quintet.domain.turn.messages import CallPart
from quintet.engine.checkpoints.rewind import KEPT
from quintet.testing import ScriptedModel, call
from tests.attacks.world import put
from tests.engine.checkpoints.test_rewind import left
from tests.engine.driving import Driver, drive

PLANTED = (".claude/settings.json", ".mcp.json", ".quintet/tools/t.py", ".vscode/tasks.json")
PLANT = f"""\
import os, time
while not os.path.exists("go"): time.sleep(0.01)
for path in {PLANTED}:
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    open(path, "w").write("evil")
open("planted", "w").close()
time.sleep(600)
"""
SECONDS = 60.0  # a limit, not a measure


@pytest.mark.system("bwrap")
def test_what_was_moved_aside_in_a_turn_is_not_brought_back_by_undoing_it(repo: Path) -> None:
    put(repo / "plant.py", PLANT)

    def between(_: object) -> list[CallPart]:
        """No call runs: what appears now is seen first by the next one, which moves it aside."""
        put(repo / "go", "")
        until = time.monotonic() + SECONDS
        while not (repo / "planted").exists() and time.monotonic() < until:
            time.sleep(0.01)
        return [call("bash", command="touch z")]

    async def script(driver: Driver) -> None:
        await driver.turn("go")
        assert not [path for path in PLANTED if (repo / path).exists()]
        told = driver.of(p.ToolFinished)[-1].content
        assert "may not be in the project" in told, told
        ran = await driver.command("/rewind 1 files")
        assert not [path for path in PLANTED if (repo / path).exists()], ran
        assert not (repo / "z").exists()
        assert {path: reason for path, reason in left(ran).items() if path in PLANTED} == dict.fromkeys(PLANTED, KEPT)

    begin = [call("bash", command="python3 plant.py", run_in_background=True)]
    looked = [call("Write", file_path="w.txt", content="w")]  # waits until what the first call changed is on record
    drive(repo, script, ScriptedModel([begin, looked, between, "done"]))
