"""Who plans, executes and verifies is chosen in a session, on every surface; and each is told all of its task."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from quintet.domain.dials.axes import Axes
from quintet.domain.journal import protocol as p
from quintet.domain.tasks.task import TaskStatus
from quintet.engine.cycle.task_keeper import TaskKeeper
from tests.adapters.model_server import Reply
from tests.engine.cycles import statuses
from tests.engine.task_places import keep
from tests.scenarios.conftest import Everywhere
from tests.scenarios.steps import Say

pytestmark = [
    pytest.mark.everything,
    pytest.mark.system("tmux"),
    pytest.mark.system("bwrap"),
    pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning"),
]
OPEN = '[sandbox]\nloopback = "open"\n'
IMPLEMENT = "/implement --autonomous --permission-profile trusted"
FIELDS = "intent: [made.txt]\nverification: test -e made.txt\n"


def tasks(*pages: tuple[str, str, str]) -> Callable[[Path], None]:
    """Tasks by id, with more lines of front matter and a body; each is tried once."""
    written = [(f"{id}.md", f"---\nid: {id}\ntitle: Do {id} well\n{more}---\n{body}\n") for id, more, body in pages]

    async def add(keeper: TaskKeeper) -> None:
        await keeper.add(written, Axes(), max_retries=0)

    return lambda root: keep(root, add)


def test_s4_an_executor_is_chosen_in_the_session_and_takes_effect_at_once(everywhere: Everywhere) -> None:
    first = tasks(("one", FIELDS, "scene edit made.txt"))
    told = everywhere(Say("/executor codex"), Say(IMPLEMENT), first=first, settings=OPEN, clis=True)
    for one in told.values():
        assert [end.executor for end in one.of(p.ExecutorEnded)] == ["codex"], one.surface
        assert statuses(one.root) == {"one": "done"}


@pytest.mark.parametrize("line", ["/executor nosuch", "/planner nosuch", "/verifier nosuch"])
def test_one_that_is_not_there_is_refused_and_nothing_turns(everywhere: Everywhere, line: str) -> None:
    told = everywhere(Say(line), clis=True)
    for one in told.values():
        assert [ran.ok for ran in one.of(p.CommandRan)] == [False], one.surface
        assert one.of(p.DialsTurned) == []


@pytest.mark.parametrize("line", ["/executor", "/planner", "/verifier"])
def test_those_that_are_installed_are_listed(everywhere: Everywhere, line: str) -> None:
    told = everywhere(Say(line), clis=True, on=("plain", "headless"))
    for one in told.values():
        (ran,) = one.of(p.CommandRan)
        assert all(name in ran.text for name in ("native", "codex", "claude", "gemini")), (one.surface, ran.text)


def one_done(root: Path, body: str) -> None:
    """Two tasks, of which the first is done and the second says this."""
    tasks(("one", "", "Write made.txt."), ("two", f"depends_on: [one]\n{FIELDS}", body))(root)

    async def done(keeper: TaskKeeper) -> None:
        for status in (TaskStatus.RUNNING, TaskStatus.VERIFYING, TaskStatus.DONE):
            await keeper.move("one", status, "")

    keep(root, done)


TOLD = ("Do two well", "test -e made.txt", "made.txt", "- one.md:")


def test_s4_a_native_unit_is_told_all_of_its_task_and_what_was_completed(everywhere: Everywhere) -> None:
    first = partial(one_done, body="Write more.txt.")
    told = everywhere(Say(IMPLEMENT), first=first, replies=[Reply(text="I will look into it.")])
    for one in told.values():
        asked = "\n".join(str(message.get("content") or "") for message in one.requests[0].body["messages"])
        assert [words for words in (*TOLD, "Write more.txt.") if words not in asked] == [], one.surface


def test_s4_an_ai_cli_is_told_all_of_its_task_and_what_was_completed(everywhere: Everywhere) -> None:
    first = partial(one_done, body="scene repeat")
    told = everywhere(Say("/executor codex"), Say(IMPLEMENT), first=first, settings=OPEN, clis=True)
    for one in told.values():
        said = "\n".join(event.text for event in one.of(p.ExecutorSaid))
        assert [words for words in TOLD if words not in said] == [], one.surface
