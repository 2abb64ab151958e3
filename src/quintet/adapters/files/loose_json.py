"""JSON from servers that may send anything: every reader gives a value of the wanted kind, or an empty one."""

from __future__ import annotations

from typing import Any, NoReturn

import msgspec

from quintet.domain.base import wire_json
from quintet.domain.base.half_characters import whole_characters


def decoded(data: bytes | bytearray | str) -> Any:
    try:
        return wire_json.decode(data)
    except ValueError:
        return None


def decoded_leniently(data: bytes | bytearray) -> Any:
    """As `decoded`; bytes that are no UTF-8 become U+FFFD, and half a character stays for its other half."""
    if (value := decoded(data)) is not None:
        return value
    import json  # rarely: what is right is read faster

    text = data.decode("utf-8", "replace")
    try:
        if not wire_json.deeper_than(text, wire_json.MOST_DEPTH):
            return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        pass
    return None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def encoded(value: Any) -> str:
    """A value as JSON; halves of characters in it are put together, or replaced."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        import json

        return whole_characters(json.dumps(value, ensure_ascii=False))


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
