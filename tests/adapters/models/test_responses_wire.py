"""OpenAI's Responses API: items in, items kept and sent back unchanged, calls, usage, and what is not streamed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from quintet.adapters.models.responses import Responses
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
from tests.adapters.model_dialects import response_items
from tests.adapters.model_server import MODEL, ModelServer, Recorded, Reply

ASKED = Request(MODEL, (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "hello")))
USAGE = Usage(10, 5, 4)
WRITES = 2
CALLS = [{"id": "a", "name": "Read", "arguments": '{"p":1}'}, {"id": "b", "name": "Grep", "arguments": "{}"}]
WHOLE = Reply(thinking=["h", "m"], text=["Hello ", "you"], calls=CALLS)


def end_of(finish: Finish, usage: Usage = Usage(), cache_writes: int = 0) -> EndPart:
    """The end of a reply of the stand-in's, with what it calls its model and the reply."""
    return EndPart(finish, usage, cache_writes, MODEL, "resp_1")


def exchange(reply: Reply, request: Request = ASKED, **more: Any) -> tuple[list[Part], Recorded]:
    """All that comes of a reply but what is told while a call streams."""
    found, sent = streamed(reply, request, **more)
    return [part for part in found if not isinstance(part, CallBegunPart)], sent


def streamed(reply: Reply, request: Request = ASKED, **more: Any) -> tuple[list[Part], Recorded]:
    async def go() -> tuple[list[Part], Recorded]:
        async with ModelServer([reply]) as server:
            model = Responses(ModelSettings(server.base_url, MODEL, wire="responses", **more), "sk-1", "gpt")
            try:
                return [part async for part in model.stream(request)], server.requests[0]
            finally:
                await model.close()

    return asyncio.run(go())


def parts(reply: Reply, request: Request = ASKED) -> list[Part]:
    return exchange(reply, request)[0]


def test_a_reply_is_streamed_and_its_items_are_kept_as_they_came() -> None:
    kept = Original(f"responses:{MODEL}", json.dumps(response_items(WHOLE), separators=(",", ":")))
    assert parts(WHOLE) == [
        ThinkingPart("h"),
        ThinkingPart("m"),
        TextPart("Hello "),
        TextPart("you"),
        CallPart(ToolCall("a", "Read", '{"p":1}')),
        CallPart(ToolCall("b", "Grep", "{}")),
        OriginalPart(kept),
        end_of(Finish.TOOL_CALLS, USAGE, WRITES),
    ]


def test_a_reply_without_reasoning_is_not_kept_twice() -> None:
    assert parts(Reply(text=["x"])) == [TextPart("x"), end_of(Finish.STOP, USAGE, WRITES)]


def test_what_a_request_says() -> None:
    _, sent = exchange(Reply(text=["x"]))
    assert (sent.target, sent.headers["authorization"]) == ("/v1/responses", "Bearer sk-1")
    assert sent.body == {
        "model": MODEL,
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "hello"}]}],
    }


