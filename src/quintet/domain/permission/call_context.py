"""Where a conversation stands when tools are shown and called: all that the mask, the gate and a tool know of it."""

from __future__ import annotations

from collections.abc import Mapping, Set
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

from quintet.domain.dials.axes import Axes
from quintet.domain.turn.swe_phases import PhaseState
from quintet.domain.turn.todos import Todo

if TYPE_CHECKING:
    from quintet.domain.agents.workflow_progress import WorkflowProgress


class Stage(StrEnum):
    """A place in a turn."""

    WARMUP = "warmup"
    ACT = "act"
    TOOL_FOLLOWUP = "tool_followup"
    MICRO_STEP = "micro_step"  # a section of the follow-up's request, not a request of its own
    DELIVERY_CHECK = "delivery_check"
    QA_REVIEW = "qa_review"
    VERIFICATION = "verification"  # of a task of a cycle


class Standing(Struct, frozen=True):
    axes: Axes
    toolset: str = ""  # the place in the tool menu; empty at ROOT
    todos: Mapping[str, Todo] = field(default_factory=dict)
    swe: PhaseState | None = None  # None while the SWE phases are off
    stage: Stage = Stage.ACT
    report: str = ""  # the kind of report this turn ends with; empty: none
    allowed: frozenset[str] | None = None  # the tools an agent keeps to; None: all
    known: Set[str] | None = frozenset()  # addresses that the model was given; None: all, for the user says them
    step: WorkflowProgress | None = None  # how far the turn's run has come in its workflow; None: it follows none
