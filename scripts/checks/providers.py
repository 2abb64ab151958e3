"""Every model wire and extra against other people's code: their SDKs, their clients, their proxy.

scripts/check providers [--env FOLDER] [--only turns,types,proxy]: makes environments below FOLDER (by default a
temporary one) with the newest versions. `turns`: one turn with every tool, and its failures, over each wire and through
each provider's own client (_provider_turns.py). `types`: tests/adapters/models/golden_requests.json and the replies of
the tests' stand-in against the types of anthropic, openai and google-genai, unknown fields forbidden. `proxy`: a turn
through LiteLLM's proxy on the wires that it speaks. It prints the tables of docs/compatibility/models.md.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from time import monotonic
from typing import Any

from quintet.adapters.models.anthropic import AnthropicMessages
from quintet.adapters.models.chat_completions import ChatCompletions
from quintet.adapters.models.http_model import HttpModel
from quintet.adapters.models.responses import Responses
from quintet.domain.settings.settings import ModelSettings
from quintet.domain.turn.messages import CallPart, EndPart, Message, Request, Role, TextPart, ToolSchema

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/adapters/models/golden_requests.json"
SDKS = ["anthropic", "openai", "google-genai"]
KEY = "sk-check"
SECONDS = 180.0

# Runs in the environment of the SDKs, which has nothing of ours.
VALIDATE = '''
import json, sys, typing
from importlib.metadata import version
import pydantic, typing_extensions
import anthropic.types, openai.types.chat, openai.types.responses
from anthropic.types import RawMessageStreamEvent
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses import ResponseStreamEvent
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from google.genai import types as google

for name, module in list(sys.modules.items()):
    if name.startswith(("anthropic.types", "openai.types")):
        for found in vars(module).values():
            if typing_extensions.is_typeddict(found):
                found.__pydantic_config__ = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)

def through(value):
    """Iterables are checked when they are gone through."""
    if isinstance(value, dict):
        return {name: through(one) for name, one in value.items()}
    if isinstance(value, (str, bytes, int, float)) or value is None:
        return value
    return [through(one) for one in value] if hasattr(value, "__iter__") else value

def typed(kind):
    adapter = pydantic.TypeAdapter(kind)
    return lambda value: through(adapter.validate_python(value))

GOOGLE = {"contents": list[google.Content], "systemInstruction": google.Content, "tools": list[google.Tool],
          "toolConfig": google.ToolConfig, "generationConfig": google.GenerationConfig}

def gemini(body):
    for name, value in body.items():
        pydantic.TypeAdapter(GOOGLE[name]).validate_json(json.dumps(value))

def by_type(union):
    """The event of a union that its `type` names, and no other: errors are about that one."""
    kinds = [kind for kind in typing.get_args(typing.get_args(union)[0])]
    named = {typing.get_args(kind.model_fields["type"].annotation)[0]: typed(kind) for kind in kinds}
    return lambda event: named[event["type"]](event)

REQUESTS = {"openai": typed(CompletionCreateParamsStreaming), "anthropic": typed(MessageCreateParamsStreaming),
            "responses": typed(ResponseCreateParamsStreaming), "gemini": gemini}
REPLIES = {"openai": typed(ChatCompletionChunk), "anthropic": typed(RawMessageStreamEvent),
           "responses": by_type(ResponseStreamEvent),
           "gemini": lambda one: google.GenerateContentResponse.model_validate_json(json.dumps(one))}
failed = 0
for wire, golden in json.load(open(sys.argv[1])).items():
    checked = 0
    for name, one in golden["requests"].items():
        try:
            REQUESTS[wire](one["body"])
            checked += 1
        except Exception as error:
            failed += 1
            print(f"{wire}: {name}: {error}")
    for event in golden["reply"]:
        try:
            if event.get("type") != "ping":  # the SDK passes over pings
                REPLIES[wire](event)
        except Exception as error:
            failed += 1
            print(f"{wire}: reply: {json.dumps(event)[:200]}: {error}")
    print(f"{wire}: {checked} of {len(golden['requests'])} requests are as the SDK's types say")
print(", ".join(f"{name} {version(name)}" for name in ("anthropic", "openai", "google-genai")))
sys.exit(bool(failed))
'''
PROXY = """\
model_list:
  - model_name: stand-in
    litellm_params: {{model: openai/test-model, api_base: "{url}", api_key: {key}}}
