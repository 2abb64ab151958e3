"""A cycle whose units an AI CLI does is the same on every surface; what it says alone makes nothing done."""

from collections.abc import Callable
from pathlib import Path

import pytest

from quintet.domain.dials.axes import Axes
from quintet.domain.journal import protocol as p
from quintet.engine.cycle.task_keeper import TaskKeeper
from tests.engine.cycles import statuses
from tests.engine.task_places import keep, page
from tests.scenarios.conftest import Everywhere
from tests.scenarios.steps import Answer, Say

pytestmark = [
    pytest.mark.everything,
    pytest.mark.system("tmux"),
    pytest.mark.system("bwrap"),
    pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning"),
]
CODEX = '[cycle]\nexecutor = "codex"\n[sandbox]\nloopback = "open"\n'
IMPLEMENT = "/implement --autonomous --permission-profile normal"


def task(scene: str) -> Callable[[Path], None]:
    """One task for an AI CLI that plays this scene; it is tried once."""
    made = page("task-001", title="Write made.txt", body=f"scene {scene}\n")

    async def add(keeper: TaskKeeper) -> None:
        await keeper.add([made], Axes(), max_retries=0)

    return lambda root: keep(root, add)


def test_what_it_wrote_is_verified(everywhere: Everywhere) -> None:
    told = everywhere(Say(IMPLEMENT), first=task("edit made.txt"), settings=CODEX, clis=True)
    for one in told.values():
        assert statuses(one.root) == {"task-001": "done"}
        assert [end.executor for end in one.of(p.ExecutorEnded)] == ["codex"]
        assert (one.root / "made.txt").exists()
    assert [done.code for done in told["headless"].ended] == [0]


@pytest.mark.parametrize(
    ("scene", "words"),
    [
        ("nothing", "I looked around."),
        ("asks", "Which file do you mean?"),
        ("claims", "Everything is written, and all tests pass."),
    ],
)
def test_one_that_does_nothing_asks_back_or_claims_success_is_never_done(
    everywhere: Everywhere, scene: str, words: str
) -> None:
    told = everywhere(Say(IMPLEMENT), Answer("n"), first=task(scene), settings=CODEX, clis=True, until="task_verified")
    for one in told.values():
        assert "done" not in {str(moved.after) for moved in one.of(p.TaskMoved)}, one.surface
        assert words in one.shown, (one.surface, one.shown)
        assert not (one.root / "made.txt").exists()
    assert statuses(told["plain"].root) == {"task-001": "failed"}
    assert statuses(told["headless"].root) == {"task-001": "reviewing"}
    assert [done.code for done in told["headless"].ended] == [3]
