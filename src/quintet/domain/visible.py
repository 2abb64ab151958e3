"""Control characters in what models and tools say are shown, never sent to a terminal."""

from __future__ import annotations

_KEPT = frozenset("\n\t")


def visible(text: str) -> str:
    """The text with control characters made visible."""
    if text.isprintable():
        return text
    return "".join(c if c in _KEPT or c.isprintable() else _shown(c) for c in text.replace("\r\n", "\n"))


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
