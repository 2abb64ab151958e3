"""What a reader has just read at a refused call is not said again at the end of its turn."""

from __future__ import annotations

from msgspec import structs

from quintet.domain.protocol import Recorded, ToolFinished, TurnFinished, TurnStarted
from quintet.domain.toolspec import CallStatus

NOT_RUN = "not run: "


class ToldOnce:
    """Shown every event of a session in order, gives each as it is to be described."""

    def __init__(self) -> None:
        self._refused = ""  # why the newest refused call of the turn was not run

    def __call__(self, recorded: Recorded) -> Recorded:
        match recorded.event:
            case TurnStarted():
                self._refused = ""
            case ToolFinished(status=CallStatus.DENIED, content=content):
                self._refused = content.removeprefix(NOT_RUN)
            case TurnFinished(reason=reason) as ending if self._refused and reason.endswith(self._refused):
                return structs.replace(recorded, event=structs.replace(ending, reason=""))
        return recorded
