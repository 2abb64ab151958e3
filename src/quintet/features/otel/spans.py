"""A journal as OpenTelemetry spans: a turn is `invoke_agent`, each request in it `chat`, each call `execute_tool`.

A view over the session's activities; what a request measured is one over its span. Names and attributes follow the
GenAI semantic conventions, what they have no name for is under `quintet.`. What people, models and tools said is left
out unless `content` is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, structs

from quintet.domain.dials.axes import Axes
from quintet.domain.journal import protocol as p
from quintet.domain.models.presets import OTHER
from quintet.domain.settings.settings import ModelSettings
from quintet.domain.turn.messages import EndStatus, Usage
from quintet.domain.turn.tool_spec import CallStatus
from quintet.engine.reports.activities import Activities, ActivityKind, TimedActivity, epoch

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


class Measurement(Struct, frozen=True):
    """A value of one of the conventions' metrics."""

    metric: str
    value: float
    attributes: dict[str, Value]


TOKEN_USAGE = "gen_ai.client.token.usage"
DURATION = "gen_ai.client.operation.duration"
UNITS = {TOKEN_USAGE: "{token}", DURATION: "s"}
# The bounds of buckets that the conventions advise.
BOUNDS: dict[str, tuple[float, ...]] = {
    TOKEN_USAGE: tuple(4.0**power for power in range(14)),
    DURATION: tuple(0.01 * 2**power for power in range(14)),
}
_MEASURED_BY = (
    *("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.response.model"),
    *("server.address", "server.port", "error.type"),
)


def measured(span: Span) -> list[Measurement]:
    """What a request that is over measured: how long it took, and its tokens."""
    if span.end is None or not span.client:
        return []
    about = {name: span.attributes[name] for name in _MEASURED_BY if name in span.attributes}
    used = {kind: span.attributes.get(f"gen_ai.usage.{kind}_tokens", 0) for kind in ("input", "output")}
    tokens = [
        Measurement(TOKEN_USAGE, float(count), {**about, "gen_ai.token.type": kind})
        for kind, count in used.items()
        if isinstance(count, int) and count
    ]
    return [Measurement(DURATION, (span.end - span.begin) / 1e9, about), *tokens]


class Spans:
    """Follows a session's events; `apply` gives the spans that an event begins or ends."""

    def __init__(self, session: str, models: Mapping[str, ModelSettings], version: str, *, content: bool) -> None:
        self._models = models
        self._content = content
        self._common: dict[str, Value] = {"gen_ai.conversation.id": session}
        self._agent: dict[str, Value] = {"gen_ai.agent.name": AGENT, "gen_ai.agent.version": version}
        self._activities = Activities()
        self._turn: Span | None = None
        self._new: list[dict[str, object]] = []  # messages since the last request, if content is wanted
        self._inputs: dict[str, str] = {}  # those of each open request, by its step

    def apply(self, recorded: p.Recorded) -> list[Span]:
        ended = self._activities.apply(recorded)
        now = moment(recorded.at)
        if self._content:
            self._listen(recorded.event)
        match recorded.event:
            case p.TurnStarted() as e:
                said = self._said("input", "user", e.text)
                about: dict[str, Value] = {"quintet.turn": e.turn, "quintet.run": e.run, **_axes(e.axes), **said}
                self._turn = self._span(e.turn, "invoke_agent", AGENT, now, {**self._agent, **about}, parent="")
                return [self._turn]
            case p.TurnFinished() as e if self._turn and self._turn.key == e.turn:
                left = self._activities.still_open(ActivityKind.CALL)
                over = [*self._over([*ended, *left], now), self._turn_over(self._turn, e, now)]
                self._turn, self._activities = None, Activities()
                return over
        return self._over(ended, now)

    def _listen(self, event: p.Event) -> None:
        match event:
            case p.TurnStarted():
                self._new = [_message("user", event.text)]
                self._inputs = {}
            case p.ToolFinished():
                part = {"type": "tool_call_response", "id": event.call, "response": event.content}
                self._new.append({"role": "tool", "parts": [part]})
            case p.ModelRequested():
                self._inputs[event.step] = msgspec.json.encode(self._new).decode()
                self._new = []

    def _over(self, activities: list[TimedActivity], now: int) -> list[Span]:
        """The spans of requests and calls; what is still open ends now."""
        spans = []
        for activity in activities:
            if isinstance(event := activity.begun.event, p.ModelRequested):
                spans.append(self._request(activity, event, now))
            elif activity.started:
                spans.append(self._call(activity, activity.started, now))
        return spans

    def _request(self, request: TimedActivity, event: p.ModelRequested, now: int) -> Span:
        configured = self._models.get(event.model)
        model = _model_name(configured) if configured else event.model
        attributes: dict[str, Value] = {
            "gen_ai.provider.name": _provider(configured),
            "gen_ai.request.model": model,
            **_server(configured),
            "quintet.stage": event.stage,
            "quintet.attempt": event.attempt,
            "quintet.tool_count": event.tool_count,
            **_axes(event.axes),
        }
        if told := self._inputs.pop(event.step, ""):
            attributes["gen_ai.input.messages"] = told
        if reply := request.reply:
            finish: dict[str, Value] = {"gen_ai.response.finish_reasons": (str(reply.finish),)}
            said = self._said("output", "assistant", reply.text, reply.finish)
            named = {"gen_ai.response.model": reply.response_model, "gen_ai.response.id": reply.response_id}
            finish |= {name: value for name, value in named.items() if value}
            attributes |= {**_usage(reply.usage), **finish, "quintet.cost": reply.cost, **said}
        span = self._span(request.key, "chat", model, moment(request.begun.at), attributes, client=True)
        error = "" if request.outcome == "ok" else request.code or "interrupted"
        return _ended(span, moment(request.ended.at) if request.ended else now, error)

    def _call(self, call: TimedActivity, started: p.Recorded, now: int) -> Span:
        event = started.event
        assert isinstance(event, p.ToolStarted)
        decided = call.decided.event if call.decided else None
        attributes: dict[str, Value] = {
            "gen_ai.tool.name": event.tool,
            "gen_ai.tool.call.id": event.call,
            "gen_ai.tool.type": "function",
            "quintet.verdict": decided.verdict if isinstance(decided, p.CallDecided) else "",
        }
        if self._content:
            attributes["gen_ai.tool.call.arguments"] = event.arguments
        error = "interrupted"
        if call.ended and isinstance(end := call.ended.event, p.ToolFinished):
            error = "" if end.status is CallStatus.OK else str(end.status)
            attributes["quintet.files_changed"] = len(end.changed)
            if self._content:
                attributes["gen_ai.tool.call.result"] = end.content
        return _ended(self._span(event.call, "execute_tool", event.tool, moment(started.at), attributes), now, error)

    def _span(
        self,
        key: str,
        operation: str,
        subject: str,
        begin: int,
        attributes: dict[str, Value],
        *,
        parent: str | None = None,
        client: bool = False,
    ) -> Span:
        turn = self._turn.key if self._turn else ""
        about = {"gen_ai.operation.name": operation, **self._common, **attributes}
        return Span(key, f"{operation} {subject}", begin, about, turn if parent is None else parent, client)

    def _turn_over(self, turn: Span, event: p.TurnFinished, now: int) -> Span:
        error = "" if event.status == EndStatus.DONE else event.error.code if event.error else event.status
        more: dict[str, Value] = {
            **_usage(event.usage),
            "quintet.status": event.status,
            "quintet.delivery": event.delivery,
            "quintet.steps": event.steps,
            "quintet.cost": event.cost,
            **self._said("output", "assistant", event.answer, "stop"),
        }
        return _ended(structs.replace(turn, attributes={**turn.attributes, **more}), now, error)

    def _said(self, way: str, role: str, text: str, finish: str = "") -> dict[str, Value]:
        """A message, as the conventions spell them, if content is wanted."""
        if not self._content:
            return {}
        message = _message(role, text)
        if finish:
            message["finish_reason"] = finish
        return {f"gen_ai.{way}.messages": msgspec.json.encode([message]).decode()}


