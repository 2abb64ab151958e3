"""The Anthropic messages wire against a real server on loopback: what is sent, shapes of answers, ways to fail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.adapters.http import server_events
from quintet.adapters.models.anthropic import AnthropicMessages, _blocks, _conversation
from quintet.adapters.models.http_model import MessageCache
from quintet.domain.base.errors import ModelAuthFailed, ModelBadResponse, ModelError, ModelHttpError, ModelRateLimited
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
from tests.adapters.model_server import MODEL, SIGNATURE, ModelServer, Recorded, Reply, message_events

KEY = "sk-ant-very-secret"
ASKED = Request(MODEL, (Message(Role.USER, "hello"),))
USAGE = Usage(10, 5, 4)
WRITES = 2  # of the input, what the server put into its cache
CACHED = {"cache_control": {"type": "ephemeral"}}
ORIGIN = f"anthropic:{MODEL}"


def end_of(finish: Finish, usage: Usage = Usage(), cache_writes: int = 0) -> EndPart:
    """The end of a reply of the stand-in's, with what it calls its model and the reply."""
    return EndPart(finish, usage, cache_writes, MODEL, "msg_1")


def model_of(server: ModelServer, **more: Any) -> AnthropicMessages:
    configured = ModelSettings(server.base_url, MODEL, "TEST_KEY", wire="anthropic", timeout=60.0, **more)
    return AnthropicMessages(configured, KEY, "claude")


async def parts_from(model: AnthropicMessages, request: Request = ASKED) -> list[Part]:
    """What a reply comes to; what is shown of calls meanwhile is apart."""
    return [part async for part in model.stream(request) if not isinstance(part, CallBegunPart)]


def exchange(reply: Reply, request: Request = ASKED, **more: Any) -> tuple[list[Part], Recorded]:
    async def go() -> tuple[list[Part], Recorded]:
        async with ModelServer([reply]) as server:
            model = model_of(server, **more)
            try:
                return await parts_from(model, request), server.requests[0]
            finally:
                await model.close()

    return asyncio.run(go())


def parts(reply: Reply, request: Request = ASKED) -> list[Part]:
    return exchange(reply, request)[0]


def body(request: Request, **more: Any) -> dict[str, Any]:
    sent: dict[str, Any] = exchange(Reply(text=["x"]), request, **more)[1].body
    return sent


def error(reply: Reply) -> ModelError:
    with pytest.raises(ModelError) as caught:
        parts(reply)
    assert KEY not in str(caught.value)
    return caught.value


