"""The floor under Quintet: a loop in Python that streams, sandboxes and commits, and does nothing else.

bare_loop.py each|kept URL: a fresh bubblewrap for each command, or one shell kept in one bubblewrap. Two durable
commits a step (started, finished), raw socket, whole history resent.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

BWRAP = (
    *("bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--proc", "/proc", "--dev", "/dev"),
    *("--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib"),
    *("--symlink", "usr/lib64", "/lib64", "--ro-bind", "/etc", "/etc", "--tmpfs", "/tmp"),
)
PARAMETERS = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
TOOL = {"type": "function", "function": {"name": "bash", "description": "run", "parameters": PARAMETERS}}
END = "--end-of-command--"


def main() -> None:
    kind, url = sys.argv[1:]
    folder = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="bare-loop-") as place:
        database = sqlite3.connect(f"{place}/journal.db", isolation_level=None)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        database.execute("CREATE TABLE journal (seq INTEGER PRIMARY KEY, event TEXT)")
        run = kept(folder) if kind == "kept" else lambda line: fresh(folder, line)
        print(loop(connected(url), run, lambda event: commit(database, event)))


def commit(database: sqlite3.Connection, event: dict[str, Any]) -> None:
    database.execute("INSERT INTO journal (event) VALUES (?)", (json.dumps(event),))


def fresh(folder: str, line: str) -> str:
    inside = (*BWRAP, "--bind", folder, folder, "--chdir", folder, "bash", "-c", line)
    return subprocess.run(inside, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout


def kept(folder: str) -> Callable[[str], str]:
    inside = (*BWRAP, "--bind", folder, folder, "--chdir", folder, "bash")
    shell = subprocess.Popen(inside, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert shell.stdin
    assert shell.stdout
    given, printed = shell.stdin, shell.stdout

    def run(line: str) -> str:
        given.write(f"( {line}\n) </dev/null 2>&1; echo {END}\n")
        given.flush()
        return "".join(iter(printed.readline, f"{END}\n"))

    return run


def connected(url: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    host, port = url.split("//")[1].split(":")
    line = socket.create_connection((host, int(port)))
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(body: dict[str, Any]) -> dict[str, Any]:
        data = json.dumps(body).encode()
        line.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(data) + data)
        reply = b""
        while not reply.endswith(b"0\r\n\r\n"):
            reply += line.recv(65536)
        return folded(reply.decode().replace("\r", ""))

    return ask


def folded(reply: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    for line in reply.split("\n"):
        if line.startswith("data: {"):
            for choice in json.loads(line[6:])["choices"]:
                delta = choice["delta"]
                if delta.get("content"):
                    message["content"] = (message["content"] or "") + delta["content"]
                for call in delta.get("tool_calls") or ():
                    message.setdefault("tool_calls", []).append({k: v for k, v in call.items() if k != "index"})
    return message


def loop(
    ask: Callable[[dict[str, Any]], dict[str, Any]],
    run: Callable[[str], str],
    record: Callable[[dict[str, Any]], None],
) -> str:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "agent"}, {"role": "user", "content": "go"}]
    body = {"model": "stub", "stream": True, "tools": [TOOL], "messages": messages}
    while True:
        message = ask(body)
        messages.append(message)
        if not message.get("tool_calls"):
            return str(message["content"])
        for call in message["tool_calls"]:
            record({"type": "started", "call": call})
            output = run(json.loads(call["function"]["arguments"])["command"])
            record({"type": "finished", "call": call["id"], "output": output})
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": output})


if __name__ == "__main__":
    main()
