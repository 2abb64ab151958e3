"""A journal as OpenTelemetry spans: a turn is `invoke_agent`, each request in it `chat`, each call `execute_tool`.

A fold that yields plain values; names and attributes follow the GenAI semantic conventions, what they have no name for
is under `quintet.`. What people, models and tools said is left out unless `content` is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

import msgspec
from msgspec import Struct, structs

from quintet.domain.dials.axes import Axes
from quintet.domain.journal import protocol as p
from quintet.domain.settings.settings import ModelSettings
from quintet.domain.turn.messages import Usage
from quintet.domain.turn.tool_spec import CallStatus

AGENT = "quintet"
Value = str | int | float | bool | tuple[str, ...]


class Span(Struct, frozen=True):
    """A span that began, or with an `end` one that is over; a turn is told at both."""

    key: str
    name: str
    begin: int  # nanoseconds since the epoch
    attributes: dict[str, Value]
    parent: str = ""  # the key of the turn it belongs to
    client: bool = False  # whether it is a request to somebody else
    end: int | None = None
    error: str = ""


class Spans:
    """Follows a session's events; `apply` gives the spans that an event begins or ends."""

    def __init__(self, session: str, models: Mapping[str, ModelSettings], version: str, *, content: bool) -> None:
        self._models = models
        self._content = content
        self._common: dict[str, Value] = {"gen_ai.conversation.id": session}
        self._agent: dict[str, Value] = {"gen_ai.agent.name": AGENT, "gen_ai.agent.version": version}
        self._turn: Span | None = None
        self._open: dict[str, Span] = {}  # requests by step, calls by call
        self._verdicts: dict[str, str] = {}  # of calls that have not begun

    def apply(self, recorded: p.Recorded) -> list[Span]:
        return list(self._spans(recorded.event, moment(recorded.at)))

    def _spans(self, event: p.Event, now: int) -> Iterator[Span]:
        match event:
            case p.TurnStarted() as e:
                told = self._said("input", "user", e.text)
                about: dict[str, Value] = {"quintet.turn": e.turn, "quintet.run": e.run, **_axes(e.axes), **told}
                self._turn = self._span(e.turn, "invoke_agent", AGENT, now, {**self._agent, **about}, parent="")
                yield self._turn
            case p.TurnFinished() as e if self._turn and self._turn.key == e.turn:
                for left in list(self._open):
                    yield self._over(left, now, error="interrupted")
                yield self._turn_over(self._turn, e, now)
                self._turn = None
                self._verdicts.clear()
            case p.ModelRequested() as e:
                self._open[e.step] = self._requested(e, now)
            case p.ModelReplied() as e if e.step in self._open:
                said = self._said("output", "assistant", e.text, e.finish)
                more = {"gen_ai.response.finish_reasons": (str(e.finish),), "quintet.cost": e.cost, **said}
                yield self._over(e.step, now, _usage(e.usage) | more, "interrupted" if e.partial else "")
            case p.ModelFailed() as e if e.step in self._open:
                yield self._over(e.step, now, error=e.error.code)
            case p.CallDecided() as e:
                self._verdicts[e.call] = e.verdict
            case p.ToolStarted() as e:
                self._open[e.call] = self._called(e, now)
            case p.ToolFinished() as e if e.call in self._open:
                told = {"gen_ai.tool.call.result": e.content} if self._content else {}
                failed = "" if e.status is CallStatus.OK else str(e.status)
                yield self._over(e.call, now, {"quintet.files_changed": len(e.changed), **told}, failed)

    def _requested(self, event: p.ModelRequested, now: int) -> Span:
        configured = self._models.get(event.model)
        model = configured.model if configured else event.model
        attributes: dict[str, Value] = {
            "gen_ai.provider.name": _provider(configured),
            "gen_ai.request.model": model,
            "quintet.stage": event.stage,
            "quintet.attempt": event.attempt,
            "quintet.tool_count": event.tool_count,
            **_axes(event.axes),
        }
        return self._span(event.step, "chat", model, now, attributes, client=True)

    def _called(self, event: p.ToolStarted, now: int) -> Span:
        attributes: dict[str, Value] = {
            "gen_ai.tool.name": event.tool,
            "gen_ai.tool.call.id": event.call,
            "gen_ai.tool.type": "function",
            "quintet.verdict": self._verdicts.pop(event.call, ""),
        }
        if self._content:
            attributes["gen_ai.tool.call.arguments"] = event.arguments
        return self._span(event.call, "execute_tool", event.tool, now, attributes)

    def _span(
        self,
        key: str,
        operation: str,
        subject: str,
        now: int,
        attributes: dict[str, Value],
        *,
        parent: str | None = None,
        client: bool = False,
    ) -> Span:
        turn = self._turn.key if self._turn else ""
        told = {"gen_ai.operation.name": operation, **self._common, **attributes}
        return Span(key, f"{operation} {subject}", now, told, turn if parent is None else parent, client)

    def _over(self, key: str, now: int, more: dict[str, Value] | None = None, error: str = "") -> Span:
        span = self._open.pop(key)
        failed = {"error.type": error} if error else {}
        told = {**span.attributes, **(more or {}), **failed}
        return structs.replace(span, attributes=told, end=max(now, span.begin), error=error)

    def _turn_over(self, turn: Span, event: p.TurnFinished, now: int) -> Span:
        error = "" if event.status == "done" else event.error.code if event.error else event.status
        more: dict[str, Value] = {
            **_usage(event.usage),
            "quintet.status": event.status,
            "quintet.delivery": event.delivery,
            "quintet.steps": event.steps,
            "quintet.cost": event.cost,
            **({"error.type": error} if error else {}),
            **self._said("output", "assistant", event.answer, "stop"),
        }
        return structs.replace(turn, attributes={**turn.attributes, **more}, end=max(now, turn.begin), error=error)

    def _said(self, way: str, role: str, text: str, finish: str = "") -> dict[str, Value]:
        """A message, as the conventions spell them, if content is wanted."""
        if not self._content:
            return {}
        message: dict[str, object] = {"role": role, "parts": [{"type": "text", "content": text}]}
        if finish:
            message["finish_reason"] = finish
        return {f"gen_ai.{way}.messages": msgspec.json.encode([message]).decode()}


def moment(at: str) -> int:
    """An instant of the journal in nanoseconds."""
    return round(datetime.fromisoformat(at).timestamp() * 1000) * 1_000_000


def _axes(axes: Axes) -> dict[str, Value]:
    return {f"quintet.{name}": str(getattr(axes, name)) for name in axes.__struct_fields__}


def _usage(usage: Usage) -> dict[str, Value]:
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
    }


def _provider(model: ModelSettings | None) -> str:
    """Who is asked, as far as the settings tell: the wire, or the provider that pydantic-ai's names begin with."""
    if model is None:
        return AGENT
    return model.model.partition(":")[0] if model.wire == "pydantic-ai" else model.wire
