"""Google's own API: contents in, signatures kept and sent back unchanged, calls and their answers, usage."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from quintet.adapters.models.gemini import UNSIGNED, GenerateContent
from quintet.domain.base.errors import ModelError
from quintet.domain.settings.settings import ModelSettings
from quintet.domain.turn.messages import (
    CallBegunPart,
    CallPart,
    EndPart,
    Finish,
    Image,
    Message,
    Original,
    OriginalPart,
    Part,
    Request,
    Role,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolSchema,
    Usage,
)
from tests.adapters.model_dialects import THOUGHT_SIGNATURE
from tests.adapters.model_server import ModelServer, Recorded, Reply

NEW, OLD = "gemini-3.5-flash", "gemini-2.5-flash"
TALK = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "hello"))
USAGE = Usage(10, 5, 4)
CALLS = [{"id": "a", "name": "Read", "arguments": '{"p":1}'}, {"id": "b", "name": "Grep", "arguments": "{}"}]
WHOLE = Reply(thinking=["hm"], text=["Hello ", "you"], calls=CALLS)
KEPT = [
    {"text": "Hello you"},
    {"functionCall": {"name": "Read", "args": {"p": 1}, "id": "a"}, "thoughtSignature": THOUGHT_SIGNATURE},
    {"functionCall": {"name": "Grep", "args": {}, "id": "b"}},
]


def end_of(finish: Finish, usage: Usage = Usage(), cache_writes: int = 0) -> EndPart:
    """The end of a reply of the stand-in's, with what it calls its model and the reply."""
    return EndPart(finish, usage, cache_writes, "test-model")


def exchange(
    reply: Reply, request: Request | None = None, model: str = NEW, **more: Any
) -> tuple[list[Part], Recorded]:
    """All that comes of a reply but what is told while a call streams."""
    found, sent = streamed(reply, request, model, **more)
    return [part for part in found if not isinstance(part, CallBegunPart)], sent


def streamed(
    reply: Reply, request: Request | None = None, model: str = NEW, **more: Any
) -> tuple[list[Part], Recorded]:
    async def go() -> tuple[list[Part], Recorded]:
        async with ModelServer([reply]) as server:
            made = GenerateContent(ModelSettings(server.base_url, model, wire="gemini", **more), "AIza-1", "google")
            try:
                return [part async for part in made.stream(request or Request(model, TALK))], server.requests[0]
            finally:
                await made.close()

    return asyncio.run(go())


def test_a_reply_is_streamed_and_what_is_signed_is_kept_as_it_came() -> None:
    found, _ = exchange(WHOLE)
    (kept,) = [part.original for part in found if isinstance(part, OriginalPart)]
    assert (kept.origin, json.loads(kept.data)) == (f"gemini:{NEW}", KEPT)
    assert [part for part in found if not isinstance(part, OriginalPart)] == [
        ThinkingPart("hm"),
        TextPart("Hello "),
        TextPart("you"),
        CallPart(ToolCall("a", "Read", '{"p":1}')),
        CallPart(ToolCall("b", "Grep", "{}")),
        end_of(Finish.TOOL_CALLS, USAGE),
    ]


def test_a_signature_on_empty_words_is_kept_and_those_without_are_put_together() -> None:
    pieces = [{"text": "a"}, {"text": "b"}, {"text": "", "thoughtSignature": "s"}, {"text": "c"}]
    chunks = [{"candidates": [{"content": {"parts": [piece]}}]} for piece in pieces]
    chunks.append({"candidates": [{"finishReason": "STOP"}]})  # type: ignore[dict-item]
    found, _ = exchange(Reply(body=[f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]))
    (kept,) = [json.loads(part.original.data) for part in found if isinstance(part, OriginalPart)]
    assert kept == [{"text": "ab"}, {"text": "", "thoughtSignature": "s"}, {"text": "c"}]


def test_what_a_request_says() -> None:
    tool = ToolSchema("Read", "Reads.", {"type": "object"})
    request = Request(NEW, TALK, (tool,), stop=("END",), json_schema={"type": "object"})
    _, sent = exchange(Reply(text=["x"]), request, max_tokens=99)
    assert sent.target == f"/v1/models/{NEW}:streamGenerateContent?alt=sse"
    assert sent.headers["x-goog-api-key"] == "AIza-1"
    declared = {"name": "Read", "description": "Reads.", "parametersJsonSchema": {"type": "object"}}
    assert sent.body == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "hello"}]}],
        "tools": [{"functionDeclarations": [declared]}],
        "generationConfig": {
            "maxOutputTokens": 99,
            "stopSequences": ["END"],
            "thinkingConfig": {"includeThoughts": True},
            "responseMimeType": "application/json",
            "responseJsonSchema": {"type": "object"},
        },
    }
    none = Request(NEW, TALK, (tool,), tool_choice="none")
    assert exchange(Reply(text=["x"]), none)[1].body["toolConfig"] == {"functionCallingConfig": {"mode": "NONE"}}


