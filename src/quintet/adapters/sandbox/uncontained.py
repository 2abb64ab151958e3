"""What there is where no containment works: no walls, but a minder and bounds."""

from __future__ import annotations

from collections.abc import Sequence

from quintet.adapters.host_programs import host_path
from quintet.adapters.sandbox.ground import READING, Ground, Launch
from quintet.domain.grants import Effect, Grant, Sandbox


class Uncontained:
    """No walls. A command that does more than read is still minded, and its files are bounded."""

    kind = Sandbox.NONE

    def __init__(self, ground: Ground) -> None:
        self._ground = self.ground = ground

    def launch(self, argv: Sequence[str], cwd: str, grant: Grant, held: Sequence[str] = ()) -> Launch:
        if not set(grant.effects) - READING:  # goes unasked: by no program of the project's
            return Launch(tuple(argv), cwd, {"PATH": host_path()})
        if Effect.OUTSIDE in grant.effects:
            return Launch(tuple(argv), cwd)
        _, number, watched = self._ground.begin(grant, held, command=argv)
        words = self._ground.minded(self._ground.bounded(argv))
        return Launch(words, cwd, watched=watched, number=number, command=tuple(argv))

    def settle(self, launch: Launch) -> list[str]:
        return self._ground.settle(launch)

    def put_right(self) -> list[str]:
        return self._ground.put_right()

    async def close(self) -> None:
        await self._ground.close()