general_settings: {{master_key: {key}}}
litellm_settings: {{telemetry: false}}
"""


PARTS = ("turns", "types", "proxy")


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/check providers", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--env", type=Path, help="the folder of the environments; made if it is not there, and kept")
    parser.add_argument("--only", default=",".join(PARTS), metavar="PARTS", help=f"only these of {','.join(PARTS)}")
    given = parser.parse_args()
    parts = given.only.split(",")
    failed = 0
    with tempfile.TemporaryDirectory(prefix="quintet-providers-") as place:
        home = given.env.resolve() if given.env else Path(place)
        if "turns" in parts:
            python = set_up(home / "providers", [f"{ROOT}[providers]"])
            around = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
            turns = [python, "-P", Path(__file__).with_name("_provider_turns.py"), place]
            failed |= subprocess.run(turns, check=False, cwd=place, env=around).returncode
        if "types" in parts or "proxy" in parts:
            python = set_up(home / "sdks", [*SDKS, *(["litellm[proxy]"] if "proxy" in parts else [])])
        if "types" in parts:
            failed |= subprocess.run([python, "-c", VALIDATE, GOLDEN], check=False).returncode
        if "proxy" in parts:
            failed |= asyncio.run(through_litellm(home / "sdks", Path(place)))
    print("FAILED" if failed else "ok")
    return failed


def set_up(home: Path, packages: list[str]) -> str:
    python = home / "bin/python"
    began = monotonic()
    if not python.exists():
        venv.create(home, with_pip=True)
    words = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
    size = sum(file.stat().st_size for file in home.rglob("*") if file.is_file() and not file.is_symlink())
    print(f"environment: {size / 1e6:.0f} MB, {monotonic() - began:.0f} s")
    return str(python)


async def through_litellm(home: Path, place: Path) -> int:
    """Quintet's wires, LiteLLM's proxy, and behind it the tests' stand-in: text, then a call, then its result."""
    sys.path.insert(0, str(ROOT))
    from tests.adapters.model_server import ModelServer, Reply

    call = {"id": "call_1", "name": "Read", "arguments": '{"path":"a"}'}
    script = [Reply(text=["I look."], calls=[call]), Reply(text=["It is empty."])] * 3
    failed = 0
    async with ModelServer(script) as behind:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        config = place / "litellm.yaml"
        config.write_text(PROXY.format(url=behind.base_url, key=KEY))
        words = [str(home / "bin/litellm"), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
        environment = {
            **os.environ,
            "HOME": str(place),
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "NO_PROXY": "127.0.0.1",
        }
        with open(place / "litellm.log", "wb") as log:
            proxy = await asyncio.create_subprocess_exec(*words, stdout=log, stderr=log, env=environment, cwd=place)
        try:
            await listening(port)
            wires: list[tuple[str, type[HttpModel]]] = [
                ("openai", ChatCompletions),
                ("anthropic", AnthropicMessages),
                ("responses", Responses),
            ]
            for wire, kind in wires:
                said = await turn(kind, ModelSettings(f"http://127.0.0.1:{port}/v1", "stand-in", wire=wire))  # type: ignore[arg-type]
                print(f"litellm, {wire}: {said or 'ok'}")
                failed |= bool(said)
        finally:
            proxy.terminate()
            await proxy.wait()
        if failed:
            print((place / "litellm.log").read_text()[-3000:])
    return failed


async def listening(port: int) -> None:
    async with asyncio.timeout(SECONDS):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                return
            except OSError:
                await asyncio.sleep(0.5)


async def turn(kind: type[HttpModel], settings: ModelSettings) -> str:
    """What is wrong with two steps of a turn; nothing if they are right."""
    model = kind(settings, KEY, "proxy")
    tool = ToolSchema("Read", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}})
    told = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "What is in a?"))
    try:
        first: list[Any] = [part async for part in model.stream(Request("stand-in", told, (tool,)))]
        calls = tuple(part.call for part in first if isinstance(part, CallPart))
        if [(one.name, one.arguments.replace(" ", "")) for one in calls] != [("Read", '{"path":"a"}')]:
            return f"the call came as {calls}"
        said = "".join(part.text for part in first if isinstance(part, TextPart))
        step = (Message(Role.ASSISTANT, said, calls), Message(Role.TOOL, "", call_id=calls[0].id))
        second: list[Any] = [part async for part in model.stream(Request("stand-in", (*told, *step), (tool,)))]
        text = "".join(part.text for part in second if isinstance(part, TextPart))
        ends = [part for part in (*first, *second) if isinstance(part, EndPart)]
        if text != "It is empty." or said != "I look.":
            return f"the words came as {said!r} and {text!r}"
        return "" if len(ends) == 2 and ends[0].usage.input_tokens else f"the ends came as {ends}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        await model.close()


if __name__ == "__main__":
    sys.exit(main())
