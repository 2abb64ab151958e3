"""A model that does nothing, asks back or claims success: nothing is done, its words are shown, it exits so."""

from pathlib import Path

import pytest

from quintet.domain.dials.axes import Axes
from quintet.domain.journal import protocol as p
from quintet.engine.cycle.task_keeper import TaskKeeper
from tests.adapters.model_server import Reply
from tests.engine.cycles import statuses
from tests.engine.task_places import keep, page
from tests.scenarios.conftest import Everywhere
from tests.scenarios.steps import Say

pytestmark = [
    pytest.mark.system("tmux"),
    pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning"),
]
WORDS = ["I will look into it.", "Which of the two files do you mean?", "Done: made.txt is written, all tests pass."]
BUILD = ("build", "assisted", "trusted", "smart")
IMPLEMENT = "/implement --autonomous --permission-profile trusted"


def task(root: Path) -> None:
    async def add(keeper: TaskKeeper) -> None:
        await keeper.add([page("task-001", body="Write made.txt.")], Axes(), max_retries=0)

    keep(root, add)


@pytest.mark.parametrize("words", WORDS)
def test_an_input_is_not_delivered(everywhere: Everywhere, words: str) -> None:
    told = everywhere(Say("write made.txt"), replies=[Reply(text=words)], dials=BUILD)
    for one in told.values():
        (end,) = one.of(p.TurnFinished)
        assert end.delivery == "NEEDS_WORK", one.surface
        assert words in one.shown, (one.surface, one.shown)
    assert [done.code for done in told["headless"].ended] == [1]


@pytest.mark.parametrize("words", WORDS)
def test_a_task_is_not_done(everywhere: Everywhere, words: str) -> None:
    told = everywhere(Say(IMPLEMENT), replies=[Reply(text=words)], first=task)
    for one in told.values():
        assert statuses(one.root)["task-001"] != "done", one.surface
        assert [str(end.status) for end in one.of(p.CycleStopped)][-1] != "done"
        assert words in one.shown, (one.surface, one.shown)
    assert all(done.code for done in told["headless"].ended)
