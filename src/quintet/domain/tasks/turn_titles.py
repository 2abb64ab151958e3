"""What a turn is called in lists: the user's words, or the task of a cycle that it does or verifies."""

from __future__ import annotations

from quintet.domain.journal import protocol as p
from quintet.domain.tasks.cycle_phases import CyclePhase

KINDS = ("cycle_began", "cycle_moved", "turn_started")


class TurnTitles:
    """Read with the events of one session, in their order."""

    def __init__(self) -> None:
        self._asked: dict[str, str] = {}  # of each cycle, the request
        self._at: dict[str, p.CycleMoved] = {}  # of each cycle, the phase it came to

    def of(self, event: p.Event) -> str:
        """The title of the turn that starts with this event; empty if it has no words of its own, or is no turn."""
        match event:
            case p.CycleBegan() as e:
                self._asked[e.run] = e.text
            case p.CycleMoved() as e:
                self._at[e.run] = e
            case p.TurnStarted() as e:
                return self._title(e)
        return ""

    def _title(self, begun: p.TurnStarted) -> str:
        at = self._at.get(begun.run)
        if at is None:
            return begun.text
        if at.phase is CyclePhase.PLANNING:
            return self._asked.get(begun.run) or begun.text
        if at.phase in (CyclePhase.EXECUTING, CyclePhase.VERIFYING) and at.task:
            verifies = "verify " if at.phase is CyclePhase.VERIFYING else ""
            again = f" (attempt {at.attempt})" if at.attempt > 1 else ""
            return f"{verifies}{at.task}: {at.title or at.task}{again}"
        return begun.text
