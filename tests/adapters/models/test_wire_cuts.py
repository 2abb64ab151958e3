"""Every wire on a recorded stream cut at every byte, in two at every byte, and byte by byte.

A cut reply is whole or a ModelError that may be tried again, and what came before it begins the whole reply.
"""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest

from quintet.adapters.models.anthropic import AnthropicMessages
from quintet.adapters.models.chat_completions import ChatCompletions
from quintet.adapters.models.gemini import GenerateContent
from quintet.adapters.models.http_model import HttpModel
from quintet.adapters.models.responses import Responses
from quintet.domain.base.errors import ModelError
from quintet.domain.settings.settings import ModelSettings
from quintet.domain.turn.messages import CallPart, EndPart, Message, Part, Request, Role, TextPart, ThinkingPart
from tests.adapters.model_dialects import content_events, response_events
from tests.adapters.model_server import MODEL, ModelServer, Reply, answer, events, message_events

ASKED = Request(MODEL, (Message(Role.USER, "hello"),))
RECORDED = Reply(
    thinking=["hm"],
    text=["Grüße ", "🌍"],
    calls=[{"id": "a", "name": "Read", "arguments": '{"p":"ü"}'}, {"id": "b", "name": "Grep", "arguments": "{}"}],
)
WIRES = [
    pytest.param(ChatCompletions, "/v1/chat/completions", b"data: [DONE]", id="openai"),
    pytest.param(AnthropicMessages, "/v1/messages", b'"type":"message_stop"}', id="anthropic"),
    pytest.param(Responses, "/v1/responses", b'"total_tokens":15}}}', id="responses"),
    pytest.param(GenerateContent, f"/v1/models/{MODEL}:streamGenerateContent?alt=sse", b"\r\n0\r\n", id="gemini"),
]
STREAMS = {
    ChatCompletions: events,
    AnthropicMessages: message_events,
    Responses: response_events,
    GenerateContent: content_events,
}


async def one(model: HttpModel) -> tuple[list[Part], ModelError | None]:
    """The parts of a reply, and what it failed with."""
    found: list[Part] = []
    try:
        async for part in model.stream(ASKED):
            found.append(part)  # noqa: PERF401, what came before a failure is looked at
    except ModelError as error:
        return found, error
    return found, None


def ask(kind: type[HttpModel], replies: list[Reply]) -> list[tuple[list[Part], ModelError | None]]:
    async def go() -> list[tuple[list[Part], ModelError | None]]:
        async with ModelServer(replies) as server:
            model = kind(ModelSettings(server.base_url, MODEL, timeout=60.0), "key", "local")
            try:
                found = []
                for _ in replies:
                    found.append(await one(model))
                    await asyncio.sleep(0)  # several that are there at once are no one callback
                return found
            finally:
                await model.close()

    return asyncio.run(go())


@pytest.mark.parametrize(("kind", "target", "marker"), WIRES)
def test_a_stream_cut_at_every_byte(kind: type[HttpModel], target: str, marker: bytes) -> None:
    raw = answer(RECORDED, target)
    ((whole, failed),) = ask(kind, [RECORDED])
    assert failed is None
    marked = raw.index(marker) + len(marker)
    for cut, (found, failed) in enumerate(ask(kind, [Reply(raw=raw[:at], then="close") for at in range(len(raw))])):
        if failed:
            assert failed.retryable, cut
            assert found == whole[: len(found)], cut
            assert not any(isinstance(part, EndPart) for part in found), cut
        else:
            assert cut >= marked, cut
            assert found == whole, cut


@pytest.mark.parametrize(("kind", "target", "marker"), WIRES)
def test_a_stream_in_two_pieces_at_every_byte(kind: type[HttpModel], target: str, marker: bytes) -> None:
    stream = b"".join(STREAMS[kind](RECORDED))
    ((whole, _),) = ask(kind, [RECORDED])
    cuts = [Reply(body=[stream[:at], stream[at:]]) for at in range(1, len(stream))]
    assert all(result == (whole, None) for result in ask(kind, cuts))


@pytest.mark.parametrize(("kind", "target", "marker"), WIRES)
@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"])
def test_a_stream_byte_by_byte(kind: type[HttpModel], target: str, marker: bytes, ends: bytes) -> None:
    pieces = [piece.replace(b"\r\n", b"\n") for piece in STREAMS[kind](RECORDED)]
    stream = b": keep-alive\n\nrubbish\n\n".join(pieces).replace(b"\n", ends)
    ((whole, _),) = ask(kind, [RECORDED])
    assert ask(kind, [Reply(body=[stream[at : at + 1] for at in range(len(stream))])]) == [(whole, None)]


@pytest.mark.parametrize(("kind", "target", "marker"), WIRES)
@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (rb"\ud83c", rb"\udf0d", "🌍"),
        (rb"\ud83c", b"B", "\ufffdB"),
        (b"A", rb"\udf0d", "A\ufffd"),
        (b"A", rb"\ud83c", "A\ufffd"),
        (b"\xff", b"B", "\ufffdB"),
        (b"\xf0\x9f", b"B", "\ufffdB"),
    ],
)
def test_half_a_character_or_a_byte_that_is_none_is_replaced_and_the_reply_stands(
    kind: type[HttpModel], target: str, marker: bytes, first: bytes, second: bytes, said: str
) -> None:
    call = {"id": "a", "name": "Read", "arguments": '{"p":"QZ"}'}
    asked = Reply(thinking=["hm", "Q", "Z"], text=["well ", "Q", "Z"], calls=[call])
    stream = b"".join(STREAMS[kind](asked)).replace(b"Q", first).replace(b"Z", second)
    ((found, failed),) = ask(kind, [Reply(body=[stream])])
    assert failed is None
    assert "".join(part.text for part in found if isinstance(part, TextPart)) == f"well {said}"
    if kind is not GenerateContent:  # the summaries of its thoughts are told one by one
        assert "".join(part.text for part in found if isinstance(part, ThinkingPart)) == f"hm{said}"
    (arguments,) = [part.call.arguments for part in found if isinstance(part, CallPart)]
    assert json.loads(arguments)["p"] in (said, said.replace("\ufffd", "\ufffd\ufffd"))
    msgspec.json.encode(found)
