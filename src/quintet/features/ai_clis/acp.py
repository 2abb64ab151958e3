"""Any agent that speaks the Agent Client Protocol over stdio: JSON-RPC, one message a line.

initialize, session/new, the model and the mode if it lets us choose, session/prompt; what it does comes as
session/update. When it asks for permission the grant answers: behind bubblewrap yes, for the walls hold it; else yes to
what the grant's effects cover. Files and terminals are not offered to it: it has its own.

Its end is not taken at its word where the rest of its stream says otherwise: an answer that is an error message, work
of which every call failed, and a thread that the agent itself calls broken, are failures. The protocol has no word for
a request that is tried again: what agents say of it in extensions of their own (`_meta`, `_claude/sdkMessage`) and on
stderr is listened to, so that a key that is refused is not taken for a slow model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from quintet.domain.models.model_facts import facts_of
from quintet.domain.models.prices import cost_of
from quintet.domain.permission.effects import Effect
from quintet.domain.settings.settings import ModelSettings
from quintet.domain.tasks.executors import (
    CallBegan,
    CallEnded,
    Changed,
    ExecutorFailure,
    ExecutorMessage,
    ExecutorPart,
    Printed,
    Spent,
)
from quintet.domain.tasks.roles import ExecutorRole
from quintet.domain.turn.messages import Usage
from quintet.features.ai_clis.dialect import (
    MOST_OUTPUT,
    SUMMARIES,
    Dialect,
    RunOutcome,
    clipped,
    number,
    one_line,
    summary_of,
    words_of,
)
from quintet.features.ai_clis.errors import by_status, judge

VERSION = 1
AUTH_REQUIRED = -32000
METHOD_NOT_FOUND = -32601
INITIALIZE, NEW, PROMPT, MODE, MODEL = 1, 2, 3, 4, 5  # the numbers of our requests
FREE_MODES = ("bypassPermissions", "full-access", "agent-full-access", "danger-full-access", "yolo")  # their names
RETRIES = [{"type": "system", "subtype": "api_retry"}]  # of Claude's own messages, those that are wanted beside ACP's
READING_MODES = ("read-only", "plan")
MOST_NAMED = 10
LEAST_PIECE = 20  # characters: what streams word by word comes in shorter ones
MOST_ERROR = 2_000  # characters of an answer that is nothing but an error
_ERROR = re.compile(
    r"\W*(?:api |request |server |internal )?(?:error\b|failed\b|ran into this error|failed to authenticate)",
    re.IGNORECASE,
)
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
WORK = frozenset({"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"})  # of a turn
ENDS = {"max_tokens": "its reply became too long", "max_turn_requests": "it reached its own limit of requests"}


class AcpCall(Struct):
    """A call of the agent's, as far as it has told of it."""

    kind: str = "other"
    about: str = ""
    told: bool = False
    over: bool = False


