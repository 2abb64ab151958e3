"""The chat completions wire against a real server on loopback: what is sent, shapes of answers, ways to fail."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Sequence
from email.utils import formatdate
from pathlib import Path
from time import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.adapters.http import server_events
from quintet.adapters.models import http_model
from quintet.adapters.models.chat_completions import ChatCompletions
from quintet.domain.base.errors import (
    ModelAuthFailed,
    ModelBadResponse,
    ModelContextOverflow,
    ModelError,
    ModelHttpError,
    ModelRateLimited,
    ModelTimeout,
    ModelUnreachable,
)
from quintet.domain.settings.settings import ModelSettings
from quintet.domain.turn.messages import (
    CallBegunPart,
    CallPart,
    EndPart,
    Finish,
    Image,
    Message,
    Original,
    Part,
    Request,
    Role,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolSchema,
    Usage,
)
from tests.adapters import model_server
from tests.adapters.model_server import MODEL, ModelServer, Reply, answer, events

KEY = "sk-very-secret-key"
ASKED = Request(MODEL, (Message(Role.USER, "hello"),))
USAGE = Usage(10, 5, 4)
DONE = b"data: [DONE]\n\n"


def end_of(finish: Finish, usage: Usage = Usage(), cache_writes: int = 0) -> EndPart:
    """The end of a reply of the stand-in's, with what it calls its model and the reply."""
    return EndPart(finish, usage, cache_writes, MODEL, "1")


@contextlib.asynccontextmanager
async def model_at(base_url: str, key: str = KEY, key_env: str = "TEST_KEY") -> AsyncIterator[ChatCompletions]:
    model = ChatCompletions(ModelSettings(base_url, MODEL, key_env, timeout=60.0), key, "local")
    try:
        yield model
    finally:
        await model.close()


async def parts_from(model: ChatCompletions, request: Request = ASKED) -> list[Part]:
    """What a reply comes to; what is shown of calls meanwhile is apart."""
    return [part async for part in model.stream(request) if not isinstance(part, CallBegunPart)]


def parts(reply: Reply, request: Request = ASKED) -> list[Part]:
    async def go() -> list[Part]:
        async with ModelServer([reply]) as server, model_at(server.base_url) as model:
            return await parts_from(model, request)

    return asyncio.run(go())


def error(reply: Reply, **options: str) -> ModelError:
    async def go() -> ModelError:
        async with ModelServer([reply]) as server, model_at(server.base_url, **options) as model:
            with pytest.raises(ModelError) as caught:
                await parts_from(model)
            assert KEY not in str(caught.value)
            return caught.value

    return asyncio.run(go())


def streamed(*chunks: Any, done: bool = True) -> Reply:
    """A stream of chunks, each one object of JSON."""
    return Reply(body=[*(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks), *([DONE] if done else [])])


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def called(index: int | None, id_: str = "", name: str = "", arguments: Any = "") -> dict[str, Any]:
    fragment: dict[str, Any] = {"function": {"arguments": arguments}}
    fragment |= {} if index is None else {"index": index}
    fragment |= {"id": id_} if id_ else {}
    fragment["function"] |= {"name": name} if name else {}
    return fragment


def calls_of(found: Sequence[Part]) -> list[tuple[str, str, str]]:
    return [(part.call.id, part.call.name, part.call.arguments) for part in found if isinstance(part, CallPart)]


def test_text_comes_as_it_is_streamed() -> None:
    assert parts(Reply(text=["Hel", "lo ", "wörld 🌍"])) == [
        TextPart("Hel"),
        TextPart("lo "),
        TextPart("wörld 🌍"),
        end_of(Finish.STOP, USAGE),
    ]


def test_text_is_handed_on_before_the_reply_ends() -> None:
    async def go() -> None:
        first = answer(Reply(text=["one"])).index(b"one") + 50  # and a little of what follows
        async with (
            ModelServer([Reply(text=["one"], only=first, then="hang")]) as server,
            model_at(server.base_url) as model,
        ):
            stream = model.stream(ASKED)
            assert await asyncio.wait_for(anext(stream), 60) == TextPart("one")
            await stream.aclose()  # type: ignore[attr-defined]
            await asyncio.wait_for(server.all_closed(), 60)

    asyncio.run(go())