def conversation(model: str, original: Original | None) -> Request:
    calls = (ToolCall("a", "Read", '{"p":1}'), ToolCall("b", "Grep", "{"))
    picture = Message(Role.TOOL, "seen", call_id="a", images=(Image("image/png", "AAAA"),))
    said = Message(Role.ASSISTANT, "Hello you", calls, original=original)
    return Request(model, (*TALK, said, picture, Message(Role.TOOL, "two", call_id="b"), Message(Role.USER, "on")))


def test_what_was_signed_goes_back_unchanged_and_answers_name_their_calls() -> None:
    request = conversation(NEW, Original(f"gemini:{NEW}", json.dumps(KEPT)))
    inline = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    assert exchange(Reply(text=["x"]), request)[1].body["contents"][1:] == [
        {"role": "model", "parts": KEPT},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "Read", "id": "a", "response": {"output": "seen"}, "parts": [inline]}},
                {"functionResponse": {"name": "Grep", "id": "b", "response": {"output": "two"}}},
                {"text": "on"},
            ],
        },
    ]


@pytest.mark.parametrize("model", [NEW, OLD])
def test_another_models_calls_are_told_in_this_ones_way(model: str) -> None:
    request = conversation(model, Original("anthropic:x", "[]"))
    said, answered = exchange(Reply(text=["x"]), request, model)[1].body["contents"][1:]
    signed = {"thoughtSignature": UNSIGNED} if model == NEW else {}
    assert said["parts"] == [
        {"text": "Hello you"},
        {"functionCall": {"name": "Read", "args": {"p": 1}}, **signed},
        {"functionCall": {"name": "Grep", "args": {"invalid": "{"}}},
    ]
    inline = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    first = {"name": "Read", "response": {"output": "seen"}}
    second = {"functionResponse": {"name": "Grep", "response": {"output": "two"}}}
    if model == NEW:
        first["parts"] = [inline]  # type: ignore[assignment]
        assert answered["parts"] == [{"functionResponse": first}, second, {"text": "on"}]
    else:
        assert answered["parts"] == [{"functionResponse": first}, second, inline, {"text": "on"}]


@pytest.mark.parametrize(
    ("said", "finish"),
    [("STOP", Finish.STOP), ("MAX_TOKENS", Finish.LENGTH), ("SAFETY", Finish.REFUSED), ("RECITATION", Finish.REFUSED)],
)
def test_finish(said: str, finish: Finish) -> None:
    assert exchange(Reply(text=["x"], finish=said))[0] == [TextPart("x"), end_of(finish, USAGE)]


@pytest.mark.parametrize("said", ["MALFORMED_FUNCTION_CALL", "OTHER", "MISSING_THOUGHT_SIGNATURE"])
def test_a_reply_that_went_wrong_over_there_is_tried_again(said: str) -> None:
    with pytest.raises(ModelError) as caught:
        exchange(Reply(text=["x"], finish=said))
    assert (caught.value.code, caught.value.retryable) == ("LLM_BAD_RESPONSE", True)


def test_a_prompt_that_is_blocked_is_a_refusal() -> None:
    chunk = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 7}}
    body = [f"data: {json.dumps(chunk)}\n\n".encode()]
    assert exchange(Reply(body=body))[0] == [EndPart(Finish.REFUSED, Usage(7))]


def test_a_call_is_told_of_as_soon_as_it_is_there() -> None:
    calls = [
        {"id": "a", "name": "Write", "arguments": '{"file_path":"x.py","content":"y"}'},
        {"id": "b", "name": "bash", "arguments": '{"command":"ls"}'},
    ]
    found, _ = streamed(Reply(text=["first"], calls=calls))
    begun = [part for part in found if isinstance(part, CallBegunPart)]
    assert begun == [
        CallBegunPart(0, "Write"),
        CallBegunPart(0, "Write", "x.py"),
        CallBegunPart(1, "bash"),
        CallBegunPart(1, "bash", "ls"),
    ]
    assert found.index(begun[-1]) < found.index(CallPart(ToolCall("a", "Write", calls[0]["arguments"])))
