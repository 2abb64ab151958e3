"""MCP servers as they were configured, what they have, and what they answer."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field

from quintet.domain.turn.tool_spec import Consulted

OWN_SETTINGS = "your settings"  # where a server of the user's own comes from
EDITOR = "your editor"  # where one comes from that an ACP client names: it may pass on what a project names


class McpServer(Struct, frozen=True):
    """A server as it was configured: a program (`command`) or an address (`url`)."""

    name: str
    origin: str  # the file that names it
    command: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    url: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    network: bool = False  # whether the program has one
    timeout: float = 60.0  # seconds without a sign of life
    problem: str = ""  # why it cannot be used; empty if it can
    folders: tuple[str, ...] = ()  # outside the project that the program may read
    write: tuple[str, ...] = ()  # and write
    client_id: str = ""  # registered at its authorisation server; without one, the client registers itself
    client_secret: str = ""
    scope: str = ""
    sampling: Literal["ask", "allow", "deny"] = "ask"  # whether it may have the user's model answer something
    older: Literal["", "protocol", "sse"] = ""  # that of before 2026-07-28 at once, or also the transport of then

    @property
    def transport(self) -> Literal["stdio", "http", "sse"]:
        return ("sse" if self.older == "sse" else "http") if self.url else "stdio"

    @property
    def target(self) -> str:
        """What it is, in a few words. Arguments and addresses may hold secrets: only the first of them is told."""
        return self.url.partition("?")[0] if self.url else " ".join(self.command[:1])


class McpTool(Struct, frozen=True):
    name: str
    description: str = ""
    schema: Any = None  # JSON schema of its arguments, as the server says


class McpResource(Struct, frozen=True):
    uri: str  # of a template, with its {variables}
    name: str = ""
    description: str = ""
    mime: str = ""
    template: bool = False


class McpPrompt(Struct, frozen=True):
    name: str
    description: str = ""
    arguments: tuple[str, ...] = ()
    required: tuple[str, ...] = ()


class McpOffer(Struct, frozen=True):
    """What a server has, in its own words."""

    about: str  # its name and version, and the protocol that is spoken
    instructions: str = ""
    tools: tuple[McpTool, ...] = ()
    resources: tuple[McpResource, ...] = ()
    prompts: tuple[McpPrompt, ...] = ()


class McpPart(Struct, frozen=True):
    """A piece of an answer: text, or data with its kind; `uri` where it is a resource."""

    text: str = ""
    data: bytes = b""
    mime: str = ""
    uri: str = ""


class McpAnswer(Struct, frozen=True):
    parts: tuple[McpPart, ...] = ()
    structured: Any = None
    failed: bool = False  # the server says that its tool failed
    notes: tuple[str, ...] = ()  # what there is to know: that the server was started again
    consulted: tuple[Consulted, ...] = ()  # the models that it had asked


class Lost(Exception):
    """The server ended, cannot be reached, or was cut off; `login`: it wants to know who asks."""

    def __init__(self, said: str, *, login: bool = False) -> None:
        super().__init__(said)
        self.login = login


class Forgotten(Lost):
    """The server no longer knows the session, and so did nothing of what it was asked."""


class ServerRefused(Exception):
    """The server answered with an error, or with what is no answer.

    `code` is the protocol's, where it gave one; `login`: the server wants to know who asks.
    """

    def __init__(self, said: str, code: int = 0, *, login: bool = False) -> None:
        super().__init__(said)
        self.code = code
        self.login = login


def prompt_usage(server: str, prompt: McpPrompt) -> str:
    """How a prompt is typed as a command."""
    words = [f"{name}=…" if name in prompt.required else f"[{name}=…]" for name in prompt.arguments]
    return " ".join((f"/{server}:{prompt.name}", *words))
