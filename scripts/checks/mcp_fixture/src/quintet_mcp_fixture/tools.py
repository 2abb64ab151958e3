"""The suite's tools, as far as a tool of Quintet's can be what it wants."""

import asyncio
import base64
from typing import Any

from msgspec import structs

from quintet import Effect, ToolFailed, ToolResult, Workbench, tool
from quintet.tools.images import kept_image

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}


@tool(effects={Effect.READ}, toolset="data")
async def test_simple_text(bench: Workbench) -> str:
    """Text."""
    return "This is a simple text response for testing."


@tool(effects={Effect.READ}, toolset="data")
async def test_image_content(bench: Workbench) -> ToolResult:
    """A picture."""
    image = kept_image(bench, PIXEL)
    return ToolResult("A red pixel.", images=(image,) if image else ())


@tool(effects={Effect.READ}, toolset="data")
async def test_error_handling(bench: Workbench) -> str:
    """An error."""
    raise ToolFailed("This tool intentionally returns an error for testing")


@tool(effects={Effect.READ}, toolset="data")
async def test_tool_with_logging(bench: Workbench) -> str:
    """Three messages on the way."""
    return await _told(bench, "Tool execution started", "Tool processing data", "Tool execution completed")


@tool(effects={Effect.READ}, toolset="data")
async def test_tool_with_progress(bench: Workbench) -> str:
    """Three signs of progress."""
    return await _told(bench, "0 of 100", "50 of 100", "100 of 100")


async def _told(bench: Workbench, *words: str) -> str:
    for said in words:
        bench.progress(said)
        await asyncio.sleep(0.05)
    return "done"


@tool(effects={Effect.READ}, toolset="data")
async def _by_schema(bench: Workbench, name: str = "", address: dict[str, str] | None = None) -> str:
    """Tool with JSON Schema 2020-12 features."""
    return name


json_schema_2020_12_tool = structs.replace(_by_schema, name="json_schema_2020_12_tool", schema=lambda: SCHEMA)
