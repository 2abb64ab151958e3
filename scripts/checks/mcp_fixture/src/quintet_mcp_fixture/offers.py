"""The suite's resources and prompts."""

import base64
import json
import re

from mcp import types

from quintet_mcp_fixture.tools import PIXEL

TEXT, BINARY, WATCHED = "test://static-text", "test://static-binary", "test://watched-resource"
TEMPLATE = "test://template/{id}/data"
PNG = base64.b64encode(PIXEL).decode()


class Fixture:
    def resources(self) -> list[types.Resource]:
        kinds = {TEXT: "text/plain", BINARY: "image/png", WATCHED: "text/plain"}
        return [types.Resource(uri=uri, name=uri.partition("//")[2], mime_type=kind) for uri, kind in kinds.items()]

    def templates(self) -> list[types.ResourceTemplate]:
        return [types.ResourceTemplate(uri_template=TEMPLATE, name="template", mime_type="application/json")]

    def read(self, uri: str) -> types.ReadResourceResult | None:
        found = re.fullmatch(r"test://template/([^/]+)/data", uri)
        if uri == BINARY:
            return types.ReadResourceResult(
                contents=[types.BlobResourceContents(uri=uri, blob=PNG, mime_type="image/png")]
            )
        if found:
            said = {"id": found[1], "templateTest": True, "data": f"Data for ID: {found[1]}"}
            return _text(uri, json.dumps(said), "application/json")
        if uri in (TEXT, WATCHED):
            return _text(uri, "This is the content of the static text resource.", "text/plain")
        return None

    def prompts(self) -> list[types.Prompt]:
        def prompt(name: str, *arguments: str) -> types.Prompt:
            given = [types.PromptArgument(name=one, required=True) for one in arguments]
            return types.Prompt(name=name, description="a prompt of the conformance suite", arguments=given)

        return [
            prompt("test_simple_prompt"),
            prompt("test_prompt_with_arguments", "arg1", "arg2"),
            prompt("test_prompt_with_embedded_resource", "resourceUri"),
            prompt("test_prompt_with_image"),
        ]

    def prompt(self, name: str, arguments: dict[str, str]) -> types.GetPromptResult | None:
        match name:
            case "test_simple_prompt":
                return _said(types.TextContent(text="This is a simple prompt for testing."))
            case "test_prompt_with_arguments":
                given = ", ".join(f"{key}='{value}'" for key, value in arguments.items())
                return _said(types.TextContent(text=f"Prompt with arguments: {given}"))
            case "test_prompt_with_embedded_resource":
                words = "Embedded resource content for testing."
                held = types.TextResourceContents(uri=arguments["resourceUri"], text=words, mime_type="text/plain")
                after = types.TextContent(text="Please process the embedded resource above.")
                return _said(types.EmbeddedResource(resource=held), after)
            case "test_prompt_with_image":
                shown = types.ImageContent(data=PNG, mime_type="image/png")
                return _said(shown, types.TextContent(text="Please analyze the image above."))
        return None


def offered(settings: object) -> Fixture:
    return Fixture()


def _text(uri: str, text: str, kind: str) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=text, mime_type=kind)])


def _said(*contents: object) -> types.GetPromptResult:
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=one) for one in contents])
