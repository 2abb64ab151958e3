"""What the kinds of sandbox have in common: how a command begins behind walls, and what is done after it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from quintet.adapters.sandbox.project_watch import Begun, Ground, Launch
from quintet.domain.permission.effects import Effect, Grant, Sandbox


class Containment(ABC):
    kind: Sandbox

    def __init__(self, ground: Ground) -> None:
        self.ground = ground

    def launch(self, argv: Sequence[str], cwd: str, grant: Grant, held: Sequence[str] = ()) -> Launch:
        """`held`, in what it may write outside the project, stays as it is and is not made. To be settled."""
        if Effect.OUTSIDE in grant.effects:  # a person has said yes to leaving the walls
            return Launch(tuple(argv), cwd)
        begun = self.ground.begin(grant, held, argv)
        try:
            return self.walled(argv, cwd, grant, held, begun)
        except BaseException:
            self.ground.settle(Launch((), cwd, watched=begun.watched, number=begun.number))
            raise

    @abstractmethod
    def walled(self, argv: Sequence[str], cwd: str, grant: Grant, held: Sequence[str], begun: Begun) -> Launch:
        """How the command is started behind these walls."""

    def settle(self, launch: Launch) -> list[str]:
        """After the command, or in place of it: put aside what appeared in a protected place, and say so."""
        return self.ground.settle(launch)

    def put_right(self) -> list[str]:
        """What was said so since the last time that somebody asked."""
        return self.ground.put_right()

    async def close(self) -> None:
        await self.ground.close()
