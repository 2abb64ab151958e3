"""A server that misbehaves, by its first argument at the start and by its tools later. The standard library only."""

import json
import os
import sys
import time
from typing import Any

OBJECT = {"type": "object"}
DOUBLED = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
TOOLS: list[dict[str, Any]] = [
    {"name": "hang", "inputSchema": OBJECT},
    {"name": "flood", "inputSchema": OBJECT},
    {"name": "one_line", "inputSchema": OBJECT},
    {"name": "echo", "inputSchema": {**OBJECT, "properties": {"text": {"type": "string"}}, "required": ["text"]}},
    {"name": "counts", "inputSchema": OBJECT, "outputSchema": {**OBJECT, "properties": {"n": {"type": "integer"}}}},
    {"name": "shapeless", "inputSchema": OBJECT},
    {"name": "garbled", "inputSchema": OBJECT},
    {"name": "no_schema", "inputSchema": {"type": "object", "properties": {"a": {"type": "sheep"}}}},
    {"name": "endless", "inputSchema": {**OBJECT, "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": DOUBLED}},
    {"name": "pattern", "inputSchema": {**OBJECT, "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}},
    {"name": "wants_input", "inputSchema": OBJECT},
]


def say(message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answered(number: Any, **result: Any) -> None:
    say({"id": number, "result": result})


def text(number: Any, said: str, **more: Any) -> None:
    answered(number, content=[{"type": "text", "text": said}], **more)


def fade(code: int) -> None:
    """Ends as programs do, only slower: its pipe first, then its last words, then itself."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    time.sleep(0.3)
    os.write(2, b"so long\n")
    os._exit(code)


def call(number: Any, name: str, arguments: dict[str, Any]) -> None:
    if name == "hang":
        time.sleep(600)
    elif name == "flood":
        while True:
            say({"method": "notifications/message", "params": {"level": "info", "data": "y" * 10_000}})
    elif name == "one_line":
        while True:
            sys.stdout.write("z" * 100_000)
    elif name == "counts":
        text(number, "many", structuredContent={"n": "many"})
    elif name == "shapeless":
        answered(number, content="all of it", isError="perhaps")
    elif name == "garbled":
        answered(number, content=[{"type": "image", "data": "§§§", "mimeType": "image/png"}])
    elif name == "fade":
        fade(7)
    elif name == "wants_input":
        say({"id": "theirs", "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 9}})
        reply = json.loads(sys.stdin.readline())
        text(number, f"was told: {reply.get('error', {}).get('message', reply)}")
    else:
        text(number, json.dumps(arguments))


def serve(kind: str) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        number, method, params = message.get("id"), message.get("method"), message.get("params") or {}
        if kind == "rude" and method not in ("initialize", "notifications/initialized") and not TOLD:
            sys.exit("expected initialize")
        if method == "initialize":
            TOLD.append(method)
            info = {"name": "evil", "version": "6.66"}
            version = "1066-10-14" if kind == "antique" else params["protocolVersion"]
            answered(number, protocolVersion=version, capabilities={"tools": {}}, serverInfo=info)
        elif method == "tools/list":
            more = {"nextCursor": "again"} if kind == "unending" else {}
            wrong = [{"name": "text_only", "inputSchema": {"type": "string"}}] if kind == "misshapen" else []
            answered(number, tools=TOOLS + wrong, **more)
        elif method == "tools/call":
            call(number, params["name"], params.get("arguments") or {})
        elif number is not None:
            say({"id": number, "error": {"code": -32601, "message": f"{method}: never heard of it"}})


TOLD: list[str] = []
if __name__ == "__main__":
    how = sys.argv[1] if len(sys.argv) > 1 else ""
    if how == "crash":
        sys.exit("no license to serve")
    if how == "fading":
        fade(3)
    if how == "mute":
        time.sleep(600)
    if how == "banner":
        print("Welcome to the evil server!\n\n{not json", flush=True)
    serve(how)