class AcpAgent(Dialect):
    talks = True
    hints: ClassVar[dict[ExecutorFailure, str]] = {
        ExecutorFailure.MISSING: "install it, or correct its command in your settings (executors.NAME.command)",
        ExecutorFailure.LOGIN: "start it once on its own and log in",
    }

    def __init__(self, *words: Any) -> None:
        super().__init__(*words)
        self._replies: list[dict[str, Any]] = []
        self._session = ""
        self._saying = ""
        self._thinking = ""
        self._calls: dict[str, AcpCall] = {}
        self._before: list[dict[str, Any]] = []  # what is asked of it before its assignment, one after the other
        self._model = ""  # the one it uses, as far as it says so
        self._cost = 0.0
        self._done_calls = self._failed_calls = 0
        self._last_failure = ""
        self._broken = False  # it says so itself of its thread
        self._last_chunk = ""

    @property
    def waits_for_model(self) -> bool:
        return bool(self._session) and all(call.over for call in self._calls.values() if call.told)

    @property
    def has_its_work(self) -> bool:
        return bool(self._session)

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
            call = params.get("toolCall")
            if isinstance(call, dict) and str(call.get("toolCallId")) in self._calls:
                yield from self._call({**call, "status": None}, asked=True)
            self._replies.append({"id": event.get("id"), "result": {"outcome": self._permission(params)}})
        elif event.get("method") == "_claude/sdkMessage":
            yield from self._retried(params.get("message"))
        elif "method" in event and "id" in event:
            error = {"code": METHOD_NOT_FOUND, "message": f"{event['method']}: not supported"}
            self._replies.append({"id": event["id"], "error": error})
        elif "error" in event and event.get("id") == MODE:
            self._next()  # it stays in its own mode, and asks
        elif "error" in event:
            yield from self._said()
            self._failed(event["error"])
        elif isinstance(result := event.get("result"), dict):
            yield from self._answered(event.get("id"), result)

    def _answered(self, id: Any, result: dict[str, Any]) -> Iterator[ExecutorPart]:
        if id == INITIALIZE:
            if result.get("protocolVersion") != VERSION:
                spoken = f"it uses version {result.get('protocolVersion')} of the protocol, and Quintet uses {VERSION}"
                self.outcome = RunOutcome(False, problem=spoken, failure=ExecutorFailure.GARBAGE)
                return
            extra = {"claudeCode": {"emitRawSDKMessages": RETRIES}}
            where = {"cwd": self.start.root, "mcpServers": [], "_meta": extra}
            self._replies.append({"id": NEW, "method": "session/new", "params": where})
        elif id == NEW:
            self._session = str(result.get("sessionId", ""))
            self._choose(result)
            if not self.outcome:
                self._next()
        elif id in (MODE, MODEL):
            self._next()
        elif id == PROMPT:
            yield from self._said()
            if isinstance(usage := result.get("usage"), dict):
                names = ("inputTokens", "outputTokens", "cachedReadTokens")
                used = Usage(*(number(usage.get(name)) for name in names))
                prices = facts_of(ModelSettings("", self._model.rpartition("/")[2])).prices if self._model else None
                yield Spent(used, 0.0 if self._cost else cost_of(prices, used))
            reason = str(result.get("stopReason"))
            if reason == "end_turn":
                self.outcome = self._ended()
            else:
                self.outcome = RunOutcome(
                    False, self.answer, ENDS.get(reason, f"it stopped: {reason}"), failure=ExecutorFailure.REFUSED
                )

    def _ended(self) -> RunOutcome:
        """How it went, of an agent that says no more than that its turn is over."""
        now = datetime.now().astimezone()
        # What it said before may be about its attempts: its last words, said in one piece, count by themselves.
        ends = (self.answer, self._last_chunk if len(self._last_chunk) >= LEAST_PIECE else "")
        brief = next((text for text in ends if len(text) <= MOST_ERROR and _ERROR.match(text)), "")
        if self._broken or (brief and not self._done_calls and judge(brief, now)):
            said = one_line(self._last_chunk or brief if self._broken else brief) or self.last_problem
            unclear = None if judge(said, now) else ExecutorFailure.UNREACHABLE
            return RunOutcome(False, self.answer, said or "it reported an internal error", failure=unclear)
        works = self.start.assignment.role is ExecutorRole.EXECUTE
        if works and self._failed_calls and not self._done_calls:
            problem = f"every call it made failed; last: {self._last_failure or 'it does not say why'}"
            return RunOutcome(False, self.answer, problem, failure=ExecutorFailure.CRASHED)
        return RunOutcome(True, self.answer)

    def _choose(self, session: dict[str, Any]) -> None:
        """What is asked of a new session: the model of the settings, and the mode that fits the walls."""
        models, modes = AcpOption.of(session, "model"), AcpOption.of(session, "mode")
        self._model = models.current
        if name := self.start.assignment.model or self.start.settings.model:
            chosen = models.named(name)
            if chosen is None:
                offered = ", ".join(list(models.values)[:MOST_NAMED]) or "none"
                problem = f"it does not offer the model {name}; it has: {offered}"
                self.outcome = RunOutcome(False, problem=problem, failure=ExecutorFailure.REFUSED)
                return
            self._model = chosen
            self._before += models.request(MODEL, self._session, chosen)
        wanted = FREE_MODES if self.start.contained else () if self.start.writes else READING_MODES
        if fitting := next((name for name in wanted if name in modes.values), ""):
            self._before += modes.request(MODE, self._session, fitting)

    def _next(self) -> None:
        if self._before:
            self._replies.append(self._before.pop(0))
            return
        told: list[dict[str, str]] = [{"type": "text", "text": self.start.assignment.prompt}]
        params: dict[str, Any] = {"sessionId": self._session, "prompt": told}
        self._replies.append({"id": PROMPT, "method": "session/prompt", "params": params})

    def _failed(self, error: Any) -> None:
        said = error if isinstance(error, dict) else {}
        data = said.get("data")
        details = data.get("details") if isinstance(data, dict) else data
        problem = ": ".join(str(word) for word in (said.get("message"), details) if word)
        login = ExecutorFailure.LOGIN if said.get("code") == AUTH_REQUIRED else None
        self.outcome = RunOutcome(False, self.answer, problem or "an unnamed error", failure=login)

    def _update(self, update: dict[str, Any]) -> Iterator[ExecutorPart]:
        kind = update.get("sessionUpdate")
        self.trying = self.trying and kind not in WORK
        if kind == "agent_message_chunk":
            self._last_chunk = words_of(update.get("content"))
            self._saying += self._last_chunk if len(self._saying) < 1_000_000 else ""
            return
        if kind == "session_info_update":
            yield from self._told(update.get("_meta"))
        if kind == "agent_thought_chunk":
            self._thinking += words_of(update.get("content")) if len(self._thinking) < 1_000_000 else ""
            return
        if kind == "usage_update":
            yield from self._spent(update.get("cost"))
        if kind in ("tool_call", "tool_call_update"):
            yield from self._said()
            yield from self._call(update)

    def _told(self, meta: Any) -> Iterator[ExecutorPart]:
        """What codex-acp says of its thread: an error that it tries again after, and that it gave up."""
        said = _dict(_dict(meta).get("codex"))
        if status := _dict(said.get("threadStatus")).get("type"):
            self._broken = status == "systemError"
        if error := _dict(said.get("error")):
            words = (error.get("message"), error.get("additionalDetails"))
            self.last_problem = one_line(": ".join(str(word) for word in words if word))
            self.trying = True
            yield Printed(self.last_problem)

    def _retried(self, message: Any) -> Iterator[ExecutorPart]:
        """What Claude says of a request that it makes again. A key that is refused is refused again."""
        said = _dict(message)
        if said.get("subtype") != "api_retry":
            return
        self.trying = True
        status = number(said.get("error_status"))
        self.last_problem = f"{said.get('error')} (status {status})"
        yield Printed(f"{self.last_problem}, attempt {number(said.get('attempt'))}")
        if by_status(status) is ExecutorFailure.LOGIN:
            self.outcome = RunOutcome(False, self.answer, self.last_problem, status=status, hopeless=True)

    def _spent(self, cost: Any) -> Iterator[ExecutorPart]:
        """It says what its session has cost so far."""
        amount = cost.get("amount") if isinstance(cost, dict) else None
        if isinstance(amount, int | float) and amount > self._cost:
            yield Spent(Usage(), amount - self._cost)
            self._cost = float(amount)

    def _said(self) -> Iterator[ExecutorPart]:
        if self._thinking:
            yield ExecutorMessage(clipped(self._thinking), reasoning=True)
        if self._saying:
            self.answer = clipped(self._saying)
            yield ExecutorMessage(self.answer)
        self._saying = self._thinking = ""

    def _call(self, update: dict[str, Any], *, asked: bool = False) -> Iterator[ExecutorPart]:
        """What it tells of a call. Its line may come after its first word, and the call is named when it is there."""
        id = str(update.get("toolCallId", ""))
        call = self._calls.setdefault(id, AcpCall())
        call.kind = str(update.get("kind") or call.kind)
        raw = update.get("rawInput")
        partial = isinstance(raw, dict) and not any(raw.get(name) for name in SUMMARIES)
        given = "" if partial else summary_of(raw)
        call.about = given or call.about or one_line(str(update.get("title") or "")) or summary_of(raw)
        status = update.get("status")
        later = not given and (status == "pending" or (bool(raw) and status == "in_progress"))
        if not call.told and (asked or not later):
            call.told = True
            yield CallBegan(id, call.kind, call.about)
        if status in ("completed", "failed") and not call.over:
            call.over = True
            content = [block for block in update.get("content") or () if isinstance(block, dict)]
            texts = [words_of(block.get("content")) for block in content if block.get("type") == "content"]
            terminal = _dict(_dict(update.get("_meta")).get("terminal_output_delta")).get("data")
            output = clipped("\n".join(texts) or words_of(update.get("rawOutput")) or str(terminal or ""), MOST_OUTPUT)
            self._done_calls += status == "completed"
            self._failed_calls += status == "failed"
            self._last_failure = one_line(output) if status == "failed" else self._last_failure
            yield CallEnded(id, status == "completed", output)
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