def test_thinking_under_both_its_names() -> None:
    assert parts(Reply(thinking=["hm"], text=["so"]))[:2] == [ThinkingPart("hm"), TextPart("so")]
    both = streamed(delta(reasoning="hm", reasoning_content="hm"), delta("stop", content="so"))
    assert parts(both)[:2] == [ThinkingPart("hm"), TextPart("so")]


def test_tool_calls_in_fragments_and_in_parallel() -> None:
    calls = [{"id": "a", "name": "Read", "arguments": '{"path":"x"}'}, {"id": "b", "name": "Grep", "arguments": "{}"}]
    assert parts(Reply(text=["first"], calls=calls)) == [
        TextPart("first"),
        CallPart(ToolCall("a", "Read", '{"path":"x"}')),
        CallPart(ToolCall("b", "Grep", "{}")),
        end_of(Finish.TOOL_CALLS, USAGE),
    ]


def test_fragments_of_parallel_calls_may_be_mixed_and_come_out_of_order() -> None:
    reply = streamed(
        delta(tool_calls=[called(1, "b", "Grep", '{"q"')]),
        delta(tool_calls=[called(0, "a", "Read", '{"p"'), called(1, arguments=":1}")]),
        delta(tool_calls=[called(0, arguments=":2}")]),
        delta("tool_calls"),
    )
    assert calls_of(parts(reply)) == [("a", "Read", '{"p":2}'), ("b", "Grep", '{"q":1}')]


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param([[called(0, "a", "Read", '{"p":1}')]], [("a", "Read", '{"p":1}')], id="at once"),
        pytest.param([[called(0, "a", "Read", {"p": 1})]], [("a", "Read", '{"p":1}')], id="arguments as an object"),
        pytest.param([[called(0, "a", "Read", None)]], [("a", "Read", "{}")], id="no arguments"),
        pytest.param([[called(0, "", "Read", "{}")]], [("call_1_0", "Read", "{}")], id="no id"),
        pytest.param(
            [[called(0, "a", "Read", '{"p"')], [called(0, "a", "Read", ":1}")], [called(0, "a", "Read")]],
            [("a", "Read", '{"p":1}')],
            id="id and name repeated",
        ),
        pytest.param(
            [[called(0, "", "Read", '{"p"')], [called(0, "", "Read", ":1}")], [called(0, "", "Read")]],
            [("call_1_0", "Read", '{"p":1}')],
            id="name repeated without an id",
        ),
        pytest.param(
            [[called(0, "a", "Read", "{}")], [called(0, "b", "Grep", '{"q"')], [called(0, arguments=":1}")]],
            [("a", "Read", "{}"), ("b", "Grep", '{"q":1}')],
            id="all of index 0, by id",
        ),
        pytest.param(
            [[called(0, "", "Read", '{"p":1}')], [called(0, "", "Read", '{"p":2}')]],
            [("call_1_0", "Read", '{"p":1}'), ("call_1_1", "Read", '{"p":2}')],
            id="all of index 0, without ids",
        ),
        pytest.param(
            [[called(None, "a", "Read", "{}"), called(None, "b", "Grep", "{}")]],
            [("a", "Read", "{}"), ("b", "Grep", "{}")],
            id="no index",
        ),
        pytest.param(
            [[called(0, "a", "Read", "{}"), called(1, "a", "Grep", "{}")]],
            [("a", "Read", "{}"), ("call_1_1", "Grep", "{}")],
            id="one id twice",
        ),
    ],
)
def test_calls_as_servers_send_them(chunks: list[Any], expected: list[tuple[str, str, str]]) -> None:
    found = parts(streamed(*(delta(tool_calls=fragments) for fragments in chunks), delta("stop")))
    assert calls_of(found) == expected
    assert found[-1] == EndPart(Finish.TOOL_CALLS)


def test_a_call_id_is_new_to_the_conversation() -> None:
    before = Message(Role.ASSISTANT, calls=(ToolCall("call_0", "Read"), ToolCall("call_2_0", "Read")))
    request = Request(MODEL, (Message(Role.USER, "go"), before))
    assert calls_of(parts(Reply(calls=[{"id": "call_0", "name": "Read"}]), request)) == [("call_2_0_", "Read", "{}")]


