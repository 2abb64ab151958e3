"""What is tried on a suite: each model or AI CLI, with each presentation of tools. An arm is one of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from quintet.adapters.processes.host_programs import program
from quintet.domain.base.errors import UsageError
from quintet.domain.base.wording import did_you_mean
from quintet.domain.dials.axes import ModelMode
from quintet.domain.ports.trials import TrialArm
from quintet.domain.turn.tool_menu import Presentation
from quintet.features.evals.scripted import rate_of
from quintet.features.evals.tasks import EvalTask, Solution

BUILTIN = "builtin"
MOST_STARTS = 3  # of an AI CLI that crashes


class EvalArm(Struct, frozen=True):
    trial: TrialArm
    model: str  # empty: an AI CLI does the task


def arms(models: Sequence[str], executors: Sequence[str], presentations: Sequence[str]) -> list[EvalArm]:
    """UsageError for what cannot be tried."""
    known = [str(one) for one in Presentation]
    for name in presentations:
        if name not in known:
            raise UsageError(f'presentation "{name}": expected {", ".join(known)}.{did_you_mean(name, known)}')
    found = [_of_model(name, shown) for name in models for shown in (presentations or ("",))]
    found += [EvalArm(TrialArm(name, _of_executor(name), executor=name), "") for name in executors]
    names = [arm.trial.name for arm in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"{twice[0]} is named twice")
    return found


def obstacle(task: EvalTask, arm: EvalArm) -> str:
    """Why an arm does not try a task here; empty if it does."""
    if missing := [name for name in task.page.needs if not program(name)]:
        return f"it needs {', '.join(missing)}, which is not installed"
    if task.page.commits and arm.trial.executor:
        return "it has to change the repository's .git, which Quintet keeps read-only for AI CLIs"
    if arm.model and rate_of(arm.model) is not None and task.page.solution == Solution():
        return "its page has no solution, which is what script does"
    return ""


def _of_model(name: str, presentation: str) -> EvalArm:
    settings: dict[str, Any] = {"tools.presentation": presentation} if presentation else {}
    if rate_of(name) is None:
        settings |= {f"routing.{way}": name for way in ModelMode}
    shown = f"{name} {presentation}" if presentation else name
    return EvalArm(TrialArm(shown, settings), name)


def _of_executor(name: str) -> dict[str, Any]:
    """The task is all there is, and nobody else works at it: its checks are the verdict."""
    rules = {f"routing.{way}": BUILTIN for way in ModelMode}
    roles = {"cycle.executor": name, "cycle.planner": "native", "cycle.verifier": "native"}
    return {**rules, **roles, "cycle.max_units": 1, "retry.max_attempts": MOST_STARTS}