def streamed(*chunks: dict[str, Any]) -> Reply:
    lines = [f"event: {chunk.get('type')}\ndata: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
    return Reply(body=lines)


START = {"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}}
STOP = {"type": "message_stop"}


def begin(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": f"{kind}_delta", **fields}}


def ended(reason: str, **usage: int) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage or {"output_tokens": 2}}


def calls_of(found: Sequence[Part]) -> list[tuple[str, str, str]]:
    return [(part.call.id, part.call.name, part.call.arguments) for part in found if isinstance(part, CallPart)]


def test_text_as_it_is_streamed_and_usage_with_the_cache() -> None:
    assert parts(Reply(text=["Hel", "lo ", "wörld 🌍"])) == [
        TextPart("Hel"),
        TextPart("lo "),
        TextPart("wörld 🌍"),
        end_of(Finish.STOP, USAGE, WRITES),
    ]


def test_later_counts_replace_earlier_ones() -> None:
    reply = streamed(START, ended("end_turn", input_tokens=7, cache_read_input_tokens=2, output_tokens=9), STOP)
    assert parts(reply) == [EndPart(Finish.STOP, Usage(9, 9, 2))]


@pytest.mark.parametrize(
    ("said", "finish"),
    [
        ("end_turn", Finish.STOP),
        ("stop_sequence", Finish.STOP),
        ("pause_turn", Finish.STOP),
        ("max_tokens", Finish.LENGTH),
        ("model_context_window_exceeded", Finish.LENGTH),
        ("refusal", Finish.REFUSED),
        ("tool_use", Finish.TOOL_CALLS),
    ],
)
def test_finish(said: str, finish: Finish) -> None:
    assert parts(Reply(text=["x"], finish=said)) == [TextPart("x"), end_of(finish, USAGE, WRITES)]


def test_what_was_refused_halfway_is_not_acted_on() -> None:
    found = parts(Reply(thinking=["hm"], text=["no"], calls=[{"name": "Read"}], finish="refusal"))
    assert found == [ThinkingPart("hm"), TextPart("no"), end_of(Finish.REFUSED, USAGE, WRITES)]


def test_several_calls_with_their_pieces_mixed() -> None:
    reply = streamed(
        START,
        begin(1, type="tool_use", id="b", name="Grep", input={}),
        begin(0, type="tool_use", id="a", name="Read", input={}),
        delta(1, "input_json", partial_json='{"q"'),
        delta(0, "input_json", partial_json='{"p":'),
        delta(1, "input_json", partial_json=":1}"),
        delta(0, "input_json", partial_json="2}"),
        ended("tool_use"),
        STOP,
    )
    assert calls_of(parts(reply)) == [("a", "Read", '{"p":2}'), ("b", "Grep", '{"q":1}')]


@pytest.mark.parametrize(
    ("block", "pieces", "expected"),
    [
        ({"id": "a", "name": "Read", "input": {}}, ["", "{}"], ("a", "Read", "{}")),
        ({"id": "a", "name": "Read", "input": {"p": 1}}, [], ("a", "Read", '{"p":1}')),
        ({"id": "a", "name": "Read"}, [], ("a", "Read", "{}")),
        ({"name": "Read", "input": {}}, [], ("call_1_0", "Read", "{}")),
        ({"id": "a", "name": "Read", "input": {}}, ['{"p": nonsense'], ("a", "Read", '{"p": nonsense')),
    ],
)
def test_calls_as_servers_send_them(block: dict[str, Any], pieces: list[str], expected: tuple[str, str, str]) -> None:
    sent = [delta(0, "input_json", partial_json=piece) for piece in pieces]
    assert calls_of(parts(streamed(START, begin(0, type="tool_use", **block), *sent, ended("tool_use"), STOP))) == [
        expected
    ]


def test_a_call_cut_by_the_length_does_not_look_whole() -> None:
    found = parts(streamed(START, begin(0, type="tool_use", id="a", name="Delete"), ended("max_tokens"), STOP))
    assert calls_of(found) == [("a", "Delete", "")]


def test_a_call_id_is_new_to_the_conversation() -> None:
    before = Message(Role.ASSISTANT, calls=(ToolCall("call_0", "Read"),))
    request = Request(MODEL, (Message(Role.USER, "go"), before, Message(Role.TOOL, "x", call_id="call_0")))
    assert calls_of(parts(Reply(calls=[{"name": "Read"}]), request)) == [("call_3_0", "Read", "{}")]


def test_thinking_goes_back_as_it_came_to_the_model_that_signed_it_and_to_no_other() -> None:
    redacted = {"type": "redacted_thinking", "data": "opaque=="}
    reply = streamed(
        START,
        begin(0, type="thinking", thinking="", signature=""),
        delta(0, "thinking", thinking="let me "),
        delta(0, "thinking", thinking="see"),
        delta(0, "signature", signature="signed=="),
        begin(1, **redacted),
        begin(2, type="text", text=""),
        delta(2, "text", text="First."),
        begin(3, type="thinking", thinking="", signature=""),
        delta(3, "signature", signature="unseen=="),
        begin(4, type="tool_use", id="a", name="Read", input={}),
        delta(4, "input_json", partial_json='{"p":1}'),
        ended("tool_use"),
        STOP,
    )
    found = parts(reply)
    assert found[:3] == [ThinkingPart("let me "), ThinkingPart("see"), TextPart("First.")]
    (original,) = [part.original for part in found if isinstance(part, OriginalPart)]
    assert original.origin == ORIGIN
    call = ToolCall("a", "Read", '{"p":1}')
    answered = (
        Message(Role.USER, "go"),
        Message(Role.ASSISTANT, "First.", (call,), original=original),
        Message(Role.TOOL, "content", call_id="a"),
    )
    back = body(Request(MODEL, answered), thinking_tokens=2000)
    assert back["messages"][1] == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "let me see", "signature": "signed=="},
            redacted,
            {"type": "text", "text": "First."},
            {"type": "thinking", "thinking": "", "signature": "unseen=="},
            {"type": "tool_use", "id": "a", "name": "Read", "input": {"p": 1}},
        ],
    }
    assert back["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    other = body(Request("another-model", answered), thinking_tokens=2000)
    assert [block["type"] for block in other["messages"][1]["content"]] == ["text", "tool_use"]
    assert "thinking" not in other  # a round of calls that began without thinking must end without it


def test_thinking_cut_by_the_length_is_not_sent_back() -> None:
    found = parts(Reply(thinking=["hm"], text=["so"], finish="max_tokens"))
    assert not any(isinstance(part, OriginalPart) for part in found)


@pytest.mark.parametrize(
    ("tokens", "thinking", "most"),
    [(0, None, 16_000), (3000, {"type": "enabled", "budget_tokens": 3000}, 19_000), (-1, {"type": "adaptive"}, 32_000)],
)
def test_thinking_is_asked_for_by_the_settings(tokens: int, thinking: dict[str, Any] | None, most: int) -> None:
    sent = body(ASKED, thinking_tokens=tokens)
    assert (sent.get("thinking"), sent["max_tokens"]) == (thinking, most)
    assert body(ASKED, thinking_tokens=tokens, max_tokens=9000)["max_tokens"] == 9000


def test_what_is_sent() -> None:
    request = Request(
        MODEL,
        (
            Message(Role.SYSTEM, "be good"),
            Message(Role.USER, "hello"),
            Message(Role.USER, "there \ud800"),
            Message(Role.ASSISTANT, "", (ToolCall("a", "Read", '{"path":"x"}'), ToolCall("b.1", "Gr ep", '{"q"'))),
            Message(Role.TOOL, "content", call_id="a"),
            Message(Role.USER, "meanwhile"),
            Message(Role.TOOL, "", call_id="b.1"),
            Message(Role.ASSISTANT, " "),
            Message(Role.ASSISTANT, "done"),
            Message(Role.USER, "more"),
        ),
        (ToolSchema("Read", "reads", {"type": "object"}), ToolSchema("Edit", "edits", {"type": "object"})),
        {"temperature": 1},
    )
    _, seen = exchange(Reply(text=["x"]), request)
    assert seen.target == "/v1/messages"
    assert seen.headers["x-api-key"] == KEY
    assert seen.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in seen.headers
    assert seen.body == {
        "model": MODEL,
        "temperature": 1,
        "stream": True,
        "max_tokens": 16_000,
        "system": [{"type": "text", "text": "be good", **CACHED}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hello"}, {"type": "text", "text": "there ?"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "a", "name": "Read", "input": {"path": "x"}},
                    {"type": "tool_use", "id": "b_1", "name": "Gr_ep", "input": {"invalid": '{"q"'}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "content"}]},
                    {"type": "tool_result", "tool_use_id": "b_1"},
                    {"type": "text", "text": "meanwhile", **CACHED},
                ],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
            {"role": "user", "content": [{"type": "text", "text": "more", **CACHED}]},
        ],
        "tools": [
            {"name": "Read", "description": "reads", "input_schema": {"type": "object"}},
            {"name": "Edit", "description": "edits", "input_schema": {"type": "object"}, **CACHED},
        ],
    }


