"""Golden requests of each wire, kept in golden_requests.json, which `scripts/check providers` holds against the
providers' own SDKs. `python -m tests.adapters.models.test_golden_requests` writes them anew."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from quintet.adapters.models.anthropic import AnthropicMessages
from quintet.adapters.models.chat_completions import ChatCompletions
from quintet.adapters.models.gemini import GenerateContent
from quintet.adapters.models.http_model import HttpModel
from quintet.adapters.models.responses import Responses
from quintet.domain.settings.settings import ModelSettings
from quintet.domain.turn.messages import (
    Image,
    Message,
    Original,
    OriginalPart,
    Request,
    Role,
    ToolCall,
    ToolSchema,
)
from tests.adapters.model_server import ModelServer, Reply, answer

GOLDEN = Path(__file__).with_name("golden_requests.json")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WIRES: dict[str, tuple[type[HttpModel], str]] = {
    "openai": (ChatCompletions, "gpt-5.4"),
    "anthropic": (AnthropicMessages, "claude-opus-5"),
    "responses": (Responses, "gpt-5.4"),
    "gemini": (GenerateContent, "gemini-3.5-flash"),
}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = (ToolSchema("Read", "Reads a file.", SCHEMA), ToolSchema("Grep", "Searches.", {"type": "object"}))
START = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "What is here?"))
CALLS = (ToolCall("call_a", "Read", '{"path":"a"}'), ToolCall("call_b", "Grep", "{}"))
SCRIPTED = Reply(
    thinking=["First the file."],
    text=["I look."],
    calls=[{"id": call.id, "name": call.name, "arguments": call.arguments} for call in CALLS],
)
RESULTS = (
    Message(Role.TOOL, "a picture", call_id="call_a", images=(Image("image/png", PIXEL),)),
    Message(Role.TOOL, "nothing found", call_id="call_b"),
)


def cases(model: str, original: Original | None) -> dict[str, tuple[Request, dict[str, Any]]]:
    """Requests by what they show, each with the settings it is made by."""
    look = Message(Role.USER, "Look.", images=(Image("image/png", PIXEL),))
    steps = (*START, Message(Role.ASSISTANT, "I look.", CALLS, original=original), *RESULTS)
    foreign = (*START, Message(Role.ASSISTANT, "I look.", CALLS, original=Original("x:y", "[]")), *RESULTS)
    return {
        "plain": (Request(model, START), {}),
        "pictures": (Request(model, (START[0], look)), {}),
        "parallel calls with reasoning kept": (Request(model, steps, TOOLS), {}),
        "calls of another model": (Request(model, foreign, TOOLS), {}),
        "allowed tools": (Request(model, START, TOOLS, allowed=("Grep",)), {"allowed_tools": True}),
        "no tool may be called": (Request(model, START, TOOLS, tool_choice="none"), {}),
        "schema and stop": (Request(model, START, json_schema=SCHEMA, stop=("END",)), {"max_tokens": 9000}),
        "effort and temperature": (Request(model, START, effort="low"), {"effort": "high", "temperature": 1.0}),
        "thinking": (Request(model, START), {"thinking_tokens": -1}),
    }


async def sent_by(wire: str) -> dict[str, Any]:
    kind, model = WIRES[wire]
    found: dict[str, Any] = {}
    async with ModelServer([SCRIPTED]) as server:

        async def ask(request: Request, **more: Any) -> Original | None:
            made = kind(ModelSettings(server.base_url, model, wire=wire, timeout=60.0, **more), "key", wire)  # type: ignore[arg-type]
            try:
                parts = [part async for part in made.stream(request)]
            finally:
                await made.close()
            return next((part.original for part in parts if isinstance(part, OriginalPart)), None)

        original = await ask(Request(model, START, TOOLS))
        for name, (request, more) in cases(model, original).items():
            await ask(request, **more)
            found[name] = {"path": server.requests[-1].target, "body": server.requests[-1].body}
        streamed = answer(SCRIPTED, server.requests[-1].target).partition(b"\r\n\r\n")[2].decode()
    return {
        "requests": found,
        "reply": [json.loads(line[6:]) for line in streamed.splitlines() if line[:7] == "data: {"],
    }


def made() -> dict[str, Any]:
    return {wire: asyncio.run(sent_by(wire)) for wire in WIRES}


@pytest.mark.parametrize("wire", WIRES)
def test_requests_are_as_they_were_checked_against_the_providers_own_types(wire: str) -> None:
    assert asyncio.run(sent_by(wire)) == json.loads(GOLDEN.read_text())[wire]


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(made(), indent=1, ensure_ascii=False) + "\n")
