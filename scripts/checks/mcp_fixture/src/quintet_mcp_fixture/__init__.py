"""What the MCP conformance suite asks servers for, added to Quintet as any plugin adds things."""

from quintet import Feature

FEATURE = Feature(
    name="mcp_fixture",
    about="the tools, resources and prompts of the MCP conformance suite",
    package=__name__,
    tools=(
        "tools:test_simple_text",
        "tools:test_image_content",
        "tools:test_audio_content",
        "tools:test_embedded_resource",
        "tools:test_multiple_content_types",
        "tools:test_sampling",
        "tools:test_elicitation",
        "tools:test_elicitation_sep1034_defaults",
        "tools:test_elicitation_sep1330_enums",
        "tools:test_error_handling",
        "tools:test_tool_with_logging",
        "tools:test_tool_with_progress",
        "tools:json_schema_2020_12_tool",
    ),
    offers={"mcp-server": "offers:offered"},
)