def test_a_call_cut_by_the_length_does_not_look_whole() -> None:
    found = parts(streamed(delta(tool_calls=[called(0, "a", "Delete")]), delta("length")))
    assert calls_of(found) == [("a", "Delete", "")]
    assert found[-1] == EndPart(Finish.LENGTH)


@pytest.mark.parametrize(
    ("said", "finish"),
    [
        ("stop", Finish.STOP),
        ("length", Finish.LENGTH),
        ("content_filter", Finish.REFUSED),
        ("tool_calls", Finish.TOOL_CALLS),
        ("eos", Finish.STOP),
    ],
)
def test_finish(said: str, finish: Finish) -> None:
    assert parts(Reply(text=["x"], finish=said)) == [TextPart("x"), end_of(finish, USAGE)]


def test_what_a_filter_cut_down_is_not_acted_on() -> None:
    found = parts(Reply(text=["no"], calls=[{"id": "a", "name": "Read"}], finish="content_filter"))
    assert found == [TextPart("no"), end_of(Finish.REFUSED, USAGE)]


@pytest.mark.parametrize(
    ("sent", "usage"),
    [
        (None, Usage()),
        ({}, Usage()),
        ({"prompt_tokens": 3, "completion_tokens": 4}, Usage(3, 4)),
        ({"prompt_tokens": 3, "completion_tokens": 4, "prompt_tokens_details": None}, Usage(3, 4)),
        ({"prompt_tokens": "many", "completion_tokens": -4, "prompt_tokens_details": [1]}, Usage()),
    ],
)
def test_usage(sent: dict[str, Any] | None, usage: Usage) -> None:
    assert parts(Reply(text=["x"], usage=sent))[-1] == end_of(Finish.STOP, usage)


@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
def test_a_plain_json_answer(framing: str) -> None:
    message = {
        "role": "assistant",
        "content": "so",
        "reasoning_content": "hm",
        "tool_calls": [called(None, "a", "Read", "{}"), called(None, "b", "Grep", '{"q":1}')],
    }
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": model_server.USAGE}
    assert parts(Reply(body="\n\n " + json.dumps(body, indent=1), framing=framing)) == [
        ThinkingPart("hm"),
        TextPart("so"),
        CallPart(ToolCall("a", "Read", "{}")),
        CallPart(ToolCall("b", "Grep", '{"q":1}')),
        EndPart(Finish.TOOL_CALLS, USAGE),
    ]


@pytest.mark.parametrize(
    "body",
    [
        b'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}',
        b'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]',
        b'data: {"choices":[{"delta":{"content":"x"}}]}\n\ndata: [DONE]',
        b': hi\n\nid: 1\r\ndata: {"choices":\r\ndata:[{"delta":{"content":"x"}}]}\r\n\r\ndata: [DONE] \n\ndata: x\n\n',
    ],
)
def test_ends_that_count(body: bytes) -> None:
    assert parts(Reply(body=[body])) == [TextPart("x"), EndPart(Finish.STOP)]


def test_what_is_sent() -> None:
    request = Request(
        MODEL,
        (
            Message(Role.SYSTEM, "be good"),
            Message(Role.USER, "hello"),
            Message(Role.ASSISTANT, "", (ToolCall("a", "Read", '{"path":"x"}'), ToolCall("b", "Grep", '{"q"'))),
            Message(Role.TOOL, "content", call_id="a"),
            Message(Role.TOOL, "bad \ud800 text", call_id="b"),
            Message(Role.ASSISTANT, "done"),
        ),
        (ToolSchema("Read", "reads", {"type": "object"}),),
        {"temperature": 0},
    )

    async def go() -> None:
        async with ModelServer([Reply(text=["x"])]) as server, model_at(server.base_url + "/") as model:
            await parts_from(model, request)
            await parts_from(model)
            first, second = server.requests
            assert first.target == "/v1/chat/completions"
            assert first.headers["authorization"] == f"Bearer {KEY}"
            assert first.headers["content-type"] == "application/json"
            calls = [
                {"id": "a", "type": "function", "function": {"name": "Read", "arguments": '{"path":"x"}'}},
                {"id": "b", "type": "function", "function": {"name": "Grep", "arguments": '{"invalid":"{\\"q\\""}'}},
            ]
            assert first.body == {
                "model": MODEL,
                "temperature": 0,
                "stream": True,
                "stream_options": {"include_usage": True},
                "messages": [
                    {"role": "system", "content": "be good"},
                    {"role": "user", "content": "hello"},
                    {"role": "assistant", "content": None, "tool_calls": calls},
                    {"role": "tool", "content": "content", "tool_call_id": "a"},
                    {"role": "tool", "content": "bad ? text", "tool_call_id": "b"},
                    {"role": "assistant", "content": "done"},
                ],
                "tools": [
                    {
                        "type": "function",
                        "function": {"name": "Read", "description": "reads", "parameters": {"type": "object"}},
                    }
                ],
            }
            assert "tools" not in second.body
            assert server.connections == 1

    asyncio.run(go())


