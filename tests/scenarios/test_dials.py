"""Dials and commands are the same on every surface."""

import pytest

from quintet.domain.journal import protocol as p
from tests.scenarios.conftest import Everywhere
from tests.scenarios.steps import Say, Turn

pytestmark = [
    pytest.mark.system("tmux"),
    pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning"),
]


def test_every_dial_is_turned_by_key_flag_and_command_alike(everywhere: Everywhere) -> None:
    told = everywhere(
        Turn("mode", "plan"),
        Turn("mode", "build"),
        Turn("control", "autonomous"),
        Turn("permission-profile", "trusted"),
        Turn("model-mode", "deep"),
        Say("/steer model-mode fast for-next-unit"),
        Say("/status"),
    )
    for one in told.values():
        assert [str(e.after.work_mode) for e in one.of(p.DialsTurned)][:2] == ["plan", "build"]
