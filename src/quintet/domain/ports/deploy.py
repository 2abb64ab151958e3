"""Deploying: the embedded target, which serves on this machine alone, and those that the settings name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct, structs

from quintet.domain.permission.effects import Effect
from quintet.domain.settings.deploy_settings import DeploySettings
from quintet.domain.turn.tool_spec import Touch

LOGS = "logs"


class Deployed(Struct, frozen=True):
    """Something that is up on this machine."""

    name: str  # of its background shell
    url: str
    folder: str


class Deployments(Protocol):
    """What was deployed in this session, and where to."""

    targets: Mapping[str, DeploySettings]
    up: dict[str, Deployed]  # on this machine, by name

    def free_port(self, wanted: int) -> int:
        """That port of loopback, or any for 0. Raises ToolFailed if it is taken."""

    async def answers(self, port: int) -> bool:
        """Whether somebody listens there."""


def with_target(touch: Touch, targets: Mapping[str, DeploySettings]) -> Touch:
    """What deploying to a configured target touches: the line that the settings have for it, and its reach."""
    command, name = touch.deploys or ("", "")
    target = targets.get(name)
    if target is None:
        return touch
    line = getattr(target, command)
    if not line:
        return structs.replace(touch, effects=frozenset(), lines=())  # it will be told so, and nothing is run
    reach = Effect.PUBLISH if target.production and command != LOGS else Effect.NETWORK
    why = f"deploy.{name}, a production target" if reach is Effect.PUBLISH else f"deploy.{name}"
    return structs.replace(touch, effects=frozenset({Effect.EXECUTE, reach}), lines=(line,), why=why)