def sent(request: Request, proxied: pytest.MonkeyPatch | None = None, **more: Any) -> dict[str, Any]:
    """The body of a request; where it may be proxied it goes to OpenAI's own address, with our server for a proxy."""

    async def go() -> dict[str, Any]:
        async with ModelServer([Reply(text=["x"])]) as server:
            base_url = "http://api.openai.com/v1" if proxied else server.base_url
            if proxied:
                proxied.setenv("http_proxy", f"http://127.0.0.1:{server.port}")
                proxied.setenv("no_proxy", "elsewhere.test")
            model = ChatCompletions(ModelSettings(base_url, MODEL, **more), KEY, "local")
            try:
                await parts_from(model, request)
            finally:
                await model.close()
            body: dict[str, Any] = server.requests[0].body
            return body

    return asyncio.run(go())


def test_images_in_what_is_said_and_after_the_results_of_a_step() -> None:
    picture = Image("image/png", "aGk=")
    shown = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    looking = Message(Role.ASSISTANT, calls=(ToolCall("a", "Look"), ToolCall("b", "Look")))
    results = (Message(Role.TOOL, "one", call_id="a", images=(picture,)), Message(Role.TOOL, "two", call_id="b"))
    request = Request(MODEL, (Message(Role.USER, "what is this?", images=(picture,)), looking, *results))
    after = {"role": "user", "content": [{"type": "text", "text": "Images of these results:"}, shown]}
    said, _, *rest = sent(request)["messages"]
    assert said["content"] == [{"type": "text", "text": "what is this?"}, shown]
    assert [message["role"] for message in rest] == ["tool", "tool", "user"]
    assert rest[2] == after
    later = Request(MODEL, (*request.messages, Message(Role.ASSISTANT, "a cat")))
    assert sent(later)["messages"][-2:] == [after, {"role": "assistant", "content": "a cat"}]


def test_options_of_a_request() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    tools = (ToolSchema("Read", "reads", {"type": "object"}),)
    body = sent(Request(MODEL, ASKED.messages, tools, tool_choice="none", stop=("END",), json_schema=schema))
    assert body["tool_choice"] == "none"
    assert body["tools"]
    assert body["stop"] == ["END"]
    wanted = {"name": "reply", "schema": schema}
    assert body["response_format"] == {"type": "json_schema", "json_schema": wanted}
    assert not {"tool_choice", "stop", "response_format", "max_tokens"} & set(sent(ASKED))


def test_the_longest_reply_under_the_name_each_server_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sent(ASKED, max_tokens=900)["max_tokens"] == 900
    own = sent(ASKED, monkeypatch, max_tokens=900)
    assert (own.get("max_tokens"), own["max_completion_tokens"]) == (None, 900)


def test_a_refusal_is_said_and_nothing_of_it_is_acted_on() -> None:
    call = called(0, "a", "Read", "{}")
    reply = streamed(delta(refusal="I will "), delta(refusal="not."), delta("stop", tool_calls=[call]))
    assert parts(reply) == [TextPart("I will "), TextPart("not."), EndPart(Finish.REFUSED)]


def test_a_reply_that_another_wire_kept_is_sent_by_its_words() -> None:
    kept = Message(Role.ASSISTANT, "so", original=Original("anthropic:x", "[]"))
    assert sent(Request(MODEL, (Message(Role.USER, "hi"), kept)))["messages"][1] == {
        "role": "assistant",
        "content": "so",
    }