def test_images_in_what_is_said_and_in_results() -> None:
    picture = Image("image/png", "aGk=")
    block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    request = Request(
        MODEL,
        (
            Message(Role.USER, "what is this?", images=(picture,)),
            Message(Role.ASSISTANT, calls=(ToolCall("a", "Look"),)),
            Message(Role.TOOL, "a screen", call_id="a", images=(picture,)),
        ),
    )
    first, _, last = body(request)["messages"]
    assert first["content"] == [block, {"type": "text", "text": "what is this?", **CACHED}]
    assert last["content"][0]["content"] == [{"type": "text", "text": "a screen"}, block]


def test_options_of_a_request() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object"}}}}
    tools = (ToolSchema("Read", "reads", {"type": "object"}),)
    sent = body(Request(MODEL, ASKED.messages, tools, tool_choice="none", stop=("END",), json_schema=schema))
    assert sent["tool_choice"] == {"type": "none"}
    assert sent["stop_sequences"] == ["END"]
    closed = {"type": "object", "additionalProperties": False}
    assert sent["output_config"]["format"] == {
        "type": "json_schema",
        "schema": {**closed, "properties": {"a": {"type": "array", "items": closed}}},
    }
    assert not {"tool_choice", "stop_sequences", "output_config", "tools", "system"} & set(body(ASKED))


