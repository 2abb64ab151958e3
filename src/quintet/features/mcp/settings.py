"""The settings of MCP: the servers of the user's own."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct, field

from quintet.domain.settings.meta import OWN, TRUSTED, setting
from quintet.domain.settings.settings import Settings


class McpServerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """One MCP server: a program that is started (`command`), or an address (`url`)."""

    command: Annotated[str, setting("program that is started and spoken to over its stdin and stdout", TRUSTED)] = ""
    args: Annotated[tuple[str, ...], setting("its arguments", TRUSTED)] = ()
    env: Annotated[
        dict[str, str], setting("its variables beside the usual ones; ${NAME} takes one of yours", TRUSTED)
    ] = field(default_factory=dict)
    network: Annotated[bool, setting("whether that program has a network", TRUSTED)] = False
    folders: Annotated[tuple[str, ...], setting("folders outside the project that that program may read", OWN)] = ()
    write: Annotated[tuple[str, ...], setting("folders outside the project that it may also write", OWN)] = ()
    url: Annotated[str, setting("address of a server that speaks streamable HTTP", TRUSTED)] = ""
    headers: Annotated[
        dict[str, str], setting("headers of each request to it; ${NAME} takes a variable of yours", TRUSTED)
    ] = field(default_factory=dict)
    client_id: Annotated[str, setting("id of a client that is registered there, for `mcp login`", OWN)] = ""
    client_secret: Annotated[str, setting("its secret; ${NAME} takes a variable of yours", OWN)] = ""
    scope: Annotated[str, setting("scopes that `mcp login` asks for, beyond what the server says", OWN)] = ""
    sampling: Annotated[
        Literal["ask", "allow", "deny"], setting("whether it may have your model answer something, at your cost", OWN)
    ] = "ask"
    timeout: Annotated[float, setting("seconds without a sign of life before a call is given up", TRUSTED)] = 60.0
    enabled: Annotated[bool, setting("whether it is used at all", TRUSTED)] = True

    def problem(self, at: str, settings: Settings) -> str:
        return "" if bool(self.command) != bool(self.url) else f"{at} needs a command or a url: one of the two"


class McpSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """MCP servers of your own, by names of yours; those of a trusted project stand in its `.mcp.json`."""

    variables: Annotated[
        tuple[str, ...],
        setting('variables of yours that a server of a project gets though they may be secret: "SERVER: NAME"', OWN),
    ] = ()
    servers: dict[str, McpServerSettings] = field(default_factory=dict)
