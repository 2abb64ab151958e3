"""What waits advances, on every surface: a paused cycle, open tasks, a unit that was blocked. No refusal is a retry."""

from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.sqlite.database import connect_to_read
from quintet.adapters.sqlite.task_rows import TaskRows
from quintet.domain.journal import protocol as p
from tests.engine.cycles import statuses
from tests.engine.task_places import added, page
from tests.scenarios.conftest import Everywhere
from tests.scenarios.steps import Answer, Say
from tests.surfaces.program import Program

pytestmark = [
    pytest.mark.system("tmux"),
    pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning"),
]
TWO = 'create the file a.txt with "a" and then create the file b.txt with "b"'
BUILD = ("build", "assisted", "normal", "smart")
BOTH_DONE = {"task-001": "done", "task-002": "done"}
ONE_BY_ONE = Answer("s", alone="/accept --control assisted")
NEEDS_TRUST = "run the tests"


def two_tasks(root: Path) -> None:
    pages = [(f"task-00{number}", f'create the file {name}.txt with "{name}"') for number, name in ((1, "a"), (2, "b"))]
    added(root, *(page(id, title=body, body=f"{body}\n") for id, body in pages))


def retries(root: Path) -> set[int]:
    path = locate(str(root)).database
    return {task.retries for task in TaskRows(connect_to_read(path), path).tasks()}


@pytest.mark.parametrize("line", ["/autonomous", "/resume", "/next"])
def test_s3_a_cycle_that_paused_after_a_unit_goes_on(everywhere: Everywhere, line: str) -> None:
    told = everywhere(Say(f"/plan {TWO}"), ONE_BY_ONE, Say(line))
    for one in told.values():
        assert statuses(one.root) == BOTH_DONE, one.surface
        assert [str(end.status) for end in one.of(p.CycleStopped)] == ["waiting", "paused", "done"]


def test_s3_next_does_one_open_task_and_then_the_other(everywhere: Everywhere) -> None:
    told = everywhere(Say("/next"), Say("/next"), first=two_tasks, dials=BUILD)
    for one in told.values():
        assert statuses(one.root) == BOTH_DONE, one.surface
        assert [end.done for end in one.of(p.CycleStopped)] == [1, 2]


def test_s3_autonomous_does_the_open_tasks(everywhere: Everywhere) -> None:
    told = everywhere(Say("/mode build"), Say("/autonomous"), first=two_tasks)
    for one in told.values():
        assert statuses(one.root) == BOTH_DONE, one.surface


def blocked(root: Path) -> None:
    """A session whose only unit needs a higher profile, and had nobody to ask."""
    (root / ".gitignore").write_text("__pycache__/\n")  # holds the moment of its source
    program = Program(root)
    done = program.run("flow", f"{NEEDS_TRUST} and then show the last 2 commits", "--permission-profile", "normal")
    assert done.code == 3, done
    program.close()


def test_s3_a_blocked_unit_is_asked_again_on_resume(everywhere: Everywhere) -> None:
    told = everywhere(Say("/resume"), Answer("y"), on=("plain", "tui"), resumed=True, first=blocked)
    for one in told.values():
        assert set(statuses(one.root).values()) == {"done"}, one.surface
        assert retries(one.root) == {0}


def test_s3_a_blocked_flow_goes_on_with_other_dials(quintet: Program) -> None:
    blocked(quintet.root)
    quintet.run("flow", "--resume", "--permission-profile", "trusted").clean(0)
    assert set(statuses(quintet.root).values()) == {"done"}
    assert retries(quintet.root) == {0}


def test_s3_nothing_is_begun_at_restricted_and_no_retry_is_spent(everywhere: Everywhere) -> None:
    told = everywhere(
        Say("/implement --autonomous"), first=two_tasks, dials=("build", "assisted", "restricted", "smart")
    )
    for one in told.values():
        assert statuses(one.root) == {"task-001": "todo", "task-002": "todo"}, one.surface
        assert retries(one.root) == {0}
        assert [str(end.status) for end in one.of(p.CycleStopped)] == ["blocked"]
        assert "restricted" in one.of(p.CycleStopped)[0].reason
    assert [done.code for done in told["headless"].ended] == [3]
