"""Any agent that speaks the Agent Client Protocol over stdio: JSON-RPC, one message a line.

initialize, session/new, session/prompt; what it does comes as session/update. When it asks for permission the grant
answers: behind bubblewrap yes, for the walls hold it; else yes to what the grant's effects cover. Files and terminals
are not offered to it: it has its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec

from quintet.domain.permission.effects import Effect
from quintet.domain.tasks.executors import (
    CallBegan,
    CallEnded,
    Changed,
    ExecutorFailure,
    ExecutorMessage,
    ExecutorPart,
    Spent,
)
from quintet.domain.turn.messages import Usage
from quintet.features.ai_clis.dialect import (
    MOST_OUTPUT,
    Dialect,
    RunOutcome,
    clipped,
    number,
    one_line,
    summary_of,
    words_of,
)

VERSION = 1
AUTH_REQUIRED = -32000
METHOD_NOT_FOUND = -32601
INITIALIZE, NEW, PROMPT = 1, 2, 3  # the numbers of our requests
NEEDS: dict[str, frozenset[Effect]] = {  # kinds of calls, as the protocol names them
    "read": frozenset(),
    "search": frozenset(),
    "think": frozenset(),
    "switch_mode": frozenset(),
    "edit": frozenset({Effect.EDIT}),
    "move": frozenset({Effect.EDIT}),
    "delete": frozenset({Effect.DESTROY}),
    "execute": frozenset({Effect.EXECUTE}),
    "fetch": frozenset({Effect.NETWORK}),
}
ENDS = {"max_tokens": "its reply became too long", "max_turn_requests": "it reached its own limit of requests"}


class AcpAgent(Dialect):
    talks = True
    hints: ClassVar[dict[ExecutorFailure, str]] = {
        ExecutorFailure.MISSING: "install it, or correct its command in your settings (executors.NAME.command)",
        ExecutorFailure.LOGIN: "start it by itself once and log in",
    }

    def __init__(self, *words: Any) -> None:
        super().__init__(*words)
        self._replies: list[dict[str, Any]] = []
        self._session = ""
        self._saying = ""
        self._thinking = ""
        self._begun: dict[str, bool] = {}  # calls, and whether they are over

    def flags(self) -> tuple[str, ...] | None:
        return ()

    def homes(self) -> tuple[str, ...]:
        return (self.start.settings.home,) if self.start.settings.home else ()

    def opening(self) -> bytes:
        asked = {
            "protocolVersion": VERSION,
            "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}},
        }
        return _line({"id": INITIALIZE, "method": "initialize", "params": asked})

    def reply(self) -> bytes:
        said, self._replies = self._replies, []
        return b"".join(map(_line, said))

    def farewell(self) -> bytes:
        if not self._session:
            return b""
        return _line({"method": "session/cancel", "params": {"sessionId": self._session}})

    def take(self, event: dict[str, Any]) -> Iterator[ExecutorPart]:
        params = event.get("params")
        params = params if isinstance(params, dict) else {}
        if event.get("method") == "session/update":
            update = params.get("update")
            yield from self._update(update if isinstance(update, dict) else {})
        elif event.get("method") == "session/request_permission":
            self._replies.append({"id": event.get("id"), "result": {"outcome": self._permission(params)}})
        elif "method" in event and "id" in event:
            error = {"code": METHOD_NOT_FOUND, "message": f"{event['method']}: not offered here"}
            self._replies.append({"id": event["id"], "error": error})
        elif "error" in event:
            yield from self._said()
            self._failed(event["error"])
        elif isinstance(result := event.get("result"), dict):
            yield from self._answered(event.get("id"), result)

    def _answered(self, id: Any, result: dict[str, Any]) -> Iterator[ExecutorPart]:
        if id == INITIALIZE:
            if result.get("protocolVersion") != VERSION:
                spoken = f"it speaks version {result.get('protocolVersion')} of the protocol, and Quintet {VERSION}"
                self.outcome = RunOutcome(False, problem=spoken, failure=ExecutorFailure.GARBAGE)
                return
            where = {"cwd": self.start.root, "mcpServers": []}
            self._replies.append({"id": NEW, "method": "session/new", "params": where})
        elif id == NEW:
            self._session = str(result.get("sessionId", ""))
            told: list[dict[str, str]] = [{"type": "text", "text": self.start.assignment.prompt}]
            params: dict[str, Any] = {"sessionId": self._session, "prompt": told}
            self._replies.append({"id": PROMPT, "method": "session/prompt", "params": params})
        elif id == PROMPT:
            yield from self._said()
            if isinstance(usage := result.get("usage"), dict):
                names = ("inputTokens", "outputTokens", "cachedReadTokens")
                yield Spent(Usage(*(number(usage.get(name)) for name in names)))
            reason = str(result.get("stopReason"))
            if reason == "end_turn":
                self.outcome = RunOutcome(True, self.answer)
            else:
                self.outcome = RunOutcome(
                    False, self.answer, ENDS.get(reason, f"it stopped: {reason}"), failure=ExecutorFailure.REFUSED
                )

    def _failed(self, error: Any) -> None:
        said = error if isinstance(error, dict) else {}
        data = said.get("data")
        details = data.get("details") if isinstance(data, dict) else data
        problem = ": ".join(str(word) for word in (said.get("message"), details) if word)
        login = ExecutorFailure.LOGIN if said.get("code") == AUTH_REQUIRED else None
        self.outcome = RunOutcome(False, self.answer, problem or "an error it does not name", failure=login)

    def _update(self, update: dict[str, Any]) -> Iterator[ExecutorPart]:
        kind = update.get("sessionUpdate")
        if kind == "agent_message_chunk":
            self._saying += words_of(update.get("content")) if len(self._saying) < 1_000_000 else ""
            return
        if kind == "agent_thought_chunk":
            self._thinking += words_of(update.get("content")) if len(self._thinking) < 1_000_000 else ""
            return
        if kind in ("tool_call", "tool_call_update"):
            yield from self._said()
            yield from self._call(update)

    def _said(self) -> Iterator[ExecutorPart]:
        if self._thinking:
            yield ExecutorMessage(clipped(self._thinking), reasoning=True)
        if self._saying:
            self.answer = clipped(self._saying)
            yield ExecutorMessage(self.answer)
        self._saying = self._thinking = ""

    def _call(self, update: dict[str, Any]) -> Iterator[ExecutorPart]:
        id = str(update.get("toolCallId", ""))
        if id not in self._begun:
            self._begun[id] = False
            about = summary_of(update.get("rawInput")) or one_line(str(update.get("title") or ""))
            yield CallBegan(id, str(update.get("kind") or "other"), about)
        status = update.get("status")
        if status in ("completed", "failed") and not self._begun[id]:
            self._begun[id] = True
            content = [block for block in update.get("content") or () if isinstance(block, dict)]
            texts = [words_of(block.get("content")) for block in content if block.get("type") == "content"]
            yield CallEnded(id, status == "completed", clipped("\n".join(texts), MOST_OUTPUT))
            for block in content if status == "completed" else ():
                if block.get("type") == "diff":
                    yield Changed(str(block.get("path", "")), "modified" if block.get("oldText") else "added")

    def _permission(self, params: dict[str, Any]) -> dict[str, Any]:
        call = params.get("toolCall")
        kind = str((call if isinstance(call, dict) else {}).get("kind") or "other")
        needed = NEEDS.get(kind)
        granted = set(self.start.assignment.grant.effects)
        allowed = self.start.contained or (needed is not None and needed <= granted)
        wanted = ("allow_once", "allow_always") if allowed else ("reject_once", "reject_always")
        options = [option for option in params.get("options") or () if isinstance(option, dict)]
        for wish in wanted:
            for option in options:
                if option.get("kind") == wish:
                    return {"outcome": "selected", "optionId": option.get("optionId")}
        return {"outcome": "cancelled"}


def _line(message: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n"