def test_a_server_without_a_key() -> None:
    async def go() -> None:
        async with ModelServer([Reply(text=["x"])]) as server, model_at(server.base_url, key="") as model:
            assert model.name == MODEL
            await parts_from(model)
            assert "authorization" not in server.requests[0].headers

    asyncio.run(go())


@pytest.mark.parametrize("key", ["sk-ä", "a\nb"])
def test_a_key_that_cannot_be_sent(key: str) -> None:
    found = error(Reply(text=["x"]), key=key)
    assert isinstance(found, ModelAuthFailed)
    assert key not in str(found)
    assert "TEST_KEY" in found.hint


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (301, ModelHttpError, False),
        (400, ModelHttpError, False),
        (401, ModelAuthFailed, False),
        (403, ModelAuthFailed, False),
        (404, ModelHttpError, False),
        (408, ModelTimeout, True),
        (413, ModelContextOverflow, False),
        (429, ModelRateLimited, True),
        (500, ModelHttpError, True),
        (502, ModelHttpError, True),
        (503, ModelHttpError, True),
        (504, ModelTimeout, True),
        (529, ModelHttpError, True),
    ],
)
@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
def test_statuses(status: int, kind: type[ModelError], retryable: bool, framing: str) -> None:
    body = json.dumps({"error": {"message": "the server's words", "type": "x", "code": None}})
    found = error(Reply(status=status, body=body, framing=framing))
    assert type(found) is kind
    assert found.retryable is retryable
    assert found.message == f"the model server answered HTTP {status}: the server's words"
    assert not isinstance(found, ModelHttpError) or found.status == status


def test_every_error_says_what_to_do() -> None:
    assert error(Reply(status=401, body="{}")).hint == "check the key in TEST_KEY"
    assert "models.local.api_key_env" in error(Reply(status=403, body="{}"), key_env="").hint
    assert error(Reply(status=404, body="{}")).hint == "check models.local.base_url and models.local.model"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"error":"flat"}', "flat"),
        ('{"message":"top"}', "top"),
        ('{"detail":[{"message":"listed"}]}', "listed"),
        ('[{"error":{"message":"in a list"}}]', "in a list"),
        ('{"error":{"message":{"deep":1}}}', '{"error":{"message":{"deep":1}}}'),
        ("plain\n text\x1b[31m", "plain text [31m"),
        ("", ""),
        ("x" * 1000, "x" * 200),
        (f'{{"error":"wrong key {KEY}"}}', "wrong key ***"),
        ("x" * 190 + KEY, "x" * 190 + "***"),
    ],
)
def test_the_words_of_the_server(body: str, said: str) -> None:
    assert error(Reply(status=400, body=body)).message == "the model server answered HTTP 400" + (
        f": {said}" if said else ""
    )


def test_an_error_body_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_model, "ERROR_BODY_SECONDS", 0.05)
    found = error(Reply(status=400, body="x" * 1000, only=200, then="hang"))
    assert type(found) is ModelHttpError
    assert "xxx" in found.message
    assert type(error(Reply(status=400, body="x" * 1000, only=200, then="close"))) is ModelHttpError


def test_retry_after_in_both_forms() -> None:
    assert error(Reply(status=429, body="{}", headers={"retry-after": "7"})).retry_after == 7.0
    assert error(Reply(status=503, body="{}", headers={"Retry-After": "2"})).retry_after == 2.0
    dated = error(Reply(status=429, body="{}", headers={"retry-after": formatdate(time() + 60, usegmt=True)}))
    assert dated.retry_after is not None
    assert 50 < dated.retry_after <= 61
    assert error(Reply(status=429, body="{}")).retry_after is None