def test_a_conversation_with_calls_names_their_tools_even_where_none_is_offered() -> None:
    conversation = (
        Message(Role.USER, "go"),
        Message(Role.ASSISTANT, calls=(ToolCall("a", "Read"),)),
        Message(Role.TOOL, "x", call_id="a"),
    )
    sent = body(Request(MODEL, conversation))
    assert sent["tools"] == [{"name": "Read", "input_schema": {"type": "object"}, **CACHED}]
    assert sent["tool_choice"] == {"type": "none"}


def test_a_plain_json_answer() -> None:
    message = {
        "type": "message",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": SIGNATURE},
            {"type": "text", "text": "so"},
            {"type": "tool_use", "id": "a", "name": "Read", "input": {"p": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": None},
    }
    found = parts(Reply(body=json.dumps(message), framing="length"))
    kept = [message["content"][0], message["content"][1], message["content"][2]]  # type: ignore[index]
    assert found == [
        ThinkingPart("hm"),
        TextPart("so"),
        CallPart(ToolCall("a", "Read", '{"p":1}')),
        OriginalPart(Original(ORIGIN, json.dumps(kept, separators=(",", ":")))),
        EndPart(Finish.TOOL_CALLS, Usage(3, 4)),
    ]


@pytest.mark.parametrize(
    ("named", "kind", "retryable"),
    [
        ("overloaded_error", ModelHttpError, True),
        ("api_error", ModelHttpError, True),
        ("rate_limit_error", ModelRateLimited, True),
        ("authentication_error", ModelAuthFailed, False),
        ("invalid_request_error", ModelHttpError, False),
        ("a_new_one", ModelHttpError, False),
    ],
)
def test_an_error_inside_the_stream(named: str, kind: type[ModelError], retryable: bool) -> None:
    event = {"type": "error", "error": {"type": named, "message": "its words"}}
    for reply in (streamed(START, event), Reply(body=json.dumps(event))):
        found = error(reply)
        assert (type(found), found.retryable) == (kind, retryable)
        assert "its words" in found.message


@pytest.mark.parametrize(
    "chunks",
    [
        [START],
        [START, begin(0, type="text", text=""), delta(0, "text", text="half")],
        [START, delta(0, "text", text="of nothing")],
        [START, begin(0, type="tool_use", id="a"), ended("tool_use"), STOP],
        [{"type": "ping"}],
        [],
    ],
)
def test_a_reply_that_is_not_whole_may_be_tried_again(chunks: list[dict[str, Any]]) -> None:
    found = error(streamed(*chunks))
    assert isinstance(found, ModelBadResponse)
    assert found.retryable


@pytest.mark.parametrize("text", ["<html>Welcome</html>", "{}", "[]", "data: 5\n\n", "data: x\n\n", "\x00\xff", ""])
def test_rubbish(text: str) -> None:
    assert isinstance(error(Reply(body=text.encode("latin-1"), framing="length")), ModelBadResponse)


def test_what_is_not_known_is_passed_over() -> None:
    reply = streamed(
        START,
        {"type": "tomorrows_event", "index": 0},
        begin(0, type="tomorrows_block", text=5),
        delta(0, "tomorrows", text="?"),
        delta(0, "citations", citation={}),
        {"type": "content_block_stop", "index": 0},
        begin(1, type="text", text="x"),
        ended("end_turn"),
        STOP,
        {"type": "error", "error": {"message": "too late"}},
    )
    assert parts(reply) == [TextPart("x"), EndPart(Finish.STOP, Usage(3, 2))]


def test_an_event_without_end_is_not_kept() -> None:
    huge = Reply(body=[b"data: " + b"x" * 1_000_000] * 18)
    assert "too long" in error(huge).message


def test_an_answer_without_end_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_events, "MAX_EVENT_BYTES", 1000)
    assert "too long" in error(Reply(body="{" + " " * 10_000)).message


RECORDED = Reply(
    thinking=["hm ä"],
    text=["Grüße ", "🌍"],
    calls=[{"id": "a", "name": "Read", "arguments": '{"p":"ü"}'}, {"id": "b", "name": "Grep", "arguments": "{}"}],
)
WHOLE: list[Part] = [
    ThinkingPart("hm ä"),
    TextPart("Grüße "),
    TextPart("🌍"),
    CallPart(ToolCall("a", "Read", '{"p":"ü"}')),
    CallPart(ToolCall("b", "Grep", "{}")),
    OriginalPart(
        Original(
            ORIGIN,
            '[{"type":"thinking","thinking":"hm ä","signature":"' + SIGNATURE + '"},{"type":"text","text":"Grüße 🌍"},'
            '{"type":"tool_use","id":"a","name":"Read","input":{"p":"ü"}},'
            '{"type":"tool_use","id":"b","name":"Grep","input":{}}]',
        )
    ),
    end_of(Finish.TOOL_CALLS, USAGE, WRITES),
]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_chunking_gives_the_same_parts(data: st.DataObject) -> None:
    ends = data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    stream = b": comment\n\n".join(message_events(RECORDED)).replace(b"\n", ends)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(stream) - 1), max_size=40)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert parts(Reply(body=pieces)) == WHOLE


