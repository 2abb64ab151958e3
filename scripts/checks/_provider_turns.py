"""One turn with every tool of Quintet's, and the ways in which it can fail, over each wire: a table, a row a wire.

`scripts/check providers` runs this in an environment with quintet[providers], so that the packages of the providers
themselves write the requests and read the replies; the server is on loopback. A turn is a call, its result and an
answer. A refused key, a limit, a broken server and a reply that is cut have to come out as errors of their kinds, and
nothing may be printed beside them. `quintet models test` has to have a row for each, whatever the others do.
"""

from __future__ import annotations

import asyncio
import json
import os
import struct
import subprocess
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from tests.adapters.model_dialects import content_events, response_events
from tests.adapters.model_server import MODEL, ModelServer, Reply, events, message_events

from quintet.adapters.models.registry import make_model
from quintet.app.tool_registry import tools_for
from quintet.domain.base.errors import ModelError
from quintet.domain.settings.settings import ModelSettings, Settings
from quintet.domain.turn.messages import CallPart, EndPart, Message, Part, Request, Role, TextPart
from quintet.surfaces.tables import table

CALL = {"id": "call_1", "name": "Read", "arguments": '{"file_path":"a"}'}
STEPS = (Reply(text=["I look."], calls=[CALL]), Reply(text=["It is ", "empty."]))
LIMIT = {"retry-after": "7"}
AMAZON = {"content-type": "application/vnd.amazon.eventstream"}


def frames(reply: Reply) -> list[bytes]:
    """A reply as Bedrock's ConverseStream sends it: Amazon's binary event stream."""
    told: list[tuple[str, dict[str, Any]]] = [("messageStart", {"role": "assistant"})]
    told += [("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": piece}}) for piece in reply.text]
    told.append(("contentBlockStop", {"contentBlockIndex": 0}))
    for place, call in enumerate(reply.calls, 1):
        begun = {"toolUse": {"toolUseId": call["id"], "name": call["name"]}}
        told.append(("contentBlockStart", {"contentBlockIndex": place, "start": begun}))
        delta = {"toolUse": {"input": call["arguments"]}}
        told.append(("contentBlockDelta", {"contentBlockIndex": place, "delta": delta}))
        told.append(("contentBlockStop", {"contentBlockIndex": place}))
    told.append(("messageStop", {"stopReason": "tool_use" if reply.calls else "end_turn"}))
    usage = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
    told.append(("metadata", {"usage": usage, "metrics": {"latencyMs": 1}}))
    return [frame(name, json.dumps(body).encode()) for name, body in told]


def frame(event: str, payload: bytes) -> bytes:
    named = {":event-type": event, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in named.items()
    )
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    checked = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return checked + struct.pack(">I", zlib.crc32(checked))


def mistral_events(reply: Reply) -> list[bytes]:
    """As a chat completion, but that a call comes whole."""
    pieces = events(Reply(text=reply.text, finish="tool_calls" if reply.calls else "stop"))
    calls = [
        {"id": call["id"], "index": place, "function": {"name": call["name"], "arguments": call["arguments"]}}
        for place, call in enumerate(reply.calls)
    ]
    choice = {"index": 0, "delta": {"tool_calls": calls}, "finish_reason": None}
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": MODEL, "choices": [choice]}
    return [*pieces[:-3], *([f"data: {json.dumps(chunk)}\n\n".encode()] if calls else []), *pieces[-3:]]


