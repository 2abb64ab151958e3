"""What a server's refusals mean, for both wires: statuses and bodies in, the code, the retry and the wait out."""

from __future__ import annotations

import asyncio
import json
from email.utils import formatdate
from time import time
from typing import Any

import pytest

from quintet.adapters.models.anthropic import AnthropicMessages
from quintet.adapters.models.chat_completions import ChatCompletions
from quintet.adapters.models.http_model import HttpModel
from quintet.domain.base.errors import ModelError
from quintet.domain.settings.settings import ModelSettings
from quintet.domain.turn.messages import Message, Request, Role
from tests.adapters.model_server import MODEL, ModelServer, Reply

KEY = "sk-very-secret-key"


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


TABLE = [
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
    (529, anthropic("Overloaded", "overloaded_error"), "LLM_HTTP_ERROR", True, ""),
]


@pytest.mark.parametrize("kind", [ChatCompletions, AnthropicMessages])
@pytest.mark.parametrize(("status", "body", "code", "retryable", "hint"), TABLE)
def test_s2_a_refusal_has_its_code(
    kind: type[HttpModel], status: int, body: str, code: str, retryable: bool, hint: str
) -> None:
    found = failure(kind, Reply(status=status, body=body, framing="length"))
    assert (found.code, found.retryable) == (code, retryable)
    assert hint in found.hint
    assert f"HTTP {status}" in found.message


@pytest.mark.parametrize("kind", [ChatCompletions, AnthropicMessages])
def test_how_long_to_wait_is_taken_from_the_server(kind: type[HttpModel]) -> None:
    for status in (429, 503, 529):
        assert failure(kind, Reply(status=status, body="{}", headers={"retry-after": "7"})).retry_after == 7.0
    date = formatdate(time() + 60, usegmt=True)
    waited = failure(kind, Reply(status=429, body="{}", headers={"retry-after": date})).retry_after
    assert waited is not None
    assert 50 < waited <= 61
    assert failure(kind, Reply(status=429, body="{}", headers={"retry-after": "soon"})).retry_after is None


@pytest.mark.parametrize("kind", [ChatCompletions, AnthropicMessages])
def test_s2_silence_and_a_broken_stream_have_their_codes(kind: type[HttpModel]) -> None:
    silent = failure(kind, Reply(text=["x"], only=0, then="hang"), timeout=0.05)
    assert (silent.code, silent.retryable) == ("LLM_TIMEOUT", True)
    stuck = failure(kind, Reply(text=["x"], only=300, then="hang"), timeout=0.05)
    assert (stuck.code, stuck.retryable) == ("LLM_TIMEOUT", True)
    broken = failure(kind, Reply(text=["x"], only=300, then="reset"))
    assert (broken.code, broken.retryable) == ("LLM_BAD_RESPONSE", True)
    hung_up = failure(kind, Reply(text=["x"], only=0, then="close"))
    assert (hung_up.code, hung_up.retryable) == ("LLM_HTTP_ERROR", True)


@pytest.mark.parametrize("kind", [ChatCompletions, AnthropicMessages])
def test_no_error_shows_the_key(kind: type[HttpModel]) -> None:
    said = str(failure(kind, Reply(status=400, body=f'{{"error":{{"message":"bad {KEY} \x1b[31m"}}}}')))
    assert KEY not in said
    assert "\x1b" not in said
