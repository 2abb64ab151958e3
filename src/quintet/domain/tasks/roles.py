"""Who plans, executes and verifies: Quintet itself, which is `native`, or an executor by its name."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from quintet.domain.settings.settings import CycleSettings

NATIVE = "native"


class ExecutorRole(StrEnum):
    PLAN = "plan"
    EXECUTE = "execute"
    VERIFY = "verify"


class CycleRoles(Struct, frozen=True):
    """Who does what: native, or an AI CLI."""

    planner: str = ""
    executor: str = ""
    verifier: str = ""


ROLE_NAMES = {ExecutorRole.PLAN: "planner", ExecutorRole.EXECUTE: "executor", ExecutorRole.VERIFY: "verifier"}


def roles_in_use(chosen: CycleRoles, settings: CycleSettings) -> CycleRoles:
    """What is chosen for the session goes before the settings; who plans verifies, unless another is named."""
    planner = chosen.planner or settings.planner or NATIVE
    executor = chosen.executor or settings.executor or NATIVE
    return CycleRoles(planner, executor, chosen.verifier or settings.verifier or planner)