def cohere_events(reply: Reply) -> list[bytes]:
    """A reply as Cohere's chat of version 2 streams it."""
    told: list[dict[str, Any]] = [
        {"type": "message-start", "id": "m", "delta": {"message": {"role": "assistant", "content": []}}},
        {"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "text", "text": ""}}}},
    ]
    told += [
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": one}}}} for one in reply.text
    ]
    told.append({"type": "content-end", "index": 0})
    for place, call in enumerate(reply.calls):
        function = {"name": call["name"], "arguments": ""}
        begun = {"id": call["id"], "type": "function", "function": function}
        told.append({"type": "tool-call-start", "index": place, "delta": {"message": {"tool_calls": begun}}})
        delta = {"message": {"tool_calls": {"function": {"arguments": call["arguments"]}}}}
        told.append({"type": "tool-call-delta", "index": place, "delta": delta})
        told.append({"type": "tool-call-end", "index": place})
    tokens = {"input_tokens": 10, "output_tokens": 5}
    finish = "TOOL_CALL" if reply.calls else "COMPLETE"
    ended = {"finish_reason": finish, "usage": {"billed_units": tokens, "tokens": tokens}}
    told.append({"type": "message-end", "id": "m", "delta": ended})
    return [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in told]


class Wire(NamedTuple):
    name: str
    model: str
    wire: str
    package: str  # whose code speaks to the server; ours for the built-in wires
    streams: Callable[[Reply], list[bytes]]
    last: int  # pieces that say that the reply is over
    path: str = "/v1"
    headers: dict[str, str] = {}  # noqa: RUF012


OTHER = "pydantic-ai"
WIRES = (
    Wire("openai", MODEL, "openai", "quintet", events, 3),
    Wire("anthropic", MODEL, "anthropic", "quintet", message_events, 2),
    Wire("responses", MODEL, "responses", "quintet", response_events, 1),
    Wire("gemini", MODEL, "gemini", "quintet", content_events, 1),
    Wire("google", "google:gemini-2.5-flash", OTHER, "google-genai", content_events, 1, ""),
    Wire("mistral", "mistral:mistral-large-latest", OTHER, "mistralai", mistral_events, 3, ""),
    Wire("cohere", "cohere:command-a-03-2025", OTHER, "cohere", cohere_events, 1, ""),
    Wire("bedrock", "bedrock:us.amazon.nova-lite-v1:0", OTHER, "botocore", frames, 2, "", AMAZON),
)
FAULTS = {401: "LLM_AUTH_FAILED", 429: "LLM_RATE_LIMITED", 500: "LLM_HTTP_ERROR"}


def main() -> int:
    os.environ.update(AWS_DEFAULT_REGION="us-east-1", AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="y")
    os.environ.update(AWS_EC2_METADATA_DISABLED="true", NO_PROXY="127.0.0.1")
    import_module("quintet.adapters.models.pydantic_ai")  # what it wants to hear of is settled there
    rows, problems = [], []
    for wire in WIRES:
        cells: list[str] = []
        for name, case in cases(wire).items():
            with warnings.catch_warnings(record=True) as heard, printed(sys.argv[1]) as beside:
                try:
                    said = asyncio.run(asyncio.wait_for(case(), 90))
                except Exception as error:
                    said = f"{type(error).__name__}: {error}"
            said = said or (f"warns: {heard[0].message}" if heard else "") or f"{beside()}"
            cells.append("FAILED" if said else "ok")
            problems += [f"{wire.name}, {name}: {' '.join(said.split())[:300]}"] if said else []
        rows.append((wire.name, spoken(wire.package), *cells))
    rows.append(("all at once", "`quintet models test`", *models_test(problems)))
    print("\n".join(table(rows, heading=("WIRE", "SPOKEN BY", *map(str.upper, cases(WIRES[0]))))))
    print("\n".join(problems))
    return 1 if problems else 0


def spoken(package: str) -> str:
    try:
        return f"{package} {version(package)}" if package != "quintet" else "Quintet"
    except PackageNotFoundError:
        return f"{package}, not installed"


@contextmanager
def printed(folder: str) -> Iterator[Callable[[], str]]:
    """What is printed to stderr meanwhile, by whatever package."""
    path, kept = Path(folder, "stderr"), os.dup(2)
    with open(path, "w+b") as file:
        os.dup2(file.fileno(), 2)
        try:
            yield lambda: (path.read_text(errors="replace") and f"prints: {path.read_text(errors='replace')}") or ""
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def cases(wire: Wire) -> dict[str, Callable[[], Any]]:
    pieces = wire.streams(STEPS[1])[: -wire.last]
    dropped = whole(wire, pieces, framing="close", then="reset")
    ended = whole(wire, pieces)
    return {
        "turn": lambda: turn(wire),
        **{
            str(status): lambda status=status: failing(wire, refused(wire, status), FAULTS[status]) for status in FAULTS
        },
        "cut": lambda: failing(wire, dropped, ""),
        "ended early": lambda: failing(wire, ended, ""),
    }


def whole(wire: Wire, pieces: list[bytes], **more: Any) -> Reply:
    return Reply(body=pieces, headers={"content-type": "text/event-stream", **wire.headers}, **more)


def refused(wire: Wire, status: int) -> Reply:
    kinds = {401: "UnrecognizedClientException", 429: "ThrottlingException", 500: "InternalServerException"}
    headers = {"x-amzn-ErrorType": kinds[status]} if wire.name == "bedrock" else {}
    body = {"message": "no", "error": {"message": "no", "code": status, "status": "NO", "type": "no"}}
    return Reply(status=status, body=json.dumps(body), headers={**headers, **(LIMIT if status == 429 else {})})


@contextmanager
def made(wire: Wire, server: ModelServer) -> Iterator[Any]:
    settings = ModelSettings(f"http://127.0.0.1:{server.port}{wire.path}", wire.model, wire=wire.wire, timeout=30.0)  # type: ignore[arg-type]
    yield make_model(settings, "sk-check" if wire.name != "bedrock" else "", wire.name)


async def asked(model: Any, *more: Message) -> list[Part]:
    tools = tuple(spec.shown() for spec in tools_for(Settings()).values())
    told = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "What is in a?"), *more)
    return [part async for part in model.stream(Request(model.name, told, tools, effort=""))]


