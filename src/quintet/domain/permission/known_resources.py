"""Resources of MCP servers that the model did not make up: those a server listed itself, and those in the user's words.

Whatever else is read there is composed, a template's filled places too: the address may carry data out. What one server
listed is known for that server alone.
"""

from __future__ import annotations

from collections.abc import Set

from quintet.domain.base import bounded_json
from quintet.domain.base.lazy_regex import regex

TEMPLATE = " (template)"
_ANY = "*"
_WORD = regex(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"'`]+")
_ENDS = ".,;:!?)]}"


def _key(server: str, uri: str) -> str:
    return f"{server}\n{uri}"  # no address has a line break in it


def listed_in(arguments: str, answer: str) -> set[str]:
    """What an answer of mcp_tool makes known, if it was asked for a server's offer."""
    try:
        asked = bounded_json.decode(arguments)
    except ValueError:
        return set()
    if not isinstance(asked, dict) or asked.get("command") != "list_tools" or asked.get("tool_name"):
        return set()
    server = asked.get("server") or answer.partition(":")[0]
    _, _, rest = answer.partition("\n\nresources\n")
    lines = [line[2:].partition(": ")[0] for line in rest.splitlines() if line.startswith("- ")]
    uris = [line.removesuffix(":") for line in lines if not line.endswith(TEMPLATE)]
    return {_key(name, uri) for uri in uris for name in (str(server), "")}  # named, or the only one there is


def said_in(text: str) -> set[str]:
    """What stands in the user's own words."""
    found = set()
    for match in _WORD.finditer(text) if ":" in text else ():
        found |= {_key(_ANY, match[0]), _key(_ANY, match[0].rstrip(_ENDS))}
    return found


def is_known(server: str, uri: str, known: Set[str]) -> bool:
    return _key(server, uri) in known or _key(_ANY, uri) in known
