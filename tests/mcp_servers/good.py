"""A server of the SDK's own, over stdio or, with a socket, over streamable HTTP or (`sse`) as it was before."""

import asyncio
import base64
import os
import sys
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Image
from mcp.server.mcpserver.exceptions import ToolError

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
server = MCPServer("good", version="1.2", instructions="Add numbers with add.")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def picture() -> Image:
    """A picture of one pixel."""
    return Image(data=PICTURE, format="png")


@server.tool()
def weather(city: str) -> dict[str, Any]:
    """The weather, structured."""
    return {"city": city, "degrees": 21}


@server.tool()
def fails() -> str:
    """Always fails."""
    raise ToolError("the pump is broken")


@server.tool()
async def slow(context: Context, seconds: float = 0.3, steps: int = 3) -> str:
    """Takes its time and tells how far it is."""
    for step in range(steps):
        await asyncio.sleep(seconds / steps)
        await context.report_progress(step + 1, steps, f"step {step + 1}")
    return "done"


def grown(more: str) -> str:
    """A tool that has changed."""
    return more


@server.tool(name="young")
def young(less: str) -> str:
    """A tool before it changes."""
    return less


@server.tool()
async def grow(context: Context) -> str:
    """Changes another tool, and tells the client that its list is old."""
    server.remove_tool("young")
    server.add_tool(grown, name="young")
    await context.session.send_tool_list_changed()
    await context.notify_tools_changed()
    return "grown"


@server.tool()
def long(characters: int) -> str:
    """A long text."""
    return "x" * characters


@server.tool()
def look(path: str, write: bool = False) -> str:
    """What this program can see and do: for tests of its walls."""
    try:
        if write:
            with open(path, "w") as file:
                file.write("was here")
            return "written"
        with open(path) as file:
            return file.read()
    except OSError as error:
        return f"{type(error).__name__}"


@server.tool()
def variables() -> dict[str, str]:
    """Its environment."""
    return dict(os.environ)


@server.tool()
def online(port: int) -> str:
    """Whether it can reach a port of this machine's."""
    import socket

    try:
        socket.create_connection(("127.0.0.1", port), 2).close()
    except OSError as error:
        return f"no: {type(error).__name__}"
    return "yes"


@server.tool()
def leave(code: int = 3) -> str:
    """Ends the program in the middle of the call."""
    sys.stderr.write("the boiler has gone out\n")
    sys.stderr.flush()
    os._exit(code)


@server.resource("notes://today", mime_type="text/markdown")
def today() -> str:
    """What is to be done."""
    return "# Today\n\nwater the plants\n"


@server.resource("pictures://one", mime_type="image/png")
def one_picture() -> bytes:
    """A picture."""
    return PICTURE


@server.resource("notes://{day}")
def day(day: str) -> str:
    """The notes of a day."""
    return f"notes of {day}"


if __name__ == "__main__":
    if len(sys.argv) > 1:  # the handle of a socket that listens: nobody else can take its port
        import socket

        import uvicorn

        application = server.sse_app() if "sse" in sys.argv else server.streamable_http_app()
        serving = uvicorn.Server(uvicorn.Config(application, log_level="critical"))
        serving.run(sockets=[socket.socket(fileno=int(sys.argv[1]))])
    else:
        server.run()
