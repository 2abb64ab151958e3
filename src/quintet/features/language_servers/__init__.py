"""What language servers know about the project's code."""

from quintet.features.feature import Feature

FEATURE = Feature(
    name="language_servers",
    about="definitions, references and problems, from language servers",
    package=__name__,
    tools=("tools:lsp_tool", "tools:lsp_edit"),
    parts={"language server": "parts:language_server"},
    service="servers:open_servers",
)