def test_items_go_back_unchanged_to_the_model_that_made_them_and_in_words_to_another() -> None:
    items = response_items(WHOLE)
    calls = (ToolCall("a", "Read", '{"p":1}'), ToolCall("b", "Grep", "{"))
    own = Original(f"responses:{MODEL}", json.dumps(items))
    for original, sent in (
        (own, items),
        (
            Original("responses:another", own.data),
            [
                {"role": "assistant", "content": "Hello you"},
                {"type": "function_call", "call_id": "a", "name": "Read", "arguments": '{"p":1}'},
                {"type": "function_call", "call_id": "b", "name": "Grep", "arguments": '{"invalid":"{"}'},
            ],
        ),
    ):
        said = Message(Role.ASSISTANT, "Hello you", calls, original=original)
        picture = Message(Role.TOOL, "seen", call_id="b", images=(Image("image/png", "AAAA"),))
        request = Request(MODEL, (*ASKED.messages, said, Message(Role.TOOL, "one", call_id="a"), picture))
        assert exchange(Reply(text=["x"]), request)[1].body["input"][1:] == [
            *sent,
            {"type": "function_call_output", "call_id": "a", "output": "one"},
            {
                "type": "function_call_output",
                "call_id": "b",
                "output": [
                    {"type": "input_text", "text": "seen"},
                    {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"},
                ],
            },
        ]


def test_a_call_id_that_was_used_before_is_a_new_one_in_the_kept_items_too() -> None:
    said = Message(Role.ASSISTANT, "", (ToolCall("a", "Read"),))
    request = Request(MODEL, (*ASKED.messages, said, Message(Role.TOOL, "one", call_id="a")))
    found = parts(WHOLE, request)
    called = [part.call.id for part in found if isinstance(part, CallPart)]
    assert called[0] != "a"
    (kept,) = [json.loads(part.original.data) for part in found if isinstance(part, OriginalPart)]
    assert [item["call_id"] for item in kept if item["type"] == "function_call"] == called


def test_tools_a_schema_and_what_may_not_be_called() -> None:
    tool = ToolSchema("Read", "Reads.", {"type": "object"})
    request = Request(MODEL, ASKED.messages, (tool,), tool_choice="none", json_schema={"type": "object"})
    _, sent = exchange(Reply(text=["x"]), request, max_tokens=99)
    named = {"name": "Read", "description": "Reads.", "parameters": {"type": "object"}}
    assert sent.body["tools"] == [{"type": "function", **named, "strict": False}]
    assert sent.body["tool_choice"] == "none"
    assert sent.body["max_output_tokens"] == 99
    wanted = {"type": "json_schema", "name": "reply", "schema": {"type": "object"}, "strict": False}
    assert sent.body["text"] == {"format": wanted}


@pytest.mark.parametrize(
    ("reason", "finish"), [("max_output_tokens", Finish.LENGTH), ("content_filter", Finish.REFUSED)]
)
def test_what_is_not_whole_is_not_kept(reason: str, finish: Finish) -> None:
    found = parts(Reply(thinking=["h"], text=["x"], finish=reason))
    assert found == [ThinkingPart("h"), TextPart("x"), end_of(finish, USAGE, WRITES)]


def test_a_refusal_is_said_and_nothing_is_acted_on() -> None:
    chunks = [
        {"type": "response.created"},
        {"type": "response.refusal.delta", "output_index": 0, "delta": "No."},
        {"type": "response.output_item.done", "output_index": 1, "item": {"type": "function_call", "name": "Read"}},
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    ]
    body = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
    assert parts(Reply(body=body)) == [TextPart("No."), EndPart(Finish.REFUSED)]


def test_a_whole_answer_in_one_piece_is_the_same() -> None:
    items = response_items(WHOLE)
    usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 5}
    whole = {"object": "response", "status": "completed", "output": items, "usage": usage}
    found = parts(Reply(body=json.dumps(whole)))
    assert [part for part in found if not isinstance(part, OriginalPart)] == [
        ThinkingPart("hm"),
        TextPart("Hello you"),
        CallPart(ToolCall("a", "Read", '{"p":1}')),
        CallPart(ToolCall("b", "Grep", "{}")),
        EndPart(Finish.TOOL_CALLS, USAGE),
    ]


def test_a_call_without_a_name_is_tried_again() -> None:
    item = {"type": "function_call", "call_id": "a", "arguments": "{}"}
    whole = {"object": "response", "status": "completed", "output": [item]}
    with pytest.raises(ModelError) as caught:
        parts(Reply(body=json.dumps(whole)))
    assert caught.value.retryable


def test_a_model_that_does_not_reason_is_not_asked_for_its_reasoning() -> None:
    async def go() -> Any:
        async with ModelServer([Reply(text=["x"])]) as server:
            model = Responses(ModelSettings(server.base_url, "gpt-4.1", effort="high"), "sk-1", "gpt")
            async for _ in model.stream(ASKED):
                pass
            await model.close()
            return server.requests[0].body

    assert not {"include", "reasoning"} & set(asyncio.run(go()))


def test_a_call_is_told_of_while_it_streams() -> None:
    about = '{"file_path": "x.py", "content": "y"}'
    item = {"type": "function_call", "call_id": "a", "name": "Write", "arguments": ""}
    pieces = [about[at : at + 5] for at in range(0, len(about), 5)]
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "summary": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": {"type": "reasoning", "summary": []}},
        {"type": "response.output_item.added", "output_index": 1, "item": item},
        *({"type": "response.function_call_arguments.delta", "output_index": 1, "delta": piece} for piece in pieces),
        {"type": "response.output_item.done", "output_index": 1, "item": {**item, "arguments": about}},
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    ]
    found, _ = streamed(Reply(body=[f"data: {json.dumps(event)}\n\n".encode() for event in events]))
    told = [CallBegunPart(0, "Write"), CallBegunPart(0, "Write", "x.py")]
    assert found[:2] == told
    assert [part for part in found[2:] if isinstance(part, CallBegunPart | CallPart)] == [
        CallPart(ToolCall("a", "Write", about))
    ]