def _message(role: str, text: str) -> dict[str, object]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _ended(span: Span, end: int, error: str) -> Span:
    failed: dict[str, Value] = {"error.type": error} if error else {}
    return structs.replace(span, attributes={**span.attributes, **failed}, end=max(end, span.begin), error=error)


def moment(at: str) -> int:
    """An instant of the journal in nanoseconds."""
    return round(epoch(at) * 1000) * 1_000_000


def _axes(axes: Axes) -> dict[str, Value]:
    return {f"quintet.{name}": str(getattr(axes, name)) for name in axes.__struct_fields__}


def _usage(usage: Usage) -> dict[str, Value]:
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
    }


# As the conventions name them, where the wire or the provider of pydantic-ai has another name.
PROVIDERS = {
    "responses": "openai",
    "gemini": "gcp.gemini",
    "google": "gcp.gemini",
    "google-gla": "gcp.gemini",
    "google-vertex": "gcp.vertex_ai",
    "bedrock": "aws.bedrock",
    "mistral": "mistral_ai",
    "azure": "azure.ai.openai",
    "grok": "x_ai",
    "xai": "x_ai",
}
HOSTS = {
    "api.mistral.ai": "mistral_ai",
    "api.groq.com": "groq",
    "api.deepseek.com": "deepseek",
    "api.x.ai": "x_ai",
    "api.perplexity.ai": "perplexity",
    "api.cohere.com": "cohere",
}


def _provider(model: ModelSettings | None) -> str:
    """Who is asked, as far as the settings tell: by the provider in pydantic-ai's names, the host, or the wire."""
    if model is None:
        return AGENT
    if model.wire == OTHER:
        name = model.model.partition(":")[0]
        return PROVIDERS.get(name, name)
    return HOSTS.get(_parts(model)[0]) or PROVIDERS.get(model.wire, model.wire)


def _model_name(model: ModelSettings) -> str:
    return model.model.partition(":")[2] or model.model if model.wire == OTHER else model.model


def _server(model: ModelSettings | None) -> dict[str, Value]:
    host, port = _parts(model) if model else ("", 0)
    return {"server.address": host, "server.port": port} if host else {}


def _parts(model: ModelSettings) -> tuple[str, int]:
    try:
        parts = urlsplit(model.base_url)
        return parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)
    except ValueError:
        return "", 0
