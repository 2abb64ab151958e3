"""The logins that are kept with the user's secrets: one a server, and only for the address it was made for."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from quintet.adapters.files.paths import Places
from quintet.adapters.secrets import store
from quintet.domain.base.errors import NotFound
from quintet.features.mcp.values import McpServer


class KeptLogin(Struct, frozen=True):
    url: str  # of the server; another address gets nothing of it
    tokens: dict[str, Any] = field(default_factory=dict)
    until: float = 0.0  # seconds since 1970 that the access token is good for; 0 if nobody said
    client: dict[str, Any] = field(default_factory=dict)  # as the authorisation server registered it
    port: int = 0  # that the client is registered for
    metadata: dict[str, Any] = field(default_factory=dict)  # of the authorisation server
    resource: dict[str, Any] = field(default_factory=dict)


class Logins:
    def __init__(self, places: Places) -> None:
        self._places = places

    def read(self, server: McpServer) -> KeptLogin | None:
        name = secret_name(server.name)
        text = store.kept(self._places).get(name) or store.in_keyring(self._places).get(name, "")
        try:
            kept = msgspec.json.decode(text.encode(), type=KeptLogin) if text else None
        except (msgspec.DecodeError, msgspec.ValidationError):
            return None
        return kept if kept and kept.url == server.url else None

    def write(self, server: McpServer, kept: KeptLogin) -> None:
        store.keep(self._places, secret_name(server.name), msgspec.json.encode(kept).decode(), "auto")

    def forget(self, name: str) -> bool:
        try:
            store.forget(self._places, secret_name(name))
        except NotFound:
            return False
        return True


def secret_name(server: str) -> str:
    letters = "".join(char if char.isalnum() else "_" for char in server)
    return f"MCP_LOGIN_{letters}_{sum(map(ord, server))}"
