"""The suite's tools, as far as a tool of Quintet's can be what it wants."""

import asyncio
import base64
import io
import json
import wave
from typing import Any

from mcp import types
from msgspec import structs

from quintet import Effect, ToolFailed, ToolResult, Workbench, tool
from quintet.features.mcp.serving.caller import caller_of
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
async def test_audio_content(bench: Workbench) -> str:
    """A sound."""
    data = base64.b64encode(_silence()).decode()
    (await caller_of(bench)).add(types.AudioContent(data=data, mime_type="audio/wav"))
    return "Silence."


@tool(effects={Effect.READ}, toolset="data")
async def test_embedded_resource(bench: Workbench) -> str:
    """A resource in the result."""
    (await caller_of(bench)).add(_resource("test://embedded-resource", "text/plain", "This is an embedded resource."))
    return "One resource."


@tool(effects={Effect.READ}, toolset="data")
async def test_multiple_content_types(bench: Workbench) -> ToolResult:
    """Text, a picture and a resource."""
    held = json.dumps({"test": "data", "value": 123})
    (await caller_of(bench)).add(_resource("test://mixed-content-resource", "application/json", held))
    image = kept_image(bench, PIXEL)
    return ToolResult("Multiple content types test:", images=(image,) if image else ())


@tool(effects={Effect.READ}, toolset="data")
async def test_sampling(bench: Workbench, prompt: str) -> str:
    """An answer of the caller's model.

    :prompt: what it is asked
    """
    answer = await (await caller_of(bench)).sample(prompt, 100)
    return f"LLM response: {answer.content.text if isinstance(answer.content, types.TextContent) else ''}"


@tool(effects={Effect.READ}, toolset="data")
async def test_elicitation(bench: Workbench, message: str) -> str:
    """A form that the caller's person fills in.

    :message: what it says
    """
    return await _filled(bench, message, {"username": {"type": "string"}, "email": {"type": "string"}})


@tool(effects={Effect.READ}, toolset="data")
async def test_elicitation_sep1034_defaults(bench: Workbench) -> str:
    """A form with defaults."""
    states = ["active", "inactive", "pending"]
    fields = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": states, "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await _filled(bench, "Check what is filled in.", fields)


@tool(effects={Effect.READ}, toolset="data")
async def test_elicitation_sep1330_enums(bench: Workbench) -> str:
    """A form with choices."""
    plain, short = ["option1", "option2", "option3"], ["opt1", "opt2", "opt3"]
    titled = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
    fields = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": short, "enumNames": ["One", "Two", "Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await _filled(bench, "Choose.", fields)


async def _filled(bench: Workbench, message: str, fields: dict[str, Any]) -> str:
    reply = await (await caller_of(bench)).ask(message, {"type": "object", "properties": fields, "required": []})
    return f"User response: action={reply.action}, content={json.dumps(reply.content)}"


def _resource(uri: str, kind: str, text: str) -> types.EmbeddedResource:
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, text=text, mime_type=kind))


def _silence() -> bytes:
    """A WAV file of one sample."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setparams((1, 2, 8000, 1, "NONE", ""))
        sound.writeframes(b"\0\0")
    return file.getvalue()


@tool(effects={Effect.READ}, toolset="data")
async def _by_schema(bench: Workbench, name: str = "", address: dict[str, str] | None = None) -> str:
    """Tool with JSON Schema 2020-12 features."""
    return name


json_schema_2020_12_tool = structs.replace(_by_schema, name="json_schema_2020_12_tool", schema=lambda: SCHEMA)
