"""What a reader has just read is not said again: why a call was refused, at the end of its turn; what was put right
after a command, with the command's result."""

from __future__ import annotations

from msgspec import structs

from quintet.domain.journal.protocol import Noticed, Recorded, ToolFinished, TurnFinished, TurnStarted
from quintet.domain.permission.put_right import PUT_RIGHT
from quintet.domain.turn.tool_spec import CallStatus

NOT_RUN = "not run: "


class ToldOnce:
    """Shown every event of a session in order, gives each as it is to be described."""

    def __init__(self) -> None:
        self._refused = ""  # why the newest refused call of the turn was not run
        self._put_right: list[str] = []  # in the turn, in order

    def __call__(self, recorded: Recorded) -> Recorded:
        match recorded.event:
            case TurnStarted():
                self._refused, self._put_right = "", []
            case Noticed(code=code, text=text) if code == PUT_RIGHT:
                self._put_right.append(text)
            case ToolFinished(status=CallStatus.DENIED, content=content):
                self._refused = content.removeprefix(NOT_RUN)
            case ToolFinished() as ended if self._put_right:
                content = self._without(ended.content)
                return structs.replace(recorded, event=structs.replace(ended, content=content))
            case TurnFinished(reason=reason) as ending if self._refused and reason.endswith(self._refused):
                return structs.replace(recorded, event=structs.replace(ending, reason=""))
            case TurnFinished() as ending if self._put_right:
                return structs.replace(recorded, event=structs.replace(ending, answer=self._without(ending.answer)))
        return recorded

    def _without(self, text: str) -> str:
        for told in reversed(self._put_right):
            text = text.removesuffix(f"\n{told}")
        return text
