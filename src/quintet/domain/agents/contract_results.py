"""What an input to an agent came to, in the forms of the agent-session contract; from the events alone.

AgentDispatchResult {success, event | error}, ChatSendResult {success, assistant, usage | error}, RunsContinueResult
{success, phase, assistant_text, error}.
"""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from quintet.domain.agents.run import ErrorInfo, outcome
from quintet.domain.journal import protocol as p
from quintet.domain.turn.messages import EndStatus


class InputFollower:
    """Follows the events of one input to an agent."""

    def __init__(self, agent: bool) -> None:
        self._agent = agent
        self._event: dict[str, Any] | None = None  # the run that was started or resumed
        self._moved: p.RunMoved | None = None

    def see(self, event: p.Event) -> None:
        match event:
            case p.AgentEntered():
                self._agent = True
            case p.RunStarted(run=run):
                self._event = {"type": "RUN_STARTED", "run": to_builtins(run)}
            case p.RunTaken(run=run):
                self._event = {"type": "RUN_RESUMED", "run": to_builtins(run)}
            case p.RunMoved():
                self._moved = event

    def answered(self, ran: p.CommandRan) -> dict[str, Any]:
        """Of an input that began no turn."""
        if not self._agent or (ran.ok and "event" not in ran.data):
            return {}
        if not ran.ok:
            return {"dispatch": {"success": False, "error": {"code": ran.code, "message": ran.text}}}
        return {"dispatch": {"success": True, "event": ran.data["event"]}}

    def ended(self, finished: p.TurnFinished) -> dict[str, Any]:
        """Of an input that began a turn."""
        if not self._agent:
            return {}
        if self._moved:
            error = self._moved.error
            result = {
                "success": error is None,
                "phase": self._moved.after,
                "assistant_text": finished.answer or None,
                "error": _plain(error),
            }
            dispatched = {"dispatch": {"success": True, "event": self._event}} if self._event else {}
            return {**dispatched, "run": result}
        assistant = {"role": "assistant", "content": finished.answer or None}
        usage = to_builtins(finished.usage)
        if finished.status != EndStatus.DONE:
            error = finished.error or outcome(finished.status, finished.reason, None, False)[1]
            failed = {"success": False, "error": _plain(error)}
            return {"dispatch": failed, "chat": failed}
        event = {"type": "CHAT_RESPONSE", "assistant": assistant, "usage": usage}
        chat = {"success": True, "assistant": assistant, "usage": usage}
        return {"dispatch": {"success": True, "event": event}, "chat": chat}


def _plain(error: ErrorInfo | None) -> dict[str, Any] | None:
    return to_builtins(error) if error else None
