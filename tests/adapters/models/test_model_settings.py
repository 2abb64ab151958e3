"""A model's settings on every wire: effort, temperature, headers, query, body, allowed tools, pictures, keys."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from quintet.adapters.models.anthropic import AnthropicMessages
from quintet.adapters.models.chat_completions import ChatCompletions
from quintet.adapters.models.gemini import GenerateContent
from quintet.adapters.models.http_model import HttpModel
from quintet.adapters.models.keys import Key
from quintet.adapters.models.registry import Models
from quintet.adapters.models.responses import Responses
from quintet.adapters.processes.host_programs import stay_out_of
from quintet.domain.base.errors import ModelAuthFailed, ModelError, SettingsError
from quintet.domain.settings.settings import ModelSettings, Settings
from quintet.domain.turn.messages import Image, Message, Part, Request, Role, ToolSchema
from tests.adapters.model_server import MODEL, ModelServer, Recorded, Reply

WIRES = {"openai": ChatCompletions, "anthropic": AnthropicMessages, "responses": Responses, "gemini": GenerateContent}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TALK = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "hello"))
TOOLS = (ToolSchema("Read", "Reads.", {"type": "object"}), ToolSchema("Grep", "Searches.", {"type": "object"}))


def sent(wire: str, request: Request | None = None, name: str = MODEL, **more: Any) -> Recorded:
    async def go() -> Recorded:
        async with ModelServer([Reply(text=["x"])]) as server:
            settings = ModelSettings(server.base_url, name, wire=wire, **more)  # type: ignore[arg-type]
            model = WIRES[wire](settings, "key", "local")
            try:
                async for _ in model.stream(request or Request(name, TALK)):
                    pass
                return server.requests[0]
            finally:
                await model.close()

    return asyncio.run(go())


@pytest.mark.parametrize("wire", WIRES)
def test_headers_query_and_body_go_with_every_request(wire: str) -> None:
    more = {"headers": {"X-Team": "tools", "User-Agent": "mine"}, "query": {"api-version": "2026-01-01 x"}}
    found = sent(wire, **more, body={"metadata": {"user_id": "u"}, "stream_options": {"more": 1}})
    assert (found.headers["x-team"], found.headers["user-agent"]) == ("tools", "mine")
    assert found.target.endswith(("?api-version=2026-01-01+x", "?alt=sse&api-version=2026-01-01+x"))
    assert found.body["metadata"] == {"user_id": "u"}
    options = {"include_usage": True, "more": 1} if wire == "openai" else {"more": 1}
    assert found.body["stream_options"] == options  # tables are put together


@pytest.mark.parametrize(
    ("wire", "name", "place", "low", "high"),
    [
        ("openai", MODEL, ["reasoning_effort"], "low", "high"),
        ("responses", MODEL, ["reasoning", "effort"], "low", "high"),
        ("anthropic", "claude-opus-5", ["output_config", "effort"], "low", "high"),
        ("gemini", "gemini-3.5-flash", ["generationConfig", "thinkingConfig", "thinkingLevel"], "LOW", "HIGH"),
        ("gemini", "gemini-2.5-pro", ["generationConfig", "thinkingConfig", "thinkingBudget"], 1024, 24_576),
    ],
)
def test_effort_is_the_requests_else_the_models(
    wire: str, name: str, place: list[str], low: object, high: object
) -> None:
    def at(body: Any) -> Any:
        for step in place:
            body = body.get(step, {})
        return body or None

    assert at(sent(wire, name=name).body) is None
    assert at(sent(wire, name=name, effort="high").body) == high
    assert at(sent(wire, Request(name, TALK, effort="low"), name, effort="high").body) == low


@pytest.mark.parametrize(("wire", "name"), [("openai", "gpt-4o"), ("anthropic", "claude-haiku-4-5")])
def test_a_model_that_is_known_to_have_no_effort_is_not_asked_for_one(wire: str, name: str) -> None:
    assert sent(wire, name=name, effort="high").body == sent(wire, name=name).body


@pytest.mark.parametrize("wire", WIRES)
def test_temperature(wire: str) -> None:
    def at(body: dict[str, Any]) -> Any:
        return (body.get("generationConfig", {}) if wire == "gemini" else body).get("temperature")

    assert at(sent(wire).body) is None
    assert at(sent(wire, temperature=0.0).body) == 0.0
    assert at(sent("anthropic", name="claude-opus-5", temperature=0.0).body) is None  # which would refuse it


def test_thinking_of_a_model_that_takes_no_number_is_left_to_it() -> None:
    assert sent("anthropic", name="claude-opus-5", thinking_tokens=4000).body["thinking"] == {"type": "adaptive"}
    wanted = {"type": "enabled", "budget_tokens": 4000}
    assert sent("anthropic", name="claude-haiku-4-5", thinking_tokens=4000).body["thinking"] == wanted
    assert sent("anthropic", name="claude-3-haiku-20240307").body["max_tokens"] == 4096  # what it can write


def test_allowed_tools_are_said_where_the_api_has_it() -> None:
    some = Request(MODEL, TALK, TOOLS, allowed=("Grep", "gone"))
    none = Request(MODEL, TALK, TOOLS, allowed=())
    every = Request(MODEL, TALK, TOOLS)
    told = {"allowed_tools": True}
    chat = {"mode": "auto", "tools": [{"type": "function", "function": {"name": "Grep"}}]}
    assert sent("openai", some, **told).body["tool_choice"] == {"type": "allowed_tools", "allowed_tools": chat}
    listed = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "Grep"}]}
    assert sent("responses", some, **told).body["tool_choice"] == listed
    config = {"mode": "VALIDATED", "allowedFunctionNames": ["Grep"]}
    assert sent("gemini", some, **told).body["toolConfig"] == {"functionCallingConfig": config}
    assert (
        sent("openai", none, **told).body["tool_choice"]
        == sent("responses", none, **told).body["tool_choice"]
        == "none"
    )
    assert sent("gemini", none, **told).body["toolConfig"] == {"functionCallingConfig": {"mode": "NONE"}}
    for wire in WIRES:
        whole = sent(wire, every).body
        assert sent(wire, some).body == whole  # a server that was never said to have it is told nothing
        assert sent(wire, every, **told).body == whole
        assert len(whole["tools"][0]["functionDeclarations"] if wire == "gemini" else whole["tools"]) == 2
    assert sent("anthropic", some, **told).body == sent("anthropic", every).body  # it has no such thing


@pytest.mark.parametrize("wire", WIRES)
def test_a_picture_is_sent_or_told_in_a_sentence(wire: str) -> None:
    picture = Image("image/png", PNG)
    user = Message(Role.USER, "look", images=(picture,))
    tool = Message(Role.TOOL, "made", call_id="a", images=(picture,))
    request = Request(MODEL, (TALK[0], user, tool))
    for sight in ({}, {"vision": True}):
        text = str(sent(wire, request, **sight).body)
        assert text.count(PNG) == 2
        assert "cannot see" not in text
    text = str(sent(wire, request, vision=False).body)
    assert PNG not in text
    assert text.count(f"[a picture, 1×1 PNG, left out: {MODEL} cannot see pictures]") == 2


# ── keys


def script(folder: Path, text: str) -> str:
    path = folder / "print-key"
    path.write_text(f"#!{sys.executable}\n{text}\n")
    path.chmod(0o755)
    return str(path)


async def replied(models: Models) -> list[Part]:
    return [part async for part in models.get("m").stream(Request(MODEL, TALK))]


def by_command(base_url: str, command: Any, wire: str = "openai") -> Settings:
    return Settings(models={"m": ModelSettings(base_url, MODEL, api_key_command=command, wire=wire)})  # type: ignore[arg-type]


def test_a_command_prints_the_key_once_and_what_it_printed_is_known_as_a_secret(tmp_path: Path) -> None:
    count = f"open({str(tmp_path / 'runs')!r}, 'a').write('x'); import sys; print(' key', *sys.argv[1:], sep='-')"

    async def go(command: Any) -> tuple[list[str], list[str]]:
        learnt: list[str] = []
        async with ModelServer([Reply(text=["x"])]) as server:
            models = Models(by_command(server.base_url, command), learnt.append)
            await asyncio.gather(replied(models), replied(models))
            await replied(models)
            await models.close()
            return [request.headers["authorization"] for request in server.requests], learnt

    path = script(tmp_path, count)
    for command in ((path, "a b"), f"{path} 'a b'"):
        assert asyncio.run(go(command)) == (["Bearer key-a b"] * 3, ["key-a b"])
    assert (tmp_path / "runs").read_text() == "xx"


def test_a_key_that_ran_out_is_asked_for_once_more(tmp_path: Path) -> None:
    turns = tmp_path / "turns"
    turns.write_text("")
    path = script(tmp_path, f"p = {str(turns)!r}; open(p, 'a').write('x'); print('key' + str(len(open(p).read())))")
    refused = Reply(status=401, body="{}", framing="length")

    async def go(*replies: Reply) -> list[str]:
        async with ModelServer([*replies]) as server:
            models = Models(by_command(server.base_url, (path,)))
            try:
                for _ in range(2):
                    await replied(models)
            finally:
                await models.close()
                keys = [request.headers["authorization"] for request in server.requests]
            return keys

    assert asyncio.run(go(Reply(text=["x"]), refused, Reply(text=["y"]))) == [
        "Bearer key1",
        "Bearer key1",
        "Bearer key2",
    ]
    with pytest.raises(ModelAuthFailed) as caught:
        asyncio.run(go(refused))
    assert "models.m.api_key_command" in caught.value.hint
    assert len(turns.read_text()) == 4  # not for ever


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import sys; sys.exit(3)", "ended with exit code 3"),
        ("print(' ')", "printed nothing"),
    ],
)
def test_a_command_that_gives_no_key_says_so(tmp_path: Path, text: str, said: str) -> None:
    models = Models(by_command("http://127.0.0.1:9/v1", (script(tmp_path, text),)))
    with pytest.raises(ModelError, match=said) as caught:
        asyncio.run(replied(models))
    assert (caught.value.code, caught.value.retryable) == ("LLM_AUTH_FAILED", False)


def test_a_program_of_the_project_prints_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path, "print('planted')")
    monkeypatch.setenv("PATH", str(tmp_path))
    stay_out_of(str(tmp_path))
    for command in (("print-key",), ("./print-key",), "print-key"):
        with pytest.raises(ModelAuthFailed, match="was not found"):
            asyncio.run(Key(ModelSettings("", MODEL, api_key_command=command), "m").value())


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(SettingsError, match=r"models\.m: the variable NO_SUCH_KEY is not set"):
        Key(ModelSettings("", MODEL, "NO_SUCH_KEY"), "m")


@pytest.mark.parametrize(
    ("wire", "url", "command", "header"),
    [
        ("openai", "https://r.openai.azure.com/openai/v1", (), "api-key"),
        ("responses", "https://r.openai.azure.com/openai/v1", (), "api-key"),
        ("openai", "https://r.openai.azure.com/openai/v1", ("true",), "authorization"),
        ("openai", "https://azure.com.evil.example/v1", (), "authorization"),
        ("gemini", "https://generativelanguage.googleapis.com/v1beta", (), "x-goog-api-key"),
        ("gemini", "https://aiplatform.googleapis.com/v1/publishers/google", ("true",), "authorization"),
        ("anthropic", "https://api.anthropic.com/v1", (), "x-api-key"),
    ],
)  # fmt: skip
def test_a_key_goes_in_the_header_that_its_host_wants(wire: str, url: str, command: Any, header: str) -> None:
    settings = ModelSettings(url, MODEL, api_key_command=command)
    model: HttpModel = WIRES[wire](settings, Key(settings, "m"), "m")
    model._key = "k"
    found = model._own_headers()
    assert header in found
    assert [name for name in found if found[name].endswith("k")] == [header]
