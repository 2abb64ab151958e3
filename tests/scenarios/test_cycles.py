"""Plans and cycles are the same on every surface."""

import pytest

from quintet.domain.journal import protocol as p
from tests.engine.cycles import statuses
from tests.scenarios.conftest import Everywhere
from tests.scenarios.steps import Answer, Say

pytestmark = [
    pytest.mark.system("tmux"),
    pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning"),
]
TWO = 'create the file a.txt with "a" and then create the file b.txt with "b"'
AUTONOMOUS = "/accept --autonomous --permission-profile normal"


def test_a_plan_is_made_accepted_and_built(everywhere: Everywhere) -> None:
    told = everywhere(Say(f"/plan {TWO}"), Answer("a", alone=AUTONOMOUS))
    for one in told.values():
        assert statuses(one.root) == {"task-001": "done", "task-002": "done"}
        assert (one.root / "b.txt").read_text().strip() == "b"
        assert [end.status for end in one.of(p.CycleStopped)] == ["waiting", "done"]


def test_a_plan_is_built_one_unit_at_a_time(everywhere: Everywhere) -> None:
    one_by_one = "/accept --control assisted"
    told = everywhere(Say(f"/plan {TWO}"), Answer("s", alone=one_by_one), Say("/next"))
    for one in told.values():
        assert [end.status for end in one.of(p.CycleStopped)] == ["waiting", "paused", "done"]


def test_a_plan_that_is_refused_waits_and_is_accepted_later(everywhere: Everywhere) -> None:
    told = everywhere(Say(f"/plan {TWO}"), Answer("n"), Say(AUTONOMOUS))
    for one in told.values():
        assert statuses(one.root) == {"task-001": "done", "task-002": "done"}
