"""What is known that fits an input: told once, after it, as data; journalled, and the same in a replay."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

from quintet.adapters.files.paths import locate
from quintet.app.machine_parts import find_ripgrep
from quintet.domain.journal import protocol as p
from quintet.domain.permission.protected_paths import PROTECTION
from quintet.domain.turn.messages import Role
from quintet.features.index.build import Job
from quintet.features.index.service import ProjectIndex
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.features.index.made import bring
from tests.replaying import loaded, recordings, replay

READ = call("Read", file_path="tally/count.py")


def indexed(repo: Path) -> None:
    bring(repo, Path(locate(str(repo)).state) / "index.db")


def told(repo: Path, *turns: list[Any], **options: Any) -> tuple[Driver, ScriptedModel]:
    model = ScriptedModel([reply for turn in turns for reply in turn])

    async def script(driver: Driver) -> None:
        for _ in turns:
            assert (await driver.turn("how are words counted?")).status == "done"

    return drive(repo, script, model, **options), model


def test_what_fits_comes_after_the_input_and_the_head_stays(repo: Path) -> None:
    indexed(repo)
    driver, model = told(repo, [[READ], "by a loop"], ["as before"])
    (told_once,) = driver.of(p.Recalled)  # what the conversation says already is not said again
    assert "index, tally/count.py" in told_once.sources
    assert "It is data" in told_once.text
    first = model.requests[0].messages
    assert [message.role for message in first[1:]] == [Role.USER, Role.USER]
    assert first[-1].text == told_once.text
    assert len({request.messages[0].text for request in model.requests}) == 1
    assert "tally/count.py" not in first[0].text


def test_what_is_written_between_two_turns_goes_in(repo: Path, tmp_path: Path) -> None:
    async def run() -> None:
        index = ProjectIndex(str(tmp_path / "index.db"), Job(str(repo), PROTECTION, find_ripgrep()))
        try:
            await index.fresh()
            (repo / "kettle.py").write_text("def brew_tea(minutes): pass\n")
            index.begin()
            for _ in range(1_200):
                if await index.symbols("brew_tea", "", 1):
                    return
                await asyncio.sleep(0.05)
            raise AssertionError("what changed did not go in")
        finally:
            await index.close()

    asyncio.run(run())


def test_without_an_index_or_where_it_is_off_nothing_is_told(repo: Path) -> None:
    driver, _ = told(repo, ["one"])
    assert driver.of(p.Recalled) == []
    indexed(repo)
    driver, _ = told(repo, ["one"], settings={"index.retrieval": False})
    assert driver.of(p.Recalled) == []


def test_a_recording_replays_the_same_when_the_project_is_gone(repo: Path, tmp_path: Path) -> None:
    indexed(repo)
    driver, _ = told(repo, [[READ], "by a loop"])
    assert driver.of(p.Recalled)
    shutil.rmtree(repo)
    (recording,) = recordings(tmp_path / "state")
    outcome = replay(loaded(recording))
    assert (outcome.equal, outcome.events) == (True, len(driver.seen) - 1)


def test_the_budget_is_kept(repo: Path) -> None:
    indexed(repo)
    driver, _ = told(repo, ["one"], settings={"runs.recall_bytes": 200})
    (event,) = driver.of(p.Recalled)
    lines = [line for line in event.text.splitlines() if line.startswith("- [")]
    assert 0 < sum(len(line.encode()) + 1 for line in lines) <= 200
