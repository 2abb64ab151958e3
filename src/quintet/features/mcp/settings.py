"""The settings of MCP: the servers of the user's own."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct, field

from quintet.domain.settings.meta import OWN, TRUSTED, setting
from quintet.domain.settings.settings import Settings


class McpServerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """One MCP server: a program that is started (`command`), or an address (`url`)."""

    command: Annotated[str, setting("program to start; it is used over its stdin and stdout", TRUSTED)] = ""
    args: Annotated[tuple[str, ...], setting("its arguments", TRUSTED)] = ()
    env: Annotated[dict[str, str], setting("additional variables for it; ${NAME} inserts one of yours", TRUSTED)] = (
        field(default_factory=dict)
    )
    network: Annotated[bool, setting("whether that program has network access", TRUSTED)] = False
    folders: Annotated[tuple[str, ...], setting("folders outside the project that the program may read", OWN)] = ()
    write: Annotated[tuple[str, ...], setting("folders outside the project that it may also write", OWN)] = ()
    url: Annotated[str, setting("address of a server with streamable HTTP", TRUSTED)] = ""
    protocol: Annotated[
        Literal["newest", "2025-11-25", "sse"],
        setting("2025-11-25: so that its tools can ask you something; sse: the transport HTTP with SSE", TRUSTED),
    ] = "newest"
    headers: Annotated[
        dict[str, str], setting("headers of each request to it; ${NAME} inserts one of your variables", TRUSTED)
    ] = field(default_factory=dict)
    client_id: Annotated[str, setting("id of a client that is registered there, for `mcp login`", OWN)] = ""
    client_secret: Annotated[str, setting("its secret; ${NAME} inserts one of your variables", OWN)] = ""
    scope: Annotated[str, setting("scopes that `mcp login` asks for, in addition to what the server says", OWN)] = ""
    sampling: Annotated[
        Literal["ask", "allow", "deny"], setting("whether it may send requests to your model, at your cost", OWN)
    ] = "ask"
    timeout: Annotated[float, setting("seconds without any response after which a call fails", TRUSTED)] = 60.0
    enabled: Annotated[bool, setting("whether it is used at all", TRUSTED)] = True
    by_editor: Annotated[
        bool, setting("an editor names it (quintet acp): starting or reaching it needs approval", OWN)
    ] = False

    def problem(self, at: str, settings: Settings) -> str:
        return "" if bool(self.command) != bool(self.url) else f"{at} needs a command or a url: one of the two"


class McpSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Your own MCP servers, by name; those of a trusted project are in its `.mcp.json`."""

    variables: Annotated[
        tuple[str, ...],
        setting('your variables that a server of the project gets although they may be secret: "SERVER: NAME"', OWN),
    ] = ()
    servers: dict[str, McpServerSettings] = field(default_factory=dict)