@pytest.mark.parametrize(
    ("chunk", "kind", "retryable"),
    [
        ({"error": {"message": "its words", "code": 502}}, ModelHttpError, True),
        ({"error": {"message": "its words", "code": 429}, "choices": []}, ModelRateLimited, True),
        ({"error": {"message": "its words", "code": "bad_thing"}}, ModelHttpError, False),
        ({"error": {"message": "its words", "type": "server_error", "code": None}}, ModelHttpError, True),
        ({"error": "its words"}, ModelHttpError, False),
        ({"choices": [{"error": {"message": "its words"}, "finish_reason": "error"}]}, ModelHttpError, False),
    ],
)
def test_an_error_inside_the_stream(chunk: dict[str, Any], kind: type[ModelError], retryable: bool) -> None:
    for reply in (streamed(delta(content="so far"), chunk), Reply(body=json.dumps(chunk))):
        found = error(reply)
        assert (type(found), found.retryable) == (kind, retryable)
        assert "its words" in found.message


def test_a_finish_that_is_an_error() -> None:
    found = error(streamed(delta("error", content="so far")))
    assert isinstance(found, ModelBadResponse)
    assert found.retryable


@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE html><html><body>Welcome</body></html>\n\n",
        b"\x00\x01\xff\xfe\x1f\x8b binary \r\n\r\n",
        b"{}",
        b"[]",
        b"{",
        b"[" * 100_000,
        b'{"choices":{}}',
        b'{"choices":[]}',
        b'{"choices":[3]}',
        b'{"choices":[{"message":"text"}]}',
        b'{"choices":[{"message":{"tool_calls":[{"function":{"arguments":"{}"}}]}}]}',
        b'{"choices":[{"message":{"tool_calls":[7]}}]}',
        b"data: {}\n\ndata: [DONE]\n\n",
        b"data: [DONE]\n\n",
        b"data: 5\n\ndata: [DONE]\n\n",
        b"data: nonsense\n\ndata: [DONE]\n\n",
        b'data: {"choices":[{"delta":[]}]}\n\ndata: [DONE]\n\n',
        b'data: {"choices":null,"usage":[]}\n\ndata: [DONE]\n\n',
        b"",
        b"\n\n\n",
    ],
)
def test_rubbish(body: bytes) -> None:
    for framing in ("length", "close"):
        assert isinstance(error(Reply(body=body, framing=framing)), ModelBadResponse)


def test_odd_shapes_inside_a_reply_are_passed_over() -> None:
    odd = {"choices": [{"delta": {"content": 5, "reasoning": {}, "tool_calls": {}, "role": None}, "finish_reason": 7}]}
    assert parts(streamed(odd, {"choices": [], "x": 1}, delta("stop", content="x"))) == [
        TextPart("x"),
        EndPart(Finish.STOP),
    ]


def test_rubbish_is_shown_without_the_key() -> None:
    found = error(Reply(body=[f"<rubbish>{KEY} \x1b[31m".encode()]))
    assert found.message == "the model server's answer contains no reply; it begins '<rubbish>*** [31m'"
    assert not found.retryable


def test_an_answer_without_end_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_events, "MAX_EVENT_BYTES", 1000)
    assert "too long" in error(Reply(body="{" + " " * 10_000)).message


def test_a_stream_that_ends_too_early() -> None:
    found = error(streamed(delta(content="half"), done=False))
    assert isinstance(found, ModelBadResponse)
    assert found.retryable


def test_not_http_and_refused_and_silent() -> None:
    assert isinstance(error(Reply(raw="SSH-2.0-OpenSSH\r\n")), ModelBadResponse)
    assert isinstance(error(Reply(only=0, then="close")), ModelUnreachable)

    async def go() -> None:
        async with ModelServer([Reply(text=["x"], only=0, then="hang")]) as server:
            quick = ModelSettings(server.base_url, MODEL, timeout=0.05)
            with pytest.raises(ModelTimeout):
                await parts_from(ChatCompletions(quick, KEY, "local"))
        with pytest.raises(ModelUnreachable, match=f"127.0.0.1:{server.port}"):
            await parts_from(ChatCompletions(quick, KEY, "local"))

    asyncio.run(go())


def test_cancellation_closes_the_socket() -> None:
    async def go() -> None:
        hanging = Reply(text=["x"] * 3, only=600, then="hang")
        async with ModelServer([hanging]) as server, model_at(server.base_url) as model:
            task = asyncio.create_task(parts_from(model))
            await server.asked.wait()
            await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(server.all_closed(), 60)

    asyncio.run(go())


