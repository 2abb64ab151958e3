"""The templates in what packages say: `{project-root}` and its like, `{config_source}:key`, and their own variables.

What is not known stays as it is, so that a text about braces is not damaged.
"""

from __future__ import annotations

from collections.abc import Mapping

from quintet.domain.base.lazy_regex import regex

_CONFIGURED = regex(r"\{config_source\}:([\w.-]+)")
_VARIABLE = regex(r"\{([\w.-]+)\}")


def render(text: str, places: Mapping[str, str], variables: Mapping[str, str]) -> str:
    """`places` are ours and win; a variable of the package may hold a place, and nothing deeper."""
    if "{" not in text:
        return text
    values = {name: _VARIABLE.sub(lambda found: places.get(found[1], found[0]), v) for name, v in variables.items()}
    known = {**values, **places}
    text = _CONFIGURED.sub(lambda found: values.get(found[1], found[0]), text)
    return _VARIABLE.sub(lambda found: known.get(found[1], found[0]), text)
