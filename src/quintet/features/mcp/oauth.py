"""Logging in to a server by OAuth 2.1, and the tokens that come of it.

The user logs in by a command of their own: authorisation code with PKCE, the answer taken at a port of this machine,
its state checked before anything else. The client registers itself where it is not registered. What a server gave is
kept with the user's secrets, for that server's address alone; a session refreshes it and never logs in.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import msgspec
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, ValidationError

from quintet.features.mcp.logins import KeptLogin, Logins
from quintet.features.mcp.values import McpServer

HOST = "127.0.0.1"
PATH = "/callback"
LOGIN_SECONDS = 300.0
MOST_HEAD = 16_384  # bytes of a request to the port that waits for the answer
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
DONE = "You are logged in. You can close this page."
WRONG = "This is not the expected answer."


class LoginNeeded(OAuthFlowError):
    """A session has no way to log in."""


class _Storage:
    """What the SDK's client keeps, in the user's secrets."""

    def __init__(self, server: McpServer, logins: Logins, learn: Callable[[Mapping[str, str]], None]) -> None:
        self._server = server
        self._logins = logins
        self._learn = learn
        self.kept = logins.read(server) or KeptLogin(server.url)
        self.tell()

    def tell(self) -> None:
        """What is a secret is known as one before anybody could say it."""
        named = {"access_token": self.kept.tokens.get("access_token"), "refresh": self.kept.tokens.get("refresh_token")}
        named["client_secret"] = self.kept.client.get("client_secret")
        self._learn({f"MCP_{self._server.name}_{name}": str(value) for name, value in named.items() if value})

    async def get_tokens(self) -> OAuthToken | None:
        return OAuthToken.model_validate(self.kept.tokens) if self.kept.tokens else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        until = time.time() + tokens.expires_in if tokens.expires_in else 0.0
        self.keep(tokens=tokens.model_dump(mode="json", exclude_none=True), until=until)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return OAuthClientInformationFull.model_validate(self.kept.client) if self.kept.client else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.keep(client=client_info.model_dump(mode="json", exclude_none=True))

    def keep(self, **changes: Any) -> None:
        self.kept = msgspec.structs.replace(self.kept, **changes)
        self.tell()
        self._logins.write(self._server, self.kept)


class _Provider(OAuthClientProvider):
    """Knows across processes until when a token is good, and where it is renewed."""

    def __init__(self, storage: _Storage, **named: Any) -> None:
        super().__init__(storage=storage, **named)
        self._kept = storage

    async def _initialize(self) -> None:
        await super()._initialize()
        kept = self._kept.kept
        self.context.token_expiry_time = kept.until or None
        try:
            if kept.metadata:
                self.context.oauth_metadata = OAuthMetadata.model_validate(kept.metadata)
            if kept.resource:
                self.context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(kept.resource)
        except ValidationError:  # of another version: found out again
            self.context.oauth_metadata = self.context.protected_resource_metadata = None

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        await super()._handle_token_response(response)
        found, resource = self.context.oauth_metadata, self.context.protected_resource_metadata
        self._kept.keep(
            metadata=found.model_dump(mode="json", exclude_none=True) if found else {},
            resource=resource.model_dump(mode="json", exclude_none=True) if resource else {},
        )


class _Renewing(_Provider):
    """For a session: it renews what there is, and does not log in."""

    async def _perform_authorization(self) -> httpx2.Request:
        raise LoginNeeded("the server needs a login")


def session_auth(
    server: McpServer, logins: Logins, learn: Callable[[Mapping[str, str]], None]
) -> OAuthClientProvider | None:
    """How requests to a server are authorised, if the user is logged in there."""
    storage = _Storage(server, logins, learn)
    if not storage.kept.tokens:
        return None
    return _Renewing(storage, server_url=server.url, client_metadata=_metadata(server, storage.kept.port))


def _metadata(server: McpServer, port: int) -> OAuthClientMetadata:
    return OAuthClientMetadata(
        client_name="Quintet",
        redirect_uris=[AnyUrl(f"http://{HOST}:{port or 1}{PATH}")],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="client_secret_basic" if server.client_secret else "none",
        scope=server.scope or None,
    )


class Login:
    """One login of the user's; `show` is told the address that they are to open."""

    def __init__(
        self,
        server: McpServer,
        logins: Logins,
        show: Callable[[str], None],
        learn: Callable[[Mapping[str, str]], None] = lambda named: None,
    ) -> None:
        self._server = server
        self._show = show
        self._storage = _Storage(server, logins, learn)
        self._state = ""
        self._came: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
        self._listening: asyncio.Server | None = None
        self.provider: _Provider | None = None

    async def __aenter__(self) -> OAuthClientProvider:
        kept = self._storage.kept
        try:
            self._listening = await asyncio.start_server(self._visited, HOST, kept.port)
        except OSError:  # somebody else has that port now
            self._listening = await asyncio.start_server(self._visited, HOST, 0)
        port = self._listening.sockets[0].getsockname()[1]
        if port != kept.port:  # registered for another address: it registers again
            self._storage.kept = msgspec.structs.replace(kept, port=port, client={}, tokens={}, until=0.0)
        else:
            self._storage.kept = msgspec.structs.replace(kept, tokens={}, until=0.0)
        self.provider = _Provider(
            self._storage,
            server_url=self._server.url,
            client_metadata=_metadata(self._server, port),
            redirect_handler=self._redirected,
            callback_handler=self._answered,
        )
        if self._server.client_id:
            await self._storage.set_client_info(_registered(self._server, port))
        return self.provider

    async def __aexit__(self, *_: object) -> None:
        if self._listening:
            self._listening.close()

    async def _redirected(self, address: str) -> None:
        assert self.provider
        found = self.provider.context.oauth_metadata
        for url in (address, str(found.token_endpoint) if found else address):
            parts = urlsplit(url)
            if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
                raise OAuthFlowError(f"{parts.scheme}://{parts.netloc} is not https: no credentials are sent there")
        self._state = parse_qs(urlsplit(address).query).get("state", [""])[0]
        self._came = asyncio.get_running_loop().create_future()
        self._show(address)

    async def _answered(self) -> AuthorizationCodeResult:
        try:
            async with asyncio.timeout(LOGIN_SECONDS):
                return await self._came
        except TimeoutError:
            raise OAuthFlowError(f"the login was not completed within {LOGIN_SECONDS:g} s") from None

    async def _visited(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A browser that comes back. Whoever does not bring the state of this login is sent away, and nothing ends."""
        try:
            async with asyncio.timeout(10):
                head = (await reader.readuntil(b"\r\n\r\n"))[:MOST_HEAD].decode("latin-1")
            said = self._taken(head.partition("\r\n")[0].split(" "))
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            said = ""
        status = "200 OK" if said else "400 Bad Request"
        text = (said or WRONG).encode()
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(text)}\r\n"
        writer.write(f"{head}Connection: close\r\n\r\n".encode() + text)
        writer.close()

    def _taken(self, words: list[str]) -> str:
        """What the browser shows; empty if this is not the answer."""
        if len(words) != 3 or words[0] != "GET" or urlsplit(words[1]).path != PATH or self._came.done():
            return ""
        given = {name: values[0] for name, values in parse_qs(urlsplit(words[1]).query).items()}
        if not self._state or not hmac.compare_digest(given.get("state", "").encode(), self._state.encode()):
            return ""
        if "code" not in given:
            why = " ".join(filter(None, (given.get("error", "no code"), given.get("error_description", ""))))[:300]
            self._came.set_exception(OAuthFlowError(f"the login was refused: {why}"))
            return "The login was refused."
        self._came.set_result(AuthorizationCodeResult(code=given["code"], state=given["state"], iss=given.get("iss")))
        return DONE


def _registered(server: McpServer, port: int) -> OAuthClientInformationFull:
    return OAuthClientInformationFull(
        client_id=server.client_id,
        client_secret=server.client_secret or None,
        redirect_uris=[AnyUrl(f"http://{HOST}:{port}{PATH}")],
        token_endpoint_auth_method="client_secret_basic" if server.client_secret else "none",
        grant_types=["authorization_code", "refresh_token"],
    )