REQUESTED, SAID_ONCE = Message(Role.USER, "fix it"), Message(Role.USER, "look", passing=True)
CALLED, RESULT = Message(Role.ASSISTANT, "", (ToolCall("c1", "Read"),)), Message(Role.TOOL, "text", call_id="c1")


@pytest.mark.parametrize(
    ("conversation", "kinds"),
    [
        ((REQUESTED, SAID_ONCE), ["text"]),
        ((REQUESTED, CALLED, RESULT, SAID_ONCE), ["text", "tool_result"]),
        ((REQUESTED, Message(Role.ASSISTANT, "hm"), SAID_ONCE), ["text"]),
        ((REQUESTED, CALLED, RESULT), ["text", "tool_result"]),
    ],
)
def test_a_cache_is_never_marked_behind_what_is_said_in_one_request_alone(
    conversation: tuple[Message, ...], kinds: list[str]
) -> None:
    sent = _conversation(conversation, MessageCache(lambda message: _blocks(message, "anthropic:m")))
    marked = [block for turn in sent for block in turn["content"] if "cache_control" in block]
    assert [block["type"] for block in marked] == kinds
    assert all(block.get("text") != "look" for block in marked)


def test_a_call_is_told_of_while_it_streams() -> None:
    calls = [{"id": "a", "name": "Write", "arguments": '{"file_path": "x.py", "content": "y"}'}]

    async def go() -> list[Part]:
        async with ModelServer([Reply(text=["first"], calls=calls)]) as server:
            model = model_of(server)
            try:
                return [part async for part in model.stream(ASKED)]
            finally:
                await model.close()

    told = [part for part in asyncio.run(go()) if isinstance(part, CallBegunPart)]
    assert told == [CallBegunPart(0, "Write"), CallBegunPart(0, "Write", "x.py")]
