"""What reaches the session of a worker from elsewhere gives it nothing that it did not come with."""

import pytest
from msgspec import UNSET

from quintet.domain.dials.axes import Axes, AxesChange, ModelMode, PermissionProfile, Surface
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.journal.protocol import Noticed, Say, Submitted, TransitionPending
from quintet.domain.permission.ceilings import TAKEN, held, not_taken, raising
from quintet.engine.commands.table import TABLE

P = PermissionProfile
CEILING = Axes(permission_profile=P.NORMAL, model_mode=ModelMode.SMART)


@pytest.mark.parametrize(
    ("said", "holds"),
    [(UNSET, P.NORMAL), (P.UNRESTRICTED, P.NORMAL), (P.NORMAL, P.NORMAL), (P.RESTRICTED, P.RESTRICTED)],
)
def test_a_submission_has_no_more_rights_than_the_worker(said: object, holds: P) -> None:
    submitted = Submitted("s", Say(text="x"), Surface.RPC, highest=said)  # type: ignore[arg-type]
    assert held(submitted, CEILING).highest == holds


@pytest.mark.parametrize("profile", P)
@pytest.mark.parametrize("models", ModelMode)
def test_no_dial_is_turned_up(profile: P, models: ModelMode) -> None:
    change = AxesChange(permission_profile=profile, model_mode=models)
    event = TransitionPending(transition="t", change=change, scope="now", actor="user", reason="", axes=CEILING)
    above = profile.rank > P.NORMAL.rank or models is ModelMode.DEEP
    assert bool(raising([Noticed(level="info", code="X", text=""), event], CEILING)) is above


def test_only_what_looks_stops_or_turns_down_is_taken() -> None:
    names = {command.name for command in TABLE}
    assert names >= TAKEN, "a name that no command has is one too many"
    for name in (*(names - TAKEN), "schedule", "parallel", "remote"):
        assert f"/{name} is not taken" in not_taken(CommandLine(name, (), {}))
    assert not not_taken(CommandLine("stop", (), {}))
