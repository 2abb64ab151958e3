"""What a value should have been, in plain words: a message of msgspec's as settings and server files say it."""

from __future__ import annotations

import re

from quintet.domain.base.lazy_regex import regex

KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}
_BOUNDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_KIND = regex(r"`([a-z]+(?: \| [a-z]+)*)`")
_LENGTH = regex(r" of length (>=|<=|>|<) (\d+)")
_BOUND = regex(r" (>=|<=|>|<) (-?[\d.]+)")
_PLACE = regex(r" - at `\$\.?([^`]*)`")


def plainly(error: Exception) -> str:
    """`Expected `int`, got `str`` is "wanted a whole number, found text"."""
    text = _PLACE.sub(lambda found: f" ({found[1]})", str(error))
    text = _KIND.sub(_kinds, text)
    text = _LENGTH.sub(lambda found: f", {_BOUNDS[found[1]]} {found[2]} long", text)
    text = _BOUND.sub(lambda found: f", {_BOUNDS[found[1]]} {found[2]}", text)
    return text.replace("`", "").replace("Expected", "wanted").replace(", got", ", found")


def _kinds(found: re.Match[str]) -> str:
    return " or ".join(KINDS.get(kind, kind) for kind in found[1].split(" | "))
