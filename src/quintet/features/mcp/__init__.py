"""MCP, both ways: other programs' tools and resources for a run, and our tools for other agents."""

from quintet.features.feature import CliCommand, Feature, FeatureCheck, FeatureCommand

FEATURE = Feature(
    name="mcp",
    about="other programs' tools, and our tools for other agents",
    package=__name__,
    settings={"mcp": "settings:McpSettings"},
    named={"mcp.servers": "settings:McpServerSettings"},
    tools=("tools:mcp_tool",),
    slash=(
        FeatureCommand("mcp", "/mcp [SERVER]", "MCP servers and their state; with a name, its tools", "slash:mcp"),
        FeatureCommand(
            "server:prompt",
            "/server:prompt [NAME=VALUE…]",
            "start a turn with a prompt of an MCP server; /mcp SERVER shows them",
            "slash:prompt",
            begins=True,
        ),
    ),
    commands=(
        CliCommand(
            "mcp",
            "cli:MCP",
            "quintet mcp list | tools SERVER | call SERVER TOOL JSON | login SERVER | doctor   other programs' tools",
        ),
        CliCommand(
            "mcp-server",
            "serving.command:mcp_server",
            "quintet mcp-server          our tools, offered to other agents",
        ),
    ),
    parts={"mcp": "wiring:mcp_package"},
    checks=(FeatureCheck("wiring:servers_can_start", kinds="wiring:KINDS"),),
    service="wiring:open_servers",
)
