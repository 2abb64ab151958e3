"""MCP servers as other programs offer them: which there are, how they are reached, what becomes of their answers."""
