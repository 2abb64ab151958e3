"""A journal as spans: what the GenAI conventions call things, and nothing of what was said unless it is expected."""

import json
from collections import Counter

import pytest
from msgspec import structs

from quintet.domain.journal import protocol as p
from quintet.domain.settings.settings import ModelSettings
from quintet.features.otel.spans import BOUNDS, Span, Spans, measured
from tests.made_sessions import ASKED, SAID, Made

MODELS = {
    "small": ModelSettings("http://127.0.0.1:1/v1", "vendor/small-1"),
    "large": ModelSettings("", "google:large-2", wire="pydantic-ai"),
}
SECRET = "the output of a tool"


def told(steps: int, *, content: bool = False) -> list[Span]:
    spans = Spans("q5-made", MODELS, "1.2", content=content)
    return [span for recorded in Made().events(steps, output=SECRET) for span in spans.apply(recorded)]


def test_a_turn_is_told_when_it_begins_and_when_it_ends_with_its_requests_and_calls_between() -> None:
    begun, *inside, over = told(6)
    assert (begun.name, begun.end, begun.parent) == ("invoke_agent quintet", None, "")
    assert (over.key, over.begin, over.error) == (begun.key, begun.begin, "")
    assert over.end and over.end > over.begin == 1767603605_000_000_000
    assert {span.parent for span in inside} == {begun.key}
    assert all(span.end and begun.begin <= span.begin <= span.end <= over.end for span in inside)
    kinds = Counter((span.attributes["gen_ai.operation.name"], span.client) for span in inside)
    assert kinds == {("chat", True): 6, ("execute_tool", False): 4}, "a call that was not run is no execution"
    assert over.attributes["gen_ai.usage.input_tokens"] == sum(
        int(str(span.attributes.get("gen_ai.usage.input_tokens", 0))) for span in inside
    )
    assert over.attributes["gen_ai.conversation.id"] == "q5-made"
    assert (over.attributes["quintet.work_mode"], over.attributes["quintet.status"]) == ("build", "done")


def test_a_request_and_a_call_carry_what_the_conventions_name() -> None:
    chat = next(span for span in told(3) if span.client)
    assert chat.name == "chat vendor/small-1"
    assert {name: value for name, value in chat.attributes.items() if name.startswith("gen_ai.")} == {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": "q5-made",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "vendor/small-1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 2000,
        "gen_ai.usage.output_tokens": 90,
        "gen_ai.usage.cache_read.input_tokens": 0,
    }
    assert chat.attributes["quintet.stage"] == "warmup"
    call = next(span for span in told(3) if span.name.startswith("execute_tool"))
    assert call.name == "execute_tool grep"
    assert {name: value for name, value in call.attributes.items() if name.startswith("gen_ai.tool.")} == {
        "gen_ai.tool.name": "grep",
        "gen_ai.tool.call.id": "call-1-0",
        "gen_ai.tool.type": "function",
    }
    assert call.attributes["quintet.verdict"] == "allow"


def test_a_request_says_which_model_answered_and_by_which_id() -> None:
    spans, chats = Spans("q5-made", MODELS, "1.2", content=False), []
    for recorded in Made().events(2):
        if isinstance(recorded.event, p.ModelReplied):
            named = structs.replace(recorded.event, response_model="small-1-2026", response_id="chatcmpl-7")
            recorded = structs.replace(recorded, event=named)
        chats += [span.attributes for span in spans.apply(recorded) if span.client]
    assert {(one["gen_ai.response.model"], one["gen_ai.response.id"]) for one in chats} == {
        ("small-1-2026", "chatcmpl-7")
    }


@pytest.mark.parametrize("content", [False, True])
def test_what_was_said_is_left_out_unless_it_is_wanted(content: bool) -> None:
    spans = told(6, content=content)
    everything = "\n".join(str(value) for span in spans for value in span.attributes.values())
    for words in (SECRET, SAID.strip(), ASKED[1], "src/shop/basket.py"):
        assert (words in everything) == content, words
    if content:
        assert json.loads(str(spans[0].attributes["gen_ai.input.messages"])) == [
            {"role": "user", "parts": [{"type": "text", "content": ASKED[1]}]}
        ]
        (answer,) = json.loads(str(spans[-1].attributes["gen_ai.output.messages"]))
        assert (answer["role"], answer["finish_reason"]) == ("assistant", "stop")


