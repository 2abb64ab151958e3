"""JSON from servers that may send anything: every reader gives a value of the wanted kind, or an empty one."""

from __future__ import annotations

from typing import Any

from quintet.domain.base import wire_json


def decoded(data: bytes | bytearray | str) -> Any:
    try:
        return wire_json.decode(data)
    except ValueError:
        return None


def as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def as_count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def words_in(value: Any) -> str:
    """The words in an error's JSON, wherever this server puts them."""
    if isinstance(value, list):
        return words_in(value[0]) if value else ""
    if isinstance(value, dict):
        return next((found for key in ("error", "message", "detail") if (found := words_in(value.get(key)))), "")
    return as_text(value)


def sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()  # file names and cut texts may hold half a character


def as_object(arguments: str) -> dict[str, Any]:
    """Arguments that servers bear: after one call whose arguments are not a JSON object some refuse every request."""
    text = sendable(arguments)
    value = decoded(text)
    return value if isinstance(value, dict) else {"invalid": text}
