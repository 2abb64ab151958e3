"""What a server's refusals mean, for every wire: statuses and bodies in, the code, the retry and the wait out."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from email.utils import formatdate
from time import time
from typing import Any
from urllib.parse import quote

import pytest

from quintet.adapters.models.anthropic import AnthropicMessages
from quintet.adapters.models.chat_completions import ChatCompletions
from quintet.adapters.models.gemini import GenerateContent
from quintet.adapters.models.http_model import HttpModel
from quintet.adapters.models.responses import Responses
from quintet.domain.base.errors import ModelBadResponse, ModelError
from quintet.domain.base.redaction import forms
from quintet.domain.models.reply_bounds import MOST_BYTES, MOST_CHARACTERS
from quintet.domain.settings.settings import ModelSettings
from quintet.domain.turn.messages import Message, Request, Role
from tests.adapters.model_server import MODEL, ModelServer, Reply

KEY = "sk-very-secret-key"
WIRES = [ChatCompletions, AnthropicMessages, Responses, GenerateContent]


def failure(kind: type[HttpModel], reply: Reply, timeout: float = 60.0) -> ModelError:
    async def go() -> ModelError:
        async with ModelServer([reply]) as server:
            model = kind(ModelSettings(server.base_url, MODEL, "TEST_KEY", timeout=timeout), KEY, "local")
            try:
                with pytest.raises(ModelError) as caught:
                    async for _ in model.stream(Request(MODEL, (Message(Role.USER, "hello"),))):
                        pass
                return caught.value
            finally:
                await model.close()

    return asyncio.run(go())


def openai(message: str, kind: str = "invalid_request_error", code: Any = None) -> str:
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}})


def anthropic(message: str, kind: str) -> str:
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})


def google(message: str, code: int, status: str, *details: Any) -> str:
    return json.dumps({"error": {"code": code, "message": message, "status": status, "details": details}})


TABLE = [
    (400, google("API key not valid. Please pass a valid API key.", 400, "INVALID_ARGUMENT"), "LLM_AUTH_FAILED", False,
     "TEST_KEY"),
    (404, google("models/x is not found for API version v1beta", 404, "NOT_FOUND"), "LLM_HTTP_ERROR", False,
     "local.model"),
    (400, google("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 400,
     "INVALID_ARGUMENT"), "LLM_CONTEXT_OVERFLOW", False, "/compact"),
    (429, google("Resource has been exhausted", 429, "RESOURCE_EXHAUSTED"), "LLM_RATE_LIMITED", True, "wait"),
    (503, google("The model is overloaded.", 503, "UNAVAILABLE"), "LLM_HTTP_ERROR", True, "another model"),
    (400, anthropic("Your credit balance is too low to access the Anthropic API", "invalid_request_error"),
     "LLM_HTTP_ERROR", False, "credit"),
    (402, openai("Insufficient Balance"), "LLM_HTTP_ERROR", False, "credit"),
    (400, openai("invalid model ID"), "LLM_HTTP_ERROR", False, "local.model"),
    (404, openai('model "x" not found, try pulling it first'), "LLM_HTTP_ERROR", False, "local.model"),
    (400, openai("Your request exceeded model token limit: 262144"), "LLM_CONTEXT_OVERFLOW", False, ""),
    (400, openai("This model's maximum prompt length is 131072 but the request contains 1"), "LLM_CONTEXT_OVERFLOW",
     False, ""),
    (400, openai("Prompt contains 40000 tokens, too large for model with 32768 maximum context length"),
     "LLM_CONTEXT_OVERFLOW", False, ""),
    (400, openai("Input is too long for requested model."), "LLM_CONTEXT_OVERFLOW", False, ""),
    (400, openai("Unsupported value: 'temperature' does not support 0.2 with this model"), "LLM_HTTP_ERROR", False,
     "local.temperature"),
    (400, openai("Unrecognized request argument supplied: reasoning_effort"), "LLM_HTTP_ERROR", False, "local.effort"),
    (400, openai("Invalid content type. image_url is only supported by certain models."), "LLM_HTTP_ERROR", False,
     "local.vision"),
    (403, "<!DOCTYPE html><html><head><title>Sign in</title>", "LLM_HTTP_ERROR", False, "proxy"),
    (407, "<html><title>Proxy</title>", "LLM_HTTP_ERROR", False, "base_url"),
    (401, openai("Incorrect API key provided", code="invalid_api_key"), "LLM_AUTH_FAILED", False, "TEST_KEY"),
    (401, anthropic("invalid x-api-key", "authentication_error"), "LLM_AUTH_FAILED", False, "TEST_KEY"),
    (403, anthropic("not allowed", "permission_error"), "LLM_AUTH_FAILED", False, "TEST_KEY"),
    (402, openai("Insufficient credits", code=402), "LLM_HTTP_ERROR", False, "credit"),
    (404, openai("The model `x` does not exist", code="model_not_found"), "LLM_HTTP_ERROR", False, "local.model"),
    (404, anthropic("model: x", "not_found_error"), "LLM_HTTP_ERROR", False, "local.model"),
    (400, openai("long", code="context_length_exceeded"), "LLM_CONTEXT_OVERFLOW", False, "session"),
    (400, openai("This model's maximum context length is 8192 tokens"), "LLM_CONTEXT_OVERFLOW", False, "session"),
    (400, anthropic("prompt is too long: 212345 tokens > 200000 maximum", "x"), "LLM_CONTEXT_OVERFLOW", False, ""),
    (400, anthropic("input length and `max_tokens` exceed context limit", "x"), "LLM_CONTEXT_OVERFLOW", False, ""),
    (400, openai("exceeds the available context size", "exceed_context_size_error"), "LLM_CONTEXT_OVERFLOW", False, ""),
    (413, anthropic("Request exceeds the maximum size", "request_too_large"), "LLM_CONTEXT_OVERFLOW", False, ""),
    (400, openai("messages: at least one is required"), "LLM_HTTP_ERROR", False, ""),
    (429, openai("Rate limit reached", "requests", "rate_limit_exceeded"), "LLM_RATE_LIMITED", True, "wait"),
    (429, anthropic("slow down", "rate_limit_error"), "LLM_RATE_LIMITED", True, "wait"),
    (429, openai("You exceeded your quota", code="insufficient_quota"), "LLM_RATE_LIMITED", False, "quota"),
    (408, "", "LLM_TIMEOUT", True, ""),
    (500, anthropic("Internal server error", "api_error"), "LLM_HTTP_ERROR", True, ""),
    (502, "<html>Bad gateway: the context window</html>", "LLM_HTTP_ERROR", True, ""),
    (503, openai("loading", "unavailable_error"), "LLM_HTTP_ERROR", True, ""),
    (504, "", "LLM_TIMEOUT", True, ""),
    (529, anthropic("Overloaded", "overloaded_error"), "LLM_HTTP_ERROR", True, "another model"),
]  # fmt: skip


@pytest.mark.parametrize("kind", WIRES)
@pytest.mark.parametrize(("status", "body", "code", "retryable", "hint"), TABLE)
def test_s2_a_refusal_has_its_code(
    kind: type[HttpModel], status: int, body: str, code: str, retryable: bool, hint: str
) -> None:
    found = failure(kind, Reply(status=status, body=body, framing="length"))
    assert (found.code, found.retryable) == (code, retryable)
    assert hint in found.hint
    assert f"HTTP {status}" in found.message


@pytest.mark.parametrize("kind", WIRES)
def test_how_long_to_wait_is_taken_from_the_server(kind: type[HttpModel]) -> None:
    for status in (429, 503, 529):
        assert failure(kind, Reply(status=status, body="{}", headers={"retry-after": "7"})).retry_after == 7.0
    date = formatdate(time() + 60, usegmt=True)
    waited = failure(kind, Reply(status=429, body="{}", headers={"retry-after": date})).retry_after
    assert waited is not None
    assert 50 < waited <= 61
    assert failure(kind, Reply(status=429, body="{}", headers={"retry-after": "soon"})).retry_after is None


@pytest.mark.parametrize("kind", WIRES)
def test_s2_silence_and_a_broken_stream_have_their_codes(kind: type[HttpModel]) -> None:
    silent = failure(kind, Reply(text=["x"], only=0, then="hang"), timeout=0.05)
    assert (silent.code, silent.retryable) == ("LLM_TIMEOUT", True)
    stuck = failure(kind, Reply(text=["x"], only=300, then="hang"), timeout=0.05)
    assert (stuck.code, stuck.retryable) == ("LLM_TIMEOUT", True)
    broken = failure(kind, Reply(text=["x"], only=300, then="reset"))
    assert (broken.code, broken.retryable) == ("LLM_BAD_RESPONSE", True)
    hung_up = failure(kind, Reply(text=["x"], only=0, then="close"))
    assert (hung_up.code, hung_up.retryable) == ("LLM_HTTP_ERROR", True)


@pytest.mark.parametrize("kind", WIRES)
def test_no_error_shows_the_key(kind: type[HttpModel]) -> None:
    said = str(failure(kind, Reply(status=400, body=f'{{"error":{{"message":"bad {KEY} \x1b[31m"}}}}')))
    assert KEY not in said
    assert "\x1b" not in said


@pytest.mark.parametrize("kind", WIRES)
def test_no_error_shows_the_key_in_another_form(kind: type[HttpModel]) -> None:
    sent = f"Bearer {KEY}+/="
    for shown in (b64encode(sent.encode()).decode(), b64encode(KEY.encode()).decode(), quote(sent), KEY.encode().hex()):
        said = str(failure(kind, Reply(status=401, body=f'{{"error":{{"message":"refused: {shown}"}}}}')))
        assert "refused: " in said and "*" in said
        for form in forms(KEY):
            assert form not in said


STREAMED = [
    ({"error": {"message": "Overloaded", "type": "overloaded_error"}}, "LLM_HTTP_ERROR", True),
    ({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 2 > 1"}},
     "LLM_CONTEXT_OVERFLOW", False),
    ({"error": {"code": 400, "message": "The input token count (2) exceeds the maximum number of tokens allowed (1).",
                "status": "INVALID_ARGUMENT"}}, "LLM_CONTEXT_OVERFLOW", False),
    ({"error": {"code": "context_length_exceeded", "message": "Your input exceeds the context window of this model"}},
     "LLM_CONTEXT_OVERFLOW", False),
    ({"error": {"type": "server_error", "message": "litellm.ContextWindowExceededError: the context length"}},
     "LLM_CONTEXT_OVERFLOW", False),
    ({"error": {"code": "rate_limit_exceeded", "message": "slow down"}}, "LLM_RATE_LIMITED", True),
    ({"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}, "LLM_RATE_LIMITED", True),
    ({"error": {"code": "insufficient_quota", "message": "no more"}}, "LLM_RATE_LIMITED", False),
    ({"error": {"code": "invalid_api_key", "message": "no"}}, "LLM_AUTH_FAILED", False),
    ({"error": {"message": "the model `x` does not exist", "code": "model_not_found"}}, "LLM_HTTP_ERROR", False),
]  # fmt: skip


@pytest.mark.parametrize("kind", WIRES)
@pytest.mark.parametrize(("event", "code", "retryable"), STREAMED)
def test_an_error_inside_an_answer_that_began_well_has_its_code(
    kind: type[HttpModel], event: dict[str, Any], code: str, retryable: bool
) -> None:
    line = f"data: {json.dumps(event)}\n\n".encode()
    for body in ([line], [b": hello\n\n", line]):
        found = failure(kind, Reply(body=body))
        assert (found.code, found.retryable) == (code, retryable)
        assert found.hint


def test_the_responses_api_says_it_in_events_of_its_own() -> None:
    bare = {"type": "error", "code": "context_length_exceeded", "message": "too much", "param": None}
    failed = {"code": "server_error", "message": "The server had an error"}
    whole = {"type": "response.failed", "response": {"status": "failed", "error": failed}}
    for event, code in ((bare, "LLM_CONTEXT_OVERFLOW"), (whole, "LLM_HTTP_ERROR")):
        assert failure(Responses, Reply(body=[f"data: {json.dumps(event)}\n\n".encode()])).code == code


@pytest.mark.parametrize("kind", WIRES)
def test_a_web_page_in_the_place_of_an_answer_is_named_as_one(kind: type[HttpModel]) -> None:
    page = "<!DOCTYPE html><html><head><title>Corporate login</title></head></html>"
    for status in (200, 403):
        found = failure(kind, Reply(status=status, body=[page.encode()]))
        assert "a web page (Corporate login)" in found.message
        assert "models.local.base_url" in found.hint
        assert not found.retryable


def test_google_says_how_long_to_wait_among_the_details() -> None:
    waits = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
    body = google("Quota exceeded", 429, "RESOURCE_EXHAUSTED", {"@type": "x"}, waits)
    assert failure(GenerateContent, Reply(status=429, body=body)).retry_after == 34.5
    assert failure(GenerateContent, Reply(status=429, body=body, headers={"retry-after": "7"})).retry_after == 7.0
    listed = failure(GenerateContent, Reply(status=429, body=f"[{body}]"))
    assert (listed.code, listed.retry_after) == ("LLM_RATE_LIMITED", 34.5)


@pytest.mark.parametrize("kind", [ChatCompletions, AnthropicMessages])
def test_arguments_without_an_end_are_stopped_and_named(kind: type[HttpModel]) -> None:
    call = {"id": "a", "name": "Write", "arguments": '{"content":"' + "x" * (MOST_CHARACTERS + 100)}
    error = failure(kind, Reply(calls=[call], then="hang"))
    assert isinstance(error, ModelBadResponse) and not error.retryable
    assert error.message == (
        "the arguments of the calls in the model's reply are longer than 2,000,000 characters; it was stopped"
    )


@pytest.mark.parametrize("kind", WIRES)
def test_an_answer_of_too_many_bytes_is_stopped_though_it_says_nothing(kind: type[HttpModel]) -> None:
    reply = kind(ModelSettings("http://127.0.0.1:1/v1", MODEL), "key", "local")._reply(Request(MODEL, ()))
    chunk = (b": " + b"keep-alive " * 9_000 + b"\n\n") * 10
    with pytest.raises(ModelBadResponse, match="larger than 250,000,000 bytes; it was stopped"):
        for _ in range(MOST_BYTES // len(chunk) + 1):
            list(reply.feed(chunk))
