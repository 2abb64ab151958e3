"""A server that says what a file holds: its tools and resources, and one answer to every call and read."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params") or {}
    if "id" not in message:
        continue
    with open(sys.argv[1], encoding="utf-8") as file:
        told = json.load(file)
    if method == "initialize":
        told[method] = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}, "resources": {}},
            "serverInfo": {"name": "sums", "version": "1"},
            "instructions": "Be exact.",
        }
    unknown = {"error": {"code": -32601, "message": f"{method}: not known"}}
    answer = {"result": told[method]} if method in told else unknown
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
