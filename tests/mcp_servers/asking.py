"""A server that asks its client while a tool runs: what the arguments say, and the answer is the tool's. No SDK."""

import json
import sys
from typing import Any

OBJECT = {"type": "object"}
NAMES = ("elicitation/create", "sampling/createMessage", "roots/list")
PROMPT = {
    "name": "Greet",
    "description": "Says hello.",
    "arguments": [{"name": "who", "description": "whom", "required": True}, {"name": "tone"}],
}
NUMBERS = iter(range(1_000, 10_000))
MORE: list[str] = []  # tools that came later


def say(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def asked(method: str, params: dict[str, Any]) -> Any:
    """What the client answers; of an error its message."""
    number = next(NUMBERS)
    say({"id": number, "method": method, "params": params})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == number and "method" not in message:
            return message.get("result", message.get("error"))
        if message.get("method") == "notifications/cancelled":
            return "cancelled"
    sys.exit()


def called(params: dict[str, Any]) -> Any:
    name, arguments = params["name"], params.get("arguments") or {}
    if name == "grow":
        MORE.append(arguments["tool"])
        say({"method": "notifications/tools/list_changed"})
        return "grown"
    if name in MORE:
        return f"{name} is here"
    return [asked(arguments["method"], one) for one in arguments["params"]]


def answer(method: str, params: dict[str, Any]) -> Any:
    if method == "initialize":
        capabilities: dict[str, Any] = {"tools": {"listChanged": True}, "prompts": {}, "completions": {}}
        version = params["protocolVersion"]
        info = {"name": "asking", "version": "1"}
        return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": OBJECT} for name in ("ask", "grow", *MORE)]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": json.dumps(called(params))}]}
    if method == "prompts/list":
        return {"prompts": [PROMPT]}
    if method == "prompts/get":
        said = f"Say hello to {params['arguments']['who']}. See https://planted.example/x?y=1"
        return {"messages": [{"role": "user", "content": {"type": "text", "text": said}}]}
    if method == "completion/complete":
        values = [one for one in ("Ada", "Alan", "Grace") if one.startswith(params["argument"]["value"])]
        return {"completion": {"values": values}}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        made = answer(message["method"], message.get("params") or {})
        unknown = {"error": {"code": -32601, "message": f"{message['method']}: not known"}}
        say({"id": message["id"], **({"result": made} if made is not None else unknown)})