@pytest.mark.parametrize(
    ("settings", "provider", "model", "address"),
    [
        (ModelSettings("", "google:gemini-2.5-flash", wire="pydantic-ai"), "gcp.gemini", "gemini-2.5-flash", None),
        (ModelSettings("", "bedrock:eu.nova:0", wire="pydantic-ai"), "aws.bedrock", "eu.nova:0", None),
        (ModelSettings("", "mistral:large", wire="pydantic-ai"), "mistral_ai", "large", None),
        (ModelSettings("", "cohere:command", wire="pydantic-ai"), "cohere", "command", None),
        (ModelSettings("https://api.mistral.ai/v1", "m"), "mistral_ai", "m", ("api.mistral.ai", 443)),
        (ModelSettings("https://g.example/v1", "m", wire="gemini"), "gcp.gemini", "m", ("g.example", 443)),
        (ModelSettings("http://[::1]:8/v1", "m", wire="responses"), "openai", "m", ("::1", 8)),
        (ModelSettings("http://h/v1", "m", wire="anthropic"), "anthropic", "m", ("h", 80)),
    ],
)
def test_who_is_asked_is_named_as_the_conventions_do(
    settings: ModelSettings, provider: str, model: str, address: tuple[str, int] | None
) -> None:
    spans = Spans("q5-made", {"small": settings, "large": settings}, "1.2", content=False)
    chat = next(span for recorded in Made().events(2) for span in spans.apply(recorded) if span.client)
    said = chat.attributes
    assert (said["gen_ai.provider.name"], said["gen_ai.request.model"]) == (provider, model)
    where = (said["server.address"], said["server.port"]) if "server.address" in said else None
    assert where == address


def test_with_content_a_request_has_what_was_new_to_the_model() -> None:
    requests = [span for span in told(4, content=True) if span.client]
    told_first = json.loads(str(requests[0].attributes["gen_ai.input.messages"]))
    assert [message["role"] for message in told_first] == ["user"]
    later = [json.loads(str(span.attributes["gen_ai.input.messages"])) for span in requests[1:]]
    assert any(part["response"] == SECRET for messages in later for one in messages for part in one["parts"])


def test_what_failed_says_how() -> None:
    spans = told(72)
    failed = [span for span in spans if span.error]
    assert {span.error for span in failed if span.client} == {"LLM_RATE_LIMITED"}
    assert all(span.attributes["error.type"] == span.error for span in failed)
    assert "error" in {span.error for span in failed if not span.client}
    providers = {span.attributes["gen_ai.provider.name"] for span in spans if span.client}
    assert providers == {"openai", "gcp.gemini"}


def test_what_was_still_open_ends_with_its_turn() -> None:
    spans = Spans("q5-made", {}, "1.2", content=False)
    events = list(Made().events(3))
    asked = next(place for place, r in enumerate(events) if isinstance(r.event, p.ModelRequested))
    for recorded in events[: asked + 1]:
        spans.apply(recorded)
    cut = p.TurnFinished(turn="turn-1", status="interrupted")
    request, turn = spans.apply(p.Recorded(99, events[-1].at, cut))
    assert (request.error, turn.error) == ("interrupted", "interrupted")
    assert request.end == turn.end
    assert request.attributes["gen_ai.provider.name"] == "quintet"


def test_a_reply_that_was_cut_off_says_what_cut_it() -> None:
    spans = Spans("q5-made", MODELS, "1.2", content=False)
    events = list(Made().events(3))
    asked = next(place for place, r in enumerate(events) if isinstance(r.event, p.ModelRequested))
    request = events[asked].event
    assert isinstance(request, p.ModelRequested)
    for recorded in events[: asked + 1]:
        spans.apply(recorded)
    half = p.ModelReplied(step=request.step, text="I re", partial=True)
    failed = p.ModelFailed(step=request.step, error=p.ErrorInfo("LLM_HTTP_ERROR", "cut"))
    assert spans.apply(p.Recorded(98, events[-2].at, half)) == []
    (span,) = spans.apply(p.Recorded(99, events[-1].at, failed))
    assert (span.error, span.attributes["error.type"]) == ("LLM_HTTP_ERROR", "LLM_HTTP_ERROR")
    assert span.end and span.end > span.begin


def test_a_turn_that_began_before_anybody_looked_is_left_alone() -> None:
    spans = Spans("q5-made", {}, "1.2", content=False)
    events = [r for r in Made().events(4) if not isinstance(r.event, p.TurnStarted)]
    assert {span.parent for r in events for span in spans.apply(r)} == {""}


def test_a_request_that_is_over_measures_its_time_and_tokens_by_the_conventions() -> None:
    about = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 3,
        "quintet.stage": "act",
    }
    request = Span("s", "chat m", 1_000_000_000, about, client=True, end=3_500_000_000)
    found = [(one.metric, one.value, one.attributes.get("gen_ai.token.type")) for one in measured(request)]
    assert found == [
        ("gen_ai.client.operation.duration", 2.5, None),
        ("gen_ai.client.token.usage", 12.0, "input"),
        ("gen_ai.client.token.usage", 3.0, "output"),
    ]
    assert all("quintet.stage" not in one.attributes for one in measured(request))
    assert measured(structs.replace(request, end=None)) == [] == measured(structs.replace(request, client=False))
    assert BOUNDS["gen_ai.client.token.usage"][:3] == (1.0, 4.0, 16.0)
