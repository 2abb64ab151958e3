"""One scenario of the MCP conformance suite for clients: what the suite starts, with the address as the last word.

It logs in where the server wants that, as a user with a browser would, lists the tools, calls each, and takes the
defaults of what it is asked.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import urllib.request

import msgspec

from quintet.adapters.files.paths import locate
from quintet.domain.turn.tool_spec import CallQuestion, CallReply
from quintet.features.mcp import forms
from quintet.features.mcp.connection import connect
from quintet.features.mcp.conversation import Conversation
from quintet.features.mcp.logins import Logins
from quintet.features.mcp.oauth import Login
from quintet.features.mcp.requests import CallHelp
from quintet.features.mcp.values import McpServer

ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}}
METADATA = "https://conformance-test.local/client-metadata.json"  # the suite's own, of a client with an address
SECONDS = 25.0


async def defaults(question: CallQuestion) -> CallReply:
    keys = [choice.key for choice in question.choices]
    return CallReply(next((key for key in (forms.REST, forms.DEFAULT, forms.YES) if key in keys), ""))


async def used(server: McpServer, root: str) -> None:
    def browse(address: str) -> None:
        asyncio.get_running_loop().run_in_executor(None, lambda: urllib.request.urlopen(address, timeout=10).read())

    async with Login(server, Logins(locate(root)), browse) as provider:
        connected = await connect(server, root, None, provider)  # type: ignore[arg-type]
        conversation = Conversation(connected)
        for tool in (await conversation.offer()).tools:
            help = CallHelp(defaults, None, set())
            answer = await conversation.call(tool.name, ARGUMENTS.get(tool.name, {}), lambda text: None, help)
            print(tool.name, [part.text for part in answer.parts])
        await connected.close(politely=True)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="quintet-mcp-") as root:
        for name in ("CONFIG", "STATE", "CACHE"):
            os.environ[f"XDG_{name}_HOME"] = os.path.join(root, name.lower())
        context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
        server = McpServer("suite", "your settings", url=sys.argv[-1])
        known = {name: context[name] for name in ("client_id", "client_secret") if name in context}
        if os.environ.get("MCP_CONFORMANCE_SCENARIO") == "auth/basic-cimd":
            known["client_id"] = METADATA
        server = msgspec.structs.replace(server, **known)
        asyncio.run(asyncio.wait_for(used(server, root), SECONDS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
