"""Files of NAME=VALUE lines, as programs keep their environment in."""

from __future__ import annotations

import re

from quintet.domain.regex import regex

_LINE = regex(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)", re.ASCII)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def read_env(text: str) -> dict[str, str]:
    """The variables of such a text; a line that is none is passed over. A value in double quotes may span lines."""
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        match = _LINE.fullmatch(line)
        if not match:
            continue
        name, value = match[1], match[2].strip()
        while value[:1] == '"' and not re.match(r'"(?:[^"\\]|\\.)*"', value, re.S):
            more = next(lines, None)
            if more is None:
                break
            value += f"\n{more}"
        found[name] = _unquoted(value)
    return found


def _unquoted(value: str) -> str:
    if value[:1] == "'" and "'" in value[1:]:
        return value[1 : value.index("'", 1)]
    if whole := re.match(r'"((?:[^"\\]|\\.)*)"', value, re.S):
        return re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), whole[1], flags=re.S)
    return re.sub(r"(?:^|\s+)#.*", "", value).strip()


def written_env(values: dict[str, str]) -> str:
    """The text that gives these variables back."""
    return "".join(f'{name}="{_quoted(value)}"\n' for name, value in sorted(values.items()))


def _quoted(value: str) -> str:
    for char, escape in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r")):
        value = value.replace(char, escape)
    return value