async def turn(wire: Wire) -> str:
    async with ModelServer([whole(wire, wire.streams(step)) for step in STEPS]) as server:
        with made(wire, server) as model:
            first = await asked(model)
            calls = tuple(part.call for part in first if isinstance(part, CallPart))
            if [(one.name, json.loads(one.arguments)) for one in calls] != [("Read", {"file_path": "a"})]:
                return f"the call came as {calls}"
            done = Message(Role.ASSISTANT, "I look.", calls), Message(Role.TOOL, "", call_id=calls[0].id)
            second = await asked(model, *done)
            await model.close()
        text = ["".join(part.text for part in parts if isinstance(part, TextPart)) for parts in (first, second)]
        ends = [part for part in (*first, *second) if isinstance(part, EndPart)]
        if text != ["I look.", "It is empty."]:
            return f"the words came as {text}"
        if len(ends) != 2 or any(not end.usage.input_tokens for end in ends):
            return f"the ends came as {ends}"
        sent = json.dumps(server.requests[0].body)
        missing = [spec.name for spec in tools_for(Settings()).values() if json.dumps(spec.name) not in sent]
        return f"tools are missing: {missing}" if missing else ""


async def failing(wire: Wire, reply: Reply, code: str) -> str:
    async with ModelServer([reply]) as server:
        with made(wire, server) as model:
            try:
                parts = await asked(model)
            except ModelError as error:
                if code and error.code != code:
                    return f"{error.code} and not {code}: {error.message}"
                if not code and not error.retryable:
                    return f"{error.code} is not to be tried again: {error.message}"
                wrong = code == FAULTS[429] and wire.name != "bedrock" and error.retry_after != 7.0
                return f"the wait it asks for is {error.retry_after}" if wrong else ""
            finally:
                await model.close()
    return f"it counts as a reply: {parts}"


def models_test(problems: list[str]) -> list[str]:
    """The command, with every wire and some that cannot work: a row each, and nothing else on stderr."""
    return asyncio.run(_models_test(problems))


KEY = 'api_key_env = "CHECK_KEY"\n'
BROKEN = {
    "no-provider": 'model = "nobody:x"\nwire = "pydantic-ai"\n',
    "no-key": 'model = "mistral:x"\nwire = "pydantic-ai"\n',
    "no-server": 'base_url = "http://127.0.0.1:9"\nmodel = "google:x"\nwire = "pydantic-ai"\n' + KEY,
}


async def _models_test(problems: list[str]) -> list[str]:
    servers = [ModelServer([whole(wire, wire.streams(STEPS[1]))]) for wire in WIRES]
    tables = []
    for wire, server in zip(WIRES, servers, strict=True):
        await server.__aenter__()
        key = "" if wire.name == "bedrock" else KEY
        where = f'base_url = "http://127.0.0.1:{server.port}{wire.path}"\n'
        tables.append(f'[models.{wire.name}]\n{where}model = "{wire.model}"\nwire = "{wire.wire}"\n{key}')
    tables += [f"[models.{name}]\n{text}" for name, text in BROKEN.items()]
    place = Path(sys.argv[1], "all")
    (place / "config/quintet").mkdir(parents=True)
    (place / "config/quintet/settings.toml").write_text("\n".join(tables))
    folders = {f"XDG_{name.upper()}_HOME": str(place / name) for name in ("config", "state", "cache")}
    around = {**os.environ, **folders, "CHECK_KEY": "sk-check"}
    words = [sys.executable, "-m", "quintet", "models", "test", "--json"]
    done = await asyncio.to_thread(subprocess.run, words, env=around, capture_output=True, text=True, cwd=place)
    for server in servers:
        await server.__aexit__()
    try:
        rows = {row["name"]: row for row in json.loads(done.stdout)}
    except ValueError:
        rows = {}
    wanted = {wire.name: True for wire in WIRES} | dict.fromkeys(BROKEN, False)
    found = {name: row["ok"] for name, row in rows.items()}
    wrong = [f"{name}: {rows.get(name, 'no row')}" for name in wanted if found.get(name) != wanted[name]]
    said = "; ".join(wrong) or (f"prints: {done.stderr}" if done.stderr.strip() else "")
    problems += [f"models test: {said}"] if said else []
    return ["FAILED" if said else "ok", "", "", "", "", ""]


if __name__ == "__main__":
    sys.exit(main())
