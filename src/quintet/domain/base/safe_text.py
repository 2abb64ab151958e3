"""What models and tools say, made fit to be shown: no control character reaches a terminal, a call is a few words."""

from __future__ import annotations

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wire_json import decode

_KEPT = frozenset("\n\t")
# Printable to Python and nothing to the eye: fillers, joiners, selectors of variants, a blank of Braille.
_UNSEEN = regex(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
JOINERS = frozenset("\u200c\u200d")  # they shape the letters and pictures around them: Persian, Hindi, 👩‍💻
_FIRST_JOINED = "\u0590"  # Latin, Greek and Cyrillic letters are not joined: a joiner among them only hides
_PATCHED = regex(r"(?m)^(?:\*\*\* (?:Update|Add) File:|\+\+\+ (?:b/)?) *([^\s].*?)\s*$")


def visible(text: str) -> str:
    """The text with control characters made visible, and joiners that join nothing."""
    if text.isprintable():
        return text
    shown: list[str] = []
    before = ""
    for char in text.replace("\r\n", "\n"):
        kept = char in _KEPT or char.isprintable() or (char in JOINERS and _joins(before))
        shown.append(char if kept else _shown(char))
        before = char
    return "".join(shown)


def _joins(before: str) -> bool:
    return before >= _FIRST_JOINED and before.isprintable()


def on_one_line(text: str) -> str:
    """A name as a line of a list shows it: file names may hold line breaks, and would write lines of their own."""
    return visible(text).replace("\n", "\u240a").replace("\t", "\u2409")


def exactly(text: str) -> str:
    """The text with everything made visible that the eye would miss or read as something else: for what is asked.

    Beside control characters those are other spaces than the usual one, and characters without a shape.
    """
    shown = visible(text)
    if not shown.isprintable():
        shown = "".join(c if c in _KEPT or c.isprintable() else _escaped(ord(c)) for c in shown)
    return _UNSEEN.sub(lambda found: _escaped(ord(found[0])), shown)


def brief(arguments: str, most: int = 100) -> str:
    """A call's arguments in a few words."""
    try:
        values = decode(arguments)
    except ValueError:
        values = arguments
    if isinstance(values, dict) and values.get("server"):  # of a server's tool or resource
        reads = values.get("command") == "read_resource"  # whatever tool is named beside
        about = values.get("resource_uri") if reads else values.get("tool_name")
        text = f"{values.get('command', '')} {values['server']}{f':{about}' if about else ''}"
    elif isinstance(values, dict):
        first = next((values[key] for key in ("command", "file_path", "pattern", "path") if values.get(key)), None)
        first = first or patched_files(str(values.get("patch", ""))) or None
        text = str(first) if first is not None else " ".join(f"{key}={value}" for key, value in values.items())
    else:
        text = str(values)
    text = " ".join(visible(text).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def patched_files(patch: str) -> str:
    """The files that a patch names, to be shown; `patch_text` knows what it does to them."""
    return " ".join(_PATCHED.findall(patch))


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
    return char if char.isspace() and code not in (0x2028, 0x2029) else _escaped(code)


def _escaped(code: int) -> str:
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