def test_a_server_that_holds_the_connection_after_the_end_does_not_hold_us() -> None:
    async def go() -> None:
        whole = answer(Reply(text=["x"]))
        held = Reply(raw=whole[: -len(b"0\r\n\r\n")], then="hang")
        async with ModelServer([held]) as server, model_at(server.base_url) as model:
            assert await asyncio.wait_for(parts_from(model), 50) == [TextPart("x"), end_of(Finish.STOP, USAGE)]

    asyncio.run(go())


RECORDED = Reply(
    thinking=["hm"],
    text=["Grüße ", "🌍"],
    calls=[{"id": "a", "name": "Read", "arguments": '{"p":"ü"}'}, {"id": "b", "name": "Grep", "arguments": "{}"}],
)
WHOLE = [
    ThinkingPart("hm"),
    TextPart("Grüße "),
    TextPart("🌍"),
    CallPart(ToolCall("a", "Read", '{"p":"ü"}')),
    CallPart(ToolCall("b", "Grep", "{}")),
    end_of(Finish.TOOL_CALLS, USAGE),
]


@pytest.mark.parametrize("framing", ["chunked", "close"])
def test_a_reply_cut_at_any_byte_is_whole_or_an_error(framing: str) -> None:
    """Where the close is the end of the body, a finish_reason is the terminal marker, and the usage may be missing."""
    calls = [{"id": "a", "name": "Read", "arguments": '{"p":"ü"}'}]
    expected = [TextPart("🌍"), CallPart(ToolCall("a", "Read", '{"p":"ü"}'))]
    raw = answer(Reply(text=["🌍"], calls=calls, framing=framing))
    marker = b'"finish_reason":"tool_calls"' if framing == "close" else b"[DONE]"
    marked = raw.index(marker) + len(marker)

    async def go() -> None:
        whole = 0
        cuts = [Reply(raw=raw[:cut], then="close") for cut in range(len(raw))]
        async with ModelServer(cuts) as server, model_at(server.base_url) as model:
            for cut in range(len(raw)):
                try:
                    found = await parts_from(model)
                except ModelError as failed:
                    assert failed.retryable, cut
                    continue
                assert cut >= marked, cut
                assert found[:-1] == expected
                assert found[-1] in (end_of(Finish.TOOL_CALLS, USAGE), end_of(Finish.TOOL_CALLS)), cut
                whole += 1
        assert whole

    asyncio.run(go())


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_chunking_gives_the_same_parts(data: st.DataObject) -> None:
    ends = data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    stream = b": comment\n\n".join(events(RECORDED)).replace(b"\n", ends)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(stream) - 1), max_size=40)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert parts(Reply(body=pieces)) == WHOLE


def test_one_byte_at_a_time() -> None:
    stream = b"".join(events(RECORDED))
    assert parts(Reply(body=[stream[at : at + 1] for at in range(len(stream))])) == WHOLE


def test_the_server_as_a_process(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"text": "one"}, {"calls": [{"id": "a", "name": "Read"}]}]))
    command = [sys.executable, str(Path(model_server.__file__)), str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout
            base = f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}"

            async def go() -> list[list[Part]]:
                async with model_at(f"{base}/v1") as model:
                    return [await parts_from(model) for _ in range(3)]

            first, second, third = asyncio.run(go())
            assert first[0] == TextPart("one")
            assert second == third == [CallPart(ToolCall("a", "Read", "{}")), end_of(Finish.TOOL_CALLS, USAGE)]
            with urllib.request.urlopen(f"{base}/requests") as record:
                assert [request["body"]["model"] for request in json.load(record)] == [MODEL] * 3
        finally:
            process.terminate()


def test_a_call_is_told_of_while_it_streams() -> None:
    calls = [{"id": "a", "name": "Write", "arguments": '{"file_path": "x.py", "content": "y"}'}]

    async def go() -> list[Part]:
        async with ModelServer([Reply(text=["first"], calls=calls)]) as server, model_at(server.base_url) as model:
            return [part async for part in model.stream(ASKED)]

    told = [part for part in asyncio.run(go()) if isinstance(part, CallBegunPart)]
    assert told == [CallBegunPart(0, "Write"), CallBegunPart(0, "Write", "x.py")]
