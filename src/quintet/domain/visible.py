"""What models and tools say, made fit to be shown: no control character reaches a terminal, a call is a few words."""

from __future__ import annotations

from quintet.domain.bounded_json import decode

_KEPT = frozenset("\n\t")


def visible(text: str) -> str:
    """The text with control characters made visible."""
    if text.isprintable():
        return text
    return "".join(c if c in _KEPT or c.isprintable() else _shown(c) for c in text.replace("\r\n", "\n"))


def brief(arguments: str, most: int = 100) -> str:
    """A call's arguments in a few words."""
    try:
        values = decode(arguments)
    except ValueError:
        values = arguments
    if isinstance(values, dict) and values.get("server"):  # of a server's tool or resource
        about = values.get("tool_name") or values.get("resource_uri")
        text = f"{values.get('command', '')} {values['server']}{f':{about}' if about else ''}"
    elif isinstance(values, dict):
        first = next((values[key] for key in ("command", "file_path", "pattern", "path") if values.get(key)), None)
        text = str(first) if first is not None else " ".join(f"{key}={value}" for key, value in values.items())
    else:
        text = str(values)
    text = " ".join(visible(text).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def _shown(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0x80 <= code <= 0x9F:
        return f"\\x{code:02x}"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return char if char.isspace() else f"\\u{code:04x}"
