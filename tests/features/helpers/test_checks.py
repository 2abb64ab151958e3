"""A helper that wrote and was interrupted: it continues in its worktree, or the doctor keeps what it did."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers
from quintet.adapters.settings.checkup import Checkup
from quintet.domain.journal import protocol as p
from quintet.domain.turn.messages import Request
from quintet.features.helpers.checks import helpers_left_nothing, keep_work
from quintet.testing import Reply, call
from tests.features.helpers.helping import model, only, opened, said, started, turns_of
from tests.features.workers.working import git

BEGUN = started("make it", writes=True)


def _writes_and_waits(request: Request, task: str) -> Reply:
    if turns_of(request) == 0:
        return [call("Write", file_path="made.txt", content="half\n")]
    return [call("bash", command="sleep 60")]


@pytest.fixture
def interrupted(repo: Path) -> str:
    """The session of a helper that had written a file when it was interrupted."""

    async def run() -> str:
        async with opened(repo, model([BEGUN], _writes_and_waits)) as session:
            async for item in session.follow(await session.say("make it"), signals=True):
                if isinstance(item, p.Progress) and "bash sleep" in item.text:
                    await session.submit(p.Interrupt())
            return f"{session.id}.1"

    return asyncio.run(asyncio.wait_for(run(), 60))


def checkup(repo: Path) -> Checkup:
    places = locate(str(repo))
    return Checkup(places, layers.load(places))


def test_the_doctor_names_and_keeps_what_an_interrupted_helper_wrote(repo: Path, interrupted: str) -> None:
    (found,) = helpers_left_nothing(checkup(repo))
    assert (found.code, found.subject) == ("HELPER_WORKTREE_LEFT", interrupted)
    branch = f"quintet/helper-{interrupted}"
    assert keep_work(checkup(repo)) == [f"removed the worktree of helper {interrupted}; its work is on {branch}"]
    assert git(repo, "show", f"{branch}:made.txt") == "half"
    assert list(helpers_left_nothing(checkup(repo))) == []


def test_an_interrupted_helper_continues_in_its_worktree(repo: Path, interrupted: str) -> None:
    def ends(request: Request, task: str) -> Reply:
        return "made it"

    async def run() -> str:
        session_id = interrupted.removesuffix(".1")
        async with opened(repo, model([BEGUN], ends), resume=session_id, axes=None) as session:
            return str(only(p.ToolFinished, await said(session, "again"))[-1].content)

    branch = f"quintet/helper-{interrupted}"
    assert asyncio.run(run()).startswith(f"## explorer-1: done\nIts changes are on the branch {branch};")
    assert git(repo, "show", f"{branch}:made.txt") == "half"
    assert list(helpers_left_nothing(checkup(repo))) == []
