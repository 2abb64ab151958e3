"""What a model is told proceeds unasked is what the gate lets pass."""

from itertools import product

import pytest

from quintet.app.tool_registry import BY_NAME
from quintet.domain.dials.axes import Axes, ModelMode, PermissionProfile, RunControl, Surface, WorkMode
from quintet.domain.permission import gate
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Sandbox, Terms, Verdict
from quintet.domain.turn.tool_spec import Touch


@pytest.mark.parametrize("person", [True, False])
def test_what_is_told_to_proceed_unasked_is_allowed_and_the_rest_is_not(person: bool) -> None:
    terms = Terms("/project", person=person, sandbox=Sandbox.BWRAP)
    for work_mode, control, profile, effect in product(WorkMode, RunControl, PermissionProfile, Effect):
        axes = Axes(work_mode, control, profile, ModelMode.SMART, Surface.TUI)
        verdict = gate.decide(BY_NAME["bash"], Touch(frozenset({effect})), axes, terms).verdict
        if effect in gate.unasked(axes):
            assert verdict is Verdict.ALLOW, (axes, effect)
        elif work_mode in (WorkMode.BUILD, WorkMode.REPAIR, WorkMode.CHAT):
            assert verdict is not Verdict.ALLOW, (axes, effect)
