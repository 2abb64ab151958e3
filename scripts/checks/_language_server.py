"""A language server over stdio, asked one thing at a time."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any


class LanguageServer:
    def __init__(self, argv: list[str], root: Path, variables: dict[str, str] | None = None) -> None:
        self._name = os.path.basename(argv[0])
        self._process = subprocess.Popen(
            argv,
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **(variables or {})},
        )
        self._number = 0
        capabilities = {"textDocument": {"documentSymbol": {"hierarchicalDocumentSymbolSupport": True}}}
        folders = [{"uri": root.as_uri(), "name": root.name}]
        start = {"processId": os.getpid(), "rootUri": root.as_uri(), "capabilities": capabilities}
        self.ask("initialize", {**start, "workspaceFolders": folders})
        self._send({"method": "initialized", "params": {}})

    def open(self, path: Path, language: str) -> None:
        text = path.read_text(encoding="utf-8", errors="replace")
        document = {"uri": path.as_uri(), "languageId": language, "version": 1, "text": text}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})

    def symbols(self, path: Path) -> list[dict[str, Any]]:
        return self.ask("textDocument/documentSymbol", {"textDocument": {"uri": path.as_uri()}}) or []

    def references(self, path: Path, at: dict[str, Any]) -> list[str]:
        """The files that refer to what stands there, by their addresses."""
        asked = {"textDocument": {"uri": path.as_uri()}, "position": at, "context": {"includeDeclaration": True}}
        return [one["uri"] for one in self.ask("textDocument/references", asked) or []]

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            message = self._read()
            if message.get("id") == self._number and "method" not in message:
                return message.get("result")
            if "method" in message and "id" in message:  # it asks for settings and the like
                items = message.get("params", {}).get("items", []) if message["params"] else []
                self._send({"id": message["id"], "result": [{} for _ in items] or None})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout
        size = 0
        while (line := self._process.stdout.readline().strip()) or not size:
            if line.lower().startswith(b"content-length:"):
                size = int(line.partition(b":")[2])
            elif not line and self._process.poll() is not None:
                raise SystemExit(f"{self._name} has ended")
        message: dict[str, Any] = json.loads(self._process.stdout.read(size))
        return message

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
