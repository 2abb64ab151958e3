"""What there is where no containment works: no walls, but a minder and bounds."""

from __future__ import annotations

from collections.abc import Sequence

from quintet.adapters.processes.host_programs import host_path
from quintet.adapters.sandbox.containment import Containment
from quintet.adapters.sandbox.project_watch import READING, Begun, Launch
from quintet.domain.permission.effects import Grant, Sandbox


class Uncontained(Containment):
    """No walls. A command that does more than read is still minded, and its files are bounded."""

    kind = Sandbox.NONE

    def launch(self, argv: Sequence[str], cwd: str, grant: Grant, held: Sequence[str] = ()) -> Launch:
        if not set(grant.effects) - READING:  # goes unasked: by no program of the project's
            return Launch(tuple(argv), cwd, {"PATH": host_path()})
        return super().launch(argv, cwd, grant, held)

    def walled(self, argv: Sequence[str], cwd: str, grant: Grant, held: Sequence[str], begun: Begun) -> Launch:
        words = self.ground.minded(self.ground.bounded(argv))
        return Launch(words, cwd, watched=begun.watched, number=begun.number, command=tuple(argv))