class AcpOption(Struct, frozen=True):
    """Something of its session that an agent lets a client choose, in the newer form of options or the older one."""

    field: str  # model or mode
    option: str = ""  # the option's id, in the newer form
    current: str = ""
    values: dict[str, str] = {}  # value → its name

    @classmethod
    def of(cls, session: dict[str, Any], field: str) -> AcpOption:
        for option in _dicts(session.get("configOptions")):
            if option.get("category") == field and option.get("id"):
                values = {str(one.get("value")): str(one.get("name") or "") for one in _dicts(option.get("options"))}
                return cls(field, str(option["id"]), str(option.get("currentValue") or ""), values)
        older = session.get(f"{field}s")
        older = older if isinstance(older, dict) else {}
        id = "modelId" if field == "model" else "id"
        offered = _dicts(older.get(f"available{field.title()}s"))
        values = {str(one.get(id)): str(one.get("name") or "") for one in offered}
        return cls(field, "", str(older.get(f"current{field.title()}Id") or ""), values)

    def named(self, name: str) -> str | None:
        wanted = name.casefold()
        return next(
            (value for value, shown in self.values.items() if wanted in (value.casefold(), shown.casefold())), None
        )

    def request(self, number: int, session: str, value: str) -> list[dict[str, Any]]:
        if value == self.current:
            return []
        if self.option:
            params = {"sessionId": session, "configId": self.option, "value": value}
            return [{"id": number, "method": "session/set_config_option", "params": params}]
        params = {"sessionId": session, f"{self.field}Id": value}
        return [{"id": number, "method": f"session/set_{self.field}", "params": params}]


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _line(message: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n"
