"""Files of NAME=VALUE lines, as programs keep their environment in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from quintet.domain.base.lazy_regex import regex

_LINE = regex(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)", re.ASCII)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def read_env(text: str) -> dict[str, str]:
    """The variables of such a text; a line that is none is passed over. A value in double quotes may span lines."""
    return {name: _unquoted(value) for _, name, value in _entries(text) if name}


def changed_env(text: str, name: str, value: str | None) -> str:
    """The text with another value of a variable, or without it (None); all else stays as it is."""
    others = [raw for raw, other, _ in _entries(text) if other != name]
    if value is not None:
        others.append(f'{name}="{_quoted(value)}"')
    return "".join(f"{raw}\n" for raw in others)


def _entries(text: str) -> Iterator[tuple[str, str, str]]:
    """Each line, or lines that belong together, as they are; the variable's name, empty for none; its value, quoted."""
    lines = iter(text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else ())
    for raw in lines:
        match = _LINE.fullmatch(raw)
        name, value = (match[1], match[2].strip()) if match else ("", "")
        while value[:1] == '"' and not re.match(r'"(?:[^"\\]|\\.)*"', value, re.S):
            more = next(lines, None)
            if more is None:
                break
            raw, value = f"{raw}\n{more}", f"{value}\n{more}"
        yield raw, name, value


def _unquoted(value: str) -> str:
    if value[:1] == "'" and "'" in value[1:]:
        return value[1 : value.index("'", 1)]
    if whole := re.match(r'"((?:[^"\\]|\\.)*)"', value, re.S):
        return re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), whole[1], flags=re.S)
    return re.sub(r"(?:^|\s+)#.*", "", value).strip()


def _quoted(value: str) -> str:
    for char, escape in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r")):
        value = value.replace(char, escape)
    return value
